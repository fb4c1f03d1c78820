#include "api/allocators/owners.h"

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "api/allocators/destructor_errors.h"
#include "api/diagnostics.h"

namespace twinmmu {
namespace {

absl::Status NothingHeld(absl::string_view call, absl::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat(
      call, ": the ", what,
      " holds nothing: it was closed, moved from, or never made. Give one that Make returned"));
}

absl::Status NullVmm(absl::string_view call) {
  return absl::InvalidArgumentError(
      absl::StrCat(call, ": vmm is null. Give the interface of an open driver"));
}

}  // namespace

// --- Reservation -------------------------------------------------------------------------------

struct Reservation::State {
  State(Vmm* the_vmm, const AddressRange& the_range) : vmm(the_vmm), range(the_range) {}

  // Whatever the driver makes of what is beyond the reservation, nobody here asks for it.
  absl::Status CheckInside(absl::string_view call, Bytes offset, Bytes size) const;
  // Requires the lock, and that there is no mapping.
  absl::Status Free();

  Vmm* const vmm;
  const AddressRange range;
  std::mutex mutex;  // held by each driver call about these addresses
  // The rest changes under the lock.
  std::atomic<bool> open{true};             // not freed yet
  bool abandoned = false;                   // the Reservation is destroyed: the last mapping frees
  std::map<DeviceAddress, Bytes> mappings;  // base and size
};

absl::Status Reservation::State::CheckInside(absl::string_view call, Bytes offset,
                                             Bytes size) const {
  if (offset <= range.size && size <= range.size - offset) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(call, ": ", ToString(size), " at offset ", ToString(offset),
                   " are not inside the reservation ", InWords(range),
                   ". Offset and size together must not exceed its size"));
}

absl::Status Reservation::State::Free() {
  const absl::Status status = vmm->AddressFree(range);
  if (status.ok()) open = false;
  return status;
}

absl::StatusOr<Reservation> Reservation::Make(Vmm* vmm, Bytes size, const ReserveOptions& options) {
  if (vmm == nullptr) return NullVmm("Reservation::Make");
  const absl::StatusOr<AddressRange> range = vmm->AddressReserve(size, options);
  if (!range.ok()) return range.status();
  return Reservation(std::make_shared<State>(vmm, *range));
}

Reservation::Reservation(std::shared_ptr<State> state) : state_(std::move(state)) {}

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  if (this == &other) return *this;
  Drop();
  state_ = std::move(other.state_);
  return *this;
}

Reservation::~Reservation() { Drop(); }

void Reservation::Drop() {
  if (state_ == nullptr) return;
  absl::Status status;
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->abandoned = true;
    if (state_->open && state_->mappings.empty()) status = state_->Free();
  }
  state_.reset();
  ReportFromDestructor(status);
}

bool Reservation::is_open() const { return state_ != nullptr && state_->open; }

AddressRange Reservation::range() const { return is_open() ? state_->range : AddressRange(); }

absl::Status Reservation::SetAccess(Bytes offset, Bytes size,
                                    absl::Span<const AccessGrant> grants) const {
  constexpr absl::string_view kCall = "Reservation::SetAccess";
  if (state_ == nullptr) return NothingHeld(kCall, "reservation");
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (!state_->open) return NothingHeld(kCall, "reservation");
  const absl::Status inside = state_->CheckInside(kCall, offset, size);
  if (!inside.ok()) return inside;
  return state_->vmm->SetAccess(state_->range.subrange(offset, size), grants);
}

absl::Status Reservation::Close() {
  if (state_ == nullptr) return absl::OkStatus();
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (!state_->open) return absl::OkStatus();
  if (state_->mappings.empty()) return state_->Free();
  const auto& [base, size] = *state_->mappings.begin();
  return absl::FailedPreconditionError(absl::StrCat(
      "Reservation::Close: ", InWords(state_->range), " has ", state_->mappings.size(),
      state_->mappings.size() == 1 ? " mapping, " : " mappings, one of them ",
      InWords(AddressRange{base, size, Bytes(0)}),
      ". Close the mappings first, or destroy the reservation, which then ends with the last"));
}

// --- Allocation --------------------------------------------------------------------------------

absl::StatusOr<Allocation> Allocation::Make(Vmm* vmm, Bytes size,
                                            const AllocationProperties& properties) {
  if (vmm == nullptr) return NullVmm("Allocation::Make");
  const absl::StatusOr<AllocationHandle> handle = vmm->Create(size, properties);
  if (!handle.ok()) return handle.status();
  return Allocation(vmm, *handle, size);
}

absl::StatusOr<Allocation> Allocation::Import(Vmm* vmm, const ShareableHandle& shareable,
                                              Bytes size) {
  if (vmm == nullptr) return NullVmm("Allocation::Import");
  const absl::StatusOr<AllocationHandle> handle = vmm->ImportShareableHandle(shareable);
  if (!handle.ok()) return handle.status();
  return Allocation(vmm, *handle, size);
}

Allocation Allocation::Adopt(Vmm* vmm, AllocationHandle handle, Bytes size) {
  return vmm == nullptr ? Allocation() : Allocation(vmm, handle, size);
}

Allocation::Allocation(Vmm* vmm, AllocationHandle handle, Bytes size)
    : vmm_(vmm), handle_(handle), size_(size) {}

