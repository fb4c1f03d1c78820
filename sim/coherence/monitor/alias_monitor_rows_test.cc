// Warps observed together give what warps observed lane by lane give.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/coherence/monitor/alias_monitor.h"

namespace twinmmu::coherence {
namespace {

using testing::IsEmpty;

constexpr uint32_t kLanes = 32;
constexpr uint32_t kWarps = 3;  // of a block
constexpr uint32_t kThreads = kWarps * kLanes;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kMemory = 2 * kPage;
constexpr AddressId kX = 11;
constexpr AddressId kY = 12;

using Memory = std::array<char*, kLanes>;

std::string Words(const AliasHazard& hazard) {
  std::string words;
  for (const AliasHazard::Side& side : {hazard.first, hazard.second}) {
    words += std::to_string(side.site) + (side.writes ? " writes " : " reads ") +
             std::to_string(side.address) + ", ";
  }
  return words + std::to_string(static_cast<int>(hazard.hazard)) +
         (hazard.missing_fence ? " fence" : "");
}

// How the accesses of a warp are observed: lane by lane, together, or together and by BeforeRow
// where it takes them.
enum class Way { kEachLane, kTogether, kRow };

// A block that runs, and what is found of its accesses.
class Scene {
 public:
  explicit Scene(Way way = Way::kTogether)
      : way_(way), monitor_(AliasOptions(), [this](const AliasHazard& hazard) {
          found.insert(Words(hazard));
        }) {
    base_ = bytes_.data() + (kPage - reinterpret_cast<uintptr_t>(bytes_.data()) % kPage);
    monitor_.Arm(base_, kMemory);
    Start();
  }

  char* at(uint64_t offset) { return base_ + offset; }

  void Access(const MonitoredAccess& access, uint32_t lanes, const Memory& memory, bool writes) {
    AliasMonitor::Session session(&monitor_);
    MonitoredAccess all = access;
    all.thread += first_;
    all.armed = true;
    all.site = ++site_;
    if (way_ == Way::kRow && BeforeRow(&session, all, lanes, memory, writes)) {
      ++rows;
      return;
    }
    if (way_ != Way::kEachLane) {
      ASSERT_TRUE(session.BeforeAll(all, lanes, memory.data(), writes));
      if (writes) session.AfterStores(all, lanes, memory.data());
      return;
    }
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      if ((lanes >> lane & 1) == 0) continue;
      MonitoredAccess one = all;
      one.thread += lane;
      one.memory = memory[lane];
      std::array<char, 16> older;
      if (writes) {
        session.BeforeStore(one);
        session.AfterStore(one);
      } else {
        ASSERT_EQ(session.Load(one, older.data()), one.memory);
      }
    }
  }
  void Copy(uint64_t offset, uint64_t size, AddressId address, bool writes) {
    AliasMonitor::Session session(&monitor_);
    MonitoredAccess access;
    access.memory = at(offset);
    access.armed = true;
    access.thread = first_;
    access.address = address;
    access.site = ++site_;
    if (writes) {
      session.BeforeRangeStore(access, size);
      session.AfterRangeStore(access, size);
    } else {
      session.AfterRangeLoad(access, size, access.memory);
    }
  }
  // A thread sets or reads a word, strongly.
  void Flag(uint32_t thread, uint64_t offset, AddressId address, bool writes) {
    AliasMonitor::Session session(&monitor_);
    MonitoredAccess access;
    access.memory = at(offset);
    access.size = 4;
    access.armed = true;
    access.thread = first_ + thread;
    access.address = address;
    access.site = ++site_;
    access.strength = {writes ? Semantics::kRelease : Semantics::kAcquire, Scope::kGpu};
    std::array<char, 16> older;
    if (writes) {
      session.BeforeStore(access);
      ++*access.memory;
      session.AfterStore(access);
    } else {
      session.Load(access, older.data());
    }
  }
  // The first of the block's warps.
  void Meet(uint32_t warps = kWarps) {
    AliasMonitor::Meeting meeting;
    AliasMonitor::Session session(&monitor_);
    const uint32_t end = warps * kLanes;
    for (uint32_t i = 0; i < end; i += kLanes) session.Arrive(first_ + i, ~0u, &meeting);
    for (uint32_t i = 0; i < end; i += kLanes) session.Leave(first_ + i, ~0u, &meeting);
  }
  void AliasFence(uint32_t warp, uint32_t lanes) {
    AliasMonitor::Session(&monitor_).AliasFence(first_ + warp * kLanes, lanes);
  }
  // The block ends, and another one starts: after it, or after what the host had waited for.
  void Next(bool after, bool host_waits) {
    monitor_.End(first_, kThreads, &clocks_);
    if (host_waits) monitor_.HostWaited(clocks_);
    if (after || host_waits) before_ = clocks_;
    Start();
  }

  std::set<std::string> found;
  size_t rows = 0;  // that BeforeRow took

