// What the CPU sees at device addresses. Without access, what it does ends the process: in a child.

#include <sys/wait.h>

#include <cstdlib>
#include <iostream>

#include "conformance/fixtures/fixtures.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {
namespace {

volatile int* AsCpuSeesIt(DeviceAddress address) {
  return reinterpret_cast<volatile int*>(address.value());
}

constexpr char kAboutToWrite[] = "about to write";

// In a child: writes as the CPU, and exits with 0 if it survived that.
void WriteThere(DeviceAddress address) {
  std::cerr << kAboutToWrite << std::endl;
  *AsCpuSeesIt(address) = 1;
  std::_Exit(0);
}

// By a signal; or, where a sanitizer catches the signal, by its exit code.
bool Died(int status) { return !WIFEXITED(status) || WEXITSTATUS(status) != 0; }

// Two granules of memory of host NUMA node 0, mapped, with no access for anyone.
class HostTest : public ConformanceTest {
 protected:
  // False: the target does not show memory to the CPU, or has none of the host, which has been
  // recorded, or the test failed.
  bool MapHostMemory() {
    if (!traits().cpu_sees_host_memory) {
      RecordProperty(kUnsupportedProperty, "the CPU sees no memory of this target");
      return false;
    }
    const auto handle = vmm().Create(2 * granule(), properties(Location::HostNuma(0)));
    if (!IsHostMemoryCreated(Location::HostNuma(0), handle.status())) return false;
    const auto range = vmm().AddressReserve(2 * granule());
    EXPECT_THAT(range, IsOk());
    if (!range.ok()) return false;
    EXPECT_THAT(vmm().Map(*range, *handle), IsOk());
    range_ = *range;
    return !HasFailure();
  }
  const AddressRange& range() const { return range_; }

 private:
  AddressRange range_;
};

}  // namespace

CONFORMANCE_TEST(HostTest, HOST_1, TheCpuReadsAndWritesWithTheRight) {
  if (!MapHostMemory()) return;
  ASSERT_THAT(Grant(range(), Access::kReadWrite, Location::HostNuma(0)), IsOk());
  ASSERT_THAT(Grant(range(), Access::kReadWrite), IsOk());
  volatile int* const word = AsCpuSeesIt(range().base + granule());
  *word = 41;
  int through_device = 0;
  ASSERT_THAT(executor().CopyDeviceToHost(device(), &through_device, range().base + granule(),
                                          Bytes(sizeof(int))),
              IsOk());
  EXPECT_EQ(through_device, 41);
  const int sent = 42;
  ASSERT_THAT(
      executor().CopyHostToDevice(device(), range().base + granule(), &sent, Bytes(sizeof(int))),
      IsOk());
  EXPECT_EQ(*word, 42);
}

CONFORMANCE_TEST(HostTest, HOST_2, TheCpuFaultsWithoutTheRight) {
  if (!MapHostMemory()) return;
  EXPECT_EXIT(WriteThere(range().base), Died, kAboutToWrite);
  ASSERT_THAT(Grant(range(), Access::kRead, Location::HostNuma(0)), IsOk());
  EXPECT_EQ(*AsCpuSeesIt(range().base), *AsCpuSeesIt(range().base));
  EXPECT_EXIT(WriteThere(range().base), Died, kAboutToWrite);
}

CONFORMANCE_TEST(MappedTest, HOST_3, TheCpuFaultsAtDeviceMemory) {
  if (!traits().cpu_sees_host_memory) {
    RecordProperty(kUnsupportedProperty, "the CPU sees no memory of this target");
    return;
  }
  EXPECT_EXIT(WriteThere(mapping().base), Died, kAboutToWrite);
}

}  // namespace twinmmu::conformance
