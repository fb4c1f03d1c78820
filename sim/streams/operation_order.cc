#include "sim/streams/operation_order.h"

#include <algorithm>
#include <new>
#include <utility>

namespace twinmmu {

// What an operation leaves behind. It refers to no earlier one, so that no chain grows, however
// much is queued.
struct OperationOrder::Cell {
  std::weak_ptr<LineState> line;
  uint64_t line_number = 0;
  uint64_t number = 0;  // in the line
  bool over = false;
  Known after;
};

struct OperationOrder::LineState {
  DeviceOrdinal device;
  uint64_t number = 0;
  uint64_t submitted = 0;
  Known completed;  // what those that are over leave behind
  Known begun;      // what the last one that began came after
  bool kernel_ahead =
      false;                 // the last one that was submitted is a kernel, and nothing waits since
  std::weak_ptr<Cell> last;  // gone: `completed` has it
  Moment waits;              // of the next one
};

// What one line was given later comes after what it was given before.
void OperationOrder::Moment::Add(const std::shared_ptr<Cell>& cell) {
  for (std::shared_ptr<Cell>& known : pending_) {
    if (known->line_number != cell->line_number) continue;
    if (known->number < cell->number) known = cell;
    return;
  }
  pending_.push_back(cell);
}

OperationOrder::OperationOrder(coherence::AliasMonitor* monitor, ProcessRaces* others, int devices)
    : monitor_(*monitor), others_(*others), devices_(static_cast<size_t>(devices)) {
  everything_.clocks.all.AddEnded(0, ~coherence::ThreadId{0});
  everything_.clocks.passed = everything_.clocks.all;
  everything_.clocks.half = everything_.clocks.all;
}

// Throws std::bad_alloc, and then `into` has a part of it.
void OperationOrder::Join(const Known& known, Known* into) const {
  if (known.generation != generation_) return;
  if (into->generation != generation_) *into = Known{coherence::Clocks(), generation_};
  into->clocks.Join(known.clocks);
}

// The same. What never ran, since there was no memory to queue it, leaves behind what came before.
void OperationOrder::Join(const Moment& moment, Known* into) const {
  Join(moment.known_, into);
  for (const std::shared_ptr<Cell>& cell : moment.pending_) {
    const Line line = cell->line.lock();
    if (cell->over) {
      Join(cell->after, into);
    } else if (line != nullptr) {
      Join(line->completed, into);
    }
  }
}

template <typename What>
void OperationOrder::JoinOrAll(const What& what, Known* into) const {
  try {
    Join(what, into);
  } catch (const std::bad_alloc&) {
    *into = Known{everything_.clocks, generation_};
  }
}

void OperationOrder::Compact(Moment* moment) const {
  auto& pending = moment->pending_;
  const auto over = std::partition(pending.begin(), pending.end(),
                                   [](const std::shared_ptr<Cell>& cell) { return !cell->over; });
  for (auto cell = over; cell != pending.end(); ++cell) Join((*cell)->after, &moment->known_);
  pending.erase(over, pending.end());
}

OperationOrder::Line OperationOrder::MakeLine(DeviceOrdinal device) {
  const auto line = std::make_shared<LineState>();
  line->device = device;
  const std::lock_guard lock(mutex_);
  line->number = ++last_line_;
  return line;
}

OperationOrder::Moment OperationOrder::Record(const Line& line) const {
  const std::lock_guard lock(mutex_);
  Moment moment = line->waits;
  Join(line->completed, &moment.known_);
  const std::shared_ptr<Cell> last = line->last.lock();
  if (last != nullptr && !last->over) moment.Add(last);
  return moment;
}

void OperationOrder::Wait(const Line& line, const Moment& moment) {
  const std::lock_guard lock(mutex_);
  Moment waits = line->waits;
  Join(moment.known_, &waits.known_);
  for (const std::shared_ptr<Cell>& cell : moment.pending_) waits.Add(cell);
  Compact(&waits);
  line->waits = std::move(waits);
  line->kernel_ahead = false;
}

OperationOrder::Operation OperationOrder::Submit(const Line& line, Kind kind) {
  Operation operation;
  operation.line_ = line;
  operation.cell_ = std::make_shared<Cell>();
  Cell& cell = *operation.cell_;
  cell.line = line;
  const std::lock_guard lock(mutex_);
  operation.host_ = host_;
  operation.submission_ = others_.Submit();
  Compact(&line->waits);
  operation.waits_ = line->waits;  // kept there too: this operation may come to nothing
  operation.early_ = kind == Kind::kEarlyKernel && line->kernel_ahead;
  line->kernel_ahead = kind != Kind::kOther;
  cell.line_number = line->number;
  cell.number = ++line->submitted;
  line->last = operation.cell_;
  ++running_;
  return operation;
}

coherence::Clocks OperationOrder::Begin(const Operation& operation) {
  const std::lock_guard lock(mutex_);
  Known before;
  try {
    Join(operation.early_ ? operation.line_->begun : operation.line_->completed, &before);
    Join(operation.host_, &before);
    Join(operation.waits_, &before);
  } catch (const std::bad_alloc&) {
    before = Known{everything_.clocks, generation_};
  }
  operation.line_->begun = before;
  return before.clocks;
}

coherence::Clocks OperationOrder::Reached(const Operation& operation) {
  const std::lock_guard lock(mutex_);
  const Known& completed = operation.line_->completed;
  return completed.generation == generation_ ? completed.clocks : coherence::Clocks();
}

void OperationOrder::End(const Operation& operation, const coherence::Clocks& clocks) {
  const std::lock_guard lock(mutex_);
  --running_;
  Known after{clocks, generation_};
  LineState& line = *operation.line_;
  Known* const device = &devices_[static_cast<size_t>(line.device.value())];
  JoinOrAll(after, device);
  line.completed = after;
  operation.cell_->after = std::move(after);
  operation.cell_->over = true;
}

void OperationOrder::HostWaited(const Moment& moment) {
  const std::lock_guard lock(mutex_);
  JoinOrAll(moment, &host_);
  NotifyMonitor();
}

void OperationOrder::HostWaited(DeviceOrdinal device) {
  const std::lock_guard lock(mutex_);
  JoinOrAll(devices_[static_cast<size_t>(device.value())], &host_);
  NotifyMonitor();
}

void OperationOrder::RecordedForOthers(const Moment& moment) {
  const std::lock_guard lock(mutex_);
  Known recorded;
  JoinOrAll(moment, &recorded);
  others_.Recorded(recorded.clocks);
}

// Not while an operation has a past that others would no longer know what to make of.
void OperationOrder::NotifyMonitor() {
  monitor_.SetHost(host_.clocks);
  others_.HostWaited(host_.clocks);
  if (running_ != 0 || !monitor_.active() || host_.clocks.all.empty()) return;
  if (monitor_.HostWaited(host_.clocks)) ++generation_;
}

}  // namespace twinmmu
