// Copies and fills of rows when work runs as late as it may, and what the report says of impossible
// ones. The simulated driver is linked in: no other one can be meant.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "api/diagnostics.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/process.h"
#include "sim/libcuda/report/report_reader.h"
#include "sim/libcuda/tests/own_report.h"

extern "C" {
int cuMemAlloc_v2(unsigned long long* address, size_t size);
int cuMemFree_v2(unsigned long long address);
int cuMemcpy2D_v2(const twinmmu::cuda_abi::CUDA_MEMCPY2D* copy);
int cuMemcpy2DAsync_v2(const twinmmu::cuda_abi::CUDA_MEMCPY2D* copy,
                       twinmmu::cuda_abi::CUstream stream);
int cuMemcpy3DAsync_v2(const twinmmu::cuda_abi::CUDA_MEMCPY3D* copy,
                       twinmmu::cuda_abi::CUstream stream);
int cuMemsetD2D8Async(unsigned long long to, size_t pitch, unsigned char value, size_t width,
                      size_t height, twinmmu::cuda_abi::CUstream stream);
int cuMemcpyBatchAsync_v2(unsigned long long* to, unsigned long long* from, size_t* sizes,
                          size_t count, twinmmu::cuda_abi::CUmemcpyAttributes* attributes,
                          size_t* first, size_t attribute_count,
                          twinmmu::cuda_abi::CUstream stream);
int cuMemcpy3DBatchAsync_v2(size_t count, twinmmu::cuda_abi::CUDA_MEMCPY3D_BATCH_OP* copies,
                            unsigned long long flags, twinmmu::cuda_abi::CUstream stream);
}

namespace twinmmu::libcuda {
namespace {

using ::testing::HasSubstr;

constexpr CUresult kInvalidValue = 1;
constexpr size_t kSize = 64;

using Content = std::vector<unsigned char>;

// Memory of 64 zeros, and a stream that waits for nobody.
class LateCopiesTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxPushCurrent_v2(context_), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc_v2(&memory_, kSize), CUDA_SUCCESS);
    ASSERT_EQ(cuMemsetD8_v2(memory_, 0, kSize), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cuMemFree_v2(memory_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamDestroy_v2(stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxPopCurrent_v2(&context_), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  }

  // Two rows of 2 bytes of `host`, to pitch 4.
  CUDA_MEMCPY2D Rows(const Content& host) const {
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = host.data();
    copy.srcPitch = 2;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = memory_;
    copy.dstPitch = 4;
    copy.WidthInBytes = 2;
    copy.Height = 2;
    return copy;
  }
  // The same as a box of one layer.
  CUDA_MEMCPY3D Box(const Content& host) const {
    CUDA_MEMCPY3D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = host.data();
    copy.srcPitch = 2;
    copy.srcHeight = 2;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = memory_;
    copy.dstPitch = 4;
    copy.dstHeight = 2;
    copy.WidthInBytes = 2;
    copy.Height = 2;
    copy.Depth = 1;
    return copy;
  }
  static ReportedDiagnostic LastDiagnostic() {
    const ProcessReport report = OwnReport();
    EXPECT_FALSE(report.diagnostics.empty());
    return report.diagnostics.empty() ? ReportedDiagnostic() : report.diagnostics.back();
  }
  // What is there now, whatever the stream will do.
  Content Now(size_t size) const {
    Content now(size);
    EXPECT_EQ(cuMemcpyDtoH_v2(now.data(), memory_, size), CUDA_SUCCESS);
    return now;
  }

  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUdeviceptr memory_ = 0;
};

TEST_F(LateCopiesTest, RowsAreReadAndWrittenWhenTheirTurnComes) {
  Content host = {1, 2, 3, 4};
  const CUDA_MEMCPY2D copy = Rows(host);
  ASSERT_EQ(cuMemcpy2DAsync_v2(&copy, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Now(8), Content(8));
  host = {5, 6, 7, 8};
  ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Now(8), (Content{5, 6, 0, 0, 7, 8, 0, 0}));
}

TEST_F(LateCopiesTest, SynchronousOnesAreDoneWithMemoryOfTheHost) {
  Content host = {1, 2, 3, 4};
  const CUDA_MEMCPY2D copy = Rows(host);
  ASSERT_EQ(cuMemcpy2D_v2(&copy), CUDA_SUCCESS);
  host = {5, 6, 7, 8};
  EXPECT_EQ(Now(8), (Content{1, 2, 0, 0, 3, 4, 0, 0}));
}

TEST_F(LateCopiesTest, FillsOfRowsWaitForTheirTurn) {
  ASSERT_EQ(cuMemsetD2D8Async(memory_, 4, 9, 1, 2, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Now(8), Content(8));
  ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Now(8), (Content{9, 0, 0, 0, 9, 0, 0, 0}));
}

// That is what CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL asks for, and the others do not.
TEST_F(LateCopiesTest, WhatIsReadDuringTheCallMayChangeAfterIt) {
  Content host = {1, 2};
  CUdeviceptr to[] = {memory_, memory_ + 1};
  CUdeviceptr from[] = {reinterpret_cast<CUdeviceptr>(&host[0]),
                        reinterpret_cast<CUdeviceptr>(&host[1])};
  size_t sizes[] = {1, 1};
  CUmemcpyAttributes attributes[] = {{CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL, {}, {}, 0},
                                     {CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, {}, {}, 0}};
  size_t first[] = {0, 1};
  ASSERT_EQ(cuMemcpyBatchAsync_v2(to, from, sizes, 2, attributes, first, 2, stream_), CUDA_SUCCESS);
  host = {3, 4};
  EXPECT_EQ(Now(2), Content(2));
  ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Now(2), (Content{1, 4}));
}

TEST_F(LateCopiesTest, RowsThatAreReadDuringTheCallMayChangeAfterIt) {
  Content host = {1, 2, 3, 4};
  CUDA_MEMCPY3D_BATCH_OP copy = {};
  copy.src.type = copy.dst.type = 1;  // of pointers
  copy.src.op.ptr.ptr = reinterpret_cast<CUdeviceptr>(host.data());
  copy.dst.op.ptr.ptr = memory_;
  copy.dst.op.ptr.rowLength = 4;
  copy.extent = {2, 2, 1};
  copy.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
  ASSERT_EQ(cuMemcpy3DBatchAsync_v2(1, &copy, 0, stream_), CUDA_SUCCESS);
  host = {5, 6, 7, 8};
  EXPECT_EQ(Now(8), Content(8));
  ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Now(8), (Content{1, 2, 0, 0, 3, 4, 0, 0}));
}

