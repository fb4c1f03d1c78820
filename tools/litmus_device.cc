#include "tools/litmus_device.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/litmus_control.h"
#include "tools/litmus_placement.h"
#include "tools/litmus_task_kernels.h"
#include "tools/litmus_thread_kernel.h"

namespace twinmmu {
namespace {

using coherence::LitmusTest;
using coherence::Observable;
using coherence::Outcome;
using coherence::Program;
using coherence::Thread;

constexpr DeviceOrdinal kDevice(0);
// CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
constexpr auto kMultiprocessors = static_cast<DeviceAttribute>(16);
constexpr int kFewMultiprocessors = 8;  // where nobody says how many there are
constexpr uint32_t kMaxGroups = 500;    // the locations of all instances fit into a granule
constexpr uint32_t kTaskThreads = 128;
constexpr uint32_t kTaskBlocks = 8;
constexpr uint32_t kTaskInstances = kTaskThreads * kTaskBlocks;
constexpr auto kStartLimit = std::chrono::seconds(5);

// Memory at several addresses, given back at the end.
class Memory {
 public:
  explicit Memory(Vmm& vmm) : vmm_(vmm) {}
  ~Memory() {
    for (const AddressRange& range : mapped_) vmm_.Unmap(range).IgnoreError();
    for (const AddressRange& range : reserved_) vmm_.AddressFree(range).IgnoreError();
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // `count` addresses of new memory of at least `size`.
  absl::StatusOr<std::vector<DeviceAddress>> New(Bytes size, size_t count) {
    AllocationProperties properties;
    properties.location = Location::Device(kDevice);
    const absl::StatusOr<Bytes> granule =
        vmm_.GetAllocationGranularity(properties, Granularity::kMinimum);
    if (!granule.ok()) return granule.status();
    size = RoundUp(size, *granule);
    const absl::StatusOr<AllocationHandle> handle = vmm_.Create(size, properties);
    if (!handle.ok()) return handle.status();
    std::vector<DeviceAddress> addresses;
    absl::Status status;
    for (size_t i = 0; status.ok() && i < count; ++i) {
      status = MapOnce(size, *handle, &addresses);
    }
    status.Update(vmm_.Release(*handle));
    if (!status.ok()) return status;
    return addresses;
  }

 private:
  absl::Status MapOnce(Bytes size, AllocationHandle handle, std::vector<DeviceAddress>* addresses) {
    const absl::StatusOr<AddressRange> range = vmm_.AddressReserve(size);
    if (!range.ok()) return range.status();
    reserved_.push_back(*range);
    absl::Status status = vmm_.Map(*range, handle);
    if (!status.ok()) return status;
    mapped_.push_back(*range);
    addresses->push_back(range->base);
    const AccessGrant grant{Location::Device(kDevice), Access::kReadWrite};
    return vmm_.SetAccess(*range, {grant});
  }

  Vmm& vmm_;
  std::vector<AddressRange> mapped_;
  std::vector<AddressRange> reserved_;
};

// What both kinds of tests need.
class Player {
 public:
  Player(Vmm& vmm, Executor& executor, const LitmusTest& test)
      : executor_(executor), test_(test), program_(test.program), vmm_(vmm), memory_(vmm) {}
  ~Player() {
    // Nothing may run when its memory goes.
    executor_.SynchronizeDevice(kDevice).IgnoreError();
    for (const Event event : events_) executor_.DestroyEvent(event).IgnoreError();
    for (const Stream stream : streams_) executor_.DestroyStream(stream).IgnoreError();
    if (loaded_) executor_.UnloadModule(module_).IgnoreError();
  }

  absl::StatusOr<LitmusCounts> PlayThreads(uint64_t rounds, uint32_t seed);
  absl::StatusOr<LitmusCounts> PlayTasks(uint64_t rounds, uint32_t seed);

 private:
  absl::Status MapAll(Bytes size) {
    const absl::StatusOr<std::vector<DeviceAddress>> control =
        memory_.New(Bytes(LitmusControl::kBytes), 1);
    if (!control.ok()) return control.status();
    control_ = control->front();
    bases_.resize(program_.addresses.size());
    for (size_t location = 0; location < program_.locations.size(); ++location) {
      std::vector<size_t> of_location;
      for (size_t i = 0; i < program_.addresses.size(); ++i) {
        if (program_.addresses[i].locations[0] == static_cast<int>(location)) {
          of_location.push_back(i);
        }
      }
      const absl::StatusOr<std::vector<DeviceAddress>> bases =
          memory_.New(size, of_location.size());
      if (!bases.ok()) return bases.status();
      for (size_t i = 0; i < of_location.size(); ++i) bases_[of_location[i]] = (*bases)[i];
    }
    return executor_.Fill(kDevice, control_, FillPattern{0, Bytes(4)}, LitmusControl::kBytes / 4);
  }

