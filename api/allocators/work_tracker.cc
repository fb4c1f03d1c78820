#include "api/allocators/work_tracker.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace twinmmu {

namespace {

DeviceOrdinal DeviceOf(const LastUse& use) {
  return std::visit([](const auto& work) { return work.device(); }, use.work());
}

}  // namespace

WorkTracker::~WorkTracker() {
  // Nobody is told of a failure: these are not the program's objects, and hold no memory.
  for (const Event event : spare_) executor_->DestroyEvent(event).IgnoreError();
  for (const auto& [device, stream] : helper_streams_) {
    executor_->DestroyStream(stream).IgnoreError();
  }
}

absl::StatusOr<Event> WorkTracker::TakeEvent(DeviceOrdinal device) {
  const auto spare = std::find_if(spare_.rbegin(), spare_.rend(),
                                  [&](const Event& event) { return event.device() == device; });
  if (spare == spare_.rend()) return executor_->CreateEvent(device);
  const Event event = *spare;
  *spare = spare_.back();
  spare_.pop_back();
  return event;
}

absl::StatusOr<Stream> WorkTracker::HelperStream(DeviceOrdinal device) {
  const auto found = helper_streams_.find(device);
  if (found != helper_streams_.end()) return found->second;
  absl::StatusOr<Stream> stream = executor_->CreateStream(device);
  if (stream.ok()) helper_streams_.emplace(device, *stream);
  return stream;
}

absl::Status WorkTracker::Record(Event event, const LastUse& use) {
  if (const Stream* stream = std::get_if<Stream>(&use.work())) {
    return executor_->RecordEvent(event, *stream);
  }
  // The program may record its event anew, or destroy it. An event of ours, recorded behind it,
  // stands for the same work and stays as it is.
  const Event theirs = std::get<Event>(use.work());
  absl::StatusOr<Stream> stream = HelperStream(theirs.device());
  if (!stream.ok()) return stream.status();
  absl::Status status = executor_->WaitEvent(*stream, theirs);
  if (!status.ok()) return status;
  return executor_->RecordEvent(event, *stream);
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
    absl::StatusOr<Event> event = TakeEvent(DeviceOf(use));
    absl::Status status = event.status();
    if (event.ok()) {
      mark.push_back(*event);
      status = Record(*event, use);
    }
    if (!status.ok()) {
      Drop(mark);
      return status;
    }
  }
  return mark;
}

absl::StatusOr<bool> WorkTracker::IsOver(const Mark& mark) {
  for (const Event event : mark) {
    absl::StatusOr<bool> over = executor_->QueryEvent(event);
    if (!over.ok() || !*over) return over;
  }
  return true;
}

absl::Status WorkTracker::Wait(const Mark& mark) {
  for (const Event event : mark) {
    absl::Status status = executor_->SynchronizeEvent(event);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status WorkTracker::LetWait(Stream stream, absl::Span<const LastUse> work) {
  absl::StatusOr<Mark> mark = Set(work);
  if (!mark.ok()) return mark.status();
  absl::Status status;
  for (const Event event : *mark) status.Update(executor_->WaitEvent(stream, event));
  Drop(*mark);
  return status;
}

void WorkTracker::Drop(Mark& mark) {
  spare_.insert(spare_.end(), mark.begin(), mark.end());
  mark.clear();
}

}  // namespace twinmmu
