// Records of several gigabytes, and what their views take of memory.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/record/entry.h"
#include "api/record/event.h"
#include "api/record/event_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/views/record_views.h"

namespace twinmmu {
namespace {

using record::Event;
using record::EventKind;
using ::testing::HasSubstr;

uint64_t RecordBytes() {
  const bool is_campaign = std::getenv("CAMPAIGN") != nullptr;
  return uint64_t{is_campaign ? 3u : 1u} << 30;
}
// All views together. docs/reference/limits.md says what each keeps.
int64_t MostMemory() { return static_cast<int64_t>(RecordBytes() / 4 * 3); }

// A record of a whole run, as a pipe gives it, so that it needs no disk.
class StreamedRecord {
 public:
  explicit StreamedRecord(int pipe) : pipe_(pipe) {
    record::FileHeader header = {};
    std::memcpy(header.magic, record::kMagic, sizeof(header.magic));
    header.version = record::kFormatVersion;
    header.size = sizeof(header);
    bytes_.assign(reinterpret_cast<const char*>(&header), sizeof(header));
  }

  void Add(Event event) {
    event.time_ns = time_ns_ += 1000;
    record::EncodeEvent(event, &entry_);
    Put();
  }
  void AddFrame(uint64_t id, const std::string& text) {
    record::EncodeEntry(record::EntryType::kFrame, &id, 1, text, &entry_);
    Put();
  }
  void AddStack(uint64_t id, const std::vector<uint64_t>& frames) {
    std::vector<uint64_t> words = {id};
    words.insert(words.end(), frames.begin(), frames.end());
    record::EncodeEntry(record::EntryType::kStack, words.data(), words.size(), "", &entry_);
    Put();
  }
  void Finish() {
    const uint64_t lost = 0;
    record::EncodeEntry(record::EntryType::kEnd, &lost, 1, "", &entry_);
    Put();
    Flush();
  }

  uint64_t size() const { return size_; }
  // Nobody reads it any more.
  bool is_closed() const { return is_closed_; }

 private:
  void Put() {
    bytes_.append(reinterpret_cast<const char*>(entry_.words), entry_.size * sizeof(uint64_t));
    size_ += entry_.size * sizeof(uint64_t);
    if (bytes_.size() >= 1 << 20) Flush();
  }
  void Flush() {
    for (size_t done = 0; done < bytes_.size() && !is_closed_;) {
      const ssize_t written = write(pipe_, bytes_.data() + done, bytes_.size() - done);
      is_closed_ = written < 0;
      done += static_cast<size_t>(std::max<ssize_t>(written, 0));
    }
    bytes_.clear();
  }

  const int pipe_;
  record::EntryBuffer entry_;
  std::string bytes_;
  uint64_t size_ = 0;
  uint64_t time_ns_ = 0;
  bool is_closed_ = false;
};

class LargeRecordTest : public testing::Test {
 protected:
  // Makes all views of what `tell` tells, in a process of its own.
  template <typename Tell>
  void View(const Tell& tell) {
    signal(SIGPIPE, SIG_IGN);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);  // fewer turns
    const pid_t viewer = fork();
    if (viewer == 0) {
      close(ends[1]);
      ViewAll(absl::StrCat("/dev/fd/", ends[0]));
    }
    close(ends[0]);
    StreamedRecord record(ends[1]);
    while (record.size() < RecordBytes() && !record.is_closed()) tell(record);
    record.Finish();
    close(ends[1]);
    int status = -1;
    rusage used = {};
    ASSERT_EQ(wait4(viewer, &status, 0, &used), viewer);
    std::ostringstream words;
    words << std::ifstream(In("words")).rdbuf();
    words_ = words.str();
    EXPECT_EQ(status, 0) << words_;
    EXPECT_FALSE(record.is_closed());
    most_memory_ = int64_t{used.ru_maxrss} << 10;
    RecordProperty("most_memory", absl::StrCat(most_memory_));
  }

  std::string words_;  // the warnings
  int64_t most_memory_ = 0;

