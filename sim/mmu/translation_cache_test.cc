// TranslationCache: what a device's single loads and stores may touch, before and after changes.

#include "sim/mmu/translation_cache.h"

#include <array>
#include <shared_mutex>

#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/calls/vmm/simulated_vmm.h"

namespace twinmmu {
namespace {

using ::testing::Optional;

constexpr Bytes kGranule = MiB(2);
constexpr DeviceOrdinal kOwner(0);
constexpr DeviceOrdinal kPeer(1);

// A machine of two devices, and two mappings side by side: the first read-write for device 0, the
// second without access.
class TranslationCacheTest : public testing::Test {
 protected:
  TranslationCacheTest() {
    range_ = *vmm_.AddressReserve(4 * kGranule);
    for (const uint64_t i : {0, 1}) {
      EXPECT_THAT(vmm_.Map(Granule(i), *vmm_.Create(kGranule, {}, 0), Bytes(0), 0), IsOk());
    }
    Grant(0, kOwner, Access::kReadWrite);
  }

  AddressRange Granule(uint64_t i) const { return range_.subrange(i * kGranule, kGranule); }
  DeviceAddress base() const { return range_.base; }
  void Grant(uint64_t granule, DeviceOrdinal device, Access access) {
    const std::array grants{AccessGrant{Location::Device(device), access}};
    EXPECT_THAT(vmm_.SetAccess(Granule(granule), grants), IsOk());
  }
  std::optional<uint32_t> Load(TranslationCache& cache, DeviceAddress address) {
    const std::shared_lock lock(mmu_.mutex);
    return cache.Load<uint32_t>(address);
  }
  bool Store(TranslationCache& cache, DeviceAddress address, uint32_t value) {
    const std::shared_lock lock(mmu_.mutex);
    return cache.Store(address, value);
  }

  const Profile profile_ = Profile::ReferenceH200(2);
  SimulatorState state_{profile_, *Window::Make(profile_.window, profile_.default_alignment())};
  Mmu& mmu_ = state_.mmu;
  SimulatedVmm vmm_{&state_};
  AddressRange range_;
  TranslationCache owner_{mmu_, kOwner};
  TranslationCache peer_{mmu_, kPeer};
};

// What one device stored, it loads, up to the last byte of the mapping.
TEST_F(TranslationCacheTest, LoadsWhatWasStored) {
  for (const DeviceAddress address : {base(), base() + kGranule - Bytes(4)}) {
    EXPECT_TRUE(Store(owner_, address, 7));
    EXPECT_THAT(Load(owner_, address), Optional(7u));
  }
}

// Access of its own is needed, for a store to write.
TEST_F(TranslationCacheTest, NeedsTheAccess) {
  EXPECT_EQ(Load(peer_, base()), std::nullopt);
  Grant(0, kPeer, Access::kRead);
  EXPECT_THAT(Load(peer_, base()), Optional(0u));
  EXPECT_FALSE(Store(peer_, base(), 1));
  EXPECT_EQ(Load(owner_, base() + kGranule), std::nullopt);
}

// Nothing is translated beyond a mapping, and no access reaches from one into the next.
TEST_F(TranslationCacheTest, StaysInsideAMapping) {
  Grant(1, kOwner, Access::kReadWrite);
  EXPECT_EQ(Load(owner_, base() + kGranule - Bytes(2)), std::nullopt);
  EXPECT_EQ(Load(owner_, base() + 2 * kGranule), std::nullopt);
  EXPECT_EQ(Load(owner_, base() + 2 * kGranule - Bytes(3)), std::nullopt);
  EXPECT_EQ(Load(owner_, DeviceAddress(0)), std::nullopt);
  EXPECT_EQ(Load(owner_, DeviceAddress(~uint64_t{0})), std::nullopt);
}

// Access that is taken away is gone at once, translated before or not.
TEST_F(TranslationCacheTest, NoticesALoweredAccess) {
  EXPECT_TRUE(Store(owner_, base(), 1));
  Grant(0, kOwner, Access::kRead);
  EXPECT_FALSE(Store(owner_, base(), 2));
  EXPECT_THAT(Load(owner_, base()), Optional(1u));
}

// After a remap the same address is other memory, and before it is granted, none.
TEST_F(TranslationCacheTest, NoticesARemap) {
  EXPECT_TRUE(Store(owner_, base(), 1));
  EXPECT_THAT(vmm_.Unmap(Granule(0)), IsOk());
  EXPECT_EQ(Load(owner_, base()), std::nullopt);
  EXPECT_THAT(vmm_.Map(Granule(0), *vmm_.Create(kGranule, {}, 0), Bytes(0), 0), IsOk());
  EXPECT_EQ(Load(owner_, base()), std::nullopt);
  Grant(0, kOwner, Access::kReadWrite);
  EXPECT_THAT(Load(owner_, base()), Optional(0u));
}

}  // namespace
}  // namespace twinmmu
