// What is said of a block that does not end: where its threads are, and what they wait for.

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sim/ptx/run/async/cluster.h"
#include "sim/ptx/run/block.h"
#include "sim/ptx/run/steps.h"
#include "sim/ptx/run/warp.h"

namespace twinmmu::ptx {
namespace {

// That a message names.
constexpr size_t kMostPlaces = 4;

}  // namespace

std::string InHex(Lanes lanes) { return absl::StrCat("0x", absl::Hex(lanes, absl::kZeroPad8)); }

// Of lanes that are behind a wait for an mbarrier which was in vain: for what.
std::string Warp::MbarrierInWords(const Group& group) const {
  if (group.wait != Group::kNothing || group.pc == 0) return "";
  const Step& step = group.frame->function->steps[group.pc - 1];
  if (step.perform != PerformMbarrierWait) return "";
  const int lane = __builtin_ctz(group.lanes);
  const char* const registers = group.frame->data();
  Lanes done = 0;
  std::memcpy(&done, registers + step.operands[0], sizeof(done));
  if ((done >> lane & 1) != 0) return "";
  uint64_t address = 0;
  std::memcpy(&address, registers + step.operands[1] + 8 * lane, sizeof(address));
  address &= kWindowSize - 1;
  Block* const owner = block_.OwnerOf(address);
  return owner == nullptr ? "" : owner->mbarriers().InWords(static_cast<uint32_t>(address));
}

void Warp::AddPlaces(std::vector<ThreadsAt>* places) const {
  for (int i = 0; i < group_count_; ++i) {
    const Group& group = groups_[i];
    const std::string mbarrier = MbarrierInWords(group);
    const CodePlace place = PlaceOf(group, mbarrier.empty() ? 0 : 1);
    const bool waits = group.wait != Group::kNothing || !mbarrier.empty();
    std::string words = waits ? "waiting at" : "at";
    if (place.position.line == 0) {
      absl::StrAppend(&words, " the end of ", group.frame->function->name);
    } else {
      absl::StrAppend(&words, " PTX line ", place.position.line, ", ", place.instruction);
    }
    if (!mbarrier.empty()) {
      absl::StrAppend(&words, ", for ", mbarrier);
    } else if (group.wait == Group::kBarrier) {
      absl::StrAppend(&words, ", for ", block_.BarrierInWords(group.barrier));
    } else if (group.wait == Group::kCluster) {
      absl::StrAppend(&words, ", for ", block_.cluster().BarrierInWords());
    } else if (group.wait == Group::kWarpgroup) {
      absl::StrAppend(&words, ", for the products of the other warps of its warpgroup");
    } else if (group.wait != Group::kNothing) {
      absl::StrAppend(&words, ", for lanes ", InHex(group.mask & live_ & ~group.lanes), " of mask ",
                      InHex(group.mask));
    }
    const auto same = std::find_if(places->begin(), places->end(),
                                   [&](const ThreadsAt& at) { return at.words == words; });
    const auto count = static_cast<uint32_t>(__builtin_popcount(group.lanes));
    if (same != places->end()) {
      same->count += count;
    } else {
      const Dim3 first = block_.ThreadAt(number_, __builtin_ctz(group.lanes));
      places->push_back({words, count, first});
    }
  }
}

std::string Block::WhoWaits() const {
  std::vector<ThreadsAt> places;
  for (const std::unique_ptr<Warp>& warp : warps_) warp->AddPlaces(&places);
  std::vector<std::string> words;
  for (const ThreadsAt& at : places) {
    if (words.size() == kMostPlaces) {
      words.push_back(absl::StrCat("others at ", places.size() - kMostPlaces, " more places"));
      break;
    }
    const std::string first =
        absl::StrCat("(", at.first.x, ", ", at.first.y, ", ", at.first.z, ")");
    words.push_back(absl::StrCat(at.count == 1
                                     ? absl::StrCat("thread ", first)
                                     : absl::StrCat(at.count, " threads, the first ", first, ","),
                                 " ", at.words));
  }
  return absl::StrJoin(words, "; ");
}

std::string Block::BarrierInWords(int number) const {
  const Barrier& barrier = barriers_[static_cast<size_t>(number)];
  const uint32_t expected = barrier.expected != 0 ? barrier.expected : live_threads_;
  return absl::StrCat("barrier ", number, ", which has ", ArrivedAt(barrier), " of ", expected,
                      " threads");
}

std::string Block::WhyNoSharedMemory(uint64_t address) {
  const uint64_t rank = address >> kSharedOfBlockBits;
  const std::string where = absl::StrCat("shared memory of the block of rank ", rank);
  Block* const owner = cluster_.BlockOf(rank);
  if (owner == nullptr) {
    return absl::StrCat(where, " of a cluster that has ", cluster_.size(),
                        cluster_.size() == 1 ? " block" : " blocks");
  }
  if (owner->ended()) return absl::StrCat(where, " of the cluster, which has exited");
  return absl::StrCat(where, " of the cluster, beyond its end");
}

std::string Block::InWords(const ExecutedStep& step) const {
  const Code& code = *grid_.code;
  const auto function = static_cast<size_t>(step.function - code.functions.data());
  return ptx::InWords(grid_.function().name,
                      PlaceOf(code, function, static_cast<size_t>(step.instruction)));
}

void Block::ReportHazard(const ExecutedStep& first, const ExecutedStep& second,
                         AsyncHazard hazard) {
  const ReportAsyncHazard& report = grid_.environment.on_async_hazard;
  const Profile& profile = grid_.environment.mmu->profile;
  if (report == nullptr || !(hazard.bulk ? profile.alias_check : profile.race_check)) return;
  hazard.first = InWords(first);
  hazard.second = InWords(second);
  hazard.thread = ThreadAt(second.warp, second.lane);
  hazard.block = index_;
  report(hazard);
}

void Block::ReportDivergence(const ExecutedStep& first, const ExecutedStep& second) {
  const ReportDivergentBarrier& report = grid_.environment.on_divergent_barrier;
  if (report == nullptr) return;
  report({InWords(first), InWords(second), ThreadAt(second.warp, second.lane), index_});
}

}  // namespace twinmmu::ptx
