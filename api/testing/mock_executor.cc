#include "api/testing/mock_executor.h"

#include "api/testing/unexpected_call.h"

// `...`: which of two calls with one name is meant, where there are two.
#define TWINMMU_ANSWER(method, ...)                                                                \
  ON_CALL(*this, method __VA_ARGS__)                                                               \
      .WillByDefault([this](const auto&... arguments) -> decltype(target_->method(arguments...)) { \
        if (target_ != nullptr) return target_->method(arguments...);                              \
        return testing_internal::UnexpectedCall("MockExecutor", #method);                          \
      })

namespace twinmmu {

using ::testing::_;
using ::testing::An;

MockExecutor::MockExecutor() {
  AnswerCopies();
  AnswerOthers();
}

void MockExecutor::AnswerCopies() {
  TWINMMU_ANSWER(CopyHostToDevice, (An<DeviceOrdinal>(), _, _, _));
  TWINMMU_ANSWER(CopyDeviceToHost, (An<DeviceOrdinal>(), _, _, _));
  TWINMMU_ANSWER(CopyDeviceToDevice, (An<DeviceOrdinal>(), _, _, _));
  TWINMMU_ANSWER(Fill, (An<DeviceOrdinal>(), _, _, _));
  TWINMMU_ANSWER(CopyHostToDevice, (An<Stream>(), _, _, _));
  TWINMMU_ANSWER(CopyDeviceToHost, (An<Stream>(), _, _, _));
  TWINMMU_ANSWER(CopyDeviceToDevice, (An<Stream>(), _, _, _));
  TWINMMU_ANSWER(Fill, (An<Stream>(), _, _, _));
}

void MockExecutor::AnswerOthers() {
  TWINMMU_ANSWER(CreateStream, );
  TWINMMU_ANSWER(DestroyStream, );
  TWINMMU_ANSWER(QueryStream, );
  TWINMMU_ANSWER(SynchronizeStream, );
  TWINMMU_ANSWER(CreateEvent, );
  TWINMMU_ANSWER(DestroyEvent, );
  TWINMMU_ANSWER(RecordEvent, );
  TWINMMU_ANSWER(WaitEvent, );
  TWINMMU_ANSWER(QueryEvent, );
  TWINMMU_ANSWER(SynchronizeEvent, );
  TWINMMU_ANSWER(SynchronizeDevice, );
  TWINMMU_ANSWER(LoadModule, );
  TWINMMU_ANSWER(UnloadModule, );
  TWINMMU_ANSWER(GetKernel, );
  TWINMMU_ANSWER(Launch, );
}

}  // namespace twinmmu
