#include "sim/libcudart/runtime.h"

#include <mutex>
#include <utility>
#include <vector>

#include "sim/libcudart/registered_code.h"

namespace twinmmu::cudart {

DriverFunctions driver;
thread_local ThreadState thread_state;
std::atomic<uint64_t> context_generation{1};
std::atomic<int> first_valid_device{0};

namespace {

struct Primary {
  CUcontext context = nullptr;  // the handle stays when the context is reset
  bool alive = false;
};

struct State {
  std::mutex mutex;
  std::atomic<bool> is_ready{false};
  bool loads_eagerly = false;      // CUDA_MODULE_LOADING=EAGER
  std::vector<Primary> primaries;  // by device
};

// Never destroyed.
State& GetState() {
  static State* const state = new State;
  return *state;
}

// The device whose primary context it is, reset or not; -1: none that the runtime made. With the
// lock.
int DeviceOfPrimary(const State& state, CUcontext context) {
  for (size_t device = 0; device < state.primaries.size(); ++device) {
    if (state.primaries[device].context == context) return static_cast<int>(device);
  }
  return -1;
}

// With the lock. Whether it is a primary context that ResetDevice ended.
bool IsReset(const State& state, CUcontext context) {
  const int device = DeviceOfPrimary(state, context);
  return device >= 0 && !state.primaries[static_cast<size_t>(device)].alive;
}

// With the lock. The primary context of the device is no more; the thread stays on the device.
void NoteReset(State& state, int device) {
  state.primaries[static_cast<size_t>(device)].alive = false;
  thread_state.device_plus_one = device + 1;
  context_generation.fetch_add(1, std::memory_order_release);
}

// With the lock.
cudaError_t Retain(State& state, int device, CUcontext* context) {
  if (device < 0 || static_cast<size_t>(device) >= state.primaries.size()) {
    return cudaErrorInvalidDevice;
  }
  Primary& primary = state.primaries[static_cast<size_t>(device)];
  if (!primary.alive) {
    const cudaError_t error = driver.cuDevicePrimaryCtxRetain(&primary.context, device);
    if (error != cudaSuccess) return error;
    primary.alive = true;
  }
  *context = primary.context;
  return cudaSuccess;
}

void WarnOfNoDevice() {
  static std::atomic<bool> said{false};
  WarnOnce(said,
           "warning: a call of the runtime needs a device, and the program sees none: "
           "cudaErrorNoDevice\n"
           "  what to do: give it one (--sim-devices, CUDA_VISIBLE_DEVICES), or look at "
           "cudaGetDeviceCount first");
}

// The thread has a usable context. `primary`: null if it is another.
void HaveContext(uint64_t generation, CUcontext primary) {
  if (GetState().loads_eagerly) LoadAll();
  thread_state.generation = generation;
  thread_state.primary = primary;
}

}  // namespace

cudaError_t Initialize() {
  State& state = GetState();
  if (state.is_ready.load(std::memory_order_acquire)) return cudaSuccess;
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (state.is_ready.load(std::memory_order_relaxed)) return cudaSuccess;
  if (!FindDriver(driver)) return cudaErrorInsufficientDriver;
  int count = 0;
  cudaError_t error = driver.cuInit(0);
  if (error == cudaSuccess) error = driver.cuDeviceGetCount(&count);
  if (error != cudaSuccess) return error;
  if (count == 0) return cudaErrorNoDevice;
  constexpr int kEager = 1;
  int mode = 0;
  state.loads_eagerly = driver.cuModuleGetLoadingMode(&mode) == cudaSuccess && mode == kEager;
  state.primaries.resize(static_cast<size_t>(count));
  state.is_ready.store(true, std::memory_order_release);
  return cudaSuccess;
}

int DeviceCount() { return static_cast<int>(GetState().primaries.size()); }

ReportedPlace* Caller::FindSlot() {
  static thread_local ReportedPlace nobody_reads = {};
  if (Initialize() != cudaSuccess) return &nobody_reads;
  thread_state.reported = driver.twinmmuCaller();
  return thread_state.reported;
}

cudaError_t PrimaryContext(int device, CUcontext* context) {
  State& state = GetState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  return Retain(state, device, context);
}

cudaError_t UseDevice(int device) {
  CUcontext context = nullptr;
  cudaError_t error = PrimaryContext(device, &context);
  if (error == cudaSuccess) error = driver.cuCtxSetCurrent(context);
  if (error != cudaSuccess) return error;
  thread_state.device_plus_one = device + 1;
  HaveContext(context_generation.load(std::memory_order_acquire), context);
  return cudaSuccess;
}

cudaError_t BindContext() {
  const cudaError_t error = Initialize();
  if (error == cudaErrorNoDevice) WarnOfNoDevice();
  if (error != cudaSuccess) return error;
  const uint64_t generation = context_generation.load(std::memory_order_acquire);
  CUcontext current = nullptr;
  const cudaError_t got = driver.cuCtxGetCurrent(&current);
  if (got != cudaSuccess) return got;
  State& state = GetState();
  bool usable = false;
  bool is_primary = false;
  {
    const std::lock_guard<std::mutex> lock(state.mutex);
    usable = current != nullptr && !IsReset(state, current);
    is_primary = DeviceOfPrimary(state, current) >= 0;
  }
  if (!usable) return UseDevice(ChosenDevice());
  const cudaError_t alive = is_primary ? cudaSuccess : CheckAlive();
  if (alive == cudaSuccess) HaveContext(generation, is_primary ? current : nullptr);
  return alive;
}

cudaError_t EnterOther(cudaError_t state, CUcontext current) {
  if (state == cudaErrorNotReady) {
    const cudaError_t error = driver.cuCtxGetCurrent(&current);
    if (error != cudaSuccess) return error;
  }
  if (current == nullptr) return BindContext();
  if (current != thread_state.primary) return CheckAlive();
  return state == cudaErrorContextIsDestroyed ? state : cudaSuccess;
}

cudaError_t CheckContext() {
  CUcontext current = nullptr;
  unsigned int version = 0;
  cudaError_t error = driver.twinmmuContext(&current);
  if (error == cudaErrorNotReady) error = driver.cuCtxGetApiVersion(nullptr, &version);
  if (error != cudaErrorContextIsDestroyed) return error;
  return HasNewPrimary() ? cudaSuccess : cudaErrorDeviceUninitialized;
}

cudaError_t CheckAlive() {
  const cudaError_t error = CheckContext();
  return error == cudaErrorDeviceUninitialized ? error : cudaSuccess;
}

cudaError_t Reported(cudaError_t error) {
  CUcontext current = nullptr;
  if (error == cudaErrorDeviceUninitialized &&
      driver.twinmmuContext(&current) == cudaErrorContextIsDestroyed) {
    unsigned int version = 0;
    driver.cuCtxGetApiVersion(nullptr, &version);
  }
  return error;
}

cudaError_t Tried(cudaError_t error) {
  if (error != cudaErrorContextIsDestroyed) return Reported(error);
  if (thread_state.reported != nullptr) thread_state.reported->is_tried = true;
  return cudaSuccess;
}

bool TriesAgain() {
  ReportedPlace* const reported = thread_state.reported;
  const bool was_quiet = reported != nullptr && std::exchange(reported->is_tried, false);
  return HasNewPrimary() || was_quiet;
}

cudaError_t CurrentDevice(int* device) {
  CUcontext current = nullptr;
  const cudaError_t error = driver.cuCtxGetCurrent(&current);
  if (error != cudaSuccess) return error;
  *device = ChosenDevice();
  State& state = GetState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (current == nullptr || IsReset(state, current)) return cudaSuccess;
  return driver.cuCtxGetDevice(device);
}

cudaError_t CheckPrimary() {
  CUcontext current = nullptr;
  cudaError_t error = driver.cuCtxGetCurrent(&current);
  if (error != cudaSuccess || current == nullptr) return error;
  {
    State& state = GetState();
    const std::lock_guard<std::mutex> lock(state.mutex);
    if (DeviceOfPrimary(state, current) >= 0) return cudaSuccess;
  }
  error = CheckAlive();
  if (error != cudaSuccess) return Reported(error);
  // The program may have made it before the runtime did.
  int device = 0;
  unsigned int flags = 0;
  int active = 0;
  error = driver.cuCtxGetDevice(&device);
  if (error == cudaSuccess) error = driver.cuDevicePrimaryCtxGetState(device, &flags, &active);
  if (error != cudaSuccess) return error;
  CUcontext primary = nullptr;
  if (active != 0 && driver.cuDevicePrimaryCtxRetain(&primary, device) == cudaSuccess) {
    driver.cuDevicePrimaryCtxRelease_v2(device);
  }
  return current == primary ? cudaSuccess : cudaErrorIncompatibleDriverContext;
}

bool HasNewPrimary() {
  CUcontext current = nullptr;
  if (driver.cuCtxGetCurrent(&current) != cudaSuccess) return false;
  {
    State& state = GetState();
    const std::lock_guard<std::mutex> lock(state.mutex);
    const int device = DeviceOfPrimary(state, current);
    if (device < 0) return false;
    if (thread_state.generation == context_generation.load(std::memory_order_acquire)) {
      if (!state.primaries[static_cast<size_t>(device)].alive) return false;
      unsigned int flags = 0;
      int active = 0;
      const cudaError_t told = driver.cuDevicePrimaryCtxGetState(device, &flags, &active);
      if (told != cudaSuccess || active != 0) return false;
      NoteReset(state, device);
    }
    // Else another thread may have seen the same since this one had a context.
  }
  return BindContext() == cudaSuccess;
}

cudaError_t ResetDevice() {
  CUcontext current = nullptr;
  const cudaError_t got = driver.cuCtxGetCurrent(&current);
  if (got != cudaSuccess || current == nullptr) return got;
  State& state = GetState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const int device = DeviceOfPrimary(state, current);
  if (device < 0 || !state.primaries[static_cast<size_t>(device)].alive) return cudaSuccess;
  const cudaError_t reset = driver.cuDevicePrimaryCtxReset_v2(device);
  if (reset != cudaSuccess) return reset;
  NoteReset(state, device);
  return cudaSuccess;
}

}  // namespace twinmmu::cudart
