// QueuedWorkTest: the fixture of tests about work that is not done when its call returns.

#ifndef TWINMMU_CONFORMANCE_QUEUE_FIXTURE_H_
#define TWINMMU_CONFORMANCE_QUEUE_FIXTURE_H_

#include "conformance/child_checks.h"
#include "conformance/kernel_fixture.h"

namespace twinmmu::conformance {

// All of the reservation is mapped read-write. mapping() is for the work of the test, the granule
// memory() of it where one is enough; the granule spare() is of another mapping.
//
// A stream that a kernel keeps busy has certainly not come to the work behind it. Where the target
// declares when work runs, that is certain instead (Traits::work_timing).
class QueuedWorkTest : public KernelTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  // A stream of device 0, destroyed after the test.
  Stream stream() const { return stream_; }
  AddressRange memory() const { return Granules(0, 1); }
  AddressRange spare() const { return Granules(5, 1); }

  // What `stream` is given after this waits for a long kernel, unless it is declared when it runs.
  absl::Status KeepBusy(Stream stream);

  enum class Certainty { kQueued, kDone };
  // What is known of work given to a stream behind KeepBusy before anybody waits for it.
  Certainty certainty() const;
  // Asserts that, by a query of the stream.
  void ExpectQueued(Stream stream);
  // The fate of such work when what it needs is taken from it: OK if it was done by then, otherwise
  // ILLEGAL_ADDRESS.
  DriverCode Fate() const;

  // Fills all of `range`.
  absl::Status FillAll(Stream stream, const AddressRange& range, uint32_t byte);
  void ExpectFilled(const AddressRange& range, uint8_t byte);

  // For a child: the code that a fault gave sticks to all that needs the context, and to nothing
  // else. `expected`: that code, or OK, if there was no fault.
  void CheckContext(ChildChecks& checks, DriverCode expected);

 private:
  Stream stream_;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_QUEUE_FIXTURE_H_
