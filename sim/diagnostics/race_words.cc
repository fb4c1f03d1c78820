#include "sim/diagnostics/race_words.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace twinmmu {
namespace {

using coherence::AliasHazard;

constexpr uint32_t kWarp = 32;

bool OfKernel(const AliasHazard::Side& side) { return side.origin.threads[0] != 0; }

const char* NameOf(coherence::Scope scope) {
  switch (scope) {
    case coherence::Scope::kCta:
      return ".cta";
    case coherence::Scope::kCluster:
      return ".cluster";
    case coherence::Scope::kGpu:
      return ".gpu";
    case coherence::Scope::kSys:
      break;
  }
  return ".sys";
}

std::string Place(uint32_t x, uint32_t y, uint32_t z) {
  return absl::StrCat("(", x, ", ", y, ", ", z, ")");
}

std::string ThreadInWords(const AliasHazard::Side& side) {
  const auto [x, y] = side.origin.threads;
  const uint32_t thread = side.thread;
  const auto& block = side.origin.block;
  return absl::StrCat(", thread ", Place(thread % x, thread / x % y, thread / x / y), " of block ",
                      Place(block[0], block[1], block[2]));
}

}  // namespace

std::string AccessInWords(const AliasHazard::Side& side, const std::string& site) {
  return absl::StrCat(site, OfKernel(side) ? ThreadInWords(side) : "",
                      side.origin.call == 0 ? "" : absl::StrCat(", call ", side.origin.call));
}

std::string WhatWouldOrder(const AliasHazard& hazard) {
  const AliasHazard::Side& first = hazard.first;
  const AliasHazard::Side& second = hazard.second;
  if (first.strength.IsStrong() && second.strength.IsStrong()) {
    return absl::StrCat("both are strong, with the scopes ", NameOf(first.strength.scope), " and ",
                        NameOf(second.strength.scope),
                        ", of which one does not include the other access: .gpu reaches all blocks "
                        "of a device, .sys all devices");
  }
  if (hazard.same_block && first.thread / kWarp == second.thread / kWarp) {
    return "threads of one warp are not in step: bar.warp.sync (__syncwarp) between the two would "
           "order them";
  }
  if (hazard.same_block) {
    return "bar.sync (__syncthreads) between the two would order them, or a release and an acquire";
  }
  if (OfKernel(first) && OfKernel(second) && first.origin.call == second.origin.call) {
    return "blocks of a grid come in any order: a release and an acquire of .gpu scope would order "
           "them, a barrier of the grid, or a launch of its own for what comes second; or make "
           "both "
           "accesses atomic with .gpu scope";
  }
  return "their streams do not wait for each other: an event that the second stream waits for "
         "(cuStreamWaitEvent) would order them, one stream for both, or a wait of the host between "
         "the two calls";
}

}  // namespace twinmmu
