#include <algorithm>
#include <chrono>
#include <vector>

#include "absl/strings/str_cat.h"
#include "conformance/litmus/litmus_control.h"
#include "conformance/litmus/litmus_placement.h"
#include "conformance/litmus/litmus_play.h"
#include "conformance/litmus/litmus_task_kernels.h"

namespace twinmmu {
namespace {

using coherence::Observable;
using coherence::Outcome;
using coherence::Program;
using coherence::Thread;

constexpr uint32_t kMostInstances = 1024;
constexpr uint32_t kMostBlockThreads = 128;
constexpr auto kStartLimit = std::chrono::seconds(5);

class TaskPlayer {
 public:
  TaskPlayer(LitmusStage& stage, LitmusTiming timing, uint32_t instances)
      : stage_(stage),
        executor_(stage.executor()),
        program_(stage.program()),
        gpus_(GpusOf(stage.program())),
        timing_(timing),
        instances_(instances) {}
  ~TaskPlayer() {
    for (const Event event : events_) executor_.DestroyEvent(event).IgnoreError();
    for (const Stream stream : streams_) executor_.DestroyStream(stream).IgnoreError();
  }
  TaskPlayer(const TaskPlayer&) = delete;
  TaskPlayer& operator=(const TaskPlayer&) = delete;

  absl::Status Prepare();
  absl::Status PlayTurn(uint32_t random);
  absl::Status CountTurn(LitmusCounts* counts);

 private:
  // Of stage_.devices(): where a task runs.
  size_t DeviceOf(size_t task) const {
    const int gpu = program_.threads[task].place.gpu;
    return std::find(gpus_.begin(), gpus_.end(), gpu) - gpus_.begin();
  }
  uint64_t words() const { return instances_ * kLitmusStride / 4; }

  void ChooseStreams();
  absl::Status MakeStreams();
  absl::Status Reset();
  // Whether a task of another stream waits for its event.
  bool IsAwaited(size_t task) const;
  absl::Status Issue(size_t task, uint32_t random);
  absl::Status LaunchTask(size_t task, uint32_t random);
  absl::Status AwaitStart(int task);

