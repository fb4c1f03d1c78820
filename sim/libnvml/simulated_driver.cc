#include "sim/libnvml/simulated_driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>

#include "sim/libcuda/device_identity.h"

namespace twinmmu::nvml {
namespace {

// Null: the process has not loaded a driver, or one that does not have it. Once loaded it stays.
template <typename Function>
Function* Find(const char* symbol) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* const found = dlsym(library, symbol);
  dlclose(library);
  return reinterpret_cast<Function*>(found);
}

}  // namespace

MemoryInUse MemoryOf(const NvmlMachine& machine, int device) {
  const DeviceProfile& profile = machine.profile.devices[static_cast<size_t>(device)];
  const uint64_t at_start = profile.memory_in_use.value();
  MemoryInUse memory = {false, profile.memory.value(), at_start, 0, false};
  auto* const ask = Find<bool(const char*, size_t*, size_t*, bool*)>("twinmmuDeviceInUse");
  const std::array<char, 16> uuid = libcuda::UuidOf(machine.profile, device);
  size_t free = 0;
  size_t total = 0;
  bool has_context = false;
  if (ask == nullptr || !ask(uuid.data(), &free, &total, &has_context)) return memory;
  memory.known = true;
  memory.total = total;
  memory.used = total - free;
  memory.used_by_process = memory.used - std::min(memory.used, at_start);
  memory.has_context = has_context;
  return memory;
}

bool Warn(const NvmlMachine& machine, const char* words) {
  for (int device = 0; device < machine.profile.device_count(); ++device) {
    if (!MemoryOf(machine, device).known) continue;
    auto* const warn = Find<void(const char*)>("twinmmuWarn");
    if (warn != nullptr) warn(words);
    return true;
  }
  return false;
}

}  // namespace twinmmu::nvml
