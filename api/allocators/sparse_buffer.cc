#include "api/allocators/sparse_buffer.h"

#include <optional>

namespace twinmmu {

absl::StatusOr<std::unique_ptr<SparseBuffer>> SparseBuffer::Make(Vmm* vmm, Executor* executor,
                                                                 Bytes size,
                                                                 const PageOptions& options) {
  absl::StatusOr<std::unique_ptr<PagedReservation>> pages =
      PagedReservation::Make(vmm, executor, size, options);
  if (!pages.ok()) return pages.status();
  return std::unique_ptr<SparseBuffer>(new SparseBuffer(*std::move(pages)));
}

absl::Status SparseBuffer::Commit(Bytes offset, Bytes size) {
  absl::StatusOr<PageRun> tiles = pages_->PagesOf(offset, size);
  if (!tiles.ok()) return tiles.status();
  pages_->CollectFinished();
  return pages_->Commit(*tiles);
}

absl::Status SparseBuffer::Decommit(Bytes offset, Bytes size, absl::Span<const LastUse> after) {
  absl::StatusOr<PageRun> tiles = pages_->PagesOf(offset, size);
  if (!tiles.ok()) return tiles.status();
  pages_->CollectFinished();
  return pages_->Decommit(*tiles, after);
}

bool SparseBuffer::IsResident(Bytes offset, Bytes size) const {
  // Also of parts of tiles: the question is whether they can be used.
  const std::optional<PageRun> tiles = pages_->PagesAround(offset, size);
  return tiles.has_value() && size != Bytes(0) && pages_->AllInUse(*tiles);
}

std::vector<AddressRange> SparseBuffer::ResidentRanges() const {
  std::vector<AddressRange> ranges;
  for (const PageRun& run : pages_->Runs(pages_->all(), PageState::kInUse)) {
    ranges.push_back(pages_->RangeOf(run));
  }
  return ranges;
}

}  // namespace twinmmu
