// RecordingLog: what the lines of a recording have in common.

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

#include "api/driver.h"
#include "api/testing/recording/codec.h"
#include "api/testing/recording/known_arrays.h"
#include "api/testing/recording/names.h"
#include "api/testing/recording/recorder.h"

namespace twinmmu {

class RecordingLog {
 public:
  RecordingLog(RecordingSink sink, RecorderOptions options)
      : sink_(std::move(sink)), options_(std::move(options)) {}

  void Begin(Driver& target);

  std::mutex& mutex() { return mutex_; }

  // --- With the log locked.

  // What comes before the arguments: which thread calls; and a line of each descriptor that was
  // closed since.
  void Open(Json& line);
  // The call will be made.
  void Announce(const Json& line) {
    if (options_.announce) sink_(Json{{"begin", line}});
  }
  // The call was made.
  void Write(const Json& line) { sink_(line); }

  const KnownContent& known_content() const { return options_.known_content; }
  Names& names() { return names_; }
  KnownArrays& arrays() { return arrays_; }

  void AddDescriptor(Json& line, int descriptor);
  // What is free, as a difference from the beginning.
  void PutMemory(Json& line, DeviceOrdinal device, const MemoryInfo& info) const;
  // A copy to `destination` was queued; the bytes are there when its stream is synchronised.
  void Await(Stream stream, const void* destination, Bytes size);
  // All work of the stream, or with null of the device, is done.
  void Arrived(Json& line, DeviceOrdinal device, const Stream* stream);

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

  void NoticeClosed();

  const RecordingSink sink_;
  const RecorderOptions options_;
  std::mutex mutex_;
  Names names_;
  KnownArrays arrays_;
  std::map<std::thread::id, int> threads_;
  std::vector<OpenDescriptor> descriptors_;
  std::vector<PendingRead> pending_;
  std::map<int, Bytes> free_at_begin_;  // by device
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_RECORDING_LOG_H_
