// What is said of copies and fills of memory that cannot be used so.

#include "sim/testing/diagnostics_fixture.h"

namespace twinmmu {
namespace {

using Kind = DiagnosticKind;
using ::testing::_;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(DiagnosticsTest, TellOfAUseAfterUnmap) {
  const AddressRange range = Ready(1);      // calls 1 to 4
  EXPECT_THAT(vmm().Unmap(range), IsOk());  // call 5
  EXPECT_THAT(Write(kDevice0, range.base, 1), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(
      Only(),
      AllOf(IsDiagnostic(Kind::kUseAfterUnmap), DiagnosticRuleIs("DATA-8"),
            DiagnosticCallIs("cuMemcpyHtoD"), DiagnosticDeviceIs(kDevice0),
            DiagnosticRangeIs(At(range.base, Bytes(4))), Says("it was unmapped by call 5"),
            History(ElementsAre(Entry(1u, "reserved"), Entry(3u, "mapped"),
                                Entry(4u, "set read-write for device 0"), Entry(5u, "unmapped")))));
}

// Of a range of which the first part is fine, the address that is not is named.
TEST_F(DiagnosticsTest, TellOfAUseOfWhatIsNotMapped) {
  const AddressRange range = Reserve(2);
  MapNew(range.base, 1);
  Grant(Granule(range, 0), For(kDevice0, Access::kReadWrite));
  EXPECT_THAT(Read(kDevice0, range.base + kGranule - Bytes(2)),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUseOfUnmapped), DiagnosticRuleIs("DATA-8"),
                            Says("nothing is mapped at " + ToString(range.base + kGranule)),
                            History(ElementsAre(Entry(1u, "reserved")))));
}

TEST_F(DiagnosticsTest, TellOfAUseWithoutAccess) {
  const AddressRange range = Reserve(1);
  MapNew(range.base, 1);
  EXPECT_THAT(Read(kDevice0, range.base), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUseWithoutAccess), DiagnosticRuleIs("DATA-4"),
                            DiagnosticDeviceIs(kDevice0),
                            History(ElementsAre(Entry(1u, "reserved"), Entry(3u, "mapped")))));
}

TEST_F(DiagnosticsTest, TellOfAccessLostByARemap) {
  const AddressRange range = Reserve(1);                  // call 1
  const AllocationHandle handle = MapNew(range.base, 1);  // calls 2 and 3
  Grant(range, For(kDevice0, Access::kReadWrite));        // call 4
  EXPECT_THAT(vmm().Unmap(range), IsOk());                // call 5
  EXPECT_THAT(vmm().Map(range, handle), IsOk());          // call 6
  EXPECT_THAT(Read(kDevice0, range.base), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kAccessLostByRemap), DiagnosticRuleIs("ACC-18"),
                            Says("was mapped again by call 6, and access was not granted again"),
                            History(ElementsAre(_, _, Entry(4u, "set read-write for device 0"),
                                                Entry(5u, "unmapped"), Entry(6u, "mapped")))));
}

TEST_F(DiagnosticsTest, TellOfAUseAfterAccessWasTaken) {
  const AddressRange range = Ready(1);         // calls 1 to 4
  Grant(range, For(kDevice0, Access::kNone));  // call 5
  EXPECT_THAT(Read(kDevice0, range.base), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUseAfterAccessTaken), DiagnosticRuleIs("DATA-4"),
                            Says("was taken by call 5")));
}

TEST_F(DiagnosticsTest, TellOfAUseWithoutAPeerGrant) {
  const AddressRange range = Ready(1);
  EXPECT_THAT(Read(kDevice1, range.base), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUseWithoutPeerGrant), DiagnosticRuleIs("PEER-3"),
                            DiagnosticDeviceIs(kDevice1),
                            History(Contains(Entry(4u, "read-write for device 0")))));
}

TEST_F(DiagnosticsTest, TellOfAWriteToReadOnlyMemory) {
  const AddressRange range = Reserve(1);
  MapNew(range.base, 1);
  Grant(range, For(kDevice0, Access::kRead));
  EXPECT_THAT(Read(kDevice0, range.base), IsOk());
  EXPECT_THAT(Noticed(), IsEmpty());
  EXPECT_THAT(Write(kDevice0, range.base, 1), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kWriteToReadOnly), DiagnosticRuleIs("DATA-5"),
                            History(Contains(Entry(4u, "set read for device 0")))));
}

TEST_F(DiagnosticsTest, TellOfDeviceMemoryPassedAsTheHosts) {
  if (!profile().window.claimed) GTEST_SKIP() << "device addresses are mere numbers here";
  const AddressRange range = Ready(1);
  const AddressRange closed = Reserve(1);
  MapNew(closed.base, 1);
  EXPECT_THAT(
      executor().CopyHostToDevice(kDevice0, range.base,
                                  reinterpret_cast<const void*>(closed.base.value()), Bytes(4)),
      HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kHostUseOfDeviceMemory), DiagnosticRuleIs("HOST-3"),
                            DiagnosticCallIs("cuMemcpyHtoD")));
}

TEST_F(DiagnosticsTest, TellOfAFillThatWraps) {
  const AddressRange range = Ready(1);
  const uint64_t count = (uint64_t{1} << 62) + 1;  // 4 bytes each
  EXPECT_THAT(executor().Fill(kDevice0, range.base, {7, Bytes(4)}, count), IsOk());
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kFillWraps), DiagnosticCallIs("cuMemset"),
                            DiagnosticSeverityIs(Severity::kWarning), Says("wraps to 4 B")));
}

TEST_F(StrictDiagnosticsTest, RefuseAFillThatWraps) {
  const AddressRange range = Ready(1);
  const uint64_t count = (uint64_t{1} << 62) + 1;
  EXPECT_THAT(executor().Fill(kDevice0, range.base, {7, Bytes(4)}, count),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(),
              AllOf(IsDiagnostic(Kind::kFillWraps), DiagnosticSeverityIs(Severity::kError)));
}

}  // namespace
}  // namespace twinmmu
