// SleepingBuffer: device memory that can be given back for a while. It keeps its address, and
// optionally its contents, in host memory: the sleep and wake of inference servers.
//
//   auto weights = SleepingBuffer::Make(vmm, executor, GiB(14));  // awake
// auto status = (*weights)->Sleep(Contents::kSave, {stream}); // after what is in the stream
//   ...                                                           // others use the memory
//   status = (*weights)->Wake();                                  // same address, same contents
//
// A wake that finds no memory leaves the buffer asleep, with its saved contents: it can be retried.

#ifndef TWINMMU_API_ALLOCATORS_SLEEPING_BUFFER_H_
#define TWINMMU_API_ALLOCATORS_SLEEPING_BUFFER_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/allocators/last_use.h"
#include "api/allocators/memory_stats.h"
#include "api/allocators/paged_reservation.h"
#include "api/executor.h"
#include "api/vmm.h"

namespace twinmmu {

// What happens to the contents while a buffer sleeps.
enum class Contents {
  kDiscard,  // undefined after it wakes
  kSave,     // copied to host memory, and back when it wakes
};

// Every call fails with FailedPrecondition after Close. An error leaves the buffer awake or asleep
// as it was, with its contents and what was saved. Driver errors keep their code as payload.
// Thread safety: const calls may run concurrently.
class SleepingBuffer {
 public:
  // Reserves and allocates `size` bytes, rounded up to pages, in device memory: the buffer is
  // awake. The cache limit of `options` is not used: sleeping is for giving memory back. Both `vmm`
  // and `executor` must outlive the buffer. Errors: those of VirtualMemoryPool::Make and Allocate;
  // InvalidArgument: no executor, or memory that is not device memory.
  static absl::StatusOr<std::unique_ptr<SleepingBuffer>> Make(
      Vmm* vmm, Executor* executor, Bytes size, const PageOptions& options = LargePages());
  // Like Close; errors go to the hook of destructor_errors.h.
  ~SleepingBuffer();

  // Gives the memory back, and keeps the address. With `after`, the contents are saved and the
  // memory goes when that work is done, the latter in a later call on this object (Collect does
  // only that). Otherwise at once; the caller must know that nothing uses it, and saving waits for
  // the copy. With kSave the call may wait in any case: some drivers copy to unpinned host memory
  // during the call, and the copy comes after the work.
  // Driver calls: one Unmap, one Release per page.
  // FailedPrecondition: it sleeps, or its own device may not read what is to be saved.
  // ResourceExhausted: no host memory to save it in. If after an error a copy may still write
  // there, that host memory is never freed.
  absl::Status Sleep(Contents contents, absl::Span<const LastUse> after = {});

  // Gets memory at the same address, with the access that was granted, and the contents if they
  // were saved; returns when they are restored. Memory that is still waiting for work is kept, with
  // its contents.
  // Driver calls: per page one Create and one Map; one SetAccess.
  // FailedPrecondition: it is awake, or has saved contents and its own device may not write them.
  // ResourceExhausted: out of memory; it stays asleep.
  absl::Status Wake();

  // The first half of Wake, to wake several buffers or none of them: gets the memory. The buffer
  // stays asleep, with what was saved; Wake then needs no more memory. Driver calls and errors:
  // those of Wake. OK if it was called before.
  absl::Status PrepareWake();
  // Undoes PrepareWake: gives the memory back, as Sleep did. OK if there is nothing to undo.
  // FailedPrecondition: it is awake.
  absl::Status CancelWake();

  // Gives back the memory of a sleeping buffer if its work is done. Driver calls: as Sleep.
  void Collect() { pages_->CollectFinished(); }

  // Like VirtualMemoryPool::Grant. Also works while it sleeps: the access applies when it wakes.
  absl::Status Grant(DeviceOrdinal device, Access access) { return pages_->Grant(device, access); }
  // Like VirtualMemoryPool::Close.
  absl::Status Close();

  bool awake() const { return awake_; }
  // Whether contents are saved in host memory.
  bool saved() const { return saved_ != nullptr; }
  DeviceAddress address() const { return pages_->range().base; }
  Bytes size() const { return pages_->range().size; }
  MemoryStats stats() const { return pages_->stats(); }

 private:
  SleepingBuffer(Executor* executor, Stream stream, std::unique_ptr<PagedReservation> pages)
      : executor_(executor), stream_(stream), pages_(std::move(pages)) {}

  // Checks that the buffer's device has this access.
  absl::Status CheckAccess(Access needed, absl::string_view what) const;
  absl::Status CheckAsleep() const;
  absl::Status Save(void* host, bool wait);
  absl::Status Restore();
  // Frees the host memory for the contents, once no copy writes there any more; never if that
  // cannot be known, since the memory would then belong to somebody else.
  void Discard(std::unique_ptr<std::byte[]> host);

  Executor* executor_;
  Stream stream_;  // for the copies; waits for all work after which memory goes
  // May be written by stream_ until that is done; hence it outlives the pages, which wait for it.
  std::unique_ptr<std::byte[]> saved_;
  std::unique_ptr<PagedReservation> pages_;
  bool awake_ = true;
  bool prepared_ = false;  // to wake
};

}  // namespace twinmmu

#endif  // TWINMMU_API_ALLOCATORS_SLEEPING_BUFFER_H_
