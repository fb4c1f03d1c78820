// What is said of misuse of managed memory, and what of it depends on the machine.

#include "sim/calls/linear/managed_calls.h"

#include "sim/testing/diagnostics_fixture.h"

namespace twinmmu {
namespace {

using Kind = DiagnosticKind;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto kInvalid = DriverCode::kInvalidValue;
constexpr auto kManagedMemory = static_cast<DeviceAttribute>(83);
constexpr auto kConcurrentManagedAccess = static_cast<DeviceAttribute>(89);
constexpr uint32_t kGlobal = 1;
constexpr LinearCalls::Context kContext{kDevice0, 0xc0};

class ManagedCallsTest : public DiagnosticsTest {
 protected:
  using DiagnosticsTest::DiagnosticsTest;

  ManagedCalls& managed() { return simulator_->managed(); }
  DeviceAddress Allocate(Bytes size) {
    const auto address = linear().AllocateManaged(kContext, size, kGlobal);
    EXPECT_THAT(address, IsOk());
    return *address;
  }
  absl::Status Prefetch(const AddressRange& range, const Location& to) {
    const ManagedCalls::Target target{range, to};
    return managed().Prefetch("cuMemPrefetchAsync", Stream(kDevice0), {&target, 1});
  }
};

TEST_F(ManagedCallsTest, NothingIsSaidOfACorrectProgram) {
  const DeviceAddress memory = Allocate(KiB(8));
  const AddressRange range = At(memory, KiB(8));
  EXPECT_THAT(Prefetch(range, Location::Device(kDevice1)), IsOk());
  EXPECT_THAT(managed().Advise(range, Advice::kSetReadMostly, Location::Host()), IsOk());
  EXPECT_THAT(managed().Attach(Stream(kDevice0), memory, Bytes(0), kGlobal), IsOk());
  EXPECT_THAT(linear().Free(memory), IsOk());
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
  EXPECT_THAT(simulator_->leaks(), IsEmpty());
}

TEST_F(ManagedCallsTest, HintsBeyondTheEndAreToldOf) {
  const DeviceAddress memory = Allocate(Bytes(100));  // call 1
  EXPECT_THAT(Prefetch(At(memory, Bytes(101)), Location::Host()), HasDriverCode(kInvalid));
  EXPECT_THAT(Only(),
              AllOf(IsDiagnostic(Kind::kUseBeyondMemory), DiagnosticCallIs("cuMemPrefetchAsync"),
                    History(ElementsAre(Entry(1u, "cuMemAllocManaged made [")))));
}

TEST_F(ManagedCallsTest, HintsAfterTheFreeAreToldOf) {
  const DeviceAddress memory = Allocate(Bytes(100));
  EXPECT_THAT(linear().Free(memory), IsOk());  // call 2
  EXPECT_THAT(managed().Advise(At(memory, Bytes(100)), Advice::kSetReadMostly, Location::Host()),
              HasDriverCode(kInvalid));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUseAfterFreeOfMemory),
                            DiagnosticCallIs("cuMemAdvise"), Says("allocated any more")));
}

TEST_F(ManagedCallsTest, ADoubleFreeIsToldOf) {
  const DeviceAddress memory = Allocate(Bytes(100));
  EXPECT_THAT(linear().Free(memory), IsOk());
  EXPECT_THAT(linear().Free(memory), HasDriverCode(kInvalid));
  EXPECT_THAT(Only(), IsDiagnostic(Kind::kDoubleFreeOfMemory));
}

TEST_F(ManagedCallsTest, WhatIsNotFreedIsALeak) {
  const DeviceAddress memory = Allocate(Bytes(100));
  EXPECT_THAT(simulator_->leaks(), ElementsAre(AllOf(IsDiagnostic(Kind::kLeakedMemory),
                                                     DiagnosticCallIs("cuMemAllocManaged"),
                                                     DiagnosticRangeIs(At(memory, Bytes(100))))));
}

TEST_F(ManagedCallsTest, MemoryThatIsNotManagedIsNoMisuse) {
  const auto memory = linear().Allocate(kContext, KiB(4));
  EXPECT_THAT(Prefetch(At(*memory, KiB(4)), Location::Host()), HasDriverCode(kInvalid));
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty()) << "a program may ask";
}

TEST_F(ManagedCallsTest, HintsGoWithTheirMemory) {
  const DeviceAddress memory = Allocate(MiB(4));
  EXPECT_THAT(Prefetch(At(memory, MiB(4)), Location::Host()), IsOk());
  EXPECT_THAT(linear().Free(memory), IsOk());
  const DeviceAddress next = Allocate(MiB(4));
  const auto hints = managed().HintsOf(At(next, MiB(4)));
  EXPECT_THAT(hints, IsOk());
  EXPECT_EQ(*hints, ManagedHints());
}

Profile Without(DeviceAttribute attribute) {
  Profile profile = Profile::ReferenceH200(2);
  profile.devices[1].attributes[attribute] = 0;
  return profile;
}

class NoManagedMemoryTest : public ManagedCallsTest {
 protected:
  NoManagedMemoryTest() : ManagedCallsTest(Without(kManagedMemory)) {}
};

TEST_F(NoManagedMemoryTest, ADeviceWithoutItRefuses) {
  EXPECT_THAT(linear().AllocateManaged({kDevice1, 0xc1}, KiB(4), kGlobal),
              HasDriverCode(DriverCode::kNotSupported));
  EXPECT_THAT(linear().Free(Allocate(KiB(4))), IsOk());
}

class NoConcurrentAccessTest : public ManagedCallsTest {
 protected:
  NoConcurrentAccessTest() : ManagedCallsTest(Without(kConcurrentManagedAccess)) {}
};

TEST_F(NoConcurrentAccessTest, NothingIsPrefetchedToThatDevice) {
  EXPECT_TRUE(managed().CanPrefetchTo(Location::Device(kDevice0)));
  EXPECT_FALSE(managed().CanPrefetchTo(Location::Device(kDevice1)));
  const DeviceAddress memory = Allocate(KiB(4));
  EXPECT_THAT(Prefetch(At(memory, KiB(4)), Location::Device(kDevice1)), HasDriverCode(kInvalid));
  EXPECT_THAT(linear().Free(memory), IsOk());
}

TEST_F(ManagedCallsTest, AKernelBeyondTheEndFaults) {
  const DeviceAddress memory = Allocate(Bytes(100));
  const auto module = executor().LoadModule(kDevice0, R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry put(.param .u64 p) {
  .reg .b64 %rd; .reg .b32 %r;
  ld.param.u64 %rd, [p];
  st.global.u32 [%rd], %r;
  ret;
})");
  ASSERT_THAT(module, IsOk());
  const auto kernel = executor().GetKernel(*module, "put");
  ASSERT_THAT(kernel, IsOk());
  const auto put = [&](uint64_t address) {
    const void* const arguments[] = {&address};
    EXPECT_THAT(executor().Launch(Stream(kDevice0), *kernel, LaunchConfig(), arguments), IsOk());
    return executor().SynchronizeStream(Stream(kDevice0));
  };
  EXPECT_THAT(put(memory.value() + 96), IsOk());
  EXPECT_THAT(put(memory.value() + 100), HasDriverCode(DriverCode::kIllegalAddress));
  EXPECT_THAT(Only(), IsDiagnostic(Kind::kFaultOfKernel));
}

}  // namespace
}  // namespace twinmmu
