// BufferTest: the fixture of the tests of buffers that get their memory page by page.

#ifndef TWINMMU_CONFORMANCE_ALLOCATORS_BUFFER_FIXTURE_H_
#define TWINMMU_CONFORMANCE_ALLOCATORS_BUFFER_FIXTURE_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "api/testing/fault_injecting_executor.h"
#include "api/testing/fault_injecting_vmm.h"
#include "api/testing/fault_plan.h"
#include "conformance/allocators/fixture.h"

namespace twinmmu::conformance {

// Buffers work through failing_vmm() and failing_executor(), where calls fail as faults() says. The
// checks of the fixture use the implementation itself.
class BufferTest : public AllocatorTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  Vmm* failing_vmm() { return &*failing_vmm_; }
  Executor* failing_executor() { return &*failing_executor_; }
  FaultPlan& faults() { return faults_; }

  // Of device(), for what goes through failing_vmm().
  void SetMemoryBudget(Bytes total) { failing_vmm_->SetMemoryBudget(device(), total); }

  // A stream of device(), destroyed after the test, and an event.
  Stream stream() const { return stream_; }
  Event event() const { return event_; }

  // Page `number` of the buffer at `base`.
  AddressRange Page(DeviceAddress base, uint64_t number) const;
  // Gives the page contents that ExpectHolds knows again: its first and last bytes.
  void Write(const AddressRange& page, uint8_t byte);
  void ExpectHolds(const AddressRange& page, uint8_t byte);
  void ExpectRight(const AddressRange& page, DeviceOrdinal device, Access access);
  void ExpectUnmapped(const AddressRange& page);
  // Gives stream() work that fills the page's first bytes again and again, the last time with
  // `byte`: where work runs at the latest moment, asking once or twice does not finish it.
  void Queue(const AddressRange& page, uint8_t byte);
  // Whether what Queue gave certainly is not done before somebody waits for it.
  bool WorkIsLate() const { return traits().work_timing == WorkTiming::kAtTheLatestMoment; }
  // Where nobody else uses the devices: this much of what was free before the test is not free now.
  void ExpectTaken(Bytes expected);

  // Runs `scenario` on and on; where it calls WithFailure, the first driver call fails in the first
  // run, the second in the second, until there is none left. Expects that there is at least one.
  void FailEachCall(const std::function<void()>& scenario);
  absl::Status WithFailure(const std::function<absl::Status()>& operation);

 private:
  FaultPlan faults_;
  std::optional<FaultInjectingVmm> failing_vmm_;
  std::optional<FaultInjectingExecutor> failing_executor_;
  Stream stream_;
  Event event_;
  Bytes free_before_;
  uint64_t failing_call_ = 0;
  bool failed_ = false;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_ALLOCATORS_BUFFER_FIXTURE_H_
