// cuMemGetHandleForAddressRange: dma-buf.

#include <fcntl.h>
#include <unistd.h>

#include <set>

#include "conformance/fixtures/fixtures.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {
namespace {

constexpr RangeHandleType kDmaBuf = RangeHandleType::kDmaBufFileDescriptor;

// A mapping on a device that gives descriptors; those that a test gets are closed after it.
class RangeHandleTest : public MappedTest {
 protected:
  void SetUp() override {
    MappedTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (Tells(DeviceAttribute::kDmaBufSupported)) return;
    ExpectUnsupported(Ask(mapping()).status());
    GTEST_SKIP() << "there are no descriptors of address ranges";
  }
  void TearDown() override {
    for (const int descriptor : descriptors_) close(descriptor);
    MappedTest::TearDown();
  }
  absl::StatusOr<int> Ask(const AddressRange& range, RangeHandleType type = kDmaBuf,
                          uint64_t flags = 0) {
    const absl::StatusOr<int> descriptor =
        vmm().GetHandleForAddressRange(device(), range, type, flags);
    if (descriptor.ok()) descriptors_.insert(*descriptor);
    return descriptor;
  }
  void ExpectGiven(const AddressRange& range) {
    const size_t before = descriptors_.size();
    const absl::StatusOr<int> descriptor = Ask(range);
    ASSERT_THAT(descriptor, IsOk()) << range;
    EXPECT_NE(fcntl(*descriptor, F_GETFD), -1) << "the descriptor is not open";
    EXPECT_GT(descriptors_.size(), before) << "the descriptor is not new";
  }
  void Close(int descriptor) {
    close(descriptor);
    descriptors_.erase(descriptor);
  }

 private:
  std::set<int> descriptors_;
};

}  // namespace

CONFORMANCE_TEST(RangeHandleTest, DMABUF_1, EachDescriptorIsNew) {
  ExpectGiven(mapping());
  ExpectGiven(mapping());
  ASSERT_THAT(vmm().Map(Granules(4, 4), handle()), IsOk());
  ExpectGiven(Granules(4, 4));
}

CONFORMANCE_TEST(RangeHandleTest, DMABUF_2, TakesPagesAndSeveralMappings) {
  ASSERT_THAT(MapNew(Granules(4, 2)), IsOk());
  ExpectGiven(Granules(0, 6));
  ExpectGiven(Granules(1, 1));
  ExpectGiven(reservation().subrange(KiB(8), KiB(4)));
  ExpectGiven(reservation().subrange(4 * granule() - KiB(4), KiB(8)));
}

CONFORMANCE_TEST(RangeHandleTest, DMABUF_3, RefusesWhatIsNoPages) {
  const DeviceAddress base = mapping().base;
  for (const AddressRange& range :
       {AddressRange{base + Bytes(1), KiB(4), Bytes(0)}, AddressRange{base, Bytes(100), Bytes(0)},
        AddressRange{base + KiB(1), KiB(3), Bytes(0)}, AddressRange{base, Bytes(0), Bytes(0)}}) {
    ExpectRefused(DriverCode::kInvalidValue, mapping(), [&] { return Ask(range); });
  }
}

CONFORMANCE_TEST(RangeHandleTest, DMABUF_4, RefusesWhatIsNotMapped) {
  for (const AddressRange& range :
       {Granules(4, 1), Granules(0, 5), AddressRange{mapping().base, mapping().size + KiB(4), {}},
        AddressRange{DeviceAddress(0), KiB(4), Bytes(0)}}) {
    ExpectRefused(DriverCode::kInvalidValue, mapping(), [&] { return Ask(range); });
  }
}

CONFORMANCE_TEST(RangeHandleTest, DMABUF_5, RefusesAnUnknownType) {
  for (const int type : {0, 2, 77}) {
    ExpectRefused(DriverCode::kInvalidValue, mapping(),
                  [&] { return Ask(mapping(), static_cast<RangeHandleType>(type)); });
  }
}

CONFORMANCE_TEST(RangeHandleTest, DMABUF_6, ADescriptorKeepsTheMemory) {
  ExpectGiven(mapping());  // what the driver takes for the first one is not counted
  const Bytes size = 32 * granule();
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, vmm().AddressReserve(size));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo before, vmm().GetMemoryInfo(device()));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle, vmm().Create(size, properties()));
  ASSERT_THAT(vmm().Map(range, handle), IsOk());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const int descriptor, Ask(range.subrange(Bytes(0), KiB(4))));
  ASSERT_THAT(vmm().Unmap(range), IsOk());
  ASSERT_THAT(vmm().Release(handle), IsOk());
  ExpectFree(device(), before.free - size);
  Close(descriptor);
  ExpectFree(device(), before.free);
}

CONFORMANCE_TEST(RangeHandleTest, DMABUF_7, GivesNoneByWayOfPcie) {
  ExpectRefused(DriverCode::kNotSupported, mapping(),
                [&] { return Ask(mapping(), kDmaBuf, kRangeFlagPcie); });
  ExpectRefused(DriverCode::kNotSupported, mapping(),
                [&] { return Ask(mapping(), kDmaBuf, kRangeFlagPcie | 2); });
  ExpectRefused(DriverCode::kInvalidValue, mapping(), [&] { return Ask(mapping(), kDmaBuf, 2); });
}

}  // namespace twinmmu::conformance
