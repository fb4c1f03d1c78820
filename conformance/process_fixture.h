// ProcessTest: memory that is shared with other processes.

#ifndef TWINMMU_CONFORMANCE_PROCESS_FIXTURE_H_
#define TWINMMU_CONFORMANCE_PROCESS_FIXTURE_H_

#include <memory>
#include <vector>

#include "api/sharing/owned_descriptor.h"
#include "conformance/fixtures.h"
#include "conformance/other_process.h"

namespace twinmmu::conformance {

// The mark of a test that started another process.
inline constexpr char kOtherProcessProperty[] = "other_process";

// Where memory can be shared by file descriptor. In a process that was started by such a test, the
// fixture serves it, and its own test does not run.
class ProcessTest : public ConformanceTest {
 protected:
  // Memory of this process.
  struct Shared {
    AllocationHandle handle;
    AddressRange range;          // mapped read-write
    OwnedDescriptor descriptor;  // exported
    ShareableHandle shareable() const { return ShareableHandle::FileDescriptor(descriptor.get()); }
  };

  void SetUp() override;
  // Expects that no descriptor is left open.
  void TearDown() override;

  Bytes size() const { return 4 * granule(); }
  static AllocationProperties SharedProperties() {
    AllocationProperties shared;
    shared.requested_handle_types = HandleType::kPosixFileDescriptor;
    return shared;
  }
  Shared Share() { return Share(size()); }
  Shared Share(Bytes size);
  AddressRange MapSomewhere(AllocationHandle handle, Bytes size);
  // Ends all that this process has of it.
  void Drop(Shared& shared);
  // As ExpectFree, but a driver may take a moment to free what another process had.
  void ExpectFreeSoon(Bytes expected);

  // Another process that has its driver open, and has used it; null after a failure. It ends with
  // the test at the latest.
  OtherProcess* Start();
  // Has `other` receive, import and map it; gives its number there.
  absl::StatusOr<uint64_t> Give(OtherProcess& other, const ShareableHandle& shareable, Bytes size);
  // Expects that `other` reads what was written with the seed.
  void ExpectHoldsIn(OtherProcess& other, uint64_t memory, uint32_t seed);
  static int OpenDescriptors();

 private:
  absl::Status WarmUp();
  int SettledDescriptors();

  int open_before_ = -1;  // -1: it did not come so far
  std::vector<std::unique_ptr<OtherProcess>> others_;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_PROCESS_FIXTURE_H_
