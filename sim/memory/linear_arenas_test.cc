// Where the addresses of pools lie.

#include "api/testing/matchers.h"
#include "gtest/gtest.h"
#include "sim/memory/linear_allocation.h"
#include "sim/memory/linear_memory.h"
#include "sim/memory/physical_memory.h"
#include "sim/profile/profile.h"

namespace twinmmu {
namespace {

// So that what is allocated otherwise stays side by side, and pools can grow.
TEST(LinearArenasTest, LieAwayFromOtherMemory) {
  const Profile profile = Profile::ReferenceH200(1);
  const AddressRange addresses = LinearMemory::AddressesFor(profile);
  PhysicalMemory physical(profile);
  LinearMemory linear(profile, addresses, &physical);
  LinearAllocation wanted;
  wanted.kind = LinearKind::kPool;
  const auto first = linear.AddArena(MiB(2), wanted);
  ASSERT_THAT(first, IsOk());
  const auto second = linear.AddArena(MiB(2), wanted);
  ASSERT_THAT(second, IsOk());
  const DeviceAddress middle = addresses.base + Bytes(addresses.size.value() / 2);
  EXPECT_GT(second->base, middle);
  EXPECT_GT(first->base, second->base);
  wanted.kind = LinearKind::kDevice;
  const auto other = linear.Allocate(GiB(64), wanted);
  ASSERT_THAT(other, IsOk());
  EXPECT_LT(other->base, middle);
}

}  // namespace
}  // namespace twinmmu
