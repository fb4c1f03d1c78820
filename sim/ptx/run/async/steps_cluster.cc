// What blocks of a cluster do with each other.

#include <cstdint>

#include "sim/ptx/run/async/cluster.h"
#include "sim/ptx/run/block.h"
#include "sim/ptx/run/steps.h"
#include "sim/ptx/run/warp.h"

namespace twinmmu::ptx {
namespace {

constexpr uint64_t kInBlock = (uint64_t{1} << kSharedOfBlockBits) - 1;

Flow ArriveAtCluster(Warp& warp, Lanes lanes, bool releases) {
  Block& block = warp.block();
  const Lanes again = block.cluster().Arrived(block, warp.number()) & lanes;
  if (again != 0) {
    return warp.Fault(GridFault::kUndefined, again,
                      "the thread has arrived at the barrier of the cluster, and has not waited");
  }
  ++warp.running().pc;
  ++warp.changes;
  block.cluster().Arrive(block, warp.number(), lanes, releases);
  return Flow::kMoved;
}

template <typename T>
void MapAll(Warp& warp, const Step& step, Lanes lanes) {
  T* const to = warp.Slot<T>(step.operands[0]);
  const T* const addresses = warp.Slot<T>(step.operands[1]);
  const uint32_t* const ranks = warp.Slot<uint32_t>(step.operands[2]);
  const uint64_t window = step.memory.space == Space::kGeneric ? kSharedWindow : 0;
  ForEachLane(lanes, [&](int lane) {
    const uint64_t rank = uint64_t{ranks[lane] & 0xff} << kSharedOfBlockBits;
    to[lane] = static_cast<T>(window | rank | (addresses[lane] & kInBlock));
  });
}

template <typename T>
void RankAll(Warp& warp, const Step& step, Lanes lanes) {
  uint32_t* const to = warp.Slot<uint32_t>(step.operands[0]);
  const T* const addresses = warp.Slot<T>(step.operands[1]);
  ForEachLane(lanes, [&](int lane) {
    to[lane] = static_cast<uint32_t>(addresses[lane] >> kSharedOfBlockBits & 0xff);
  });
}

}  // namespace

Flow PerformClusterBarrier(Warp& warp, const Step& step, Lanes lanes) {
  if (lanes == 0) return Flow::kNext;
  if (step.detail != 0) {
    return ArriveAtCluster(warp, lanes, step.memory.order == Order::kRelease);
  }
  Block& block = warp.block();
  Cluster& cluster = block.cluster();
  const Lanes waiting = cluster.Waiting(block, warp.number()) & lanes;
  if (waiting != lanes) cluster.Leave(block, warp.number(), lanes & ~waiting);
  if (waiting == 0) return Flow::kNext;
  warp.KeepOnly(waiting, warp.running().pc + 1);
  warp.running().wait = Group::kCluster;
  return Flow::kMoved;
}

Flow PerformMapAddress(Warp& warp, const Step& step, Lanes lanes) {
  if (step.memory.bytes == 8) {
    MapAll<uint64_t>(warp, step, lanes);
  } else {
    MapAll<uint32_t>(warp, step, lanes);
  }
  return Flow::kNext;
}

Flow PerformRankOf(Warp& warp, const Step& step, Lanes lanes) {
  if (step.memory.bytes == 8) {
    RankAll<uint64_t>(warp, step, lanes);
  } else {
    RankAll<uint32_t>(warp, step, lanes);
  }
  return Flow::kNext;
}

}  // namespace twinmmu::ptx
