#include "sim/libnvml/nvml_machine.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <iostream>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "sim/libcuda/settings.h"

struct nvmlDevice_st {
  char place;  // only the address counts
};

namespace twinmmu::nvml {
namespace {

nvmlDevice_st handles[Profile::kMaxDevices];

struct State {
  std::mutex mutex;
  int initialized = 0;                             // how often
  const NvmlMachine* machine = nullptr;            // of the first time
  std::atomic<const NvmlMachine*> given{nullptr};  // null while `initialized` is 0
};

// Null until the first call. Never destroyed: programs call to the very end.
std::atomic<State*> the_state{nullptr};

// A child made by fork has to initialize NVML anew, as it has with a driver's.
void LockBeforeFork() { the_state.load()->mutex.lock(); }
void UnlockInParent() { the_state.load()->mutex.unlock(); }
void ForgetInChild() {
  State& state = *the_state.load();
  state.initialized = 0;
  state.given = nullptr;
  state.mutex.unlock();
}

State& GetState() {
  static State* const state = [] {
    the_state = new State;
    pthread_atfork(LockBeforeFork, UnlockInParent, ForgetInChild);
    return the_state.load();
  }();
  return *state;
}

absl::StatusOr<libcuda::Settings> SettingsOfMachine() {
  std::vector<const char*> variables;
  for (const char* const* line = environ; line != nullptr && *line != nullptr; ++line) {
    if (!absl::StartsWith(*line, "CUDA_VISIBLE_DEVICES=")) variables.push_back(*line);
  }
  variables.push_back(nullptr);
  return libcuda::ReadSettings(variables.data());
}

}  // namespace

int NvmlMachine::AttributeOf(int device, int attribute) const {
  const auto& attributes = profile.devices[static_cast<size_t>(device)].attributes;
  const auto found = attributes.find(static_cast<DeviceAttribute>(attribute));
  return found == attributes.end() ? 0 : found->second;
}

nvmlReturn_t Initialize() {
  try {
    State& state = GetState();
    const std::lock_guard<std::mutex> lock(state.mutex);
    if (state.machine == nullptr) {
      absl::StatusOr<libcuda::Settings> settings = SettingsOfMachine();
      if (!settings.ok()) {
        std::cerr << "twinmmu: the simulated NVML cannot start: " << settings.status().message()
                  << std::endl;
        return NVML_ERROR_DRIVER_NOT_LOADED;
      }
      state.machine = new NvmlMachine{std::move(settings->profile)};
    }
    ++state.initialized;
    state.given.store(state.machine, std::memory_order_release);
    return NVML_SUCCESS;
  } catch (const std::bad_alloc&) {
    return NVML_ERROR_MEMORY;
  }
}

nvmlReturn_t ShutDown() {
  State& state = GetState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (state.initialized == 0) return NVML_ERROR_UNINITIALIZED;
  if (--state.initialized == 0) state.given.store(nullptr, std::memory_order_release);
  return NVML_SUCCESS;
}

const NvmlMachine* TheMachine() { return GetState().given.load(std::memory_order_acquire); }

nvmlDevice_t HandleOf(int device) { return &handles[device]; }

int NumberOf(const NvmlMachine& machine, nvmlDevice_t handle) {
  for (int device = 0; device < machine.profile.device_count(); ++device) {
    if (handle == HandleOf(device)) return device;
  }
  return -1;
}

nvmlReturn_t CopyText(const std::string& text, char* to, unsigned int size) {
  if (text.size() >= size) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return NVML_SUCCESS;
}

}  // namespace twinmmu::nvml
