#include "api/allocators/paged_reservation.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/allocators/annotate.h"
#include "api/allocators/destructor_errors.h"

namespace twinmmu {

namespace {

constexpr Bytes kLeastPageSize = KiB(64);

absl::Status CheckOptions(const Vmm* vmm, Bytes capacity, const PageOptions& options) {
  if (vmm == nullptr) return absl::InvalidArgumentError("vmm is null: no driver to ask for memory");
  if (!IsPowerOfTwo(options.page_size) || options.page_size < kLeastPageSize) {
    return absl::InvalidArgumentError(absl::StrCat("page_size ", ToString(options.page_size),
                                                   " is not a power of two of at least ",
                                                   ToString(kLeastPageSize)));
  }
  if (capacity == Bytes(0)) return absl::InvalidArgumentError("capacity is 0: nothing to reserve");
  return absl::OkStatus();
}

}  // namespace

PageOptions LargePages() {
  PageOptions options;
  options.page_size = MiB(32);
  return options;
}

absl::StatusOr<std::unique_ptr<PagedReservation>> PagedReservation::Make(
    Vmm* vmm, Executor* executor, Bytes capacity, const PageOptions& options) {
  absl::Status status = CheckOptions(vmm, capacity, options);
  if (!status.ok()) return status;
  absl::StatusOr<Bytes> granularity =
      vmm->GetAllocationGranularity(options.properties, Granularity::kMinimum);
  if (!granularity.ok()) return Annotate(granularity.status(), "no granularity for the pages");
  const Bytes page_size = RoundUp(options.page_size, *granularity);
  if (capacity > Bytes(std::numeric_limits<uint64_t>::max()) - page_size) {
    return absl::InvalidArgumentError(absl::StrCat("capacity ", ToString(capacity),
                                                   " is more than 64 bits of addresses when "
                                                   "rounded up to pages of ",
                                                   ToString(page_size)));
  }
  absl::StatusOr<AddressRange> range = vmm->AddressReserve(RoundUp(capacity, page_size));
  if (!range.ok()) {
    return Annotate(range.status(),
                    absl::StrCat("no addresses for a capacity of ", ToString(capacity)));
  }
  return std::unique_ptr<PagedReservation>(
      new PagedReservation(vmm, executor, *range, page_size, options));
}

PagedReservation::PagedReservation(Vmm* vmm, Executor* executor, const AddressRange& range,
                                   Bytes page_size, const PageOptions& options)
    : vmm_(vmm),
      range_(range),
      page_size_(page_size),
      owner_(options.properties.location),
      source_(vmm, options.properties, page_size, options.cache_limit.value_or(Bytes(0)), &calls_),
      tracker_(executor),
      grants_({AccessGrant{owner_, Access::kReadWrite}}) {}

PagedReservation::~PagedReservation() {
  absl::Status status = Close();
  if (!status.ok()) {
    ReportFromDestructor(
        Annotate(status, absl::StrCat("memory at ", ToString(range_.base), " is leaked")));
  }
}

// --- The driver's calls ------------------------------------------------------------------------

absl::Status PagedReservation::Map(uint64_t page, AllocationHandle handle) {
  ++calls_.map;
  return vmm_->Map(RangeOf(PageRun{page, 1}), handle);
}

absl::Status PagedReservation::Unmap(const PageRun& run) {
  ++calls_.unmap;
  return vmm_->Unmap(RangeOf(run));
}

absl::Status PagedReservation::SetAccess(const PageRun& run, absl::Span<const AccessGrant> grants) {
  ++calls_.set_access;
  return vmm_->SetAccess(RangeOf(run), grants);
}

// --- Access, cache, end ------------------------------------------------------------------------

absl::Status PagedReservation::Grant(DeviceOrdinal device, Access access) {
  absl::Status status = CheckOpen();
  if (!status.ok()) return status;
  status = CheckGrant(device, access);
  if (!status.ok()) return status;
  const Location location = Location::Device(device);
  const AccessGrant before{location, AccessOf(device)};
  const AccessGrant now{location, access};

  const PageRuns runs = MappedRuns();
  for (size_t i = 0; i < runs.size(); ++i) {
    status = SetAccess(runs[i], {now});
    if (status.ok()) continue;
    status = Annotate(status, absl::StrCat("no ", ToString(now)));
    for (size_t j = 0; j < i; ++j) {
      const absl::Status undone = SetAccess(runs[j], {before});
      if (!undone.ok()) status = Annotate(status, "part of the memory has the new access");
    }
    return status;
  }
  const auto same = [&](const AccessGrant& grant) { return grant.location == location; };
  grants_.erase(std::remove_if(grants_.begin(), grants_.end(), same), grants_.end());
  if (access != Access::kNone) grants_.push_back(now);
  return absl::OkStatus();
}

Access PagedReservation::AccessOf(DeviceOrdinal device) const {
  for (const AccessGrant& grant : grants_) {
    if (grant.location == Location::Device(device)) return grant.access;
  }
  return Access::kNone;
}

absl::Status PagedReservation::CheckGrant(DeviceOrdinal device, Access access) const {
  if (access != Access::kNone && access != Access::kRead && access != Access::kReadWrite) {
    return absl::InvalidArgumentError(
        absl::StrCat("access ", static_cast<uint32_t>(access), " is not none, read or read-write"));
  }
  // Asked also where the answer does not matter: with nothing mapped, nobody else would notice
  // that there is no such device.
  const bool elsewhere = owner_.type == LocationType::kDevice && owner_ != Location::Device(device);
  absl::StatusOr<bool> reaches =
      vmm_->CanAccessPeer(device, elsewhere ? DeviceOrdinal(owner_.id) : device);
  if (!reaches.ok()) return reaches.status();
  if (!elsewhere || *reaches) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(ToString(device), " cannot reach memory of ", ToString(owner_)));
}

