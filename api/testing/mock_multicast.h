// MockMulticast: a GoogleMock of Multicast.
//
//   MockMulticast multicast;
//   EXPECT_CALL(multicast, AddDevice(object, device)).WillOnce(Return(absl::OkStatus()));
//
// A call without an answer is an error, or goes to DelegateTo's target, as in
// api/testing/mock_vmm.h.

#ifndef TWINMMU_API_TESTING_MOCK_MULTICAST_H_
#define TWINMMU_API_TESTING_MOCK_MULTICAST_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/multicast.h"
#include "api/testing/mock_call.h"

namespace twinmmu {

// Thread safety: as for MockVmm.
class MockMulticast : public Multicast {
 public:
  // A call without an answer is Unimplemented, and the message names it.
  MockMulticast();
  ~MockMulticast() override;

  // From now on `target`, which must outlive the calls, answers what no expectation answers. Null:
  // nobody, as at first.
  void DelegateTo(Multicast* target) { target_ = target; }

  TWINMMU_MULTICAST_CALLS(TWINMMU_SHORT_FORMS, Multicast)
  TWINMMU_MULTICAST_CALLS(TWINMMU_MOCK, )

 private:
  Multicast* target_ = nullptr;
};

}  // namespace twinmmu

TWINMMU_COMPILED_MOCK(extern, twinmmu::MockMulticast)

#endif  // TWINMMU_API_TESTING_MOCK_MULTICAST_H_
