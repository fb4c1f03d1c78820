#include "api/allocators/work_tracker.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "api/driver_error.h"

namespace twinmmu {

namespace {

// One that belongs to the device, taken out.
template <typename T>
std::optional<T> Take(std::vector<T>& spare, DeviceOrdinal device) {
  const auto found = std::find_if(spare.rbegin(), spare.rend(),
                                  [&](const T& object) { return object.device() == device; });
  if (found == spare.rend()) return std::nullopt;
  const T taken = *found;
  *found = spare.back();
  spare.pop_back();
  return taken;
}

}  // namespace

WorkTracker::~WorkTracker() {
  // Nobody is told of a failure: these are not the program's objects, and hold no memory.
  for (const Event event : spare_events_) executor_->DestroyEvent(event).IgnoreError();
  for (const Stream stream : spare_streams_) executor_->DestroyStream(stream).IgnoreError();
}

absl::StatusOr<WorkTracker::Use> WorkTracker::Follow(Stream theirs) {
  std::optional<Event> event = Take(spare_events_, theirs.device());
  if (!event.has_value()) {
    absl::StatusOr<Event> created = executor_->CreateEvent(theirs.device());
    if (!created.ok()) return created.status();
    event = *created;
  }
  absl::Status status = executor_->RecordEvent(*event, theirs);
  if (status.ok()) return Use{*event, theirs};
  spare_events_.push_back(*event);
  return status;
}

absl::StatusOr<WorkTracker::Use> WorkTracker::Follow(Event theirs) {
  // A stream for each: in a common one, they would wait for each other.
  std::optional<Stream> stream = Take(spare_streams_, theirs.device());
  if (!stream.has_value()) {
    absl::StatusOr<Stream> created = executor_->CreateStream(theirs.device());
    if (!created.ok()) return created.status();
    stream = *created;
  }
  absl::Status status = executor_->WaitEvent(*stream, theirs);
  if (status.ok()) return Use{*stream, std::nullopt};
  spare_streams_.push_back(*stream);
  return status;
}

absl::StatusOr<WorkTracker::Mark> WorkTracker::Set(absl::Span<const LastUse> work) {
  Mark mark;
  if (work.empty()) return mark;
  if (executor_ == nullptr) {
    return absl::FailedPreconditionError(
        "memory cannot be freed after the work of a stream or event: this object was made without "
        "an executor. Pass one to Make, or wait for the work and free without it.");
  }
  for (const LastUse& use : work) {
    absl::StatusOr<Use> followed =
        std::visit([&](const auto& theirs) { return Follow(theirs); }, use.work());
    if (!followed.ok()) {
      Drop(mark);
      return followed.status();
    }
    mark.push_back(*followed);
  }
  return mark;
}

absl::StatusOr<bool> WorkTracker::IsOver(const Mark& mark, std::vector<Stream>& busy) {
  const auto is_busy = [&](Stream stream) {
    return std::find(busy.begin(), busy.end(), stream) != busy.end();
  };
  for (const Use& use : mark) {
    if (use.stream.has_value() && is_busy(*use.stream)) return false;
    const Event* event = std::get_if<Event>(&use.own.work());
    absl::StatusOr<bool> over = event != nullptr
                                    ? executor_->QueryEvent(*event)
                                    : executor_->QueryStream(std::get<Stream>(use.own.work()));
    if (over.ok() && !*over && use.stream.has_value()) busy.push_back(*use.stream);
    if (!over.ok() || !*over) return over;
  }
  return true;
}

absl::Status WorkTracker::Wait(const Mark& mark) {
  for (const Use& use : mark) {
    const Event* event = std::get_if<Event>(&use.own.work());
    absl::Status status = event != nullptr
                              ? executor_->SynchronizeEvent(*event)
                              : executor_->SynchronizeStream(std::get<Stream>(use.own.work()));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status WorkTracker::LetWait(Stream stream, absl::Span<const LastUse> work) {
  for (const LastUse& use : work) {
    Event event;
    Mark mark;
    if (const Event* theirs = std::get_if<Event>(&use.work())) {
      event = *theirs;
    } else {
      absl::StatusOr<Mark> set = Set({use});
      if (!set.ok()) return set.status();
      mark = *std::move(set);
      event = std::get<Event>(mark.front().own.work());
    }
    absl::Status status = executor_->WaitEvent(stream, event);
    Drop(mark);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void WorkTracker::Drop(Mark& mark) {
  for (const Use& use : mark) {
    if (const Event* event = std::get_if<Event>(&use.own.work())) {
      spare_events_.push_back(*event);
    } else {
      spare_streams_.push_back(std::get<Stream>(use.own.work()));
    }
  }
  mark.clear();
}

bool ContextsAreLost(const absl::Status& status) {
  return absl::IsDataLoss(status) || GetDriverCode(status) == DriverCode::kContextIsDestroyed;
}

bool WaitUntilOver(Executor& executor, Stream stream) {
  const absl::Status status = executor.SynchronizeStream(stream);
  return status.ok() || ContextsAreLost(status);
}

}  // namespace twinmmu
