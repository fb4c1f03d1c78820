// External semaphores, of which none can be had without an API for graphics.
// Source: an H100 with driver 580.159.

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

using ExternalSemaphore = struct CUextSemaphore_st*;
struct SemaphoreDescription {
  int type = 0;
  union {
    struct {  // the first, as the larger one: all of it is cleared
      void* handle;
      const void* name;
    } win32;
    int descriptor;
  } handle = {};
  unsigned int flags = 0;
  unsigned int reserved[16] = {};
};

const Function<CUresult(ExternalSemaphore*, const SemaphoreDescription*)> import_semaphore(
    "cuImportExternalSemaphore");
const Function<CUresult(ExternalSemaphore)> destroy_semaphore("cuDestroyExternalSemaphore");
using Use = Function<CUresult(const ExternalSemaphore*, const void*, unsigned int, CUstream)>;
const Use signal("cuSignalExternalSemaphoresAsync");
const Use wait("cuWaitExternalSemaphoresAsync");

constexpr int kOpaqueDescriptor = 1;
constexpr int kTimelineDescriptor = 9;

using ExternalSemaphoreTest = ContextTest;

CUresult Import(int type, int descriptor, unsigned int flags = 0) {
  SemaphoreDescription description;
  description.type = type;
  description.handle.descriptor = descriptor;
  description.flags = flags;
  ExternalSemaphore semaphore = nullptr;
  return import_semaphore(&semaphore, &description);
}

TEST_F(ExternalSemaphoreTest, DescriptorsThatAreNoSemaphores) {
  constexpr int kClosed = 777;
  for (const int descriptor : {-1, kClosed}) {
    EXPECT_EQ(Import(kOpaqueDescriptor, descriptor), CUDA_ERROR_UNKNOWN) << descriptor;
  }
  EXPECT_EQ(Import(kTimelineDescriptor, -1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Import(kTimelineDescriptor, kClosed), CUDA_ERROR_UNKNOWN);
}

TEST_F(ExternalSemaphoreTest, OtherTypesNeedWhatIsNotHere) {
  for (const int type : {2, 3, 4, 5, 6, 7, 8, 10}) {
    EXPECT_EQ(Import(type, 777), CUDA_ERROR_NOT_SUPPORTED) << type;
    EXPECT_EQ(Import(type, 0), CUDA_ERROR_INVALID_VALUE) << type;
  }
  for (const int type : {0, 11}) EXPECT_EQ(Import(type, 777), CUDA_ERROR_INVALID_VALUE) << type;
}

TEST_F(ExternalSemaphoreTest, ThereAreNoFlags) {
  for (const int type : {0, 1, 2, 6, 9, 11}) {
    EXPECT_EQ(Import(type, 777, 1), CUDA_ERROR_INVALID_VALUE) << type;
  }
}

TEST_F(ExternalSemaphoreTest, NullPointersAreRefused) {
  const SemaphoreDescription description;
  ExternalSemaphore semaphore = nullptr;
  EXPECT_EQ(import_semaphore(&semaphore, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(import_semaphore(nullptr, &description), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(destroy_semaphore(nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ExternalSemaphoreTest, NobodyWaitsForNone) {
  for (const Use& use : {signal, wait}) {
    EXPECT_EQ(use(nullptr, nullptr, 0, nullptr), CUDA_ERROR_INVALID_VALUE) << use.symbol();
    EXPECT_EQ(use(nullptr, nullptr, 1, nullptr), CUDA_ERROR_INVALID_VALUE) << use.symbol();
  }
}

TEST_F(ExternalSemaphoreTest, NeedsAContext) {
  ASSERT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Import(kOpaqueDescriptor, -1), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(signal(nullptr, nullptr, 0, nullptr), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi
