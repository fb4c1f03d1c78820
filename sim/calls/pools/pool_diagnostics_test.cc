// What the simulator says of stream-ordered memory that is used or freed out of order.

#include <optional>
#include <string>

#include "sim/calls/pools/pool_calls.h"
#include "sim/testing/diagnostics_fixture.h"

namespace twinmmu {
namespace {

using Kind = DiagnosticKind;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kStores[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
    ".reg .b32 %r; .reg .b64 %a; ld.param.u64 %a, [p]; mov.u32 %r, 7;\n"
    "st.global.u32 [%a], %r;\nret;\n}\n";

class PoolDiagnosticsTest : public DiagnosticsTest {
 protected:
  explicit PoolDiagnosticsTest(const Profile& profile = Profile::ReferenceH200(2))
      : DiagnosticsTest(profile) {}

  PoolCalls& pools() { return simulator_->pools(); }
  Stream MakeStream() { return *executor().CreateStream(kDevice0); }
  DeviceAddress Allocate(Stream stream, Bytes size = KiB(4)) {
    const auto made = pools().Allocate(stream, size);
    EXPECT_THAT(made, IsOk());
    return *made;
  }
  void Fill(Stream stream, DeviceAddress address) {
    EXPECT_THAT(executor().Fill(stream, address, {0, Bytes(1)}, 64), IsOk());
  }
  void Launch(Stream stream, DeviceAddress address) {
    if (!kernel_.has_value()) {
      kernel_ = *executor().GetKernel(*executor().LoadModule(kDevice0, kStores), "k");
    }
    const uint64_t value = address.value();
    const void* arguments[] = {&value};
    EXPECT_THAT(executor().Launch(stream, *kernel_, LaunchConfig(), arguments), IsOk());
  }
  void OrderBehind(Stream waiting, Stream before) {
    const Event event = *executor().CreateEvent(kDevice0);
    EXPECT_THAT(executor().RecordEvent(event, before), IsOk());
    EXPECT_THAT(executor().WaitEvent(waiting, event), IsOk());
    EXPECT_THAT(executor().DestroyEvent(event), IsOk());
  }

  const Stream one_ = MakeStream();
  const Stream two_ = MakeStream();
  std::optional<Kernel> kernel_;
};

// --- In order

TEST_F(PoolDiagnosticsTest, SayNothingOfOneStream) {
  const DeviceAddress memory = Allocate(one_);
  Fill(one_, memory);
  Launch(one_, memory);
  EXPECT_THAT(pools().Free(one_, memory), IsOk());
  EXPECT_THAT(Noticed(), IsEmpty());
}

TEST_F(PoolDiagnosticsTest, SayNothingOfStreamsThatEventsOrder) {
  const DeviceAddress memory = Allocate(one_);
  OrderBehind(two_, one_);
  Launch(two_, memory);
  OrderBehind(one_, two_);
  EXPECT_THAT(pools().Free(one_, memory), IsOk());
  EXPECT_THAT(Noticed(), IsEmpty());
}

TEST_F(PoolDiagnosticsTest, SayNothingWhereTheHostHasWaited) {
  const DeviceAddress memory = Allocate(one_);
  EXPECT_THAT(executor().SynchronizeStream(one_), IsOk());
  Fill(two_, memory);
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
  EXPECT_THAT(pools().Free(one_, memory), IsOk());
  EXPECT_THAT(Noticed(), IsEmpty());
}

TEST_F(PoolDiagnosticsTest, SayNothingOfTheNextUserOfTheMemory) {
  const DeviceAddress memory = Allocate(one_);
  Fill(one_, memory);
  EXPECT_THAT(pools().Free(one_, memory), IsOk());
  EXPECT_EQ(Allocate(one_), memory);
  Launch(one_, memory);
  EXPECT_THAT(pools().Free(one_, memory), IsOk());
  EXPECT_THAT(Noticed(), IsEmpty());
}

// --- Before the allocation

TEST_F(PoolDiagnosticsTest, TellOfACopyThatMayRunBeforeTheAllocation) {
  const DeviceAddress memory = Allocate(one_);
  Fill(two_, memory);
  EXPECT_THAT(Only(),
              AllOf(IsDiagnostic(Kind::kUseBeforeAllocation), DiagnosticCallIs("cuMemsetAsync"),
                    DiagnosticRangeIs(At(memory, KiB(4))),
                    Says("nothing orders it behind the allocation")));
}

TEST_F(PoolDiagnosticsTest, TellOfAKernelThatMayRunBeforeTheAllocation) {
  const DeviceAddress memory = Allocate(one_);
  Launch(two_, memory + Bytes(64));
  EXPECT_THAT(Only(),
              AllOf(IsDiagnostic(Kind::kUseBeforeAllocation), DiagnosticCallIs("cuLaunchKernel"),
                    DiagnosticDeviceIs(kDevice0), DiagnosticRangeIs(At(memory, KiB(4)))));
}

TEST_F(PoolDiagnosticsTest, TellOfEachPieceOnce) {
  const DeviceAddress memory = Allocate(one_);
  for (int i = 0; i < 3; ++i) Fill(two_, memory);
  EXPECT_THAT(Only(), IsDiagnostic(Kind::kUseBeforeAllocation));
}

TEST_F(PoolDiagnosticsTest, TellThatAnEventAheadOfTheAllocationDoesNotHelp) {
  Allocate(one_);
  OrderBehind(two_, one_);
  const DeviceAddress memory = Allocate(one_);
  Fill(two_, memory);
  EXPECT_THAT(Only(), IsDiagnostic(Kind::kUseBeforeAllocation));
}

// --- After the free

TEST_F(PoolDiagnosticsTest, TellOfAKernelBehindTheFree) {
  const DeviceAddress memory = Allocate(one_);
  EXPECT_THAT(pools().Free(one_, memory), IsOk());
  Launch(one_, memory);
  EXPECT_THAT(
      Only(),
      AllOf(IsDiagnostic(Kind::kUseAfterFreeInStream), DiagnosticCallIs("cuLaunchKernel"),
            Says("it comes after the free"),
            History(ElementsAre(
                HistoryEntryIs(::testing::_, ::testing::HasSubstr("cuMemAllocAsync made [")),
                HistoryEntryIs(::testing::_, ::testing::HasSubstr("cuMemFreeAsync freed ["))))));
}

TEST_F(PoolDiagnosticsTest, TellOfACopyBehindTheFreeWhichIsRefused) {
  const DeviceAddress memory = Allocate(one_);
  EXPECT_THAT(pools().Free(one_, memory), IsOk());
  EXPECT_THAT(executor().Fill(one_, memory, {0, Bytes(1)}, 64),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(),
              AllOf(IsDiagnostic(Kind::kUseAfterFreeInStream), DiagnosticCallIs("cuMemsetAsync")));
}

TEST_F(PoolDiagnosticsTest, TellOfAUseOfWhatThePoolHasReleased) {
  const DeviceAddress memory = Allocate(one_);
  EXPECT_THAT(pools().Free(one_, memory), IsOk());
  EXPECT_THAT(executor().SynchronizeStream(one_), IsOk());
  EXPECT_THAT(Write(kDevice0, memory, 1), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), IsDiagnostic(Kind::kUseAfterFreeOfMemory));
}

// --- Frees that are not ordered

TEST_F(PoolDiagnosticsTest, TellOfAFreeThatMayComeBeforeAUse) {
  const DeviceAddress memory = Allocate(one_);
  OrderBehind(two_, one_);
  Launch(two_, memory);
  EXPECT_THAT(pools().Free(one_, memory), IsOk());
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUnorderedFreeInStream),
                            DiagnosticCallIs("cuMemFreeAsync"), Says("nothing orders it behind")));
}

TEST_F(PoolDiagnosticsTest, TellOfAUseThatMayComeAfterTheFree) {
  const DeviceAddress memory = Allocate(one_);
  OrderBehind(two_, one_);
  EXPECT_THAT(pools().Free(one_, memory), IsOk());
  Launch(two_, memory);
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUnorderedFreeInStream),
                            DiagnosticCallIs("cuLaunchKernel")));
}

TEST_F(PoolDiagnosticsTest, TellOfCuMemFreeUnderWork) {
  const DeviceAddress memory = Allocate(one_);
  Launch(one_, memory);
  EXPECT_THAT(pools().FreeNow(memory), IsOk());
  EXPECT_THAT(Only(),
              AllOf(IsDiagnostic(Kind::kUnorderedFreeInStream), DiagnosticCallIs("cuMemFree")));
}

TEST_F(PoolDiagnosticsTest, TellOfADoubleFree) {
  const DeviceAddress memory = Allocate(one_);
  EXPECT_THAT(pools().Free(one_, memory), IsOk());
  EXPECT_THAT(pools().Free(one_, memory), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kDoubleFreeOfMemory), Says("freed by call")));
}

TEST_F(PoolDiagnosticsTest, TellOfWhatIsLeft) {
  const DeviceAddress memory = Allocate(one_);
  EXPECT_THAT(pools().Free(one_, Allocate(one_)), IsOk());
  for (const Stream stream : {one_, two_}) EXPECT_THAT(executor().DestroyStream(stream), IsOk());
  EXPECT_THAT(simulator_->leaks(), ElementsAre(AllOf(IsDiagnostic(Kind::kLeakedMemory),
                                                     DiagnosticCallIs("cuMemAllocAsync"),
                                                     DiagnosticRangeIs(At(memory, KiB(4))))));
}

