#include "api/testing/recording/recorder.h"

#include <initializer_list>
#include <mutex>
#include <utility>

#include "api/call_macros.h"
#include "api/testing/forwarding.h"
#include "api/testing/recording/call_line.h"
#include "api/testing/recording/log.h"

namespace twinmmu {
namespace {

template <typename Call, typename... T>
auto Record(RecordingLog& log, DriverCall id, const Call& call,
            std::initializer_list<const char*> names, const T&... arguments) {
  CallLine line(id, log);
  {
    const std::lock_guard lock(log.mutex());
    line.PutArguments(names, arguments...);
    log.Announce(line.json());
  }
  auto answer = call();
  const std::lock_guard lock(log.mutex());
  line.PutAnswer(answer);
  log.Write(line.json());
  return answer;
}

#define TWINMMU_RECORD(Target, id, result, method, ...)                                        \
  result method(TWINMMU_PARAMETERS(__VA_ARGS__)) override {                                    \
    return Record(log_, DriverCall::k##id,                                                     \
                  [&] { return Target::method(TWINMMU_ARGUMENTS(__VA_ARGS__)); },              \
                  {TWINMMU_PARAMETER_NAMES(__VA_ARGS__)} TWINMMU_THEN_ARGUMENTS(__VA_ARGS__)); \
  }
#define TWINMMU_RECORDING(Interface, CALLS)                    \
  class Recording##Interface : public Forwarding##Interface {  \
   public:                                                     \
    Recording##Interface(Interface* target, RecordingLog* log) \
        : Forwarding##Interface(target), log_(*log) {}         \
    CALLS(TWINMMU_RECORD, Forwarding##Interface)               \
                                                               \
   private:                                                    \
    RecordingLog& log_;                                        \
  };

TWINMMU_RECORDING(Vmm, TWINMMU_VMM_CALLS)
TWINMMU_RECORDING(Executor, TWINMMU_EXECUTOR_CALLS)
TWINMMU_RECORDING(Multicast, TWINMMU_MULTICAST_CALLS)
TWINMMU_RECORDING(SparseArrays, TWINMMU_SPARSE_ARRAYS_CALLS)

// `Recording` of what the target has, or why it has none.
template <typename Recording, typename Interface>
absl::StatusOr<std::unique_ptr<Interface>> Wrap(const absl::StatusOr<Interface*>& target,
                                                RecordingLog* log) {
  if (!target.ok()) return target.status();
  return std::make_unique<Recording>(*target, log);
}

template <typename Interface>
absl::StatusOr<Interface*> Get(const absl::StatusOr<std::unique_ptr<Interface>>& recording) {
  if (!recording.ok()) return recording.status();
  return recording->get();
}

}  // namespace

struct RecordingDriver::Calls {
  Calls(Driver& target, RecordingLog* log)
      : vmm(Wrap<RecordingVmm>(target.vmm(), log)),
        executor(Wrap<RecordingExecutor>(target.executor(), log)),
        multicast(Wrap<RecordingMulticast>(target.multicast(), log)),
        sparse_arrays(Wrap<RecordingSparseArrays>(target.sparse_arrays(), log)) {}

  const absl::StatusOr<std::unique_ptr<Vmm>> vmm;
  const absl::StatusOr<std::unique_ptr<Executor>> executor;
  const absl::StatusOr<std::unique_ptr<Multicast>> multicast;
  const absl::StatusOr<std::unique_ptr<SparseArrays>> sparse_arrays;
};

RecordingDriver::RecordingDriver(std::unique_ptr<Driver> target, RecordingSink sink,
                                 RecorderOptions options)
    : target_(std::move(target)),
      log_(std::make_unique<RecordingLog>(std::move(sink), std::move(options))),
      calls_(std::make_unique<Calls>(*target_, log_.get())) {}

RecordingDriver::~RecordingDriver() = default;

void RecordingDriver::Begin() { log_->Begin(*target_); }

Names& RecordingDriver::names() { return log_->names(); }

absl::StatusOr<Vmm*> RecordingDriver::vmm() { return Get(calls_->vmm); }
absl::StatusOr<Executor*> RecordingDriver::executor() { return Get(calls_->executor); }
absl::StatusOr<Multicast*> RecordingDriver::multicast() { return Get(calls_->multicast); }
absl::StatusOr<SparseArrays*> RecordingDriver::sparse_arrays() {
  return Get(calls_->sparse_arrays);
}

}  // namespace twinmmu
