// External memory: what this driver has exported itself, taken for memory of another one.
// Source: an H100 with driver 580.159.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "conformance/abi/sharing/peer_process.h"

namespace twinmmu::abi {
namespace {

constexpr int kOpaqueDescriptor = 1;  // CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD

using ExternalMemory = struct CUextMemory_st*;
struct HandleDescription {
  int type = kOpaqueDescriptor;
  union {
    struct {  // the first, as the larger one: all of it is cleared
      void* handle;
      const void* name;
    } win32;
    int descriptor;
  } handle = {};
  unsigned long long size = 0;
  unsigned int flags = 0;
  unsigned int reserved[16] = {};
};
struct BufferDescription {
  unsigned long long offset = 0;
  unsigned long long size = 0;
  unsigned int flags = 0;
  unsigned int reserved[16] = {};
};

const Function<CUresult(ExternalMemory*, const HandleDescription*)> import_memory(
    "cuImportExternalMemory");
const Function<CUresult(ExternalMemory)> destroy_memory("cuDestroyExternalMemory");
const Function<CUresult(CUdeviceptr*, ExternalMemory, const BufferDescription*)> map_buffer(
    "cuExternalMemoryGetMappedBuffer");

const Function<CUresult(CUdeviceptr, CUstream)> free_async("cuMemFreeAsync");

HandleDescription Described(int descriptor, size_t size = kChunk) {
  HandleDescription description;
  description.handle.descriptor = descriptor;
  description.size = size;
  return description;
}

bool IsOpen(int descriptor) { return fcntl(descriptor, F_GETFD) != -1; }

// Memory that can be exported, mapped for device 0. Undone at the end.
class SharedMemory {
 public:
  SharedMemory() {
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);  // a member of a fixture comes before its SetUp
    CUmemAllocationProp properties = PinnedOn(0);
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    EXPECT_EQ(cuMemCreate(&handle_, kChunk, &properties, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAddressReserve(&address_, kChunk, 0, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemMap(address_, kChunk, 0, handle_, 0), CUDA_SUCCESS);
    const CUmemAccessDesc grant = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    EXPECT_EQ(cuMemSetAccess(address_, kChunk, &grant, 1), CUDA_SUCCESS);
  }
  ~SharedMemory() {
    EXPECT_EQ(cuMemUnmap(address_, kChunk), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAddressFree(address_, kChunk), CUDA_SUCCESS);
    EXPECT_EQ(cuMemRelease(handle_), CUDA_SUCCESS);
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  CUdeviceptr address() const { return address_; }
  int Export() const {
    int descriptor = -1;
    EXPECT_EQ(cuMemExportToShareableHandle(&descriptor, handle_,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
              CUDA_SUCCESS);
    return descriptor;
  }

 private:
  CUmemGenericAllocationHandle handle_ = 0;
  CUdeviceptr address_ = 0;
};

ExternalMemory Import(int descriptor) {
  const HandleDescription description = Described(descriptor);
  ExternalMemory memory = nullptr;
  EXPECT_EQ(import_memory(&memory, &description), CUDA_SUCCESS);
  return memory;
}

CUdeviceptr Map(ExternalMemory memory, size_t offset, size_t size) {
  BufferDescription description;
  description.offset = offset;
  description.size = size;
  CUdeviceptr address = 0;
  EXPECT_EQ(map_buffer(&address, memory, &description), CUDA_SUCCESS);
  return address;
}

class ExternalMemoryTest : public ContextTest {
 protected:
  const SharedMemory shared_;
};

TEST_F(ExternalMemoryTest, BuffersAreOfTheSameMemory) {
  const ExternalMemory memory = Import(shared_.Export());
  const CUdeviceptr all = Map(memory, 0, kChunk);
  const CUdeviceptr part = Map(memory, kChunk / 2, kChunk / 2);
  SetWords(shared_.address(), 0x11, kChunk / 4);
  EXPECT_EQ(WordAt(all), 0x11u);
  EXPECT_EQ(WordAt(part), 0x11u);
  SetWords(part, 0x22, 4);
  EXPECT_EQ(WordAt(shared_.address() + kChunk / 2), 0x22u);
  EXPECT_EQ(WordAt(all + kChunk / 2), 0x22u);
  EXPECT_EQ(cuMemFree(part), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(all), CUDA_SUCCESS);
  EXPECT_EQ(destroy_memory(memory), CUDA_SUCCESS);
}

TEST_F(ExternalMemoryTest, TheDriverTakesTheDescriptor) {
  const int descriptor = shared_.Export();
  const ExternalMemory memory = Import(descriptor);
  EXPECT_FALSE(IsOpen(descriptor));
  EXPECT_EQ(destroy_memory(memory), CUDA_SUCCESS);
}

// Whatever it says of the size.
TEST_F(ExternalMemoryTest, BuffersAreInsideOfTheMemory) {
  const auto expect_refused = [](ExternalMemory memory, unsigned long long offset,
                                 unsigned long long size) {
    BufferDescription description;
    description.offset = offset;
    description.size = size;
    CUdeviceptr address = 7;
    EXPECT_EQ(map_buffer(&address, memory, &description), CUDA_ERROR_INVALID_VALUE)
        << offset << " " << size;
    EXPECT_EQ(address, 7u);
  };
  const ExternalMemory memory = Import(shared_.Export());
  for (const auto& [offset, size] : {std::pair<unsigned long long, unsigned long long>{0, 0},
                                     {kChunk, 0},
                                     {kChunk, 1},
                                     {0, kChunk + 1},
                                     {kChunk / 2, kChunk / 2 + 1},
                                     {~0ull, 2},
                                     {~0ull - 1, 1},
                                     {0, ~0ull}}) {
    expect_refused(memory, offset, size);
  }
  EXPECT_EQ(destroy_memory(memory), CUDA_SUCCESS);
  for (const size_t size : {size_t{4096}, 4 * kChunk}) {
    const HandleDescription description = Described(shared_.Export(), size);
    ExternalMemory other = nullptr;
    ASSERT_EQ(import_memory(&other, &description), CUDA_SUCCESS) << size;
    expect_refused(other, 0, std::min(size, kChunk) + 1);
    EXPECT_EQ(destroy_memory(other), CUDA_SUCCESS);
  }
}

TEST_F(ExternalMemoryTest, BuffersBeginAnywhere) {
  const ExternalMemory memory = Import(shared_.Export());
  for (const auto& [offset, size] : {std::pair<size_t, size_t>{0, 1},
                                     {1, 16},
                                     {100, 3},
                                     {512, 512},
                                     {4096, 4096},
                                     {kChunk / 2, kChunk / 2},
                                     {kChunk - 1, 1}}) {
    const CUdeviceptr address = Map(memory, offset, size);
    EXPECT_EQ(address % kChunk, offset);
    EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS) << offset;
  }
  EXPECT_EQ(destroy_memory(memory), CUDA_SUCCESS);
}

// As the documentation says of tokens. Source of the codes: an H200 with driver 580.159.
TEST_F(ExternalMemoryTest, OperationsOnABufferAreSynchronousOnceItsTokensAreAsked) {
  const ExternalMemory memory = Import(shared_.Export());
  const CUdeviceptr buffer = Map(memory, 0, kChunk);
  const auto synchronous = [](CUdeviceptr address) {
    int value = -1;
    EXPECT_EQ(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address),
              CUDA_SUCCESS);
    return value;
  };
  EXPECT_EQ(synchronous(buffer), 0);
  unsigned long long tokens[2] = {};
  EXPECT_EQ(cuPointerGetAttribute(tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, buffer), CUDA_SUCCESS);
  EXPECT_EQ(synchronous(buffer), 1);
  EXPECT_EQ(synchronous(shared_.address()), 0);
  int none = 0;
  EXPECT_EQ(cuPointerSetAttribute(&none, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, buffer), CUDA_SUCCESS);
  EXPECT_EQ(synchronous(buffer), 0);
  EXPECT_EQ(cuMemFree(buffer), CUDA_SUCCESS);
  EXPECT_EQ(destroy_memory(memory), CUDA_SUCCESS);
}

TEST_F(ExternalMemoryTest, BuffersHaveNoFlags) {
  const ExternalMemory memory = Import(shared_.Export());
  CUdeviceptr address = 0;
  BufferDescription description;
  description.size = kChunk;
  description.flags = 1;
  EXPECT_EQ(map_buffer(&address, memory, &description), CUDA_ERROR_INVALID_VALUE);
  description.flags = 0;
  description.reserved[0] = 1;
  EXPECT_EQ(map_buffer(&address, memory, &description), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(destroy_memory(memory), CUDA_SUCCESS);
}

TEST_F(ExternalMemoryTest, BuffersOutliveAllElse) {
  const ExternalMemory memory = Import(shared_.Export());
  const CUdeviceptr buffer = Map(memory, 0, kChunk);
  SetWords(shared_.address(), 0x11, 4);
  EXPECT_EQ(destroy_memory(memory), CUDA_SUCCESS);
  EXPECT_EQ(WordAt(buffer), 0x11u);
  EXPECT_EQ(cuMemFree(buffer + 64), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free_async(buffer, nullptr), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuMemFree(buffer), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(buffer), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ExternalMemoryTest, ThereIsOneFlag) {
  for (const unsigned int flags : {0u, 1u, 2u, 4u}) {
    const int descriptor = shared_.Export();
    HandleDescription description = Described(descriptor);
    description.flags = flags;
    ExternalMemory memory = nullptr;
    if (flags < 2) {
      ASSERT_EQ(import_memory(&memory, &description), CUDA_SUCCESS);
      EXPECT_EQ(destroy_memory(memory), CUDA_SUCCESS);
      continue;
    }
    EXPECT_EQ(import_memory(&memory, &description), CUDA_ERROR_INVALID_VALUE) << flags;
    EXPECT_TRUE(IsOpen(descriptor));
    close(descriptor);
  }
}

TEST_F(ExternalMemoryTest, ReservedWordsAndSizesAreLookedAt) {
  const int descriptor = shared_.Export();
  ExternalMemory memory = nullptr;
  HandleDescription description = Described(descriptor, 0);
  EXPECT_EQ(import_memory(&memory, &description), CUDA_ERROR_INVALID_VALUE);
  description = Described(descriptor);
  description.reserved[3] = 1;
  EXPECT_EQ(import_memory(&memory, &description), CUDA_ERROR_INVALID_VALUE);
  EXPECT_TRUE(IsOpen(descriptor));
  close(descriptor);
}

TEST_F(ExternalMemoryTest, NullPointersAreRefused) {
  const int descriptor = shared_.Export();
  const HandleDescription handle = Described(descriptor);
  ExternalMemory memory = nullptr;
  EXPECT_EQ(import_memory(nullptr, &handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(import_memory(&memory, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(destroy_memory(nullptr), CUDA_ERROR_INVALID_VALUE);
  BufferDescription buffer;
  buffer.size = kChunk;
  CUdeviceptr address = 0;
  EXPECT_EQ(map_buffer(&address, nullptr, &buffer), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(import_memory(&memory, &handle), CUDA_SUCCESS);
  EXPECT_EQ(map_buffer(nullptr, memory, &buffer), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(map_buffer(&address, memory, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(destroy_memory(memory), CUDA_SUCCESS);
}

TEST_F(ExternalMemoryTest, DeadMemoryIsRefused) {
  if (!TraitsOf().survives_bad_pointers) GTEST_SKIP() << "it ends the process";
  const ExternalMemory memory = Import(shared_.Export());
  EXPECT_EQ(destroy_memory(memory), CUDA_SUCCESS);
  EXPECT_EQ(destroy_memory(memory), CUDA_ERROR_INVALID_VALUE);
  BufferDescription buffer;
  buffer.size = kChunk;
  CUdeviceptr address = 0;
  EXPECT_EQ(map_buffer(&address, memory, &buffer), CUDA_ERROR_INVALID_VALUE);
}

// They are taken all the same.
TEST_F(ExternalMemoryTest, OtherDescriptorsAreNoMemory) {
  ExternalMemory memory = nullptr;
  HandleDescription description = Described(-1);
  EXPECT_EQ(import_memory(&memory, &description), CUDA_ERROR_UNKNOWN);
  const int other = open("/dev/null", O_RDWR);
  description = Described(other);
  EXPECT_EQ(import_memory(&memory, &description), CUDA_ERROR_UNKNOWN);
  EXPECT_FALSE(IsOpen(other));
}

TEST_F(ExternalMemoryTest, OtherTypesNeedWhatIsNotHere) {
  const int descriptor = shared_.Export();
  ExternalMemory memory = nullptr;
  for (const int type : {0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}) {
    HandleDescription description = Described(descriptor);
    description.type = type;
    const bool known = (type >= 2 && type <= 4) || type == 8 || type == 9;
    EXPECT_EQ(import_memory(&memory, &description),
              known ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE)
        << type;
    description.handle = {};
    EXPECT_EQ(import_memory(&memory, &description),
              type == 9 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE)
        << type;
  }
  EXPECT_TRUE(IsOpen(descriptor));
  close(descriptor);
}

TEST_F(ExternalMemoryTest, TypesOfWindowsAreOfDedicatedMemory) {
  const int descriptor = shared_.Export();
  ExternalMemory memory = nullptr;
  for (const int type : {5, 6, 7}) {
    HandleDescription description = Described(descriptor);
    description.type = type;
    description.flags = 1;
    EXPECT_EQ(import_memory(&memory, &description), CUDA_ERROR_NOT_SUPPORTED) << type;
  }
  close(descriptor);
}

TEST_F(ExternalMemoryTest, MemoryIsDestroyedWithoutAContext) {
  const ExternalMemory memory = Import(shared_.Export());
  ASSERT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(destroy_memory(memory), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
}

TEST_F(ExternalMemoryTest, ImportsNeedAContext) {
  const int descriptor = shared_.Export();
  const HandleDescription description = Described(descriptor);
  ExternalMemory memory = nullptr;
  ASSERT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(import_memory(&memory, &description), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  close(descriptor);
}

using ExternalMemoryOfOthersTest = TwoProcessesTest;

TEST_F(ExternalMemoryOfOthersTest, TwoProcessesUseTheSameMemory) {
  if (RanInNewProcess()) return;
  const auto exporter = [](Peer& peer) {
    const SharedMemory shared;
    SetWords(shared.address(), 0x11, kChunk / 4);
    const int descriptor = shared.Export();
    peer.SendDescriptor(descriptor);
    close(descriptor);
    peer.Meet();
    EXPECT_EQ(WordAt(shared.address()), 0x22u);
  };
  const auto importer = [](Peer& peer) {
    const ExternalMemory memory = Import(peer.ReceiveDescriptor());
    const CUdeviceptr buffer = Map(memory, 0, kChunk);
    EXPECT_EQ(WordAt(buffer + kChunk - 4), 0x11u);
    SetWords(buffer, 0x22, 4);
    EXPECT_EQ(cuMemFree(buffer), CUDA_SUCCESS);
    EXPECT_EQ(destroy_memory(memory), CUDA_SUCCESS);
    peer.Meet();
  };
  Run(exporter, importer);
}

}  // namespace
}  // namespace twinmmu::abi
