#include "tools/examples/allocators/kv_cache.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/allocators/destructor_errors.h"
#include "api/allocators/keep_forever.h"

namespace twinmmu::examples {

absl::StatusOr<std::unique_ptr<KvCache>> KvCache::Make(Vmm* vmm, Executor* executor,
                                                       Options options) {
  if (vmm == nullptr) return absl::InvalidArgumentError("vmm is null");
  if (executor == nullptr) return absl::InvalidArgumentError("executor is null");
  const Location location = options.properties.location;
  if (location.type != LocationType::kDevice) {
    return absl::InvalidArgumentError(
        absl::StrCat("location ", ToString(location), " is not a device"));
  }
  const absl::StatusOr<Bytes> granularity =
      vmm->GetAllocationGranularity(options.properties, Granularity::kMinimum);
  if (!granularity.ok()) return granularity.status();
  const Bytes page = RoundUp(options.page_size, *granularity);
  const Bytes longest = page == Bytes(0) ? page : RoundUp(options.longest_sequence, page);
  if (page < options.page_size || longest < options.longest_sequence || longest == Bytes(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("page_size ", ToString(options.page_size), " and longest_sequence ",
                     ToString(options.longest_sequence), " must be more than 0, and fit into 64 ",
                     "bits when they are rounded up"));
  }
  options.page_size = page;
  options.longest_sequence = longest;
  absl::StatusOr<Reservation> staging = Reservation::Make(vmm, page);
  if (!staging.ok()) return staging.status();
  const absl::StatusOr<Stream> stream = executor->CreateStream(DeviceOrdinal(location.id));
  if (!stream.ok()) return stream.status();
  return std::unique_ptr<KvCache>(
      new KvCache(vmm, executor, std::move(options), *std::move(staging), *stream));
}

KvCache::KvCache(Vmm* vmm, Executor* executor, Options options, Reservation staging, Stream stream)
    : vmm_(vmm),
      executor_(executor),
      options_(std::move(options)),
      tracker_(executor),
      staging_(std::move(staging)),
      stream_(stream) {}

KvCache::~KvCache() {
  for (Pages& pages : removed_) {
    const absl::Status status = tracker_.Wait(pages.last_use);
    if (status.ok() || ContextsAreLost(status)) {
      tracker_.Drop(pages.last_use);
    } else {
      ReportFromDestructor(status);
      KeepForever(std::move(pages));
    }
  }
  if (!EndCopy()) {
    KeepForever(std::move(copy_));
    for (auto& [sequence, pages] : sequences_) KeepForever(std::move(pages));
  }
  ReportFromDestructor(executor_->DestroyStream(stream_));
}

// --- Sequences ---------------------------------------------------------------------------------

absl::StatusOr<KvCache::Sequence> KvCache::Add() {
  CollectRemoved();
  absl::StatusOr<Pages> pages = NewPages();
  if (!pages.ok()) return pages.status();
  return Insert(*std::move(pages));
}

absl::StatusOr<KvCache::Sequence> KvCache::Fork(Sequence parent, Bytes prefix,
                                                absl::Span<const LastUse> after) {
  CollectRemoved();
  const absl::StatusOr<Pages*> from = Find(parent);
  if (!from.ok()) return from.status();
  std::vector<Page>& shared = (*from)->pages;
  if (prefix > shared.size() * options_.page_size) {
    return absl::OutOfRangeError(absl::StrCat("prefix ", ToString(prefix), " is more than the ",
                                              ToString(shared.size() * options_.page_size),
                                              " of sequence ", parent));
  }
  const uint64_t count = PageCount(prefix);
  // SetAccess of the parent would stop at a hole, and leave what is behind it writable. [ACC-6]
  absl::Status status = CheckMapped(**from, 0, count);
  if (status.ok()) status = Wait(after);
  if (!status.ok()) return status;
  absl::StatusOr<Pages> child = NewPages();
  if (!child.ok()) return child.status();
  for (uint64_t i = 0; i < count; ++i) {
    absl::StatusOr<Page> page = MapPage(*child, i, shared[i].memory);
    if (!page.ok()) return page.status();
    child->pages.push_back(*std::move(page));
  }
  const std::vector<AccessGrant> read = Grants(Access::kRead);
  const Bytes size = count * options_.page_size;
  if (count > 0) status = child->addresses.SetAccess(Bytes(0), size, read);
  // Last, so that nothing is left to fail when the parent's access has changed.
  const auto end = shared.begin() + count;
  if (status.ok() && std::any_of(shared.begin(), end, [](auto& page) { return page.writable; })) {
    status = (*from)->addresses.SetAccess(Bytes(0), size, read);
  }
  if (!status.ok()) return status;
  std::for_each(shared.begin(), end, [](Page& page) { page.writable = false; });
  return Insert(*std::move(child));
}

absl::Status KvCache::Grow(Sequence sequence, Bytes size) {
  CollectRemoved();
  const absl::StatusOr<Pages*> found = Find(sequence);
  if (!found.ok()) return found.status();
  if (size > options_.longest_sequence) {
    return absl::OutOfRangeError(absl::StrCat("size ", ToString(size),
                                              " is more than the longest sequence, ",
                                              ToString(options_.longest_sequence)));
  }
  Pages& pages = **found;
  const uint64_t first = pages.pages.size();
  std::vector<Page> added;
  while (first + added.size() < PageCount(size)) {
    absl::StatusOr<std::shared_ptr<Allocation>> memory = NewMemory();
    if (!memory.ok()) return memory.status();
    absl::StatusOr<Page> page = MapPage(pages, first + added.size(), *std::move(memory));
    if (!page.ok()) return page.status();
    page->writable = true;
    added.push_back(*std::move(page));
  }
  if (added.empty()) return absl::OkStatus();
  const absl::Status status = pages.addresses.SetAccess(
      first * options_.page_size, added.size() * options_.page_size, Grants(Access::kReadWrite));
  if (!status.ok()) return status;
  std::move(added.begin(), added.end(), std::back_inserter(pages.pages));
  return absl::OkStatus();
}

absl::Status KvCache::Remove(Sequence sequence, absl::Span<const LastUse> after) {
  const absl::StatusOr<Pages*> found = Find(sequence);
  if (!found.ok()) return found.status();
  std::vector<LastUse> uses(after.begin(), after.end());
  if (!EndCopy()) uses.push_back(stream_);  // it may read there
  absl::StatusOr<WorkTracker::Mark> mark = tracker_.Set(uses);
  if (!mark.ok()) return mark.status();
  (*found)->last_use = *std::move(mark);
  removed_.push_back(std::move(**found));
  sequences_.erase(sequence);
  CollectRemoved();
  return absl::OkStatus();
}

void KvCache::CollectRemoved() {
  const auto is_gone = [&](Pages& pages) {
    const absl::StatusOr<bool> over = tracker_.IsOver(pages.last_use);
    if (!over.ok() || !*over) return false;
    tracker_.Drop(pages.last_use);
    return Close(pages).ok();
  };
  removed_.erase(std::remove_if(removed_.begin(), removed_.end(), is_gone), removed_.end());
}

absl::Status KvCache::Close(Pages& pages) {
  for (; !pages.pages.empty(); pages.pages.pop_back()) {
    Page& page = pages.pages.back();
    absl::Status status = page.mapping.Close();
    if (status.ok() && page.memory.use_count() == 1) status = page.memory->Close();
    if (!status.ok()) return status;
  }
  return pages.addresses.Close();
}

// --- Copy on write -----------------------------------------------------------------------------

absl::Status KvCache::MakeWritable(Sequence sequence, Bytes offset, Bytes size,
                                   absl::Span<const LastUse> after) {
  CollectRemoved();
  const absl::StatusOr<Pages*> found = Find(sequence);
  if (!found.ok()) return found.status();
  Pages& pages = **found;
  const Bytes end = pages.pages.size() * options_.page_size;
  if (offset > end || size > end - offset) {
    return absl::OutOfRangeError(absl::StrCat("offset ", ToString(offset), ", size ",
                                              ToString(size), " lies beyond the ", ToString(end),
                                              " of sequence ", sequence));
  }
  if (size == Bytes(0)) return absl::OkStatus();
  absl::Status status = Wait(after);
  for (uint64_t i = offset / options_.page_size; i < PageCount(offset + size); ++i) {
    if (!status.ok()) return status;
    Page& page = pages.pages[i];
    if (page.writable) continue;
    status = CheckMapped(pages, i, 1);
    if (!status.ok()) return status;
    if (page.memory.use_count() == 1) {
      status = page.mapping.SetAccess(Grants(Access::kReadWrite));
      page.writable = status.ok();
      continue;
    }
    absl::StatusOr<std::shared_ptr<Allocation>> copy = CopyOf(page);
    status = copy.ok() ? Replace(pages, i, *std::move(copy)) : copy.status();
  }
  return status;
}

absl::StatusOr<std::shared_ptr<Allocation>> KvCache::CopyOf(const Page& page) {
  if (!EndCopy()) {
    return absl::UnavailableError("an earlier copy failed, and nobody knows whether it is over");
  }
  absl::StatusOr<std::shared_ptr<Allocation>> memory = NewMemory();
  if (!memory.ok()) return memory.status();
  const AccessGrant write{options_.properties.location, Access::kReadWrite};
  absl::StatusOr<Mapping> target = Mapping::Make(staging_, Bytes(0), **memory, {write});
  if (!target.ok()) return target.status();
  copy_ = Copy{*memory, *std::move(target)};
  absl::Status status = executor_->CopyDeviceToDevice(
      stream_, copy_.target.range().base, page.mapping.range().base, options_.page_size);
  if (status.ok()) status = executor_->SynchronizeStream(stream_);
  if (status.ok()) status = copy_.target.Close();
  EndCopy();
  if (!status.ok()) return status;
  return memory;
}

bool KvCache::EndCopy() {
  if (copy_.target.is_open() && !WaitUntilOver(*executor_, stream_)) return false;
  copy_ = Copy();
  return true;
}

absl::Status KvCache::Replace(Pages& pages, uint64_t number, std::shared_ptr<Allocation> memory) {
  Page& page = pages.pages[number];
  const Bytes offset = number * options_.page_size;
  absl::Status status = page.mapping.Close();
  if (!status.ok()) return status;
  absl::StatusOr<Mapping> mapping =
      Mapping::Make(pages.addresses, offset, *memory, Grants(Access::kReadWrite));
  if (mapping.ok()) {
    page = Page{std::move(memory), *std::move(mapping), true};
    return absl::OkStatus();
  }
  absl::StatusOr<Mapping> old =
      Mapping::Make(pages.addresses, offset, *page.memory, Grants(Access::kRead));
  if (!old.ok()) {
    return absl::DataLossError(absl::StrCat("page ", number,
                                            " is not mapped any more: ", mapping.status().message(),
                                            "; and then: ", old.status().message()));
  }
  page.mapping = *std::move(old);
  return mapping.status();
}

// --- Pages -------------------------------------------------------------------------------------

absl::StatusOr<std::shared_ptr<Allocation>> KvCache::NewMemory() {
  absl::StatusOr<Allocation> memory =
      Allocation::Make(vmm_, options_.page_size, options_.properties);
  if (!memory.ok()) return memory.status();
  return std::make_shared<Allocation>(*std::move(memory));
}

absl::StatusOr<KvCache::Page> KvCache::MapPage(const Pages& pages, uint64_t number,
                                               std::shared_ptr<Allocation> memory) {
  absl::StatusOr<Mapping> mapping =
      Mapping::Make(pages.addresses, number * options_.page_size, *memory);
  if (!mapping.ok()) return mapping.status();
  return Page{std::move(memory), *std::move(mapping), false};
}

absl::Status KvCache::CheckMapped(const Pages& pages, uint64_t first, uint64_t count) {
  for (uint64_t i = first; i < first + count; ++i) {
    if (pages.pages[i].mapping.is_open()) continue;
    return absl::DataLossError(
        absl::StrCat("page ", i, " is not mapped since an earlier error: ", "remove the sequence"));
  }
  return absl::OkStatus();
}

std::vector<AccessGrant> KvCache::Grants(Access access) const {
  std::vector<AccessGrant> grants = {{options_.properties.location, access}};
  for (const DeviceOrdinal peer : options_.peers) {
    grants.push_back({Location::Device(peer), access});
  }
  return grants;
}

absl::StatusOr<KvCache::Pages*> KvCache::Find(Sequence sequence) const {
  const auto found = sequences_.find(sequence);
  if (found != sequences_.end()) return found->second.get();
  return absl::NotFoundError(absl::StrCat("sequence ", sequence, " was removed, or never added"));
}

KvCache::Sequence KvCache::Insert(Pages pages) {
  sequences_.emplace(++last_sequence_, std::make_unique<Pages>(std::move(pages)));
  return last_sequence_;
}

absl::StatusOr<KvCache::Pages> KvCache::NewPages() {
  absl::StatusOr<Reservation> addresses = Reservation::Make(vmm_, options_.longest_sequence);
  if (!addresses.ok()) return addresses.status();
  Pages pages;
  pages.addresses = *std::move(addresses);
  return pages;
}

uint64_t KvCache::PageCount(Bytes size) const {
  return RoundUp(size, options_.page_size) / options_.page_size;
}

absl::Status KvCache::Wait(absl::Span<const LastUse> work) {
  absl::StatusOr<WorkTracker::Mark> mark = tracker_.Set(work);
  if (!mark.ok()) return mark.status();
  absl::Status status = tracker_.Wait(*mark);
  tracker_.Drop(*mark);
  return status;
}

absl::StatusOr<AddressRange> KvCache::RangeOf(Sequence sequence) const {
  const absl::StatusOr<Pages*> pages = Find(sequence);
  if (!pages.ok()) return pages.status();
  return (*pages)->addresses.range().subrange(Bytes(0),
                                              (*pages)->pages.size() * options_.page_size);
}

KvCache::Stats KvCache::GetStats() const {
  Stats stats;
  stats.sequences = sequences_.size();
  std::set<const Allocation*> memory;
  const auto count = [&](const Pages& pages) {
    for (const Page& page : pages.pages) {
      if (page.mapping.is_open()) stats.mapped = stats.mapped + options_.page_size;
      memory.insert(page.memory.get());
    }
  };
  for (const auto& [sequence, pages] : sequences_) count(*pages);
  for (const Pages& pages : removed_) count(pages);
  if (copy_.memory != nullptr) memory.insert(copy_.memory.get());
  stats.physical = memory.size() * options_.page_size;
  return stats;
}

}  // namespace twinmmu::examples
