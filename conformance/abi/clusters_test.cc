// Clusters of blocks: which ones a driver launches, and what their blocks see. The codes are those
// of an H100 (driver 580.159).

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

using Load = Function<CUresult(void**, const void*)>;
using Unload = Function<CUresult(void*)>;
using GetFunction = Function<CUresult(void**, void*, const char*)>;
using GetAttribute = Function<CUresult(int*, int, void*)>;
using SetAttribute = Function<CUresult(void*, int, int)>;

// CUlaunchAttribute and CUlaunchConfig, as far as they are used here.
struct ClusterAttribute {
  int id;
  int pad;
  unsigned int dimensions[16];
};
struct LaunchDescription {
  unsigned int grid[3];
  unsigned int block[3];
  unsigned int shared_bytes;
  CUstream stream;
  ClusterAttribute* attributes;
  unsigned int attribute_count;
};
using LaunchEx = Function<CUresult(const LaunchDescription*, void*, void**, void**)>;

constexpr int kCooperative = 2;       // CU_LAUNCH_ATTRIBUTE_COOPERATIVE
constexpr int kClusterDimension = 4;  // CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
constexpr int kPreferred = 11;        // CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION
constexpr int kMustBeSet = 10;        // CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET
constexpr int kRequiredWidth = 11;    // CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, ...
constexpr int kNonPortable = 14;      // CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
constexpr auto kInvalidClusterSize = static_cast<CUresult>(912);  // CUDA_ERROR_INVALID_CLUSTER_SIZE
constexpr auto kIllegalInstruction = static_cast<CUresult>(715);  // CUDA_ERROR_ILLEGAL_INSTRUCTION

constexpr unsigned kWords = 64;

class ClusterLaunchTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    memory_.emplace(kWords * 4);
  }
  void TearDown() override {
    memory_.reset();
    if (module_ != nullptr) {
      EXPECT_EQ(Unload("cuModuleUnload")(module_), CUDA_SUCCESS);
    }
    ContextTest::TearDown();
  }
  // Each block stores the number of blocks of its cluster, plus `body`'s %r3, in its own word.
  void LoadKernel(const std::string& directives, const std::string& body = "mov.u32 %r3, 0;") {
    const std::string text =
        ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 8 .b8 s[64];\n"
        ".visible .entry k(.param .u64 p) " +
        directives +
        " {\n.reg .pred %p<10>; .reg .b32 %r<20>; .reg .b64 %rd<20>;\n"
        "ld.param.u64 %rd1, [p]; mov.u32 %r2, %ctaid.x; mov.u32 %r1, %cluster_nctarank;\n"
        "mul.wide.u32 %rd2, %r2, 4; add.s64 %rd2, %rd1, %rd2;\n" +
        body + "\nadd.u32 %r1, %r1, %r3; st.global.u32 [%rd2], %r1;\nret;\n}\n";
    ASSERT_EQ(Load("cuModuleLoadData")(&module_, text.c_str()), CUDA_SUCCESS) << text;
    ASSERT_EQ(GetFunction("cuModuleGetFunction")(&kernel_, module_, "k"), CUDA_SUCCESS);
    ASSERT_EQ(cuMemsetD8(memory_->address(), 0, kWords * 4), CUDA_SUCCESS);
  }
  // `cluster` 0: the attribute is not there.
  CUresult LaunchKernel(unsigned grid, unsigned cluster) {
    ClusterAttribute attribute = {kClusterDimension, 0, {cluster, 1, 1}};
    const LaunchDescription launch = {{grid, 1, 1}, {1, 1, 1},  0,
                                      nullptr,      &attribute, cluster != 0 ? 1u : 0u};
    CUdeviceptr at = memory_->address();
    void* arguments[] = {&at};
    return LaunchEx("cuLaunchKernelEx")(&launch, kernel_, arguments, nullptr);
  }
  // Blocks of 32 threads, if nothing else is said.
  CUresult LaunchWith(std::vector<ClusterAttribute> attributes, unsigned grid = 16,
                      unsigned block = 32, unsigned shared_bytes = 0, unsigned grid_y = 1) {
    const LaunchDescription launch = DescriptionOf(&attributes, grid, block, shared_bytes, grid_y);
    CUdeviceptr at = memory_->address();
    void* arguments[] = {&at};
    return LaunchEx("cuLaunchKernelEx")(&launch, kernel_, arguments, nullptr);
  }
  static LaunchDescription DescriptionOf(std::vector<ClusterAttribute>* attributes, unsigned grid,
                                         unsigned block, unsigned shared_bytes, unsigned grid_y) {
    return {{grid, grid_y, 1}, {block, 1, 1},      shared_bytes,
            nullptr,           attributes->data(), static_cast<unsigned>(attributes->size())};
  }
  static ClusterAttribute Cluster(unsigned x, unsigned y = 1, unsigned z = 1) {
    return {kClusterDimension, 0, {x, y, z}};
  }
  // -1: no value.
  int Asked(const char* name, std::vector<ClusterAttribute> attributes, CUresult result,
            unsigned block = 32, unsigned shared_bytes = 0) {
    const Function<CUresult(int*, void*, const LaunchDescription*)> ask(name);
    const LaunchDescription launch = DescriptionOf(&attributes, 16, block, shared_bytes, 1);
    int value = -1;
    EXPECT_EQ(ask(&value, kernel_, &launch), result) << name;
    return value;
  }
  void ReadBack() {
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyDtoH(words_.data(), memory_->address(), kWords * 4), CUDA_SUCCESS);
  }
  int Attribute(int attribute) {
    int value = -1;
    EXPECT_EQ(GetAttribute("cuFuncGetAttribute")(&value, attribute, kernel_), CUDA_SUCCESS);
    return value;
  }

  std::optional<Buffer> memory_;
  void* module_ = nullptr;
  void* kernel_ = nullptr;
  std::array<unsigned, kWords> words_ = {};
};

