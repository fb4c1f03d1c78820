#include "conformance/mutants/host_kernels.h"

#include <algorithm>
#include <cctype>
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

CALL_LoadModule(HostKernels::) {
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

CALL_UnloadModule(HostKernels::) {
  const std::lock_guard lock(mutex_);
  return modules_.erase(module.value()) == 1 ? Ok() : Refuse(DriverCode::kInvalidHandle);
}

CALL_GetKernel(HostKernels::) {
  const std::lock_guard lock(mutex_);
  const bool has_it =
      absl::StrContains(modules_[module.value()], absl::StrCat(".entry ", name, "("));
  if (!has_it) return Refuse(DriverCode::kNotFound);
  kernels_[++last_] = std::string(name);
  return Kernel(module.device(), last_);
}

CALL_Launch(HostKernels::) {
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
  if (Run(name, stream.device(), Arguments{arguments}).ok()) return Ok();
  lock.lock();
  faulted_ = true;
  return Ok();
}

absl::Status HostKernels::Context() {
  const std::lock_guard lock(mutex_);
  return faulted_ ? Refuse(DriverCode::kIllegalAddress) : Ok();
}

absl::Status HostKernels::Load(DeviceOrdinal device, uint64_t address, void* value, size_t size) {
  return Real::Read({device, std::nullopt}, value, DeviceAddress(address), Bytes(size));
}

absl::Status HostKernels::Store(DeviceOrdinal device, uint64_t address, const void* value,
                                size_t size) {
  return Real::Write({device, std::nullopt}, DeviceAddress(address), value, Bytes(size));
}

absl::Status HostKernels::Run(const std::string& name, DeviceOrdinal device,
                              const Arguments& arguments) {
  if (name == "twinmmu_fill") return RunFill(device, arguments);
  if (name == "twinmmu_verify") return RunVerify(device, arguments);
  if (absl::StartsWith(name, "twinmmu_alias")) return RunAlias(device, arguments);
  absl::Status status;
  if (name == "twinmmu_verify_reset") {
    const VerifyResult none{0, kNoMismatch};
    status = Store(device, arguments.Word(0), &none, sizeof(none));
  } else if (name == "twinmmu_store32") {
    const uint32_t value = arguments.Half(1);
    status = Store(device, arguments.Word(0), &value, sizeof(value));
  } else if (name == "twinmmu_load32") {
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

absl::Status HostKernels::RunFill(DeviceOrdinal device, const Arguments& arguments) {
  std::vector<uint32_t> words(arguments.Word(1));
  const FillKey key = MakeFillKey(arguments.Word(2));
  for (uint64_t i = 0; i < words.size(); ++i) words[i] = FillWord(key, i);
  return Store(device, arguments.Word(0), words.data(), words.size() * sizeof(uint32_t));
}

absl::Status HostKernels::RunVerify(DeviceOrdinal device, const Arguments& arguments) {
  std::vector<uint32_t> words(arguments.Word(1));
  absl::Status status =
      Load(device, arguments.Word(0), words.data(), words.size() * sizeof(uint32_t));
  const FillKey key = MakeFillKey(arguments.Word(2));
  VerifyResult result{0, kNoMismatch};
  for (uint64_t i = 0; i < words.size(); ++i) {
    if (words[i] == FillWord(key, i)) continue;
    if (result.mismatches++ == 0) result.first_index = i;
  }
  if (status.ok()) status = Store(device, arguments.Word(3), &result, sizeof(result));
  return status;
}

// Copies see each other at once, so what is stale or wrong here is the machine's fault. Rounds
// beyond the first thousand would be like those: they are counted, and not done.
absl::Status HostKernels::RunAlias(DeviceOrdinal device, const Arguments& arguments) {
  uint32_t value = 0;
  AliasResult result{0, 0, 0};
  absl::Status status = Load(device, arguments.Word(1), &value, sizeof(value));
  const uint64_t rounds = arguments.Word(2);
  for (; result.rounds < std::min(rounds, uint64_t{1000}) && status.ok(); ++result.rounds) {
    const uint32_t written = value + 1;
    uint32_t read = 0;
    status.Update(Store(device, arguments.Word(0), &written, sizeof(written)));
    status.Update(Load(device, arguments.Word(1), &read, sizeof(read)));
    if (read == value) ++result.stale;
    if (read != value && read != written) ++result.wrong;
    value = written;
  }
  value += static_cast<uint32_t>(rounds - result.rounds);
  result.rounds = rounds;
  if (status.ok()) status = Store(device, arguments.Word(0), &value, sizeof(value));
  if (status.ok()) status = Store(device, arguments.Word(4), &result, sizeof(result));
  return status;
}

CALL_Write(HostKernels::) {
  const absl::Status working = Context();
  return working.ok() ? Real::Write(work, destination, source, size) : working;
}
CALL_Read(HostKernels::) {
  const absl::Status working = Context();
  return working.ok() ? Real::Read(work, destination, source, size) : working;
}
CALL_Move(HostKernels::) {
  const absl::Status working = Context();
  return working.ok() ? Real::Move(work, destination, source, size) : working;
}
CALL_Set(HostKernels::) {
  const absl::Status working = Context();
  return working.ok() ? Real::Set(work, destination, pattern, count) : working;
}
CALL_CreateStream(HostKernels::) {
  const absl::Status working = Context();
  if (!working.ok()) return working;
  return Real::CreateStream(device);
}
CALL_SynchronizeStream(HostKernels::) {
  const absl::Status working = Context();
  return working.ok() ? Real::SynchronizeStream(stream) : working;
}
CALL_SynchronizeDevice(HostKernels::) {
  const absl::Status working = Context();
  return working.ok() ? Real::SynchronizeDevice(device) : working;
}
CALL_GetMemoryInfo(HostKernels::) {
  const absl::Status working = Context();
  if (!working.ok()) return working;
  return Real::GetMemoryInfo(device);
}
CALL_GetAddressRange(HostKernels::) {
  const absl::Status working = Context();
  if (!working.ok()) return working;
  return Real::GetAddressRange(device, address);
}

}  // namespace twinmmu::conformance
