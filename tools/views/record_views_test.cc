// ViewRecord: what a test of one's own calls.

#include "tools/views/record_views.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/record/event_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "sim/simulator.h"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// A simulator that tells a record, and has a reservation that nobody frees.
class RecordViewsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    auto events = record::EventWriter::Create(record_);
    ASSERT_TRUE(events.ok()) << events.status();
    events_ = *std::move(events);
    SimulatorOptions options;
    options.events = events_.get();
    auto simulator = Simulator::Create(Profile::ReferenceH200(), options);
    ASSERT_TRUE(simulator.ok()) << simulator.status();
    simulator_ = *std::move(simulator);
    ASSERT_TRUE(simulator_->vmm().value()->AddressReserve(MiB(2)).ok());
  }

  std::string In(const std::string& name) const { return absl::StrCat(folder_, "/", name); }

  const std::string folder_ = absl::StrCat(::testing::TempDir(), "/record_views");
  const std::string record_ = In("test.events");
  std::unique_ptr<record::EventWriter> events_;
  std::unique_ptr<Simulator> simulator_;
};

// Each file is there, of a record whose writer goes on, and has the reservation.
TEST_F(RecordViewsTest, MakesEachViewWhileTheRunGoesOn) {
  RecordViews views;
  views.files = {In("again.events"), In("run.html"),      In("run.svg"),
                 In("run.json"),     In("memory.pickle"), In("stacks.txt")};
  views.reports.sarif = In("run.sarif");
  views.reports.junit = In("junit.xml");
  ASSERT_EQ(ViewRecord(record_, views), absl::OkStatus());
  EXPECT_THAT(TextOf(In("again.events")), StartsWith("TWINEVT\n"));
  EXPECT_THAT(TextOf(In("run.html")), HasSubstr("reserve"));
  EXPECT_THAT(TextOf(In("run.svg")), StartsWith("<svg"));
  EXPECT_FALSE(nlohmann::json::parse(TextOf(In("run.json")))["traceEvents"].empty());
  EXPECT_THAT(TextOf(In("memory.pickle")), HasSubstr("segments"));
  EXPECT_TRUE(std::filesystem::exists(In("stacks.txt")));
  EXPECT_THAT(TextOf(In("run.sarif")), HasSubstr("kLeakedReservation"));
  EXPECT_THAT(TextOf(In("junit.xml")), HasSubstr("kLeakedReservation"));
}

// What happens after a view is in the next one.
TEST_F(RecordViewsTest, ShowsWhatHappenedUntilTheCall) {
  RecordViews views;
  views.reports.junit = In("junit.xml");
  ASSERT_EQ(ViewRecord(record_, views), absl::OkStatus());
  EXPECT_THAT(TextOf(In("junit.xml")), HasSubstr("tests=\"1\""));
  ASSERT_TRUE(simulator_->vmm().value()->Create(MiB(2), {}).ok());
  ASSERT_EQ(ViewRecord(record_, views), absl::OkStatus());
  EXPECT_THAT(TextOf(In("junit.xml")), HasSubstr("kLeakedAllocation"));
}

// A folder has the records of several processes, or of several simulators.
TEST_F(RecordViewsTest, ReadsAFolderOfRecords) {
  RecordViews views;
  views.reports.junit = In("junit.xml");
  std::filesystem::create_directory(In("records"));
  std::filesystem::copy(record_, In("records/events.1.1"));
  ASSERT_EQ(ViewRecord(In("records"), views), absl::OkStatus());
  EXPECT_THAT(TextOf(In("junit.xml")), HasSubstr("kLeakedReservation"));
}

// Without a record no view is begun.
TEST_F(RecordViewsTest, SaysThatThereIsNoSuchRecord) {
  RecordViews views;
  views.files.html = In("run.html");
  const absl::Status status = ViewRecord(In("none.events"), views);
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("none.events"));
  EXPECT_FALSE(std::filesystem::exists(In("run.html")));
}

// A view in place of its record is a slip of the pen.
TEST_F(RecordViewsTest, KeepsTheRecordThatAViewWouldReplace) {
  RecordViews views;
  views.files.record = absl::StrCat(folder_, "/./test.events");
  const std::string before = TextOf(record_);
  const absl::Status status = ViewRecord(record_, views);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("is the record itself"));
  EXPECT_EQ(TextOf(record_), before);
}

// Nor does a report replace it, or a file of a folder of records.
TEST_F(RecordViewsTest, KeepsTheRecordThatAReportWouldReplace) {
  RecordViews views;
  views.reports.sarif = record_;
  const std::string before = TextOf(record_);
  EXPECT_TRUE(absl::IsInvalidArgument(ViewRecord(record_, views)));
  EXPECT_EQ(TextOf(record_), before);
  std::filesystem::create_directory(In("records"));
  std::filesystem::copy(record_, In("records/events.1.1"));
  views.reports.sarif = "";
  views.reports.junit = In("records/events.1.1");
  const absl::Status status = ViewRecord(In("records"), views);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("is a file of the record"));
  EXPECT_EQ(TextOf(In("records/events.1.1")), before);
}

// The file that cannot be written is named.
TEST_F(RecordViewsTest, SaysWhichFileCannotBeWritten) {
  RecordViews views;
  views.files.trace = In("no/such/folder.json");
  const absl::Status status = ViewRecord(record_, views);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("no/such/folder.json"));
}

}  // namespace
}  // namespace twinmmu
