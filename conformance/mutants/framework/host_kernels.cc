#include "conformance/mutants/framework/host_kernels.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "kernels/common.h"

namespace twinmmu::conformance {

struct HostKernels::Arguments {
  absl::Span<const void* const> pointers;

  uint64_t Word(size_t index) const { return *static_cast<const uint64_t*>(pointers[index]); }
  uint32_t Half(size_t index) const { return *static_cast<const uint32_t*>(pointers[index]); }
};

CALL_OF(HostKernels, LoadModule) {
  if (!absl::StrContains(ptx, ".version")) return Refuse(DriverCode::kInvalidImage);
  for (const absl::string_view line : absl::StrSplit(ptx, '\n')) {
    // What stands at the start of a line is a directive, a brace, a comment or a label.
    if (line.empty() || std::isalpha(static_cast<unsigned char>(line[0])) == 0) continue;
    return MakeDriverStatus({DriverCode::kInvalidPtx, ErrorOrigin::kSimulator, "cuModuleLoadData"},
                            absl::StrCat("this is no directive: ", line));
  }
  const std::lock_guard lock(mutex_);
  modules_[++last_] = std::string(ptx);
  return Module(device, last_);
}

CALL_OF(HostKernels, UnloadModule) {
  const std::lock_guard lock(mutex_);
  return modules_.erase(module.value()) == 1 ? Ok() : Refuse(DriverCode::kInvalidHandle);
}

CALL_OF(HostKernels, GetKernel) {
  const std::lock_guard lock(mutex_);
  const bool has_it =
      absl::StrContains(modules_[module.value()], absl::StrCat(".entry ", name, "("));
  if (!has_it) return Refuse(DriverCode::kNotFound);
  kernels_[++last_] = std::string(name);
  return Kernel(module.device(), last_);
}

CALL_OF(HostKernels, Launch) {
  const absl::Status working = Context();
  if (!working.ok()) return working;
  for (const Dim3& size : {config.grid, config.block}) {
    if (size.x == 0 || size.y == 0 || size.z == 0) return Refuse();
  }
  const absl::Status ready = Real::SynchronizeStream(stream);  // what is before it comes first
  if (!ready.ok()) return ready;
  std::unique_lock lock(mutex_);
  const std::string name = kernels_[kernel.value()];
  lock.unlock();
  Fault(Run(name, stream, config, Arguments{arguments}));
  return Ok();
}

absl::Status HostKernels::Context() {
  const std::lock_guard lock(mutex_);
  return fault_ == DriverCode::kSuccess ? Ok() : Refuse(fault_);
}

void HostKernels::Fault(const absl::Status& status) {
  if (status.ok()) return;
  const std::lock_guard lock(mutex_);
  const bool misaligned = GetDriverCode(status) == DriverCode::kMisalignedAddress;
  fault_ = misaligned ? DriverCode::kMisalignedAddress : DriverCode::kIllegalAddress;
  obeying_.clear();
}

absl::Status HostKernels::Load(DeviceOrdinal device, uint64_t address, void* value, size_t size) {
  if (address % sizeof(uint32_t) != 0) return Refuse(DriverCode::kMisalignedAddress);
  return Real::Read(device, value, DeviceAddress(address), Bytes(size));
}

absl::Status HostKernels::Store(DeviceOrdinal device, uint64_t address, const void* value,
                                size_t size) {
  if (address % sizeof(uint32_t) != 0) return Refuse(DriverCode::kMisalignedAddress);
  return Real::Write(device, DeviceAddress(address), value, Bytes(size));
}

absl::Status HostKernels::Run(const std::string& name, Stream stream, const LaunchConfig& config,
                              const Arguments& arguments) {
  const DeviceOrdinal device = stream.device();
  if (name == "twinmmu_fill") return RunFill(device, arguments);
  if (name == "twinmmu_verify") return RunVerify(device, arguments);
  if (name == "twinmmu_count") {
    return RunCount(device, config.grid.x * config.block.x, arguments);
  }
  if (name == "twinmmu_alias_pair") return RunAliasPair(device, arguments);
  if (absl::StartsWith(name, "twinmmu_alias")) {
    const size_t result = name == "twinmmu_alias_block" ? 5 : 4;
    return RunAlias({device, arguments.Word(0), device, arguments.Word(1), arguments.Word(2),
                     arguments.Word(result)});
  }
  if (name == "twinmmu_obey") {
    const std::lock_guard lock(mutex_);
    obeying_.push_back({stream, arguments.Word(0), arguments.Word(1), 0, std::nullopt});
    return Ok();
  }
  if (name == "share") return RunShare(device, config, arguments);
  return RunWord(name, device, arguments);
}

// Of conformance/programmatic.cc, as are "write", "read" and "read_behind".
absl::Status HostKernels::RunShare(DeviceOrdinal device, const LaunchConfig& config,
                                   const Arguments& arguments) {
  std::vector<uint32_t> numbers;
  for (uint32_t block = 0; block < config.grid.x; ++block) {
    numbers.insert(numbers.end(), config.block.x, block);
  }
  return Store(device, arguments.Word(1), numbers.data(), numbers.size() * sizeof(uint32_t));
}

absl::Status HostKernels::RunWord(const std::string& name, DeviceOrdinal device,
                                  const Arguments& arguments) {
  absl::Status status;
  if (name == "twinmmu_verify_reset") {
    const VerifyResult none{0, kNoMismatch};
    status = Store(device, arguments.Word(0), &none, sizeof(none));
  } else if (name == "twinmmu_store32" || name == "write") {
    const uint32_t value = arguments.Half(1);
    status = Store(device, arguments.Word(0), &value, sizeof(value));
  } else if (name == "twinmmu_load32" || absl::StartsWith(name, "read")) {
    uint32_t value = 0;
    status = Load(device, arguments.Word(0), &value, sizeof(value));
    if (status.ok()) status = Store(device, arguments.Word(1), &value, sizeof(value));
  } else if (name == "twinmmu_atomic_add32") {
    uint32_t before = 0;
    status = Load(device, arguments.Word(0), &before, sizeof(before));
    const uint32_t after = before + arguments.Half(1);
    if (status.ok()) status = Store(device, arguments.Word(0), &after, sizeof(after));
    if (status.ok()) status = Store(device, arguments.Word(2), &before, sizeof(before));
  }
  return status;
}

namespace {

// Runs of words, by index.
struct Words {
  uint64_t first;
  uint64_t count;
};

// All words of a range; of a large one a page in each granule, and the last page: the host is no
// GPU.
std::vector<Words> WordsToDo(uint64_t count) {
  constexpr uint64_t kPage = 1024;
  constexpr uint64_t kStep = 512 * kPage;
  if (count <= 12 * kStep) return {{0, count}};
  std::vector<Words> sample;
  for (uint64_t at = 0; at < count - kPage; at += kStep) sample.push_back({at, kPage});
  sample.push_back({count - kPage, kPage});
  return sample;
}

}  // namespace

absl::Status HostKernels::RunFill(DeviceOrdinal device, const Arguments& arguments) {
  const FillKey key = MakeFillKey(arguments.Word(2));
  absl::Status status;
  for (const auto& [first, count] : WordsToDo(arguments.Word(1))) {
    std::vector<uint32_t> words(count);
    for (uint64_t i = 0; i < count; ++i) words[i] = FillWord(key, first + i);
    status.Update(Store(device, arguments.Word(0) + first * sizeof(uint32_t), words.data(),
                        count * sizeof(uint32_t)));
  }
  return status;
}

absl::Status HostKernels::RunVerify(DeviceOrdinal device, const Arguments& arguments) {
  const FillKey key = MakeFillKey(arguments.Word(2));
  absl::Status status;
  VerifyResult result{0, kNoMismatch};
  for (const auto& [first, count] : WordsToDo(arguments.Word(1))) {
    std::vector<uint32_t> words(count);
    status.Update(Load(device, arguments.Word(0) + first * sizeof(uint32_t), words.data(),
                       count * sizeof(uint32_t)));
    for (uint64_t i = 0; i < count; ++i) {
      if (words[i] == FillWord(key, first + i)) continue;
      if (result.mismatches++ == 0) result.first_index = first + i;
    }
  }
  if (status.ok()) status = Store(device, arguments.Word(3), &result, sizeof(result));
  return status;
}

absl::Status HostKernels::RunCount(DeviceOrdinal device, uint32_t threads,
                                   const Arguments& arguments) {
  absl::Status status;
  for (const size_t word : {0, 1}) {
    uint32_t value = 0;
    status.Update(Load(device, arguments.Word(word), &value, sizeof(value)));
    value += threads / 2 * arguments.Half(2);
    if (status.ok()) status = Store(device, arguments.Word(word), &value, sizeof(value));
  }
  return status;
}

absl::Status HostKernels::RunAliasPair(DeviceOrdinal device, const Arguments& arguments) {
  AliasTrial trial{
      device, arguments.Word(0), device, arguments.Word(1), arguments.Word(3), arguments.Word(7)};
  std::unique_lock lock(mutex_);
  const uint32_t role = arguments.Half(6);
  if (role == 1) {
    waiting_ = trial;
    return Ok();
  }
  if (role == 2) {
    if (!waiting_.has_value()) trial.rounds = 0;
    trial.writer = waiting_.value_or(trial).writer;
    trial.a = waiting_.value_or(trial).a;
    waiting_.reset();
  }
  lock.unlock();
  return RunAlias(trial);
}

// Copies see each other at once, so what is stale or wrong here is the machine's fault. Rounds
// beyond the first thousand would be like those: they are counted, and not done.
absl::Status HostKernels::RunAlias(const AliasTrial& trial) {
  uint32_t value = 0;
  AliasResult result{0, 0, 0};
  absl::Status status = Load(trial.reader, trial.b, &value, sizeof(value));
  for (; result.rounds < std::min(trial.rounds, uint64_t{1000}) && status.ok(); ++result.rounds) {
    const uint32_t written = value + 1;
    uint32_t read = 0;
    status.Update(Store(trial.writer, trial.a, &written, sizeof(written)));
    status.Update(Load(trial.reader, trial.b, &read, sizeof(read)));
    if (read == value) ++result.stale;
    if (read != value && read != written) ++result.wrong;
    value = written;
  }
  value += static_cast<uint32_t>(trial.rounds - result.rounds);
  result.rounds = trial.rounds;
  if (status.ok()) status = Store(trial.writer, trial.a, &value, sizeof(value));
  if (status.ok()) status = Store(trial.reader, trial.result, &result, sizeof(result));
  return status;
}

absl::Status HostKernels::RunRound(Obeying& kernel, Order order, OrderBoard& board) {
  const DeviceOrdinal device = kernel.stream.device();
  absl::Status status;
  board.seen = 0;
  if (order == Order::kLoadCached && kernel.cached.has_value()) {
    board.seen = *kernel.cached;
  } else if (order == Order::kLoad || order == Order::kLoadCached || order == Order::kAdd) {
    status = Load(device, kernel.word, &board.seen, sizeof(board.seen));
  }
  if (order == Order::kLoadCached && status.ok()) kernel.cached = board.seen;
  const uint32_t value = order == Order::kAdd ? board.seen + 1 : kernel.done;
  if (status.ok() && (order == Order::kStore || order == Order::kAdd)) {
    status = Store(device, kernel.word, &value, sizeof(value));
  }
  board.obeyed = static_cast<uint32_t>(order);
  board.rounds = ++kernel.done;
  if (status.ok()) {
    status = Store(device, kernel.board + offsetof(OrderBoard, rounds), &board.rounds,
                   sizeof(board) - offsetof(OrderBoard, rounds));
  }
  return status;
}

void HostKernels::MakeRounds() {
  std::unique_lock lock(mutex_);
  absl::Status status;
  for (Obeying& kernel : obeying_) {
    OrderBoard board = {};
    status.Update(Load(kernel.stream.device(), kernel.board, &board, sizeof(board)));
    const Order order = static_cast<Order>(board.order);
    if (status.ok() && order != Order::kStop) status = RunRound(kernel, order, board);
  }
  lock.unlock();
  Fault(status);
}

template <typename Predicate>
void HostKernels::EndKernels(Predicate ends) {
  MakeRounds();
  const std::lock_guard lock(mutex_);
  obeying_.erase(std::remove_if(obeying_.begin(), obeying_.end(), ends), obeying_.end());
}

CALL_OF(HostKernels, Write) {
  MakeRounds();
  const absl::Status working = Context();
  return working.ok() ? Real::Write(work, destination, source, size) : working;
}
CALL_OF(HostKernels, Read) {
  MakeRounds();
  const absl::Status working = Context();
  return working.ok() ? Real::Read(work, destination, source, size) : working;
}
CALL_OF(HostKernels, Move) {
  const absl::Status working = Context();
  return working.ok() ? Real::Move(work, destination, source, size) : working;
}
CALL_OF(HostKernels, Set) {
  const absl::Status working = Context();
  return working.ok() ? Real::Set(work, destination, pattern, count) : working;
}
CALL_OF(HostKernels, CreateStream) {
  const absl::Status working = Context();
  if (!working.ok()) return working;
  return Real::CreateStream(device);
}
CALL_OF(HostKernels, QueryStream) {
  MakeRounds();
  std::unique_lock lock(mutex_);
  for (const Obeying& kernel : obeying_) {
    if (kernel.stream == stream) return false;
  }
  lock.unlock();
  return Real::QueryStream(stream);
}
CALL_OF(HostKernels, SynchronizeStream) {
  EndKernels([&](const Obeying& kernel) { return kernel.stream == stream; });
  const absl::Status working = Context();
  return working.ok() ? Real::SynchronizeStream(stream) : working;
}
CALL_OF(HostKernels, SynchronizeDevice) {
  // Orders that are on their way come first.
  Real::SynchronizeDevice(device).IgnoreError();
  EndKernels([&](const Obeying& kernel) { return kernel.stream.device() == device; });
  const absl::Status working = Context();
  return working.ok() ? Real::SynchronizeDevice(device) : working;
}
CALL_OF(HostKernels, GetMemoryInfo) {
  const absl::Status working = Context();
  if (!working.ok()) return working;
  return Real::GetMemoryInfo(device);
}
CALL_OF(HostKernels, GetAddressRange) {
  const absl::Status working = Context();
  if (!working.ok()) return working;
  return Real::GetAddressRange(device, address);
}

}  // namespace twinmmu::conformance
