// Profiles: the reference is valid, and a wrong one is refused with the reason.

#include "sim/profile/profile.h"

#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;

std::string Complaint(const Profile& profile) { return std::string(profile.Validate().message()); }

// One to eight devices, and none, make a valid reference.
TEST(ProfileTest, TheReferenceIsValid) {
  for (const int devices : {0, 1, 2, 8}) {
    const Profile profile = Profile::ReferenceH200(devices);
    EXPECT_THAT(profile.Validate(), IsOk());
    EXPECT_EQ(profile.device_count(), devices);
  }
}

// The page of the MMU is the smallest granularity.
TEST(ProfileTest, ThePageIsTheSmallestGranularity) {
  Profile profile = Profile::ReferenceH200();
  profile.reservation_granularity = KiB(64);
  EXPECT_THAT(profile.Validate(), IsOk());
  EXPECT_EQ(profile.page_size(), KiB(64));
}

// Each of these is wrong in one place, and the reason names it.
TEST(ProfileTest, RefusesWithTheReason) {
  const Profile good = Profile::ReferenceH200(2);
  Profile bad = good;
  bad.recommended_granularity = KiB(4);
  EXPECT_THAT(Complaint(bad), HasSubstr("recommended_granularity: 4 KiB is less"));
  bad = good;
  bad.reservation_granularity = Bytes(0);
  EXPECT_THAT(Complaint(bad), HasSubstr("reservation_granularity: 0 B"));
  bad = good;
  bad.reservation_area = MiB(2);
  EXPECT_THAT(Complaint(bad), HasSubstr("reservation_area: 2 MiB is not 0, nor a power of two"));
  bad = good;
  bad.multicast_minimum_granularity = MiB(1);
  EXPECT_THAT(Complaint(bad), HasSubstr("multicast_minimum_granularity: 1 MiB is less"));
  bad = good;
  bad.multicast_recommended_granularity = MiB(3);
  EXPECT_THAT(Complaint(bad), HasSubstr("multicast_recommended_granularity: 3 MiB is not a power"));
  bad = good;
  bad.multicast_wait_ms = ~uint64_t{0};
  EXPECT_THAT(Complaint(bad), HasSubstr("multicast_wait_ms: 18446744073709551615 is more"));
  bad = good;
  bad.window.size = MiB(3);
  EXPECT_THAT(Complaint(bad), HasSubstr("window.size: 3 MiB"));
  bad = good;
  bad.window.claimed = false;
  bad.window.base = DeviceAddress(0);
  EXPECT_THAT(Complaint(bad), HasSubstr("window.base: 0x0"));
  bad.window.base = DeviceAddress((TiB(128) - MiB(2)).value());
  EXPECT_THAT(Complaint(bad), HasSubstr("leaves the window beyond 2^47"));
  bad = good;
  bad.address_bits = 64;
  EXPECT_THAT(Complaint(bad), HasSubstr("address_bits: 64"));
  bad = good;
  bad.peers.pop_back();
  EXPECT_THAT(Complaint(bad), HasSubstr("peers: "));
  bad = good;
  bad.devices[1].memory_in_use = TiB(1);
  EXPECT_THAT(Complaint(bad), HasSubstr("devices[1].memory: "));
  bad = good;
  bad.host_nodes.push_back(bad.host_nodes[0]);
  EXPECT_THAT(Complaint(bad), HasSubstr("host_nodes[1].node: "));
  bad = good;
  bad.stream_policy = static_cast<StreamPolicy>(3);
  EXPECT_THAT(Complaint(bad), HasSubstr("stream_policy: there is no policy 3"));
  bad = good;
  bad.contraction = static_cast<Contraction>(2);
  EXPECT_THAT(Complaint(bad), HasSubstr("contraction: there is no choice 2"));
  bad = good;
  bad.alias_policy = static_cast<coherence::Policy>(4);
  EXPECT_THAT(Complaint(bad), HasSubstr("alias_policy: there is no policy 4"));
  bad = good;
  bad.alias_boundary = static_cast<coherence::BoundaryMode>(2);
  EXPECT_THAT(Complaint(bad), HasSubstr("alias_boundary: there is no boundary 2"));
  bad = good;
  bad.alias_multicast = static_cast<coherence::MulticastMode>(2);
  EXPECT_THAT(Complaint(bad), HasSubstr("alias_multicast: there is no mode 2"));
  EXPECT_THAT(Complaint(Profile::ReferenceH200(16)), HasSubstr("16 devices"));
}

}  // namespace
}  // namespace twinmmu
