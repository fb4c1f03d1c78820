// Two devices: what each may do with events, pools, kernels, nodes and arrays of the other.

#include <utility>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/pools/pool_test.h"

namespace twinmmu::abi {
namespace {

constexpr char kText[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry kernel() { ret; }\n";

using Library = struct CUlib_st*;
constexpr Function<CUresult(Library*, const void*, void*, void*, unsigned int, void*, void*,
                            unsigned int)>
    load_library("cuLibraryLoadData");
constexpr Function<CUresult(Library)> unload_library("cuLibraryUnload");
constexpr Function<CUresult(void**, Library, const char*)> get_kernel("cuLibraryGetKernel");
constexpr Function<CUresult(void*, unsigned int, unsigned int, unsigned int, unsigned int,
                            unsigned int, unsigned int, unsigned int, CUstream, void**, void**)>
    launch("cuLaunchKernel");

class PeerObjectsTest : public TwoDevicesTest {
 protected:
  void SetUp() override {
    TwoDevicesTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(cuCtxSetCurrent(second_), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamCreate(&stream_of_second_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc(&of_second_, 4096), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  }
  void TearDown() override {
    if (stream_of_second_ != nullptr) {
      EXPECT_EQ(cuStreamDestroy(stream_of_second_), CUDA_SUCCESS);
      EXPECT_EQ(cuMemFree(of_second_), CUDA_SUCCESS);
    }
    TwoDevicesTest::TearDown();
  }

  CUstream stream_of_second_ = nullptr;
  CUdeviceptr of_second_ = 0;
};

TEST_F(PeerObjectsTest, BetweenEventsOfTwoDevicesIsNoTime) {
  CUevent first = nullptr;
  CUevent second = nullptr;
  EXPECT_EQ(cuEventCreate(&first, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(first, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(first, stream_of_second_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuCtxSetCurrent(second_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventCreate(&second, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(second, stream_of_second_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(stream_of_second_, first, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(second), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(first), CUDA_SUCCESS);
  float milliseconds = 0;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, first, second), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventDestroy(first), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(second), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
}

// Linear memory of another device is copied without asking (PeersTest), that of a pool is not.
TEST_F(PeerObjectsTest, CopiesNeedTheAccessOfAPool) {
  PoolProps props;
  props.location.id = 1;
  CUmemoryPool pool = nullptr;
  CUdeviceptr piece = 0;
  ASSERT_EQ(create_pool(&pool, &props), CUDA_SUCCESS);
  ASSERT_EQ(allocate_from(&piece, 4096, pool, stream_of_second_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_of_second_), CUDA_SUCCESS);
  const Buffer own(4096);
  int value = 5;
  EXPECT_EQ(cuMemcpyHtoD(piece, &value, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH(&value, piece, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoD(own.address(), piece, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpy(piece, own.address(), 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8(piece, 1, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyPeer(piece, second_, own.address(), context_, 4), CUDA_SUCCESS)
      << "each end by its own context";
  CUmemAccessDesc access = {};
  access.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  EXPECT_EQ(set_access(pool, &access, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyHtoD(piece, &value, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8(piece, 1, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(free_async(piece, stream_of_second_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_of_second_), CUDA_SUCCESS);
  EXPECT_EQ(destroy_pool(pool), CUDA_SUCCESS);
}

TEST_F(PeerObjectsTest, AKernelOfALibraryRunsWhereItsStreamIs) {
  Library library = nullptr;
  void* kernel = nullptr;
  ASSERT_EQ(load_library(&library, kText, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
  ASSERT_EQ(get_kernel(&kernel, library, "kernel"), CUDA_SUCCESS);
  EXPECT_EQ(launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream_of_second_, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_of_second_), CUDA_SUCCESS);
  EXPECT_EQ(unload_library(library), CUDA_SUCCESS);
}

TEST_F(PeerObjectsTest, ANodeFillsMemoryOfTheOtherDevice) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec executable = nullptr;
  CUDA_MEMSET_NODE_PARAMS fill = {};
  fill.dst = of_second_;
  fill.elementSize = 4;
  fill.width = 4;
  fill.height = 1;
  fill.value = 6;
  EXPECT_EQ(cuMemsetD32(of_second_, 6, 4), CUDA_ERROR_INVALID_VALUE) << "a call does not";
  ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &fill, context_), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(executable, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  int value = 0;
  EXPECT_EQ(cuMemcpyDtoH(&value, of_second_ + 12, 4), CUDA_SUCCESS);
  EXPECT_EQ(value, 6);
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(PeerObjectsTest, ACapturedFillOfTheOtherDeviceIsNotInstantiated) {
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32Async(of_second_, 9, 4, stream), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

TEST_F(PeerObjectsTest, AnArrayOfTheOtherDeviceIsKnownHere) {
  CUDA_ARRAY_DESCRIPTOR descriptor = {};
  descriptor.Width = 64;
  descriptor.Format = CU_AD_FORMAT_UNSIGNED_INT32;
  descriptor.NumChannels = 1;
  CUarray array = nullptr;
  EXPECT_EQ(cuCtxSetCurrent(second_), CUDA_SUCCESS);
  ASSERT_EQ(cuArrayCreate(&array, &descriptor), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  CUDA_ARRAY_DESCRIPTOR found = {};
  EXPECT_EQ(cuArrayGetDescriptor(&found, array), CUDA_SUCCESS);
  EXPECT_EQ(found.Width, 64u);
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array;
  const CUDA_TEXTURE_DESC sampling = {};
  CUtexObject object = 0;
  EXPECT_EQ(cuTexObjectCreate(&object, &resource, &sampling, nullptr),
            CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  EXPECT_EQ(cuArrayDestroy(array), CUDA_SUCCESS) << "in the other context";
}

// Arrays of the second device, in the context of the first. A texture of its mipmapped array, and a
// second destruction, end the process on two H200s with driver 580.159.
class PeerArraysTest : public TwoDevicesTest {
 protected:
  void SetUp() override {
    TwoDevicesTest::SetUp();
    if (!IsSkipped()) Make(CUDA_ARRAY3D_SURFACE_LDST);
  }
  void TearDown() override {
    if (mipmap_ != nullptr) {
      EXPECT_EQ(cuArrayDestroy(array_), CUDA_SUCCESS);
      EXPECT_EQ(cuMipmappedArrayDestroy(mipmap_), CUDA_SUCCESS);
    }
    TwoDevicesTest::TearDown();
  }

  void Make(unsigned int flags) {
    CUDA_ARRAY3D_DESCRIPTOR descriptor = {512, 512, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, flags};
    ASSERT_EQ(cuCtxSetCurrent(second_), CUDA_SUCCESS);
    ASSERT_EQ(cuArray3DCreate(&array_, &descriptor), CUDA_SUCCESS);
    ASSERT_EQ(cuMipmappedArrayCreate(&mipmap_, &descriptor, 4), CUDA_SUCCESS);
    ASSERT_EQ(cuMipmappedArrayGetLevel(&level_, mipmap_, 1), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  }

  CUarray array_ = nullptr;
  CUarray level_ = nullptr;
  CUmipmappedArray mipmap_ = nullptr;
};

TEST_F(PeerArraysTest, LevelsHaveOneHandleInEveryContext) {
  CUarray level = nullptr;
  EXPECT_EQ(cuMipmappedArrayGetLevel(&level, mipmap_, 1), CUDA_SUCCESS);
  EXPECT_EQ(level, level_);
  EXPECT_EQ(cuMipmappedArrayGetLevel(&level, mipmap_, 99), CUDA_ERROR_INVALID_VALUE);
  CUDA_ARRAY3D_DESCRIPTOR found = {};
  EXPECT_EQ(cuArray3DGetDescriptor(&found, level_), CUDA_SUCCESS);
  EXPECT_EQ(found.Width, 256u);
}

TEST_F(PeerArraysTest, AreCopied) {
  for (const CUarray array : {array_, level_}) {
    int sent = 42;
    int received = 0;
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = &sent;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    copy.WidthInBytes = sizeof(sent);
    copy.Height = 1;
    EXPECT_EQ(cuMemcpy2D(&copy), CUDA_SUCCESS);
    std::swap(copy.srcMemoryType, copy.dstMemoryType);
    copy.srcArray = array;
    copy.dstHost = &received;
    EXPECT_EQ(cuMemcpy2D(&copy), CUDA_SUCCESS);
    EXPECT_EQ(received, sent);
  }
}

TEST_F(PeerArraysTest, AreNotShown) {
  const CUDA_TEXTURE_DESC sampling = {};
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  for (const CUarray array : {array_, level_}) {
    unsigned long long object = 0;
    resource.res.array.hArray = array;
    EXPECT_EQ(cuTexObjectCreate(&object, &resource, &sampling, nullptr),
              CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    EXPECT_EQ(cuSurfObjectCreate(&object, &resource), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  }
}

TEST_F(PeerArraysTest, OnlySparseOnesHaveTiles) {
  constexpr Function<CUresult(void*, CUmipmappedArray)> properties_of(
      "cuMipmappedArrayGetSparseProperties");
  constexpr unsigned int kSparse = 0x40;  // CUDA_ARRAY3D_SPARSE
  unsigned char properties[64] = {};
  EXPECT_EQ(properties_of(properties, mipmap_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuArrayDestroy(array_), CUDA_SUCCESS);
  EXPECT_EQ(cuMipmappedArrayDestroy(mipmap_), CUDA_SUCCESS);
  Make(kSparse);
  EXPECT_EQ(properties_of(properties, mipmap_), CUDA_SUCCESS);
}

TEST_F(PeerArraysTest, LevelsAreDestroyed) { EXPECT_EQ(cuArrayDestroy(level_), CUDA_SUCCESS); }

TEST_F(PeerObjectsTest, NoAtomicOperationIsNativeBetweenThem) {
  if (DriverVersion() < 13000) GTEST_SKIP() << "the driver is older than this function";
  constexpr Function<CUresult(unsigned*, const int*, unsigned, CUdevice, CUdevice)> get(
      "cuDeviceGetP2PAtomicCapabilities");
  constexpr int kOperations = 13;
  for (int operation = 0; operation <= kOperations; ++operation) {
    unsigned capability = 77;
    EXPECT_EQ(get(&capability, &operation, 1, 0, 1),
              operation < kOperations ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(capability, 0u) << operation;
  }
}

// Pinned memory has the flags of its block, and blocks are of one device.
TEST_F(PeerObjectsTest, PinnedMemoryOfTwoDevicesSharesNoBlock) {
  void* first = nullptr;
  void* second = nullptr;
  EXPECT_EQ(cuMemHostAlloc(&first, 100, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(second_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostAlloc(&second, 100, CU_MEMHOSTALLOC_PORTABLE), CUDA_SUCCESS);
  unsigned int flags = 0;
  EXPECT_EQ(cuMemHostGetFlags(&flags, second), CUDA_SUCCESS);
  EXPECT_EQ(flags, 3u);
  EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeHost(first), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeHost(second), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi
