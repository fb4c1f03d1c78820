#include "tools/views/merged_events.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/record/event_file.h"
#include "api/record/event_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

// Of a program that is none of ours.
[[gnu::noinline]] void GrowThePool(twinmmu::record::EventWriter& writer) {
  writer.Add({});
  asm volatile("");
}

namespace twinmmu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

std::string NewFolder(const std::string& name) {
  const std::string folder = testing::TempDir() + name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  return folder;
}

record::Event At(uint64_t time_ns, uint32_t process) {
  record::Event event;
  event.time_ns = time_ns;
  event.process = process;
  return event;
}

std::vector<uint32_t> ProcessesIn(MergedEvents& events) {
  std::vector<uint32_t> processes;
  record::Event event;
  const record::Stack* stack = nullptr;
  while (events.Next(&event, &stack)) processes.push_back(event.process);
  return processes;
}

TEST(MergedEventsTest, EventsOfSeveralFilesComeInOrderOfTime) {
  const std::string folder = NewFolder("merged");
  for (const uint32_t process : {1u, 2u}) {
    record::EventFile file(absl::StrCat(folder, "/events.", process, ".1"));
    file.AddProcess({process, 0, "program"});
    for (uint64_t i = 0; i < 3; ++i) file.Add(At(10 + i * 10 + process, process), {});
    EXPECT_TRUE(file.Finish(process).ok());
  }
  const auto events = MergedEvents::OpenFolder(folder);
  ASSERT_TRUE(events.ok()) << events.status();
  EXPECT_THAT((*events)->processes(), SizeIs(2));
  EXPECT_THAT(ProcessesIn(**events), ElementsAre(1, 2, 1, 2, 1, 2));
  EXPECT_EQ((*events)->lost(), 3u);
  EXPECT_THAT((*events)->warnings(), ElementsAre(HasSubstr("3 events found no room")));
}

// Each file counts its stacks from 1 on.
TEST(MergedEventsTest, StacksOfSeveralFilesHaveIdsOfTheirOwn) {
  const std::string folder = NewFolder("stacks");
  for (const uint32_t process : {1u, 2u}) {
    record::EventFile file(absl::StrCat(folder, "/events.", process, ".1"));
    const record::Stack stack = {{absl::StrCat("Of", process), "", 0}};
    for (uint64_t i = 0; i < 2; ++i) file.Add(At(10 + i * 10 + process, process), stack);
    EXPECT_TRUE(file.Finish(0).ok());
  }
  const auto events = MergedEvents::OpenFolder(folder);
  ASSERT_TRUE(events.ok()) << events.status();
  std::map<uint32_t, std::set<std::string>> functions;
  record::Event event;
  const record::Stack* stack = nullptr;
  while ((*events)->Next(&event, &stack)) functions[event.stack].insert(stack->at(0).function);
  EXPECT_THAT(functions, ElementsAre(Pair(1, ElementsAre("Of1")), Pair(2, ElementsAre("Of2"))));
}

TEST(MergedEventsTest, WhatTakesTimeComesAtItsEnd) {
  const std::string folder = NewFolder("ends");
  {
    record::EventFile first(folder + "/events.1.1");
    record::Event slow = At(10, 1);
    slow.duration_ns = 100;
    first.Add(slow, {});
    EXPECT_TRUE(first.Finish(0).ok());
    record::EventFile second(folder + "/events.2.1");
    second.Add(At(50, 2), {});
    EXPECT_TRUE(second.Finish(0).ok());
  }
  EXPECT_THAT(ProcessesIn(**MergedEvents::OpenFolder(folder)), ElementsAre(2, 1));
}

TEST(MergedEventsTest, OtherFilesInTheFolderArePassedOver) {
  const std::string folder = NewFolder("others");
  std::ofstream(folder + "/events.1.1") << "something else";
  std::ofstream(folder + "/report.1.1") << "a report";
  const auto events = MergedEvents::OpenFolder(folder);
  ASSERT_TRUE(events.ok()) << events.status();
  EXPECT_THAT(ProcessesIn(**events), IsEmpty());
}

TEST(MergedEventsTest, AFileThatIsNoneIsAnError) {
  EXPECT_TRUE(absl::IsNotFound(MergedEvents::Open({"/no/such/file"}).status()));
}

