// Races between machines that share memory, as processes do: what one of them does to it has to be
// over before the other begins, by a wait of the host or by an event that both know.

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "api/testing/diagnostic_matchers.h"
#include "sim/calls/executor/host_functions.h"
#include "sim/calls/pools/pool_calls.h"
#include "sim/testing/sharing_machine.h"
#include "sim/testing/two_processes.h"

namespace twinmmu {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kWords = 1024;
constexpr char kCall[] = "a test";

Profile Watched() {
  Profile profile = Profile::ReferenceH200(2);
  profile.race_check = true;
  profile.stream_policy = StreamPolicy::kDeferred;  // work is done when somebody waits for it
  return profile;
}

// Stores a word, with `store`, to where it is told, or to the word of the thread behind that.
std::string StoringKernel(const std::string& store) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n"
         ".visible .entry store(.param .u64 at) {\n"
         "  .reg .b64 %rd<3>;\n  .reg .b32 %r<3>;\n  .reg .pred %p;\n"
         "  ld.param.u64 %rd1, [at];\n  mov.u32 %r1, 1;\n"
         "  mov.u32 %r2, %tid.x;\n  mad.wide.u32 %rd2, %r2, 4, %rd1;\n"
         "  setp.ge.u32 %p, %r2, 8;\n  " +
         store + ";\n  ret;\n}\n";
}

class Machine : public SharingMachine {
 public:
  Machine() : SharingMachine(Watched()), stream_(*executor().CreateStream(kDevice0)) {}

  Executor& executor() { return **simulator().executor(); }
  HostFunctions& host_functions() { return simulator().host_functions(); }
  Stream stream() const { return stream_; }

  void Fill(const AddressRange& range, uint64_t first = 0) {
    EXPECT_THAT(executor().Fill(stream_, range.base + Bytes(4 * first), {1, Bytes(4)}, kWords),
                IsOk());
  }
  void Get(const AddressRange& range, uint64_t first = 0) {
    EXPECT_THAT(executor().CopyDeviceToHost(stream_, words_, range.base + Bytes(4 * first),
                                            Bytes(sizeof(words_))),
                IsOk());
  }
  void Launch(const AddressRange& range, const std::string& store, uint32_t threads = 1) {
    const auto module = executor().LoadModule(kDevice0, StoringKernel(store));
    ASSERT_THAT(module, IsOk());
    const auto kernel = executor().GetKernel(*module, "store");
    ASSERT_THAT(kernel, IsOk());
    const void* const argument = &range.base;
    LaunchConfig config;
    config.block.x = threads;
    EXPECT_THAT(executor().Launch(stream_, *kernel, config, {&argument, 1}), IsOk());
  }
  void Wait() { EXPECT_THAT(executor().SynchronizeStream(stream_), IsOk()); }
  std::vector<Diagnostic> Found() { return simulator().diagnostics(); }

 private:
  uint32_t words_[kWords] = {};
  const Stream stream_;
};

class RaceProcessesTest : public testing::Test {
 protected:
  RaceProcessesTest() {
    const AllocationHandle handle = producer_.Create();
    written_ = producer_.Map(handle);
    read_ = consumer_.Map(consumer_.Take(producer_.Export(handle)));
  }
  // What was found at the end by either.
  std::vector<Diagnostic> Found() {
    producer_.Wait();
    consumer_.Wait();
    std::vector<Diagnostic> found = producer_.Found();
    for (const Diagnostic& diagnostic : consumer_.Found()) found.push_back(diagnostic);
    return found;
  }

  Machine producer_;
  Machine consumer_;
  AddressRange written_;
  AddressRange read_;
};

TEST_F(RaceProcessesTest, WorkThatNobodyWaitedForIsTold) {
  producer_.Fill(written_);
  consumer_.Get(read_);
  EXPECT_THAT(Found(), ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
}

// By whichever of the two is over later.
TEST_F(RaceProcessesTest, BothAreNamed) {
  producer_.Fill(written_);
  consumer_.Get(read_);
  producer_.Wait();
  consumer_.Wait();
  EXPECT_THAT(producer_.Found(), IsEmpty());
  const std::vector<Diagnostic> found = consumer_.Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].message,
              AllOf(HasSubstr("cuMemcpyDtoHAsync"), HasSubstr(" reads "),
                    HasSubstr(ToString(read_.base)), HasSubstr("cuMemset"), HasSubstr("of process"),
                    HasSubstr("has written"), HasSubstr("cuIpcGetEventHandle")));
}

TEST_F(RaceProcessesTest, AWaitOfTheHostOrdersThem) {
  producer_.Fill(written_);
  producer_.Wait();
  consumer_.Get(read_);
  EXPECT_THAT(Found(), IsEmpty());
}

