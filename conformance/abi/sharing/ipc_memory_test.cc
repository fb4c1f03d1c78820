// Memory of cuMemAlloc that two processes use, by legacy IPC.
// Source: the documentation of these functions, and an H200 with driver 580.159.

#include <array>

#include "conformance/abi/sharing/peer_process.h"

namespace twinmmu::abi {
namespace {

using Handle = std::array<char, 64>;
constexpr unsigned int kLazyPeerAccess = 1;

const Function<CUresult(Handle*, CUdeviceptr)> get_handle("cuIpcGetMemHandle");
const Function<CUresult(CUdeviceptr*, Handle, unsigned int)> open_handle("cuIpcOpenMemHandle_v2");
const Function<CUresult(CUdeviceptr)> close_handle("cuIpcCloseMemHandle");

Handle HandleOf(CUdeviceptr address) {
  Handle handle = {};
  EXPECT_EQ(get_handle(&handle, address), CUDA_SUCCESS);
  return handle;
}

CUdeviceptr Open(Handle handle) {
  CUdeviceptr address = 0;
  EXPECT_EQ(open_handle(&address, handle, kLazyPeerAccess), CUDA_SUCCESS);
  return address;
}

void Close(CUdeviceptr address) { EXPECT_EQ(close_handle(address), CUDA_SUCCESS); }

// --- In one process

using IpcMemoryTest = ContextTest;

TEST_F(IpcMemoryTest, MemoryKeepsWhatIsInIt) {
  const Buffer buffer(16 << 20);
  SetWords(buffer.address(), 0x11, 4 << 20);
  HandleOf(buffer.address());
  EXPECT_EQ(WordAt(buffer.address()), 0x11u);
  EXPECT_EQ(WordAt(buffer.address() + (16 << 20) - 4), 0x11u);
}

// An H200 gives memory at the address of freed memory the same handle as that had; the simulator,
// which could tell, another.
TEST_F(IpcMemoryTest, HandlesAreDifferent) {
  const Buffer one(64);
  const Buffer two(64);
  EXPECT_NE(HandleOf(one.address()), HandleOf(two.address()));
}

TEST_F(IpcMemoryTest, MemoryIsNotOpenedWhereItWasMade) {
  const Buffer buffer(64);
  CUdeviceptr address = 7;
  EXPECT_EQ(open_handle(&address, HandleOf(buffer.address()), kLazyPeerAccess),
            CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(address, 7u);
}

// --- In two

using IpcMemoriesTest = TwoProcessesTest;

constexpr size_t kSize = 3 << 20;

// Sends a handle of memory, all words of which are 0x11, and stays until the other has done with
// it.
void GiveAndStay(Peer& peer) {
  const Buffer buffer(kSize);
  SetWords(buffer.address(), 0x11, kSize / 4);
  peer.Send(HandleOf(buffer.address()));
  peer.Meet();
}

TEST_F(IpcMemoriesTest, TwoProcessesUseTheSameMemory) {
  if (RanInNewProcess()) return;
  const auto exporter = [](Peer& peer) {
    const Buffer buffer(kSize);
    SetWords(buffer.address(), 0x11, kSize / 4);
    peer.Send(HandleOf(buffer.address()));
    peer.Meet();
    EXPECT_EQ(WordAt(buffer.address()), 0x22u);
    EXPECT_EQ(WordAt(buffer.address() + kSize - 4), 0x11u);
  };
  const auto importer = [](Peer& peer) {
    const CUdeviceptr address = Open(peer.Receive<Handle>());
    EXPECT_EQ(WordAt(address), 0x11u);
    EXPECT_EQ(WordAt(address + kSize - 4), 0x11u);
    SetWords(address, 0x22, 4);
    Close(address);
    peer.Meet();
  };
  Run(exporter, importer);
}

// Also where other memory lies before it, and the handle is of an address inside.
TEST_F(IpcMemoriesTest, OpenedMemoryBeginsWhereTheMemoryDoes) {
  if (RanInNewProcess()) return;
  static constexpr size_t kSmall = 1000;
  const auto exporter = [](Peer& peer) {
    const Buffer before(kSmall);
    const Buffer buffer(kSmall);
    SetWords(before.address(), 0x33, kSmall / 4);
    SetWords(buffer.address(), 0x11, kSmall / 4);
    peer.Send(HandleOf(buffer.address() + 500));
    peer.Meet();
    EXPECT_EQ(WordAt(before.address()), 0x33u);
    EXPECT_EQ(WordAt(buffer.address()), 0x22u);
  };
  const auto importer = [](Peer& peer) {
    const CUdeviceptr address = Open(peer.Receive<Handle>());
    CUdeviceptr base = 0;
    size_t size = 0;
    EXPECT_EQ(cuMemGetAddressRange(&base, &size, address + 900), CUDA_SUCCESS);
    EXPECT_EQ(base, address);
    EXPECT_EQ(size, kSmall);
    SetWords(address, 0x22, kSmall / 4);
    Close(address);
    peer.Meet();
  };
  Run(exporter, importer);
}

TEST_F(IpcMemoriesTest, MemoryIsClosedAsOftenAsItWasOpened) {
  if (RanInNewProcess()) return;
  const auto importer = [](Peer& peer) {
    const Handle handle = peer.Receive<Handle>();
    const CUdeviceptr address = Open(handle);
    EXPECT_EQ(Open(handle), address);
    Close(address);
    EXPECT_EQ(WordAt(address), 0x11u);
    Close(address);
    EXPECT_FALSE(CanBeRead(address));
    EXPECT_EQ(close_handle(address), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(WordAt(Open(handle)), 0x11u);
    peer.Meet();
  };
  Run(GiveAndStay, importer);
}

TEST_F(IpcMemoriesTest, TheFlagIsNeeded) {
  if (RanInNewProcess()) return;
  const auto importer = [](Peer& peer) {
    const Handle handle = peer.Receive<Handle>();
    CUdeviceptr address = 7;
    for (const unsigned int flags : {0u, 2u}) {
      EXPECT_EQ(open_handle(&address, handle, flags), CUDA_ERROR_INVALID_VALUE) << flags;
    }
    EXPECT_EQ(open_handle(nullptr, handle, kLazyPeerAccess), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(address, 7u);
    // What else is there is not looked at.
    EXPECT_EQ(open_handle(&address, handle, kLazyPeerAccess | 2), CUDA_SUCCESS);
    Close(address);
    peer.Meet();
  };
  Run(GiveAndStay, importer);
}

TEST_F(IpcMemoriesTest, OpenedMemoryIsClosedAndNotFreed) {
  if (RanInNewProcess()) return;
  const auto importer = [](Peer& peer) {
    const CUdeviceptr address = Open(peer.Receive<Handle>());
    EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(close_handle(address + 512), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(WordAt(address), 0x11u);
    Close(address);
    peer.Meet();
  };
  Run(GiveAndStay, importer);
}

TEST_F(IpcMemoriesTest, OpenedMemoryIsNotPassedOn) {
  if (RanInNewProcess()) return;
  const auto importer = [](Peer& peer) {
    const CUdeviceptr address = Open(peer.Receive<Handle>());
    Handle handle = {7};
    EXPECT_EQ(get_handle(&handle, address), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(handle, Handle{7});
    Close(address);
    peer.Meet();
  };
  Run(GiveAndStay, importer);
}

TEST_F(IpcMemoriesTest, MemoryThatIsGoneIsNotOpened) {
  if (RanInNewProcess()) return;
  const auto exporter = [](Peer& peer) {
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAlloc(&address, kSize), CUDA_SUCCESS);
    const Handle handle = HandleOf(address);
    EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS);
    peer.Send(handle);
    peer.Meet();
  };
  const auto importer = [](Peer& peer) {
    CUdeviceptr address = 7;
    EXPECT_EQ(open_handle(&address, peer.Receive<Handle>(), kLazyPeerAccess),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(address, 7u);
    peer.Meet();
  };
  Run(exporter, importer);
}

TEST_F(IpcMemoriesTest, OpenedMemoryEndsWithItsContext) {
  if (RanInNewProcess()) return;
  const auto importer = [](Peer& peer) {
    const Handle handle = peer.Receive<Handle>();
    CUcontext other = nullptr;
    EXPECT_EQ(cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
    const CUdeviceptr address = Open(handle);
    EXPECT_EQ(cuCtxDestroy(other), CUDA_SUCCESS);
    EXPECT_FALSE(CanBeRead(address));
    EXPECT_EQ(close_handle(address), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(WordAt(Open(handle)), 0x11u);
    peer.Meet();
  };
  Run(GiveAndStay, importer);
}

// A flag in such memory is what one process waits for, and the other writes.
TEST_F(IpcMemoriesTest, AStreamWaitsForAWordOfAnotherProcess) {
  if (RanInNewProcess()) return;
  const auto exporter = [](Peer& peer) {
    const Buffer flag(kSize);
    SetWords(flag.address(), 0, 1);
    peer.Send(HandleOf(flag.address()));
    peer.Meet();  // it waits
    EXPECT_EQ(cuStreamWriteValue32(nullptr, flag.address(), 5, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    peer.Meet();
  };
  const auto importer = [](Peer& peer) {
    const CUdeviceptr flag = Open(peer.Receive<Handle>());
    CUstream stream = nullptr;
    EXPECT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamWaitValue32(stream, flag, 5, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    peer.Meet();
    EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(WordAt(flag), 5u);
    EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
    Close(flag);
    peer.Meet();
  };
  Run(exporter, importer);
}

// As if the program had enabled peer access.
TEST_F(IpcMemoriesTest, AContextOfAnotherDeviceGetsAccess) {
  if (RanInNewProcess()) return;
  const auto importer = [](Peer& peer) {
    const Handle handle = peer.Receive<Handle>();
    if (DeviceCount() > 1) {
      CUcontext second = nullptr;
      EXPECT_EQ(cuDevicePrimaryCtxRetain(&second, 1), CUDA_SUCCESS);
      EXPECT_EQ(cuCtxSetCurrent(second), CUDA_SUCCESS);
      const CUdeviceptr address = Open(handle);
      EXPECT_EQ(WordAt(address), 0x11u);
      SetWords(address, 0x44, 1);  // by the second device
      EXPECT_EQ(WordAt(address), 0x44u);
      Close(address);
    }
    peer.Meet();
  };
  Run(GiveAndStay, importer);
}

}  // namespace
}  // namespace twinmmu::abi