TEST_F(ClusterLaunchTest, UpToEightBlocksMakeACluster) {
  LoadKernel("");
  EXPECT_EQ(LaunchKernel(16, 8), CUDA_SUCCESS);
  ReadBack();
  EXPECT_EQ(words_[15], 8u);
  EXPECT_EQ(LaunchKernel(6, 3), CUDA_SUCCESS);
  EXPECT_EQ(LaunchKernel(18, 9), kInvalidClusterSize);
  EXPECT_EQ(LaunchKernel(3, 2), kInvalidClusterSize);
}

TEST_F(ClusterLaunchTest, SixteenBlocksMakeOneWhereThatIsAllowed) {
  LoadKernel("");
  EXPECT_EQ(Attribute(kNonPortable), 0);
  EXPECT_EQ(SetAttribute("cuFuncSetAttribute")(kernel_, kNonPortable, 1), CUDA_SUCCESS);
  EXPECT_EQ(Attribute(kNonPortable), 1);
  EXPECT_EQ(LaunchKernel(32, 16), CUDA_SUCCESS);
  ReadBack();
  EXPECT_EQ(words_[31], 16u);
  EXPECT_EQ(LaunchKernel(34, 17), kInvalidClusterSize);
}

TEST_F(ClusterLaunchTest, ThereAreThreePoliciesOfScheduling) {
  LoadKernel("");
  constexpr int kPolicy = 15;  // CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE
  for (const int policy : {0, 1, 2}) {
    EXPECT_EQ(SetAttribute("cuFuncSetAttribute")(kernel_, kPolicy, policy), CUDA_SUCCESS);
  }
  for (const int policy : {-1, 7}) {
    EXPECT_EQ(SetAttribute("cuFuncSetAttribute")(kernel_, kPolicy, policy),
              CUDA_ERROR_INVALID_VALUE);
  }
}

TEST_F(ClusterLaunchTest, AKernelMayRequireItsCluster) {
  LoadKernel(".reqnctapercluster 2");
  EXPECT_EQ(Attribute(kMustBeSet), 0);
  EXPECT_EQ(Attribute(kRequiredWidth), 2);
  EXPECT_EQ(Attribute(kRequiredWidth + 1), 1);
  EXPECT_EQ(LaunchKernel(4, 0), CUDA_SUCCESS);
  ReadBack();
  EXPECT_EQ(words_[3], 2u);
  EXPECT_EQ(LaunchKernel(4, 2), CUDA_SUCCESS);
  EXPECT_EQ(LaunchKernel(4, 4), kInvalidClusterSize);
  EXPECT_EQ(LaunchKernel(4, 1), kInvalidClusterSize);
  EXPECT_EQ(LaunchKernel(3, 0), kInvalidClusterSize);
}

TEST_F(ClusterLaunchTest, AKernelMayRequireThatTheLaunchSaysOne) {
  LoadKernel(".explicitcluster");
  EXPECT_EQ(Attribute(kMustBeSet), 1);
  EXPECT_EQ(LaunchKernel(4, 0), kInvalidClusterSize);
  EXPECT_EQ(LaunchKernel(4, 2), CUDA_SUCCESS);
  EXPECT_EQ(LaunchKernel(4, 1), CUDA_SUCCESS);
}

