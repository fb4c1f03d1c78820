#include "conformance/allocators/sequences/page_model.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"

namespace twinmmu::conformance {

std::string ToString(const PageCall& call) {
  const std::string pages = absl::StrCat("pages ", call.run.first, "-", call.run.end() - 1);
  switch (call.kind) {
    case PageCall::Kind::kAllocate:
      return "Allocate " + pages;
    case PageCall::Kind::kDeallocate:
      return absl::StrCat("Deallocate ", pages,
                          call.stream ? absl::StrCat(" after stream ", *call.stream) : "");
    case PageCall::Kind::kCompact:
      return "Compact";
    case PageCall::Kind::kGrant:
      return absl::StrCat("Grant ", ToString(call.access));
    case PageCall::Kind::kHold:
      return absl::StrCat("stream ", *call.stream, " gets work");
    case PageCall::Kind::kFinish:
      return absl::StrCat("the work of stream ", *call.stream, " is done");
  }
  return "?";
}

std::vector<PageCall> AllPageCalls(const PageMachine& machine) {
  using Kind = PageCall::Kind;
  std::vector<PageCall> calls;
  const auto add = [&](Kind kind, const PageRun& run, std::optional<int> stream, Access access) {
    calls.push_back({kind, run, stream, access});
  };
  for (uint64_t first = 0; first < PageMachine::kPages; ++first) {
    for (uint64_t count = 1; first + count <= PageMachine::kPages; ++count) {
      const PageRun run{first, count};
      add(Kind::kAllocate, run, std::nullopt, Access::kNone);
      add(Kind::kDeallocate, run, std::nullopt, Access::kNone);
      for (int stream = 0; stream < PageMachine::kStreams; ++stream) {
        add(Kind::kDeallocate, run, stream, Access::kNone);
      }
    }
  }
  for (int stream = 0; stream < PageMachine::kStreams; ++stream) {
    add(Kind::kHold, {}, stream, Access::kNone);
    add(Kind::kFinish, {}, stream, Access::kNone);
  }
  add(Kind::kCompact, {}, std::nullopt, Access::kNone);
  if (!machine.has_peer) return calls;
  add(Kind::kGrant, {}, std::nullopt, Access::kNone);
  add(Kind::kGrant, {}, std::nullopt, Access::kRead);
  return calls;
}

PageModel::Answer PageModel::Do(const PageCall& call) {
  Answer answer;
  switch (call.kind) {
    case PageCall::Kind::kAllocate:
      Allocate(call.run, answer);
      break;
    case PageCall::Kind::kDeallocate:
      Deallocate(call, answer);
      break;
    case PageCall::Kind::kCompact:
      Collect(answer);
      answer.compacted = Bytes(cached_);
      answer.calls.release += cached_;
      cached_ = 0;
      break;
    case PageCall::Kind::kGrant:
      answer.calls.set_access = MappedRuns();
      peer_access_ = call.access;
      break;
    case PageCall::Kind::kHold:
      held_[static_cast<size_t>(*call.stream)] = true;
      break;
    case PageCall::Kind::kFinish:
      Finish(*call.stream);
      break;
  }
  return answer;
}

void PageModel::Allocate(const PageRun& run, Answer& answer) {
  Collect(answer);
  bool is_leaving = false;
  for (uint64_t page = run.first; page < run.end(); ++page) {
    if (pages_[page].state == PageState::kInUse) answer.code = absl::StatusCode::kAlreadyExists;
    is_leaving = is_leaving || pages_[page].state == PageState::kLeaving;
  }
  if (answer.code != absl::StatusCode::kOk) return;
  if (is_leaving) {
    answer.code = absl::StatusCode::kUnavailable;
    return;
  }
  const uint64_t from_cache = std::min(cached_, run.count);
  const uint64_t created = run.count - from_cache;
  const uint64_t held = Count(PageState::kInUse) + Count(PageState::kLeaving) + cached_;
  if (created > 0 && held + created > machine_.memory) {
    answer.code = absl::StatusCode::kResourceExhausted;
    return;
  }
  cached_ -= from_cache;
  answer.calls.create += created;
  answer.calls.map += run.count;
  ++answer.calls.set_access;
  for (uint64_t page = run.first; page < run.end(); ++page) pages_[page].state = PageState::kInUse;
}

void PageModel::Deallocate(const PageCall& call, Answer& answer) {
  Collect(answer);
  for (uint64_t page = call.run.first; page < call.run.end(); ++page) {
    if (pages_[page].state != PageState::kInUse) answer.code = absl::StatusCode::kNotFound;
  }
  if (answer.code != absl::StatusCode::kOk) return;
  ++last_departure_;
  for (uint64_t page = call.run.first; page < call.run.end(); ++page) {
    pages_[page] = Page();
    if (!call.stream.has_value()) continue;
    pages_[page] = {PageState::kLeaving, last_departure_, call.stream};
    if (!held_[static_cast<size_t>(*call.stream)]) pages_[page].waits_for.reset();
  }
  if (call.stream.has_value()) return;
  ++answer.calls.unmap;
  PutAside(call.run.count, answer);
}

void PageModel::Finish(int stream) {
  held_[static_cast<size_t>(stream)] = false;
  for (Page& page : pages_) {
    if (page.waits_for == stream) page.waits_for.reset();
  }
}

void PageModel::Collect(Answer& answer) {
  uint64_t collected = 0;
  int before = 0;
  for (Page& page : pages_) {
    const bool goes = page.state == PageState::kLeaving && !page.waits_for.has_value();
    const int departure = goes ? page.departure : 0;
    answer.calls.unmap += goes && departure != before;
    before = departure;
    if (!goes) continue;
    ++collected;
    page = Page();
  }
  PutAside(collected, answer);
}

void PageModel::PutAside(uint64_t pages, Answer& answer) {
  const uint64_t kept = std::min(PageMachine::kCached, cached_ + pages);
  answer.calls.release += cached_ + pages - kept;
  cached_ = kept;
}

uint64_t PageModel::Count(PageState state) const {
  return static_cast<uint64_t>(std::count_if(
      pages_.begin(), pages_.end(), [&](const Page& page) { return page.state == state; }));
}

uint64_t PageModel::MappedRuns() const {
  uint64_t runs = 0;
  bool before = false;
  for (const Page& page : pages_) {
    const bool is_mapped = page.state != PageState::kFree;
    runs += is_mapped && !before;
    before = is_mapped;
  }
  return runs;
}

std::string PageModel::Shape() const {
  std::string shape;
  std::map<int, size_t> departures;
  for (const Page& page : pages_) {
    if (page.state != PageState::kLeaving) {
      shape += page.state == PageState::kFree ? "-" : "u";
      continue;
    }
    const size_t number = departures.emplace(page.departure, departures.size()).first->second;
    absl::StrAppend(&shape, "(", number, page.waits_for ? absl::StrCat(" ", *page.waits_for) : "",
                    ")");
  }
  for (const bool held : held_) shape += held ? "h" : ".";
  return absl::StrCat(shape, " ", cached_, " ", ToString(peer_access_));
}

}  // namespace twinmmu::conformance
