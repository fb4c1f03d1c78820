// Graphs whose memory is no longer what it was when they were made. The simulated driver is linked
// in: no other one can be meant.

#include <string>
#include <vector>

#include "api/diagnostics.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/process.h"
#include "sim/profile/profile.h"
#include "sim/simulator.h"
#include "third_party/cuda_abi/graph_abi.h"

extern "C" {
int cuStreamBeginCapture_v2(twinmmu::cuda_abi::CUstream stream, int mode);
int cuStreamEndCapture(twinmmu::cuda_abi::CUstream stream, twinmmu::cuda_abi::CUgraph* graph);
int cuGraphInstantiateWithFlags(twinmmu::cuda_abi::CUgraphExec* exec,
                                twinmmu::cuda_abi::CUgraph graph, unsigned long long flags);
int cuGraphLaunch(twinmmu::cuda_abi::CUgraphExec exec, twinmmu::cuda_abi::CUstream stream);
int cuGraphAddMemsetNode(twinmmu::cuda_abi::CUgraphNode* node, twinmmu::cuda_abi::CUgraph graph,
                         const twinmmu::cuda_abi::CUgraphNode* dependencies, size_t count,
                         const twinmmu::cuda_abi::CUDA_MEMSET_NODE_PARAMS* fill,
                         twinmmu::cuda_abi::CUcontext context);
int cuGraphCreate(twinmmu::cuda_abi::CUgraph* graph, unsigned int flags);
int cuMemAlloc_v2(unsigned long long* address, size_t size);
int cuMemFree_v2(unsigned long long address);
}

namespace twinmmu::libcuda {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr size_t kSize = size_t{2} << 20;
constexpr CUresult kIllegalAddress = 700;
constexpr CUresult kLaunchFailed = 719;

constexpr char kIgnore[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry ignore(.param .u64 pointer, .param .u64 number) { ret; }
)";

// A machine of its own, and mapped memory.
class StaleGraphsTest : public testing::Test {
 protected:
  void SetUp() override {
    Process::Get().Restart(Profile::ReferenceH200());
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxPushCurrent_v2(context_), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAddressReserve(&address_, kSize, 0, 0, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuMemCreate(&handle_, kSize, &properties_, 0), CUDA_SUCCESS);
    Map(handle_);
  }
  void TearDown() override { cuCtxPopCurrent_v2(&context_); }

