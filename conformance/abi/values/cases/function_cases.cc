// Kernels: their attributes, parameters and occupancy.

#include "conformance/abi/values/cases/all_cases.h"
#include "conformance/abi/values/cases/case_objects.h"

namespace twinmmu::abi {
namespace {

// A kernel that nobody else sets anything of.
class OwnKernel {
 public:
  OwnKernel() {
    Must("cuModuleLoadData", &module_, kKernelCode);
    Must("cuModuleGetFunction", &kernel_, module_, "k");
  }
  ~OwnKernel() { Must("cuModuleUnload", module_); }
  OwnKernel(const OwnKernel&) = delete;
  OwnKernel& operator=(const OwnKernel&) = delete;

  CUfunction get() const { return kernel_; }

 private:
  CUmodule module_ = nullptr;
  CUfunction kernel_ = nullptr;
};
class OwnLibraryKernel {
 public:
  OwnLibraryKernel() {
    Must("cuLibraryLoadData", &library_, kKernelCode, nullptr, nullptr, 0, nullptr, nullptr, 0);
    Must("cuLibraryGetKernel", &kernel_, library_, "k");
  }
  ~OwnLibraryKernel() { Must("cuLibraryUnload", library_); }
  OwnLibraryKernel(const OwnLibraryKernel&) = delete;
  OwnLibraryKernel& operator=(const OwnLibraryKernel&) = delete;

  CUkernel get() const { return kernel_; }

