// Pools whose memory other processes use.
// Source: an H100 with driver 580.159.

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "conformance/abi/pools/pool_test.h"
#include "conformance/abi/sharing/peer_process.h"

namespace twinmmu::abi {
namespace {

constexpr int kDescriptor = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

using PieceData = std::array<unsigned char, 64>;

const Function<CUresult(void*, CUmemoryPool, int, unsigned long long)> export_pool(
    "cuMemPoolExportToShareableHandle");
const Function<CUresult(CUmemoryPool*, void*, int, unsigned long long)> import_pool(
    "cuMemPoolImportFromShareableHandle");
const Function<CUresult(PieceData*, CUdeviceptr)> export_piece("cuMemPoolExportPointer");
const Function<CUresult(CUdeviceptr*, CUmemoryPool, PieceData*)> import_piece(
    "cuMemPoolImportPointer");

CUmemoryPool MakeSharedPool() {
  PoolProps props;
  props.handle_types = kDescriptor;
  CUmemoryPool pool = nullptr;
  EXPECT_EQ(create_pool(&pool, &props), CUDA_SUCCESS);
  return pool;
}

int Export(CUmemoryPool pool) {
  int descriptor = -1;
  EXPECT_EQ(export_pool(&descriptor, pool, kDescriptor, 0), CUDA_SUCCESS);
  EXPECT_GT(descriptor, 0);
  return descriptor;
}

void* AsPointer(int descriptor) {
  return reinterpret_cast<void*>(static_cast<intptr_t>(descriptor));
}

CUmemoryPool Import(int descriptor) {
  CUmemoryPool pool = nullptr;
  EXPECT_EQ(import_pool(&pool, AsPointer(descriptor), kDescriptor, 0), CUDA_SUCCESS);
  close(descriptor);
  return pool;
}

CUdeviceptr AllocateIn(CUmemoryPool pool, size_t size) {
  CUdeviceptr address = 0;
  EXPECT_EQ(allocate_from(&address, size, pool, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  return address;
}

PieceData DataOf(CUdeviceptr address) {
  PieceData data = {};
  EXPECT_EQ(export_piece(&data, address), CUDA_SUCCESS);
  return data;
}

CUdeviceptr ImportPiece(CUmemoryPool pool, PieceData data) {
  CUdeviceptr address = 0;
  EXPECT_EQ(import_piece(&address, pool, &data), CUDA_SUCCESS);
  return address;
}

// --- In one process

using SharedPoolTest = PoolTest;

TEST_F(SharedPoolTest, PoolsAreExportedAsTheyWereMadeFor) {
  PoolProps props;
  int descriptor = -7;
  for (const int type : {0, 1, 2, 4, 8, 9, 16}) {
    EXPECT_EQ(export_pool(&descriptor, pool_, type, 0), CUDA_ERROR_INVALID_VALUE) << type;
  }
  props.handle_types = kDescriptor;
  const CUmemoryPool shared = MakePool(props);
  for (const int type : {0, 2, 4, 8, 9, 16}) {
    EXPECT_EQ(export_pool(&descriptor, shared, type, 0), CUDA_ERROR_INVALID_VALUE) << type;
  }
  EXPECT_EQ(descriptor, -7);
  close(Export(shared));
}

TEST_F(SharedPoolTest, DescriptorsStayOpenInOtherPrograms) {
  PoolProps props;
  props.handle_types = kDescriptor;
  const int descriptor = Export(MakePool(props));
  EXPECT_EQ(fcntl(descriptor, F_GETFD), 0);
  close(descriptor);
}

TEST_F(SharedPoolTest, WhatIsNoPoolIsNotImported) {
  const auto expect_refused = [](void* handle, int type, CUresult code) {
    CUmemoryPool pool = reinterpret_cast<CUmemoryPool>(7);
    EXPECT_EQ(import_pool(&pool, handle, type, 0), code) << type;
  };
  PoolProps props;
  props.handle_types = kDescriptor;
  const int exported = Export(MakePool(props));
  for (const int type : {0, 9}) expect_refused(AsPointer(exported), type, CUDA_ERROR_INVALID_VALUE);
  expect_refused(AsPointer(exported), 2, CUDA_ERROR_NOT_SUPPORTED);
  char fabric[64] = {};
  expect_refused(fabric, 8, CUDA_ERROR_NOT_SUPPORTED);
  expect_refused(nullptr, kDescriptor, CUDA_ERROR_INVALID_VALUE);
  const int other = open("/dev/null", O_RDWR);
  for (const int descriptor : {-1, 777, other}) {
    expect_refused(AsPointer(descriptor), kDescriptor, CUDA_ERROR_UNKNOWN);
  }
  close(other);
  close(exported);
}

// Only of pools that were exported before, and from where they begin.
TEST_F(SharedPoolTest, PiecesAreOfExportedPools) {
  PoolProps props;
  props.handle_types = kDescriptor;
  const CUmemoryPool shared = MakePool(props);
  const CUdeviceptr memory = AllocateIn(shared, 4096);
  PieceData data = {7};
  EXPECT_EQ(export_piece(&data, memory), CUDA_ERROR_INVALID_VALUE);
  close(Export(shared));
  EXPECT_EQ(export_piece(&data, memory + 100), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(export_piece(&data, Allocate(64, stream_)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(export_piece(&data, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(export_piece(&data, AddressOf(&data)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(data, PieceData{7});
  EXPECT_EQ(export_piece(&data, memory), CUDA_SUCCESS);
  EXPECT_EQ(free_async(memory, stream_), CUDA_SUCCESS);
  EXPECT_EQ(export_piece(&data, memory), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SharedPoolTest, APoolIsImportedWhereItWasMade) {
  PoolProps props;
  props.handle_types = kDescriptor;
  const CUmemoryPool shared = MakePool(props);
  const CUmemoryPool imported = Import(Export(shared));
  EXPECT_NE(imported, shared);
  const CUdeviceptr memory = AllocateIn(shared, 4096);
  PieceData data = DataOf(memory);
  CUdeviceptr address = 7;
  EXPECT_EQ(import_piece(&address, shared, &data), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(import_piece(&address, imported, &data), CUDA_SUCCESS);
  EXPECT_NE(address, memory);
  SetWords(memory, 0x44, 4);
  EXPECT_EQ(WordAt(address), 0x44u);
  EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS);
  EXPECT_EQ(destroy_pool(imported), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(SharedPoolTest, PoolsOfTheCpuHaveNoHandles) {
  PoolProps props;
  props.handle_types = kDescriptor;
  props.location = {static_cast<CUmemLocationType>(2), 0};
  CUmemoryPool pool = nullptr;
  EXPECT_EQ(create_pool(&pool, &props), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SharedPoolTest, NullPointersAreRefused) {
  PoolProps props;
  props.handle_types = kDescriptor;
  const CUmemoryPool shared = MakePool(props);
  const int exported = Export(shared);
  PieceData data = {};
  int descriptor = 0;
  CUdeviceptr address = 0;
  EXPECT_EQ(export_pool(nullptr, shared, kDescriptor, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(export_pool(&descriptor, nullptr, kDescriptor, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(import_pool(nullptr, AsPointer(exported), kDescriptor, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(export_piece(nullptr, Allocate(64, stream_)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(import_piece(&address, nullptr, &data), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(import_piece(&address, shared, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(import_piece(nullptr, shared, &data), CUDA_ERROR_INVALID_VALUE);
  close(exported);
}

// --- In two

// What the importer is given, and has made of it.
struct SharedPiece {
  CUmemoryPool pool = nullptr;
  PieceData data = {};
  CUdeviceptr memory = 0;
};

// Exports a pool with one piece, all words of which are 0x11.
SharedPiece Give(Peer& peer, size_t size) {
  SharedPiece shared;
  shared.pool = MakeSharedPool();
  shared.memory = AllocateIn(shared.pool, size);
  SetWords(shared.memory, 0x11, size / 4);
  const int descriptor = Export(shared.pool);
  peer.SendDescriptor(descriptor);
  close(descriptor);
  shared.data = DataOf(shared.memory);
  peer.Send(shared.data);
  return shared;
}

SharedPiece Take(Peer& peer) {
  SharedPiece shared;
  shared.pool = Import(peer.ReceiveDescriptor());
  shared.data = peer.Receive<PieceData>();
  shared.memory = ImportPiece(shared.pool, shared.data);
  return shared;
}

void FreeNow(CUdeviceptr address) { EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS); }

using PoolSharingTest = TwoProcessesTest;

constexpr size_t kSize = 3 << 20;

// And stays until the other process has done with it.
void GiveAndStay(Peer& peer) {
  Give(peer, kSize);
  peer.Meet();
}

// Without a grant: the device of the pool has access.
TEST_F(PoolSharingTest, TwoProcessesUseTheSameMemory) {
  if (RanInNewProcess()) return;
  const auto exporter = [](Peer& peer) {
    const SharedPiece shared = Give(peer, kSize);
    peer.Meet();
    EXPECT_EQ(WordAt(shared.memory), 0x22u);
    EXPECT_EQ(WordAt(shared.memory + kSize - 4), 0x11u);
    FreeNow(shared.memory);
    EXPECT_EQ(destroy_pool(shared.pool), CUDA_SUCCESS);
  };
  const auto importer = [](Peer& peer) {
    const SharedPiece shared = Take(peer);
    EXPECT_EQ(WordAt(shared.memory), 0x11u);
    EXPECT_EQ(WordAt(shared.memory + kSize - 4), 0x11u);
    SetWords(shared.memory, 0x22, 4);
    FreeNow(shared.memory);
    EXPECT_EQ(destroy_pool(shared.pool), CUDA_SUCCESS);
    peer.Meet();
  };
  Run(exporter, importer);
}

TEST_F(PoolSharingTest, LaterPiecesAreSharedToo) {
  if (RanInNewProcess()) return;
  constexpr size_t kLarge = 64 << 20;  // more than a chunk
  const auto exporter = [](Peer& peer) {
    const SharedPiece shared = Give(peer, kSize);
    peer.Meet();
    const CUdeviceptr later = AllocateIn(shared.pool, kLarge);
    SetWords(later, 0x33, kLarge / 4);
    peer.Send(DataOf(later));
    peer.Meet();
  };
  const auto importer = [](Peer& peer) {
    const SharedPiece shared = Take(peer);
    peer.Meet();
    const CUdeviceptr later = ImportPiece(shared.pool, peer.Receive<PieceData>());
    EXPECT_EQ(WordAt(later), 0x33u);
    EXPECT_EQ(WordAt(later + kLarge - 4), 0x33u);
    peer.Meet();
  };
  Run(exporter, importer);
}

TEST_F(PoolSharingTest, ImportsGiveNoMemoryAndTellNothing) {
  if (RanInNewProcess()) return;
  const auto importer = [](Peer& peer) {
    const SharedPiece shared = Take(peer);
    CUdeviceptr address = 7;
    EXPECT_EQ(allocate_from(&address, 64, shared.pool, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(address, 0u);
    for (int attribute = 1; attribute <= 8; ++attribute) {
      uint64_t value = 0;
      EXPECT_EQ(get_attribute(shared.pool, attribute, &value), CUDA_ERROR_INVALID_VALUE);
      EXPECT_EQ(set_attribute(shared.pool, attribute, &value), CUDA_ERROR_INVALID_VALUE);
    }
    EXPECT_EQ(trim_pool(shared.pool, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(set_pool_of(0, shared.pool), CUDA_ERROR_INVALID_VALUE);
    int descriptor = -1;
    EXPECT_EQ(export_pool(&descriptor, shared.pool, kDescriptor, 0), CUDA_ERROR_INVALID_VALUE);
    PieceData data = {};
    EXPECT_EQ(export_piece(&data, shared.memory), CUDA_ERROR_INVALID_VALUE);
    peer.Meet();
  };
  Run(GiveAndStay, importer);
}

TEST_F(PoolSharingTest, TheDeviceHasAccessToImports) {
  if (RanInNewProcess()) return;
  const auto importer = [](Peer& peer) {
    const SharedPiece shared = Take(peer);
    CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    int access = 9;
    EXPECT_EQ(get_access(&access, shared.pool, &device), CUDA_SUCCESS);
    EXPECT_EQ(access, 3);
    const auto set = [&](int wanted) {
      const CUmemAccessDesc grant = {device, static_cast<CUmemAccess_flags>(wanted)};
      return set_access(shared.pool, &grant, 1);
    };
    EXPECT_EQ(set(0), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(set(1), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(set(3), CUDA_SUCCESS);
    peer.Meet();
  };
  Run(GiveAndStay, importer);
}

TEST_F(PoolSharingTest, APoolIsImportedOnce) {
  if (RanInNewProcess()) return;
  const auto exporter = [](Peer& peer) {
    const CUmemoryPool pool = MakeSharedPool();
    for (int i = 0; i < 2; ++i) {
      const int descriptor = Export(pool);
      peer.SendDescriptor(descriptor);
      close(descriptor);
    }
    peer.Meet();
  };
  const auto importer = [](Peer& peer) {
    const CUmemoryPool first = Import(peer.ReceiveDescriptor());
    EXPECT_EQ(Import(peer.ReceiveDescriptor()), first);
    EXPECT_EQ(destroy_pool(first), CUDA_SUCCESS);
    EXPECT_EQ(destroy_pool(first), CUDA_SUCCESS);
    peer.Meet();
  };
  Run(exporter, importer);
}

TEST_F(PoolSharingTest, APieceHasOneAddressAndIsFreedOnce) {
  if (RanInNewProcess()) return;
  const auto importer = [](Peer& peer) {
    const SharedPiece shared = Take(peer);
    EXPECT_EQ(ImportPiece(shared.pool, shared.data), shared.memory);
    EXPECT_EQ(cuMemFree(shared.memory + 512), CUDA_ERROR_INVALID_VALUE);
    FreeNow(shared.memory);
    EXPECT_FALSE(CanBeRead(shared.memory));
    EXPECT_EQ(cuMemFree(shared.memory), CUDA_ERROR_INVALID_VALUE);
    const CUdeviceptr again = ImportPiece(shared.pool, shared.data);
    EXPECT_EQ(WordAt(again), 0x11u);
    EXPECT_EQ(free_async(again, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_FALSE(CanBeRead(again));
    EXPECT_EQ(free_async(again, nullptr), CUDA_ERROR_INVALID_VALUE);
    peer.Meet();
  };
  Run(GiveAndStay, importer);
}

TEST_F(PoolSharingTest, APoolInUseIsNotDestroyedByWhoImportedIt) {
  if (RanInNewProcess()) return;
  const auto importer = [](Peer& peer) {
    const SharedPiece shared = Take(peer);
    EXPECT_EQ(destroy_pool(shared.pool), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(WordAt(shared.memory), 0x11u);
    FreeNow(shared.memory);
    EXPECT_EQ(destroy_pool(shared.pool), CUDA_SUCCESS);
    peer.Meet();
  };
  Run(GiveAndStay, importer);
}

TEST_F(PoolSharingTest, ImportsOutliveThePoolOfTheExporter) {
  if (RanInNewProcess()) return;
  const auto exporter = [](Peer& peer) {
    const SharedPiece shared = Give(peer, kSize);
    peer.Meet();
    EXPECT_EQ(destroy_pool(shared.pool), CUDA_SUCCESS);
    peer.Meet();
    peer.Meet();
    EXPECT_EQ(WordAt(shared.memory), 0x11u);
    FreeNow(shared.memory);
  };
  const auto importer = [](Peer& peer) {
    const SharedPiece shared = Take(peer);
    peer.Meet();
    peer.Meet();  // the pool is destroyed
    EXPECT_EQ(WordAt(shared.memory), 0x11u);
    EXPECT_EQ(ImportPiece(shared.pool, shared.data), shared.memory);
    FreeNow(shared.memory);
    peer.Meet();
  };
  Run(exporter, importer);
}

TEST_F(PoolSharingTest, ImportsOutliveTheExporter) {
  if (RanInNewProcess()) return;
  const auto importer = [](Peer& peer) {
    const SharedPiece shared = Take(peer);
    const int descriptor = peer.ReceiveDescriptor();
    peer.Send('e');
    peer.AwaitEnd();
    EXPECT_EQ(WordAt(shared.memory), 0x11u);
    EXPECT_EQ(ImportPiece(shared.pool, shared.data), shared.memory);
    EXPECT_EQ(Import(descriptor), shared.pool);
    FreeNow(shared.memory);
  };
  const auto exporter = [](Peer& peer) {
    const SharedPiece shared = Give(peer, kSize);
    peer.SendDescriptor(Export(shared.pool));
    peer.Receive<char>();
  };
  Run(importer, exporter);
}

TEST_F(PoolSharingTest, WhatNoPoolGaveIsRefused) {
  if (RanInNewProcess()) return;
  const auto importer = [](Peer& peer) {
    const SharedPiece shared = Take(peer);
    const auto expect_refused = [](CUmemoryPool pool, PieceData data) {
      CUdeviceptr address = 7;
      EXPECT_EQ(import_piece(&address, pool, &data), CUDA_ERROR_INVALID_VALUE);
      EXPECT_EQ(address, 0u);
    };
    PieceData data = {};
    expect_refused(shared.pool, data);
    data.fill(0x5a);
    expect_refused(shared.pool, data);
    data = shared.data;
    data[0] ^= 0x41;
    expect_refused(shared.pool, data);
    CUmemoryPool usual = nullptr;
    EXPECT_EQ(default_pool_of(&usual, 0), CUDA_SUCCESS);
    expect_refused(usual, shared.data);
    peer.Meet();
  };
  Run(GiveAndStay, importer);
}

}  // namespace
}  // namespace twinmmu::abi
