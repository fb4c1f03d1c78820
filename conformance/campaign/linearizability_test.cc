// Calls of 2 to 4 threads at once, each history explained by some order of the calls; and planted
// races, each of which is found.

#include <memory>
#include <string>
#include <thread>

#include "absl/types/span.h"
#include "api/testing/forwarding.h"
#include "api/testing/matchers.h"
#include "conformance/instances/random/random_sim.h"
#include "conformance/linearizability/race.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance::linearizability {
namespace {

using ::testing::HasSubstr;

class LinearizabilityTest : public testing::TestWithParam<const char*> {};

TEST_P(LinearizabilityTest, EachHistoryHasAnOrder) {
  const absl::StatusOr<Races> races =
      RunRaces(random::SimSubject(*Profile::Named(GetParam())), {1, 300, 15});
  ASSERT_THAT(races, IsOk());
  EXPECT_EQ(races->unexplained, "");
  EXPECT_EQ(races->histories, 300u);
}

INSTANTIATE_TEST_SUITE_P(Profiles, LinearizabilityTest, testing::Values("reference", "strict"));

// Between two parts of a call others come.
void LetOthersIn() {
  for (int i = 0; i < 20; ++i) std::this_thread::yield();
}

// Each of these does, one call after the other, what the machine does.

// It looks whether it can map, and does so later, when somebody else may have mapped there, or
// freed the addresses or the memory.
class MapsLater : public ForwardingVmm {
 public:
  using ForwardingVmm::ForwardingVmm;
  absl::Status Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                   uint64_t flags) override {
    const absl::Status possible = ForwardingVmm::Map(range, handle, offset, flags);
    if (!possible.ok() || !ForwardingVmm::Unmap(range).ok()) return possible;
    LetOthersIn();
    ForwardingVmm::Map(range, handle, offset, flags).IgnoreError();
    return possible;
  }
};

// The reference that it took is not there yet when it returns the handle: it looks, and takes it
// later, when the handle may be gone.
class RetainsLater : public ForwardingVmm {
 public:
  using ForwardingVmm::ForwardingVmm;
  absl::StatusOr<AllocationHandle> RetainAllocationHandle(DeviceAddress address) override {
    const absl::StatusOr<AllocationHandle> handle = ForwardingVmm::RetainAllocationHandle(address);
    if (!handle.ok() || !ForwardingVmm::Release(*handle).ok()) return handle;
    LetOthersIn();
    ForwardingVmm::RetainAllocationHandle(address).status().IgnoreError();
    return handle;
  }
};

// The access that it gave is not there yet when it returns: it looks, and gives it later, when the
// memory may be another one.
class GrantsLater : public ForwardingVmm {
 public:
  using ForwardingVmm::ForwardingVmm;
  absl::Status SetAccess(const AddressRange& range, absl::Span<const AccessGrant> grants) override {
    if (grants.size() != 1) return ForwardingVmm::SetAccess(range, grants);
    const absl::StatusOr<Access> before = ForwardingVmm::GetAccess(grants[0].location, range.base);
    const absl::Status possible = ForwardingVmm::SetAccess(range, grants);
    if (!possible.ok() || !before.ok()) return possible;
    const AccessGrant back{grants[0].location, *before};
    if (!ForwardingVmm::SetAccess(range, absl::MakeConstSpan(&back, 1)).ok()) return possible;
    LetOthersIn();
    ForwardingVmm::SetAccess(range, grants).IgnoreError();
    return possible;
  }
};

template <typename Planted>
std::string Find() {
  const absl::StatusOr<Races> races =
      RunRaces(random::SimSubject(*Profile::Named("strict")), {1, 20000, 15},
               [](Vmm* vmm) { return std::make_unique<Planted>(vmm); });
  EXPECT_THAT(races, IsOk());
  return races.ok() ? races->unexplained : "";
}

TEST(PlantedRaceTest, ALateMapIsFound) { EXPECT_THAT(Find<MapsLater>(), HasSubstr("Map")); }
TEST(PlantedRaceTest, ALateGrantIsFound) {
  EXPECT_THAT(Find<GrantsLater>(), HasSubstr("SetAccess"));
}
TEST(PlantedRaceTest, ALateReferenceIsFound) {
  EXPECT_THAT(Find<RetainsLater>(), HasSubstr("Retain"));
}

}  // namespace
}  // namespace twinmmu::conformance::linearizability
