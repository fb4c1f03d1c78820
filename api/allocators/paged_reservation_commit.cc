// Giving memory to pages and taking it: Commit, Decommit, and what undoes them.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/allocators/annotate.h"
#include "api/allocators/paged_reservation.h"
#include "api/diagnostics.h"

namespace twinmmu {

// --- Commit ------------------------------------------------------------------------------------

absl::Status PagedReservation::Commit(const PageRun& run) {
  absl::Status status = CheckOpen();
  if (!status.ok()) return status;
  status = CheckNoneRefused(run);
  if (!status.ok()) {
    CollectFinished();  // asks once more
    status = CheckNoneRefused(run);
  }
  if (!status.ok()) return status;

  const PageRuns free = Runs(run, PageState::kFree);
  uint64_t wanted = 0;
  for (const PageRun& hole : free) wanted += hole.count;
  absl::StatusOr<PageSource::Batch> batch = source_.Take(wanted);
  if (!batch.ok()) return batch.status();
  status = MapRuns(free, *batch);
  if (!status.ok()) {
    source_.Undo(*batch);
    return status;
  }
  if (!departures_.empty()) StayInUse(run);
  peak_ = std::max(peak_, in_use_);
  ++commits_;
  return absl::OkStatus();
}

absl::Status PagedReservation::CheckNoneRefused(const PageRun& run) const {
  for (const Departure& departure : departures_) {
    if (departure.refused.ok()) continue;
    const auto is_left = [&](const Page& page) { return page.departure == departure.number; };
    if (!FirstMapped(run, is_left).has_value()) continue;
    return Annotate(departure.refused,
                    absl::StrCat(InWords(RangeOf(departure.run)),
                                 " is still mapped, since the driver refuses to unmap it"));
  }
  return absl::OkStatus();
}

absl::Status PagedReservation::MapRun(const PageRun& run,
                                      absl::Span<const AllocationHandle> handles,
                                      uint64_t& mapped) {
  for (mapped = 0; mapped < run.count; ++mapped) {
    absl::Status status = Map(run.first + mapped, handles[mapped]);
    if (!status.ok()) {
      return Annotate(status, absl::StrCat("page ", mapped + 1, " of ", run.count, " of ",
                                           InWords(RangeOf(run)), " could not be mapped"));
    }
  }
  if (grants_.empty()) return absl::OkStatus();
  absl::Status status = SetAccess(run, grants_);
  if (status.ok()) return status;
  return Annotate(status, absl::StrCat("no access to ", InWords(RangeOf(run))));
}

absl::Status PagedReservation::MapRuns(absl::Span<const PageRun> runs, PageSource::Batch& batch) {
  PageRuns done;
  absl::Span<const AllocationHandle> handles = batch.handles;
  for (const PageRun& run : runs) {
    uint64_t mapped = 0;
    absl::Status status = MapRun(run, handles, mapped);
    done.push_back(PageRun{run.first, mapped});
    if (!status.ok()) {
      TakeBack(done, batch);
      return status;
    }
    handles.remove_prefix(run.count);
  }
  handles = batch.handles;
  for (const PageRun& run : runs) {
    Remember(run, handles);
    handles.remove_prefix(run.count);
  }
  return absl::OkStatus();
}

void PagedReservation::TakeBack(absl::Span<const PageRun> mapped, PageSource::Batch& batch) {
  PageSource::Batch kept;
  size_t next = 0;  // of batch.handles, which were mapped in order
  const auto keep_up_to = [&](size_t end) {
    for (; next < end; ++next) {
      kept.handles.push_back(batch.handles[next]);
      if (next < batch.from_cache) ++kept.from_cache;
    }
  };
  for (const PageRun& run : mapped) {
    if (run.count == 0) continue;
    absl::Status status = Unmap(run);
    if (status.ok()) {
      keep_up_to(next + run.count);
      continue;
    }
    Remember(run, absl::MakeConstSpan(batch.handles).subspan(next));
    next += run.count;
    Depart(run, {}, status);
  }
  keep_up_to(batch.handles.size());
  batch = std::move(kept);
}

void PagedReservation::StayInUse(const PageRun& run) {
  for (auto page = pages_.lower_bound(run.first); page != pages_.end() && page->first < run.end();
       ++page) {
    if (std::exchange(page->second.departure, 0) != 0) ++in_use_;
  }
}

// --- Decommit ----------------------------------------------------------------------------------

absl::Status PagedReservation::Decommit(const PageRun& run, absl::Span<const LastUse> after) {
  absl::Status status = CheckOpen();
  if (!status.ok()) return status;
  const PageRuns runs = Runs(run, PageState::kInUse);
  if (after.empty()) {
    status = UnmapRuns(runs);
    if (!status.ok()) return status;
    for (const PageRun& gone : runs) Forget(gone);
  } else if (!runs.empty()) {
    absl::StatusOr<WorkTracker::Mark> mark = tracker_.Set(after);
    if (!mark.ok()) return Annotate(mark.status(), "the work after which memory is to go");
    Depart(run, *std::move(mark), absl::OkStatus());
  }
  ++decommits_;
  return absl::OkStatus();
}

absl::Status PagedReservation::UndoCommit(const PageRun& run, absl::Span<const LastUse> after) {
  absl::Status status = Decommit(run, after);
  if (!status.ok()) return status;
  --commits_;
  --decommits_;
  return absl::OkStatus();
}

absl::Status PagedReservation::UnmapRuns(absl::Span<const PageRun> runs) {
  for (size_t i = 0; i < runs.size(); ++i) {
    absl::Status status = Unmap(runs[i]);
    if (status.ok()) continue;
    status = Annotate(status, absl::StrCat(InWords(RangeOf(runs[i])), " could not be given back"));
    // The data of the runs before is still in their pages.
    absl::Status restored = RestoreMappings(runs.subspan(0, i));
    if (restored.ok()) return status;
    return Annotate(status, absl::StrCat("memory before ", ToString(RangeOf(runs[i]).base),
                                         " is lost (", restored.message(), ")"));
  }
  return absl::OkStatus();
}

absl::Status PagedReservation::RestoreMappings(absl::Span<const PageRun> runs) {
  absl::Status first_error;
  for (const PageRun& run : runs) {
    std::vector<AllocationHandle> handles;
    for (uint64_t page = run.first; page < run.end(); ++page) {
      handles.push_back(pages_.at(page).handle);
    }
    uint64_t mapped = 0;
    absl::Status status = MapRun(run, handles, mapped);
    if (status.ok()) continue;
    first_error.Update(status);
    if (mapped > 0 && !(status = Unmap(PageRun{run.first, mapped})).ok()) {
      Depart(PageRun{run.first, mapped}, {}, status);
    } else {
      mapped = 0;
    }
    Forget(PageRun{run.first + mapped, run.count - mapped});
  }
  return first_error;
}

void PagedReservation::Remember(const PageRun& run, absl::Span<const AllocationHandle> handles) {
  for (uint64_t i = 0; i < run.count; ++i) pages_.emplace(run.first + i, Page{handles[i], 0});
  in_use_ += run.count;
}

void PagedReservation::Forget(const PageRun& run) {
  const auto first = pages_.lower_bound(run.first);
  auto last = first;
  for (; last != pages_.end() && last->first < run.end(); ++last) {
    source_.Put(last->second.handle);
    if (last->second.departure == 0) --in_use_;
  }
  pages_.erase(first, last);
}

void PagedReservation::Depart(const PageRun& run, WorkTracker::Mark mark,
                              const absl::Status& refused) {
  departures_.push_back(Departure{++last_departure_, run, std::move(mark), refused});
  for (auto page = pages_.lower_bound(run.first); page != pages_.end() && page->first < run.end();
       ++page) {
    if (page->second.departure != 0) continue;
    page->second.departure = last_departure_;
    --in_use_;
  }
}

void PagedReservation::CollectFinished() {
  std::vector<Stream> busy;
  for (auto departure = departures_.begin(); departure != departures_.end();) {
    const absl::StatusOr<bool> over = tracker_.IsOver(departure->mark, busy);
    // Where the executor cannot tell, Close will.
    if (over.ok() && *over && Finish(*departure)) {
      departure = departures_.erase(departure);
    } else {
      ++departure;
    }
  }
}

bool PagedReservation::Finish(Departure& departure) {
  tracker_.Drop(departure.mark);
  departure.refused = absl::OkStatus();
  const auto is_left = [&](const Page& page) { return page.departure == departure.number; };
  PageRun rest = departure.run;
  while (const std::optional<PageRun> run = FirstMapped(rest, is_left)) {
    absl::Status status = Unmap(*run);
    if (status.ok()) {
      Forget(*run);
    } else {
      departure.refused = status;
    }
    rest = PageRun{run->end(), rest.end() - run->end()};
  }
  return departure.refused.ok();
}

}  // namespace twinmmu