TEST(MergedEventsTest, StacksOfAProcessGetTheirNames) {
  const std::string folder = NewFolder("names");
  record::EventWriterOptions options;
  options.stack_depth = 4;
  GrowThePool(**record::EventWriter::CreateIn(folder, options));
  const auto events = MergedEvents::OpenFolder(folder);
  ASSERT_TRUE(events.ok()) << events.status();
  record::Event event;
  const record::Stack* stack = nullptr;
  ASSERT_TRUE((*events)->Next(&event, &stack));
  ASSERT_FALSE(stack->empty());
  EXPECT_THAT(stack->front().function, HasSubstr("GrowThePool"));
  EXPECT_EQ(event.process, static_cast<uint32_t>(getpid()));
}

// A record of a whole run needs no second look.
TEST(MergedEventsTest, ARecordOfAWholeRunMayComeFromAPipe) {
  const std::string path = NewFolder("piped") + "/run.events";
  record::EventFile file(path);
  file.AddProcess({7, 1, "program"});
  for (uint64_t i = 0; i < 3; ++i) file.Add(At(10 + i, 7), {});
  ASSERT_TRUE(file.Finish(0).ok());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::ostringstream bytes;
  bytes << std::ifstream(path).rdbuf();
  ASSERT_EQ(write(ends[1], bytes.str().data(), bytes.str().size()),
            static_cast<ssize_t>(bytes.str().size()));
  close(ends[1]);
  const auto events = MergedEvents::Open({absl::StrCat("/dev/fd/", ends[0])});
  ASSERT_TRUE(events.ok()) << events.status();
  EXPECT_THAT((*events)->processes(), SizeIs(1));
  EXPECT_THAT(ProcessesIn(**events), ElementsAre(7, 7, 7));
  EXPECT_THAT((*events)->warnings(), IsEmpty());
  close(ends[0]);
}

// What a process wrote is read once for its places, and then for good.
TEST(MergedEventsTest, TheRecordOfAProcessIsRefusedFromAPipe) {
  const std::string path = NewFolder("raw") + "/run.events";
  GrowThePool(**record::EventWriter::Create(path));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  char header[32] = {};
  std::ifstream(path).read(header, sizeof(header));
  ASSERT_EQ(write(ends[1], header, sizeof(header)), 32);
  close(ends[1]);
  const absl::Status status = MergedEvents::Open({absl::StrCat("/dev/fd/", ends[0])}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("name a file, not a pipe"));
  close(ends[0]);
}

// A program may leave there what it wants; nobody writes into this one.
TEST(MergedEventsTest, APipeInTheFolderIsPassedOver) {
  const std::string folder = NewFolder("pipes");
  const std::string pipe_path = folder + "/events.1.1";
  ASSERT_EQ(mkfifo(pipe_path.c_str(), 0600), 0);
  const int held = open(pipe_path.c_str(), O_RDWR);
  const auto events = MergedEvents::OpenFolder(folder);
  ASSERT_TRUE(events.ok()) << events.status();
  EXPECT_THAT(ProcessesIn(**events), IsEmpty());
  close(held);
}

// Ids of stacks that the record never explains are no stacks, however many there are.
TEST(MergedEventsTest, AStackThatIsNotExplainedIsNone) {
  const std::string path = NewFolder("unknown") + "/run.events";
  record::EventFile file(path);
  record::Event event = At(10, 1);
  file.Add(event, {{"Grow", "", 0}});
  ASSERT_TRUE(file.Finish(0).ok());
  // The only word of the event with a stack, which becomes another one.
  std::ostringstream read;
  read << std::ifstream(path).rdbuf();
  std::string bytes = read.str();
  const size_t at = bytes.size() - 3 * sizeof(uint64_t);
  ASSERT_EQ(bytes[at], 1);
  bytes[at] = 9;
  std::ofstream(path) << bytes;
  const auto events = MergedEvents::Open({path});
  ASSERT_TRUE(events.ok()) << events.status();
  const record::Stack* stack = nullptr;
  ASSERT_TRUE((*events)->Next(&event, &stack));
  EXPECT_EQ(event.stack, 0u);
  EXPECT_THAT(*stack, IsEmpty());
}

}  // namespace
}  // namespace twinmmu
