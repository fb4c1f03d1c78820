#include "api/record/event_file.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/diagnostics.h"
#include "api/record/diagnostic_event.h"
#include "api/record/event.h"
#include "api/record/event_format.h"
#include "api/record/event_reader.h"
#include "api/record/event_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::record {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

std::string PathOf(const std::string& name) { return testing::TempDir() + name; }

std::unique_ptr<EventWriter> Writer(const std::string& path, EventWriterOptions options = {}) {
  auto made = EventWriter::Create(path, options);
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? *std::move(made) : nullptr;
}

Event Full() {
  Event event;
  event.kind = EventKind::kMap;
  event.severity = Severity::kWarning;
  event.access = 3;
  event.device = 1;
  event.thread = 12;
  event.time_ns = EventWriter::Now();
  event.duration_ns = 4;
  event.stream = 5;
  event.address = 0x7000'0000'0000;
  event.bytes = 2 << 20;
  event.from = 0x1234;
  event.allocation = 0x1'0000'0001;
  event.offset = 64;
  event.shared = ~uint64_t{0};
  event.text = "some words";
  event.code = "kDoubleUnmap";
  return event;
}

// What a file has, for tests to compare.
struct Content {
  std::vector<Event> events;
  std::vector<std::string> texts;
  std::vector<Stack> stacks;
  std::vector<std::string> warnings;
  std::vector<ProcessInfo> processes;
  uint64_t lost = 0;
  bool finished = false;
};

