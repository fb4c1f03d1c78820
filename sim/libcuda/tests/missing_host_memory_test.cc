// Memory of the host that is not there, or cannot be written: copies and kernels that use it get an
// error that names the address. The simulated driver is linked in.

#include <sys/mman.h>

#include <cstdint>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/diagnostics.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/host/available_memory.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/process.h"
#include "sim/profile/profile.h"

namespace twinmmu::libcuda {

// What the backend does not call.
extern "C" CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
extern "C" CUresult cuMemFree_v2(CUdeviceptr);
extern "C" CUresult cuModuleLoadData(CUmodule*, const void*);
extern "C" CUresult cuMemcpy(CUdeviceptr, CUdeviceptr, size_t);
extern "C" CUresult cuMemHostAlloc(void**, size_t, unsigned int);
extern "C" CUresult cuMemFreeHost(void*);
extern "C" CUresult cuMemHostRegister_v2(void*, size_t, unsigned int);

namespace {

using ::testing::HasSubstr;

constexpr CUresult kInvalidValue = 1;
constexpr CUresult kOutOfMemory = 2;
constexpr CUresult kIllegalAddress = 700;
constexpr size_t kPage = 4096;

constexpr char kStore[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry store(.param .u64 at)
{
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [at];
  mov.u32 %r1, 7;
  st.global.u32 [%rd1], %r1;
  ret;
}
)";

// For ever.
constexpr char kLoop[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry store(.param .u64 at)
{
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [at];
  mov.u32 %r1, 7;
LOOP:
  st.global.u32 [%rd1], %r1;
  add.u32 %r1, %r1, 1;
  bra LOOP;
}
)";

// Far below all that the kernel maps by itself: what is unmapped there stays so, whatever a
// sanitizer maps meanwhile.
void* const kApart = reinterpret_cast<void*>(uintptr_t{1} << 37);

CUdeviceptr AddressOf(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

// Each test has a machine of its own, for a fault ends all contexts for good.
class MissingHostMemoryTest : public testing::Test {
 protected:
  MissingHostMemoryTest() {
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    Restart(Profile::ReferenceH200());
    void* const mapped =
        mmap(kApart, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_EQ(mapped, kApart);
    page_ = static_cast<char*>(mapped);
  }
  ~MissingHostMemoryTest() override { munmap(page_, kPage); }

  void Restart(const Profile& profile) {
    Process::Get().Restart(profile);
    CUcontext context = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxPushCurrent_v2(context), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc_v2(&device_, kPage), CUDA_SUCCESS);
  }
  void Unmap() { ASSERT_EQ(munmap(page_, kPage), 0); }
  void MakeReadOnly() { ASSERT_EQ(mprotect(page_, kPage, PROT_READ), 0); }

  // What the kernel comes to that stores to `address`.
  static CUresult Store(const void* address, const char* kernel = kStore) {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    EXPECT_EQ(cuModuleLoadData(&module, kernel), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleGetFunction(&function, module, "store"), CUDA_SUCCESS);
    CUdeviceptr at = AddressOf(address);
    void* parameters[] = {&at};
    EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
              CUDA_SUCCESS);
    return cuCtxSynchronize();
  }
  static void ExpectSaid(const std::string& words) {
    std::string texts;
    for (const Diagnostic& found : Process::Get().driver()->simulator->diagnostics()) {
      absl::StrAppend(&texts, ToString(found));
    }
    EXPECT_THAT(texts, HasSubstr(words));
  }
  // A diagnostic of this machine names the address.
  static void ExpectNamed(const void* address) {
    ExpectSaid(absl::StrFormat("0x%x", AddressOf(address)));
  }

  CUdeviceptr device_ = 0;
  char* page_ = nullptr;
};

TEST_F(MissingHostMemoryTest, CopiesOfMemoryThatIsNotThereAreRefused) {
  Unmap();
  EXPECT_EQ(cuMemcpyHtoD_v2(device_, page_, 8), kInvalidValue);
  EXPECT_EQ(cuMemcpyDtoH_v2(page_, device_, 8), kInvalidValue);
  EXPECT_EQ(cuMemcpy(device_, AddressOf(page_), 8), kInvalidValue);
  EXPECT_EQ(cuMemcpyHtoDAsync_v2(device_, page_, 8, nullptr), kInvalidValue);
  ExpectNamed(page_);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(MissingHostMemoryTest, MemoryThatCanOnlyBeReadIsCopiedFromAndNotTo) {
  MakeReadOnly();
  EXPECT_EQ(cuMemcpyHtoD_v2(device_, page_, 8), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH_v2(page_, device_, 8), kInvalidValue);
  ExpectNamed(page_);
}

TEST_F(MissingHostMemoryTest, CopiesOfFreedPinnedMemoryAreRefused) {
  void* pinned = nullptr;
  ASSERT_EQ(cuMemHostAlloc(&pinned, size_t{8} << 20, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemFreeHost(pinned), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyHtoD_v2(device_, pinned, 8), kInvalidValue);
  EXPECT_EQ(cuMemcpy(device_, AddressOf(pinned), 8), kInvalidValue);
  ExpectNamed(pinned);
}

TEST_F(MissingHostMemoryTest, CopiesAndFillsOfRegisteredMemoryThatWasUnmappedAreRefused) {
  ASSERT_EQ(cuMemHostRegister_v2(page_, kPage, 0), CUDA_SUCCESS);
  Unmap();
  EXPECT_EQ(cuMemcpyHtoD_v2(device_, page_, 8), kInvalidValue);
  EXPECT_EQ(cuMemsetD8_v2(AddressOf(page_), 0, 8), kInvalidValue);
  ExpectNamed(page_);
}

TEST_F(MissingHostMemoryTest, FreedDeviceAddressesAreRefusedUnderEveryProfile) {
  for (const NamedProfile& named : NamedProfiles()) {
    const Profile profile = named.make();
    if (profile.devices.empty()) continue;
    SCOPED_TRACE(named.name);
    Restart(profile);
    CUdeviceptr freed = 0;
    ASSERT_EQ(cuMemAlloc_v2(&freed, size_t{4} << 20), CUDA_SUCCESS);
    ASSERT_EQ(cuMemFree_v2(freed), CUDA_SUCCESS);
    for (const CUdeviceptr wrong : {freed, freed + (uint64_t{1} << 46), ~CUdeviceptr{4095}}) {
      EXPECT_EQ(cuMemcpy(device_, wrong, 8), kInvalidValue) << wrong;
      EXPECT_EQ(cuMemcpy(wrong, device_, 8), kInvalidValue) << wrong;
    }
  }
}

TEST_F(MissingHostMemoryTest, AKernelThatStoresWhereMemoryWasUnmappedFaults) {
  ASSERT_EQ(cuMemHostRegister_v2(page_, kPage, 0), CUDA_SUCCESS);
  EXPECT_EQ(Store(page_), CUDA_SUCCESS);
  EXPECT_EQ(page_[0], 7);
  Unmap();
  EXPECT_EQ(Store(page_), kIllegalAddress);
  ExpectNamed(page_);
}

TEST_F(MissingHostMemoryTest, AKernelFaultsWhoseMemoryIsUnmappedWhileItRuns) {
  ASSERT_EQ(cuMemHostRegister_v2(page_, kPage, 0), CUDA_SUCCESS);
  const auto* const word = reinterpret_cast<const uint32_t*>(page_);
  std::thread unmaps([&] {
    while (__atomic_load_n(word, __ATOMIC_RELAXED) < 1000) std::this_thread::yield();
    munmap(page_, kPage);
  });
  EXPECT_EQ(Store(page_, kLoop), kIllegalAddress);
  unmaps.join();
  ExpectNamed(page_);
  unsigned char resident = 0;
  EXPECT_NE(mincore(page_, kPage, &resident), 0);  // nothing is left in its place
}

TEST_F(MissingHostMemoryTest, AKernelThatStoresToReadOnlyMemoryFaults) {
  ASSERT_EQ(cuMemHostRegister_v2(page_, kPage, 0), CUDA_SUCCESS);
  MakeReadOnly();
  EXPECT_EQ(Store(page_ + 8), kIllegalAddress);
  ExpectNamed(page_ + 8);
}

TEST_F(MissingHostMemoryTest, QueuedCopiesOfMemoryThatGoesAwayFault) {
  Profile deferred = Profile::ReferenceH200();
  deferred.stream_policy = StreamPolicy::kDeferred;
  Restart(deferred);
  ASSERT_EQ(cuMemHostRegister_v2(page_, kPage, 0), CUDA_SUCCESS);
  CUstream stream = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoHAsync_v2(page_, device_, 8, stream), CUDA_SUCCESS);
  Unmap();
  EXPECT_EQ(cuStreamSynchronize(stream), kIllegalAddress);
  ExpectNamed(page_);
}

TEST_F(MissingHostMemoryTest, A3DCopyFromNullWithAnOffsetIsRefused) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  descriptor.Width = 64;
  descriptor.Height = 64;
  descriptor.Format = 0x03;  // CU_AD_FORMAT_UNSIGNED_INT32
  descriptor.NumChannels = 1;
  CUarray array = nullptr;
  ASSERT_EQ(cuArray3DCreate_v2(&array, &descriptor), CUDA_SUCCESS);
  CUDA_MEMCPY3D copy = {};
  copy.WidthInBytes = 16;
  copy.Height = 4;
  copy.Depth = 1;
  copy.srcXInBytes = 64;
  copy.srcMemoryType = cuda_abi::CU_MEMORYTYPE_HOST;
  copy.dstMemoryType = cuda_abi::CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  EXPECT_EQ(cuMemcpy3DAsync_v2(&copy, nullptr), kInvalidValue);
  ExpectSaid("source: the memory is null");
}

// More than any host has, on a machine that has it.
class MoreThanTheHostHasTest : public MissingHostMemoryTest {
 protected:
  MoreThanTheHostHasTest() {
    Profile profile = Profile::ReferenceH200();
    profile.devices[0].memory = Bytes(3 * huge_);
    for (HostNodeProfile& node : profile.host_nodes) node.memory = Bytes(3 * huge_);
    Restart(profile);
  }

