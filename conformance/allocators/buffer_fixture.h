// BufferTest: the fixture of the tests of buffers that get their memory page by page.

#ifndef TWINMMU_CONFORMANCE_ALLOCATORS_BUFFER_FIXTURE_H_
#define TWINMMU_CONFORMANCE_ALLOCATORS_BUFFER_FIXTURE_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "conformance/allocators/failure_fixture.h"
#include "conformance/allocators/failure_sweep.h"

namespace twinmmu::conformance {

// Buffers work through faulty_vmm() and faulty_executor(). The checks of the fixture use the
// implementation itself.
class BufferTest : public FailureTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Of device(), for what goes through faulty_vmm().
  void SetMemoryBudget(Bytes total) { faulty_vmm().SetMemoryBudget(device(), total); }

  // A stream of device(), destroyed after the test, and an event.
  Stream stream() const { return *stream_; }
  Event event() const { return *event_; }
  // Of accessors(), the last: device() itself where it has no peer.
  DeviceOrdinal Peer() const { return accessors().back(); }

  // Page `number` of the buffer at `base`.
  AddressRange Page(DeviceAddress base, uint64_t number) const;
  // Gives the page contents that ExpectHolds knows again: its first and last bytes.
  void Write(const AddressRange& page, uint8_t byte);
  void ExpectHolds(const AddressRange& page, uint8_t byte);
  void ExpectAccess(const AddressRange& page, DeviceOrdinal device, Access access);
  void ExpectUnmapped(const AddressRange& page);
  // Gives stream() work that fills the page's first bytes again and again, the last time with
  // `byte`: where work runs at the latest moment, asking once or twice does not finish it.
  void Queue(const AddressRange& page, uint8_t byte);
  // Whether what Queue gave certainly is not done before somebody waits for it.
  bool WorkIsLate() const { return traits().work_timing == WorkTiming::kAtTheLatestMoment; }

  // As FailureSweep. Expects also that each run returns all memory.
  void FailEachCall(const std::function<void()>& scenario);
  absl::Status WithFailure(const std::function<absl::Status()>& operation) {
    return sweep_.WithFailure(operation);
  }

 private:
  FailureSweep sweep_{&faults()};
  std::optional<Stream> stream_;
  std::optional<Event> event_;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_ALLOCATORS_BUFFER_FIXTURE_H_