 private:
  CUlib_st* library_ = nullptr;
  CUkernel kernel_ = nullptr;
};

constexpr int kMaxDynamicShared = 8;
constexpr int kCarveout = 9;

// What a compiler decides: sizes of shared and local memory, registers.
bool IsOfCompiler(int attribute) { return attribute == 1 || attribute == 3 || attribute == 4; }

void GetAttribute(Trial& trial) {
  const OwnKernel kernel;
  int attribute = 0;
  trial.Any(FIELD(attribute));
  int value = -77;
  trial.Answer(Call("cuFuncGetAttribute", &value, attribute, kernel.get()));
  if (!IsOfCompiler(attribute)) trial.Tell(value);
}
void GetLibraryAttribute(Trial& trial) {
  const OwnLibraryKernel kernel;
  int attribute = 0;
  int device = 0;
  trial.Any(FIELD(attribute));
  trial.Any(FIELD(device));
  int value = -77;
  trial.Answer(Call("cuKernelGetAttribute", &value, attribute, kernel.get(), device));
  if (!IsOfCompiler(attribute)) trial.Tell(value);
}
// The genuine driver ends the process for some that are larger.
constexpr uint64_t kLargestAttribute = 65537;

void SetAnyAttribute(Trial& trial) {
  const OwnKernel kernel;
  int attribute = kMaxDynamicShared;
  trial.UpTo(kLargestAttribute, FIELD(attribute));
  trial.Answer(Call("cuFuncSetAttribute", kernel.get(), attribute, 0));
}
void SetAttribute(Trial& trial, int attribute) {
  const OwnKernel kernel;
  int value = 0;
  trial.Any(FIELD(value));
  trial.Answer(Call("cuFuncSetAttribute", kernel.get(), attribute, value));
  int told = -77;
  trial.Answer(Call("cuFuncGetAttribute", &told, attribute, kernel.get()));
  if (told == value) {
    trial.Add("kept");
  } else {
    trial.Tell(told);
  }
}
void SetMaxDynamicShared(Trial& trial) { SetAttribute(trial, kMaxDynamicShared); }
void SetCarveout(Trial& trial) { SetAttribute(trial, kCarveout); }
void SetClusterWidth(Trial& trial) { SetAttribute(trial, 11); }
void SetNonPortable(Trial& trial) { SetAttribute(trial, 14); }
void SetPolicy(Trial& trial) { SetAttribute(trial, 15); }
void SetLibraryAttribute(Trial& trial) {
  const OwnLibraryKernel kernel;
  int attribute = kMaxDynamicShared;
  int value = 0;
  int device = 0;
  trial.UpTo(kLargestAttribute, FIELD(attribute));
  trial.Any(FIELD(value));
  trial.Any(FIELD(device));
  trial.Answer(Call("cuKernelSetAttribute", attribute, value, kernel.get(), device));
  int told = -77;
  Must("cuKernelGetAttribute", &told, kMaxDynamicShared, kernel.get(), 0);
  if (told != value) trial.Tell(told);
}

void SetConfig(Trial& trial, const char* symbol) {
  const OwnKernel kernel;
  int config = 0;
  trial.Any(FIELD(config));
  trial.Answer(Call(symbol, kernel.get(), config));
}
void SetCacheConfig(Trial& trial) { SetConfig(trial, "cuFuncSetCacheConfig"); }
void SetSharedConfig(Trial& trial) { SetConfig(trial, "cuFuncSetSharedMemConfig"); }
void SetLibraryCacheConfig(Trial& trial) {
  const OwnLibraryKernel kernel;
  int config = 0;
  int device = 0;
  trial.Any(FIELD(config));
  trial.Any(FIELD(device));
  trial.Answer(Call("cuKernelSetCacheConfig", kernel.get(), config, device));
}

void ParamInfo(Trial& trial, const char* symbol, const void* kernel) {
  size_t index = 0;
  trial.Any(FIELD(index));
  size_t offset = 77;
  size_t size = 77;
  trial.Answer(Call(symbol, kernel, index, &offset, &size));
  trial.Tell(offset, size);
}
void FunctionParam(Trial& trial) { ParamInfo(trial, "cuFuncGetParamInfo", Kernel()); }
void LibraryParam(Trial& trial) { ParamInfo(trial, "cuKernelGetParamInfo", LibraryKernel()); }

// Of sizes of shared memory a genuine driver looks at 32 bits, and adds to them.
constexpr uint64_t kLargestShared = 0x7fffffff;

void ActiveBlocks(Trial& trial) {
  int block = 128;
  size_t shared = 0;
  unsigned int flags = 0;
  trial.Any(FIELD(block));
  trial.UpTo(kLargestShared, FIELD(shared));
  trial.Any(FIELD(flags));
  int blocks = -77;
  trial.Answer(Call("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", &blocks, Kernel(),
                    block, shared, flags));
  trial.Tell(blocks);
}
void PotentialBlockSize(Trial& trial) {
  size_t shared = 0;
  int most = 0;
  unsigned int flags = 0;
  trial.UpTo(kLargestShared, FIELD(shared));
  trial.Any(FIELD(most));
  trial.Any(FIELD(flags));
  int grid = -77;
  int block = -77;
  trial.Answer(Call("cuOccupancyMaxPotentialBlockSizeWithFlags", &grid, &block, Kernel(), nullptr,
                    shared, most, flags));
  trial.Tell(grid, block);
}
void AvailableShared(Trial& trial) {
  int blocks = 1;
  int block = 128;
  trial.Any(FIELD(blocks));
  trial.Any(FIELD(block));
  size_t size = 77;
  trial.Answer(Call("cuOccupancyAvailableDynamicSMemPerBlock", &size, Kernel(), blocks, block));
  trial.Tell(size);
}

CUlaunchConfig EightBlocks() {
  CUlaunchConfig launch = {};
  launch.gridDimX = 8;
  launch.gridDimY = launch.gridDimZ = 1;
  launch.blockDimX = 32;
  launch.blockDimY = launch.blockDimZ = 1;
  return launch;
}
void VaryLaunch(Trial& trial, CUlaunchConfig& launch) {
  trial.Any(FIELD(launch.gridDimX));
  trial.Any(FIELD(launch.gridDimY));
  trial.Any(FIELD(launch.blockDimX));
  trial.Any(FIELD(launch.blockDimY));
  trial.Any(FIELD(launch.blockDimZ));
  trial.UpTo(kLargestShared, FIELD(launch.sharedMemBytes));
}
void ActiveClusters(Trial& trial) {
  CUlaunchConfig launch = EightBlocks();
  CUlaunchAttribute attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  auto& cluster = attribute.value.clusterDim;
  cluster = {2, 1, 1};
  launch.attrs = &attribute;
  launch.numAttrs = 1;
  VaryLaunch(trial, launch);
  trial.Any(FIELD(cluster.x));
  trial.Any(FIELD(cluster.y));
  trial.Any(FIELD(cluster.z));
  int clusters = -77;
  trial.Answer(Call("cuOccupancyMaxActiveClusters", &clusters, Kernel(), &launch));
  trial.Tell(clusters);
}
void PotentialCluster(Trial& trial) {
  CUlaunchConfig launch = EightBlocks();
  VaryLaunch(trial, launch);
  int size = -77;
  trial.Answer(Call("cuOccupancyMaxPotentialClusterSize", &size, Kernel(), &launch));
  trial.Tell(size);
}

void EnumerateKernels(Trial& trial) {
  unsigned int count = 1;
  trial.UpTo(4, FIELD(count));
  void* kernels[4] = {};
  trial.Answer(Call("cuLibraryEnumerateKernels", kernels, count, Library()));
}
void EnumerateFunctions(Trial& trial) {
  unsigned int count = 1;
  trial.UpTo(4, FIELD(count));
  void* functions[4] = {};
  trial.Answer(Call("cuModuleEnumerateFunctions", functions, count, Module()));
}

}  // namespace

std::vector<Case> FunctionCases() {
  return {{"cuFuncGetAttribute", GetAttribute},
          {"cuKernelGetAttribute", GetLibraryAttribute},
          {"cuFuncSetAttribute/any", SetAnyAttribute},
          {"cuFuncSetAttribute/dynamic-shared", SetMaxDynamicShared},
          {"cuFuncSetAttribute/carveout", SetCarveout},
          {"cuFuncSetAttribute/cluster-width", SetClusterWidth},
          {"cuFuncSetAttribute/non-portable", SetNonPortable},
          {"cuFuncSetAttribute/policy", SetPolicy},
          {"cuKernelSetAttribute", SetLibraryAttribute},
          {"cuFuncSetCacheConfig", SetCacheConfig},
          {"cuFuncSetSharedMemConfig", SetSharedConfig},
          {"cuKernelSetCacheConfig", SetLibraryCacheConfig},
          {"cuFuncGetParamInfo", FunctionParam},
          {"cuKernelGetParamInfo", LibraryParam},
          {"cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", ActiveBlocks},
          {"cuOccupancyMaxPotentialBlockSizeWithFlags", PotentialBlockSize},
          {"cuOccupancyAvailableDynamicSMemPerBlock", AvailableShared},
          {"cuOccupancyMaxActiveClusters", ActiveClusters},
          {"cuOccupancyMaxPotentialClusterSize", PotentialCluster},
          {"cuLibraryEnumerateKernels", EnumerateKernels},
          {"cuModuleEnumerateFunctions", EnumerateFunctions}};
}

}  // namespace twinmmu::abi
