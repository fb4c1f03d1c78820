#include "conformance/litmus/litmus_device.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "conformance/litmus/litmus_placement.h"
#include "conformance/litmus/litmus_play.h"
#include "conformance/litmus/litmus_stage.h"

namespace twinmmu {
namespace {

// The first devices, as many as the test has GPUs, if all of them can reach each other's memory.
absl::StatusOr<std::vector<DeviceOrdinal>> ChooseDevices(Vmm& vmm,
                                                         const coherence::Program& program) {
  const size_t needed = CountDevices(program);
  std::vector<DeviceOrdinal> devices = {DeviceOrdinal(0)};
  if (needed == 1) return devices;
  const absl::StatusOr<int> count = vmm.GetDeviceCount();
  if (!count.ok()) return count.status();
  if (static_cast<size_t>(*count) < needed) {
    return absl::UnimplementedError(
        absl::StrCat("it needs ", needed, " GPUs that share memory; here is ", *count));
  }
  for (size_t i = 1; i < needed; ++i) {
    const DeviceOrdinal added(static_cast<int>(i));
    for (const DeviceOrdinal device : devices) {
      for (const auto& [from, to] : {std::pair(device, added), std::pair(added, device)}) {
        const absl::StatusOr<bool> can = vmm.CanAccessPeer(from, to);
        if (!can.ok()) return can.status();
        if (*can) continue;
        return absl::UnimplementedError(
            absl::StrCat("it needs ", needed, " GPUs that share memory; device ", from.value(),
                         " cannot reach device ", to.value()));
      }
    }
    devices.push_back(added);
  }
  return devices;
}

}  // namespace

absl::StatusOr<LitmusCounts> PlayLitmus(Driver& driver, const coherence::LitmusTest& test,
                                        const LitmusPlay& play) {
  const absl::Status can_run = CheckCanRun(test);
  if (!can_run.ok()) return can_run;
  const absl::StatusOr<Vmm*> vmm = driver.vmm();
  if (!vmm.ok()) return vmm.status();
  const absl::StatusOr<Executor*> executor = driver.executor();
  if (!executor.ok()) return executor.status();
  Multicast* multicast = nullptr;
  if (test.multicast) {
    const absl::StatusOr<Multicast*> found = driver.multicast();
    if (!found.ok()) return found.status();
    multicast = *found;
  }
  absl::StatusOr<std::vector<DeviceOrdinal>> devices = ChooseDevices(**vmm, test.program);
  if (!devices.ok()) return devices.status();
  LitmusStage stage(**vmm, **executor, multicast, test, *std::move(devices));
  absl::StatusOr<LitmusCounts> counts =
      test.host ? PlayTasks(stage, play) : PlayThreads(stage, play);
  if (!counts.ok()) return counts;
  uint64_t counted = 0;
  for (const auto& [outcome, count] : counts->outcomes) counted += count;
  // A device counts with 32 bits.
  if (static_cast<uint32_t>(counted) == static_cast<uint32_t>(counts->rounds)) return counts;
  return absl::InternalError(
      absl::StrCat("of ", counts->rounds, " rounds, ", counted, " were counted"));
}

}  // namespace twinmmu