absl::StatusOr<Bytes> PagedReservation::Compact() {
  absl::Status status = CheckOpen();
  if (!status.ok()) return status;
  CollectFinished();
  const uint64_t cached = source_.cached();
  status = source_.Compact();
  if (!status.ok()) return status;
  return cached * page_size_;
}

absl::Status PagedReservation::Close() {
  if (!open_) return absl::OkStatus();
  for (Departure& departure : departures_) {
    absl::Status status = tracker_.Wait(departure.mark);
    // Memory in use must not go. With the contexts, the work is lost as well.
    if (!status.ok() && !ContextsAreLost(status)) {
      return Annotate(status, "the work after which memory is to go");
    }
    tracker_.Drop(departure.mark);
  }
  absl::Status first_error;
  for (const PageRun& run : MappedRuns()) {
    absl::Status status = Unmap(run);
    first_error.Update(status);
    if (status.ok()) Forget(run);
  }
  first_error.Update(source_.Compact());
  if (first_error.ok()) first_error = vmm_->AddressFree(range_);
  open_ = !first_error.ok();
  return first_error;
}

absl::Status PagedReservation::CheckOpen() const {
  if (open_) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the memory at ", ToString(range_.base), " was closed"));
}

// --- Questions ---------------------------------------------------------------------------------

absl::StatusOr<PageRun> PagedReservation::PagesOf(Bytes offset, Bytes size) const {
  absl::Status status = CheckOpen();
  if (!status.ok()) return status;
  if (size == Bytes(0)) return absl::InvalidArgumentError("size is 0: no page lies in it");
  if (offset % page_size_ != Bytes(0) || size % page_size_ != Bytes(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("offset ", ToString(offset), " and size ", ToString(size),
                     " must both be multiples of the page size, ", ToString(page_size_)));
  }
  const std::optional<PageRun> run = PagesAround(offset, size);
  if (run.has_value()) return *run;
  return absl::OutOfRangeError(absl::StrCat("offset ", ToString(offset), ", size ", ToString(size),
                                            " lies beyond the capacity, ", ToString(range_.size)));
}

std::optional<PageRun> PagedReservation::PagesAround(Bytes offset, Bytes size) const {
  if (offset > range_.size || size > range_.size - offset) return std::nullopt;
  const uint64_t first = offset / page_size_;
  return PageRun{first, RoundUp(offset + size, page_size_) / page_size_ - first};
}

std::string PagedReservation::Describe(const PageRun& run) const {
  return absl::StrCat("offset ", ToString(run.first * page_size_), ", size ",
                      ToString(run.count * page_size_));
}

bool PagedReservation::AllInUse(const PageRun& run) const {
  const std::optional<PageRun> used = FirstRun(run, PageState::kInUse);
  return used.has_value() && used->count == run.count;
}

std::optional<PageRun> PagedReservation::FirstRun(const PageRun& run, PageState state) const {
  if (state != PageState::kFree) {
    const bool in_use = state == PageState::kInUse;
    return FirstMapped(run, [&](const Page& page) { return (page.departure == 0) == in_use; });
  }
  uint64_t first = run.first;
  auto page = pages_.lower_bound(first);
  for (; page != pages_.end() && page->first == first && first < run.end(); ++page) ++first;
  if (first >= run.end()) return std::nullopt;
  const uint64_t end = page == pages_.end() ? run.end() : std::min(page->first, run.end());
  return PageRun{first, end - first};
}

PageRuns PagedReservation::Runs(const PageRun& run, PageState state) const {
  PageRuns runs;
  PageRun rest = run;
  while (const std::optional<PageRun> next = FirstRun(rest, state)) {
    runs.push_back(*next);
    rest = PageRun{next->end(), run.end() - next->end()};
  }
  return runs;
}

PageRuns PagedReservation::MappedRuns() const {
  PageRuns runs;
  for (const auto& [number, page] : pages_) {
    if (runs.empty() || runs.back().end() != number) runs.push_back(PageRun{number, 0});
    ++runs.back().count;
  }
  return runs;
}

AddressRange PagedReservation::RangeOf(const PageRun& run) const {
  return range_.subrange(run.first * page_size_, run.count * page_size_);
}

Bytes PagedReservation::physical_memory() const {
  return (pages_.size() + source_.cached()) * page_size_;
}

MemoryStats PagedReservation::stats() const {
  MemoryStats stats;
  stats.in_use = in_use_ * page_size_;
  stats.peak = peak_ * page_size_;
  stats.leaving = (pages_.size() - in_use_) * page_size_;
  stats.cached = source_.cached() * page_size_;
  stats.cached_pages = source_.cached();
  stats.commits = commits_;
  stats.decommits = decommits_;
  stats.calls = calls_;
  return stats;
}

}  // namespace twinmmu