  LitmusStage& stage_;
  Executor& executor_;
  const Program& program_;
  const std::vector<int> gpus_;
  const LitmusTiming timing_;
  const uint32_t instances_;
  std::vector<Stream> streams_;    // as many as tasks; the last two: for resets, to look at flags
  std::vector<size_t> stream_of_;  // of each task
  std::vector<Event> events_;      // of each task
  std::vector<Kernel> kernels_;
  std::vector<DeviceAddress> constant_memory_;  // what a task copies that copies a constant
};

// The first task that comes after another one of its stream, or starts early behind it, uses the
// stream of that one. Others (nodes of a graph) have one of their own, and wait for the events of
// what they come after.
void TaskPlayer::ChooseStreams() {
  std::vector<bool> is_followed(program_.threads.size(), false);
  for (size_t t = 0; t < program_.threads.size(); ++t) {
    stream_of_.push_back(t);
    const std::vector<int>& early = program_.threads[t].after_trigger;
    for (const int before : early.empty() ? program_.threads[t].after : early) {
      if (static_cast<size_t>(before) >= t || is_followed[before] ||
          program_.threads[before].stream != program_.threads[t].stream) {
        continue;
      }
      is_followed[before] = true;
      stream_of_[t] = stream_of_[before];
      break;
    }
  }
}

// One for each task, on its device, and two more at home.
absl::Status TaskPlayer::MakeStreams() {
  for (size_t i = 0; i < program_.threads.size() + 2; ++i) {
    const size_t device = i < program_.threads.size() ? DeviceOf(i) : 0;
    const absl::StatusOr<Stream> stream = executor_.CreateStream(stage_.devices()[device]);
    if (!stream.ok()) return stream.status();
    streams_.push_back(*stream);
    const absl::StatusOr<Event> event = executor_.CreateEvent(stage_.devices()[device]);
    if (!event.ok()) return event.status();
    events_.push_back(*event);
  }
  return absl::OkStatus();
}

absl::Status TaskPlayer::Prepare() {
  ChooseStreams();
  const absl::StatusOr<std::string> ptx = MakeTaskKernels(stage_.test(), instances_, timing_);
  if (!ptx.ok()) return ptx.status();
  absl::Status status = stage_.Prepare(instances_, *ptx);
  kernels_.resize(program_.threads.size());
  constant_memory_.resize(program_.threads.size());
  for (size_t t = 0; status.ok() && t < program_.threads.size(); ++t) {
    const Thread& task = program_.threads[t];
    if (task.kind == Thread::kLaunch) {
      const absl::StatusOr<Kernel> kernel = stage_.GetKernel(DeviceOf(t), absl::StrCat("task", t));
      if (!kernel.ok()) return kernel.status();
      kernels_[t] = *kernel;
    } else if (task.kind == Thread::kCopy && task.instructions.size() == 1) {
      const absl::StatusOr<std::vector<DeviceAddress>> memory =
          stage_.memory().New(Bytes(4 * words()), 1);
      if (!memory.ok()) return memory.status();
      constant_memory_[t] = memory->front();
      const auto value = static_cast<uint32_t>(task.instructions[0].value.constant);
      status =
          executor_.Fill(stage_.home(), memory->front(), FillPattern{value, Bytes(4)}, words());
    }
  }
  if (status.ok()) status = MakeStreams();
  return status.ok() ? stage_.SynchronizeAll() : status;
}

absl::Status TaskPlayer::LaunchTask(size_t t, uint32_t random) {
  const Thread& task = program_.threads[t];
  const Stream stream = streams_[stream_of_[t]];
  const coherence::Instruction* last =
      task.instructions.empty() ? nullptr : &task.instructions.back();
  if (task.kind == Thread::kFill) {
    const auto value = static_cast<uint32_t>(last->value.constant);
    return executor_.Fill(stream, stage_.bases()[last->address], FillPattern{value, Bytes(4)},
                          words());
  }
  if (task.kind == Thread::kCopy) {
    const DeviceAddress source = task.instructions.size() == 1
                                     ? constant_memory_[t]
                                     : stage_.bases()[task.instructions.front().address];
    return executor_.CopyDeviceToDevice(stream, stage_.bases()[last->address], source,
                                        Bytes(4 * words()));
  }
  const DeviceAddress control = stage_.Control(0);
  std::vector<const void*> arguments = {&control, &random};
  for (const DeviceAddress& base : stage_.bases()) arguments.push_back(&base);
  LaunchConfig config;
  config.block.x = std::min(kMostBlockThreads, std::max(kLanesPerWarp, instances_ / 8));
  config.grid.x = instances_ / config.block.x;
  config.programmatic_stream_serialization = !task.after_trigger.empty();
  return executor_.Launch(stream, kernels_[t], config, arguments);
}

absl::Status TaskPlayer::AwaitStart(int task) {
  const Stream look = streams_.back();
  const auto begin = std::chrono::steady_clock::now();
  uint32_t started = 0;
  while (started == 0) {
    absl::Status status = executor_.CopyDeviceToHost(
        look, &started, stage_.Control(LitmusControl::kStarted + 4 * static_cast<uint64_t>(task)),
        Bytes(4));
    if (status.ok()) status = executor_.SynchronizeStream(look);
    if (!status.ok()) return status;
    if (std::chrono::steady_clock::now() - begin > kStartLimit) {
      return absl::DeadlineExceededError(
          absl::StrCat(program_.threads[task].name, " does not start"));
    }
  }
  return absl::OkStatus();
}

bool TaskPlayer::IsAwaited(size_t t) const {
  for (size_t other = 0; other < program_.threads.size(); ++other) {
    const std::vector<int>& after = program_.threads[other].after;
    if (stream_of_[other] != stream_of_[t] &&
        std::find(after.begin(), after.end(), static_cast<int>(t)) != after.end()) {
      return true;
    }
  }
  return false;
}

absl::Status TaskPlayer::Issue(size_t t, uint32_t random) {
  const Thread& task = program_.threads[t];
  for (const int other : task.after_start) {
    const absl::Status status = AwaitStart(other);
    if (!status.ok()) return status;
  }
  for (const int before : task.after) {
    absl::Status status;
    if (task.host_waits) {
      status = executor_.SynchronizeStream(streams_[stream_of_[before]]);
    } else if (stream_of_[before] != stream_of_[t]) {
      status = executor_.WaitEvent(streams_[stream_of_[t]], events_[before]);
    }
    if (!status.ok()) return status;
  }
  const absl::Status launched = LaunchTask(t, random);
  // An event between two kernels would keep the second from starting early.
  if (!launched.ok() || !IsAwaited(t)) return launched;
  return executor_.RecordEvent(events_[t], streams_[stream_of_[t]]);
}

absl::Status TaskPlayer::Reset() {
  const Stream reset = streams_[program_.threads.size()];
  absl::Status status;
  for (size_t location = 0; status.ok() && location < program_.locations.size(); ++location) {
    const auto initial = static_cast<uint32_t>(program_.locations[location].initial);
    status = executor_.Fill(reset, stage_.FirstAddressOf(static_cast<int>(location)),
                            FillPattern{initial, Bytes(4)}, words());
  }
  if (status.ok()) {
    status = executor_.Fill(reset, stage_.Control(LitmusControl::kStarted),
                            FillPattern{0, Bytes(4)}, coherence::kMaxThreads);
  }
  return status.ok() ? executor_.SynchronizeStream(reset) : status;
}

absl::Status TaskPlayer::PlayTurn(uint32_t random) {
  absl::Status status = Reset();
  std::vector<bool> issued(program_.threads.size(), false);
  for (size_t left = program_.threads.size(); status.ok() && left > 0;) {
    const size_t before = left;
    for (size_t i = 0; status.ok() && i < program_.threads.size(); ++i) {
      // From either end, so that what is not ordered comes in both orders.
      const size_t t = (random & 1) == 0 ? i : program_.threads.size() - 1 - i;
      const Thread& task = program_.threads[t];
      const auto is_issued = [&](int other) { return static_cast<bool>(issued[other]); };
      const auto are_issued = [&](const std::vector<int>& others) {
        return std::all_of(others.begin(), others.end(), is_issued);
      };
      if (issued[t] || !are_issued(task.after) || !are_issued(task.after_start) ||
          !are_issued(task.after_trigger)) {
        continue;
      }
      status = Issue(t, (random ^ static_cast<uint32_t>(t) * 0x9E3779B1) * 0x2C1B3C6D);
      issued[t] = true;
      --left;
    }
    if (status.ok() && left == before) {
      return absl::UnimplementedError("its tasks wait for each other in a circle");
    }
  }
  for (size_t t = 0; status.ok() && t < program_.threads.size(); ++t) {
    status = executor_.SynchronizeStream(streams_[t]);
  }
  return status;
}

absl::Status TaskPlayer::CountTurn(LitmusCounts* counts) {
  std::vector<std::vector<uint32_t>> values;
  for (size_t i = 0; i < stage_.test().observables.size(); ++i) {
    const Observable& observable = stage_.test().observables[i];
    const bool memory = observable.thread < 0;
    const DeviceAddress from = memory
                                   ? stage_.FirstAddressOf(observable.index)
                                   : stage_.Control(LitmusControl::kRegisters + 4 * i * instances_);
    const uint64_t stride = memory ? kLitmusStride / 4 : 1;
    const absl::StatusOr<std::vector<uint32_t>> words_of =
        stage_.ReadWords(from, instances_ * stride);
    if (!words_of.ok()) return words_of.status();
    values.emplace_back();
    for (uint32_t instance = 0; instance < instances_; ++instance) {
      values.back().push_back((*words_of)[instance * stride]);
    }
  }
  for (uint32_t instance = 0; instance < instances_; ++instance) {
    Outcome outcome;
    for (const std::vector<uint32_t>& of : values) outcome.push_back(of[instance]);
    ++counts->outcomes[outcome];
  }
  counts->rounds += instances_;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LitmusCounts> PlayTasks(LitmusStage& stage, const LitmusPlay& play) {
  uint32_t instances = kLanesPerWarp;
  while (instances < kMostInstances &&
         2 * instances * FewestLitmusTurns(play.timing) <= play.rounds) {
    instances *= 2;
  }
  TaskPlayer player(stage, play.timing, instances);
  absl::Status status = player.Prepare();
  if (!status.ok()) return status;
  LitmusCounts result;
  uint32_t random = play.seed;
  while (result.rounds < play.rounds) {
    random = random * 1664525 + 1013904223;
    status = player.PlayTurn(random);
    if (status.ok()) status = player.CountTurn(&result);
    if (!status.ok()) return status;
  }
  const absl::StatusOr<uint64_t> late = stage.CountLate();
  if (!late.ok()) return late.status();
  result.late = *late;
  return result;
}

}  // namespace twinmmu
