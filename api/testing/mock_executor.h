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
#include "gmock/gmock.h"

namespace twinmmu {

// Thread safety: as for MockVmm.
class MockExecutor : public Executor {
 public:
  // A call without an answer is Unimplemented, and the message names it.
  MockExecutor();

  // From now on `target`, which must outlive the calls, answers what no expectation answers. Null:
  // nobody, as in the beginning.
  void DelegateTo(Executor* target) { target_ = target; }

  MOCK_METHOD(absl::Status, CopyHostToDevice,
              (DeviceOrdinal device, DeviceAddress destination, const void* source, Bytes size),
              (override));
  MOCK_METHOD(absl::Status, CopyDeviceToHost,
              (DeviceOrdinal device, void* destination, DeviceAddress source, Bytes size),
              (override));
  MOCK_METHOD(absl::Status, CopyDeviceToDevice,
              (DeviceOrdinal device, DeviceAddress destination, DeviceAddress source, Bytes size),
              (override));
  MOCK_METHOD(absl::Status, Fill,
              (DeviceOrdinal device, DeviceAddress destination, const FillPattern& pattern,
               uint64_t count),
              (override));
  MOCK_METHOD(absl::Status, CopyHostToDevice,
              (Stream stream, DeviceAddress destination, const void* source, Bytes size),
              (override));
  MOCK_METHOD(absl::Status, CopyDeviceToHost,
              (Stream stream, void* destination, DeviceAddress source, Bytes size), (override));
  MOCK_METHOD(absl::Status, CopyDeviceToDevice,
              (Stream stream, DeviceAddress destination, DeviceAddress source, Bytes size),
              (override));
  MOCK_METHOD(absl::Status, Fill,
              (Stream stream, DeviceAddress destination, const FillPattern& pattern,
               uint64_t count),
              (override));
  MOCK_METHOD(absl::StatusOr<Stream>, CreateStream, (DeviceOrdinal device), (override));
  MOCK_METHOD(absl::Status, DestroyStream, (Stream stream), (override));
  MOCK_METHOD(absl::StatusOr<bool>, QueryStream, (Stream stream), (override));
  MOCK_METHOD(absl::Status, SynchronizeStream, (Stream stream), (override));
  MOCK_METHOD(absl::StatusOr<Event>, CreateEvent, (DeviceOrdinal device), (override));
  MOCK_METHOD(absl::Status, DestroyEvent, (Event event), (override));
  MOCK_METHOD(absl::Status, RecordEvent, (Event event, Stream stream), (override));
  MOCK_METHOD(absl::Status, WaitEvent, (Stream stream, Event event), (override));
  MOCK_METHOD(absl::StatusOr<bool>, QueryEvent, (Event event), (override));
  MOCK_METHOD(absl::Status, SynchronizeEvent, (Event event), (override));
  MOCK_METHOD(absl::Status, SynchronizeDevice, (DeviceOrdinal device), (override));
  MOCK_METHOD(absl::StatusOr<Module>, LoadModule, (DeviceOrdinal device, absl::string_view ptx),
              (override));
  MOCK_METHOD(absl::Status, UnloadModule, (Module module), (override));
  MOCK_METHOD(absl::StatusOr<Kernel>, GetKernel, (Module module, absl::string_view name),
              (override));
  MOCK_METHOD(absl::Status, Launch,
              (Stream stream, Kernel kernel, const LaunchConfig& config,
               absl::Span<const void* const> arguments),
              (override));

 private:
  void AnswerCopies();
  void AnswerOthers();

  Executor* target_ = nullptr;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_MOCK_EXECUTOR_H_