 private:
  static bool BeforeRow(AliasMonitor::Session* session, const MonitoredAccess& access,
                        uint32_t lanes, const Memory& memory, bool writes) {
    for (uint32_t i = 1; i < kLanes; ++i) {
      if (memory[i] != memory[0] + uint64_t{i} * access.size) return false;
    }
    MonitoredAccess row = access;
    row.memory = memory[0];
    return lanes == ~0u && session->BeforeRow(row, kLanes, writes);
  }
  void Start() { first_ = monitor_.Start(kThreads, 0, 0, before_); }

  const Way way_;
  AliasMonitor monitor_;
  std::vector<char> bytes_ = std::vector<char>(kMemory + kPage);
  char* base_ = nullptr;
  ThreadId first_ = 0;
  Site site_ = 0;
  Clocks before_;
  Clocks clocks_;
};

// Does the same in both scenes.
class Program {
 public:
  explicit Program(uint64_t seed) : random_(seed) {}

  void Step(const std::vector<Scene*>& scenes) {
    const uint32_t what = Below(100);
    if (what < 70) return Warp(scenes);
    const uint32_t thread = Below(kThreads);
    const uint64_t offset = Below(kMemory / 4) * 4;
    const uint64_t size = Below(4) == 0 ? kPage : 68 + Below(60) * 4;
    const AddressId address = Below(4) == 0 ? kY : kX;
    const uint32_t lanes = Below(3) == 0 ? Below(~0u) : ~0u;
    const bool writes = Below(2) == 0;
    for (Scene* const scene : scenes) {
      if (what < 82) {
        scene->Meet();
      } else if (what < 88) {
        scene->AliasFence(thread / kLanes, lanes);
      } else if (what < 90) {
        scene->Flag(thread, offset % 64, address, writes);
      } else if (what < 92) {
        scene->Copy(size == kPage ? 0 : offset % kPage, size, address, writes);
      } else if (what < 94) {
        scene->Next(writes, lanes == ~0u);
      }
    }
  }

 private:
  uint32_t Below(uint32_t end) { return static_cast<uint32_t>(random_() % end); }

  // Most often all lanes, side by side, in one line.
  void Warp(const std::vector<Scene*>& scenes) {
    MonitoredAccess access;
    access.size = 4u << (Below(4) == 0 ? Below(3) : 0);
    access.address = Below(6) == 0 ? kY : kX;
    access.thread = Below(kWarps) * kLanes;
    const bool writes = Below(2) == 0;
    const uint32_t lanes = Below(5) == 0 ? 1 + Below(~0u) : ~0u;
    uint64_t first = Below(6) * 128;
    if (Below(8) == 0) first += kPage - 384;  // across the border of two pages
    if (Below(6) == 0) first += Below(8) * uint64_t{access.size};
    first -= first % access.size;
    const uint64_t step = Below(8) == 0 ? Below(3) : 1;
    for (Scene* const scene : scenes) {
      Memory memory;
      for (uint32_t i = 0; i < kLanes; ++i) {
        memory[i] = scene->at((first + i * step * access.size) % kMemory);
      }
      scene->Access(access, lanes, memory, writes);
    }
  }

  std::mt19937_64 random_;
};

TEST(AliasMonitorRowsTest, AWarpIsObservedAsItsLanesAre) {
  size_t hazards = 0;
  size_t taken = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Scene warps(Way::kTogether);
    Scene rows(Way::kRow);
    Scene lanes(Way::kEachLane);
    Program program(seed);
    for (int step = 0; step < 60; ++step) {
      program.Step({&warps, &rows, &lanes});
      ASSERT_EQ(warps.found, lanes.found) << "after step " << step;
      ASSERT_EQ(rows.found, lanes.found) << "after step " << step;
    }
    hazards += lanes.found.size();
    taken += rows.rows;
  }
  EXPECT_GT(hazards, 1000u);
  EXPECT_GT(taken, 1000u);
}

MonitoredAccess OfWarp(AddressId address, uint32_t warp) {
  MonitoredAccess access;
  access.size = 4;
  access.address = address;
  access.thread = warp * kLanes;
  return access;
}

// From `offset` on.
Memory SideBySide(Scene* scene, uint64_t offset) {
  Memory memory;
  for (uint32_t i = 0; i < kLanes; ++i) memory[i] = scene->at(offset + uint64_t{4} * i);
  return memory;
}

TEST(AliasMonitorRowsTest, WarpsRaceWithoutABarrier) {
  Scene scene;
  scene.Access(OfWarp(kX, 0), ~0u, SideBySide(&scene, 128), /*writes=*/true);
  scene.Access(OfWarp(kX, 1), ~0u, SideBySide(&scene, 128), /*writes=*/false);
  EXPECT_EQ(scene.found.size(), 1u);
}

