// LoadedModule: a module of a device, and its kernels.

#ifndef TWINMMU_SIM_CALLS_EXECUTOR_LOADED_MODULE_H_
#define TWINMMU_SIM_CALLS_EXECUTOR_LOADED_MODULE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/address.h"
#include "api/executor.h"
#include "sim/base/host_memory.h"

namespace twinmmu {

namespace ptx {
class Program;
struct GlobalInfo;
struct KernelInfo;
}  // namespace ptx

// By number; of all modules of a library the same.
using ManagedVariables = std::shared_ptr<const std::vector<AddressRange>>;

struct LoadedModule {
  DeviceOrdinal device;
  std::shared_ptr<const ptx::Program> program;
  std::shared_ptr<const HostMemory::Share> taken;  // for the program
  int target = 0;                                  // 90 for sm_90
  AddressRange image;                              // where its variables lie; empty: it has none
  ManagedVariables managed;                        // where those lie; null: it has none
  std::map<std::string, uint64_t> kernels;         // those that were asked for, by name
};

// Where one of its variables lies.
AddressRange RangeOf(const LoadedModule& module, const ptx::GlobalInfo& variable);

struct LoadedKernel {
  Module module;
  std::shared_ptr<const ptx::Program> program;
  const ptx::KernelInfo* info = nullptr;  // of the program
  DeviceAddress image;
  ManagedVariables managed;
  int target = 0;
  uint32_t most_dynamic_shared_bytes = 0;  // that a launch may ask for
  bool non_portable_cluster = false;       // a launch may ask for more blocks than every device has
  int carveout = -1;                       // of shared memory, in per cent; without effect
};

// How a kernel is launched, beyond LaunchConfig.
struct LaunchForm {
  bool cooperative = false;     // with memory by which its blocks can synchronise
  std::optional<Dim3> cluster;  // in blocks; if not said, what the kernel says, or single blocks
  bool of_graph = false;        // a node of a graph: it may decide what others do
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_EXECUTOR_LOADED_MODULE_H_
