#include "api/allocators/page_source.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "api/allocators/annotate.h"

namespace twinmmu {

PageSource::PageSource(Vmm* vmm, const AllocationProperties& properties, Bytes page_size,
                       Bytes cache_limit, DriverCallCounts* calls)
    : vmm_(vmm),
      properties_(properties),
      page_size_(page_size),
      limit_(cache_limit / page_size),
      calls_(calls) {}

absl::StatusOr<PageSource::Batch> PageSource::Take(uint64_t count) {
  Batch batch;
  batch.from_cache = std::min<uint64_t>(count, cache_.size());
  batch.handles.assign(cache_.end() - batch.from_cache, cache_.end());
  cache_.resize(cache_.size() - batch.from_cache);
  while (batch.handles.size() < count) {
    ++calls_->create;
    absl::StatusOr<AllocationHandle> page = vmm_->Create(page_size_, properties_);
    if (!page.ok()) {
      const size_t got = batch.handles.size();
      Undo(batch);
      return Annotate(page.status(),
                      absl::StrCat("no physical memory for page ", got + 1, " of ", count, " of ",
                                   ToString(page_size_), " on ", ToString(properties_.location)));
    }
    batch.handles.push_back(*page);
  }
  return batch;
}

void PageSource::Undo(const Batch& batch) {
  const auto first_new = batch.handles.begin() + batch.from_cache;
  cache_.insert(cache_.end(), batch.handles.begin(), first_new);
  std::for_each(first_new, batch.handles.end(), [&](auto page) { ReleaseOrKeep(page); });
}

void PageSource::Put(AllocationHandle page) {
  if (cache_.size() < limit_) {
    cache_.push_back(page);
  } else {
    ReleaseOrKeep(page);
  }
}

absl::Status PageSource::Compact() {
  while (!cache_.empty()) {
    absl::Status status = Release(cache_.back());
    if (!status.ok()) return Annotate(status, "a cached page could not be released");
    cache_.pop_back();
  }
  return absl::OkStatus();
}

void PageSource::ReleaseOrKeep(AllocationHandle page) {
  if (!Release(page).ok()) cache_.push_back(page);
}

absl::Status PageSource::Release(AllocationHandle page) {
  ++calls_->release;
  return vmm_->Release(page);
}

}  // namespace twinmmu
