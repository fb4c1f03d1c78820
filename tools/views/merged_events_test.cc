#include "tools/views/merged_events.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
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

}  // namespace
}  // namespace twinmmu