  absl::Status Load(const std::string& ptx) {
    const absl::StatusOr<Module> module = executor_.LoadModule(kDevice, ptx);
    if (!module.ok()) return module.status();
    module_ = *module;
    loaded_ = true;
    return absl::OkStatus();
  }

  DeviceAddress FirstAddressOf(int location) const {
    size_t i = 0;
    while (program_.addresses[i].locations[0] != location) ++i;
    return bases_[i];
  }

  absl::StatusOr<uint32_t> ReadWord(DeviceAddress address) {
    uint32_t word = 0;
    const absl::Status status =
        executor_.CopyDeviceToHost(kDevice, &word, address, Bytes(sizeof(word)));
    if (!status.ok()) return status;
    return word;
  }

  // --- Of tasks.
  void ChooseStreams();
  absl::Status PrepareTasks();
  absl::Status PlayTurn(uint32_t delays);
  absl::Status Issue(size_t task, uint32_t delay);
  absl::Status LaunchTask(size_t task, uint32_t delay);
  absl::Status AwaitStart(int task);
  absl::Status CountTurn(LitmusCounts* counts);

  Executor& executor_;
  const LitmusTest& test_;
  const Program& program_;
  Vmm& vmm_;
  Memory memory_;
  DeviceAddress control_;
  std::vector<DeviceAddress> bases_;  // by address of the program
  Module module_;
  bool loaded_ = false;
  std::vector<Stream> streams_;    // as many as tasks; the last two: for resets, to look at flags
  std::vector<size_t> stream_of_;  // of each task
  std::vector<Event> events_;      // of each task
  std::vector<Kernel> kernels_;
  std::vector<DeviceAddress> constant_memory_;  // what a task copies that copies a constant
};

absl::StatusOr<LitmusCounts> Player::PlayThreads(uint64_t rounds, uint32_t seed) {
  const absl::StatusOr<LitmusKernel> made = MakeLitmusKernel(test_);
  if (!made.ok()) return made.status();
  const absl::StatusOr<int> counted = vmm_.GetDeviceAttribute(kMultiprocessors, kDevice);
  const int multiprocessors = counted.ok() ? *counted : kFewMultiprocessors;
  // All blocks must be there at once, as they wait for each other: one on each multiprocessor.
  const uint32_t groups =
      std::min(kMaxGroups, std::max(1u, static_cast<uint32_t>(multiprocessors) / made->ctas));
  const uint32_t instances = groups * kLanesPerWarp;
  absl::Status status = MapAll(Bytes(instances * kLitmusStride));
  status.Update(status.ok() ? Load(made->ptx) : status);
  if (!status.ok()) return status;
  const absl::StatusOr<Kernel> kernel = executor_.GetKernel(module_, "litmus");
  if (!kernel.ok()) return kernel.status();

  const auto turns = static_cast<uint32_t>(
      std::min<uint64_t>(std::max<uint64_t>(1, (rounds + instances - 1) / instances), 1u << 24));
  std::vector<const void*> arguments = {&control_, &turns, &seed};
  for (const DeviceAddress& base : bases_) arguments.push_back(&base);
  LaunchConfig config;
  config.grid.x = groups * made->ctas;
  config.block.x = made->block_threads;
  status = executor_.Launch(Stream(kDevice), *kernel, config, arguments);
  if (status.ok()) status = executor_.SynchronizeDevice(kDevice);
  if (!status.ok()) return status;

  LitmusCounts result;
  result.rounds = uint64_t{turns} * instances;
  const absl::StatusOr<uint32_t> late = ReadWord(control_ + Bytes(LitmusControl::kErrors));
  if (!late.ok()) return late.status();
  result.late = *late;
  const int bits = made->key_bits;
  std::vector<uint32_t> table(size_t{1} << (bits * test_.observables.size()));
  status =
      executor_.CopyDeviceToHost(kDevice, table.data(), control_ + Bytes(LitmusControl::kCounts),
                                 Bytes(table.size() * sizeof(uint32_t)));
  if (!status.ok()) return status;
  for (size_t key = 0; key < table.size(); ++key) {
    if (table[key] == 0) continue;
    Outcome outcome;
    for (size_t i = 0; i < test_.observables.size(); ++i) {
      outcome.push_back(key >> (bits * i) & ((1u << bits) - 1));
    }
    result.outcomes[outcome] += table[key];
  }
  return result;
}

// The first task that comes after another one of its stream uses the stream of that one. Others
// (nodes of a graph) have one of their own, and wait for the events of what they come after.
void Player::ChooseStreams() {
  std::vector<bool> is_followed(program_.threads.size(), false);
  for (size_t t = 0; t < program_.threads.size(); ++t) {
    stream_of_.push_back(t);
    for (const int before : program_.threads[t].after) {
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

absl::Status Player::PrepareTasks() {
  ChooseStreams();
  const absl::StatusOr<std::string> ptx = MakeTaskKernels(test_, kTaskInstances);
  if (!ptx.ok()) return ptx.status();
  absl::Status status = MapAll(Bytes(kTaskInstances * kLitmusStride));
  status.Update(status.ok() ? Load(*ptx) : status);
  kernels_.resize(program_.threads.size());
  constant_memory_.resize(program_.threads.size());
  for (size_t t = 0; status.ok() && t < program_.threads.size(); ++t) {
    const Thread& task = program_.threads[t];
    if (task.kind == Thread::kLaunch) {
      const absl::StatusOr<Kernel> kernel = executor_.GetKernel(module_, absl::StrCat("task", t));
      if (!kernel.ok()) return kernel.status();
      kernels_[t] = *kernel;
    } else if (task.kind == Thread::kCopy && task.instructions.size() == 1) {
      const Bytes size(kTaskInstances * kLitmusStride);
      const absl::StatusOr<std::vector<DeviceAddress>> memory = memory_.New(size, 1);
      if (!memory.ok()) return memory.status();
      constant_memory_[t] = memory->front();
      const auto value = static_cast<uint32_t>(task.instructions[0].value.constant);
      status =
          executor_.Fill(kDevice, memory->front(), FillPattern{value, Bytes(4)}, size.value() / 4);
    }
  }
  for (size_t i = 0; status.ok() && i < program_.threads.size() + 2; ++i) {
    const absl::StatusOr<Stream> stream = executor_.CreateStream(kDevice);
    if (!stream.ok()) return stream.status();
    streams_.push_back(*stream);
    const absl::StatusOr<Event> event = executor_.CreateEvent(kDevice);
    if (!event.ok()) return event.status();
    events_.push_back(*event);
  }
  return status.ok() ? executor_.SynchronizeDevice(kDevice) : status;
}

absl::Status Player::LaunchTask(size_t t, uint32_t delay) {
  const Thread& task = program_.threads[t];
  const Stream stream = streams_[stream_of_[t]];
  const Bytes size(kTaskInstances * kLitmusStride);
  const coherence::Instruction* last =
      task.instructions.empty() ? nullptr : &task.instructions.back();
  if (task.kind == Thread::kFill) {
    const auto value = static_cast<uint32_t>(last->value.constant);
    return executor_.Fill(stream, bases_[last->address], FillPattern{value, Bytes(4)},
                          size.value() / 4);
  }
  if (task.kind == Thread::kCopy) {
    const DeviceAddress source = task.instructions.size() == 1
                                     ? constant_memory_[t]
                                     : bases_[task.instructions.front().address];
    return executor_.CopyDeviceToDevice(stream, bases_[last->address], source, size);
  }
  std::vector<const void*> arguments = {&control_, &delay};
  for (const DeviceAddress& base : bases_) arguments.push_back(&base);
  LaunchConfig config;
  config.grid.x = kTaskBlocks;
  config.block.x = kTaskThreads;
  return executor_.Launch(stream, kernels_[t], config, arguments);
}

absl::Status Player::AwaitStart(int task) {
  const Stream look = streams_.back();
  const auto begin = std::chrono::steady_clock::now();
  uint32_t started = 0;
  while (started == 0) {
    absl::Status status = executor_.CopyDeviceToHost(
        look, &started, control_ + Bytes(LitmusControl::kStarted + 4 * static_cast<uint64_t>(task)),
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

absl::Status Player::Issue(size_t t, uint32_t delay) {
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
  const absl::Status launched = LaunchTask(t, delay);
  return launched.ok() ? executor_.RecordEvent(events_[t], streams_[stream_of_[t]]) : launched;
}

absl::Status Player::PlayTurn(uint32_t delays) {
  const Stream reset = streams_[program_.threads.size()];
  const uint64_t words = kTaskInstances * kLitmusStride / 4;
  absl::Status status;
  for (size_t location = 0; status.ok() && location < program_.locations.size(); ++location) {
    const auto initial = static_cast<uint32_t>(program_.locations[location].initial);
    status = executor_.Fill(reset, FirstAddressOf(static_cast<int>(location)),
                            FillPattern{initial, Bytes(4)}, words);
  }
  if (status.ok()) {
    status = executor_.Fill(reset, control_ + Bytes(LitmusControl::kStarted),
                            FillPattern{0, Bytes(4)}, coherence::kMaxThreads);
  }
  if (status.ok()) status = executor_.SynchronizeStream(reset);
  std::vector<bool> issued(program_.threads.size(), false);
  for (size_t left = program_.threads.size(); status.ok() && left > 0;) {
    const size_t before = left;
    for (size_t i = 0; status.ok() && i < program_.threads.size(); ++i) {
      // From either end, so that what is not ordered comes in both orders.
      const size_t t = (delays & 1) == 0 ? i : program_.threads.size() - 1 - i;
      const Thread& task = program_.threads[t];
      const auto is_issued = [&](int other) { return static_cast<bool>(issued[other]); };
      if (issued[t] || !std::all_of(task.after.begin(), task.after.end(), is_issued) ||
          !std::all_of(task.after_start.begin(), task.after_start.end(), is_issued)) {
        continue;
      }
      // Up to 15000 clocks, about 8 microseconds.
      status = Issue(t, (delays >> (2 * t % 24) & 3) * 5000);
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

absl::Status Player::CountTurn(LitmusCounts* counts) {
  std::vector<std::vector<uint32_t>> values;
  for (size_t i = 0; i < test_.observables.size(); ++i) {
    const Observable& observable = test_.observables[i];
    const bool memory = observable.thread < 0;
    const DeviceAddress from =
        memory ? FirstAddressOf(observable.index)
               : control_ + Bytes(LitmusControl::kRegisters + 4 * i * kTaskInstances);
    const uint64_t stride = memory ? kLitmusStride / 4 : 1;
    std::vector<uint32_t> words(kTaskInstances * stride);
    const absl::Status status =
        executor_.CopyDeviceToHost(kDevice, words.data(), from, Bytes(4 * words.size()));
    if (!status.ok()) return status;
    values.emplace_back();
    for (uint32_t instance = 0; instance < kTaskInstances; ++instance) {
      values.back().push_back(words[instance * stride]);
    }
  }
  for (uint32_t instance = 0; instance < kTaskInstances; ++instance) {
    Outcome outcome;
    for (const std::vector<uint32_t>& of : values) outcome.push_back(of[instance]);
    ++counts->outcomes[outcome];
  }
  counts->rounds += kTaskInstances;
  return absl::OkStatus();
}

absl::StatusOr<LitmusCounts> Player::PlayTasks(uint64_t rounds, uint32_t seed) {
  absl::Status status = PrepareTasks();
  if (!status.ok()) return status;
  LitmusCounts result;
  uint32_t random = seed;
  while (result.rounds < rounds) {
    random = random * 1664525 + 1013904223;
    status = PlayTurn(random >> 8);
    if (status.ok()) status = CountTurn(&result);
    if (!status.ok()) return status;
  }
  const absl::StatusOr<uint32_t> late = ReadWord(control_ + Bytes(LitmusControl::kErrors));
  if (!late.ok()) return late.status();
  result.late = *late;
  return result;
}

}  // namespace

absl::StatusOr<LitmusCounts> PlayLitmus(Driver& driver, const LitmusTest& test, uint64_t rounds,
                                        uint32_t seed) {
  if (test.multicast) {
    return absl::UnimplementedError("multicast objects are never made on hardware");
  }
  const absl::StatusOr<Vmm*> vmm = driver.vmm();
  if (!vmm.ok()) return vmm.status();
  const absl::StatusOr<Executor*> executor = driver.executor();
  if (!executor.ok()) return executor.status();
  Player player(**vmm, **executor, test);
  return test.host ? player.PlayTasks(rounds, seed) : player.PlayThreads(rounds, seed);
}

}  // namespace twinmmu
