// RecordingLog: makes lines of calls.

#ifndef TWINMMU_API_TESTING_RECORDING_LOG_H_
#define TWINMMU_API_TESTING_RECORDING_LOG_H_

#include <sys/types.h>

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/driver.h"
#include "api/driver_error.h"
#include "api/testing/recording/codec.h"
#include "api/testing/recording/names.h"
#include "api/testing/recording/recorder.h"

namespace twinmmu {

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// A line that is being made; the log is locked as long as it lives.
class LineWriter {
 public:
  LineWriter(Json* line, Names* names) : line_(*line), names_(*names) {}

  Names& names() { return names_; }
  template <typename T>
  LineWriter& Put(const char* key, const T& value) {
    line_[key] = value;
    return *this;
  }
  // Nothing for 0, which is what is meant where the key is absent.
  LineWriter& PutNonzero(const char* key, uint64_t value) {
    return value == 0 ? *this : Put(key, value);
  }
  LineWriter& Put(const char* key, DeviceAddress address) { return Put(key, names_.Of(address)); }
  LineWriter& Put(const AddressRange& range) {
    return Put("range", range.base).Put("size", range.size.value());
  }
  LineWriter& Put(AllocationHandle handle) {
    return Put("handle", names_.Of(Names::kHandle, handle.value()));
  }
  LineWriter& Put(DeviceOrdinal device) { return Put("device", device.value()); }
  // A stream that CreateStream gave has a name; any other is a number and its device.
  LineWriter& Put(Stream stream) {
    return Put("stream", names_.Of(Names::kStream, stream.value())).Put(stream.device());
  }
  template <typename Tag>
  LineWriter& Put(const char* key, Names::Kind kind, DeviceObject<Tag> object) {
    return Put(key, names_.Of(kind, object.value())).Put(object.device());
  }

 private:
  Json& line_;
  Names& names_;
};

class RecordingLog {
 public:
  RecordingLog(RecordingSink sink, RecorderOptions options)
      : sink_(std::move(sink)), options_(std::move(options)) {}

  void Begin(Driver& target);

  // Makes the call: `describe(LineWriter&)` puts its arguments, before it is made, and
  // `result(LineWriter&, value)` what came back, if it succeeded.
  template <typename Describe, typename Call, typename Result>
  auto Record(const char* name, const Describe& describe, const Call& call, const Result& result) {
    Json line = Json{{"call", name}};
    {
      const std::lock_guard lock(mutex_);
      LineWriter writer(&line, &names_);
      Open(line);
      describe(writer);
      if (options_.announce) sink_(Json{{"begin", line}});
    }
    auto answer = call();
    const std::lock_guard lock(mutex_);
    LineWriter writer(&line, &names_);
    writer.Put("code", DriverCodeName(GetDriverCode(StatusOf(answer))));
    if (StatusOf(answer).ok()) result(writer, answer);
    sink_(line);
    return answer;
  }

  const KnownContent& known_content() const { return options_.known_content; }
  Names& names() { return names_; }

  // --- For results; called with the log locked, from `result`.

  void AddDescriptor(LineWriter& writer, int descriptor);
  // What is free, as a difference from the beginning.
  void PutMemory(LineWriter& writer, DeviceOrdinal device, const MemoryInfo& info) const;
  // A copy to `destination` was queued; the bytes are there when its stream is synchronised.
  void Await(Stream stream, const void* destination, Bytes size);
  // All work of the stream, or with null of the device, is done.
  void Arrived(LineWriter& writer, DeviceOrdinal device, const Stream* stream);

 private:
  struct OpenDescriptor {
    std::string name;
    int descriptor;
    dev_t device;
    ino_t inode;
  };
  struct PendingRead {
    Stream stream;
    const void* destination;
    Bytes size;
  };

  void Open(Json& line);
  void NoticeClosed();

  const RecordingSink sink_;
  const RecorderOptions options_;
  std::mutex mutex_;
  Names names_;
  std::map<std::thread::id, int> threads_;
  std::vector<OpenDescriptor> descriptors_;
  std::vector<PendingRead> pending_;
  std::map<int, Bytes> free_at_begin_;  // by device
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_RECORDING_LOG_H_
