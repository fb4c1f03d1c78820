// Machines where what a call does shows late: at the next wait of the program for its work.

#include <array>
#include <cstdint>

#include "gmock/gmock.h"
#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;

class LateMachineTest : public MachineTest {
 protected:
  explicit LateMachineTest(const char* name) : MachineTest(*Profile::Named(name)) {}

  Bytes Free() { return vmm().GetMemoryInfo(kDevice0)->free; }

  // All ways to wait for work.
  void WaitForDevice() { EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk()); }
  void WaitForStream() { EXPECT_THAT(executor().SynchronizeStream(Stream(kDevice0)), IsOk()); }
  void WaitForEvent() {
    const auto event = executor().CreateEvent(kDevice0);
    ASSERT_THAT(event, IsOk());
    EXPECT_THAT(executor().RecordEvent(*event, Stream(kDevice0)), IsOk());
    EXPECT_THAT(executor().SynchronizeEvent(*event), IsOk());
    EXPECT_THAT(executor().DestroyEvent(*event), IsOk());
  }
  static constexpr std::array kWaits = {&LateMachineTest::WaitForDevice,
                                        &LateMachineTest::WaitForStream,
                                        &LateMachineTest::WaitForEvent};
};

class LateMemoryTest : public LateMachineTest {
 protected:
  LateMemoryTest() : LateMachineTest("memory-returns-late") {}
};

TEST_F(LateMemoryTest, WhatIsReleasedAndUnmappedComesBackAtTheNextWait) {
  for (const auto wait : kWaits) {
    const Bytes before = Free();
    const AddressRange range = Reserve(1);
    const AllocationHandle handle = MapNew(range.base, 1);
    EXPECT_THAT(vmm().Release(handle), IsOk());
    EXPECT_THAT(vmm().Unmap(range), IsOk());
    EXPECT_EQ(Free(), before - kGranule);
    (this->*wait)();
    EXPECT_EQ(Free(), before);
  }
}

TEST_F(LateMemoryTest, SoDoesLinearMemory) {
  const Bytes before = Free();
  const auto memory = linear().Allocate({kDevice0, 0}, 4 * kGranule);
  ASSERT_THAT(memory, IsOk());
  EXPECT_THAT(linear().Free(*memory), IsOk());
  EXPECT_EQ(Free(), before - 4 * kGranule);
  WaitForDevice();
  EXPECT_EQ(Free(), before);
}

// The bug of sleep modes: what sleep gave up is not there yet when wake wants it.
TEST_F(LateMemoryTest, ACreateBeforeTheWaitFindsNoRoomAndSaysWhy) {
  const Bytes most = Free() - profile().devices[0].memory_kept_back;
  const uint64_t granules = most / kGranule;
  EXPECT_THAT(vmm().Release(Create(granules)), IsOk());
  const auto again = vmm().Create(granules * kGranule, {});
  EXPECT_THAT(again, HasDriverCode(DriverCode::kOutOfMemory));
  EXPECT_THAT(std::string(again.status().message()),
              HasSubstr("that were freed come back once the program waits for its work"));
  WaitForDevice();
  EXPECT_THAT(vmm().Release(Create(granules)), IsOk());
}

class LateMappingTest : public LateMachineTest {
 protected:
  LateMappingTest() : LateMachineTest("mappings-seen-late") {}

  // A second mapping of memory in which that word is.
  AddressRange MapAgain(uint32_t word) {
    const AddressRange first = Reserve(1);
    const AllocationHandle handle = MapNew(first.base, 1);
    Grant(first, For(kDevice0, Access::kReadWrite));
    WaitForDevice();
    EXPECT_THAT(Write(kDevice0, first.base, word), IsOk());
    const AddressRange second = Reserve(1);
    EXPECT_THAT(vmm().Map(second, handle), IsOk());
    Grant(second, For(kDevice0, Access::kReadWrite));
    return second;
  }
};

TEST_F(LateMappingTest, ADeviceReadsZerosUntilTheNextWait) {
  for (const auto wait : kWaits) {
    const AddressRange mapping = MapAgain(7);
    EXPECT_THAT(Read(kDevice0, mapping.base), IsOkAndHolds(0u));
    (this->*wait)();
    EXPECT_THAT(Read(kDevice0, mapping.base), IsOkAndHolds(7u));
  }
}

TEST_F(LateMappingTest, WhatADeviceWritesBeforeTheWaitIsLost) {
  const AddressRange mapping = MapAgain(7);
  EXPECT_THAT(Write(kDevice0, mapping.base, 8), IsOk());
  WaitForDevice();
  EXPECT_THAT(Read(kDevice0, mapping.base), IsOkAndHolds(7u));
  EXPECT_THAT(Write(kDevice0, mapping.base, 9), IsOk());
  EXPECT_THAT(Read(kDevice0, mapping.base), IsOkAndHolds(9u));
}

TEST_F(LateMappingTest, AKernelDoesNotSeeItEither) {
  const auto module = executor().LoadModule(kDevice0, R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry add(.param .u64 from, .param .u64 to) {
  .reg .b64 %a, %b;
  .reg .b32 %v;
  ld.param.u64 %a, [from];
  ld.param.u64 %b, [to];
  ld.global.u32 %v, [%a];
  add.u32 %v, %v, 1;
  st.global.u32 [%b], %v;
  ret;
})");
  ASSERT_THAT(module, IsOk());
  const auto kernel = executor().GetKernel(*module, "add");
  ASSERT_THAT(kernel, IsOk());
  const AddressRange result = Ready(1);
  WaitForDevice();
  const AddressRange mapping = MapAgain(7);
  const uint64_t arguments[] = {mapping.base.value(), result.base.value()};
  const void* const values[] = {&arguments[0], &arguments[1]};
  const auto run = [&] {
    EXPECT_THAT(executor().Launch(Stream(kDevice0), *kernel, {}, values), IsOk());
    return *Read(kDevice0, result.base);
  };
  EXPECT_EQ(run(), 1u);
  WaitForDevice();
  EXPECT_EQ(run(), 8u);
}

TEST_F(LateMappingTest, AMappingThatEndsBeforeTheWaitLeavesNothing) {
  const AddressRange mapping = MapAgain(7);
  EXPECT_THAT(Write(kDevice0, mapping.base, 8), IsOk());
  EXPECT_THAT(vmm().Unmap(mapping), IsOk());
  EXPECT_THAT(Read(kDevice0, mapping.base), HasDriverCode(DriverCode::kInvalidValue));
  const AllocationHandle other = MapNew(mapping.base, 1);
  Grant(mapping, For(kDevice0, Access::kReadWrite));
  WaitForDevice();
  EXPECT_THAT(Read(kDevice0, mapping.base), IsOkAndHolds(0u));
  EXPECT_THAT(vmm().Release(other), IsOk());
}

}  // namespace
}  // namespace twinmmu
