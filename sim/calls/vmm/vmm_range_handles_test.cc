// Descriptors of address ranges: those of linear memory.

#include <unistd.h>

#include "sim/testing/diagnostics_fixture.h"

namespace twinmmu {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr LinearCalls::Context kContext{kDevice0, 0xc0};

class RangeHandlesTest : public MachineTest {
 protected:
  absl::StatusOr<int> Ask(DeviceAddress base, Bytes size) {
    return vmm().GetHandleForAddressRange(kDevice0, {base, size, Bytes(0)},
                                          RangeHandleType::kDmaBufFileDescriptor, 0);
  }
  Bytes Free() { return vmm().GetMemoryInfo(kDevice0)->free; }
};

// All pages that linear memory has a byte of can be had, and not one more.
TEST_F(RangeHandlesTest, LinearMemoryIsGivenInWholePages) {
  const DeviceAddress small = linear().Allocate(kContext, Bytes(100)).value();
  const absl::StatusOr<int> descriptor = Ask(small, KiB(4));
  ASSERT_THAT(descriptor, IsOk());
  close(*descriptor);
  EXPECT_THAT(Ask(small, KiB(8)), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Ask(small, Bytes(100)), HasDriverCode(DriverCode::kInvalidValue));
}

// Memory of the host has no such descriptors.
TEST_F(RangeHandlesTest, PinnedMemoryHasNone) {
  void* const memory = linear().AllocateHost(kContext, KiB(64), 0).value();
  EXPECT_THAT(Ask(DeviceAddress(reinterpret_cast<uint64_t>(memory)), KiB(64)),
              HasDriverCode(DriverCode::kInvalidValue));
}

// Linear memory that is freed keeps its room until the last descriptor of it is closed.
TEST_F(RangeHandlesTest, LinearMemoryIsKeptAfterItIsFreed) {
  const Bytes before = Free();
  const DeviceAddress large = linear().Allocate(kContext, MiB(64)).value();
  const int first = Ask(large, KiB(4)).value();
  const int second = Ask(large + KiB(8), MiB(1)).value();
  ASSERT_THAT(linear().Free(large), IsOk());
  EXPECT_EQ(Free(), before - MiB(64));
  close(first);
  EXPECT_EQ(Free(), before - MiB(64));
  close(second);
  EXPECT_EQ(Free(), before);
}

// A descriptor that is left open is told of with the call that gave it.
TEST_F(RangeHandlesTest, ADescriptorThatIsLeftNamesItsCall) {
  const DeviceAddress memory = linear().Allocate(kContext, KiB(4)).value();  // call 1
  const int descriptor = Ask(memory, KiB(4)).value();                        // call 2
  EXPECT_THAT(simulator_->leaks(), Contains(AllOf(IsDiagnostic(DiagnosticKind::kLeakedDescriptor),
                                                  DiagnosticCallIdIs(2u))));
  close(descriptor);
}

// It is no refused call.
TEST_F(RangeHandlesTest, TheHistoryHasTheCall) {
  const DeviceAddress memory = linear().Allocate(kContext, KiB(4)).value();
  close(Ask(memory, KiB(4)).value());
  EXPECT_THAT(
      simulator_->HistoryOf(memory),
      ElementsAre(Entry(1u, "cuMemAlloc made"), HistoryEntryIs(2u, Not(HasSubstr("refused")))));
}

// A descriptor that is closed before keeps nothing.
TEST_F(RangeHandlesTest, AClosedDescriptorKeepsNothing) {
  const Bytes before = Free();
  const DeviceAddress large = linear().Allocate(kContext, MiB(64)).value();
  close(Ask(large, KiB(4)).value());
  ASSERT_THAT(linear().Free(large), IsOk());
  EXPECT_EQ(Free(), before);
}

}  // namespace
}  // namespace twinmmu
