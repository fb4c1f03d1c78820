// MockVmm: a Vmm whose calls a test expects and answers, with GoogleMock.
//
//   MockVmm vmm;
//   EXPECT_CALL(vmm, Release(handle)).WillOnce(Return(absl::OkStatus()));
//
// A call that nothing answers is an error, also one that an expectation without an action accepts.
// DelegateTo lets another Vmm answer instead; NiceMock<MockVmm> is silent about such calls:
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

// Thread safety: calls may be made concurrently, as with every mock; expectations, and DelegateTo,
// come before them.
class MockVmm : public Vmm {
 public:
  // A call without an answer is Unimplemented, and the message names it.
  MockVmm();

  // From now on `target`, which must outlive the calls, answers what no expectation answers. Null:
  // nobody, as in the beginning.
  void DelegateTo(Vmm* target) { target_ = target; }

  TWINMMU_VMM_CALLS(TWINMMU_SHORT_FORMS, Vmm)
  TWINMMU_VMM_CALLS(TWINMMU_MOCK, )

 private:
  Vmm* target_ = nullptr;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_MOCK_VMM_H_