  void Map(CUmemGenericAllocationHandle handle) {
    const CUmemAccessDesc access = {{1, 0}, 3};
    ASSERT_EQ(cuMemMap(address_, kSize, 0, handle, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuMemSetAccess(address_, kSize, &access, 1), CUDA_SUCCESS);
  }
  void Unmap() { ASSERT_EQ(cuMemUnmap(address_, kSize), CUDA_SUCCESS); }

  CUgraphExec EndCapture() {
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
    CUgraphExec exec = nullptr;
    EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    return exec;
  }
  CUgraphExec CaptureFill() {
    EXPECT_EQ(cuStreamBeginCapture_v2(stream_, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemsetD32Async(address_, 1, 4, stream_), CUDA_SUCCESS);
    return EndCapture();
  }
  // A kernel that uses none of its arguments.
  CUgraphExec CaptureKernel(CUdeviceptr pointer, uint64_t number) {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    EXPECT_EQ(cuModuleLoadDataEx(&module, kIgnore, 0, nullptr, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuModuleGetFunction(&function, module, "ignore"), CUDA_SUCCESS);
    void* arguments[] = {&pointer, &number};
    EXPECT_EQ(cuStreamBeginCapture_v2(stream_, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream_, arguments, nullptr),
              CUDA_SUCCESS);
    return EndCapture();
  }
  CUresult Run(CUgraphExec exec) {
    const CUresult launched = cuGraphLaunch(exec, stream_);
    return launched == CUDA_SUCCESS ? cuStreamSynchronize(stream_) : launched;
  }

  static std::vector<Diagnostic> Stale() {
    std::vector<Diagnostic> stale;
    for (const Diagnostic& found : Process::Get().driver()->simulator->diagnostics()) {
      if (found.kind == DiagnosticKind::kStaleGraphMemory) stale.push_back(found);
    }
    return stale;
  }

  const CUmemAllocationProp properties_ = [] {
    CUmemAllocationProp properties = {};
    properties.type = 1;
    properties.location = {1, 0};
    return properties;
  }();
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUdeviceptr address_ = 0;
  CUmemGenericAllocationHandle handle_ = 0;
};

TEST_F(StaleGraphsTest, MemoryThatIsAsItWasIsFine) {
  const CUgraphExec exec = CaptureFill();
  EXPECT_EQ(Run(exec), CUDA_SUCCESS);
  Unmap();
  Map(handle_);  // the same again
  EXPECT_EQ(Run(exec), CUDA_SUCCESS);
  EXPECT_THAT(Stale(), IsEmpty());
}

TEST_F(StaleGraphsTest, MemoryThatWasUnmappedIsAnErrorWithBothHistories) {
  const CUgraphExec exec = CaptureFill();
  Unmap();
  EXPECT_EQ(Run(exec), kLaunchFailed);
  ASSERT_EQ(Stale().size(), 1u);
  const Diagnostic stale = Stale()[0];
  EXPECT_EQ(stale.severity, Severity::kError);
  EXPECT_EQ(stale.call, "cuGraphLaunch");
  EXPECT_THAT(stale.message, HasSubstr("the memset node uses"));
  EXPECT_THAT(stale.message, HasSubstr("had mapped memory when the node was made"));
  EXPECT_THAT(stale.message, HasSubstr("it was unmapped by call"));
  std::string history;
  for (const HistoryEntry& entry : stale.history) history += entry.sentence + "\n";
  EXPECT_THAT(history, HasSubstr("cuMemMap mapped"));
  EXPECT_THAT(history, HasSubstr("cuMemUnmap"));
}

TEST_F(StaleGraphsTest, OtherMemoryIsAWarning) {
  const CUgraphExec exec = CaptureFill();
  CUmemGenericAllocationHandle other = 0;
  ASSERT_EQ(cuMemCreate(&other, kSize, &properties_, 0), CUDA_SUCCESS);
  Unmap();
  Map(other);
  EXPECT_EQ(Run(exec), CUDA_SUCCESS);
  ASSERT_EQ(Stale().size(), 1u);
  EXPECT_EQ(Stale()[0].severity, Severity::kWarning);
  EXPECT_THAT(Stale()[0].message, HasSubstr("put other memory there"));
}

TEST_F(StaleGraphsTest, ANodeIsToldOnce) {
  const CUgraphExec exec = CaptureFill();
  CUmemGenericAllocationHandle other = 0;
  ASSERT_EQ(cuMemCreate(&other, kSize, &properties_, 0), CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i) {
    Unmap();
    Map(other);
    EXPECT_EQ(Run(exec), CUDA_SUCCESS);
  }
  EXPECT_EQ(Stale().size(), 1u);
}

TEST_F(StaleGraphsTest, APointerArgumentIsAWarning) {
  const CUgraphExec exec = CaptureKernel(address_ + 64, 7);
  Unmap();
  EXPECT_EQ(Run(exec), CUDA_SUCCESS);
  ASSERT_EQ(Stale().size(), 1u);
  EXPECT_EQ(Stale()[0].severity, Severity::kWarning);
  EXPECT_THAT(Stale()[0].message,
              HasSubstr("the kernel node ignore has an argument that points to"));
}

TEST_F(StaleGraphsTest, NumbersAreNoPointers) {
  const CUgraphExec exec = CaptureKernel(0x1000, ~uint64_t{0});
  Unmap();
  EXPECT_EQ(Run(exec), CUDA_SUCCESS);
  EXPECT_THAT(Stale(), IsEmpty());
}

TEST_F(StaleGraphsTest, MemoryThatWasFreedIsAnError) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuMemAlloc_v2(&memory, 4096), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  const CUDA_MEMSET_NODE_PARAMS fill = {memory, 0, 1, 4, 4, 1};
  ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &fill, nullptr), CUDA_SUCCESS);
  CUgraphExec exec = nullptr;
  ASSERT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemFree_v2(memory), CUDA_SUCCESS);
  EXPECT_EQ(Run(exec), kLaunchFailed);
  ASSERT_EQ(Stale().size(), 1u);
  EXPECT_EQ(Stale()[0].severity, Severity::kError);
  EXPECT_THAT(Stale()[0].message, HasSubstr("was freed by call"));
}

TEST_F(StaleGraphsTest, ACopyFaultsAsAnotherCopyDoes) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuMemAlloc_v2(&memory, 4096), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamBeginCapture_v2(stream_, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoDAsync_v2(memory, address_, 64, stream_), CUDA_SUCCESS);
  const CUgraphExec exec = EndCapture();
  Unmap();
  EXPECT_EQ(Run(exec), kIllegalAddress);
  EXPECT_THAT(Stale(), Not(IsEmpty()));
}

}  // namespace
}  // namespace twinmmu::libcuda

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
