// EventReader: the events of a file, one by one, whoever wrote it and however that one ended.

#ifndef TWINMMU_API_RECORD_EVENT_READER_H_
#define TWINMMU_API_RECORD_EVENT_READER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "api/record/event.h"
#include "api/record/event_format.h"

namespace twinmmu::record {

// A place in a program or library, as the process knew it. Its offset is that of a return address.
struct Place {
  std::string module;  // a path; empty: not known
  uint64_t offset = 0;
};

// A process of the run.
struct ProcessInfo {
  uint32_t id = 0;
  uint32_t parent = 0;
  std::string program;
};

// Names the function and the line of a place.
using Symbolizer = std::function<Frame(const Place&)>;
// "pool+0x1234", for who has nothing better.
Frame UnknownFrame(const Place& place);

// Reads as it goes: memory is bounded, whatever the size of the file and whatever stands in it. A
// file that grows while it is read is read as far as it went when it was opened, and a little more.
class EventReader {
 public:
  // NotFound: there is no such file. InvalidArgument: it is not one of events, or of another
  // version of TwinMMU; the message says which.
  static absl::StatusOr<std::unique_ptr<EventReader>> Open(const std::string& path,
                                                           Symbolizer symbolizer = UnknownFrame);

  ~EventReader();
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  // The next event and its stack, which stays valid; false at the end. Events come in the order in
  // which they ended. Their times count from the beginning of the file's run; with SetBegin, from
  // there.
  bool Next(Event* event, const Stack** stack);
  // Learns what stands in front of the next event: a record of a whole run names its processes
  // there.
  void ReadAhead();

  // When the run of this file began, by the clock of its host.
  uint64_t start_ns() const { return header_.start_ns; }
  // Whether it is of one process, as it wrote it itself.
  bool is_raw() const { return header_.process != 0; }
  void SetBegin(uint64_t begin_ns) { begin_ns_ = begin_ns; }
  // Those that the file has named by now.
  const std::vector<ProcessInfo>& processes() const { return processes_; }
  // Events that found no room when they were written.
  uint64_t lost() const { return lost_; }
  // It came to its end by itself, and was not cut.
  bool finished() const { return finished_; }
  // What is to be said of the file, in words; complete when Next has given false.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  EventReader(int file, std::string path, Symbolizer symbolizer)
      : file_(file), path_(std::move(path)), symbolizer_(std::move(symbolizer)) {}

  bool FindEntry(EntryHead* head);
  bool ReadEntry(EntryHead* head);
  bool Fill(size_t words);
  size_t ReadBytes(char* to, size_t bytes);
  bool Decode(const EntryHead& head, Event* event);
  void Learn(const EntryHead& head);
  void LearnPlace(uint64_t id, std::string_view text);
  void LearnFrame(uint64_t id, std::string_view text);
  void LearnStack(const uint64_t* words, size_t count);
  void Keep(uint64_t id, Frame frame);
  bool HasRoom(size_t bytes);
  void EndEarly(const char* why);

  const int file_;
  const std::string path_;
  const Symbolizer symbolizer_;
  uint64_t left_ = UINT64_MAX;  // bytes to read
  FileHeader header_ = {};
  uint64_t begin_ns_ = 0;
  std::vector<uint64_t> buffer_;  // what is read and not used yet begins at next_
  size_t next_ = 0;
  const uint64_t* entry_ = nullptr;  // in buffer_
  std::unordered_map<uint64_t, Frame> frames_;
  std::unordered_map<uint32_t, Stack> stacks_;
  std::vector<ProcessInfo> processes_;
  size_t room_ = 0;  // for what is kept
  uint64_t lost_ = 0;
  bool finished_ = false;
  bool ended_ = false;
  std::vector<std::string> warnings_;
};

}  // namespace twinmmu::record

#endif  // TWINMMU_API_RECORD_EVENT_READER_H_