// An H200 computes modulo 2^64, and copies and fills what remains.
TEST_F(LateCopiesTest, PlacesBeyondAllAddressesAreRefused) {
  const Content host(4);
  CUDA_MEMCPY2D copy = Rows(host);
  copy.dstY = size_t{1} << 62;
  EXPECT_EQ(cuMemcpy2DAsync_v2(&copy, stream_), kInvalidValue);
  EXPECT_EQ(cuMemsetD2D8Async(memory_, SIZE_MAX, 7, 4, 2, stream_), kInvalidValue);
  EXPECT_EQ(cuMemsetD2D8Async(memory_, 16, 7, 4, size_t{1} << 60, stream_), kInvalidValue);
  ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Now(8), Content(8));
}

// The end of the last layer counts, as the beginning of the first one does.
TEST_F(LateCopiesTest, BoxesThatEndBeyondAllAddressesAreRefused) {
  const Content host(4);
  CUDA_MEMCPY3D deep = Box(host);
  deep.Depth = size_t{5} << 59;  // layers of 8 bytes: 2^62 are left modulo 2^64
  EXPECT_EQ(cuMemcpy3DAsync_v2(&deep, stream_), kInvalidValue);
  EXPECT_THAT(LastDiagnostic().words, HasSubstr("destination: the rows end beyond all addresses"));
  CUDA_MEMCPY3D high = Box(host);
  high.dstDevice = ~CUdeviceptr{0} - 4;  // the second row is 4 bytes further
  EXPECT_EQ(cuMemcpy3DAsync_v2(&high, stream_), kInvalidValue);
  EXPECT_THAT(LastDiagnostic().words, HasSubstr("destination: the rows end beyond all addresses"));
  EXPECT_EQ(Now(8), Content(8));
}

// Where there is nothing to fill, it does not matter where.
TEST_F(LateCopiesTest, RowsWithoutBytesMayBeAnywhere) {
  EXPECT_EQ(cuMemsetD2D8Async(memory_, SIZE_MAX, 7, 0, 4, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD2D8Async(memory_, SIZE_MAX, 7, 4, 0, stream_), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Now(8), Content(8));
}

TEST_F(LateCopiesTest, TheReportSaysWhatIsImpossible) {
  const Content host(4);
  CUDA_MEMCPY2D copy = Rows(host);
  copy.dstPitch = 1;
  ASSERT_EQ(cuMemcpy2DAsync_v2(&copy, stream_), kInvalidValue);
  const ReportedDiagnostic last = LastDiagnostic();
  EXPECT_EQ(last.kind, DiagnosticKind::kImpossibleCopy);
  EXPECT_EQ(last.place.call, "cuMemcpy2DAsync");
  EXPECT_THAT(last.words, HasSubstr("destination: pitch 1 is smaller than a row"));
}

}  // namespace
}  // namespace twinmmu::libcuda

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  setenv("TWINMMU_STREAM_POLICY", "deferred", 1);  // before the first call
  // Without one that is asked for, nothing is kept.
  setenv("TWINMMU_REPORT", (testing::TempDir() + "report.jsonl").c_str(), 1);
  return RUN_ALL_TESTS();
}
