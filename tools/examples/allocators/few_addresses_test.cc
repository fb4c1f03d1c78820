// ExpandableSegments where device addresses are few.
//
// ggml-org/llama.cpp#29142: a pool reserved more addresses than there were.

#include <memory>

#include "absl/status/statusor.h"
#include "api/driver_error.h"
#include "api/testing/matchers.h"
#include "gtest/gtest.h"
#include "sim/profile/profile.h"
#include "sim/simulator.h"
#include "tools/examples/allocators/expandable_segments.h"

namespace twinmmu::examples {
namespace {

class FewAddressesTest : public testing::Test {
 protected:
  void SetUp() override {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const Profile profile, Profile::Named("small-address-space"));
    TWINMMU_ASSERT_OK_AND_ASSIGN(simulator_, Simulator::Create(profile));
    TWINMMU_ASSERT_OK_AND_ASSIGN(vmm_, simulator_->vmm());
    TWINMMU_ASSERT_OK_AND_ASSIGN(executor_, simulator_->executor());
    TWINMMU_ASSERT_OK_AND_ASSIGN(memory_, ExpandableSegments::Make(vmm_, executor_));
  }
  absl::StatusOr<DeviceAddress> AllocateOnNewStream(Bytes size) {
    const absl::StatusOr<Stream> stream = executor_->CreateStream(DeviceOrdinal(0));
    if (!stream.ok()) return stream.status();
    return memory_->Allocate(size, *stream);
  }

  std::unique_ptr<Simulator> simulator_;
  Vmm* vmm_ = nullptr;
  Executor* executor_ = nullptr;
  std::unique_ptr<ExpandableSegments> memory_;
};

TEST_F(FewAddressesTest, SeveralStreamsHaveTheirSegments) {
  for (int i = 0; i < 4; ++i) EXPECT_THAT(AllocateOnNewStream(MiB(2)), IsOk());
  // And others get addresses too.
  EXPECT_THAT(vmm_->AddressReserve(GiB(64)), IsOk());
}

TEST_F(FewAddressesTest, ASegmentIsSmallerWhereFewAreLeft) {
  ASSERT_THAT(vmm_->AddressReserve(GiB(250)), IsOk());
  EXPECT_THAT(AllocateOnNewStream(GiB(3)), IsOk());
  EXPECT_THAT(AllocateOnNewStream(GiB(2)), IsOk());
  EXPECT_THAT(AllocateOnNewStream(MiB(2)), HasDriverCode(DriverCode::kOutOfMemory));
}

}  // namespace
}  // namespace twinmmu::examples