Allocation::Allocation(Allocation&& other) noexcept
    : vmm_(std::exchange(other.vmm_, nullptr)),
      handle_(std::exchange(other.handle_, AllocationHandle())),
      size_(std::exchange(other.size_, Bytes(0))) {}

Allocation& Allocation::operator=(Allocation&& other) noexcept {
  if (this == &other) return *this;
  ReportFromDestructor(Close());
  vmm_ = std::exchange(other.vmm_, nullptr);
  handle_ = std::exchange(other.handle_, AllocationHandle());
  size_ = std::exchange(other.size_, Bytes(0));
  return *this;
}

Allocation::~Allocation() { ReportFromDestructor(Close()); }

absl::Status Allocation::Close() {
  if (vmm_ == nullptr) return absl::OkStatus();
  const absl::Status status = vmm_->Release(handle_);
  if (!status.ok()) return status;
  vmm_ = nullptr;
  handle_ = AllocationHandle();
  size_ = Bytes(0);
  return absl::OkStatus();
}

// --- Mapping -----------------------------------------------------------------------------------

absl::StatusOr<Mapping> Mapping::Make(const Reservation& reservation, Bytes offset,
                                      const Allocation& allocation,
                                      absl::Span<const AccessGrant> grants) {
  constexpr absl::string_view kCall = "Mapping::Make";
  if (!allocation.is_open()) return NothingHeld(kCall, "allocation");
  const std::shared_ptr<Reservation::State> state = reservation.state_;
  if (state == nullptr) return NothingHeld(kCall, "reservation");
  if (state->vmm != allocation.vmm_) {
    return absl::InvalidArgumentError(absl::StrCat(
        kCall, ": the allocation belongs to another Vmm than the reservation, where its ",
        "handle means nothing. Make both with one Vmm"));
  }
  const absl::Status inside = state->CheckInside(kCall, offset, allocation.size());
  if (!inside.ok()) return inside;
  const AddressRange range = state->range.subrange(offset, allocation.size());
  {
    const std::lock_guard<std::mutex> lock(state->mutex);
    if (!state->open) return NothingHeld(kCall, "reservation");
    // Before the call, so that nothing is left to fail after it.
    const auto [booked, is_new] = state->mappings.emplace(range.base, range.size);
    const absl::Status status = state->vmm->Map(range, allocation.handle());
    if (!status.ok()) {
      if (is_new) state->mappings.erase(booked);
      return status;
    }
  }
  Mapping mapping(state, range);
  if (!grants.empty()) {
    const absl::Status status = mapping.SetAccess(grants);
    if (!status.ok()) return status;
  }
  return mapping;
}

Mapping::Mapping(std::shared_ptr<Reservation::State> state, const AddressRange& range)
    : state_(std::move(state)), range_(range) {}

Mapping::Mapping(Mapping&& other) noexcept
    : state_(std::move(other.state_)), range_(std::exchange(other.range_, AddressRange())) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this == &other) return *this;
  ReportFromDestructor(Close());
  state_ = std::move(other.state_);
  range_ = std::exchange(other.range_, AddressRange());
  return *this;
}

Mapping::~Mapping() { ReportFromDestructor(Close()); }

absl::Status Mapping::SetAccess(absl::Span<const AccessGrant> grants) {
  if (range_.empty()) return NothingHeld("Mapping::SetAccess", "mapping");
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->vmm->SetAccess(range_, grants);
}

absl::StatusOr<Allocation> Mapping::Retain() const {
  if (range_.empty()) return NothingHeld("Mapping::Retain", "mapping");
  const std::lock_guard<std::mutex> lock(state_->mutex);
  const absl::StatusOr<AllocationHandle> handle = state_->vmm->RetainAllocationHandle(range_.base);
  if (!handle.ok()) return handle.status();
  return Allocation::Adopt(state_->vmm, *handle, range_.size);
}

absl::Status Mapping::MoveTo(const Reservation& reservation, Bytes offset,
                             absl::Span<const AccessGrant> grants) {
  if (range_.empty()) return NothingHeld("Mapping::MoveTo", "mapping");
  absl::StatusOr<Allocation> memory = Retain();
  if (!memory.ok()) return memory.status();
  // Its destructor undoes it where a later step fails.
  absl::StatusOr<Mapping> moved = Make(reservation, offset, *memory, grants);
  if (!moved.ok()) return moved.status();
  absl::Status status = memory->Close();
  if (status.ok()) status = Unmap();
  if (status.ok()) *this = *std::move(moved);
  return status;
}

absl::Status Mapping::Unmap() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  const absl::Status status = state_->vmm->Unmap(range_);
  if (!status.ok()) return status;
  state_->mappings.erase(range_.base);
  range_ = AddressRange();
  return absl::OkStatus();
}

absl::Status Mapping::Close() {
  if (state_ == nullptr) return absl::OkStatus();
  if (!range_.empty()) {
    const absl::Status status = Unmap();
    if (!status.ok()) return status;
  }
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    if (state_->abandoned && state_->open && state_->mappings.empty()) {
      const absl::Status status = state_->Free();
      if (!status.ok()) return status;
    }
  }
  state_.reset();
  return absl::OkStatus();
}

}  // namespace twinmmu
