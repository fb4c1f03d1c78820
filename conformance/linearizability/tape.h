// Tape: the answers of calls, recorded by the thread that made them, and played to a model later.

#ifndef TWINMMU_CONFORMANCE_LINEARIZABILITY_TAPE_H_
#define TWINMMU_CONFORMANCE_LINEARIZABILITY_TAPE_H_

#include <algorithm>
#include <any>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/call_macros.h"
#include "api/calls.inc"
#include "api/driver_error.h"
#include "api/testing/forwarding.h"

namespace twinmmu::conformance::linearizability {

// While one is put in, the calls of this thread to the classes below are recorded on it, or, if it
// plays, not made but answered from it.
class Tape {
 public:
  class Inserted {
   public:
    Inserted(Tape* tape, bool plays) {
      tape->plays_ = plays;
      tape->next_ = 0;
      current_ = tape;
    }
    Inserted(const Inserted&) = delete;
    Inserted& operator=(const Inserted&) = delete;
    ~Inserted() { current_ = nullptr; }
  };

  // The answer of body(). What was not recorded is answered with an error.
  template <typename Result, typename Body>
  static Result Through(const Body& body) {
    Tape* const tape = current_;
    if (tape == nullptr) return body();
    if (!tape->plays_) {
      Result result = body();
      tape->answers_.push_back(result);
      tape->codes_.push_back(GetDriverCode(StatusOf(result)));
      return result;
    }
    const Result* const answer = tape->next_ < tape->answers_.size()
                                     ? std::any_cast<Result>(&tape->answers_[tape->next_++])
                                     : nullptr;
    return answer != nullptr ? *answer : Result(absl::InternalError("not on the tape"));
  }

  // The codes of the answers.
  const std::vector<DriverCode>& codes() const { return codes_; }

 private:
  static const absl::Status& StatusOf(const absl::Status& status) { return status; }
  template <typename T>
  static const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
    return result.status();
  }

  static inline thread_local Tape* current_ = nullptr;

  std::vector<std::any> answers_;
  std::vector<DriverCode> codes_;
  size_t next_ = 0;
  bool plays_ = false;
};

#define TWINMMU_TAPED(type, id, result, method, ...)                                            \
  result method(TWINMMU_PARAMETERS(__VA_ARGS__)) override {                                     \
    return Tape::Through<result>([&] { return type::method(TWINMMU_ARGUMENTS(__VA_ARGS__)); }); \
  }

class TapedVmm : public ForwardingVmm {
 public:
  using ForwardingVmm::ForwardingVmm;
  TWINMMU_VMM_CALLS(TWINMMU_SHORT_FORMS, ForwardingVmm)
  TWINMMU_VMM_CALLS(TWINMMU_TAPED, ForwardingVmm)
};

// Of its calls those that sequences make.
class TapedExecutor : public ForwardingExecutor {
 public:
  using ForwardingExecutor::ForwardingExecutor;
  TWINMMU_CALL(TWINMMU_TAPED, ForwardingExecutor, CopyHostToDevice)
  TWINMMU_CALL(TWINMMU_TAPED, ForwardingExecutor, CopyDeviceToDevice)
  TWINMMU_CALL(TWINMMU_TAPED, ForwardingExecutor, Fill)
  TWINMMU_CALL(TWINMMU_TAPED, ForwardingExecutor, CopyHostToDeviceAsync)
  TWINMMU_CALL(TWINMMU_TAPED, ForwardingExecutor, CopyDeviceToDeviceAsync)
  TWINMMU_CALL(TWINMMU_TAPED, ForwardingExecutor, FillAsync)
  TWINMMU_CALL(TWINMMU_TAPED, ForwardingExecutor, SynchronizeDevice)

  absl::Status CopyDeviceToHost(DeviceOrdinal device, void* destination, DeviceAddress source,
                                Bytes size) override {
    return Read(device, destination, source, size);
  }
  absl::Status CopyDeviceToHost(Stream stream, void* destination, DeviceAddress source,
                                Bytes size) override {
    return Read(stream, destination, source, size);
  }

 private:
  using Content = absl::StatusOr<std::vector<uint8_t>>;

  // The bytes are part of the answer. A stream of this machine is done when the call returns.
  template <typename Where>
  absl::Status Read(Where where, void* destination, DeviceAddress source, Bytes size) {
    const Content content = Tape::Through<Content>([&]() -> Content {
      std::vector<uint8_t> bytes(size.value());
      const absl::Status status =
          ForwardingExecutor::CopyDeviceToHost(where, bytes.data(), source, size);
      if (!status.ok()) return status;
      return bytes;
    });
    if (!content.ok()) return content.status();
    std::copy(content->begin(), content->end(), static_cast<uint8_t*>(destination));
    return absl::OkStatus();
  }
};

#undef TWINMMU_TAPED

}  // namespace twinmmu::conformance::linearizability

#endif  // TWINMMU_CONFORMANCE_LINEARIZABILITY_TAPE_H_