 private:
  static std::string In(const std::string& name) { return testing::TempDir() + name; }

  [[noreturn]] static void ViewAll(const std::string& record) {
    std::vector<std::string> warnings;
    RecordViews views;
    views.files = {"/dev/null", In("run.html"),      In("run.svg"),
                   "/dev/null", In("memory.pickle"), In("stacks.txt")};
    views.reports.sarif = In("run.sarif");
    views.reports.junit = In("junit.xml");
    views.warnings = &warnings;
    const absl::Status status = ViewRecord(record, views);
    std::ofstream(In("words")) << status << "\n" << absl::StrJoin(warnings, "\n") << "\n";
    _exit(status.ok() ? 0 : 1);
  }
};

// Everything in it is new: addresses, processes, streams, stacks and texts, which are the longest.
// Nothing is ever given back.
TEST_F(LargeRecordTest, ViewsTakeLessMemoryThanARecordThatRepeatsNothing) {
  const std::string rest(record::kMaxText, 'x');
  uint64_t count = 0;
  View([&](StreamedRecord& record) {
    const uint64_t id = ++count;
    const std::string text = absl::StrCat(id, " ", rest);
    Event event;
    event.process = static_cast<uint32_t>(id);
    event.thread = event.process;
    event.stack = event.process;
    event.device = static_cast<int32_t>(id % 5000);
    event.address = id << 24;
    event.bytes = 1 << 21;
    event.allocation = event.shared = event.stream = id;
    event.text = event.code = text;
    record.AddFrame(id, absl::StrCat("7\nfile", id, "\n", text.substr(0, 200)));
    record.AddStack(id, {id, id / 2, id / 3});
    const std::array<EventKind, 5> of_addresses = {EventKind::kReserve, EventKind::kMap,
                                                   EventKind::kSetAccess, EventKind::kSetAccess,
                                                   EventKind::kSetAccess};
    const std::array<EventKind, 5> of_memory = {EventKind::kCreate, EventKind::kExport,
                                                EventKind::kAllocate, EventKind::kSetAccess,
                                                EventKind::kSetAccess};
    for (const EventKind kind : id % 2 == 0 ? of_addresses : of_memory) {
      event.kind = kind;
      record.Add(event);
    }
    if (id % 20 != 0) return;
    event.kind = EventKind::kDiagnostic;
    event.severity = record::Severity::kError;
    record.Add(event);
  });
  EXPECT_LT(most_memory_, MostMemory());
  EXPECT_THAT(words_, HasSubstr("run.html leaves out"));
  EXPECT_THAT(words_, HasSubstr("the reports leave out"));
}

// As a run has them, of 56 bytes each: too many for every day.
TEST_F(LargeRecordTest, ViewsTakeLessMemoryThanARecordOfSmallEvents) {
  if (std::getenv("CAMPAIGN") == nullptr) GTEST_SKIP() << "a part of --config=campaign";
  uint64_t count = 0;
  View([&](StreamedRecord& record) {
    const uint64_t id = ++count;
    if (id <= 1000) {
      record.AddFrame(id, absl::StrCat(id, "\n/src/pool.cc\nPool::Grow"));
      record.AddStack(id, {id, id / 2, id / 3});
    }
    Event event;
    event.process = 100;
    event.stack = static_cast<uint32_t>(1 + id % 1000);
    event.device = 0;
    event.address = id << 24;
    event.bytes = 1 << 21;
    event.allocation = event.shared = id;
    // One of three stays.
    for (const EventKind kind :
         {EventKind::kReserve, EventKind::kCreate, EventKind::kMap, EventKind::kExport,
          EventKind::kUnmap, EventKind::kRelease, EventKind::kAddressFree}) {
      event.kind = kind;
      if (kind < EventKind::kUnmap || id % 3 != 0) record.Add(event);
    }
  });
  EXPECT_LT(most_memory_, MostMemory());
  EXPECT_THAT(words_, HasSubstr("memory.pickle leaves out"));
}

}  // namespace
}  // namespace twinmmu
