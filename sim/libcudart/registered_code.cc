#include "sim/libcudart/registered_code.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sim/libcudart/linked_code.h"
#include "sim/libcudart/runtime.h"

namespace twinmmu::cudart {

struct FatBinary {
  FatBinary(const void* whole, const void* const* linked) : image(whole), parts(linked) {}

  const void* image;
  const void* const* parts;         // of separate compilation; else null
  cudaLibrary_t library = nullptr;  // null: not loaded
  pid_t loaded_by = 0;              // a child made by fork does not have it
  std::vector<std::pair<void**, std::string>> managed;
  std::vector<std::pair<std::string, void*>> of_host;
};

namespace {

constexpr int kRelaxed = 2;  // cudaStreamCaptureModeRelaxed

// What a host address stands for.
struct Symbol {
  FatBinary* binary;
  std::string name;
  cudaKernel_t kernel = nullptr;   // of a kernel that was looked up
  bool as_floats = false;          // of a texture: integers are
  std::optional<size_t> offset{};  // of a texture that shows memory
};

struct Registry {
  std::shared_mutex mutex;
  std::vector<FatBinary*> binaries;
  std::unordered_map<const void*, Symbol> kernels;
  std::unordered_map<const void*, Symbol> variables;
  std::unordered_map<const void*, Symbol> references;
  std::unordered_set<const void*> handles;  // of kernels, which launches may name, too
};

// Never destroyed.
Registry& GetRegistry() {
  static Registry* const registry = new Registry;
  return *registry;
}

// What the compilers point to: the fat binary is behind one more pointer.
struct FatBinaryWrapper {
  uint32_t magic;
  uint32_t version;
  const void* image;
  const void* const* parts;  // of kLinked
};
constexpr uint32_t kWrapperMagic = 0x466243b1;
constexpr uint32_t kLinked = 2;

void Forget(std::unordered_map<const void*, Symbol>& symbols, const FatBinary* binary) {
  for (auto symbol = symbols.begin(); symbol != symbols.end();) {
    symbol = symbol->second.binary == binary ? symbols.erase(symbol) : std::next(symbol);
  }
}

// What a program meets most often here, and cannot see from the code of the error.
cudaError_t NoImage() {
  static std::atomic<bool> said{false};
  WarnOnce(said,
           "warning: the program's device code has no PTX for this device, only machine code: "
           "cudaErrorNoKernelImageForDevice\n"
           "  what to do: compile it with PTX, as by nvcc -gencode "
           "arch=compute_90,code=compute_90 or clang++ --cuda-include-ptx=all");
  return cudaErrorNoKernelImageForDevice;
}

void WarnOfUnknownKernel() {
  static std::atomic<bool> said{false};
  WarnOnce(said,
           "warning: a kernel was launched or asked about that no module of the program "
           "registered\n"
           "  what to do: pass the __global__ function itself, and keep the library loaded that "
           "it is in");
}

cudaError_t UnknownSymbol() {
  static std::atomic<bool> said{false};
  WarnOnce(said,
           "warning: a variable was copied, bound or asked about that no module of the program "
           "registered: cudaErrorInvalidSymbol\n"
           "  what to do: pass the __device__ variable itself, not its name or its address on the "
           "device, and keep the library loaded that it is in");
  return cudaErrorInvalidSymbol;
}

cudaError_t LoadImage(const FatBinary& binary, cudaLibrary_t* library) {
  // CU_JIT_GLOBAL_SYMBOL_NAMES, _ADDRESSES and _COUNT.
  int options[] = {17, 18, 19};
  std::vector<const char*> names;
  std::vector<void*> addresses;
  for (const auto& [name, address] : binary.of_host) {
    names.push_back(name.c_str());
    addresses.push_back(address);
  }
  void* values[] = {names.data(), addresses.data(), reinterpret_cast<void*>(names.size())};
  return driver.cuLibraryLoadData(library, binary.image, options, values, names.empty() ? 0 : 3,
                                  nullptr, nullptr, 0);
}

cudaError_t LoadLibrary(const FatBinary& binary, cudaLibrary_t* library) {
  if (binary.parts != nullptr && !HasCode(binary.image)) return LinkAndLoad(binary.parts, library);
  const cudaError_t error = LoadImage(binary, library);
  return error == cudaErrorNoKernelImageForDevice && binary.parts != nullptr
             ? LinkAndLoad(binary.parts, library)
             : error;
}

// With the lock.
cudaError_t Load(FatBinary& binary) {
  if (binary.library != nullptr) return cudaSuccess;
  const cudaError_t error = LoadLibrary(binary, &binary.library);
  if (error == cudaErrorNoKernelImageForDevice) return NoImage();
  if (error != cudaSuccess) return error;
  binary.loaded_by = getpid();
  for (const auto& [pointer, name] : binary.managed) {
    size_t size = 0;
    const cudaError_t found =
        driver.cuLibraryGetManaged(pointer, &size, binary.library, name.c_str());
    if (found != cudaSuccess) return found;
    // Programs name it by its address, which is the same on both sides.
    GetRegistry().variables[*pointer] = {&binary, name};
  }
  return cudaSuccess;
}

}  // namespace

FatBinary* AddFatBinary(const void* wrapped) {
  FatBinaryWrapper wrapper = {0, 0, wrapped, nullptr};
  std::memcpy(&wrapper.magic, wrapped, sizeof(wrapper.magic));
  if (wrapper.magic == kWrapperMagic) std::memcpy(&wrapper, wrapped, sizeof(wrapper));
  const bool is_linked = wrapper.version == kLinked;
  Registry& registry = GetRegistry();
  const std::lock_guard<std::shared_mutex> lock(registry.mutex);
  registry.binaries.push_back(new FatBinary(wrapper.image, is_linked ? wrapper.parts : nullptr));
  return registry.binaries.back();
}

void RemoveFatBinary(FatBinary* binary) {
  Registry& registry = GetRegistry();
  const std::lock_guard<std::shared_mutex> lock(registry.mutex);
  for (const auto& [host, kernel] : registry.kernels) {
    if (kernel.binary == binary) registry.handles.erase(kernel.kernel);
  }
  Forget(registry.kernels, binary);
  Forget(registry.variables, binary);
  Forget(registry.references, binary);
  auto& binaries = registry.binaries;
  binaries.erase(std::find(binaries.begin(), binaries.end(), binary));
  if (binary->library != nullptr && binary->loaded_by == getpid()) {
    // Whatever is captured: the program cannot know when this is called.
    int mode = kRelaxed;
    driver.cuThreadExchangeStreamCaptureMode(&mode);
    driver.cuLibraryUnload(binary->library);
    driver.cuThreadExchangeStreamCaptureMode(&mode);
  }
  delete binary;
}

void AddKernel(FatBinary* binary, const void* host, const char* name) {
  Registry& registry = GetRegistry();
  const std::lock_guard<std::shared_mutex> lock(registry.mutex);
  registry.kernels[host] = {binary, name};
}

void AddVariable(FatBinary* binary, const void* host, const char* name) {
  Registry& registry = GetRegistry();
  const std::lock_guard<std::shared_mutex> lock(registry.mutex);
  registry.variables[host] = {binary, name};
}

void AddManaged(FatBinary* binary, void** pointer, const char* name) {
  Registry& registry = GetRegistry();
  const std::lock_guard<std::shared_mutex> lock(registry.mutex);
  binary->managed.emplace_back(pointer, name);
  registry.variables[pointer] = {binary, name};
}

void AddHostVariable(FatBinary* binary, const char* name, void* host) {
  const std::lock_guard<std::shared_mutex> lock(GetRegistry().mutex);
  binary->of_host.emplace_back(name, host);
}

void AddReference(FatBinary* binary, const void* host, const char* name, bool as_floats) {
  Registry& registry = GetRegistry();
  const std::lock_guard<std::shared_mutex> lock(registry.mutex);
  registry.references[host] = {binary, name, nullptr, as_floats};
}

cudaError_t LoadFatBinary(FatBinary* binary) {
  const std::lock_guard<std::shared_mutex> lock(GetRegistry().mutex);
  return Load(*binary);
}

void LoadAll() {
  Registry& registry = GetRegistry();
  const std::lock_guard<std::shared_mutex> lock(registry.mutex);
  for (FatBinary* const binary : registry.binaries) {
    void* module = nullptr;
    if (Load(*binary) == cudaSuccess) driver.cuLibraryGetModule(&module, binary->library);
  }
}

namespace {

cudaError_t LookUp(const void* function, cudaKernel_t* kernel) {
  Registry& registry = GetRegistry();
  {
    const std::shared_lock<std::shared_mutex> lock(registry.mutex);
    const auto found = registry.kernels.find(function);
    if (found == registry.kernels.end()) return cudaErrorInvalidDeviceFunction;
    *kernel = found->second.kernel;
    if (*kernel != nullptr) return cudaSuccess;
  }
  const std::lock_guard<std::shared_mutex> lock(registry.mutex);
  const auto found = registry.kernels.find(function);
  if (found == registry.kernels.end()) return cudaErrorInvalidDeviceFunction;
  Symbol& symbol = found->second;
  cudaError_t error = Load(*symbol.binary);
  if (error == cudaSuccess) {
    error = driver.cuLibraryGetKernel(&symbol.kernel, symbol.binary->library, symbol.name.c_str());
  }
  if (error != cudaSuccess) return error;
  registry.handles.insert(symbol.kernel);
  *kernel = symbol.kernel;
  return cudaSuccess;
}

bool IsHandle(const void* function) {
  Registry& registry = GetRegistry();
  const std::shared_lock<std::shared_mutex> lock(registry.mutex);
  return registry.handles.count(function) != 0;
}

}  // namespace

cudaError_t FindKernelOf(const void* function, cudaKernel_t* kernel) {
  const cudaError_t error = LookUp(function, kernel);
  if (error == cudaErrorInvalidDeviceFunction) WarnOfUnknownKernel();
  return error;
}

cudaError_t FindKernel(const void* function, cudaKernel_t* kernel) {
  const cudaError_t error = LookUp(function, kernel);
  if (error != cudaErrorInvalidDeviceFunction) return error;
  if (IsHandle(function)) {
    *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
    return cudaSuccess;
  }
  WarnOfUnknownKernel();
  const bool is_wrong_handle = function != nullptr && kRuntimeVersion >= 13000;
  return is_wrong_handle ? cudaErrorInvalidResourceHandle : cudaErrorInvalidDeviceFunction;
}

void KnowKernel(cudaKernel_t kernel) {
  Registry& registry = GetRegistry();
  const std::lock_guard<std::shared_mutex> lock(registry.mutex);
  registry.handles.insert(kernel);
}

cudaError_t FindFunction(const void* function, cudaFunction_t* result) {
  cudaKernel_t kernel = nullptr;
  const cudaError_t error = FindKernel(function, &kernel);
  return error == cudaSuccess ? driver.cuKernelGetFunction(result, kernel) : error;
}

void* HostFunctionOf(cudaFunction_t function) {
  Registry& registry = GetRegistry();
  const std::shared_lock<std::shared_mutex> lock(registry.mutex);
  const auto is_it = [&](cudaKernel_t kernel) {
    cudaFunction_t of_kernel = nullptr;
    return kernel != nullptr && driver.cuKernelGetFunction(&of_kernel, kernel) == cudaSuccess &&
           of_kernel == function;
  };
  for (const auto& [host, symbol] : registry.kernels) {
    if (is_it(symbol.kernel)) return const_cast<void*>(host);
  }
  for (const void* handle : registry.handles) {
    const auto kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(handle));
    if (is_it(kernel)) return kernel;
  }
  return function;
}

