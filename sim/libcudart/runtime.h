// What the runtime has beyond the driver: a current device and a last error in each thread, and
// contexts that the first call makes.
//
//   extern "C" cudaError_t cudaMalloc(void** address, size_t size) {
//     return InContext([&] { return driver.cuMemAlloc_v2(address, size); });
//   }
//
// Nothing here has a destructor: programs call to the very end, after all static objects are gone.

#ifndef TWINMMU_SIM_LIBCUDART_RUNTIME_H_
#define TWINMMU_SIM_LIBCUDART_RUNTIME_H_

#include <atomic>
#include <cstdint>
#include <new>

#include "sim/libcudart/driver_functions.h"
#include "third_party/cuda_abi/cudart_abi.h"

namespace twinmmu::cudart {

// Filled by Initialize().
extern DriverFunctions driver;

// The version that the library is of, as 13000; each library has its own (version_calls.cc).
extern const int kRuntimeVersion;

struct ThreadState {
  ReportedPlace* reported;  // null: nobody asked yet
  uint64_t generation;      // of the contexts, when this thread last had one
  CUcontext primary;        // the primary one that it had then; null: it had another
  int device_plus_one;      // where there is no context; 0: nobody chose one
  cudaError_t last_error;
};
// Read without a call even in a shared library.
extern thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

// Changes when contexts that threads may have as current are reset, and when there is code that may
// have to be loaded in them; 0 is never reached.
extern std::atomic<uint64_t> context_generation;

// Loads and initializes the driver, at the first call.
cudaError_t Initialize();
// After that.
int DeviceCount();

// The device of a thread where there is no context: the one it chose, or the first of those that
// are valid (cudaSetValidDevices).
extern std::atomic<int> first_valid_device;
inline int ChosenDevice() {
  const int chosen = thread_state.device_plus_one;
  return chosen != 0 ? chosen - 1 : first_valid_device.load(std::memory_order_relaxed);
}

// The primary context of a device, which is made if it is not there.
cudaError_t PrimaryContext(int device, CUcontext* context);
// Makes that context the thread's current one.
cudaError_t UseDevice(int device);
// The thread's current device. Makes no context.
cudaError_t CurrentDevice(int* device);
// Ends the primary context of the current device, and all that is in it, if that is the thread's
// current one. NotPermitted: a green context of it is alive. Source: the genuine runtime 13.0 on an
// H200.
cudaError_t ResetDevice();

// IncompatibleDriverContext: the program has made another context current, by the driver, than the
// primary one, which is all that some calls are for.
cudaError_t CheckPrimary();

// For a thread without a usable context: gives it the primary one of its device.
cudaError_t BindContext();
// What is wrong with the current context: DeviceUninitialized if it is destroyed, or what a fault
// in it left.
cudaError_t CheckContext();
// `error`, unless something is wrong with the context: that counts before it.
inline cudaError_t ContextOr(cudaError_t error) {
  const cudaError_t wrong = CheckContext();
  return wrong == cudaSuccess ? error : wrong;
}
// Whether the current context, which the program made current by the driver, can be used.
// DeviceUninitialized counts before anything else that is wrong. Source: the genuine runtime 13.0
// on an H200.
cudaError_t CheckAlive();
// The rest of EnterContext: with what twinmmuContext told.
cudaError_t EnterOther(cudaError_t state, CUcontext current);
// Before a call that needs a context. One that the program made current by the driver is as good.
// ContextIsDestroyed: the primary one is, by the driver; see HasNewPrimary.
inline cudaError_t EnterContext() {
  if (__builtin_expect(
          thread_state.generation != context_generation.load(std::memory_order_acquire), 0)) {
    const cudaError_t error = BindContext();
    if (error != cudaSuccess) return error;
  }
  CUcontext current = nullptr;
  const cudaError_t state = driver.twinmmuContext(&current);
  const bool is_usable = state == cudaSuccess && current != nullptr;
  return __builtin_expect(is_usable, 1) ? cudaSuccess : EnterOther(state, current);
}
// `error`, after the report has it, if it is that the current context is destroyed.
cudaError_t Reported(cudaError_t error);
// What EnterContext gave other than success, for a call that is tried in a primary context that is
// destroyed, too: without a word in the report, before TriesAgain.
cudaError_t Tried(cudaError_t error);

// Whether the program reset the current context by the driver, though it is the primary one that
// the runtime made: the thread has a new one then.
bool HasNewPrimary();
// After a call that gave ContextIsDestroyed: whether it is to be made again, in another context, or
// for the report, which left it out.
bool TriesAgain();
// The last error of the thread is what a call returned other than success.
inline cudaError_t Record(cudaError_t error) {
  if (__builtin_expect(error != cudaSuccess, 0)) thread_state.last_error = error;
  return error;
}

// Says something in the report of the run, once for each `said`.
inline void WarnOnce(std::atomic<bool>& said, const char* words) {
  if (!said.exchange(true)) driver.twinmmuWarn(words);
}

#define TWINMMU_INLINE __attribute__((always_inline)) inline

// An address inside the function that this is inlined in; null: not known.
TWINMMU_INLINE const void* InsideThisFunction() {
  const void* address = nullptr;
#if defined(__x86_64__)
  asm("lea 0(%%rip), %0" : "=r"(address));
#elif defined(__aarch64__)
  asm("adr %0, ." : "=r"(address));
#endif
  return address;
}

// While it lives, the report has what the driver is asked at the place from where the program
// called the runtime. The outermost one counts.
class Caller {
 public:
  explicit Caller(const ReportedPlace& place) : slot_(thread_state.reported) {
    if (__builtin_expect(slot_ == nullptr, 0)) slot_ = FindSlot();
    is_outermost_ = slot_->caller == nullptr;
    if (is_outermost_) *slot_ = place;
  }
  ~Caller() {
    if (is_outermost_) slot_->caller = nullptr;
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

 private:
  static ReportedPlace* FindSlot();

  ReportedPlace* slot_;
  bool is_outermost_;
};
// In a function of the interface, or what is inlined there.
#define TWINMMU_CALLER \
  ::twinmmu::cudart::Caller({__builtin_return_address(0), ::twinmmu::cudart::InsideThisFunction()})

// Runs body(), which needs the driver but no context.
template <typename Body>
TWINMMU_INLINE cudaError_t Anywhere(const Body& body) {
  const Caller caller = TWINMMU_CALLER;
  try {
    const cudaError_t error = Initialize();
    return Record(error == cudaSuccess ? body() : error);
  } catch (const std::bad_alloc&) {
    return Record(cudaErrorMemoryAllocation);
  }
}

// What body() gives in the context that was entered, or in the one that takes its place. Source:
// the genuine runtime 13.0 on an H200.
template <typename Body>
TWINMMU_INLINE cudaError_t InEnteredContext(const Body& body) {
  while (true) {
    const cudaError_t error = body();
    if (__builtin_expect(error != cudaErrorContextIsDestroyed, 1) || !TriesAgain()) return error;
  }
}

// Runs body() in a context.
template <typename Body>
TWINMMU_INLINE cudaError_t InContext(const Body& body) {
  const Caller caller = TWINMMU_CALLER;
  try {
    cudaError_t error = EnterContext();
    if (__builtin_expect(error != cudaSuccess, 0)) error = Tried(error);
    return Record(error == cudaSuccess ? InEnteredContext(body) : error);
  } catch (const std::bad_alloc&) {
    return Record(cudaErrorMemoryAllocation);
  }
}

// The same, where the driver minds itself that the context is destroyed.
template <typename Body>
TWINMMU_INLINE cudaError_t InAnyContext(const Body& body) {
  const Caller caller = TWINMMU_CALLER;
  try {
    const cudaError_t error = EnterContext();
    const bool goes_on = error == cudaSuccess || error == cudaErrorContextIsDestroyed ||
                         error == cudaErrorDeviceUninitialized;
    return Record(goes_on ? body() : error);
  } catch (const std::bad_alloc&) {
    return Record(cudaErrorMemoryAllocation);
  }
}

// For work in a stream. One that the program made is in a context of its own, whatever became of
// the current one.
template <typename Body>
TWINMMU_INLINE cudaError_t InContextOf(cudaStream_t stream, const Body& body) {
  constexpr uintptr_t kPerThread = 2;  // the last of the handles that are streams by themselves
  const bool is_made = reinterpret_cast<uintptr_t>(stream) > kPerThread;
  return is_made ? InAnyContext(body) : InContext(body);
}

}  // namespace twinmmu::cudart

#endif  // TWINMMU_SIM_LIBCUDART_RUNTIME_H_
