// What the report of a process says is left, by the driver's C interface. The simulated driver is
// linked in: no other one can be meant.

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "api/diagnostics.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/process.h"
#include "sim/libcuda/report/report_reader.h"
#include "sim/libcuda/tests/own_report.h"
#include "sim/profile/profile.h"

namespace twinmmu::libcuda {

// What the backend does not call.
extern "C" CUresult cuMemAllocAsync(CUdeviceptr*, size_t, CUstream);
extern "C" CUresult cuMemAllocFromPoolAsync(CUdeviceptr*, size_t, CUmemoryPool, CUstream);
extern "C" CUresult cuMemFreeAsync(CUdeviceptr, CUstream);
extern "C" CUresult cuMemPoolCreate(CUmemoryPool*, const CUmemPoolProps*);
extern "C" CUresult cuMemPoolDestroy(CUmemoryPool);
extern "C" CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
extern "C" CUresult cuMemFree_v2(CUdeviceptr);
extern "C" CUresult cuImportExternalMemory(CUexternalMemory*,
                                           const CUDA_EXTERNAL_MEMORY_HANDLE_DESC*);
extern "C" CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr*, CUexternalMemory,
                                                    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC*);
extern "C" CUresult cuDestroyExternalMemory(CUexternalMemory);
extern "C" CUresult cuLogicalEndpointIdReserve(CUlogicalEndpointId*, unsigned int);
extern "C" CUresult cuLogicalEndpointIdRelease(CUlogicalEndpointId, unsigned int);
extern "C" CUresult cuLogicalEndpointCreate(CUlogicalEndpointId, const CUlogicalEndpointProp*);
extern "C" CUresult cuLogicalEndpointDestroy(CUlogicalEndpointId);

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr size_t kSize = size_t{2} << 20;
constexpr unsigned int kDescriptor = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

// Memory of the first device that can be exported.
struct Pinned {
  Pinned() {
    properties.type = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED
    properties.requestedHandleTypes = kDescriptor;
    properties.location.type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
  }
  CUmemAllocationProp properties = {};
};

class LeftObjectsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    BeginContext();
  }
  void TearDown() override {
    EndContext();
    EXPECT_THAT(Left(), IsEmpty());
  }
  void BeginContext() {
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxPushCurrent_v2(context_), CUDA_SUCCESS);
  }
  void EndContext() {
    EXPECT_EQ(cuCtxPopCurrent_v2(&context_), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  }

  // Kinds, and the calls that made them.
  static std::vector<std::pair<DiagnosticKind, std::string>> Left() {
    std::vector<std::pair<DiagnosticKind, std::string>> left;
    for (const LiveObjects& objects : OwnReport().alive) {
      left.emplace_back(objects.kind, objects.place.call);
    }
    return left;
  }

  static CUarray MakeArray() {
    CUDA_ARRAY3D_DESCRIPTOR descriptor = Descriptor();
    CUarray array = nullptr;
    EXPECT_EQ(cuArray3DCreate_v2(&array, &descriptor), CUDA_SUCCESS);
    return array;
  }
  static CUmipmappedArray MakeMipmappedArray() {
    CUDA_ARRAY3D_DESCRIPTOR descriptor = Descriptor();
    CUmipmappedArray mipmap = nullptr;
    EXPECT_EQ(cuMipmappedArrayCreate(&mipmap, &descriptor, 3), CUDA_SUCCESS);
    return mipmap;
  }

 private:
  static CUDA_ARRAY3D_DESCRIPTOR Descriptor() {
    CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
    descriptor.Width = 256;
    descriptor.Height = 256;
    descriptor.Format = 0x03;  // CU_AD_FORMAT_UNSIGNED_INT32
    descriptor.NumChannels = 1;
    descriptor.Flags = 0x40;  // CUDA_ARRAY3D_SPARSE
    return descriptor;
  }

  CUcontext context_ = nullptr;
};

TEST_F(LeftObjectsTest, AnArrayIsLeftUntilItIsDestroyed) {
  const CUarray array = MakeArray();
  const CUmipmappedArray mipmap = MakeMipmappedArray();
  EXPECT_THAT(Left(), ElementsAre(Pair(DiagnosticKind::kLeakedArray, "cuArray3DCreate"),
                                  Pair(DiagnosticKind::kLeakedArray, "cuMipmappedArrayCreate")));
  EXPECT_EQ(cuArrayDestroy(array), CUDA_SUCCESS);
  EXPECT_NE(cuArrayDestroy(array), CUDA_SUCCESS);
  EXPECT_THAT(Left(), ElementsAre(Pair(DiagnosticKind::kLeakedArray, "cuMipmappedArrayCreate")));
  EXPECT_EQ(cuMipmappedArrayDestroy(mipmap), CUDA_SUCCESS);
}

