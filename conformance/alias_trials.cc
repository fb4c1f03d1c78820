#include "conformance/alias_trials.h"

#include "gtest/gtest.h"

namespace twinmmu::conformance {

uint64_t AliasRounds(const Traits& traits, AliasPartners partners) {
  const uint64_t most = traits.interprets_kernels ? 300 : 100'000;
  switch (partners) {
    case AliasPartners::kOfABlock:
      break;
    case AliasPartners::kBlocks:
      return most / 2;
    case AliasPartners::kDevices:
      return most / 5;
  }
  return most;
}

void ExpectCoherent(const AliasResult& seen, uint64_t rounds, bool fence, const std::string& name) {
  EXPECT_EQ(seen.rounds, rounds);
  EXPECT_EQ(seen.wrong, 0u);
  if (fence) {
    EXPECT_EQ(seen.stale, 0u);
  } else {
    ::testing::Test::RecordProperty(name, std::to_string(seen.stale));
  }
}

}  // namespace twinmmu::conformance
