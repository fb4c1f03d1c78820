// Window: the span of the host's address space that device addresses are taken from.

#ifndef TWINMMU_SIM_HOST_WINDOW_H_
#define TWINMMU_SIM_HOST_WINDOW_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/address.h"
#include "api/allocation.h"
#include "sim/profile/profile.h"

namespace twinmmu {

// While it lives, nothing else of the process is placed there, and a CPU access to it faults,
// except where Show put memory. Without a claim (WindowProfile::claimed) it is only numbers. One
// part is for what is mapped, one behind it for memory that has its address from the start. Not
// thread-safe for overlapping ranges.
class Window {
 public:
  // `alignment`: a power of two. `linear`: the second part; if the window is claimed, only its size
  // counts. ResourceExhausted: the host has no such span left.
  static absl::StatusOr<Window> Make(const WindowProfile& profile, Bytes alignment,
                                     const AddressRange& linear = {});
  Window(Window&& other) noexcept;
  Window& operator=(Window&&) = delete;
  ~Window();

  const AddressRange& range() const { return range_; }
  const AddressRange& linear() const { return linear_; }
  bool claimed() const { return claim_ != nullptr; }

  // These are for a window that is claimed, and ResourceExhausted where the host refused.
  //
  // Makes `memory` (a part of a Backing that is not kPrivate) readable, or readable and writable,
  // by the CPU at `range`. After an error it may be so or not, until Hide.
  absl::Status Show(const AddressRange& range, char* memory, Access access) const;
  // Changes that for a range that is shown. After an error it is as before.
  absl::Status Protect(const AddressRange& range, Access access) const;
  // Ends it for all that is shown in `range`: it faults again. After an error it is as before.
  absl::Status Hide(const AddressRange& range) const;

 private:
  Window(const AddressRange& range, const AddressRange& linear, char* claim, size_t claim_size)
      : range_(range), linear_(linear), claim_(claim), claim_size_(claim_size) {}

  AddressRange range_;
  AddressRange linear_;
  char* claim_;  // null: not claimed
  size_t claim_size_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_HOST_WINDOW_H_
