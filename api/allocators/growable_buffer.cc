#include "api/allocators/growable_buffer.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"

namespace twinmmu {

absl::StatusOr<std::unique_ptr<GrowableBuffer>> GrowableBuffer::Make(Vmm* vmm, Executor* executor,
                                                                     Bytes max_size,
                                                                     const PageOptions& options) {
  absl::StatusOr<std::unique_ptr<PagedReservation>> pages =
      PagedReservation::Make(vmm, executor, max_size, options);
  if (!pages.ok()) return pages.status();
  return std::unique_ptr<GrowableBuffer>(new GrowableBuffer(*std::move(pages)));
}

absl::Status GrowableBuffer::Reserve(Bytes capacity) {
  absl::Status status = pages_->CheckOpen();
  if (!status.ok()) return status;
  if (capacity > max_size()) {
    return absl::OutOfRangeError(absl::StrCat(
        ToString(capacity), " is more than the ", ToString(max_size()),
        " of addresses that were reserved for this buffer. Make it with a larger max_size"));
  }
  const uint64_t pages = RoundUp(capacity, page_size()) / page_size();
  if (pages <= capacity_) return absl::OkStatus();
  pages_->CollectFinished();
  status = pages_->Commit(PageRun{capacity_, pages - capacity_});
  if (status.ok()) capacity_ = pages;
  return status;
}

absl::Status GrowableBuffer::Resize(Bytes size) {
  absl::Status status = Reserve(size);
  if (status.ok()) size_ = size;
  return status;
}

absl::Status GrowableBuffer::ShrinkToFit(absl::Span<const LastUse> after) {
  absl::Status status = pages_->CheckOpen();
  if (!status.ok()) return status;
  pages_->CollectFinished();
  const uint64_t pages = RoundUp(size_, page_size()) / page_size();
  if (pages == capacity_) return absl::OkStatus();
  status = pages_->Decommit(PageRun{pages, capacity_ - pages}, after);
  if (status.ok()) capacity_ = pages;
  return status;
}

absl::Status GrowableBuffer::Close() {
  absl::Status status = pages_->Close();
  // Where the driver refused, what is still there from the beginning on.
  const std::optional<PageRun> rest = pages_->FirstRun(pages_->all(), PageState::kInUse);
  capacity_ = rest.has_value() && rest->first == 0 ? rest->count : 0;
  size_ = std::min(size_, capacity());
  return status;
}

}  // namespace twinmmu