cudaError_t FindVariable(const void* symbol, void** address, size_t* size) {
  Registry& registry = GetRegistry();
  const std::lock_guard<std::shared_mutex> lock(registry.mutex);
  const auto found = registry.variables.find(symbol);
  if (found == registry.variables.end()) return UnknownSymbol();
  const cudaError_t error = Load(*found->second.binary);
  if (error != cudaSuccess) return error;
  return driver.cuLibraryGetGlobal(address, size, found->second.binary->library,
                                   found->second.name.c_str());
}

cudaError_t FindPartOfVariable(const void* symbol, size_t size, size_t offset, bool is_right_way,
                               char** address) {
  void* base = nullptr;
  size_t whole = 0;
  const cudaError_t error = FindVariable(symbol, &base, &whole);
  if (error != cudaSuccess) return error;
  if (!is_right_way) return cudaErrorInvalidMemcpyDirection;
  if (offset > whole || size > whole - offset) return cudaErrorInvalidValue;
  *address = static_cast<char*>(base) + offset;
  return cudaSuccess;
}

cudaError_t FindReference(const void* host, FoundReference* reference) {
  Registry& registry = GetRegistry();
  const std::lock_guard<std::shared_mutex> lock(registry.mutex);
  const auto found = registry.references.find(host);
  if (found == registry.references.end()) return UnknownSymbol();
  const Symbol& symbol = found->second;
  const cudaError_t error = Load(*symbol.binary);
  if (error != cudaSuccess) return error;
  reference->name = symbol.name;
  reference->as_floats = symbol.as_floats;
  return driver.cuLibraryGetModule(&reference->module, symbol.binary->library);
}

bool IsReference(const void* host) {
  Registry& registry = GetRegistry();
  const std::shared_lock<std::shared_mutex> lock(registry.mutex);
  return registry.references.count(host) != 0;
}

void SetOffset(const void* host, std::optional<size_t> offset) {
  Registry& registry = GetRegistry();
  const std::lock_guard<std::shared_mutex> lock(registry.mutex);
  const auto found = registry.references.find(host);
  if (found != registry.references.end()) found->second.offset = offset;
}

std::optional<size_t> OffsetOf(const void* host) {
  Registry& registry = GetRegistry();
  const std::shared_lock<std::shared_mutex> lock(registry.mutex);
  const auto found = registry.references.find(host);
  return found == registry.references.end() ? std::nullopt : found->second.offset;
}

}  // namespace twinmmu::cudart
