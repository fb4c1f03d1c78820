// RecordingDriver: passes every call on, and gives each with its results as a line of JSON.
//
//   RecordingDriver recording(std::move(driver), [&](const Json& line) { file << line << "\n"; });
//   recording.Begin();
//   MyAllocator allocator(recording.vmm().value());
//
// docs/guide/recordings.md describes the lines.

#ifndef TWINMMU_API_TESTING_RECORDING_RECORDER_H_
#define TWINMMU_API_TESTING_RECORDING_RECORDER_H_

#include <functional>
#include <memory>

#include "api/driver.h"
#include "api/testing/recording/codec.h"
#include "api/testing/recording/names.h"

namespace twinmmu {

class RecordingLog;

// Called with each line, also from several threads, but never at once.
using RecordingSink = std::function<void(const Json& line)>;

struct RecorderOptions {
  KnownContent known_content;
  // Each call also gives a line before it is made, {"begin": ...}: for a process that may end in
  // the call.
  bool announce = false;
};

// Driver calls run as they come, without a lock held; lines come one at a time, in the order in
// which calls return. Whoever closes a descriptor, or writes to memory without a call, is not seen
// doing it: a descriptor that is closed gets a line of its own at the next call, which costs a
// system call for each that is open. Thread safety: as in api/vmm.h, but for Begin and names().
class RecordingDriver : public Driver {
 public:
  RecordingDriver(std::unique_ptr<Driver> target, RecordingSink sink, RecorderOptions options = {});
  ~RecordingDriver() override;

  // Forgets every name: what follows is a part by itself. Free memory is counted from here on, for
  // which it asks the target. Not while a call runs.
  void Begin();

  // For who makes the calls of another recording. Not while a call runs.
  Names& names();

  absl::StatusOr<Vmm*> vmm() override;
  absl::StatusOr<Executor*> executor() override;
  absl::StatusOr<Multicast*> multicast() override;
  absl::StatusOr<SparseArrays*> sparse_arrays() override;

 private:
  struct Calls;

  std::unique_ptr<Driver> target_;
  std::unique_ptr<RecordingLog> log_;
  std::unique_ptr<Calls> calls_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_RECORDING_RECORDER_H_