TEST(AliasMonitorRowsTest, WarpsAreInOrderByABarrier) {
  Scene scene;
  scene.Access(OfWarp(kX, 0), ~0u, SideBySide(&scene, 128), /*writes=*/true);
  scene.Meet();
  scene.Access(OfWarp(kX, 1), ~0u, SideBySide(&scene, 128), /*writes=*/false);
  scene.Meet();
  scene.Access(OfWarp(kX, 2), ~0u, SideBySide(&scene, 128), /*writes=*/true);
  EXPECT_THAT(scene.found, IsEmpty());
}

TEST(AliasMonitorRowsTest, AWarpRacesWithWhatItReadThroughAnotherAddress) {
  Scene scene;
  scene.Access(OfWarp(kX, 0), ~0u, SideBySide(&scene, 128), /*writes=*/false);
  scene.Access(OfWarp(kY, 0), ~0u, SideBySide(&scene, 128), /*writes=*/true);
  EXPECT_EQ(scene.found.size(), 1u);
}

TEST(AliasMonitorRowsTest, OneLaneRacesWithItsWordOfALine) {
  Scene scene;
  scene.Access(OfWarp(kX, 0), ~0u, SideBySide(&scene, 128), /*writes=*/true);
  scene.Access(OfWarp(kY, 0), 1u << 7, SideBySide(&scene, 128), /*writes=*/false);
  EXPECT_EQ(scene.found.size(), 1u);
}

// Its first lane has seen a flag, the others have not.
TEST(AliasMonitorRowsTest, LanesRaceThoughOneOfThemIsInOrder) {
  Scene scene;
  scene.Access(OfWarp(kX, 0), ~0u, SideBySide(&scene, 128), /*writes=*/true);
  scene.Meet(2);
  scene.Flag(kLanes, 512, kX, /*writes=*/true);
  scene.Flag(2 * kLanes, 512, kX, /*writes=*/false);
  scene.Access(OfWarp(kX, 2), ~0u, SideBySide(&scene, 128), /*writes=*/true);
  EXPECT_EQ(scene.found.size(), 1u);
}

TEST(AliasMonitorRowsTest, AWarpRacesWithACopyThatNothingOrders) {
  Scene scene;
  scene.Copy(0, kPage, kX, /*writes=*/true);
  scene.Access(OfWarp(kX, 1), ~0u, SideBySide(&scene, 128), /*writes=*/false);
  EXPECT_EQ(scene.found.size(), 1u);
}

TEST(AliasMonitorRowsTest, AWarpBehindACopyIsInOrder) {
  Scene scene;
  scene.Copy(0, kPage, kX, /*writes=*/true);
  scene.Meet();
  scene.Access(OfWarp(kX, 1), ~0u, SideBySide(&scene, 128), /*writes=*/false);
  EXPECT_THAT(scene.found, IsEmpty());
}

TEST(AliasMonitorRowsTest, AReadAgainRacesWithWhatWasWrittenInBetween) {
  Scene scene;
  scene.Access(OfWarp(kX, 0), 1, SideBySide(&scene, 128), /*writes=*/false);
  scene.Access(OfWarp(kX, 1), 1, SideBySide(&scene, 128), /*writes=*/true);
  scene.Access(OfWarp(kX, 0), 1, SideBySide(&scene, 128), /*writes=*/false);
  EXPECT_EQ(scene.found.size(), 2u);
}

TEST(AliasMonitorRowsTest, LanesThatMadeMoreAccessesAreInOrder) {
  Scene scene;
  for (int i = 0; i < 3; ++i) {
    scene.Access(OfWarp(kX, 0), 1, SideBySide(&scene, 256), /*writes=*/true);
  }
  scene.Access(OfWarp(kX, 0), ~0u, SideBySide(&scene, 128), /*writes=*/true);
  scene.Meet();
  scene.Access(OfWarp(kX, 1), ~0u, SideBySide(&scene, 128), /*writes=*/true);
  EXPECT_THAT(scene.found, IsEmpty());
}

TEST(AliasMonitorRowsTest, WhatCrossesAPageIsNoRow) {
  Scene scene(Way::kRow);
  scene.Access(OfWarp(kX, 0), ~0u, SideBySide(&scene, kPage - 128), /*writes=*/true);
  EXPECT_EQ(scene.rows, 1u);
  scene.Access(OfWarp(kX, 0), ~0u, SideBySide(&scene, kPage - 124), /*writes=*/true);
  EXPECT_EQ(scene.rows, 1u);
}

// Its words may be flags, or hide them.
TEST(AliasMonitorRowsTest, BesideFlagsThereAreNoRows) {
  Scene scene(Way::kRow);
  scene.Flag(0, 512, kX, /*writes=*/true);
  scene.Access(OfWarp(kX, 0), ~0u, SideBySide(&scene, 128), /*writes=*/true);
  EXPECT_EQ(scene.rows, 0u);
}

}  // namespace
}  // namespace twinmmu::coherence