// What kernels took by malloc and did not give back is told once, when the context ends.
TEST_F(LeftObjectsTest, TheHeapOfKernelsIsToldWithItsContext) {
  constexpr char kCode[] =
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".extern .func (.param .b64 r) malloc (.param .b64 s);\n"
      ".visible .entry take() {\n.param .b64 s; .param .b64 r; st.param.b64 [s], 100;\n"
      "call.uni (r), malloc, (s);\nret;\n}\n";
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  ASSERT_EQ(cuModuleLoadDataEx(&module, kCode, 0, nullptr, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&kernel, module, "take"), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  const auto told = [] {
    std::vector<std::string> words;
    for (const ReportedDiagnostic& found : ReportedOf(DiagnosticKind::kLeakedDeviceHeap)) {
      words.push_back(found.words);
    }
    return words;
  };
  EXPECT_THAT(told(), IsEmpty());
  EndContext();
  EXPECT_THAT(told(),
              ElementsAre(HasSubstr("kernel take, PTX line 7, call.uni: 32 times, 3200 B in all")));
  BeginContext();
}

// A level goes with its array, and its number may be that of another one.
TEST_F(LeftObjectsTest, ALevelIsNotLeft) {
  const CUmipmappedArray mipmap = MakeMipmappedArray();
  CUarray level = nullptr;
  ASSERT_EQ(cuMipmappedArrayGetLevel(&level, mipmap, 1), CUDA_SUCCESS);
  EXPECT_THAT(Left(), ElementsAre(Pair(DiagnosticKind::kLeakedArray, "cuMipmappedArrayCreate")));
  EXPECT_EQ(cuMipmappedArrayDestroy(mipmap), CUDA_SUCCESS);
}

TEST_F(LeftObjectsTest, ArraysEndWithTheirContext) {
  const CUarray array = MakeArray();
  MakeMipmappedArray();
  EndContext();
  EXPECT_THAT(Left(), IsEmpty());
  BeginContext();
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  EXPECT_NE(cuArray3DGetDescriptor_v2(&descriptor, array), CUDA_SUCCESS) << "it is really gone";
}

TEST_F(LeftObjectsTest, VirtualMemoryIsLeftUntilItIsGivenBack) {
  const Pinned pinned;
  const auto reservation = Pair(DiagnosticKind::kLeakedReservation, "cuMemAddressReserve");
  const auto allocation = Pair(DiagnosticKind::kLeakedAllocation, "cuMemCreate");
  const auto mapping = Pair(DiagnosticKind::kLeakedMapping, "cuMemMap");
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle memory = 0;
  CUmemGenericAllocationHandle retained = 0;
  ASSERT_EQ(cuMemAddressReserve(&address, kSize, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemCreate(&memory, kSize, &pinned.properties, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(address, kSize, 0, memory, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemRetainAllocationHandle(&retained, reinterpret_cast<void*>(address)), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
  EXPECT_NE(cuMemUnmap(address, kSize / 2), CUDA_SUCCESS);
  EXPECT_NE(cuMemAddressFree(address, kSize), CUDA_SUCCESS);
  EXPECT_THAT(Left(), UnorderedElementsAre(reservation, allocation, mapping));
  EXPECT_EQ(cuMemRelease(retained), CUDA_SUCCESS);
  EXPECT_THAT(Left(), UnorderedElementsAre(reservation, mapping));
  EXPECT_EQ(cuMemUnmap(address, kSize), CUDA_SUCCESS);
  EXPECT_THAT(Left(), UnorderedElementsAre(reservation));
  EXPECT_EQ(cuMemAddressFree(address, kSize), CUDA_SUCCESS);
}

// When the process ends, and once: its number may be that of an earlier one.
TEST_F(LeftObjectsTest, ADescriptorIsLeftIfItIsOpen) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto end = [] {
    const Pinned pinned;
    CUmemGenericAllocationHandle memory = 0;
    int descriptors[2] = {-1, -1};
    cuMemCreate(&memory, kSize, &pinned.properties, 0);
    for (int& descriptor : descriptors) {
      close(descriptors[0]);
      cuMemExportToShareableHandle(&descriptor, memory, kDescriptor, 0);
    }
    exit(descriptors[0] == descriptors[1] ? 0 : 1);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(0), "leak: kLeakedDescriptor\n");
}

// Its memory is another matter, and outlives it. The pools of a device are nobody's.
TEST_F(LeftObjectsTest, APoolIsLeftUntilItIsDestroyed) {
  CUmemPoolProps properties = {};
  properties.allocType = 1;      // CU_MEM_ALLOCATION_TYPE_PINNED
  properties.location.type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
  CUmemoryPool pool = nullptr;
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAllocFromPoolAsync(&memory, kSize, pool, nullptr), CUDA_SUCCESS);
  EXPECT_THAT(Left(), ElementsAre(Pair(DiagnosticKind::kLeakedPool, "cuMemPoolCreate"),
                                  Pair(DiagnosticKind::kLeakedMemory, "cuMemAllocFromPoolAsync")));
  EXPECT_EQ(cuMemPoolDestroy(pool), CUDA_SUCCESS);
  EXPECT_NE(cuMemPoolDestroy(pool), CUDA_SUCCESS);
  EXPECT_THAT(Left(), ElementsAre(Pair(DiagnosticKind::kLeakedMemory, "cuMemAllocFromPoolAsync")));
  EXPECT_EQ(cuMemFreeAsync(memory, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAllocAsync(&memory, kSize, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeAsync(memory, nullptr), CUDA_SUCCESS);
}

TEST_F(LeftObjectsTest, MemoryIsNotLeftThatAStreamFrees) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuMemAlloc_v2(&memory, kSize), CUDA_SUCCESS);
  EXPECT_THAT(Left(), ElementsAre(Pair(DiagnosticKind::kLeakedMemory, "cuMemAlloc")));
  EXPECT_EQ(cuMemFreeAsync(memory, nullptr), CUDA_SUCCESS);
  EXPECT_THAT(Left(), IsEmpty());
}

TEST_F(LeftObjectsTest, ABufferOfExternalMemoryIsLeftUntilItIsFreed) {
  const Pinned pinned;
  CUmemGenericAllocationHandle exported = 0;
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC description = {};
  description.type = 1;  // CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD
  description.size = kSize;
  ASSERT_EQ(cuMemCreate(&exported, kSize, &pinned.properties, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemExportToShareableHandle(&description.handle.fd, exported, kDescriptor, 0),
            CUDA_SUCCESS);
  ASSERT_EQ(cuMemRelease(exported), CUDA_SUCCESS);
  CUexternalMemory memory = nullptr;
  ASSERT_EQ(cuImportExternalMemory(&memory, &description), CUDA_SUCCESS);
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = {};
  part.size = kSize;
  CUdeviceptr buffer = 0;
  ASSERT_EQ(cuExternalMemoryGetMappedBuffer(&buffer, memory, &part), CUDA_SUCCESS);
  EXPECT_EQ(cuDestroyExternalMemory(memory), CUDA_SUCCESS);
  EXPECT_THAT(Left(),
              ElementsAre(Pair(DiagnosticKind::kLeakedMemory, "cuExternalMemoryGetMappedBuffer")));
  EXPECT_EQ(cuMemFree_v2(buffer), CUDA_SUCCESS);
}

// Also one that came from elsewhere, and which only the machine knows to be one.
TEST_F(LeftObjectsTest, AMulticastObjectIsNotCalledMemory) {
  const CUmulticastObjectProp team = {1, kSize, kDescriptor, 0};
  CUmemGenericAllocationHandle object = 0;
  ASSERT_EQ(cuMulticastCreate(&object, &team), CUDA_SUCCESS);
  EXPECT_THAT(Left(),
              ElementsAre(Pair(DiagnosticKind::kLeakedMulticastObject, "cuMulticastCreate")));
  int descriptor = -1;
  ASSERT_EQ(cuMemExportToShareableHandle(&descriptor, object, kDescriptor, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemRelease(object), CUDA_SUCCESS);
  CUmemGenericAllocationHandle imported = 0;
  ASSERT_EQ(cuMemImportFromShareableHandle(
                &imported, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)), kDescriptor),
            CUDA_SUCCESS);
  EXPECT_THAT(Left(), ElementsAre(Pair(DiagnosticKind::kLeakedMulticastObject,
                                       "cuMemImportFromShareableHandle")));
  ASSERT_EQ(cuMemRelease(imported), CUDA_SUCCESS);
  close(descriptor);
}

// The last tests: on a machine that has endpoints.
class LeftEndpointsTest : public LeftObjectsTest {
 protected:
  void SetUp() override {
    Process::Get().Restart(*Profile::Named("driver-13.3"));
    LeftObjectsTest::SetUp();
  }
};

TEST_F(LeftEndpointsTest, AnEndpointIsLeftUntilItIsDestroyed) {
  CUlogicalEndpointId id = 0;
  ASSERT_EQ(cuLogicalEndpointIdReserve(&id, 1), CUDA_SUCCESS);
  CUlogicalEndpointProp properties = {};
  properties.type = 1;  // CU_LOGICAL_ENDPOINT_TYPE_UNICAST
  properties.size = kSize;
  ASSERT_EQ(cuLogicalEndpointCreate(id, &properties), CUDA_SUCCESS);
  EXPECT_THAT(Left(),
              ElementsAre(Pair(DiagnosticKind::kLeakedMulticastObject, "cuLogicalEndpointCreate")));
  EXPECT_EQ(cuLogicalEndpointDestroy(id), CUDA_SUCCESS);
  EXPECT_THAT(Left(), IsEmpty());
  EXPECT_EQ(cuLogicalEndpointIdRelease(id, 1), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::libcuda

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // Without one that is asked for, nothing is kept.
  setenv("TWINMMU_REPORT", (testing::TempDir() + "report.jsonl").c_str(), 1);
  return RUN_ALL_TESTS();
}