// --- Where work runs late

Profile Late() {
  Profile profile = Profile::ReferenceH200(2);
  profile.stream_policy = StreamPolicy::kDeferred;
  return profile;
}

class LatePoolDiagnosticsTest : public PoolDiagnosticsTest {
 protected:
  LatePoolDiagnosticsTest() : PoolDiagnosticsTest(Late()) {}
};

TEST_F(LatePoolDiagnosticsTest, SayNothingOfWorkThatRunsWhenItsMemoryIsFreed) {
  const DeviceAddress memory = Allocate(one_);
  Launch(one_, memory);
  Fill(one_, memory);
  EXPECT_THAT(pools().Free(one_, memory), IsOk());
  EXPECT_EQ(Allocate(one_), memory);
  Launch(one_, memory);
  EXPECT_THAT(executor().SynchronizeStream(one_), IsOk());
  EXPECT_THAT(Noticed(), IsEmpty());
}

TEST_F(LatePoolDiagnosticsTest, TellOfAFreeThatMayComeBeforeAUse) {
  const DeviceAddress memory = Allocate(one_);
  OrderBehind(two_, one_);
  Launch(two_, memory);
  EXPECT_THAT(pools().Free(one_, memory), IsOk());
  EXPECT_THAT(executor().SynchronizeStream(two_), IsOk());
  EXPECT_THAT(Only(), IsDiagnostic(Kind::kUnorderedFreeInStream));
}

TEST_F(LatePoolDiagnosticsTest, TellOfAKernelBehindTheFree) {
  const DeviceAddress memory = Allocate(one_);
  Launch(one_, memory);
  EXPECT_THAT(pools().Free(one_, memory), IsOk());
  Launch(one_, memory);
  EXPECT_THAT(executor().SynchronizeStream(one_), IsOk());
  EXPECT_THAT(Only(), IsDiagnostic(Kind::kUseAfterFreeInStream));
}

// --- Left

TEST_F(PoolDiagnosticsTest, TellsOfPoolsThatWereNotDestroyed) {
  PoolProperties properties;
  properties.place.location = Location::Device(kDevice0);
  const auto pool = pools().Create(properties);
  ASSERT_THAT(pool, IsOk());
  Allocate(one_);  // of a pool that is always there
  EXPECT_THAT(simulator_->leaks(), Contains(AllOf(IsDiagnostic(Kind::kLeakedPool),
                                                  DiagnosticCallIs("cuMemPoolCreate"))));
  EXPECT_THAT(pools().Destroy(*pool), IsOk());
  EXPECT_THAT(simulator_->leaks(), Not(Contains(IsDiagnostic(Kind::kLeakedPool))));
}

}  // namespace
}  // namespace twinmmu
