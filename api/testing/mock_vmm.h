// MockVmm: a GoogleMock of Vmm.
//
//   MockVmm vmm;
//   EXPECT_CALL(vmm, Release(handle)).WillOnce(Return(absl::OkStatus()));
//
// A call without an answer is an error, even if an expectation without an action accepts it.
// DelegateTo lets another Vmm answer instead; NiceMock<MockVmm> does not warn about such calls:
//
//   NiceMock<MockVmm> vmm;
//   vmm.DelegateTo(simulator.vmm().value());
//   EXPECT_CALL(vmm, Unmap).Times(0);
//
// docs/guide/testing.md has a whole example.

#ifndef TWINMMU_API_TESTING_MOCK_VMM_H_
#define TWINMMU_API_TESTING_MOCK_VMM_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/testing/mock_call.h"
#include "api/vmm.h"

namespace twinmmu {

// Thread safety: calls may be made concurrently, as with every mock; expectations and DelegateTo
// must come before them.
class MockVmm : public Vmm {
 public:
  // A call without an answer is Unimplemented, and the message names it.
  MockVmm();
  ~MockVmm() override;

  // From now on `target`, which must outlive the calls, answers what no expectation answers. Null:
  // nobody, as at first.
  void DelegateTo(Vmm* target) { target_ = target; }

  TWINMMU_VMM_CALLS(TWINMMU_SHORT_FORMS, Vmm)
  TWINMMU_VMM_CALLS(TWINMMU_MOCK, )

 private:
  Vmm* target_ = nullptr;
};

}  // namespace twinmmu

TWINMMU_COMPILED_MOCK(extern, twinmmu::MockVmm)

#endif  // TWINMMU_API_TESTING_MOCK_VMM_H_
