// Injector: makes calls of the driver fail, by rules.
//
//   cuMemMap:3:CUDA_ERROR_OUT_OF_MEMORY      the third call
//   cuMemCreate:every=4:OUT_OF_MEMORY        every fourth call
//   cuMemMap:p=0.1,seed=7:999                each call with that probability; the same each time

#ifndef TWINMMU_SIM_LIBCUDA_INJECTOR_H_
#define TWINMMU_SIM_LIBCUDA_INJECTOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/driver_error.h"

namespace twinmmu::libcuda {

// A call that was made to fail.
struct InjectedFailure {
  size_t call = 0;      // its function
  uint64_t number = 0;  // of this call among those of its function, from 1
  DriverCode code = DriverCode::kUnknown;
  std::string rule;
};

// Without rules, no call fails. Fails() is thread-safe, also while rules are set.
class Injector {
 public:
  // `calls`: the names of all functions, as cuGetProcAddress takes them; a function goes by its
  // index there. They must outlive this. `notice`: is told of each failure, by the thread that
  // makes the call.
  explicit Injector(absl::Span<const char* const> calls,
                    std::function<void(const InjectedFailure&)> notice = nullptr);
  ~Injector();
  Injector(const Injector&) = delete;
  Injector& operator=(const Injector&) = delete;

  // Once only: from now on calls fail by these rules, which stand between semicolons.
  // InvalidArgument: one is wrong, and what it can be; then there are none.
  absl::Status SetRules(absl::string_view rules);

  // Counts a call of this function. If it is to fail, with what; it must then change nothing. Of
  // several rules that apply the first one counts.
  std::optional<DriverCode> Fails(size_t call) {
    if (rules_.load(std::memory_order_acquire) == nullptr) return std::nullopt;
    return FailsByRule(call);
  }

 private:
  struct Rule;
  struct Rules;

  static absl::Status Parse(absl::string_view text, absl::Span<const char* const> calls,
                            Rules& rules);
  std::optional<DriverCode> FailsByRule(size_t call);

  const absl::Span<const char* const> calls_;
  const std::function<void(const InjectedFailure&)> notice_;
  std::unique_ptr<Rules> owned_;
  std::atomic<Rules*> rules_{nullptr};
};

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_INJECTOR_H_
