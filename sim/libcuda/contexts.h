// Contexts: the contexts of the program, and which of them is current for a thread.

#ifndef TWINMMU_SIM_LIBCUDA_CONTEXTS_H_
#define TWINMMU_SIM_LIBCUDA_CONTEXTS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_set>
#include <vector>

#include "api/allocation.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::libcuda {

// A context that was given out, primary or created. It is never freed, so that a dead one is told
// from a live one; a primary one comes back to life when it is retained again.
struct Context {
  static constexpr size_t kUsualStack = 1024;

  Context(DeviceOrdinal of_device, bool is_primary) : device(of_device), primary(is_primary) {}

  const DeviceOrdinal device;
  const bool primary;
  std::atomic<bool> alive{false};
  std::atomic<unsigned int> flags{0};
  std::atomic<unsigned int> primary_flags{0};  // by cuDevicePrimaryCtxSetFlags
  std::atomic<int> cache_config{0};
  std::atomic<bool> uses_heap{false};            // a kernel that may call malloc was launched
  std::atomic<size_t> stack_bytes{kUsualStack};  // of a thread: CU_LIMIT_STACK_SIZE, rounded up
  std::atomic<uint64_t> id{0};                   // not 0 once it has lived
  uint64_t retained = 0;                         // primary; guarded by Contexts
  std::atomic<int64_t> attached{0};              // created: by cuCtxAttach, until cuCtxDetach
  // Of a green context: the primary one, whose memory and streams are its own too, and how many
  // multiprocessors of it are its own.
  Context* whole = nullptr;
  unsigned int multiprocessors = 0;
  uint64_t default_stream = 0;  // its own, which is the default stream while it is current
  std::mutex mutex;             // guards what follows
  std::vector<size_t> limits;   // by CUlimit

  cuda_abi::CUcontext handle() const {
    return reinterpret_cast<cuda_abi::CUcontext>(reinterpret_cast<uintptr_t>(this));
  }
};

// What stands on the stack of a thread: the number that the program gave, and the context of it, or
// null if there never was one. The driver looks at neither before the context is used.
struct StackedContext {
  cuda_abi::CUcontext handle = nullptr;
  Context* context = nullptr;
};

using StackOfContexts = std::vector<StackedContext>;

// Null until the thread first uses it. Read without a call even in a shared library.
[[gnu::tls_model("initial-exec")]] extern thread_local StackOfContexts* context_stack;
StackOfContexts& MakeContextStack();

// The calling thread's stack of current contexts. Works before and after main.
inline StackOfContexts& ContextStack() {
  return context_stack != nullptr ? *context_stack : MakeContextStack();
}

// The green context that is current for the calling thread, or null.
inline Context* CurrentGreen() {
  const StackOfContexts& stack = ContextStack();
  if (stack.empty() || stack.back().context == nullptr) return nullptr;
  return stack.back().context->whole != nullptr ? stack.back().context : nullptr;
}

// Thread-safe.
class Contexts {
 public:
  explicit Contexts(int devices);

  // Which context a number names; null: none was ever given out under it.
  Context* Find(cuda_abi::CUcontext handle) const;
  StackedContext Stacked(cuda_abi::CUcontext handle) const { return {handle, Find(handle)}; }

  Context& Primary(DeviceOrdinal device) { return *primary_[static_cast<size_t>(device.value())]; }
  void Retain(Context& primary);
  // False: nobody holds it. `last`: whether this was the last one, and the context is dead now.
  bool Release(Context& primary, bool* last);
  // Kills a primary context, whoever holds it. False, and nothing is done: it has green ones.
  bool Reset(Context& primary, bool* was_alive);

  Context& Create(DeviceOrdinal device, unsigned int flags);
  // `primary` was retained for it.
  Context& CreateGreen(Context& primary, unsigned int multiprocessors, uint64_t default_stream);
  // False: it is not alive.
  bool Destroy(Context& created);

  // Whether one of the device is.
  bool AreAlive(DeviceOrdinal device) const;
  // The id of the one that was made last; those made later have higher ones. 0: there was none.
  uint64_t newest_id() const;

 private:
  void Enliven(Context& context);
  Context& Add(std::unique_ptr<Context> made);

  std::vector<std::unique_ptr<Context>> primary_;
  mutable std::shared_mutex mutex_;  // guards what follows, and the counts of primary contexts
  std::vector<std::unique_ptr<Context>> created_;
  std::unordered_set<const Context*> known_;
  uint64_t last_id_ = 0;
};

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CONTEXTS_H_