Content Read(const std::string& path) {
  Content content;
  auto reader = EventReader::Open(path);
  EXPECT_TRUE(reader.ok()) << reader.status();
  if (!reader.ok()) return content;
  Event event;
  const Stack* stack = nullptr;
  while ((*reader)->Next(&event, &stack)) {
    content.events.push_back(event);
    content.texts.push_back(absl::StrCat(std::string(event.text), "|", std::string(event.code)));
    content.stacks.push_back(*stack);
  }
  content.warnings = (*reader)->warnings();
  content.processes = (*reader)->processes();
  content.lost = (*reader)->lost();
  content.finished = (*reader)->finished();
  return content;
}

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(EventFileTest, AnEventIsReadAsItWasWritten) {
  const std::string path = PathOf("full.events");
  const Event written = Full();
  Writer(path)->Add(written);
  const Content content = Read(path);
  ASSERT_THAT(content.events, SizeIs(1));
  const Event& read = content.events[0];
  EXPECT_EQ(read.kind, written.kind);
  EXPECT_EQ(read.severity, written.severity);
  EXPECT_EQ(read.access, written.access);
  EXPECT_EQ(read.device, written.device);
  EXPECT_EQ(read.process, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(read.thread, written.thread);
  EXPECT_EQ(read.duration_ns, written.duration_ns);
  EXPECT_EQ(read.stream, written.stream);
  EXPECT_EQ(read.address, written.address);
  EXPECT_EQ(read.bytes, written.bytes);
  EXPECT_EQ(read.from, written.from);
  EXPECT_EQ(read.allocation, written.allocation);
  EXPECT_EQ(read.offset, written.offset);
  EXPECT_EQ(read.shared, written.shared);
  EXPECT_THAT(content.texts, ElementsAre("some words|kDoubleUnmap"));
  EXPECT_TRUE(content.finished);
  EXPECT_THAT(content.warnings, IsEmpty());
}

TEST(EventFileTest, AnUnusedFieldIsAsInAnEmptyEvent) {
  const std::string path = PathOf("empty.events");
  EventWriterOptions options;
  options.stack_depth = 0;
  Writer(path, options)->Add(Event());
  const Content content = Read(path);
  ASSERT_THAT(content.events, SizeIs(1));
  EXPECT_EQ(content.events[0].device, kHost);
  EXPECT_EQ(content.events[0].thread, static_cast<uint32_t>(gettid()));
  EXPECT_EQ(content.events[0].address, 0u);
  EXPECT_EQ(content.events[0].stack, 0u);
}

TEST(EventFileTest, TimesBeginWithTheRunAndOnlyGrow) {
  const std::string path = PathOf("times.events");
  {
    const auto writer = Writer(path);
    for (int i = 0; i < 100; ++i) writer->Add(Event());
  }
  const Content content = Read(path);
  ASSERT_THAT(content.events, SizeIs(100));
  EXPECT_LT(content.events[0].time_ns, uint64_t{60'000'000'000});
  for (size_t i = 1; i < 100; ++i)
    EXPECT_GE(content.events[i].time_ns, content.events[i - 1].time_ns);
}

TEST(EventFileTest, TheProcessIsNamed) {
  const std::string path = PathOf("process.events");
  Writer(path)->Add(Event());
  const Content content = Read(path);
  ASSERT_THAT(content.processes, SizeIs(1));
  EXPECT_EQ(content.processes[0].id, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(content.processes[0].parent, static_cast<uint32_t>(getppid()));
  EXPECT_THAT(content.processes[0].program, HasSubstr("event_file_test"));
}

[[gnu::noinline]] void Inner(EventWriter& writer) {
  writer.Add(Event());
  asm volatile("");
}
[[gnu::noinline]] void Outer(EventWriter& writer) {
  Inner(writer);
  asm volatile("");
}

TEST(EventFileTest, AStackHasTheFramesThatWereAskedFor) {
  const std::string path = PathOf("stack.events");
  EventWriterOptions options;
  options.stack_depth = 3;
  Outer(*Writer(path, options));
  const Content content = Read(path);
  ASSERT_THAT(content.stacks, SizeIs(1));
  ASSERT_GE(content.stacks[0].size(), 3u);
  for (const Frame& frame : content.stacks[0]) EXPECT_THAT(frame.function, HasSubstr("+0x"));
}

const void* this_place = nullptr;

TEST(EventFileTest, AStackBeginsBehindOurOwnFrames) {
  const std::string path = PathOf("own.events");
  {
    EventFile file(path);
    const Stack stack = {
        {"twinmmu::record::EventWriter::Add(twinmmu::record::Event const&)", "", 0},
        {"void twinmmu::CallRecord::Refuse<int>(int)", "", 0},
        {"Pool::Grow(twinmmu::Vmm*)", "", 0},
        {"twinmmu::Simulator::Create()", "", 0}};
    file.Add(Full(), stack);
    EXPECT_TRUE(file.Finish(0).ok());
  }
  const Content content = Read(path);
  ASSERT_THAT(content.stacks, SizeIs(1));
  ASSERT_THAT(content.stacks[0], SizeIs(2));
  EXPECT_EQ(content.stacks[0][0].function, "Pool::Grow(twinmmu::Vmm*)");
}

TEST(EventFileTest, WithADepthOfOneTheStackIsTheCall) {
  const std::string path = PathOf("call.events");
  EventWriterOptions options;
  options.caller = [] { return this_place; };
  this_place = reinterpret_cast<const void*>(&Outer);
  {
    const auto writer = Writer(path, options);
    writer->Add(Event());
    writer->Add(Event());
    this_place = nullptr;
    writer->Add(Event());
  }
  const Content content = Read(path);
  ASSERT_THAT(content.events, SizeIs(3));
  EXPECT_THAT(content.stacks[0], SizeIs(1));
  EXPECT_EQ(content.events[0].stack, content.events[1].stack);
  EXPECT_EQ(content.events[2].stack, 0u);
}

// A stack that cannot be unwound from where the program called begins and ends there.
TEST(EventFileTest, ACallThatIsNotOnTheStackIsAllOfIt) {
  const std::string path = PathOf("elsewhere.events");
  EventWriterOptions options;
  options.stack_depth = 8;
  options.caller = [] { return this_place; };
  this_place = reinterpret_cast<const void*>(&Outer);
  Writer(path, options)->Add(Event());
  this_place = nullptr;
  const Content content = Read(path);
  ASSERT_THAT(content.events, SizeIs(1));
  EXPECT_THAT(content.stacks[0], SizeIs(1));
}

// A diagnostic has the memory that it is of, if there is any.
TEST(EventFileTest, ADiagnosticIsReadAsItWasWritten) {
  const std::string path = PathOf("diagnostics.events");
  Diagnostic of_memory;
  of_memory.severity = twinmmu::Severity::kWarning;
  of_memory.range = AddressRange{DeviceAddress(0x4000), Bytes(64), Bytes(0)};
  of_memory.handle = AllocationHandle(0x1'0000'0001);
  of_memory.device = DeviceOrdinal(3);
  {
    const auto writer = Writer(path);
    AddDiagnostic(*writer, DiagnosticKind::kDoubleUnmap, &of_memory);
    AddDiagnostic(*writer, DiagnosticKind::kDoubleUnmap, nullptr);
    const Diagnostic of_nothing;
    AddDiagnostic(*writer, DiagnosticKind::kDoubleUnmap, &of_nothing);
  }
  const std::vector<Event> events = Read(path).events;
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[0].kind, EventKind::kDiagnostic);
  EXPECT_EQ(events[0].severity, Severity::kWarning);
  EXPECT_EQ(events[0].address, 0x4000u);
  EXPECT_EQ(events[0].bytes, 64u);
  EXPECT_EQ(events[0].allocation, 0x1'0000'0001u);
  EXPECT_EQ(events[0].device, 3);
  for (const Event& event : {events[1], events[2]}) {
    EXPECT_EQ(event.address, 0u);
    EXPECT_EQ(event.allocation, 0u);
    EXPECT_EQ(event.device, Event().device);
  }
}

TEST(EventFileTest, ManyEventsOfManyThreadsAreAllThere) {
  const std::string path = PathOf("many.events");
  constexpr uint64_t kThreads = 4;
  constexpr uint64_t kEach = 50'000;
  {
    const auto writer = Writer(path);
    std::vector<std::thread> threads;
    for (uint64_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (uint64_t i = 0; i < kEach; ++i) {
          Event event = Full();
          event.address = thread * kEach + i + 1;
          writer->Add(event);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  const Content content = Read(path);
  ASSERT_THAT(content.events, SizeIs(kThreads * kEach));
  std::vector<bool> seen(kThreads * kEach + 1);
  for (const Event& event : content.events) seen[event.address] = true;
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), kThreads * kEach);
}

TEST(EventFileTest, WhatIsBeyondTheLimitIsCounted) {
  const std::string path = PathOf("limit.events");
  EventWriterOptions options;
  options.limit = 64 << 10;
  uint64_t lost = 0;
  {
    const auto writer = Writer(path, options);
    for (int i = 0; i < 2000; ++i) writer->Add(Full());
    // Smaller ones, for which there might be room.
    for (int i = 0; i < 20; ++i) writer->Add(Event());
    lost = writer->lost();
  }
  const Content content = Read(path);
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(content.lost, lost);
  EXPECT_TRUE(content.finished);
  EXPECT_LT(content.events.size(), 2000u);
  EXPECT_GT(content.events.size(), 100u);
  EXPECT_LE(std::filesystem::file_size(path), options.limit);
}

// A view comes to its end, however fast the program goes on.
TEST(EventFileTest, WhatIsWrittenWhileItIsReadEndsSomewhere) {
  const std::string path = PathOf("growing.events");
  const std::unique_ptr<EventWriter> writer = Writer(path);
  for (int i = 0; i < 10; ++i) writer->Add({});
  const auto reader = EventReader::Open(path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  Event event;
  const Stack* stack = nullptr;
  int count = 0;
  for (; count < 1'000'000 && (*reader)->Next(&event, &stack); ++count) {
    for (int i = 0; i < 10; ++i) writer->Add({});
  }
  EXPECT_GE(count, 10);
  EXPECT_LT(count, 1'000'000);
  EXPECT_THAT((*reader)->warnings(), IsEmpty());
}

TEST(EventFileTest, WhatAKilledProcessHasWrittenIsThere) {
  const std::string path = PathOf("killed.events");
  const pid_t child = fork();
  if (child == 0) {
    const auto writer = Writer(path);
    for (int i = 0; i < 1000; ++i) writer->Add(Full());
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  const Content content = Read(path);
  EXPECT_THAT(content.events, SizeIs(1000));
  EXPECT_FALSE(content.finished);
}

TEST(EventFileTest, AChildDoesNotWriteIntoTheFileOfItsParent) {
  const std::string path = PathOf("forked.events");
  {
    const auto writer = Writer(path);
    writer->Add(Event());
    const pid_t child = fork();
    if (child == 0) {
      writer->Add(Event());
      _exit(0);
    }
    waitpid(child, nullptr, 0);
    writer->Add(Event());
  }
  EXPECT_THAT(Read(path).events, SizeIs(2));
}

TEST(EventFileTest, ACutRecordIsReadAsFarAsItGoesWithAWarning) {
  const std::string path = PathOf("cut.events");
  Writer(path)->Add(Full());
  const std::string whole = BytesOf(path);
  {
    const auto writer = Writer(path);
    writer->Add(Full());
    writer->Add(Full());
  }
  const std::string bytes = BytesOf(path);
  WriteBytes(path, bytes.substr(0, whole.size()));
  const Content content = Read(path);
  EXPECT_THAT(content.events, SizeIs(1));
  ASSERT_THAT(content.warnings, SizeIs(1));
  EXPECT_THAT(content.warnings[0], HasSubstr("is cut in the middle of an event"));
  EXPECT_FALSE(content.finished);
}

TEST(EventFileTest, ADamagedEventIsNotReadWithAWarning) {
  const std::string path = PathOf("damaged.events");
  Writer(path)->Add(Full());
  const std::string whole = BytesOf(path);
  size_t at = sizeof(FileHeader);
  EntryHead head;
  for (;; at += head.words * sizeof(uint64_t)) {
    std::memcpy(&head, &whole.at(at), sizeof(head));
    if (head.type == static_cast<uint8_t>(EventKind::kMap)) break;
  }
  for (const size_t words : {size_t{0}, kMaxWords + 1}) {
    std::string bytes = whole;
    head.words = static_cast<uint16_t>(words);
    std::memcpy(&bytes[at], &head, sizeof(head));
    WriteBytes(path, bytes);
    const Content content = Read(path);
    EXPECT_THAT(content.events, IsEmpty()) << words;
    EXPECT_THAT(content.warnings, ElementsAre(HasSubstr("is damaged"))) << words;
  }
}

TEST(EventFileTest, AnotherVersionIsRefusedInWords) {
  const std::string path = PathOf("version.events");
  Writer(path)->Add(Event());
  std::string bytes = BytesOf(path);
  bytes[8] = 9;
  WriteBytes(path, bytes);
  const auto reader = EventReader::Open(path);
  ASSERT_TRUE(absl::IsInvalidArgument(reader.status()));
  EXPECT_THAT(std::string(reader.status().message()),
              HasSubstr("it has version 9 of the format, and this tool reads version 1"));
}

TEST(EventFileTest, AnyOtherFileIsRefused) {
  const std::string path = PathOf("other.events");
  for (const char* const content :
       {"", "TWINEVT\n", "{\"type\":\"run\"}, and so on, as JSON does"}) {
    WriteBytes(path, content);
    EXPECT_TRUE(absl::IsInvalidArgument(EventReader::Open(path).status())) << content;
  }
  EXPECT_TRUE(absl::IsNotFound(EventReader::Open(PathOf("nowhere.events")).status()));
}

TEST(EventFileTest, EachRecordOfAProcessIsAFileOfItsOwn) {
  const std::string folder = PathOf("several");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  std::vector<std::string> names;
  for (int i = 0; i < 3; ++i) {
    const auto writer = EventWriter::CreateIn(folder);
    ASSERT_TRUE(writer.ok()) << writer.status();
  }
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    names.push_back(file.path().filename());
  }
  EXPECT_THAT(names, UnorderedElementsAre(EndsWith(".1"), EndsWith(".2"), EndsWith(".3")));
}

TEST(EventFileTest, AFileMayBeAsLargeAsTheProcessAllows) {
  const std::string path = PathOf("largest.events");
  const auto first = Writer(path);
  rlimit usual = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &usual), 0);
  const auto with_limit = [&](uintmax_t size) {
    const rlimit limit = {size, usual.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const bool made = EventWriter::Create(PathOf("limited.events")).ok();
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &usual), 0);
    return made;
  };
  EXPECT_TRUE(with_limit(std::filesystem::file_size(path)));
  EXPECT_FALSE(with_limit(std::filesystem::file_size(path) - 1));
}

TEST(EventFileTest, AFolderThatIsNotThereIsRefused) {
  const auto writer = EventWriter::CreateIn(PathOf("no/such/folder"));
  EXPECT_TRUE(absl::IsResourceExhausted(writer.status())) << writer.status();
}

TEST(EventFileTest, AMergedFileHasProcessesAndStacksInWords) {
  const std::string path = PathOf("merged.events");
  {
    EventFile file(path);
    file.AddProcess({7, 6, "/usr/bin/first"});
    file.AddProcess({8, 7, "/usr/bin/second"});
    Event event = Full();
    event.time_ns = 1000;
    event.process = 8;
    const Stack stack = {{"Grow<a, b>", "/src/pool.cc", 42}, {"main", "", 0}};
    file.Add(event, stack);
    file.Add(event, stack);
    EXPECT_TRUE(file.Finish(3).ok());
  }
  const Content content = Read(path);
  ASSERT_THAT(content.processes, SizeIs(2));
  EXPECT_EQ(content.processes[1].program, "/usr/bin/second");
  ASSERT_THAT(content.events, SizeIs(2));
  EXPECT_EQ(content.events[0].process, 8u);
  EXPECT_EQ(content.events[0].time_ns, 1000u);
  EXPECT_EQ(content.lost, 3u);
  ASSERT_THAT(content.stacks[1], SizeIs(2));
  EXPECT_EQ(content.stacks[1][0].function, "Grow<a, b>");
  EXPECT_EQ(content.stacks[1][0].file, "/src/pool.cc");
  EXPECT_EQ(content.stacks[1][0].line, 42);
  EXPECT_EQ(content.stacks[1][1].function, "main");
}

TEST(EventFileTest, AMergedFileWithoutItsEndIsToldOf) {
  const std::string path = PathOf("endless.events");
  {
    EventFile file(path);
    file.Add(Full(), {});
    EXPECT_TRUE(file.Finish(0).ok());
  }
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 2 * sizeof(uint64_t));
  const Content content = Read(path);
  EXPECT_THAT(content.events, SizeIs(1));
  ASSERT_THAT(content.warnings, SizeIs(1));
  EXPECT_THAT(content.warnings[0], HasSubstr("may have been cut"));
}

TEST(EventFileTest, ALongTextIsCut) {
  const std::string path = PathOf("long.events");
  const std::string text(100'000, 'x');
  Event event;
  event.text = text;
  event.code = text;
  Writer(path)->Add(event);
  const Content content = Read(path);
  ASSERT_THAT(content.texts, SizeIs(1));
  EXPECT_EQ(content.texts[0].size(), 2 * kMaxText + 1);
}

}  // namespace
}  // namespace twinmmu::record
