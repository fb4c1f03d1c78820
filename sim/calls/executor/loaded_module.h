// LoadedModule: a module of a device, and its kernels.

#ifndef TWINMMU_SIM_CALLS_EXECUTOR_LOADED_MODULE_H_
#define TWINMMU_SIM_CALLS_EXECUTOR_LOADED_MODULE_H_

#include <array>
#include <cstddef>
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

// What a program may set of a kernel.
enum class KernelSetting : size_t {
  kDynamicShared,  // the most bytes of it that a launch may ask for
  kCarveout,       // of shared memory, in per cent; -1: not said
  kLargeClusters,  // not 0: a launch may ask for more blocks than every device has
  kClusterPolicy,  // by which clusters are scheduled; without effect
  kCache,          // a CUfunc_cache
  kClusterWidth,   // the cluster that it requires; 0: any
  kClusterHeight,
  kClusterDepth,
};
inline constexpr size_t kKernelSettings = 8;
// What it is set of: the function, or the kernel of a library, of which it counts where the
// function has none.
enum class SettingOf { kFunction, kLibrary };

struct LoadedKernel {
  Module module;
  std::shared_ptr<const ptx::Program> program;
  const ptx::KernelInfo* info = nullptr;  // of the program
  DeviceAddress image;
  ManagedVariables managed;
  int target = 0;
  // What is set, by KernelSetting.
  std::array<std::optional<int>, kKernelSettings> of_function = {};
  std::array<int, kKernelSettings> of_library = {0, -1};

  int Get(KernelSetting setting) const {
    const auto index = static_cast<size_t>(setting);
    return of_function[index].value_or(of_library[index]);
  }
};

// Blocks or threads. Those of extents that a launch may have are not too many.
inline uint64_t Product(const Dim3& extents) { return uint64_t{extents.x} * extents.y * extents.z; }

// The block that a launch has: a single thread stands for what the kernel requires.
Dim3 BlockOf(const LoadedKernel& kernel, const Dim3& asked);

// An event that a launch records, as an H200 with driver 580.159 does: one of the launch's
// completion is reached once the kernel has begun, be it with a part of its blocks; one that is
// programmatic at the kernel's end, to the host as to streams. CUDA promises no more than that all
// blocks have triggered it. When they do tells only graphs apart.
struct LaunchEvent {
  enum class Kind {
    kCompletion,
    kProgrammatic,         // triggered by griddepcontrol.launch_dependents
    kProgrammaticAtStart,  // of each block
  };
  Event event;
  Kind kind = Kind::kCompletion;
};

// How a kernel is launched, beyond LaunchConfig.
struct LaunchForm {
  bool cooperative = false;     // with memory by which its blocks can synchronise
  std::optional<Dim3> cluster;  // in blocks; if not said, what the kernel says, or single blocks
  // Made of whole ones of `cluster`; without effect.
  std::optional<Dim3> preferred_cluster = std::nullopt;
  bool of_graph = false;  // a node of a graph: it may decide what others do
  std::vector<LaunchEvent> events = {};
};

// Whether the launch or the kernel says that there are clusters, if of one block: a multiprocessor
// holds fewer blocks in clusters.
bool HasClusters(const LoadedKernel& kernel, const LaunchForm& form);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_EXECUTOR_LOADED_MODULE_H_
