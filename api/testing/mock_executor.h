// MockExecutor: an Executor whose calls a test expects and answers, with GoogleMock.
//
//   MockExecutor executor;
//   EXPECT_CALL(executor, SynchronizeStream(stream)).WillOnce(Return(absl::OkStatus()));
//
// Copies and fills are there with a device and with a stream; an expectation says which it means:
//
//   EXPECT_CALL(executor, CopyHostToDevice(An<Stream>(), _, _, _));
//
// What nobody answers is an error, or DelegateTo's, as in api/testing/mock_vmm.h.

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

  // From now on `target`, which must outlive the calls, answers what no expectation answers. Null:
  // nobody, as in the beginning.
  void DelegateTo(Executor* target) { target_ = target; }

  // GoogleMock tells methods of one name apart by their lines.
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

#endif  // TWINMMU_API_TESTING_MOCK_EXECUTOR_H_
