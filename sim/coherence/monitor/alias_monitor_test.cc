#include "sim/coherence/monitor/alias_monitor.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/testing/failing_new.h"

namespace twinmmu::coherence {
namespace {

using testing::AnyOf;
using testing::Eq;
using testing::IsEmpty;
using testing::SizeIs;

constexpr AddressId kX = 11;  // of the memory of the tests
constexpr AddressId kY = 12;
constexpr AddressId kFlag = 13;
constexpr Strength kWeak = {};
constexpr Strength kRelaxed = {Semantics::kRelaxed, Scope::kGpu};
constexpr Strength kAcquire = {Semantics::kAcquire, Scope::kGpu};
constexpr Strength kRelease = {Semantics::kRelease, Scope::kGpu};
constexpr uint64_t kPage = 4096;

// Memory, armed but for the last page, and what device code does to it.
class Scene {
 public:
  explicit Scene(Policy policy, const Modes& modes = Modes(), uint64_t seed = 0,
                 uint64_t limit = uint64_t{1} << 30) {
    AliasOptions options;
    options.policy = policy;
    options.modes = modes;
    options.seed = seed;
    options.limit = limit;
    monitor_ = std::make_unique<AliasMonitor>(
        options, [this](const AliasHazard& hazard) { hazards.push_back(hazard); });
    monitor_->Arm(memory_.data(), memory_.size() - kPage);
  }

  AliasMonitor& monitor() { return *monitor_; }
  char* at(uint64_t offset) { return memory_.data() + offset; }
  char* flag() { return at(memory_.size() - kPage); }

  ThreadId Start(const Clocks& before = Clocks(), int device = 0) {
    return monitor_->Start(1, device, next_sm_++, before);
  }
  // Several of one block.
  ThreadId StartBlock(uint32_t threads) {
    return monitor_->Start(threads, 0, next_sm_++, Clocks());
  }
  void End(ThreadId thread) { monitor_->End(thread, 1, &clocks); }

  MonitoredAccess Access(ThreadId thread, AddressId address, char* memory, uint32_t size,
                         const Strength& strength) {
    MonitoredAccess access;
    access.memory = memory;
    access.size = size;
    access.armed = memory < flag();
    access.thread = thread;
    access.address = address;
    access.strength = strength;
    access.site = ++site;
    return access;
  }
  template <typename T>
  void Store(ThreadId thread, AddressId address, uint64_t offset, T value,
             const Strength& strength = kWeak) {
    const MonitoredAccess access = Access(thread, address, at(offset), sizeof(T), strength);
    AliasMonitor::Session session(monitor_.get());
    session.BeforeStore(access);
    std::memcpy(access.memory, &value, sizeof(T));
    session.AfterStore(access);
  }
  template <typename T = uint32_t>
  T Load(ThreadId thread, AddressId address, uint64_t offset, const Strength& strength = kWeak) {
    const MonitoredAccess access = Access(thread, address, at(offset), sizeof(T), strength);
    AliasMonitor::Session session(monitor_.get());
    std::array<char, 16> older;
    T value;
    std::memcpy(&value, session.Load(access, older.data()), sizeof(T));
    return value;
  }
  uint32_t AtomicAdd(ThreadId thread, AddressId address, uint64_t offset, uint32_t value,
                     const Strength& strength = kRelaxed) {
    const MonitoredAccess access = Access(thread, address, at(offset), sizeof(value), strength);
    AliasMonitor::Session session(monitor_.get());
    std::array<char, 16> older;
    uint32_t old;
    std::memcpy(&old, session.BeforeAtomic(access, older.data()), sizeof(old));
    value += old;
    std::memcpy(access.memory, &value, sizeof(value));
    session.AfterAtomic(access, true);
    return old;
  }
  void SetFlag(ThreadId thread, uint32_t value, const Strength& strength = kRelease) {
    Store(thread, kFlag, flag() - at(0), value, strength);
  }
  uint32_t GetFlag(ThreadId thread, const Strength& strength = kAcquire) {
    return Load(thread, kFlag, flag() - at(0), strength);
  }
  void AliasFence(ThreadId thread) { AliasMonitor::Session(monitor_.get()).AliasFence(thread, 1); }
  void Fence(ThreadId thread, const Strength& strength, bool sequential = false) {
    AliasMonitor::Session(monitor_.get()).Fence(thread, 1, strength, sequential);
  }
  void Meet(std::initializer_list<ThreadId> threads) {
    AliasMonitor::Meeting meeting;
    AliasMonitor::Session session(monitor_.get());
    for (const ThreadId thread : threads) session.Arrive(thread, 1, &meeting);
    for (const ThreadId thread : threads) session.Leave(thread, 1, &meeting);
  }

  // A copy to or from the memory, as a thread of its own.
  void CopyTo(ThreadId thread, AddressId address, uint64_t offset, uint64_t size, char value) {
    const MonitoredAccess access = Access(thread, address, at(offset), 0, kWeak);
    AliasMonitor::Session session(monitor_.get());
    session.BeforeRangeStore(access, size);
    std::memset(access.memory, value, size);
    session.AfterRangeStore(access, size);
  }
  std::string CopyFrom(ThreadId thread, AddressId address, uint64_t offset, uint64_t size) {
    const MonitoredAccess access = Access(thread, address, at(offset), 0, kWeak);
    AliasMonitor::Session session(monitor_.get());
    std::string copied(access.memory, size);
    session.AfterRangeLoad(access, size, copied.data());
    return copied;
  }