// It says nothing of what was asked for before.
TEST_F(RaceProcessesTest, ALateWaitOrdersNothing) {
  producer_.Fill(written_);
  consumer_.Get(read_);
  producer_.Wait();
  EXPECT_THAT(Found(), ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
}

TEST_F(RaceProcessesTest, AWriteAfterAReadIsTold) {
  consumer_.Get(read_);
  producer_.Fill(written_);
  EXPECT_THAT(Found(), ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
}

TEST_F(RaceProcessesTest, BothMayRead) {
  producer_.Get(written_);
  consumer_.Get(read_);
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(RaceProcessesTest, OtherBytesAreNotMet) {
  producer_.Fill(written_);
  consumer_.Get(read_, kWords);
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(RaceProcessesTest, TheLastByteIsMet) {
  producer_.Fill(written_, kWords - 1);
  consumer_.Get(read_);
  EXPECT_THAT(Found(), ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
}

TEST_F(RaceProcessesTest, AKernelIsToldWithItsLine) {
  producer_.Launch(written_, "st.global.u32 [%rd1], %r1");
  consumer_.Get(read_);
  const std::vector<Diagnostic> found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].message, HasSubstr("kernel store, PTX line"));
}

// Of the lanes that store: here those from the eighth on.
TEST_F(RaceProcessesTest, AWarpWritesNoMoreThanItsLanesDo) {
  producer_.Launch(written_, "@%p st.global.u32 [%rd2], %r1", 32);
  consumer_.Get(read_, 32);
  EXPECT_THAT(Found(), IsEmpty());
  consumer_.Get(read_, 31);
  EXPECT_THAT(Found(), IsEmpty());  // it was waited for
  producer_.Launch(written_, "@%p st.global.u32 [%rd2], %r1", 32);
  consumer_.Get(read_, 31);
  EXPECT_THAT(Found(), ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
}

// The function may tell anybody.
TEST_F(RaceProcessesTest, AFunctionOfTheHostOrdersThem) {
  producer_.Fill(written_);
  std::atomic<bool> told{false};
  ASSERT_THAT(producer_.host_functions().Submit(kCall, producer_.stream(),
                                                [&](DriverCode) { told = true; }),
              IsOk());
  while (!told) {
  }
  consumer_.Get(read_);
  EXPECT_THAT(Found(), IsEmpty());
}

// As a record of an event is done, and a wait for it.
class SharedEventRacesTest : public RaceProcessesTest {
 protected:
  void Record() {
    EXPECT_THAT(
        producer_.host_functions().Mark(kCall, producer_.stream(), [this] { over_ = true; }),
        IsOk());
  }
  void AwaitRecord() {
    EXPECT_THAT(consumer_.host_functions().Await(kCall, consumer_.stream(),
                                                 [this] { return over_.load(); }),
                IsOk());
  }

  std::atomic<bool> over_{false};
};

TEST_F(SharedEventRacesTest, AnEventOrdersThem) {
  producer_.Fill(written_);
  Record();
  AwaitRecord();
  consumer_.Get(read_);
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(SharedEventRacesTest, WhatIsBehindTheEventIsTold) {
  Record();
  producer_.Fill(written_);
  AwaitRecord();
  consumer_.Get(read_);
  EXPECT_THAT(Found(), ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
}

TEST_F(SharedEventRacesTest, WhatIsAheadOfTheWaitIsTold) {
  producer_.Fill(written_);
  Record();
  consumer_.Get(read_);
  AwaitRecord();
  EXPECT_THAT(Found(), ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
}

TEST_F(SharedEventRacesTest, AnotherStreamDoesNotWait) {
  const Stream other = *consumer_.executor().CreateStream(kDevice0);
  producer_.Fill(written_);
  Record();
  ASSERT_THAT(consumer_.host_functions().Await(kCall, other, [this] { return over_.load(); }),
              IsOk());
  consumer_.Get(read_);
  EXPECT_THAT(Found(), ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
  EXPECT_THAT(consumer_.executor().DestroyStream(other), IsOk());
}

// It knows by the second what the first waited for.
TEST_F(SharedEventRacesTest, AThirdThatIsToldByTheSecondIsOrdered) {
  const AllocationHandle handle = producer_.Create();
  const AddressRange written = producer_.Map(handle);
  const AddressRange read = consumer_.Map(consumer_.Take(producer_.Export(handle)));
  Machine third;
  const AddressRange seen = third.Map(third.Take(producer_.Export(handle)));
  producer_.Fill(written);
  Record();
  AwaitRecord();
  consumer_.Get(read);
  // Not by the host of the producer: its work is done, and nobody there has waited.
  EXPECT_THAT(producer_.executor().QueryStream(producer_.stream()), IsOk());
  consumer_.Wait();
  third.Get(seen);
  third.Wait();
  EXPECT_THAT(third.Found(), IsEmpty());
  EXPECT_THAT(Found(), IsEmpty());
}

// Which of them comes first, the words decide that they exchange.
TEST_F(RaceProcessesTest, WhereThereAreFlagsNothingIsTold) {
  consumer_.Launch(read_, "atom.sys.global.add.u32 %r1, [%rd1], %r1");
  consumer_.Wait();
  producer_.Fill(written_, kWords);
  consumer_.Get(read_, kWords);
  EXPECT_THAT(Found(), IsEmpty());
}

// They are told of others.
TEST_F(RaceProcessesTest, FlagsOfOneBlockAreNone) {
  consumer_.Launch(read_, "atom.cta.global.add.u32 %r1, [%rd1], %r1");
  consumer_.Wait();
  producer_.Fill(written_, kWords);
  consumer_.Get(read_, kWords);
  EXPECT_THAT(Found(), ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
}

TEST_F(RaceProcessesTest, OneWorkIsToldOnce) {
  for (int i = 0; i < 3; ++i) {
    producer_.Fill(written_);
    consumer_.Get(read_);
    Found();
  }
  EXPECT_THAT(Found(), ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
}

// Whichever comes first: nothing else than that is told.
TEST_F(RaceProcessesTest, ProcessesRunAtTheSameTime) {
  constexpr int kRounds = 100;
  std::thread other([this] {
    for (int i = 0; i < kRounds; ++i) {
      consumer_.Get(read_);
      consumer_.Wait();
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    producer_.Fill(written_);
    producer_.Wait();
  }
  other.join();
  EXPECT_THAT(Found(), Each(IsDiagnostic(DiagnosticKind::kDataRace)));
}

// At the same place in the file, whatever the addresses are.
TEST_F(RaceProcessesTest, PiecesOfPoolsAreSeenToo) {
  PoolProperties properties;
  properties.handle_types = HandleType::kPosixFileDescriptor;
  properties.place.location = Location::Device(kDevice0);
  PoolCalls& pools = producer_.simulator().pools();
  const auto pool = pools.Create(properties);
  ASSERT_THAT(pool, IsOk());
  const auto ahead = pools.AllocateFrom(producer_.stream(), *pool, MiB(40));
  const auto piece = pools.AllocateFrom(producer_.stream(), *pool, kGranule);
  ASSERT_THAT(piece, IsOk());
  const auto descriptor = pools.Export(*pool, HandleType::kPosixFileDescriptor);
  ASSERT_THAT(descriptor, IsOk());
  const auto data = pools.ExportPiece(*piece);
  ASSERT_THAT(data, IsOk());
  PoolCalls& others = consumer_.simulator().pools();
  const auto same = others.Import(*descriptor, HandleType::kPosixFileDescriptor);
  close(*descriptor);
  ASSERT_THAT(same, IsOk());
  const auto imported = others.ImportPiece(*same, *data);
  ASSERT_THAT(imported, IsOk());
  producer_.Wait();
  producer_.Fill(At(*piece, kGranule));
  consumer_.Get(At(imported->address, kGranule));
  EXPECT_THAT(Found(), ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
  EXPECT_THAT(pools.Free(producer_.stream(), *ahead), IsOk());
}

// Unlike other memory it cannot be opened in the process that made it.
TEST(RaceOfProcessesTest, LinearMemoryIsSeenToo) {
  constexpr LinearCalls::Context kFirst = {kDevice0, 1};
  OtherProcess other([&](Line& line) {
    Machine consumer;
    FileName name;
    ASSERT_TRUE(line.Receive(&name));
    const auto opened = consumer.simulator().linear().OpenShared(kFirst, name);
    ASSERT_THAT(opened, IsOk());
    consumer.Get(opened->range);
    consumer.Wait();
    EXPECT_THAT(consumer.Found(), ElementsAre(IsDiagnostic(DiagnosticKind::kDataRace)));
  });
  Machine producer;
  const auto memory = producer.simulator().linear().Allocate(kFirst, kGranule);
  ASSERT_THAT(memory, IsOk());
  const auto name = producer.simulator().linear().Share(*memory);
  ASSERT_THAT(name, IsOk());
  producer.Fill(At(*memory, kGranule));
  ASSERT_THAT(producer.executor().QueryStream(producer.stream()), IsOk());
  ASSERT_TRUE(other.line().Send(*name));
  EXPECT_TRUE(other.Succeeds());
}

// Memory of later lies where that lay.
TEST_F(RaceProcessesTest, MemoryThatIsGoneIsForgotten) {
  for (int i = 0; i < 8; ++i) {
    const AllocationHandle handle = producer_.Create();
    const AddressRange range = producer_.Map(handle);
    const AllocationHandle imported = consumer_.Take(producer_.Export(handle));
    const AddressRange seen = consumer_.Map(imported);
    producer_.Fill(range);
    producer_.Wait();
    consumer_.Get(seen);
    consumer_.Wait();
    producer_.Drop(range, handle);
    consumer_.Drop(seen, imported);
  }
  EXPECT_THAT(Found(), IsEmpty());
}

}  // namespace
}  // namespace twinmmu
