// GrowableBuffer: device memory that grows and shrinks in place; its address never changes.
//
// auto buffer = GrowableBuffer::Make(vmm, executor, GiB(64)); // the most it can grow to
//   auto status = (*buffer)->Resize(MiB(300));
//   DeviceSpan<float> floats = (*buffer)->View<float>();
//
// Size and capacity are those of a vector: Resize to less keeps the memory, ShrinkToFit gives it
// back. After Resize, what is beyond the old size is undefined, not 0. Nothing is ever copied, so
// capacity grows only by what is needed, in whole pages.

#ifndef TWINMMU_API_ALLOCATORS_GROWABLE_BUFFER_H_
#define TWINMMU_API_ALLOCATORS_GROWABLE_BUFFER_H_

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/allocators/last_use.h"
#include "api/allocators/memory_stats.h"
#include "api/allocators/paged_reservation.h"
#include "api/executor.h"
#include "api/vmm.h"

namespace twinmmu {

// `size` elements in device memory. data() is a pointer for kernels; the host must not dereference
// it.
template <typename T>
struct DeviceSpan {
  static_assert(std::is_trivially_copyable_v<T>, "device memory holds plain values");

  DeviceAddress address;
  uint64_t size = 0;

  T* data() const { return reinterpret_cast<T*>(address.value()); }
};

// Every call fails with FailedPrecondition after Close. An error leaves address, size, capacity,
// contents, access and physical memory as they were. Driver errors keep their code as payload.
// Thread safety: that of a vector; const calls may run concurrently.
class GrowableBuffer {
 public:
  // Reserves `max_size` bytes of addresses, rounded up to pages, but no memory. `executor` is
  // needed only to shrink after work, and may be null. Both must outlive the buffer. Errors: those
  // of VirtualMemoryPool::Make.
  static absl::StatusOr<std::unique_ptr<GrowableBuffer>> Make(
      Vmm* vmm, Executor* executor, Bytes max_size, const PageOptions& options = LargePages());
  // Like Close; errors go to the hook of destructor_errors.h.
  ~GrowableBuffer() = default;

  // Makes size() `size`, and gets the memory it needs.
  // Driver calls: per new page one Create and one Map; then one SetAccess. None within capacity().
  // OutOfRange: more than max_size(). ResourceExhausted: out of memory.
  absl::Status Resize(Bytes size);

  // Makes capacity() at least `capacity`, like Resize; size() stays.
  absl::Status Reserve(Bytes capacity);

  // Gives back the pages beyond size(): with `after`, once that work is done, in a later call on
  // the buffer; otherwise at once, and the caller must know that nothing uses them. Growing again
  // before then keeps the pages and their contents; when they are given back again, only the work
  // named then counts.
  // Driver calls: one Unmap, one Release per page. FailedPrecondition: `after` without an executor.
  absl::Status ShrinkToFit(absl::Span<const LastUse> after = {});

  // Like VirtualMemoryPool::Grant, Compact and Close. After a refused Close, size and capacity are
  // those of what is left from the start.
  absl::Status Grant(DeviceOrdinal device, Access access) { return pages_->Grant(device, access); }
  absl::StatusOr<Bytes> Compact() { return pages_->Compact(); }
  absl::Status Close();

  DeviceAddress address() const { return pages_->range().base; }
  Bytes size() const { return size_; }
  Bytes capacity() const { return capacity_ * pages_->page_size(); }
  Bytes max_size() const { return pages_->range().size; }
  Bytes page_size() const { return pages_->page_size(); }
  MemoryStats stats() const { return pages_->stats(); }

  // The complete elements within size().
  template <typename T>
  DeviceSpan<T> View() const {
    return DeviceSpan<T>{address(), size_.value() / sizeof(T)};
  }

 private:
  explicit GrowableBuffer(std::unique_ptr<PagedReservation> pages) : pages_(std::move(pages)) {}

  std::unique_ptr<PagedReservation> pages_;
  Bytes size_;
  uint64_t capacity_ = 0;  // pages
};

}  // namespace twinmmu

#endif  // TWINMMU_API_ALLOCATORS_GROWABLE_BUFFER_H_