  std::vector<AliasHazard> hazards;
  Clocks clocks;  // of all that ended
  Site site = 0;  // of the last access

 private:
  alignas(kPage) std::array<char, 8 * kPage> memory_{};
  std::unique_ptr<AliasMonitor> monitor_;
  int next_sm_ = 0;
};

TEST(AliasMonitorTest, AnAliasIsStaleWithoutAFence) {
  Scene scene(Policy::kStale);
  const ThreadId thread = scene.Start();
  scene.Store(thread, kX, 0, 1u);
  EXPECT_EQ(scene.Load(thread, kY, 0), 0u);
  ASSERT_THAT(scene.hazards, SizeIs(1));
  EXPECT_EQ(scene.hazards[0].hazard, Hazard::kAlias);
  EXPECT_TRUE(scene.hazards[0].missing_fence);
}

TEST(AliasMonitorTest, AnAliasIsFreshAfterAFence) {
  Scene scene(Policy::kStale);
  const ThreadId thread = scene.Start();
  scene.Store(thread, kX, 0, 1u);
  scene.AliasFence(thread);
  EXPECT_EQ(scene.Load(thread, kY, 0), 1u);
  EXPECT_THAT(scene.hazards, IsEmpty());
}

TEST(AliasMonitorTest, AHazardNamesBothAccesses) {
  Scene scene(Policy::kCoherent);
  const ThreadId thread = scene.Start();
  scene.Store(thread, kX, 8, 1u);
  const Site store = scene.site;
  EXPECT_EQ(scene.Load(thread, kY, 8), 1u);
  ASSERT_THAT(scene.hazards, SizeIs(1));
  EXPECT_EQ(scene.hazards[0].first.site, store);
  EXPECT_EQ(scene.hazards[0].first.address, kX);
  EXPECT_TRUE(scene.hazards[0].first.writes);
  EXPECT_EQ(scene.hazards[0].second.site, scene.site);
  EXPECT_EQ(scene.hazards[0].second.address, kY);
  EXPECT_FALSE(scene.hazards[0].second.writes);
  EXPECT_EQ(scene.hazards[0].memory, scene.at(8));
}

// R1.
TEST(AliasMonitorTest, OneAddressIsInOrderByABarrier) {
  Scene scene(Policy::kStale);
  const ThreadId writer = scene.Start(), reader = scene.Start();
  scene.Store(writer, kX, 0, 1u);
  scene.Meet({writer, reader});
  EXPECT_EQ(scene.Load(reader, kX, 0), 1u);
  EXPECT_THAT(scene.hazards, IsEmpty());
}

TEST(AliasMonitorTest, OneAddressRacesWithoutOrder) {
  Scene scene(Policy::kStale);
  const ThreadId writer = scene.Start(), reader = scene.Start();
  scene.Store(writer, kX, 0, 1u);
  EXPECT_EQ(scene.Load(reader, kX, 0), 0u);
  ASSERT_THAT(scene.hazards, SizeIs(1));
  EXPECT_EQ(scene.hazards[0].hazard, Hazard::kData);
  EXPECT_FALSE(scene.hazards[0].missing_fence);
}

// R2: in any thread on the way.
TEST(AliasMonitorTest, AFenceBehindABarrierWillDo) {
  Scene scene(Policy::kStale);
  const ThreadId writer = scene.Start(), reader = scene.Start();
  scene.Store(writer, kX, 0, 1u);
  scene.Meet({writer, reader});
  scene.AliasFence(reader);
  EXPECT_EQ(scene.Load(reader, kY, 0), 1u);
  EXPECT_THAT(scene.hazards, IsEmpty());
}

// R3.
TEST(AliasMonitorTest, AFenceOfAnotherKindWillNotDo) {
  Scene scene(Policy::kStale);
  const ThreadId thread = scene.Start();
  scene.Store(thread, kX, 0, 1u);
  scene.Fence(thread, {Semantics::kAcquireRelease, Scope::kSys}, true);
  EXPECT_EQ(scene.Load(thread, kY, 0), 0u);
  EXPECT_THAT(scene.hazards, SizeIs(1));
}

// Weak accesses of memory with one mapping may be told of, and are let be.
TEST(AliasMonitorTest, FindsNothingInOtherMemory) {
  Scene scene(Policy::kCoherent);
  const ThreadId thread = scene.Start();
  const auto elsewhere = static_cast<uint64_t>(scene.flag() - scene.at(0));
  scene.Store(thread, kX, elsewhere, 1u);
  EXPECT_EQ(scene.Load(thread, kY, elsewhere), 1u);
  EXPECT_THAT(scene.hazards, IsEmpty());
}

// A flag in memory with one mapping orders accesses of armed memory.
TEST(AliasMonitorTest, AFlagElsewhereSynchronises) {
  Scene scene(Policy::kStale);
  const ThreadId writer = scene.Start(), reader = scene.Start();
  scene.Store(writer, kX, 0, 1u);
  scene.SetFlag(writer, 1);
  ASSERT_EQ(scene.GetFlag(reader), 1u);
  EXPECT_EQ(scene.Load(reader, kX, 0), 1u);
  EXPECT_THAT(scene.hazards, IsEmpty());
}

// A thread that only passes on what others did has a release of its own each time.
TEST(AliasMonitorTest, AThreadPassesOnWhatItSawEachTime) {
  Scene scene(Policy::kStale);
  const ThreadId writer = scene.Start(), middle = scene.Start(), reader = scene.Start();
  const uint64_t first = scene.flag() - scene.at(0), second = first + 64;
  for (uint32_t round = 1; round <= 3; ++round) {
    scene.Store(writer, kX, 64 * round, round);
    scene.Store(writer, kFlag, first, round, kRelease);
    EXPECT_EQ(scene.Load(middle, kFlag, first, kAcquire), round);
    scene.AliasFence(middle);
    scene.Store(middle, kFlag, second, round, kRelease);
    EXPECT_EQ(scene.Load(reader, kFlag, second, kAcquire), round);
    EXPECT_EQ(scene.Load(reader, kY, 64 * round), round);
  }
  EXPECT_THAT(scene.hazards, IsEmpty());
}

TEST(AliasMonitorTest, AFlagThatSomebodyElseWroteOrdersNothing) {
  Scene scene(Policy::kCoherent);
  const ThreadId writer = scene.Start(), reader = scene.Start();
  scene.Store(writer, kX, 0, 1u);
  scene.SetFlag(writer, 1);
  *scene.flag() = 2;
  ASSERT_EQ(scene.GetFlag(reader), 2u);
  scene.Load(reader, kX, 0);
  EXPECT_THAT(scene.hazards, SizeIs(1));
}

TEST(AliasMonitorTest, AFlagThatAnotherThreadWroteAgainOrdersNothing) {
  Scene scene(Policy::kCoherent);
  const ThreadId writer = scene.Start(), other = scene.Start(), reader = scene.Start();
  scene.Store(writer, kX, 0, 1u);
  scene.SetFlag(writer, 1);
  scene.SetFlag(other, 1, kRelaxed);
  ASSERT_EQ(scene.GetFlag(reader), 1u);
  scene.Load(reader, kX, 0);
  EXPECT_THAT(scene.hazards, SizeIs(1));
}

TEST(AliasMonitorTest, ARelaxedAtomicPassesOnWhatTheFlagOrders) {
  Scene scene(Policy::kCoherent);
  const ThreadId writer = scene.Start(), other = scene.Start(), reader = scene.Start();
  scene.Store(writer, kX, 0, 1u);
  scene.SetFlag(writer, 1);
  scene.AtomicAdd(other, kFlag, scene.flag() - scene.at(0), 1);
  ASSERT_EQ(scene.GetFlag(reader), 2u);
  scene.Load(reader, kX, 0);
  EXPECT_THAT(scene.hazards, IsEmpty());
}

// Of more threads than are kept apart, of which one goes on alone.
TEST(AliasMonitorTest, ACounterOrdersAllThatCounted) {
  constexpr uint32_t kMany = 12;
  for (uint32_t last = 0; last < kMany; ++last) {
    Scene scene(Policy::kCoherent);
    const uint64_t counter = scene.flag() - scene.at(0);
    std::vector<ThreadId> threads;
    for (uint64_t i = 0; i < kMany; ++i) {
      threads.push_back(scene.Start());
      scene.Store(threads[i], kX, 64 * i, 1u);
      scene.AtomicAdd(threads[i], kFlag, counter, 1, kRelease);
    }
    for (int i = 0; i < 100; ++i) scene.AtomicAdd(threads[last], kFlag, counter, 1, kRelease);
    const ThreadId reader = scene.Start();
    ASSERT_EQ(scene.GetFlag(reader), kMany + 100);
    for (uint64_t i = 0; i < kMany; ++i) scene.Load(reader, kX, 64 * i);
    EXPECT_THAT(scene.hazards, IsEmpty()) << last;
  }
}

// R9.
TEST(AliasMonitorTest, WhatIsCompleteIsCoherentForWhatStarts) {
  Scene scene(Policy::kStale);
  const ThreadId writer = scene.Start();
  scene.Store(writer, kX, 0, 1u);
  scene.End(writer);
  const ThreadId reader = scene.Start(scene.clocks);
  EXPECT_EQ(scene.Load(reader, kY, 0), 1u);
  EXPECT_THAT(scene.hazards, IsEmpty());
}

TEST(AliasMonitorTest, AtomicsThroughTwoAddressesMayMissEachOther) {
  Scene scene(Policy::kStale);
  const ThreadId a = scene.Start(), b = scene.Start();
  EXPECT_EQ(scene.AtomicAdd(a, kX, 0, 1), 0u);
  EXPECT_EQ(scene.AtomicAdd(b, kY, 0, 1), 0u);
  EXPECT_THAT(scene.hazards, SizeIs(1));
}

TEST(AliasMonitorTest, AtomicsThroughOneAddressDoNot) {
  Scene scene(Policy::kStale);
  const ThreadId a = scene.Start(), b = scene.Start();
  EXPECT_EQ(scene.AtomicAdd(a, kX, 0, 1), 0u);
  EXPECT_EQ(scene.AtomicAdd(b, kX, 0, 1), 1u);
  EXPECT_THAT(scene.hazards, IsEmpty());
}

// R4: a fence between the release and the store of the flag is not on the way.
TEST(AliasMonitorTest, AFenceBehindTheReleaseIsTooLate) {
  Scene scene(Policy::kStale);
  const ThreadId writer = scene.Start(), reader = scene.Start();
  scene.Store(writer, kX, 0, 1u);
  scene.Fence(writer, {Semantics::kAcquireRelease, Scope::kGpu});
  scene.AliasFence(writer);
  scene.SetFlag(writer, 1, kRelaxed);
  ASSERT_EQ(scene.GetFlag(reader), 1u);
  EXPECT_EQ(scene.Load(reader, kY, 0), 0u);
  EXPECT_THAT(scene.hazards, SizeIs(1));
}

TEST(AliasMonitorTest, AFenceBeforeTheReleaseIsInTime) {
  Scene scene(Policy::kStale);
  const ThreadId writer = scene.Start(), reader = scene.Start();
  scene.Store(writer, kX, 0, 1u);
  scene.AliasFence(writer);
  scene.Fence(writer, {Semantics::kAcquireRelease, Scope::kGpu});
  scene.SetFlag(writer, 1, kRelaxed);
  ASSERT_EQ(scene.GetFlag(reader), 1u);
  EXPECT_EQ(scene.Load(reader, kY, 0), 1u);
  EXPECT_THAT(scene.hazards, IsEmpty());
}

// R5: the flag lies in armed memory.
TEST(AliasMonitorTest, AFlagThroughTwoAddressesOrdersNothing) {
  Scene scene(Policy::kCoherent);
  const ThreadId writer = scene.Start(), reader = scene.Start();
  scene.Store(writer, kX, 0, 1u);
  scene.Store(writer, kX, 64, 1u, kRelease);
  ASSERT_EQ(scene.Load(reader, kY, 64, kAcquire), 1u);
  scene.hazards.clear();  // of the flag
  scene.Load(reader, kX, 0);
  EXPECT_THAT(scene.hazards, SizeIs(1));
}

TEST(AliasMonitorTest, AFlagThroughOneAddressOrdersArmedMemory) {
  for (const Policy policy : {Policy::kCoherent, Policy::kStale, Policy::kL1}) {
    Scene scene(policy);
    const ThreadId writer = scene.Start(), reader = scene.Start();
    scene.Store(writer, kX, 0, 1u);
    scene.Store(writer, kX, 64, 1u, kRelease);
    ASSERT_EQ(scene.Load(reader, kX, 64, kAcquire), 1u);
    EXPECT_EQ(scene.Load(reader, kX, 0), 1u);
    EXPECT_THAT(scene.hazards, IsEmpty());
  }
}

TEST(AliasMonitorTest, AFlagOfTooSmallAScopeOrdersNothingInAnotherBlock) {
  Scene scene(Policy::kCoherent);
  const ThreadId writer = scene.Start(), reader = scene.Start();
  scene.Store(writer, kX, 0, 1u);
  scene.SetFlag(writer, 1, {Semantics::kRelease, Scope::kCta});
  scene.GetFlag(reader);
  scene.Load(reader, kX, 0);
  EXPECT_THAT(scene.hazards, SizeIs(1));
}

TEST(AliasMonitorTest, AFlagOfThatScopeOrdersInItsBlock) {
  Scene scene(Policy::kCoherent);
  const ThreadId writer = scene.StartBlock(2), reader = writer + 1;
  scene.Store(writer, kX, 0, 1u);
  scene.SetFlag(writer, 1, {Semantics::kRelease, Scope::kCta});
  scene.GetFlag(reader, {Semantics::kAcquire, Scope::kCta});
  scene.Load(reader, kX, 0);
  EXPECT_THAT(scene.hazards, IsEmpty());
}

// R6.
TEST(AliasMonitorTest, WhatAStrongReadSawIsBeforeAFenceBehindIt) {
  for (const Policy policy : {Policy::kCoherent, Policy::kStale}) {
    Scene scene(policy);
    const ThreadId writer = scene.Start(), reader = scene.Start();
    scene.Store(writer, kX, 0, 1u, kRelaxed);
    ASSERT_EQ(scene.Load(reader, kX, 0, kRelaxed), 1u);
    scene.AliasFence(reader);
    EXPECT_EQ(scene.Load(reader, kY, 0), 1u);
    EXPECT_THAT(scene.hazards, IsEmpty());
  }
}

// R7.
TEST(AliasMonitorTest, WritesThroughTwoAddressesNeedAFence) {
  Scene scene(Policy::kCoherent);
  const ThreadId thread = scene.Start();
  scene.Store(thread, kX, 0, 1u);
  scene.Store(thread, kY, 0, 2u);
  ASSERT_THAT(scene.hazards, SizeIs(1));
  EXPECT_TRUE(scene.hazards[0].first.writes && scene.hazards[0].second.writes);
}

TEST(AliasMonitorTest, AReadBeforeAWriteThroughAnotherAddressNeedsAFence) {
  Scene scene(Policy::kCoherent);
  const ThreadId thread = scene.Start();
  scene.Load(thread, kY, 0);
  scene.Store(thread, kX, 0, 1u);
  ASSERT_THAT(scene.hazards, SizeIs(1));
  EXPECT_FALSE(scene.hazards[0].first.writes);
  EXPECT_TRUE(scene.hazards[0].second.writes);
}

// R10: a resident grid sees the flag of a grid that started after the writer was done.
uint32_t ValueInAResidentGrid(BoundaryMode boundary, bool fence, size_t* hazards) {
  Modes modes;
  modes.boundary = boundary;
  Scene scene(Policy::kStale, modes);
  const ThreadId resident = scene.Start(), writer = scene.Start();
  scene.Store(writer, kX, 0, 1u);
  scene.End(writer);
  const ThreadId signaller = scene.Start(scene.clocks);
  scene.SetFlag(signaller, 1);
  EXPECT_EQ(scene.GetFlag(resident), 1u);
  if (fence) scene.AliasFence(resident);
  const uint32_t value = scene.Load(resident, kY, 0);
  *hazards = scene.hazards.size();
  return value;
}

TEST(AliasMonitorTest, AResidentGridNeedsAFenceOfItsOwn) {
  size_t hazards = 0;
  EXPECT_EQ(ValueInAResidentGrid(BoundaryMode::kGuide, false, &hazards), 0u);
  EXPECT_EQ(hazards, 1u);
  EXPECT_EQ(ValueInAResidentGrid(BoundaryMode::kGuide, true, &hazards), 1u);
  EXPECT_EQ(hazards, 0u);
}

TEST(AliasMonitorTest, AResidentGridNeedsNoneWithBoundariesOfPtx) {
  size_t hazards = 0;
  EXPECT_EQ(ValueInAResidentGrid(BoundaryMode::kPtx, false, &hazards), 1u);
  EXPECT_EQ(hazards, 0u);
}

// R12: each half alone does nothing.
TEST(AliasMonitorTest, HalvesOfAnAliasFenceDoTogether) {
  for (const bool acquires : {false, true}) {
    Scene scene(Policy::kStale);
    const ThreadId writer = scene.Start(), reader = scene.Start();
    scene.Store(writer, kX, 0, 1u);
    AliasMonitor::Session(&scene.monitor()).AliasReleaseFence(writer, 1);
    scene.SetFlag(writer, 1, kRelaxed);
    ASSERT_EQ(scene.GetFlag(reader, acquires ? kRelaxed : kAcquire), 1u);
    if (acquires) AliasMonitor::Session(&scene.monitor()).AliasAcquireFence(reader, 1);
    EXPECT_EQ(scene.Load(reader, kY, 0), acquires ? 1u : 0u);
    EXPECT_THAT(scene.hazards, SizeIs(acquires ? 0 : 1));
  }
}

TEST(AliasMonitorTest, TwoDevicesAreAHazardOfTheirOwn) {
  Scene scene(Policy::kCoherent);
  const ThreadId writer = scene.Start(Clocks(), 0), reader = scene.Start(Clocks(), 1);
  scene.Store(writer, kX, 0, 1u);
  scene.Load(reader, kY, 0);
  ASSERT_THAT(scene.hazards, SizeIs(1));
  EXPECT_EQ(scene.hazards[0].hazard, Hazard::kCrossDevice);
}

TEST(AliasMonitorTest, APairOfSitesIsReportedOnce) {
  Scene scene(Policy::kCoherent);
  const ThreadId thread = scene.Start();
  for (uint64_t offset = 0; offset < 64; offset += 4) {
    scene.site = 100;
    scene.Store(thread, kX, offset, 1u);
    scene.Load(thread, kY, offset);
  }
  EXPECT_THAT(scene.hazards, SizeIs(1));
}

// One instruction that many threads execute is what is noted most quickly.
TEST(AliasMonitorTest, ThreadsRaceAtOneSite) {
  for (const bool ordered : {false, true}) {
    Scene scene(Policy::kCoherent);
    const ThreadId a = scene.Start(), b = scene.Start();
    for (const uint64_t offset : {0, 4, 8}) {
      scene.site = 100;
      scene.Store(a, kX, offset, 1u);
    }
    if (ordered) scene.Meet({a, b});
    scene.site = 100;
    scene.Store(b, kX, 4, 1u);
    EXPECT_THAT(scene.hazards, SizeIs(ordered ? 0 : 1));
    scene.site = 200;
    for (const uint64_t offset : {0, 8}) {
      scene.site = 200;
      scene.Load(b, kX, offset);
    }
    EXPECT_THAT(scene.hazards, SizeIs(ordered ? 0 : 2));
    // After a write of one and a read of the other.
    const ThreadId c = scene.Start();
    scene.Meet({b, c});
    for (const uint64_t offset : {12, 0}) {
      scene.site = 300;
      scene.Store(c, kX, offset, 1u);
    }
    EXPECT_THAT(scene.hazards, SizeIs(ordered ? 0 : 3));
    scene.site = 100;
    scene.Store(a, kX, 8, 1u);
    EXPECT_THAT(scene.hazards, SizeIs(ordered ? 1 : 4));
  }
}

// --- Bytes ---

TEST(AliasMonitorTest, NeighboursInAWordDoNotRace) {
  Scene scene(Policy::kCoherent);
  const ThreadId a = scene.Start(), b = scene.Start();
  scene.Store<uint8_t>(a, kX, 0, 1);
  scene.Store<uint8_t>(b, kY, 1, 2);
  scene.Store<uint16_t>(b, kX, 2, 3);
  EXPECT_THAT(scene.hazards, IsEmpty());
}

TEST(AliasMonitorTest, AByteRacesWithTheWordAroundIt) {
  Scene scene(Policy::kCoherent);
  const ThreadId a = scene.Start(), b = scene.Start();
  scene.Store<uint8_t>(a, kX, 2, 1);
  scene.Store(b, kX, 0, 1u);
  EXPECT_THAT(scene.hazards, SizeIs(1));
}

TEST(AliasMonitorTest, AWordIsStaleInTheByteThatWasWritten) {
  Scene scene(Policy::kStale);
  const ThreadId thread = scene.Start();
  scene.Store(thread, kX, 0, 0x01020304u);
  scene.AliasFence(thread);
  scene.Store<uint8_t>(thread, kX, 1, 0xff);
  EXPECT_EQ(scene.Load(thread, kY, 0), 0x01020304u);
  EXPECT_EQ(scene.Load(thread, kX, 0), 0x0102ff04u);
  EXPECT_EQ(scene.Load<uint8_t>(thread, kX, 3), 0x01u);
}

// One address, so that an access of 8 bytes is seen as a whole or not at all.
TEST(AliasMonitorTest, AWideAccessDoesNotTear) {
  constexpr uint64_t kNew = 0x0000000100000001;
  bool older = false, newer = false;
  for (uint64_t seed = 0; seed < 64; ++seed) {
    Scene scene(Policy::kRandom, Modes(), seed);
    const ThreadId writer = scene.Start(), reader = scene.Start();
    scene.Store<uint64_t>(writer, kX, 0, kNew, kRelaxed);
    const auto value = scene.Load<uint64_t>(reader, kX, 0, kRelaxed);
    EXPECT_THAT(value, AnyOf(Eq(0u), Eq(kNew)));
    older = older || value == 0;
    newer = newer || value == kNew;
  }
  EXPECT_TRUE(older && newer);
}

// --- Copies and fills ---

TEST(AliasMonitorTest, ACopyRacesWithWhatNothingOrders) {
  Scene scene(Policy::kStale);
  const ThreadId copy = scene.Start(), reader = scene.Start();
  scene.CopyTo(copy, kX, 100, 3 * kPage, 1);
  EXPECT_EQ(scene.Load(reader, kY, 2 * kPage), 0u);
  ASSERT_THAT(scene.hazards, SizeIs(1));
  EXPECT_EQ(scene.hazards[0].memory, scene.at(2 * kPage));
  EXPECT_EQ(scene.Load(reader, kY, 96), 0u);  // beside it
  EXPECT_THAT(scene.hazards, SizeIs(1));
}

TEST(AliasMonitorTest, ACopyRacesOnlyWithItsBytes) {
  Scene scene(Policy::kCoherent);
  const ThreadId copy = scene.Start(), other = scene.Start();
  scene.Store(other, kY, 96, 1u);
  scene.Store(other, kY, 100 + 3 * kPage, 1u);
  scene.CopyTo(copy, kX, 100, 3 * kPage, 1);
  scene.Load(other, kY, 96);
  EXPECT_THAT(scene.hazards, IsEmpty());
  scene.Load(other, kY, 96 + 3 * kPage);
  EXPECT_THAT(scene.hazards, SizeIs(1));
}

TEST(AliasMonitorTest, CopiesRaceOnlyWhereTheyMeet) {
  Scene scene(Policy::kCoherent);
  const ThreadId a = scene.Start(), b = scene.Start();
  scene.CopyTo(a, kX, 0, kPage / 2, 1);
  scene.CopyTo(b, kX, kPage / 2, kPage, 1);
  EXPECT_THAT(scene.hazards, IsEmpty());
  scene.CopyFrom(b, kX, kPage / 2 - 4, 128);
  EXPECT_THAT(scene.hazards, SizeIs(1));
}

// Of the copy the part in the page is told.
TEST(AliasMonitorTest, ACopyRacesWithWhatAKernelWrote) {
  Scene scene(Policy::kCoherent);
  const ThreadId writer = scene.Start(), copy = scene.Start();
  scene.Store(writer, kX, kPage + 8, 1u);
  scene.CopyTo(copy, kY, 100, 3 * kPage, 1);
  ASSERT_THAT(scene.hazards, SizeIs(1));
  EXPECT_EQ(scene.hazards[0].memory, scene.at(kPage));
  EXPECT_EQ(scene.hazards[0].size, kPage);
}

TEST(AliasMonitorTest, ACopyReadsOlderValues) {
  Scene scene(Policy::kStale);
  const ThreadId writer = scene.Start(), copy = scene.Start();
  scene.Store(writer, kX, 4, 0x01010101u);
  EXPECT_EQ(scene.CopyFrom(copy, kY, 0, 12), std::string(12, '\0'));
  EXPECT_THAT(scene.hazards, SizeIs(1));
}

// R9.
TEST(AliasMonitorTest, ACopyAfterAKernelIsInOrder) {
  Scene scene(Policy::kStale);
  const ThreadId writer = scene.Start();
  scene.Store(writer, kX, 4, 0x01010101u);
  scene.End(writer);
  const ThreadId copy = scene.Start(scene.clocks);
  EXPECT_EQ(scene.CopyFrom(copy, kY, 4, 4), std::string(4, '\1'));
  scene.CopyTo(copy, kY, 0, 2 * kPage, 2);
  EXPECT_THAT(scene.hazards, IsEmpty());
}

TEST(AliasMonitorTest, ACopyOfFewBytesElsewhereIsAFlag) {
  Scene scene(Policy::kCoherent);
  const ThreadId reader = scene.Start(), writer = scene.Start();
  scene.Store(writer, kX, 0, 1u);
  scene.End(writer);
  const ThreadId copy = scene.Start(scene.clocks);
  scene.CopyTo(copy, kFlag, scene.flag() - scene.at(0), 4, 1);
  scene.GetFlag(reader, {Semantics::kAcquire, Scope::kSys});
  scene.Load(reader, kX, 0);
  EXPECT_THAT(scene.hazards, IsEmpty());
}

// A copy is no strong access, and races with who reads it.
TEST(AliasMonitorTest, ACopyOfFewBytesToArmedMemoryIsNoFlag) {
  Scene scene(Policy::kCoherent);
  const ThreadId reader = scene.Start(), writer = scene.Start();
  scene.Store(writer, kX, 0, 1u);
  scene.End(writer);
  const ThreadId copy = scene.Start(scene.clocks);
  scene.CopyTo(copy, kX, 64, 4, 1);
  scene.Load(reader, kX, 64, {Semantics::kAcquire, Scope::kSys});
  scene.hazards.clear();  // of the word that was copied
  scene.Load(reader, kX, 0);
  EXPECT_THAT(scene.hazards, SizeIs(1));
}

// --- What is forgotten ---

TEST(AliasMonitorTest, DisarmForgetsTheMemory) {
  Scene scene(Policy::kStale);
  const ThreadId thread = scene.Start();
  scene.Store(thread, kX, 0, 1u);
  scene.Store(thread, kX, kPage, 1u);
  scene.monitor().Disarm(scene.at(0), kPage);
  scene.monitor().Arm(scene.at(0), kPage);
  EXPECT_EQ(scene.Load(thread, kY, 0), 1u);
  EXPECT_THAT(scene.hazards, IsEmpty());
  EXPECT_EQ(scene.Load(thread, kY, kPage), 0u);
  EXPECT_THAT(scene.hazards, SizeIs(1));
}

// Aliases come and go, one pair after the other, and each time have new ids.
size_t BytesAfterCycles(Policy policy, bool waits, AddressId cycles) {
  Scene scene(policy);
  scene.monitor().Disarm(scene.at(0), 7 * kPage);
  for (AddressId cycle = 0; cycle < cycles; ++cycle) {
    scene.monitor().Arm(scene.at(0), kPage);
    scene.site = 0;
    const ThreadId thread = scene.monitor().Start(1, 0, /*sm=*/0, scene.clocks);
    scene.Store(thread, 2 * cycle, 0, cycle);
    scene.AliasFence(thread);
    scene.Load(thread, 2 * cycle + 1, 0);
    scene.Store(thread, 2 * cycle + 1, 64, cycle, kRelease);
    scene.End(thread);
    if (waits) scene.monitor().HostWaited(scene.clocks);
    scene.monitor().Disarm(scene.at(0), kPage);
  }
  return live_bytes;
}

TEST(AliasMonitorTest, AliasesThatAreNoMoreTakeNoMemory) {
  for (const Policy policy : {Policy::kCoherent, Policy::kStale, Policy::kL1, Policy::kRandom}) {
    for (const bool waits : {false, true}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(policy)) + (waits ? ", waits" : ""));
      const size_t few = BytesAfterCycles(policy, waits, 1'000);
      EXPECT_LT(BytesAfterCycles(policy, waits, 20'000), few + (12 << 10));
    }
  }
}

TEST(AliasMonitorTest, IsActiveWhileAnythingIsArmed) {
  Scene scene(Policy::kStale);
  EXPECT_TRUE(scene.monitor().active());
  scene.monitor().Disarm(scene.at(0), 7 * kPage);
  EXPECT_FALSE(scene.monitor().active());
}

// Even for a thread whose past lacks what the host has waited for.
TEST(AliasMonitorTest, WhatTheHostHasWaitedForIsForgotten) {
  Scene scene(Policy::kStale);
  const ThreadId writer = scene.Start();
  scene.Store(writer, kX, 0, 1u);
  scene.CopyTo(writer, kX, kPage, kPage, 1);
  scene.End(writer);
  EXPECT_FALSE(scene.monitor().HostWaited(scene.clocks));
  const ThreadId reader = scene.Start();
  EXPECT_EQ(scene.Load(reader, kY, 0), 1u);
  EXPECT_EQ(scene.Load(reader, kY, kPage), 0x01010101u);
  EXPECT_THAT(scene.hazards, IsEmpty());
}

TEST(AliasMonitorTest, NothingIsForgottenWhileSomethingRuns) {
  Scene scene(Policy::kStale);
  const ThreadId writer = scene.Start(), reader = scene.Start();
  scene.Store(writer, kX, 0, 1u);
  scene.End(writer);
  scene.monitor().HostWaited(scene.clocks);
  EXPECT_EQ(scene.Load(reader, kY, 0), 0u);
  EXPECT_THAT(scene.hazards, SizeIs(1));
}

TEST(AliasMonitorTest, NumbersOfThreadsEndAndStartAgain) {
  Scene scene(Policy::kCoherent);
  const ThreadId running = scene.Start();
  for (int i = 0; i < 8; ++i) {
    constexpr uint32_t kMany = 0x3fffffff;
    scene.monitor().End(scene.monitor().Start(kMany, 0, 0, Clocks()), kMany, &scene.clocks);
  }
  const ThreadId none = scene.Start();
  scene.Store(running, kX, 0, 1u);
  scene.Load(none, kY, 0);  // is not noted
  EXPECT_THAT(scene.hazards, IsEmpty());
  scene.End(none);
  scene.End(running);
  EXPECT_TRUE(scene.monitor().HostWaited(scene.clocks));
  const ThreadId thread = scene.Start();
  EXPECT_EQ(thread, 1u);
  scene.Store(thread, kX, 0, 1u);
  scene.Load(thread, kY, 0);
  EXPECT_THAT(scene.hazards, SizeIs(1));
}

TEST(AliasMonitorTest, NothingIsInventedBeyondTheLimit) {
  Scene scene(Policy::kStale, Modes(), 0, /*limit=*/4096);
  const ThreadId writer = scene.Start(), reader = scene.Start();
  for (uint64_t i = 0; i < 7; ++i) scene.Store(writer, kX, i * kPage + 512, 1u);
  for (uint64_t i = 0; i < 64; ++i) {
    scene.Store(writer, kFlag, scene.flag() - scene.at(0) + 4 * i, 1u, kRelease);
  }
  scene.SetFlag(writer, 2);
  ASSERT_EQ(scene.GetFlag(reader), 2u);
  for (uint64_t i = 0; i < 7; ++i) EXPECT_EQ(scene.Load(reader, kX, i * kPage + 512), 1u);
  EXPECT_THAT(scene.hazards, IsEmpty());
}

// With the flag goes what it ordered.
TEST(AliasMonitorTest, NothingIsInventedWhereAFlagIsForgotten) {
  Scene scene(Policy::kCoherent, Modes(), 0, /*limit=*/4096);
  const ThreadId writer = scene.Start(), reader = scene.Start();
  scene.Store(writer, kX, kPage, 1u);
  scene.Store(writer, kX, 0, 1u, kRelease);
  for (uint64_t i = 0; i < 8; ++i) scene.Store(writer, kX, 2 * kPage + 4 * i, 1u, kRelaxed);
  ASSERT_EQ(scene.Load(reader, kX, 0, kAcquire), 1u);
  scene.Load(reader, kX, kPage);
  EXPECT_THAT(scene.hazards, IsEmpty());
}

TEST(AliasMonitorTest, SharedMemoryIsToldOfUntilItIsSharedNoMore) {
  AliasOptions options;
  options.watch_all = true;
  AliasMonitor monitor(options, [](const AliasHazard&) {});
  std::array<char, 64> memory{};
  bool flagged = false;
  const auto uses = [&](uint64_t call) {
    MonitoredAccess access;
    access.memory = memory.data();
    access.thread = monitor.Start(1, 0, 0, Clocks());
    access.address = kX;
    access.armed = true;
    access.call = call;
    AliasMonitor::Session(&monitor).BeforeRangeStore(access, memory.size());
    return monitor.TakeShared(call, &flagged).size();
  };
  monitor.Share(memory.data(), memory.size());
  EXPECT_EQ(uses(1), 1u);
  monitor.Unshare(memory.data());
  EXPECT_EQ(uses(2), 0u);
}

// Until all has ended, as the order of what runs is lost, too.
TEST(AliasMonitorTest, WithoutMemoryNothingIsReportedAndValuesAreNew) {
  for (const Policy policy : {Policy::kCoherent, Policy::kStale}) {
    Scene scene(policy);
    const ThreadId thread = scene.Start();
    scene.Store(thread, kX, 0, 1u);
    no_memory = true;
    scene.Store(thread, kX, kPage, 1u);
    scene.Meet({thread});
    no_memory = false;
    EXPECT_EQ(scene.Load(thread, kY, 0), 1u);
    EXPECT_EQ(scene.Load(thread, kY, kPage), 1u);
    EXPECT_THAT(scene.hazards, IsEmpty());
    scene.End(thread);
    const ThreadId later = scene.Start();
    scene.Store(later, kX, 0, 2u);
    EXPECT_EQ(scene.Load(later, kY, 0), policy == Policy::kStale ? 1u : 2u);
    EXPECT_THAT(scene.hazards, SizeIs(1));
    // The past of what ran without memory is not missed.
    scene.End(later);
    scene.monitor().HostWaited(scene.clocks);
    EXPECT_EQ(scene.Load(scene.Start(), kY, 0), 2u);
  }
}

TEST(AliasMonitorTest, ArmAndDisarmNeedNoMemory) {
  Scene scene(Policy::kStale);
  scene.Store(scene.Start(), kX, 0, 1u);
  no_memory = true;
  scene.monitor().Disarm(scene.at(0), 7 * kPage);
  scene.monitor().Arm(scene.at(0), 7 * kPage);
  no_memory = false;
  EXPECT_TRUE(scene.monitor().active());
}

// --- Values ---

// Caches do not last for ever.
TEST(AliasMonitorTest, ALoopSeesTheNewestValueInTheEnd) {
  Scene scene(Policy::kStale);
  const ThreadId writer = scene.Start(), reader = scene.Start();
  scene.Store(writer, kX, 0, 1u);
  int turns = 0;
  while (turns < 10000 && scene.Load(reader, kY, 0, kAcquire) == 0) ++turns;
  EXPECT_GT(turns, 10);
  EXPECT_LT(turns, 10000);
}

TEST(AliasMonitorTest, ACacheIsStaleWhereItIsWarm) {
  Scene scene(Policy::kL1);
  const ThreadId thread = scene.Start();
  scene.Load(thread, kY, 0);
  scene.Store(thread, kX, 0, 1u);
  scene.Store(thread, kX, 4, 1u);
  EXPECT_EQ(scene.Load(thread, kY, 0), 0u);
  EXPECT_EQ(scene.Load(thread, kY, 4), 1u);
  scene.GetFlag(thread);  // an acquire empties it
  EXPECT_EQ(scene.Load(thread, kY, 0), 1u);
}

// A host that writes through a mapping of its own is not observed.
TEST(AliasMonitorTest, AValueOfUnknownOriginIsTheNewest) {
  Scene scene(Policy::kStale);
  const ThreadId thread = scene.Start();
  scene.Store(thread, kX, 0, 1u);
  *scene.at(0) = 5;
  EXPECT_EQ(scene.Load(thread, kY, 0), 5u);
}

TEST(AliasMonitorTest, AfterTheLastOlderValueOneOfUnknownOriginIsTheNewest) {
  Scene scene(Policy::kStale);
  const ThreadId writer = scene.Start(), reader = scene.Start();
  scene.Store(writer, kX, 0, 1u);
  for (int i = 0; i < 1000; ++i) scene.Load(reader, kY, 0);
  ASSERT_EQ(scene.Load(reader, kY, 0), 1u);
  *scene.at(0) = 5;
  EXPECT_EQ(scene.Load(reader, kY, 0), 5u);
}

}  // namespace
}  // namespace twinmmu::coherence
