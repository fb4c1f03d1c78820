// Calls of 2 to 4 threads at once, each history explained by some order of the calls; and planted
// races, each of which is found.

#include <chrono>
#include <memory>
#include <string>
#include <thread>

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

// Between two parts of a call others come, also where the host is busy and has them wait.
void LetOthersIn() { std::this_thread::sleep_for(std::chrono::microseconds(50)); }

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

// It looks whether it can unmap what one handle names, and does so later, when somebody else may
// have unmapped it, too.
class UnmapsLater : public ForwardingVmm {
 public:
  using ForwardingVmm::ForwardingVmm;
  absl::Status Unmap(const AddressRange& range) override {
    const absl::StatusOr<AllocationHandle> handle =
        ForwardingVmm::RetainAllocationHandle(range.base);
    const absl::Status possible = ForwardingVmm::Unmap(range);
    if (!handle.ok()) return possible;
    if (possible.ok() && ForwardingVmm::Map(range, *handle, Bytes(0), 0).ok()) {
      LetOthersIn();
      ForwardingVmm::Unmap(range).IgnoreError();
    }
    ForwardingVmm::Release(*handle).IgnoreError();
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
TEST(PlantedRaceTest, ALateUnmapIsFound) { EXPECT_THAT(Find<UnmapsLater>(), HasSubstr("Unmap")); }
TEST(PlantedRaceTest, ALateReferenceIsFound) {
  EXPECT_THAT(Find<RetainsLater>(), HasSubstr("Retain"));
}

}  // namespace
}  // namespace twinmmu::conformance::linearizability
