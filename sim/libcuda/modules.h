// Modules: what the program's modules, libraries and their kernels are, beside what they hold.

#ifndef TWINMMU_SIM_LIBCUDA_MODULES_H_
#define TWINMMU_SIM_LIBCUDA_MODULES_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/executor.h"
#include "sim/libcuda/streams.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu {
struct LoadedKernel;
}  // namespace twinmmu

namespace twinmmu::libcuda {

using CUlibrary = struct CUlib_st*;
using CUkernel = struct CUkern_st*;

// Of a context, under the number that the simulator's executor gives them.
struct ModuleRecord {
  Context* context = nullptr;
};
struct FunctionRecord {
  Context* context = nullptr;
  uint64_t module = 0;  // none: it was asked for as that of `kernel`
  CUkernel kernel = nullptr;
};

// Of no context: it is loaded on a device when it is first needed there.
struct LibraryRecord {
  std::string ptx;
  absl::Status refusal;             // why the image is no good, which is told when it is needed
  std::map<int, uint64_t> modules;  // by device
};
struct KernelRecord {
  uint64_t library = 0;
  std::string name;
};

// What was added to a link so far, and where its words go: of calls_linking.cc.
struct LinkState;
struct LinkRecord {
  std::shared_ptr<LinkState> state;
};

// What calls of their own set for the next cuLaunch, and its like, of a function.
struct StepwiseLaunch {
  uint32_t block[3] = {1, 1, 1};
  uint32_t dynamic_shared = 0;
  uint32_t parameter_bytes = 0;
  std::vector<char> parameters;
};

// Numbers that no module or function has.
inline constexpr uint64_t kFirstLibrary = uint64_t{1} << 61;
inline constexpr uint64_t kFirstKernel = uint64_t{1} << 62;
inline constexpr uint64_t kFirstLink = uint64_t{3} << 60;

struct Modules {
  Records<ModuleRecord> modules;
  Records<FunctionRecord> functions;
  Records<LibraryRecord> libraries;
  Records<KernelRecord> kernels;
  Records<LinkRecord> links;
  Records<StepwiseLaunch> stepwise_launches;  // by function
  std::atomic<uint64_t> last_id{0};
};

struct DriverState;

// For calls in `context`. Modules and functions that do not exist are of the device of the context;
// the simulator refuses them.
Module ModuleOf(DriverState& driver, const Context& context, cuda_abi::CUmodule module);
// The kernel of a function; also where it is a CUkernel, which stands for the function that it has
// in the current context.
absl::StatusOr<Kernel> KernelOf(DriverState& driver, Context& context,
                                cuda_abi::CUfunction function);
// Whether it is of another context: its launches in this one are refused. Those of libraries are of
// all contexts of their device. Source: an H200 with driver 580.159.
bool IsOfOther(DriverState& driver, const Context& context, cuda_abi::CUfunction function);

// How many blocks of that size a multiprocessor holds.
int BlocksThatFit(DriverState& driver, const LoadedKernel& kernel, int threads, size_t dynamic);
// The same for the whole device.
uint64_t BlocksOnDevice(DriverState& driver, const LoadedKernel& kernel, int threads,
                        size_t dynamic);
// How many clusters of `blocks` such blocks the device holds.
uint64_t ClustersOnDevice(DriverState& driver, const LoadedKernel& kernel, uint64_t blocks,
                          int threads, size_t dynamic);

// Of a library.
absl::StatusOr<Module> LoadOn(DriverState& driver, Context& context, uint64_t library);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_MODULES_H_
