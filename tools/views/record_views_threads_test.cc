// ViewRecord by several threads at once, while records are written.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/record/event.h"
#include "api/record/event_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tools/views/record_views.h"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kViewers = 2;
constexpr int kViewsOfEach = 2;

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// A record that a thread of its own goes on to write.
class GrowingRecord {
 public:
  GrowingRecord(std::string path, std::string code) : path_(std::move(path)), code_(code) {
    events_ = record::EventWriter::Create(path_).value();
    AddDiagnostic();
    writer_ = std::thread([this] {
      for (uint64_t i = 1; !stop_; ++i) {
        record::Event event;
        event.address = i % 64 << 21;
        event.bytes = 1 << 21;
        events_->Add(event);
        event.kind = record::EventKind::kAddressFree;
        events_->Add(event);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  ~GrowingRecord() {
    stop_ = true;
    writer_.join();
  }

  const std::string& path() const { return path_; }

 private:
  void AddDiagnostic() {
    record::Event event;
    event.kind = record::EventKind::kDiagnostic;
    event.severity = record::Severity::kError;
    event.code = code_;
    event.text = "words";
    events_->Add(event);
  }

  const std::string path_;
  const std::string code_;
  std::unique_ptr<record::EventWriter> events_;
  std::atomic<bool> stop_{false};
  std::thread writer_;
};

class RecordViewsThreadsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  std::string In(const std::string& name) const { return absl::StrCat(folder_, "/", name); }

  // All views of a record, again and again, under names that begin with `name`.
  void View(const std::string& record, const std::string& name, const std::string& code) const {
    for (int i = 0; i < kViewsOfEach; ++i) {
      std::vector<std::string> warnings;
      RecordViews views;
      views.files = {In(name + ".again"), In(name + ".html"),   In(name + ".svg"),
                     In(name + ".json"),  In(name + ".pickle"), In(name + ".txt")};
      views.reports.junit = In(name + ".xml");
      views.warnings = &warnings;
      EXPECT_EQ(ViewRecord(record, views), absl::OkStatus());
      EXPECT_THAT(warnings, IsEmpty());
      EXPECT_THAT(TextOf(views.reports.junit), HasSubstr(code));
      EXPECT_THAT(TextOf(views.files.html), HasSubstr("</html>"));
      EXPECT_TRUE(nlohmann::json::accept(TextOf(views.files.trace)));
    }
  }

  const std::string folder_ = absl::StrCat(testing::TempDir(), "record_views_threads");
};

TEST_F(RecordViewsThreadsTest, OneRecordHasViewsOfSeveralThreadsWhileItGrows) {
  const GrowingRecord record(In("test.events"), "kFirst");
  std::vector<std::thread> viewers;
  for (int i = 0; i < kViewers; ++i) {
    viewers.emplace_back([&, i] { View(record.path(), absl::StrCat("view", i), "kFirst"); });
  }
  for (std::thread& viewer : viewers) viewer.join();
}

TEST_F(RecordViewsThreadsTest, SeveralRecordsDoNotMix) {
  const GrowingRecord first(In("first.events"), "kFirst");
  const GrowingRecord second(In("second.events"), "kSecond");
  std::thread viewer([&] { View(first.path(), "first", "kFirst"); });
  View(second.path(), "second", "kSecond");
  viewer.join();
  EXPECT_THAT(TextOf(In("first.xml")), Not(HasSubstr("kSecond")));
  EXPECT_THAT(TextOf(In("second.xml")), Not(HasSubstr("kFirst")));
}

// Whoever is last has written the file; it is whole all the time.
TEST_F(RecordViewsThreadsTest, SeveralThreadsMayWriteOneFile) {
  const GrowingRecord record(In("test.events"), "kFirst");
  std::thread viewer([&] { View(record.path(), "view", "kFirst"); });
  View(record.path(), "view", "kFirst");
  viewer.join();
  EXPECT_TRUE(nlohmann::json::accept(TextOf(In("view.json"))));
}

}  // namespace
}  // namespace twinmmu
