// Launches of a kernel that does nothing.

#include <cstring>

#include "conformance/abi/values/cases/all_cases.h"
#include "conformance/abi/values/cases/case_objects.h"

namespace twinmmu::abi {
namespace {

// Grids of many blocks take their time, and all larger ones that fit are alike.
std::vector<uint64_t> Blocks() { return {0, 1, 2, 31, 256, 1025, 0x80000000, 0xffffffff}; }
std::vector<uint64_t> BlocksAcross() {
  return {0, 1, 2, 31, 256, 1025, 65535, 65536, 65537, 0x7fffffff, 0xffffffff};
}
// What is beyond overflows in a genuine driver.
constexpr uint64_t kLargestShared = 0x7fffffff;

void Launch(Trial& trial) {
  unsigned int grid[] = {1, 1, 1};
  unsigned int block[] = {32, 1, 1};
  unsigned int shared = 0;
  trial.OneOf(Blocks(), FIELD(grid[0]));
  trial.OneOf(BlocksAcross(), FIELD(grid[1]));
  trial.OneOf(BlocksAcross(), FIELD(grid[2]));
  trial.Any(FIELD(block[0]));
  trial.Any(FIELD(block[1]));
  trial.Any(FIELD(block[2]));
  trial.UpTo(kLargestShared, FIELD(shared));
  trial.Answer(Call("cuLaunchKernel", Kernel(), grid[0], grid[1], grid[2], block[0], block[1],
                    block[2], shared, Stream(), KernelParameters(), nullptr));
}
void LaunchCooperative(Trial& trial) {
  unsigned int grid[] = {1, 1};
  unsigned int block = 32;
  unsigned int shared = 0;
  trial.OneOf({0, 1, 1024, 4224, 4225, 65536}, FIELD(grid[0]));
  trial.OneOf({0, 1, 1024, 4224, 4225, 65535, 65536}, FIELD(grid[1]));
  trial.Any(FIELD(block));
  trial.UpTo(kLargestShared, FIELD(shared));
  trial.Answer(Call("cuLaunchCooperativeKernel", Kernel(), grid[0], grid[1], 1, block, 1, 1, shared,
                    Stream(), KernelParameters()));
}

CUlaunchConfig FourBlocks() {
  CUlaunchConfig launch = {};
  launch.gridDimX = 4;
  launch.gridDimY = launch.gridDimZ = 1;
  launch.blockDimX = 32;
  launch.blockDimY = launch.blockDimZ = 1;
  launch.hStream = Stream();
  return launch;
}
void LaunchAs(Trial& trial, const CUlaunchConfig& launch) {
  trial.Answer(Call("cuLaunchKernelEx", &launch, Kernel(), KernelParameters(), nullptr));
}
void LaunchWithConfig(Trial& trial) {
  CUlaunchConfig launch = FourBlocks();
  trial.OneOf(Blocks(), FIELD(launch.gridDimX));
  trial.OneOf(BlocksAcross(), FIELD(launch.gridDimY));
  trial.OneOf(BlocksAcross(), FIELD(launch.gridDimZ));
  trial.Any(FIELD(launch.blockDimX));
  trial.Any(FIELD(launch.blockDimY));
  trial.Any(FIELD(launch.blockDimZ));
  trial.UpTo(kLargestShared, FIELD(launch.sharedMemBytes));
  LaunchAs(trial, launch);
}
// These two have events.
bool HasNoEvent(uint64_t attribute) {
  return attribute != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT &&
         attribute != CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
}
void LaunchWithAttributes(Trial& trial) {
  CUlaunchConfig launch = FourBlocks();
  CUlaunchAttribute attributes[2] = {};
  launch.attrs = attributes;
  launch.numAttrs = 2;
  trial.Where(HasNoEvent, FIELD(attributes[0].id));
  trial.Where(HasNoEvent, FIELD(attributes[1].id));
  trial.UpTo(2, FIELD(launch.numAttrs));
  LaunchAs(trial, launch);
}
template <int kAttribute>
void LaunchWith(Trial& trial) {
  CUlaunchConfig launch = FourBlocks();
  CUlaunchAttribute attribute = {};
  attribute.id = kAttribute;
  int words[3] = {};
  if (kAttribute == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) words[0] = words[1] = words[2] = 1;
  trial.Any(FIELD(words[0]));
  trial.Any(FIELD(words[1]));
  trial.Any(FIELD(words[2]));
  std::memcpy(&attribute.value, words, sizeof(words));
  launch.attrs = &attribute;
  launch.numAttrs = 1;
  LaunchAs(trial, launch);
}

// The forms of CUDA 2. The genuine driver ends the process for some larger offsets.
constexpr uint64_t kLargestOffset = 0x7fffffff;

void BlockShape(Trial& trial) {
  int block[] = {32, 1, 1};
  trial.Any(FIELD(block[0]));
  trial.Any(FIELD(block[1]));
  trial.Any(FIELD(block[2]));
  trial.Answer(Call("cuFuncSetBlockShape", Kernel(), block[0], block[1], block[2]));
}
void SharedSize(Trial& trial) {
  unsigned int size = 0;
  trial.Any(FIELD(size));
  trial.Answer(Call("cuFuncSetSharedSize", Kernel(), size));
  Must("cuFuncSetSharedSize", Kernel(), 0);
}
void ParamSize(Trial& trial) {
  unsigned int size = 40;
  trial.UpTo(kLargestOffset, FIELD(size));
  trial.Answer(Call("cuParamSetSize", Kernel(), size));
}
void ParamInteger(Trial& trial) {
  int offset = 0;
  trial.UpTo(kLargestOffset, FIELD(offset));
  trial.Answer(Call("cuParamSeti", Kernel(), offset, 1));
}
void ParamFloat(Trial& trial) {
  int offset = 0;
  trial.UpTo(kLargestOffset, FIELD(offset));
  trial.Answer(Call("cuParamSetf", Kernel(), offset, 1.0F));
}
void ParamBytes(Trial& trial) {
  int offset = 0;
  unsigned int size = 8;
  trial.UpTo(kLargestOffset, FIELD(offset));
  trial.UpTo(65537, FIELD(size));
  trial.Answer(Call("cuParamSetv", Kernel(), offset, PageableHostMemory(), size));
}
void LaunchGrid(Trial& trial) {
  Must("cuFuncSetBlockShape", Kernel(), 32, 1, 1);
  Must("cuParamSetSize", Kernel(), 40);
  int grid[] = {1, 1};
  trial.OneOf({0, 1, 2, 1025, 0xffffffff}, FIELD(grid[0]));
  trial.OneOf(BlocksAcross(), FIELD(grid[1]));
  trial.Answer(Call("cuLaunchGrid", Kernel(), grid[0], grid[1]));
}

}  // namespace

std::vector<Case> LaunchCases() {
  return {{"cuLaunchKernel", Launch},
          {"cuLaunchCooperativeKernel", LaunchCooperative},
          {"cuLaunchKernelEx", LaunchWithConfig},
          {"cuLaunchKernelEx/attributes", LaunchWithAttributes},
          {"cuLaunchKernelEx/cooperative", LaunchWith<2>},
          {"cuLaunchKernelEx/synchronization", LaunchWith<3>},
          {"cuLaunchKernelEx/cluster", LaunchWith<4>},
          {"cuLaunchKernelEx/cluster-policy", LaunchWith<5>},
          {"cuLaunchKernelEx/programmatic", LaunchWith<6>},
          {"cuLaunchKernelEx/priority", LaunchWith<8>},
          {"cuLaunchKernelEx/domain-map", LaunchWith<9>},
          {"cuLaunchKernelEx/domain", LaunchWith<10>},
          {"cuLaunchKernelEx/preferred-cluster", LaunchWith<11>},
          {"cuLaunchKernelEx/updatable", LaunchWith<13>},
          {"cuLaunchKernelEx/carveout", LaunchWith<14>},
          {"cuLaunchKernelEx/unknown", LaunchWith<15>},
          {"cuFuncSetBlockShape", BlockShape},
          {"cuFuncSetSharedSize", SharedSize},
          {"cuParamSetSize", ParamSize},
          {"cuParamSeti", ParamInteger},
          {"cuParamSetf", ParamFloat},
          {"cuParamSetv", ParamBytes},
          {"cuLaunchGrid", LaunchGrid}};
}

}  // namespace twinmmu::abi
