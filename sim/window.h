// Window: the span of the host's address space that device addresses are taken from.

#ifndef TWINMMU_SIM_WINDOW_H_
#define TWINMMU_SIM_WINDOW_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/address.h"
#include "api/allocation.h"
#include "sim/profile.h"

namespace twinmmu {

// While it lives, nothing else of the process is placed there, and a CPU access to it faults,
// except where Show put memory. Without a claim (WindowProfile::claimed) it is only numbers. Not
// thread-safe for overlapping ranges.
class Window {
 public:
  // `alignment`: a power of two. ResourceExhausted: the host has no such span left.
  static absl::StatusOr<Window> Make(const WindowProfile& profile, Bytes alignment);
  Window(Window&& other) noexcept;
  Window& operator=(Window&&) = delete;
  ~Window();

  const AddressRange& range() const { return range_; }
  bool claimed() const { return claimed_; }

  // Makes `memory` (a part of a Backing that is not kPrivate) readable, or readable and writable,
  // by the CPU at `range`. ResourceExhausted: the host refused; the range then faults again. Only
  // when claimed.
  absl::Status Show(const AddressRange& range, char* memory, Access access) const;
  // Ends it: the range faults again.
  void Hide(const AddressRange& range) const;

 private:
  Window(const AddressRange& range, bool claimed) : range_(range), claimed_(claimed) {}

  AddressRange range_;
  bool claimed_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_WINDOW_H_
