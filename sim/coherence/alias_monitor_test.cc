#include "sim/coherence/alias_monitor.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::coherence {
namespace {

using testing::ElementsAre;
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
  explicit Scene(Policy policy, Modes modes = Modes(), uint64_t limit = uint64_t{1} << 30) {
    AliasOptions options;
    options.policy = policy;
    options.modes = modes;
    options.limit = limit;
    monitor_ = std::make_unique<AliasMonitor>(
        options, [this](const AliasHazard& hazard) { hazards.push_back(hazard); });
    monitor_->Arm(memory_.data(), memory_.size() - kPage);
  }

  AliasMonitor& monitor() { return *monitor_; }
  char* at(uint64_t offset) { return memory_.data() + offset; }
  char* flag() { return at(memory_.size() - kPage); }

  ThreadId Start(const Past& before = Past(), int device = 0) {
    return monitor_->Start(1, device, next_sm_++, before);
  }
  void End(ThreadId thread) { monitor_->End(thread, 1, &past); }

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
  void Meet(const std::vector<ThreadId>& threads) {
    AliasMonitor::Meeting meeting;
    AliasMonitor::Session session(monitor_.get());
    for (const ThreadId thread : threads) session.Arrive(thread, 1, &meeting);
    for (const ThreadId thread : threads) session.Leave(thread, 1, &meeting);
  }

  std::vector<AliasHazard> hazards;
  Past past;      // of all that ended
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

// R9.
TEST(AliasMonitorTest, WhatIsCompleteIsCoherentForWhatStarts) {
  Scene scene(Policy::kStale);
  const ThreadId writer = scene.Start();
  scene.Store(writer, kX, 0, 1u);
  scene.End(writer);
  const ThreadId reader = scene.Start(scene.past);
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

}  // namespace
}  // namespace twinmmu::coherence
