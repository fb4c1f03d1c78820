// What is said of mappings that are made or unmapped wrongly.

#include "sim/testing/diagnostics_fixture.h"

namespace twinmmu {
namespace {

using Kind = DiagnosticKind;
using ::testing::_;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(DiagnosticsTest, TellOfAMapWhereNothingIsReserved) {
  const AddressRange range = Reserve(1);  // call 1
  const AllocationHandle handle = Create(1);
  EXPECT_THAT(vmm().AddressFree(range), IsOk());  // call 3
  EXPECT_THAT(vmm().Map(range, handle), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kMapOfUnreserved), DiagnosticRuleIs("MAP-7"),
                            DiagnosticRangeIs(range),
                            History(ElementsAre(Entry(1u, "reserved"), Entry(3u, "freed")))));
}

TEST_F(DiagnosticsTest, TellOfAMisalignedMap) {
  const AddressRange range = Reserve(2);
  const AllocationHandle handle = Create(1);
  EXPECT_THAT(vmm().Map(At(range.base + KiB(4), kGranule), handle),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kMapMisaligned), DiagnosticRuleIs("MAP-8"),
                            Says("granularity 2 MiB")));
}

TEST_F(DiagnosticsTest, TellOfAMapOverAnother) {
  const AddressRange range = Reserve(2);                      // call 1
  const AllocationHandle handle = MapNew(range.base, 1);      // calls 2 and 3
  EXPECT_THAT(vmm().Map(Granule(range, 1), handle), IsOk());  // call 4: beside it
  EXPECT_THAT(Noticed(), IsEmpty());
  EXPECT_THAT(vmm().Map(Granule(range, 0), handle), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kMapOverMapped), DiagnosticRuleIs("MAP-5"),
                            DiagnosticCallIdIs(5u), Says("was mapped by call 3"),
                            History(ElementsAre(Entry(1u, "reserved"), Entry(3u, "mapped")))));
}

TEST_F(DiagnosticsTest, TellOfAMapBeyondTheAllocation) {
  const AddressRange range = Reserve(2);
  const AllocationHandle handle = Create(1);
  EXPECT_THAT(vmm().Map(range, handle), HasDriverCode(DriverCode::kNotSupported));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kMapBeyondAllocation), DiagnosticRuleIs("MAP-12"),
                            DiagnosticHandleIs(handle), Says("allocation of 2 MiB")));
}

TEST_F(DiagnosticsTest, TellOfAMapBeyondTheReservation) {
  const AddressRange range = Reserve(2);
  MapNew(range.base + kGranule, 2);
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kMapBeyondReservation), DiagnosticRuleIs("MAP-4"),
                            DiagnosticSeverityIs(Severity::kWarning), Says(InWords(range))));
}

TEST_F(StrictDiagnosticsTest, RefuseAMapBeyondTheReservation) {
  const AddressRange range = Reserve(2);
  EXPECT_THAT(vmm().Map(At(range.base + kGranule, 2 * kGranule), Create(2)),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kMapBeyondReservation),
                            DiagnosticSeverityIs(Severity::kError)));
}

TEST_F(DiagnosticsTest, TellOfAnUnmapOfWhatIsNotReserved) {
  const AddressRange range = Reserve(1);
  EXPECT_THAT(vmm().AddressFree(range), IsOk());
  EXPECT_THAT(vmm().Unmap(range), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUnmapOfUnreserved), DiagnosticRuleIs("UNMAP-7"),
                            History(ElementsAre(_, Entry(2u, "freed")))));
}

TEST_F(DiagnosticsTest, TellOfAnUnmapOfAPart) {
  const AddressRange range = Ready(2);
  EXPECT_THAT(vmm().Unmap(Granule(range, 0)), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUnmapOfPart), DiagnosticRuleIs("UNMAP-2"),
                            Says("cuts the mapping"), History(Contains(Entry(3u, "mapped")))));
}

TEST_F(DiagnosticsTest, TellOfADoubleUnmap) {
  const AddressRange range = Ready(1);      // calls 1 to 4
  EXPECT_THAT(vmm().Unmap(range), IsOk());  // call 5
  EXPECT_THAT(Noticed(), IsEmpty());
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kDoubleUnmap), DiagnosticRuleIs("UNMAP-9"),
                            DiagnosticSeverityIs(Severity::kWarning), DiagnosticCallIdIs(6u),
                            DiagnosticRangeIs(range), Says("was unmapped by call 5"),
                            History(Contains(Entry(5u, "cuMemUnmap unmapped")))));
}

