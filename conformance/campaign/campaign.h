// What a program of the campaign is to do: little in an ordinary run, and with --config=campaign as
// much as its share of the machines can.

#ifndef TWINMMU_CONFORMANCE_CAMPAIGN_CAMPAIGN_H_
#define TWINMMU_CONFORMANCE_CAMPAIGN_CAMPAIGN_H_

#include <cstdint>

namespace twinmmu::conformance::campaign {

// Whether the variable CAMPAIGN is set.
bool IsLong();

struct SeedBlock {
  uint64_t first = 1;
  uint64_t last = 1;
};

// The seeds of this run of this shard, of which there are `ordinary` or `in_campaign` in each. No
// other shard (shard_count) and no other run (--runs_per_test) has them.
SeedBlock OwnSeeds(uint64_t ordinary, uint64_t in_campaign);

// Tells Bazel that the program looks at its shard.
void AcceptSharding();

}  // namespace twinmmu::conformance::campaign

#endif  // TWINMMU_CONFORMANCE_CAMPAIGN_CAMPAIGN_H_