  const size_t huge_ = RoundUp(2 * AvailableMemory() + GiB(1), GiB(1)).value();
};

// It would be ended by the host.
TEST_F(MoreThanTheHostHasTest, AFillIsRefusedAndTheNextOneWorks) {
  CUdeviceptr huge = 0;
  ASSERT_EQ(cuMemAlloc_v2(&huge, huge_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8_v2(huge, 1, huge_), kOutOfMemory);
  EXPECT_EQ(cuMemsetD8Async(huge, 1, huge_, nullptr), kOutOfMemory);
  EXPECT_EQ(cuMemsetD8_v2(huge, 1, kPage), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(MoreThanTheHostHasTest, AFillOfPinnedMemoryIsRefused) {
  void* huge = nullptr;
  ASSERT_EQ(cuMemHostAlloc(&huge, huge_, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8_v2(AddressOf(huge), 1, huge_), kOutOfMemory);
  EXPECT_EQ(cuMemFreeHost(huge), CUDA_SUCCESS);
}

TEST_F(MoreThanTheHostHasTest, ACopyIsRefused) {
  CUdeviceptr from = 0;
  CUdeviceptr to = 0;
  ASSERT_EQ(cuMemAlloc_v2(&from, huge_), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAlloc_v2(&to, huge_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoDAsync_v2(to, from, huge_, nullptr), kOutOfMemory);
  EXPECT_EQ(cuMemcpyDtoDAsync_v2(to, from, kPage, nullptr), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::libcuda