TEST_F(StrictDiagnosticsTest, RefuseADoubleUnmap) {
  const AddressRange range = Ready(1);
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_THAT(vmm().Unmap(range), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kDoubleUnmap),
                            DiagnosticSeverityIs(Severity::kError), Says("by call 5")));
}

// A new reservation at the same address has a life of its own: this is no double unmap.
TEST_F(DiagnosticsTest, TellOfAnUnmapOfNothing) {
  const AddressRange range = Ready(1);
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_THAT(vmm().AddressFree(range), IsOk());
  ASSERT_EQ(Reserve(1, range.base), range);
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUnmapOfNothing), DiagnosticRuleIs("UNMAP-9"),
                            DiagnosticSeverityIs(Severity::kWarning)));
}

// The address that is named is one of those that were to be unmapped.
TEST_F(DiagnosticsTest, TellOfAnUnmapOfAPartOfAGranule) {
  const DeviceAddress inside = Reserve(1).base + KiB(4);
  EXPECT_THAT(vmm().Unmap(At(inside, KiB(4))), IsOk());
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUnmapOfNothing),
                            Says("nothing is mapped at " + ToString(inside))));
}

TEST_F(StrictDiagnosticsTest, RefuseAnUnmapOfNothing) {
  EXPECT_THAT(vmm().Unmap(Reserve(1)), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(),
              AllOf(IsDiagnostic(Kind::kUnmapOfNothing), DiagnosticSeverityIs(Severity::kError)));
}

TEST_F(DiagnosticsTest, TellOfAnUnmapOverHoles) {
  const AddressRange range = Reserve(3);
  MapNew(range.base, 1);
  MapNew(range.base + 2 * kGranule, 1);
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUnmapOverHoles), DiagnosticRuleIs("UNMAP-8"),
                            DiagnosticSeverityIs(Severity::kWarning),
                            Says("nothing is mapped at " + ToString(range.base + kGranule))));
}

TEST_F(StrictDiagnosticsTest, RefuseAnUnmapOverHoles) {
  const AddressRange range = Reserve(2);
  MapNew(range.base + kGranule, 1);
  EXPECT_THAT(vmm().Unmap(range), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(),
              AllOf(IsDiagnostic(Kind::kUnmapOverHoles), DiagnosticSeverityIs(Severity::kError)));
}

TEST_F(DiagnosticsTest, TellOfAnUnmapBeyondTheReservation) {
  const AddressRange range = Ready(1);
  EXPECT_THAT(vmm().Unmap(At(range.base, 2 * kGranule)), IsOk());
  EXPECT_THAT(Only(),
              AllOf(IsDiagnostic(Kind::kUnmapBeyondReservation), DiagnosticRuleIs("UNMAP-11"),
                    DiagnosticSeverityIs(Severity::kWarning), Says(InWords(range))));
}

TEST_F(StrictDiagnosticsTest, RefuseAnUnmapBeyondTheReservation) {
  const AddressRange range = Ready(1);
  EXPECT_THAT(vmm().Unmap(At(range.base, 2 * kGranule)), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUnmapBeyondReservation),
                            DiagnosticSeverityIs(Severity::kError)));
}

// Of two reasons the one that every driver has: CheckedVmm, which does not know the machine, says
// the same.
TEST_F(StrictDiagnosticsTest, TellOfACutMappingFirst) {
  const AddressRange range = Ready(2);
  EXPECT_THAT(vmm().Unmap(At(range.base + kGranule, 2 * kGranule)),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), IsDiagnostic(Kind::kUnmapOfPart));
}

TEST_F(DiagnosticsTest, TellOfAnUnmapThatWraps) {
  const AddressRange range = Ready(1);
  EXPECT_THAT(vmm().Unmap(At(range.base, Bytes(0) - kGranule)), IsOk());
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUnmapOfWrappedRange), DiagnosticRuleIs("UNMAP-12"),
                            DiagnosticSeverityIs(Severity::kWarning)));
}

TEST_F(StrictDiagnosticsTest, RefuseAnUnmapThatWraps) {
  const AddressRange range = Ready(1);
  EXPECT_THAT(vmm().Unmap(At(range.base, Bytes(0) - kGranule)),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUnmapOfWrappedRange),
                            DiagnosticSeverityIs(Severity::kError)));
}

}  // namespace
}  // namespace twinmmu
