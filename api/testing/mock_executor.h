// MockExecutor: a GoogleMock of Executor.
//
//   MockExecutor executor;
//   EXPECT_CALL(executor, SynchronizeStream(stream)).WillOnce(Return(absl::OkStatus()));
//
// Copies and fills are overloaded for a device and a stream; an expectation selects one:
//
//   EXPECT_CALL(executor, CopyHostToDevice(An<Stream>(), _, _, _));
//
// A call without an answer is an error, or goes to DelegateTo's target, as in
// api/testing/mock_vmm.h.

#ifndef TWINMMU_API_TESTING_MOCK_EXECUTOR_H_
#define TWINMMU_API_TESTING_MOCK_EXECUTOR_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/executor.h"
#include "api/testing/mock_call.h"

namespace twinmmu {

// Thread safety: as for MockVmm.
class MockExecutor : public Executor {
 public:
  // A call without an answer is Unimplemented, and the message names it.
  MockExecutor();
  ~MockExecutor() override;

  // From now on `target`, which must outlive the calls, answers what no expectation answers. Null:
  // nobody, as at first.
  void DelegateTo(Executor* target) { target_ = target; }

  // GoogleMock distinguishes methods of one name by their lines.
  TWINMMU_EXECUTOR_COPY_CALLS(TWINMMU_MOCK, )
  TWINMMU_EXECUTOR_ASYNC_COPY_CALLS(TWINMMU_MOCK, )
  TWINMMU_EXECUTOR_STREAM_CALLS(TWINMMU_MOCK, )
  TWINMMU_EXECUTOR_MODULE_CALLS(TWINMMU_MOCK, )

 private:
  void AnswerCopies();
  void AnswerOthers();

  Executor* target_ = nullptr;
};

}  // namespace twinmmu

TWINMMU_COMPILED_MOCK(extern, twinmmu::MockExecutor)

#endif  // TWINMMU_API_TESTING_MOCK_EXECUTOR_H_
