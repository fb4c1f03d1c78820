// Checkpoints. A process may lock, checkpoint and restore itself; the memory of a simulated device
// is the process's own, stays where it is, and keeps its contents and addresses. Codes and states
// are those of an H100 with driver 580.159. Of another process nothing can be held from here: calls
// about one are NOT_SUPPORTED.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "sim/calls/linear/managed_calls.h"
#include "sim/libcuda/calls/checkpoints/checkpoints.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "third_party/cuda_abi/checkpoint_abi.h"

namespace twinmmu::libcuda {
namespace {

// Calls body(), for calls about a process: this one.
template <typename Body>
CUresult EnterOwnProcess(const CallSite& site, int pid, const Body& body) {
  return EnterAlways(site, [&]() -> CUresult {
    if (pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH)) {
      return ToResult(DriverCode::kOperatingSystem);
    }
    if (pid != getpid()) {
      return ToResult(NotSimulated(site, "checkpoints of other processes"));
    }
    const DriverCode admitted = AdmitInHostFunction(site);
    if (admitted != DriverCode::kSuccess) return ToResult(admitted);
    const Process& process = Process::Get();
    if (process.driver() == nullptr || process.IsForked()) {
      return ToResult(DriverCode::kNotInitialized);
    }
    if (kSymbols[site.symbol].version > process.driver_version()) {
      return ToResult(
          Misused(site, DiagnosticKind::kUnsupportedByProfile, DriverCode::kNotSupported));
    }
    return ToResult(body(*process.driver()));
  });
}

DriverCode Change(CheckpointState from, CheckpointState to) {
  return Checkpoints::Get().Change(from, to) ? DriverCode::kSuccess : DriverCode::kIllegalState;
}

std::vector<DeviceOrdinal> DevicesOf(DriverState& driver) {
  std::vector<DeviceOrdinal> devices;
  const int count = driver.simulator->profile().device_count();
  for (int device = 0; device < count; ++device) devices.emplace_back(device);
  return devices;
}

// An error of the work is for whoever waits for it.
bool IsWorkDone(DriverState& driver) {
  std::vector<Stream> streams;
  driver.streams.streams.ForEach([&](uint64_t id, const StreamRecord& record) {
    streams.emplace_back(record.context->device, id);
  });
  for (const DeviceOrdinal device : DevicesOf(driver)) streams.emplace_back(device);
  return std::all_of(streams.begin(), streams.end(), [&](Stream stream) {
    const absl::StatusOr<bool> done = driver.executor.QueryStream(stream);
    return !done.ok() || *done;
  });
}

// False: it is not done in time. Without a limit, work that would never be done is none.
bool WaitForWork(DriverState& driver, std::chrono::milliseconds most) {
  if (most.count() == 0) {
    for (const DeviceOrdinal device : DevicesOf(driver)) {
      driver.executor.SynchronizeDevice(device).IgnoreError();
    }
    return true;
  }
  const auto end = std::chrono::steady_clock::now() + most;
  while (!IsWorkDone(driver)) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace

extern "C" CUresult cuCheckpointProcessGetState(int pid, CUprocessState* state) {
  return EnterOwnProcess(TWINMMU_HERE, pid, [&](DriverState&) {
    if (state == nullptr) return DriverCode::kInvalidValue;
    *state = static_cast<CUprocessState>(Checkpoints::Get().state());
    return DriverCode::kSuccess;
  });
}

// A driver has a thread for it; the program may not wait for that one. Here no thread is needed,
// and the first one stands for it.
extern "C" CUresult cuCheckpointProcessGetRestoreThreadId(int pid, int* thread) {
  return EnterOwnProcess(TWINMMU_HERE, pid, [&](DriverState&) {
    if (thread == nullptr) return DriverCode::kInvalidValue;
    *thread = pid;
    return DriverCode::kSuccess;
  });
}

// Calls of other threads that are under way are not waited for: they have no part in what follows.
extern "C" CUresult cuCheckpointProcessLock(int pid, CUcheckpointLockArgs* args) {
  return EnterOwnProcess(TWINMMU_HERE, pid, [&](DriverState& driver) {
    if (args != nullptr && (args->reserved0 != 0 || !AreZero(args->reserved1))) {
      return DriverCode::kInvalidValue;
    }
    const DriverCode locked = Change(CheckpointState::kRunning, CheckpointState::kLocked);
    if (locked != DriverCode::kSuccess) return locked;
    // Nothing stays locked where there is no memory to wait with.
    absl::Cleanup unlock = [] { Change(CheckpointState::kLocked, CheckpointState::kRunning); };
    const std::chrono::milliseconds most(args == nullptr ? 0 : args->timeoutMs);
    if (!WaitForWork(driver, most)) return DriverCode::kNotReady;
    std::move(unlock).Cancel();
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuCheckpointProcessCheckpoint(int pid, CUcheckpointCheckpointArgs* args) {
  return EnterOwnProcess(TWINMMU_HERE, pid, [&](DriverState& driver) {
    if (args != nullptr && !AreZero(args->reserved)) return DriverCode::kInvalidValue;
    if (Checkpoints::Get().state() == CheckpointState::kLocked &&
        driver.simulator->managed().HasMemory()) {
      return DriverCode::kNotSupported;
    }
    return Change(CheckpointState::kLocked, CheckpointState::kCheckpointed);
  });
}

extern "C" CUresult cuCheckpointProcessRestore(int pid, CUcheckpointRestoreArgs* args) {
  const CallSite site = TWINMMU_HERE;
  return EnterOwnProcess(site, pid, [&](DriverState&) {
    if (args != nullptr) {
      if (!AreZero(args->reserved) || args->reserved1 != 0) return DriverCode::kInvalidValue;
      if (args->gpuPairsCount != 0 && args->gpuPairs == nullptr) return NullPointer(site);
      if (args->gpuPairsCount != 0) return NotSimulated(site, "other devices than before");
    }
    return Change(CheckpointState::kCheckpointed, CheckpointState::kLocked);
  });
}

extern "C" CUresult cuCheckpointProcessUnlock(int pid, CUcheckpointUnlockArgs* args) {
  return EnterOwnProcess(TWINMMU_HERE, pid, [&](DriverState&) {
    if (args != nullptr && !AreZero(args->reserved)) return DriverCode::kInvalidValue;
    return Change(CheckpointState::kLocked, CheckpointState::kRunning);
  });
}

}  // namespace twinmmu::libcuda
