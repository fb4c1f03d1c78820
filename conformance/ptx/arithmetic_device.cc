#include "conformance/ptx/arithmetic_device.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace twinmmu::conformance {
namespace {

constexpr DeviceOrdinal kDevice(0);
constexpr Bytes kMemory = MiB(2);  // for the inputs, and as much for the results
constexpr size_t kBatch = 64;      // cases of a module

class Recorder {
 public:
  Recorder(Vmm& vmm, Executor& executor,
           std::function<void(const ArithmeticCase&, absl::string_view)> refused)
      : vmm_(vmm), executor_(executor), refused_(std::move(refused)) {}
  ~Recorder() { Free(); }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  absl::Status Allocate() {
    AllocationProperties properties;
    properties.location = Location::Device(kDevice);
    absl::StatusOr<AddressRange> range = vmm_.AddressReserve(2 * kMemory);
    if (!range.ok()) return range.status();
    range_ = *range;
    absl::StatusOr<AllocationHandle> handle = vmm_.Create(2 * kMemory, properties);
    if (!handle.ok()) return handle.status();
    absl::Status status = vmm_.Map(range_, *handle);
    mapped_ = status.ok();
    status.Update(vmm_.Release(*handle));
    const AccessGrant grant{Location::Device(kDevice), Access::kReadWrite};
    if (status.ok()) status = vmm_.SetAccess(range_, {&grant, 1});
    return status;
  }

  // A module that does not compile is tried again in halves.
  absl::Status Record(absl::Span<const ArithmeticCase> cases) {
    const absl::StatusOr<Module> module = executor_.LoadModule(kDevice, KernelsOf(cases));
    if (!module.ok()) return Refused(cases, module.status());
    for (size_t i = 0; i < cases.size(); ++i) {
      const absl::StatusOr<Kernel> kernel = executor_.GetKernel(*module, absl::StrCat("case_", i));
      if (!kernel.ok()) return kernel.status();
      const absl::Status status = Run(*kernel, cases[i]);
      if (!status.ok()) return status;
    }
    return executor_.UnloadModule(*module);
  }

  ArithmeticRecording Take() { return std::move(recording_); }

 private:
  absl::Status Refused(absl::Span<const ArithmeticCase> cases, const absl::Status& reason) {
    if (reason.code() != absl::StatusCode::kInvalidArgument) return reason;
    if (cases.size() == 1) {
      refused_(cases[0], reason.message());
      recording_.refused.push_back(cases[0].name);
      return absl::OkStatus();
    }
    const size_t half = cases.size() / 2;
    const absl::Status status = Record(cases.first(half));
    return status.ok() ? Record(cases.subspan(half)) : status;
  }

  absl::Status Run(Kernel kernel, const ArithmeticCase& arithmetic) {
    std::vector<uint64_t> inputs;
    for (const std::vector<uint64_t>& values : arithmetic.inputs) {
      inputs.insert(inputs.end(), values.begin(), values.end());
    }
    const uint64_t trials = static_cast<uint64_t>(arithmetic.trials);
    uint64_t written = 0;
    for (int i = 0; i < arithmetic.operand_count(); ++i) {
      written += arithmetic.operand(i).written ? trials : 0;
    }
    std::vector<uint64_t> results(written);
    const Bytes input_size(inputs.size() * sizeof inputs[0]);
    const Bytes result_size(written * sizeof results[0]);
    if (std::max(input_size, result_size) > kMemory) {
      return absl::InternalError(absl::StrCat(arithmetic.name, " has too many trials"));
    }
    const uint64_t from = range_.base.value();
    const uint64_t to = (range_.base + kMemory).value();
    const void* arguments[] = {&from, &to};
    LaunchConfig config;
    config.grid.x = static_cast<uint32_t>((trials + kCaseThreads - 1) / kCaseThreads);
    config.block.x = kCaseThreads;
    absl::Status status =
        executor_.CopyHostToDevice(kDevice, range_.base, inputs.data(), input_size);
    if (status.ok()) status = executor_.Launch(Stream(kDevice), kernel, config, arguments);
    if (status.ok()) {
      status =
          executor_.CopyDeviceToHost(kDevice, results.data(), range_.base + kMemory, result_size);
    }
    if (status.ok()) status = executor_.SynchronizeDevice(kDevice);
    if (!status.ok()) return status;
    Keep(arithmetic, results);
    return absl::OkStatus();
  }

  void Keep(const ArithmeticCase& arithmetic, const std::vector<uint64_t>& results) {
    RecordedCase& recorded = recording_.cases.emplace_back();
    recorded.name = arithmetic.name;
    recorded.inputs_hash = HashOfInputs(arithmetic);
    auto next = results.begin();
    for (int i = 0; i < arithmetic.operand_count(); ++i) {
      const auto end = next + (arithmetic.operand(i).written ? arithmetic.trials : 0);
      recorded.results.emplace_back(next, end);
      next = end;
    }
  }

  void Free() {
    // An error is of no use any more: the recording is there, or the device is lost.
    if (mapped_) vmm_.Unmap(range_).IgnoreError();
    if (range_.size > Bytes(0)) vmm_.AddressFree(range_).IgnoreError();
  }

  Vmm& vmm_;
  Executor& executor_;
  const std::function<void(const ArithmeticCase&, absl::string_view)> refused_;
  AddressRange range_;
  bool mapped_ = false;
  ArithmeticRecording recording_;
};

}  // namespace

absl::StatusOr<ArithmeticRecording> RecordArithmetic(
    Driver& driver, absl::Span<const ArithmeticCase> cases,
    const std::function<void(const ArithmeticCase&, absl::string_view)>& refused) {
  const absl::StatusOr<Vmm*> vmm = driver.vmm();
  if (!vmm.ok()) return vmm.status();
  const absl::StatusOr<Executor*> executor = driver.executor();
  if (!executor.ok()) return executor.status();
  Recorder recorder(**vmm, **executor, refused);
  absl::Status status = recorder.Allocate();
  for (size_t first = 0; first < cases.size() && status.ok(); first += kBatch) {
    status = recorder.Record(cases.subspan(first, kBatch));
  }
  const absl::StatusOr<std::string> device = (*vmm)->GetDeviceName(kDevice);
  const absl::StatusOr<int> version = (*vmm)->GetDriverVersion();
  status.Update(device.status());
  status.Update(version.status());
  if (!status.ok()) return status;
  ArithmeticRecording recording = recorder.Take();
  recording.device = *device;
  recording.driver_version = *version;
  recording.date = absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone());
  return recording;
}

}  // namespace twinmmu::conformance
