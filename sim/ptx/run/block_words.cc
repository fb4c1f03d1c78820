// What is said of a block that does not end: where its threads are, and what they wait for.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sim/ptx/run/block.h"
#include "sim/ptx/run/warp.h"

namespace twinmmu::ptx {
namespace {

// That a message names.
constexpr size_t kMostPlaces = 4;

}  // namespace

std::string InHex(Lanes lanes) { return absl::StrCat("0x", absl::Hex(lanes, absl::kZeroPad8)); }

void Warp::AddPlaces(std::vector<ThreadsAt>* places) const {
  for (int i = 0; i < group_count_; ++i) {
    const Group& group = groups_[i];
    const CodePlace place = PlaceOf(group);
    std::string words = group.wait == Group::kNothing ? "at" : "waiting at";
    if (place.position.line == 0) {
      absl::StrAppend(&words, " the end of ", group.frame->function->name);
    } else {
      absl::StrAppend(&words, " PTX line ", place.position.line, ", ", place.instruction);
    }
    if (group.wait == Group::kBarrier) {
      absl::StrAppend(&words, ", for ", block_.BarrierInWords(group.barrier));
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

}  // namespace twinmmu::ptx
