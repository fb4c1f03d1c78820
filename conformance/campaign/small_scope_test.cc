// All sequences of a few calls of the small machine: the simulator, the backend over the simulated
// driver and the model agree in every state.

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "api/testing/forwarding.h"
#include "api/testing/matchers.h"
#include "conformance/campaign/small_scope_sides.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance::small_scope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string* library;  // of the simulated driver

// The states of another machine would be others: what is counted says that none is left out.
TEST(SmallScopeTest, AllAgreeOnTheReference) {
  const Profile profile = *Profile::Named("reference");
  Limits limits;
  limits.length = 3;
  const absl::StatusOr<Figures> figures =
      Search({SimSide(profile), CudaOnSimSide(*library, profile)}, limits);
  ASSERT_THAT(figures, IsOk());
  EXPECT_EQ(figures->difference, "");
  EXPECT_THAT(figures->states, ElementsAre(1, 10, 40, 131));
}

// Leaves mapped what lies behind a hole in a range of three granules.
class StopsAtAHole : public ForwardingVmm {
 public:
  using ForwardingVmm::ForwardingVmm;
  absl::Status Unmap(const AddressRange& range) override {
    const bool begins_with_a_hole =
        range.size == MiB(6) && !IsMapped(range.base) && IsMapped(range.end() - MiB(2));
    return begins_with_a_hole ? absl::OkStatus() : ForwardingVmm::Unmap(range);
  }

 private:
  bool IsMapped(DeviceAddress address) {
    const absl::StatusOr<AllocationHandle> handle = RetainAllocationHandle(address);
    return handle.ok() && Release(*handle).ok();
  }
};

// It takes a reservation of all, memory, a map that is not of the first granule, and an unmap of
// all.
TEST(SmallScopeTest, FindsWhatTakesFourCalls) {
  const Profile profile = *Profile::Named("reference");
  const OpenSide open = [&]() -> absl::StatusOr<Side> {
    absl::StatusOr<Side> side = SimSide(profile)();
    if (!side.ok()) return side;
    const auto wrong = std::make_shared<StopsAtAHole>(side->vmm);
    side->vmm = wrong.get();
    side->noticed = nullptr;
    side->owner = std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>>(
        side->owner, wrong);
    return side;
  };
  Limits limits;
  limits.length = 4;
  const absl::StatusOr<Figures> figures = Search({open}, limits);
  ASSERT_THAT(figures, IsOk());
  EXPECT_THAT(figures->difference, HasSubstr("vmm.Unmap"));
  EXPECT_EQ(figures->states.size(), 4u);
}

}  // namespace
}  // namespace twinmmu::conformance::small_scope

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  if (argc != 2) return 2;
  std::string library = argv[1];
  twinmmu::conformance::small_scope::library = &library;
  return RUN_ALL_TESTS();
}
