// What the compilers' code calls: device code is registered before main, and launches are in two
// halves.

#include <atomic>
#include <vector>

#include "sim/libcudart/registered_code.h"
#include "sim/libcudart/runtime.h"

namespace twinmmu::cudart {
namespace {

// What stands between <<< and >>>. Its arguments may have launches of their own.
struct LaunchConfiguration {
  twinmmu_dim3 grid;
  twinmmu_dim3 block;
  size_t shared;
  cudaStream_t stream;
};

// Those of a thread: most have been launched when it ends.
struct Configurations {
  Configurations() = default;
  ~Configurations() {
    static std::atomic<bool> said{false};
    if (pushed.empty() || Initialize() != cudaSuccess) return;
    WarnOnce(said,
             "warning: a thread ended after <<<...>>> and before the launch, which was not made\n"
             "  what to do: end no thread, and throw nothing, where a kernel's arguments are made");
  }
  Configurations(const Configurations&) = delete;
  Configurations& operator=(const Configurations&) = delete;

  std::vector<LaunchConfiguration> pushed;
};
thread_local Configurations configurations;

// A module's handle is the fat binary.
FatBinary* BinaryOf(void** module) { return reinterpret_cast<FatBinary*>(module); }

}  // namespace

extern "C" void** __cudaRegisterFatBinary(void* image) {
  return reinterpret_cast<void**>(AddFatBinary(image));
}

extern "C" void __cudaRegisterFatBinaryEnd(void** /*module*/) {
  context_generation.fetch_add(1, std::memory_order_release);
}

extern "C" void __cudaUnregisterFatBinary(void** module) { RemoveFatBinary(BinaryOf(module)); }

extern "C" void __cudaRegisterFunction(void** module, const char* host, char* /*device*/,
                                       const char* name, int /*limit*/, void* /*tid*/,
                                       void* /*bid*/, void* /*block*/, void* /*grid*/,
                                       int* /*warp*/) {
  AddKernel(BinaryOf(module), host, name);
}

extern "C" void __cudaRegisterVar(void** module, char* host, char* /*device*/, const char* name,
                                  int /*ext*/, size_t /*size*/, int /*constant*/, int /*global*/) {
  AddVariable(BinaryOf(module), host, name);
}

extern "C" void __cudaRegisterManagedVar(void** module, void** host, char* /*device*/,
                                         const char* name, int /*ext*/, size_t /*size*/,
                                         int /*constant*/, int /*global*/) {
  AddManaged(BinaryOf(module), host, name);
}

// Of compilers for which all memory of the host is the device's, too (flang -gpu=mem:unified).
extern "C" void __cudaRegisterHostVar(void** module, const char* name, char* host,
                                      size_t /*size*/) {
  AddHostVariable(BinaryOf(module), name, host);
}

// Textures and surfaces of old.
extern "C" void __cudaRegisterTexture(void** module, const void* host, const void** /*device*/,
                                      const char* name, int /*dim*/, int norm, int /*ext*/) {
  AddReference(BinaryOf(module), host, name, norm != 0);
}
extern "C" void __cudaRegisterSurface(void** module, const void* host, const void** /*device*/,
                                      const char* name, int /*dim*/, int /*ext*/) {
  AddReference(BinaryOf(module), host, name, false);
}

// Before the host reads a managed variable.
extern "C" char __cudaInitModule(void** module) {
  return InContext([&] { return LoadFatBinary(BinaryOf(module)); }) == cudaSuccess ? 1 : 0;
}

extern "C" unsigned int __cudaPushCallConfiguration(twinmmu_dim3 grid, twinmmu_dim3 block,
                                                    size_t shared, cudaStream_t stream) {
  configurations.pushed.push_back({grid, block, shared, stream});
  return 0;
}

extern "C" cudaError_t __cudaPopCallConfiguration(twinmmu_dim3* grid, twinmmu_dim3* block,
                                                  size_t* shared, void* stream) {
  std::vector<LaunchConfiguration>& pushed = configurations.pushed;
  if (pushed.empty()) return Record(cudaErrorMissingConfiguration);
  const LaunchConfiguration& last = pushed.back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  pushed.pop_back();
  return cudaSuccess;
}

}  // namespace twinmmu::cudart