// What nvcc makes of __cluster_dims__.
TEST_F(ClusterLaunchTest, AKernelMayRequireItsClusterAndThatThereIsOne) {
  LoadKernel(".explicitcluster .reqnctapercluster 2, 1, 1");
  EXPECT_EQ(Attribute(kMustBeSet), 1);
  EXPECT_EQ(LaunchKernel(4, 0), CUDA_SUCCESS);
  EXPECT_EQ(SetAttribute("cuFuncSetAttribute")(kernel_, kRequiredWidth, 2), CUDA_SUCCESS);
  EXPECT_EQ(SetAttribute("cuFuncSetAttribute")(kernel_, kRequiredWidth, 1),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ClusterLaunchTest, ANodeIsOfWholeClusters) {
  const Function<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                          const CUDA_KERNEL_NODE_PARAMS*)>
      add_node("cuGraphAddKernelNode_v2");
  LoadKernel(".reqnctapercluster 2");
  CUdeviceptr at = memory_->address();
  void* arguments[] = {&at};
  CUDA_KERNEL_NODE_PARAMS node = {};
  node.func = static_cast<decltype(node.func)>(kernel_);
  node.gridDimX = 3;
  node.gridDimY = node.gridDimZ = node.blockDimX = node.blockDimY = node.blockDimZ = 1;
  node.kernelParams = arguments;
  CUgraph graph = nullptr;
  CUgraphNode made = nullptr;
  ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(add_node(&made, graph, nullptr, 0, &node), kInvalidClusterSize);
  node.gridDimX = 4;
  EXPECT_EQ(add_node(&made, graph, nullptr, 0, &node), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(ClusterLaunchTest, AKernelMayLimitItsCluster) {
  LoadKernel(".maxclusterrank 2");
  EXPECT_EQ(LaunchKernel(4, 2), CUDA_SUCCESS);
  EXPECT_EQ(LaunchKernel(4, 4), kInvalidClusterSize);
}

TEST_F(ClusterLaunchTest, BlocksReachEachOthersSharedMemory) {
  LoadKernel("",
             "mov.u32 %r4, %cluster_ctarank; mov.u32 %r5, s; add.u32 %r6, %r4, 100;\n"
             "st.shared.u32 [%r5], %r6; xor.b32 %r7, %r4, 1;\n"
             "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
             "mapa.shared::cluster.u32 %r8, %r5, %r7; ld.shared::cluster.u32 %r3, [%r8];\n"
             "getctarank.shared::cluster.u32 %r9, %r8; mul.lo.u32 %r9, %r9, 1000;\n"
             "add.u32 %r3, %r3, %r9;\n"
             "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;");
  EXPECT_EQ(LaunchKernel(4, 2), CUDA_SUCCESS);
  ReadBack();
  EXPECT_EQ(words_[0], 1103u);
  EXPECT_EQ(words_[1], 102u);
  EXPECT_EQ(words_[2], 1103u);
}

// The address of an own variable holds the rank, too.
TEST_F(ClusterLaunchTest, SharedAddressesHoldTheRank) {
  LoadKernel("", "mov.u32 %r3, s; shr.u32 %r3, %r3, 24; mul.lo.u32 %r3, %r3, 10;");
  EXPECT_EQ(LaunchKernel(4, 4), CUDA_SUCCESS);
  ReadBack();
  EXPECT_EQ(words_[0], 4u);
  EXPECT_EQ(words_[3], 34u);
}

// The bits of an mbarrier, as its operations give them.
TEST_F(ClusterLaunchTest, StatesOfMbarriersHoldWhatIsPending) {
  LoadKernel(
      "",
      "mbarrier.init.shared.b64 [s], 3; mbarrier.arrive.shared.b64 %rd3, [s];\n"
      "mbarrier.arrive.shared.b64 %rd3, [s]; shr.u64 %rd4, %rd3, 43; cvt.u32.u64 %r3, %rd4;\n"
      "and.b32 %r3, %r3, 0xfffff;");
  EXPECT_EQ(LaunchKernel(1, 0), CUDA_SUCCESS);
  ReadBack();
  EXPECT_EQ(words_[0], 0xffffeu + 1);
}

TEST_F(ClusterLaunchTest, OccupancyIsOfLaunchesThatAreAllowed) {
  const Function<CUresult(int*, void*, const LaunchDescription*)> largest(
      "cuOccupancyMaxPotentialClusterSize");
  const Function<CUresult(int*, void*, const LaunchDescription*)> active(
      "cuOccupancyMaxActiveClusters");
  LoadKernel(".maxclusterrank 4");
  ClusterAttribute attribute = {kClusterDimension, 0, {2, 1, 1}};
  LaunchDescription launch = {{48, 1, 1}, {1024, 1, 1}, 0, nullptr, &attribute, 1};
  int size = 0;
  int count = 0;
  EXPECT_EQ(largest(&size, kernel_, &launch), CUDA_SUCCESS);
  EXPECT_EQ(active(&count, kernel_, &launch), CUDA_SUCCESS);
  EXPECT_EQ(size, 8);
  EXPECT_GT(count, 0);
  attribute.dimensions[0] = 8;
  EXPECT_EQ(largest(&size, kernel_, &launch), kInvalidClusterSize);
  EXPECT_EQ(active(&count, kernel_, &launch), kInvalidClusterSize);
  launch.attribute_count = 0;
  EXPECT_EQ(active(&count, kernel_, &launch), CUDA_SUCCESS);
  EXPECT_EQ(count, 0);
}

// Some are of streams alone, and of none the others.
TEST_F(ClusterLaunchTest, AttributesOfALaunchHaveSomeValues) {
  struct Case {
    int id;
    unsigned value;
    bool valid;
  };
  constexpr Case kCases[] = {
      {3, 1, false},      {5, 2, true},   {5, 3, false},    {9, 0x0203, true},
      {9, 0x0400, false}, {9, 4, false},  {10, 1, true},    {10, 2, false},
      {14, 100, true},    {14, 0, true},  {14, 101, false}, {14, 0xffffffff, false},
      {16, 1, true},      {16, 2, false}, {99, 0, false},   {-1, 0, false},
  };
  LoadKernel("");
  for (const Case& of : kCases) {
    SCOPED_TRACE(of.id);
    SCOPED_TRACE(of.value);
    const CUresult result = of.valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    const ClusterAttribute attribute = {of.id, 0, {of.value}};
    EXPECT_EQ(LaunchWith({attribute}), result);
    Asked("cuOccupancyMaxPotentialClusterSize", {attribute}, result);
    Asked("cuOccupancyMaxActiveClusters", {attribute}, result);
  }
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(ClusterLaunchTest, DimensionsThatAreAllZeroAreNone) {
  LoadKernel("");
  EXPECT_EQ(LaunchWith({Cluster(0, 0, 0)}), CUDA_SUCCESS);
  EXPECT_EQ(Asked("cuOccupancyMaxActiveClusters", {Cluster(0, 0, 0)}, CUDA_SUCCESS), 0);
  EXPECT_EQ(LaunchWith({Cluster(0)}), kInvalidClusterSize);
  EXPECT_EQ(LaunchWith({Cluster(1, 0, 0)}), kInvalidClusterSize);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(ClusterLaunchTest, APreferredClusterConsistsOfWholeOnes) {
  LoadKernel("");
  for (const unsigned whole : {2u, 4u, 16u}) {
    EXPECT_EQ(LaunchWith({Cluster(2), {kPreferred, 0, {whole, 1, 1}}}), CUDA_SUCCESS) << whole;
  }
  for (const unsigned other : {0u, 1u, 3u}) {
    EXPECT_EQ(LaunchWith({Cluster(2), {kPreferred, 0, {other, 1, 1}}}), kInvalidClusterSize);
  }
  EXPECT_EQ(LaunchWith({{kPreferred, 0, {2, 1, 1}}}), kInvalidClusterSize) << "of which ones?";
  EXPECT_EQ(LaunchWith({{kPreferred, 0, {}}}), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
}

// The block, the attributes one behind the other, the grid, the cluster, whether all blocks of a
// cooperative launch fit, and shared memory.
TEST_F(ClusterLaunchTest, ALaunchIsCheckedInOrder) {
  const ClusterAttribute wrong = {99, 0, {}};
  const ClusterAttribute cooperative = {kCooperative, 0, {1}};
  LoadKernel("");
  EXPECT_EQ(LaunchWith({Cluster(0)}, 16, 2048), CUDA_ERROR_INVALID_VALUE) << "block";
  EXPECT_EQ(LaunchWith({Cluster(0), wrong}), kInvalidClusterSize);
  EXPECT_EQ(LaunchWith({wrong, Cluster(0)}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(LaunchWith({Cluster(0)}, 16, 32, 0, 65536), kInvalidClusterSize);
  EXPECT_EQ(LaunchWith({Cluster(3)}, 16, 32, 0, 65536), CUDA_ERROR_INVALID_VALUE) << "grid";
  EXPECT_EQ(LaunchWith({Cluster(3), wrong}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(LaunchWith({Cluster(3), cooperative}, 16, 32, 65536), kInvalidClusterSize);
  EXPECT_EQ(LaunchWith({Cluster(2), cooperative}, 16, 32, 65536),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  EXPECT_EQ(LaunchWith({Cluster(2)}, 16, 32, 65536), CUDA_ERROR_INVALID_VALUE) << "shared";
}

// Which a kernel may allow that no device has room for: with all else about the launch wrong that
// can be.
TEST_F(ClusterLaunchTest, ClustersThatAreTooLargeForAnyDeviceAreRefusedLast) {
  const ClusterAttribute cooperative = {kCooperative, 0, {1}};
  LoadKernel("");
  EXPECT_EQ(LaunchWith({Cluster(32), cooperative}, 32, 32, 65536), kInvalidClusterSize);
  EXPECT_EQ(SetAttribute("cuFuncSetAttribute")(kernel_, kNonPortable, 1), CUDA_SUCCESS);
  EXPECT_EQ(LaunchWith({Cluster(32), cooperative}, 32), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  EXPECT_EQ(LaunchWith({Cluster(32)}, 32, 32, 65536), CUDA_ERROR_INVALID_VALUE) << "shared";
  EXPECT_EQ(LaunchWith({Cluster(32)}, 32), kInvalidClusterSize);
  EXPECT_EQ(LaunchWith({Cluster(32)}, 48, 32, 65536), kInvalidClusterSize) << "half a cluster";
}

// Which are 8 on a multiprocessor at most, and together on one group of multiprocessors.
TEST_F(ClusterLaunchTest, FewerBlocksFitInLargerClusters) {
  constexpr char kActive[] = "cuOccupancyMaxActiveClusters";
  int multiprocessors = 0;
  EXPECT_EQ(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0),
            CUDA_SUCCESS);
  LoadKernel("");
  EXPECT_EQ(Asked(kActive, {Cluster(1)}, CUDA_SUCCESS, 32), 8 * multiprocessors);
  EXPECT_EQ(Asked(kActive, {Cluster(1)}, CUDA_SUCCESS, 1024), 2 * multiprocessors);
  EXPECT_EQ(Asked(kActive, {Cluster(2)}, CUDA_SUCCESS, 32), 4 * multiprocessors);
  EXPECT_LT(Asked(kActive, {Cluster(8)}, CUDA_SUCCESS, 32), multiprocessors);
}

TEST_F(ClusterLaunchTest, ACooperativeLaunchHasAsManyClustersAsFit) {
  LoadKernel("");
  const int fit = Asked("cuOccupancyMaxActiveClusters", {Cluster(8)}, CUDA_SUCCESS, 32);
  const unsigned blocks = 8 * static_cast<unsigned>(fit);
  memory_.emplace(blocks * 4);
  const ClusterAttribute cooperative = {kCooperative, 0, {1}};
  EXPECT_EQ(LaunchWith({Cluster(8), cooperative}, blocks), CUDA_SUCCESS);
  EXPECT_EQ(LaunchWith({Cluster(8), cooperative}, blocks + 8),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  EXPECT_EQ(LaunchWith({cooperative}, blocks + 8, 1024), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
}

// A multiprocessor holds more blocks of 32 threads than clusters of one such block.
TEST_F(ClusterLaunchTest, ACooperativeLaunchHasAsManyClustersOfOneBlockAsFit) {
  LoadKernel("");
  const int fit = Asked("cuOccupancyMaxActiveClusters", {Cluster(1)}, CUDA_SUCCESS, 32);
  const unsigned blocks = static_cast<unsigned>(fit) + 1;
  memory_.emplace(blocks * 4);
  const ClusterAttribute cooperative = {kCooperative, 0, {1}};
  EXPECT_EQ(LaunchWith({Cluster(1), cooperative}, blocks - 1, 32), CUDA_SUCCESS);
  EXPECT_EQ(LaunchWith({Cluster(1), cooperative}, blocks, 32),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  EXPECT_EQ(LaunchWith({cooperative}, blocks, 32), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(ClusterLaunchTest, ABufferIsTooLongOnlyForAShapeThatIsPossible) {
  const Function<CUresult(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, CUstream, void**, void**)>
      launch("cuLaunchKernel");
  uint64_t buffer[2] = {};
  size_t size = sizeof(buffer);
  void* extra[] = {reinterpret_cast<void*>(1), buffer, reinterpret_cast<void*>(2), &size, nullptr};
  LoadKernel(".explicitcluster");
  EXPECT_EQ(launch(kernel_, 4, 1, 1, 32, 2, 1, 0, nullptr, nullptr, extra), kInvalidClusterSize);
}

TEST_F(ClusterLaunchTest, NoClusterIsPossibleWhereNoBlockFits) {
  constexpr char kLargest[] = "cuOccupancyMaxPotentialClusterSize";
  constexpr char kActive[] = "cuOccupancyMaxActiveClusters";
  LoadKernel("");
  EXPECT_EQ(Asked(kLargest, {}, CUDA_SUCCESS), 8);
  EXPECT_EQ(Asked(kLargest, {}, CUDA_SUCCESS, 32, 65536), 0);
  EXPECT_EQ(Asked(kLargest, {}, CUDA_SUCCESS, 2048), 0);
  EXPECT_EQ(Asked(kActive, {Cluster(2)}, CUDA_SUCCESS, 32, 65536), 0);
  for (const char* const name : {kLargest, kActive}) {
    Asked(name, {Cluster(2)}, CUDA_ERROR_INVALID_VALUE, 0);
    Asked(name, {Cluster(0)}, kInvalidClusterSize, 0);
    Asked(name, {Cluster(3)}, kInvalidClusterSize, 0);
  }
}

// What completes on an mbarrier of a cluster is illegal where there is none, whichever block it is
// for.
class NoClusterTest : public NewProcessTest {
 protected:
  // Launches a kernel that does that to some bytes and waits for it, in a cluster of one block or
  // in none.
  static CUresult Run(const std::string& instruction, int bytes, bool in_cluster) {
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    CUcontext context = nullptr;
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    const std::string text =
        ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry k() {\n"
        ".reg .b32 %r<4>; .reg .pred %p1; .shared .align 16 .b8 s[64]; .shared .align 8 .b64 m;\n"
        "mov.u32 %r1, s; mov.u32 %r2, m; mbarrier.init.shared::cta.b64 [%r2], 1;\n"
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], " +
        std::to_string(bytes) + ";\n" + instruction +
        "\nW: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0; @!%p1 bra W;\nret;\n}\n";
    void* module = nullptr;
    void* kernel = nullptr;
    EXPECT_EQ(Load("cuModuleLoadData")(&module, text.c_str()), CUDA_SUCCESS) << text;
    EXPECT_EQ(GetFunction("cuModuleGetFunction")(&kernel, module, "k"), CUDA_SUCCESS);
    ClusterAttribute attribute = {kClusterDimension, 0, {1, 1, 1}};
    const LaunchDescription launch = {{1, 1, 1}, {1, 1, 1},  0,
                                      nullptr,   &attribute, in_cluster ? 1u : 0u};
    EXPECT_EQ(LaunchEx("cuLaunchKernelEx")(&launch, kernel, nullptr, nullptr), CUDA_SUCCESS);
    return cuCtxSynchronize();
  }
};

TEST_F(NoClusterTest, StoresAreIllegal) {
  if (RanInNewProcess()) return;
  const std::string store =
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], 7, [%r2];";
  EXPECT_EQ(Run(store, 4, /*in_cluster=*/true), CUDA_SUCCESS);
  EXPECT_EQ(Run(store, 4, /*in_cluster=*/false), kIllegalInstruction);
}

TEST_F(NoClusterTest, ReductionsAreIllegal) {
  if (RanInNewProcess()) return;
  EXPECT_EQ(Run("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 "
                "[%r1], 7, [%r2];",
                4, /*in_cluster=*/false),
            kIllegalInstruction);
}

TEST_F(NoClusterTest, CopiesWithinSharedMemoryAreIllegal) {
  if (RanInNewProcess()) return;
  const std::string copy =
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
      "[%r1+16], [%r1], 16, [%r2];";
  EXPECT_EQ(Run(copy, 16, /*in_cluster=*/true), CUDA_SUCCESS);
  EXPECT_EQ(Run(copy, 16, /*in_cluster=*/false), kIllegalInstruction);
}

}  // namespace
}  // namespace twinmmu::abi
