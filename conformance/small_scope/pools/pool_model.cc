#include "conformance/small_scope/pools/pool_model.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"

namespace twinmmu::conformance::small_scope {
namespace {

// As long as the addresses of a pool, as far as runs are compared.
constexpr int kEndless = 1000;
// Room behind what is looked at, for the largest block and the rest of its chunk.
constexpr int kCells = kCellsInView + 2 * kCellsOfChunk;

}  // namespace

PoolModel::PoolModel(const PoolRules& rules) : rules_(rules), cells_(static_cast<size_t>(kCells)) {}

bool PoolModel::IsOffered(const PoolStep& step) const {
  if (step.kind != PoolStep::kFree) return true;
  const auto block = blocks_.find(step.number);
  if (block != blocks_.end()) return Has(Before(step.stream), block->second.allocated);
  if (step.stream != 0) return false;
  for (int cell = 0; cell < kCells; ++cell) {
    const bool has_memory = cells_[static_cast<size_t>(cell)].state != Cell::kAbsent;
    if (has_memory && blocks_.count(cell) == 0) return cell == step.number;
  }
  return false;
}

PoolAnswer PoolModel::Do(const PoolStep& step) {
  if (destroyed_ && IsOfPool(step)) return {DriverCode::kInvalidValue};
  switch (step.kind) {
    case PoolStep::kAllocate:
      return Allocate(step.stream, step.number);
    case PoolStep::kFree:
      return FreeBlock(step.stream, step.number);
    case PoolStep::kSynchronizeStream:
      Synchronize(Before(step.stream));
      break;
    case PoolStep::kSynchronizeEvent:
      Synchronize(event_);
      break;
    case PoolStep::kRecord:
      event_ = Before(step.stream);
      break;
    case PoolStep::kWait:
      Join(&streams_[static_cast<size_t>(step.stream)], event_);
      break;
    case PoolStep::kTrim:
      Release(step.number * kCellsOfChunk);
      break;
    case PoolStep::kSetThreshold:
      keeps_all_ = step.number != 0;
      break;
    case PoolStep::kForgetUsedHigh:
      counts_.used_high = counts_.used;
      break;
    case PoolStep::kForgetReservedHigh:
      counts_.reserved_high = counts_.reserved;
      break;
    case PoolStep::kDestroy:
      destroyed_ = true;
      Settle([&](const Free& free) { return HasHappened(free); });
      Release(0);
      break;
  }
  return {};
}

std::optional<int> PoolModel::BlockAt(int cell) const {
  const auto block = blocks_.find(cell);
  if (block == blocks_.end()) return std::nullopt;
  return block->second.cells;
}

bool PoolModel::IsInView() const {
  return std::all_of(cells_.begin() + kCellsInView, cells_.end(),
                     [](const Cell& cell) { return cell.state == Cell::kAbsent; });
}

// --- The order of work

void PoolModel::Join(std::array<int, kStreamsOfPool>* numbers,
                     const std::array<int, kStreamsOfPool>& other) {
  for (size_t i = 0; i < other.size(); ++i) (*numbers)[i] = std::max((*numbers)[i], other[i]);
}

void PoolModel::Join(Clock* clock, const Clock& other) {
  Join(&clock->known, other.known);
  Join(&clock->done, other.done);
}

PoolModel::Clock PoolModel::Before(int stream) const {
  Clock before = streams_[static_cast<size_t>(stream)];
  Join(&before, host_);
  return before;
}

PoolModel::Mark PoolModel::NextMark(int stream) {
  const auto at = static_cast<size_t>(stream);
  streams_[at].known[at] = streams_[at].done[at] = ++last_number_[at];
  return {stream, last_number_[at]};
}

void PoolModel::Synchronize(const Clock& clock) {
  Join(&host_, clock);
  Settle([&](const Free& free) { return Has(host_, free.mark); });
  if (destroyed_ || !keeps_all_) Release(0);
}

// --- Memory

bool PoolModel::HasHappened(const Free& free) const {
  return rules_.at_once || host_.done[static_cast<size_t>(free.mark.stream)] >= free.mark.number;
}

bool PoolModel::IsFollowed(const Free& free, int stream) const {
  return rules_.follow_events && Has(Before(stream), free.mark);
}

std::vector<PoolModel::Room> PoolModel::RoomsOf(const IsUsable& is_usable) const {
  std::vector<Room> rooms;
  const Cell* before = nullptr;
  for (int i = 0; i < kCells; ++i) {
    const Cell& cell = cells_[static_cast<size_t>(i)];
    const bool usable = is_usable(cell);
    const bool is_freed = cell.state == Cell::kFreed;
    const bool goes_on = before != nullptr && (before->state == Cell::kFreed) == is_freed &&
                         before->freed.mark.stream == cell.freed.mark.stream;
    before = usable ? &cell : nullptr;
    if (!usable) continue;
    if (!goes_on) rooms.push_back({i, 0, false, cell.freed.mark.number});
    ++rooms.back().length;
    rooms.back().lacks_memory |= cell.state == Cell::kAbsent;
  }
  if (before != nullptr && before->state == Cell::kAbsent) rooms.back().length = kEndless;
  return rooms;
}

std::optional<int> PoolModel::Smallest(const std::vector<Room>& rooms, int cells) {
  const Room* best = nullptr;
  for (const Room& room : rooms) {
    if (room.length < cells) continue;
    const auto key = [](const Room& of) { return std::pair(of.length, of.freed); };
    if (best == nullptr || key(room) < key(*best)) best = &room;
  }
  if (best == nullptr) return std::nullopt;
  return best->first;
}

std::optional<int> PoolModel::FindFreed(int cells,
                                        const std::function<bool(const Free&)>& may_take) const {
  const IsUsable is_usable = [&](const Cell& cell) {
    return cell.state == Cell::kFreed && may_take(cell.freed);
  };
  return Smallest(RoomsOf(is_usable), cells);
}

// What the stream has freed itself; what is for everybody, where it has all its memory; what
// others have freed, as far as the rules allow it; what is for everybody, with the memory that it
// lacks, or without; what others have freed, behind their work.
std::optional<int> PoolModel::FindRoom(int stream, int cells) {
  std::optional<int> found =
      FindFreed(cells, [&](const Free& free) { return free.mark.stream == stream; });
  if (found.has_value()) return found;
  const auto for_everybody = [](const Cell& cell) {
    return cell.state == Cell::kFree || cell.state == Cell::kAbsent;
  };
  std::vector<Room> rooms = RoomsOf(for_everybody);
  rooms.erase(std::remove_if(rooms.begin(), rooms.end(),
                             [](const Room& room) { return room.lacks_memory; }),
              rooms.end());
  found = Smallest(rooms, cells);
  if (found.has_value()) return found;
  found = FindFreed(cells, [&](const Free& free) { return IsFollowed(free, stream); });
  if (found.has_value()) return found;
  if (rules_.opportunistic) {
    const auto has_happened = [&](const Free& free) { return HasHappened(free); };
    found = FindFreed(cells, has_happened);
    if (found.has_value()) return found;
    Settle(has_happened);
  }
  found = Smallest(RoomsOf(for_everybody), cells);
  if (found.has_value() && Commit(*found, cells)) return found;
  found = Smallest(RoomsOf([](const Cell& cell) { return cell.state == Cell::kFree; }), cells);
  if (found.has_value() || !rules_.internal_dependencies) return found;
  return FindFreed(cells, [](const Free&) { return true; });
}

PoolAnswer PoolModel::Allocate(int stream, int cells) {
  const std::optional<int> found = FindRoom(stream, cells);
  if (!found.has_value()) return {DriverCode::kOutOfMemory};
  Block block{cells, NextMark(stream)};
  // The stream waits for the free, whatever the program's order.
  const Cell& first = cells_[static_cast<size_t>(*found)];
  if (first.state == Cell::kFreed) {
    Join(&streams_[static_cast<size_t>(stream)].done, first.freed.upto.done);
  }
  for (int i = *found; i < *found + cells; ++i) {
    cells_[static_cast<size_t>(i)] = {Cell::kTaken, {}};
  }
  blocks_[*found] = block;
  counts_.used += cells;
  counts_.used_high = std::max(counts_.used_high, counts_.used);
  CountReserved();
  return {DriverCode::kSuccess, *found};
}

PoolAnswer PoolModel::FreeBlock(int stream, int first) {
  const auto block = blocks_.find(first);
  if (block == blocks_.end()) return {DriverCode::kInvalidValue};
  Free free;
  free.mark = NextMark(stream);
  free.upto = Before(stream);
  const auto is_freed_by_it = [&](int cell) {
    const Cell& at = cells_[static_cast<size_t>(cell)];
    return at.state == Cell::kFreed && at.freed.mark.stream == stream;
  };
  // What the stream has freed side by side is one room, by the last free.
  int begin = first;
  int end = first + block->second.cells;
  while (begin > 0 && is_freed_by_it(begin - 1)) --begin;
  while (end < kCells && is_freed_by_it(end)) ++end;
  for (int i = begin; i < end; ++i) cells_[static_cast<size_t>(i)] = {Cell::kFreed, free};
  counts_.used -= block->second.cells;
  blocks_.erase(block);
  return {};
}

// Memory that the pool has elsewhere, free for everybody, comes first.
bool PoolModel::Commit(int first, int cells) {
  const int first_chunk = first / kCellsOfChunk;
  const int last_chunk = (first + cells - 1) / kCellsOfChunk;
  std::vector<int> absent;
  std::vector<int> spare;
  for (int chunk = 0; chunk < kCells / kCellsOfChunk; ++chunk) {
    const bool is_of_room = chunk >= first_chunk && chunk <= last_chunk;
    if (is_of_room && IsChunk(chunk, Cell::kAbsent)) absent.push_back(chunk);
    if (!is_of_room && IsChunk(chunk, Cell::kFree)) spare.push_back(chunk);
  }
  while (spare.size() > absent.size()) spare.erase(spare.begin());
  const auto more = static_cast<int>(absent.size() - spare.size());
  if (committed() / kCellsOfChunk + more > rules_.most_chunks) return false;
  for (const int chunk : spare) SetChunk(chunk, Cell::kAbsent);
  for (const int chunk : absent) SetChunk(chunk, Cell::kFree);
  return true;
}

bool PoolModel::IsChunk(int chunk, Cell::State state) const {
  const auto first = cells_.begin() + chunk * kCellsOfChunk;
  return std::all_of(first, first + kCellsOfChunk,
                     [&](const Cell& cell) { return cell.state == state; });
}

void PoolModel::SetChunk(int chunk, Cell::State state) {
  const auto first = cells_.begin() + chunk * kCellsOfChunk;
  std::fill(first, first + kCellsOfChunk, Cell{state, {}});
}

void PoolModel::Settle(const std::function<bool(const Free&)>& has_happened) {
  for (Cell& cell : cells_) {
    if (cell.state == Cell::kFreed && has_happened(cell.freed)) cell = {Cell::kFree, {}};
  }
}

// The last chunks go first.
void PoolModel::Release(int keep) {
  for (int chunk = kCells / kCellsOfChunk - 1; chunk >= 0; --chunk) {
    if (committed() - keep < kCellsOfChunk) break;
    if (IsChunk(chunk, Cell::kFree)) SetChunk(chunk, Cell::kAbsent);
  }
  CountReserved();
}

int PoolModel::committed() const {
  return static_cast<int>(std::count_if(
      cells_.begin(), cells_.end(), [](const Cell& cell) { return cell.state != Cell::kAbsent; }));
}

void PoolModel::CountReserved() {
  counts_.reserved = committed();
  counts_.reserved_high = std::max(counts_.reserved_high, counts_.reserved);
}

// --- Steps

std::vector<PoolStep> PoolSteps() {
  std::vector<PoolStep> steps;
  for (int stream = 0; stream < kStreamsOfPool; ++stream) {
    for (const int cells : {1, 2}) steps.push_back({PoolStep::kAllocate, stream, cells});
    for (int cell = 0; cell < kCellsInView; ++cell) {
      steps.push_back({PoolStep::kFree, stream, cell});
    }
    steps.push_back({PoolStep::kSynchronizeStream, stream, 0});
    steps.push_back({PoolStep::kRecord, stream, 0});
    steps.push_back({PoolStep::kWait, stream, 0});
  }
  steps.push_back({PoolStep::kSynchronizeEvent, 0, 0});
  for (const int number : {0, 1}) {
    steps.push_back({PoolStep::kTrim, 0, number});
    steps.push_back({PoolStep::kSetThreshold, 0, number});
  }
  steps.push_back({PoolStep::kForgetUsedHigh, 0, 0});
  steps.push_back({PoolStep::kForgetReservedHigh, 0, 0});
  steps.push_back({PoolStep::kDestroy, 0, 0});
  return steps;
}

std::string Print(const PoolStep& step) {
  const std::string stream = absl::StrCat("stream ", step.stream);
  switch (step.kind) {
    case PoolStep::kAllocate:
      return absl::StrCat("allocate ", step.number, " on ", stream);
    case PoolStep::kFree:
      return absl::StrCat("free cell ", step.number, " on ", stream);
    case PoolStep::kSynchronizeStream:
      return absl::StrCat("synchronize ", stream);
    case PoolStep::kSynchronizeEvent:
      return "synchronize the event";
    case PoolStep::kRecord:
      return absl::StrCat("record the event on ", stream);
    case PoolStep::kWait:
      return absl::StrCat(stream, " waits for the event");
    case PoolStep::kTrim:
      return absl::StrCat("trim to ", step.number, " chunks");
    case PoolStep::kSetThreshold:
      return step.number != 0 ? "keep all" : "keep nothing";
    case PoolStep::kForgetUsedHigh:
      return "forget how much was used";
    case PoolStep::kForgetReservedHigh:
      return "forget how much was reserved";
    case PoolStep::kDestroy:
      return "destroy the pool";
  }
  return "";
}

// --- States

std::string PoolModel::Shape() const { return std::min(ShapeFrom(0), ShapeFrom(1)); }

std::string PoolModel::ShapeFrom(int first_stream) const {
  // The numbers of each stream that are asked for.
  std::array<std::vector<int>, kStreamsOfPool> asked;
  const auto ask = [&](const Mark& mark) {
    asked[static_cast<size_t>(mark.stream)].push_back(mark.number);
  };
  for (const auto& [first, block] : blocks_) ask(block.allocated);
  for (const Cell& cell : cells_) {
    if (cell.state == Cell::kFreed) ask(cell.freed.mark);
  }
  for (std::vector<int>& numbers : asked) {
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  }
  std::string shape = absl::StrCat(destroyed_ ? "x" : keeps_all_ ? "k" : "");
  // What the host has waited for comes before everything.
  const auto put_numbers = [&](const std::array<int, kStreamsOfPool>& known) {
    for (int i = 0; i < kStreamsOfPool; ++i) {
      const auto stream = static_cast<size_t>(i ^ first_stream);
      const std::vector<int>& numbers = asked[stream];
      const auto later = std::upper_bound(numbers.begin(), numbers.end(), known[stream]);
      absl::StrAppend(&shape, later - numbers.begin(), ",");
    }
  };
  // What the host has waited for comes before everything.
  const auto put_clock = [&](Clock clock) {
    Join(&clock, host_);
    put_numbers(clock.known);
    if (rules_.internal_dependencies && !rules_.at_once) put_numbers(clock.done);
  };
  const auto put_mark = [&](const Mark& mark) {
    const std::vector<int>& numbers = asked[static_cast<size_t>(mark.stream)];
    const auto at = std::lower_bound(numbers.begin(), numbers.end(), mark.number);
    absl::StrAppend(&shape, mark.stream ^ first_stream, ".", at - numbers.begin(), ",");
  };
  for (int i = 0; i < kCells; ++i) {
    const Cell& cell = cells_[static_cast<size_t>(i)];
    absl::StrAppend(&shape, ";", static_cast<int>(cell.state));
    const auto block = blocks_.find(i);
    if (block != blocks_.end()) put_mark(block->second.allocated);
    if (cell.state != Cell::kFreed) continue;
    put_mark(cell.freed.mark);
    if (HasHappened(cell.freed)) shape += '!';
    if (rules_.internal_dependencies) put_clock(cell.freed.upto);
  }
  for (int i = 0; i < kStreamsOfPool; ++i) {
    put_clock(streams_[static_cast<size_t>(i ^ first_stream)]);
  }
  put_clock(event_);
  return shape;
}

}  // namespace twinmmu::conformance::small_scope
