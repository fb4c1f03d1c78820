// How the seeds of a campaign are shared out.

#include "conformance/campaign/campaign.h"

#include <cstdlib>
#include <map>
#include <string>

#include "gtest/gtest.h"

namespace twinmmu::conformance::campaign {
namespace {

SeedBlock With(const std::map<std::string, std::string>& variables) {
  for (const char* name :
       {"CAMPAIGN", "TEST_TOTAL_SHARDS", "TEST_SHARD_INDEX", "TEST_RUN_NUMBER"}) {
    unsetenv(name);
  }
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  return OwnSeeds(3, 100);
}

TEST(CampaignTest, AnOrdinaryRunHasFewSeeds) {
  EXPECT_EQ(With({}).first, 1u);
  EXPECT_EQ(With({}).last, 3u);
  EXPECT_FALSE(IsLong());
}

// The next shard goes on where the last one ends, and the next run where the last shard does.
TEST(CampaignTest, NoTwoHaveASeedInCommon) {
  const auto block = [](const char* shard, const char* run) {
    return With({{"CAMPAIGN", "1"},
                 {"TEST_TOTAL_SHARDS", "2"},
                 {"TEST_SHARD_INDEX", shard},
                 {"TEST_RUN_NUMBER", run}});
  };
  EXPECT_EQ(block("0", "1").first, 1u);
  EXPECT_EQ(block("0", "1").last, 100u);
  EXPECT_EQ(block("1", "1").first, 101u);
  EXPECT_EQ(block("0", "2").first, 201u);
  EXPECT_EQ(block("1", "2").last, 400u);
}

}  // namespace
}  // namespace twinmmu::conformance::campaign
