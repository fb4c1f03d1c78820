#include "api/allocators/virtual_memory_pool.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "api/record/event_writer.h"

namespace twinmmu {

namespace {

constexpr Bytes kCacheLimit = GiB(1);

}  // namespace

absl::StatusOr<std::unique_ptr<VirtualMemoryPool>> VirtualMemoryPool::Make(
    Vmm* vmm, Executor* executor, Bytes capacity, const PageOptions& options) {
  PageOptions pooled = options;
  if (!pooled.cache_limit.has_value()) pooled.cache_limit = kCacheLimit;
  absl::StatusOr<std::unique_ptr<PagedReservation>> pages =
      PagedReservation::Make(vmm, executor, capacity, pooled);
  if (!pages.ok()) return pages.status();
  return std::unique_ptr<VirtualMemoryPool>(new VirtualMemoryPool(*std::move(pages), options));
}

VirtualMemoryPool::VirtualMemoryPool(std::unique_ptr<PagedReservation> pages,
                                     const PageOptions& options)
    : events_(options.events),
      device_(options.properties.location.type == LocationType::kDevice
                  ? options.properties.location.id
                  : record::kHost),
      pages_(std::move(pages)) {}

VirtualMemoryPool::~VirtualMemoryPool() { TellEnd(); }

// Before its addresses may be somebody else's.
void VirtualMemoryPool::TellEnd() const {
  if (pages_->CheckOpen().ok()) Tell(record::EventKind::kPoolFree, pages_->all());
}

void VirtualMemoryPool::Tell(record::EventKind kind, const PageRun& run) const {
  if (events_ == nullptr) return;
  record::Event event;
  event.kind = kind;
  event.device = device_;
  event.address = pages_->RangeOf(run).base.value();
  event.bytes = pages_->RangeOf(run).size.value();
  events_->Add(event);
}

absl::StatusOr<DeviceAddress> VirtualMemoryPool::Allocate(Bytes offset, Bytes size) {
  std::lock_guard<std::mutex> lock(mutex_);
  absl::StatusOr<PageRun> run = pages_->PagesOf(offset, size);
  if (!run.ok()) return run.status();
  pages_->CollectFinished();
  if (const std::optional<PageRun> used = pages_->FirstRun(*run, PageState::kInUse)) {
    return absl::AlreadyExistsError(absl::StrCat("cannot allocate ", pages_->Describe(*run), ": ",
                                                 pages_->Describe(*used),
                                                 " of it is already allocated"));
  }
  absl::Status status = pages_->CheckNoneRefused(*run);
  if (!status.ok()) return status;
  if (const std::optional<PageRun> leaving = pages_->FirstRun(*run, PageState::kLeaving)) {
    return absl::UnavailableError(absl::StrCat(
        "cannot allocate ", pages_->Describe(*run), ": ", pages_->Describe(*leaving),
        " of it was deallocated after work that is not done. Use another offset, or wait for it"));
  }
  status = pages_->Commit(*run);
  if (!status.ok()) return status;
  Tell(record::EventKind::kPoolAllocate, *run);
  return BaseAddress() + offset;
}

absl::Status VirtualMemoryPool::Deallocate(Bytes offset, Bytes size,
                                           absl::Span<const LastUse> after) {
  std::lock_guard<std::mutex> lock(mutex_);
  absl::StatusOr<PageRun> run = pages_->PagesOf(offset, size);
  if (!run.ok()) return run.status();
  pages_->CollectFinished();
  for (const PageState state : {PageState::kFree, PageState::kLeaving}) {
    if (const std::optional<PageRun> hole = pages_->FirstRun(*run, state)) {
      return absl::NotFoundError(absl::StrCat("cannot deallocate ", pages_->Describe(*run), ": ",
                                              pages_->Describe(*hole), " of it is not allocated"));
    }
  }
  absl::Status status = pages_->Decommit(*run, after);
  if (status.ok()) Tell(record::EventKind::kPoolFree, *run);
  return status;
}

absl::Status VirtualMemoryPool::Grant(DeviceOrdinal device, Access access) {
  std::lock_guard<std::mutex> lock(mutex_);
  return pages_->Grant(device, access);
}

absl::StatusOr<Bytes> VirtualMemoryPool::Compact() {
  std::lock_guard<std::mutex> lock(mutex_);
  return pages_->Compact();
}

absl::Status VirtualMemoryPool::Close() {
  std::lock_guard<std::mutex> lock(mutex_);
  TellEnd();
  return pages_->Close();
}

bool VirtualMemoryPool::IsMapped(Bytes offset, Bytes size) const {
  std::lock_guard<std::mutex> lock(mutex_);
  // Also of parts of pages: the question is whether they can be used.
  const std::optional<PageRun> run = pages_->PagesAround(offset, size);
  return run.has_value() && size != Bytes(0) && pages_->AllInUse(*run);
}

Bytes VirtualMemoryPool::PhysicalMemoryUsage() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return pages_->physical_memory();
}

MemoryStats VirtualMemoryPool::Stats() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return pages_->stats();
}

}  // namespace twinmmu
