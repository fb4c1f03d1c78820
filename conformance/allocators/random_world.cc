#include "conformance/allocators/random_world.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "api/driver_error.h"

namespace twinmmu::conformance {
namespace {

constexpr size_t kStepsRemembered = 25;
constexpr uint64_t kWatched = 16;  // words at either end of a page
constexpr Bytes kWatchedBytes(kWatched * sizeof(uint32_t));
constexpr uint64_t kCallsThatMayFail = 12;

std::array<DeviceAddress, 2> Ends(const AddressRange& page) {
  return {page.base, page.base + (page.size - kWatchedBytes)};
}

}  // namespace

RandomWorld::RandomWorld(Vmm& vmm, Executor& executor, const RandomProgram& program)
    : vmm_(vmm),
      executor_(executor),
      program_(program),
      random_(program.seed),
      failing_vmm_(&vmm, &vmm_faults_),
      failing_executor_(&executor, &executor_faults_) {}

absl::Status RandomWorld::Open() {
  absl::StatusOr<int> devices = vmm_.GetDeviceCount();
  if (!devices.ok()) return devices.status();
  for (int other = 1; other < *devices && !peer_.has_value(); ++other) {
    absl::StatusOr<bool> reaches = vmm_.CanAccessPeer(DeviceOrdinal(other), device());
    if (!reaches.ok()) return reaches.status();
    if (*reaches) peer_ = DeviceOrdinal(other);
  }
  streams_[0] = Stream(device());
  for (int i = 1; i < kStreams; ++i) {
    absl::StatusOr<Stream> stream = executor_.CreateStream(device());
    if (!stream.ok()) return stream.status();
    streams_[i] = *stream;
  }
  absl::Status status = executor_.SynchronizeDevice(device());
  if (peer_.has_value()) status.Update(executor_.SynchronizeDevice(*peer_));
  return status;
}

absl::Status RandomWorld::Close() {
  absl::Status status;
  for (const Event event : events_) status.Update(executor_.DestroyEvent(event));
  for (int i = 1; i < kStreams; ++i) status.Update(executor_.DestroyStream(streams_[i]));
  return status;
}

void RandomWorld::Log(std::string step) {
  log_.push_back(std::move(step));
  if (log_.size() > kStepsRemembered) log_.pop_front();
}

void RandomWorld::Differ(const std::string& what) {
  if (differs()) return;
  difference_ = absl::StrCat("seed ", program_.seed, ": ", what, "\nThe last steps:\n");
  for (const std::string& step : log_) absl::StrAppend(&difference_, "  ", step, "\n");
}

bool RandomWorld::Must(const absl::Status& status, absl::string_view call) {
  if (!status.ok()) Differ(absl::StrCat(call, " gives ", status.ToString()));
  return status.ok();
}

// --- Failures ----------------------------------------------------------------------------------

void RandomWorld::Arm() {
  vmm_faults_.Clear();
  executor_faults_.Clear();
  if (!Chance(program_.failures)) return;
  FaultPlan& plan = Chance(0.7) ? vmm_faults_ : executor_faults_;
  plan.FailNth(1 + Below(kCallsThatMayFail),
               Chance(0.5) ? DriverCode::kOutOfMemory : DriverCode::kUnknown);
}

RandomWorld::Fired RandomWorld::Disarm() {
  Fired fired;
  fired.any = vmm_faults_.fired() + executor_faults_.fired() > 0;
  fired.vmm_calls = vmm_faults_.asked();
  driver_calls_ += vmm_faults_.asked() + executor_faults_.asked();
  vmm_faults_.Clear();
  executor_faults_.Clear();
  return fired;
}

void RandomWorld::MakeScarce(Bytes held, Bytes left) {
  Log(absl::StrCat("only ", ToString(left), " of memory are left"));
  failing_vmm_.SetMemoryBudget(device(), held + left);
  left_ = left;
}

void RandomWorld::EndScarcity() {
  failing_vmm_.ClearMemoryBudget(device());
  left_.reset();
}

// --- Work --------------------------------------------------------------------------------------

uint32_t RandomWorld::Write(const AddressRange& page, int& writer) {
  const int now = static_cast<int>(Below(kStreams));
  if (writer != kNoStream && writer != now) {
    const Event before = RecordedEvent(writer);
    Must(executor_.WaitEvent(streams_[now], before), "WaitEvent");
    events_.push_back(before);
  }
  const FillPattern pattern{++last_pattern_, Bytes(4)};
  for (const DeviceAddress end : Ends(page)) {
    Must(executor_.Fill(streams_[now], end, pattern, kWatched), "Fill");
  }
  writer = now;
  return pattern.value;
}

void RandomWorld::Verify(const AddressRange& page, uint32_t pattern, int& writer,
                         DeviceOrdinal by) {
  Synchronize(writer);
  for (const DeviceAddress end : Ends(page)) {
    std::array<uint32_t, kWatched> words{};
    if (!Must(executor_.CopyDeviceToHost(by, words.data(), end, kWatchedBytes), "a copy")) return;
    for (const uint32_t word : words) {
      if (word == pattern) continue;
      Differ(
          absl::StrCat(ToString(end), " holds ", word, " for ", ToString(by), ", not ", pattern));
      return;
    }
  }
}

void RandomWorld::Synchronize(int& writer) {
  if (writer != kNoStream) Must(executor_.SynchronizeStream(streams_[writer]), "SynchronizeStream");
  writer = kNoStream;
}

void RandomWorld::SynchronizeAll() {
  Must(executor_.SynchronizeDevice(device()), "SynchronizeDevice");
  ++synchronized_;
}

Event RandomWorld::TakeEvent() {
  if (events_.empty()) {
    absl::StatusOr<Event> event = executor_.CreateEvent(device());
    Must(event.status(), "CreateEvent");
    return event.value_or(Event());
  }
  // The one that was given back first: it is the likeliest to be used by nobody any more.
  const Event event = events_.front();
  events_.erase(events_.begin());
  return event;
}

Event RandomWorld::RecordedEvent(int stream) {
  const Event event = TakeEvent();
  Must(executor_.RecordEvent(event, streams_[stream]), "RecordEvent");
  return event;
}

RandomWorld::Mark RandomWorld::MarkOf(const std::vector<int>& streams) {
  Mark mark;
  for (const int stream : streams) mark.push_back(RecordedEvent(stream));
  return mark;
}

bool RandomWorld::IsOver(const Mark& mark) {
  for (const Event event : mark) {
    const absl::StatusOr<bool> over = executor_.QueryEvent(event);
    if (!Must(over.status(), "QueryEvent") || !*over) return false;
  }
  return true;
}

void RandomWorld::Drop(Mark& mark) {
  events_.insert(events_.end(), mark.begin(), mark.end());
  mark.clear();
}

std::vector<LastUse> RandomWorld::LastUsesOf(const std::vector<int>& streams, Mark& events) {
  std::vector<LastUse> uses;
  for (const int stream : streams) {
    if (Chance(0.5)) {
      uses.push_back(streams_[stream]);
      continue;
    }
    const Event event = RecordedEvent(stream);
    uses.push_back(event);
    events.push_back(event);
  }
  return uses;
}

}  // namespace twinmmu::conformance
