// Each kind of diagnostic: what raises it, with rule, call and history, and what is near it and
// right.

#include "api/diagnostics.h"

#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "api/testing/diagnostic_matchers.h"
#include "sim/test_machine.h"

namespace twinmmu {
namespace {

using Kind = DiagnosticKind;
using ::testing::_;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class DiagnosticsTest : public MachineTest {
 protected:
  using MachineTest::MachineTest;

  std::vector<Diagnostic> Noticed() const { return simulator_->diagnostics(); }
  // The only diagnostic so far.
  Diagnostic Only() const {
    const std::vector<Diagnostic> all = Noticed();
    EXPECT_THAT(all, SizeIs(1));
    return all.size() == 1 ? all[0] : Diagnostic();
  }
  AddressRange Granule(const AddressRange& range, uint64_t index) const {
    return At(range.base + index * kGranule, kGranule);
  }
};

// Keeps to the documentation: what the driver lets pass is refused.
class StrictDiagnosticsTest : public DiagnosticsTest {
 protected:
  StrictDiagnosticsTest() : DiagnosticsTest(*Profile::Named("strict")) {}
};

template <typename Entries>
auto History(const Entries& entries) {
  return DiagnosticHistoryIs(entries);
}
template <typename Number>
auto Entry(Number number, const std::string& words) {
  return HistoryEntryIs(number, HasSubstr(words));
}
auto Says(const std::string& words) { return DiagnosticMessageIs(HasSubstr(words)); }

// The life of an allocation as it should be raises nothing, and leaves nothing.
TEST_F(DiagnosticsTest, SayNothingOfACorrectProgram) {
  const AddressRange range = Reserve(2);
  const AllocationHandle handle = MapNew(range.base, 1);
  EXPECT_THAT(vmm().Map(Granule(range, 1), handle), IsOk());
  Grant(range, For(kDevice0, Access::kReadWrite));
  EXPECT_THAT(Write(kDevice0, range.base, 1), IsOk());
  EXPECT_THAT(*vmm().RetainAllocationHandle(range.base), handle);
  EXPECT_THAT(vmm().Release(handle), IsOk());
  EXPECT_THAT(vmm().Release(handle), IsOk());
  EXPECT_THAT(Read(kDevice0, range.base + kGranule), IsOkAndHolds(1u));
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_THAT(vmm().AddressFree(range), IsOk());
  EXPECT_THAT(Noticed(), IsEmpty());
  EXPECT_THAT(simulator_->leaks(), IsEmpty());
}

// --- Reservations

TEST_F(DiagnosticsTest, TellOfADoubleFree) {
  const AddressRange range = Reserve(1);          // call 1
  EXPECT_THAT(vmm().AddressFree(range), IsOk());  // call 2
  EXPECT_THAT(vmm().AddressFree(range), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kDoubleFree), DiagnosticRuleIs("FREE-4"),
                            DiagnosticCallIs("cuMemAddressFree"), DiagnosticNumberIs(3u),
                            DiagnosticRangeIs(range), Says("was freed by call 2"),
                            History(ElementsAre(Entry(1u, "reserved"), Entry(2u, "freed")))));
}

TEST_F(DiagnosticsTest, TellOfAFreeOfWhatIsNotReserved) {
  const AddressRange range = Reserve(1);
  const AddressRange never = At(range.end() + GiB(1), kGranule);
  EXPECT_THAT(vmm().AddressFree(never), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kFreeOfUnreserved), DiagnosticRuleIs("FREE-7"),
                            DiagnosticRangeIs(never), History(IsEmpty())));
}

TEST_F(DiagnosticsTest, TellOfAFreeOfAPart) {
  const AddressRange range = Reserve(2);
  EXPECT_THAT(vmm().AddressFree(Granule(range, 1)), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(),
              AllOf(IsDiagnostic(Kind::kFreeOfPart), DiagnosticRuleIs("FREE-2"),
                    Says(ToString(range.base)), History(ElementsAre(Entry(1u, "reserved")))));
}

TEST_F(DiagnosticsTest, TellOfAFreeWhileMapped) {
  const AddressRange range = Reserve(2);  // call 1
  MapNew(range.base + kGranule, 1);       // calls 2 and 3
  EXPECT_THAT(vmm().AddressFree(range), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(),
              AllOf(IsDiagnostic(Kind::kFreeWhileMapped), DiagnosticRuleIs("FREE-5"),
                    DiagnosticNumberIs(4u), Says("was mapped by call 3"),
                    History(ElementsAre(Entry(1u, "reserved"), Entry(3u, "cuMemMap mapped")))));
}

// --- Handles

TEST_F(DiagnosticsTest, TellOfADoubleRelease) {
  const AllocationHandle handle = Create(1);
  EXPECT_THAT(vmm().Release(handle), IsOk());
  EXPECT_THAT(vmm().Release(handle), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kDoubleRelease), DiagnosticRuleIs("REL-4"),
                            DiagnosticCallIs("cuMemRelease"), DiagnosticHandleIs(handle),
                            Says("released by call 2"),
                            History(ElementsAre(Entry(1u, "created"), Entry(2u, "released")))));
}

// A mapping keeps the allocation, but no reference that could be released.
TEST_F(DiagnosticsTest, TellOfADoubleReleaseWhileMapped) {
  const AllocationHandle handle = MapNew(Reserve(1).base, 1);
  EXPECT_THAT(vmm().Release(handle), IsOk());
  EXPECT_THAT(Noticed(), IsEmpty());
  EXPECT_THAT(vmm().Release(handle), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kDoubleRelease), Says("released by call 4")));
}

TEST_F(DiagnosticsTest, TellOfAUseOfADeadHandle) {
  const AddressRange range = Reserve(1);
  const AllocationHandle handle = Create(1);
  EXPECT_THAT(vmm().Release(handle), IsOk());
  EXPECT_THAT(vmm().Map(range, handle), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(vmm().ExportShareableHandle(handle, HandleType::kPosixFileDescriptor),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(vmm().GetAllocationProperties(handle), HasDriverCode(DriverCode::kInvalidValue));
  const auto dead = AllOf(IsDiagnostic(Kind::kUseOfDeadHandle), DiagnosticRuleIs("REL-5"),
                          DiagnosticHandleIs(handle), Says("released by call 3"),
                          History(Contains(Entry(2u, "created"))));
  EXPECT_THAT(Noticed(),
              ElementsAre(AllOf(dead, DiagnosticCallIs("cuMemMap")),
                          AllOf(dead, DiagnosticCallIs("cuMemExportToShareableHandle")),
                          AllOf(dead, DiagnosticCallIs("cuMemGetAllocationPropertiesFromHandle"))));
}

TEST_F(DiagnosticsTest, TellOfAUseOfAReleasedHandle) {
  const AddressRange range = Reserve(2);
  const AllocationHandle handle = MapNew(range.base, 1);
  EXPECT_THAT(vmm().Release(handle), IsOk());
  EXPECT_THAT(vmm().Map(Granule(range, 1), handle), IsOk());
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUseOfReleasedHandle), DiagnosticRuleIs("REL-5"),
                            DiagnosticSeverityIs(Severity::kWarning), Says("released by call 4"),
                            DiagnosticHandleIs(handle)));
}

TEST_F(StrictDiagnosticsTest, RefuseAReleasedHandle) {
  const AddressRange range = Reserve(2);
  const AllocationHandle handle = MapNew(range.base, 1);
  EXPECT_THAT(vmm().Release(handle), IsOk());
  EXPECT_THAT(vmm().Map(Granule(range, 1), handle), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUseOfReleasedHandle),
                            DiagnosticSeverityIs(Severity::kError)));
}

TEST_F(DiagnosticsTest, TellOfAUseOfAnUnknownHandle) {
  for (const uint64_t value : {uint64_t{0}, uint64_t{0xbad}, ~uint64_t{0}}) {
    EXPECT_THAT(vmm().Release(AllocationHandle(value)), HasDriverCode(DriverCode::kInvalidValue));
  }
  const auto unknown = AllOf(IsDiagnostic(Kind::kUseOfUnknownHandle), DiagnosticRuleIs("MAP-14"),
                             History(IsEmpty()));
  EXPECT_THAT(Noticed(), ElementsAre(unknown, unknown, unknown));
}

TEST_F(DiagnosticsTest, TellOfUnknownHandleTypes) {
  AllocationProperties properties;
  properties.requested_handle_types = static_cast<HandleType>(16);
  const AllocationHandle handle = Create(1, properties);
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUnknownHandleTypes), DiagnosticRuleIs("CREATE-13"),
                            DiagnosticSeverityIs(Severity::kWarning), DiagnosticHandleIs(handle)));
}

TEST_F(StrictDiagnosticsTest, RefuseUnknownHandleTypes) {
  AllocationProperties properties;
  properties.requested_handle_types = static_cast<HandleType>(16);
  EXPECT_THAT(vmm().Create(kGranule, properties), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUnknownHandleTypes),
                            DiagnosticSeverityIs(Severity::kError)));
}

TEST_F(DiagnosticsTest, TellOfTheGranularityOfImpossibleMemory) {
  EXPECT_THAT(vmm().GetAllocationGranularity(On(Location::Device(kDevice1)), Granularity::kMinimum),
              IsOk());
  EXPECT_THAT(Noticed(), IsEmpty());
  EXPECT_THAT(
      vmm().GetAllocationGranularity(On(Location::Device(DeviceOrdinal(9))), Granularity::kMinimum),
      IsOk());
  EXPECT_THAT(Only(),
              AllOf(IsDiagnostic(Kind::kGranularityOfImpossible), DiagnosticRuleIs("GRAN-5"),
                    DiagnosticSeverityIs(Severity::kWarning), Says("device 9")));
}

TEST_F(StrictDiagnosticsTest, RefuseTheGranularityOfImpossibleMemory) {
  EXPECT_THAT(
      vmm().GetAllocationGranularity(On(Location::Device(DeviceOrdinal(9))), Granularity::kMinimum),
      HasDriverCode(DriverCode::kInvalidDevice));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kGranularityOfImpossible),
                            DiagnosticSeverityIs(Severity::kError)));
}

// --- Mappings

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
                            DiagnosticNumberIs(5u), Says("was mapped by call 3"),
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
                            DiagnosticSeverityIs(Severity::kWarning), DiagnosticNumberIs(6u),
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

// --- Rights

TEST_F(DiagnosticsTest, TellOfAccessToWhatIsNotMapped) {
  const AddressRange range = Ready(1);
  EXPECT_THAT(vmm().Unmap(range), IsOk());  // call 5
  EXPECT_THAT(vmm().SetAccess(range, std::array{For(kDevice0, Access::kRead)}),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kAccessOfUnmapped), DiagnosticRuleIs("ACC-7"),
                            DiagnosticCallIs("cuMemSetAccess"), DiagnosticRangeIs(range),
                            History(Contains(Entry(5u, "unmapped")))));
}

TEST_F(DiagnosticsTest, TellOfAccessToAPart) {
  const AddressRange range = Ready(2);
  for (const uint64_t index : {0, 1}) {
    EXPECT_THAT(vmm().SetAccess(Granule(range, index), std::array{For(kDevice0, Access::kRead)}),
                HasDriverCode(DriverCode::kInvalidValue));
  }
  const auto part = AllOf(IsDiagnostic(Kind::kAccessOfPart), DiagnosticRuleIs("ACC-5"));
  EXPECT_THAT(Noticed(), ElementsAre(AllOf(part, Says("no mapping ends at")),
                                     AllOf(part, Says("no mapping begins at"))));
}

TEST_F(DiagnosticsTest, TellOfAccessThatStopsAtAHole) {
  const AddressRange range = Reserve(3);
  MapNew(range.base, 1);
  MapNew(range.base + 2 * kGranule, 1);
  Grant(range, For(kDevice0, Access::kReadWrite));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kAccessStopsAtHole), DiagnosticRuleIs("ACC-6"),
                            DiagnosticSeverityIs(Severity::kWarning), DiagnosticRangeIs(range),
                            Says("not on " + InWords(At(range.base + kGranule, 2 * kGranule)))));
}

// Nothing is set, so nothing stops at the hole.
TEST_F(DiagnosticsTest, SayNothingOfAHoleWhereAccessIsRefused) {
  const AddressRange range = Reserve(3);
  MapNew(range.base, 1);
  MapNew(range.base + 2 * kGranule, 1);
  EXPECT_THAT(vmm().SetAccess(range, std::array{ForHost(Access::kRead)}),
              HasDriverCode(DriverCode::kNotSupported));
  EXPECT_THAT(Noticed(), IsEmpty());
}

TEST_F(StrictDiagnosticsTest, RefuseAccessOverAHole) {
  const AddressRange range = Reserve(3);
  MapNew(range.base, 1);
  MapNew(range.base + 2 * kGranule, 1);
  EXPECT_THAT(vmm().SetAccess(range, std::array{For(kDevice0, Access::kRead)}),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kAccessStopsAtHole),
                            DiagnosticSeverityIs(Severity::kError)));
}

TEST_F(DiagnosticsTest, TellOfAccessAppliedInPart) {
  const AddressRange range = Reserve(1);
  MapNew(range.base, 1);
  EXPECT_THAT(vmm().SetAccess(range, std::array{ForHost(Access::kRead)}),
              HasDriverCode(DriverCode::kNotSupported));
  EXPECT_THAT(Noticed(), IsEmpty());
  EXPECT_THAT(
      vmm().SetAccess(range, std::array{For(kDevice0, Access::kRead), ForHost(Access::kRead)}),
      HasDriverCode(DriverCode::kNotSupported));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kAccessAppliedInPart), DiagnosticRuleIs("ACC-16"),
                            DiagnosticSeverityIs(Severity::kWarning),
                            Says("host cannot access memory of device 0")));
  EXPECT_THAT(simulator_->HistoryOf(range.base), Contains(Entry(5u, "set read for device 0")));
}

// What is applied was so before.
TEST_F(DiagnosticsTest, SayNothingOfAccessAppliedInVain) {
  const AddressRange range = Ready(1);  // calls 1 to 4
  EXPECT_THAT(
      vmm().SetAccess(range, std::array{For(kDevice0, Access::kReadWrite), ForHost(Access::kRead)}),
      HasDriverCode(DriverCode::kNotSupported));
  EXPECT_THAT(Noticed(), IsEmpty());
  EXPECT_THAT(simulator_->HistoryOf(range.base), Contains(Entry(5u, "was refused")));
}

// With the quirk off nothing is applied, and there is nothing to tell.
TEST_F(StrictDiagnosticsTest, SayNothingOfAccessThatIsNotApplied) {
  const AddressRange range = Reserve(1);
  MapNew(range.base, 1);
  EXPECT_THAT(
      vmm().SetAccess(range, std::array{For(kDevice0, Access::kRead), ForHost(Access::kRead)}),
      HasDriverCode(DriverCode::kNotSupported));
  EXPECT_THAT(Noticed(), IsEmpty());
}

TEST_F(DiagnosticsTest, TellThatTheRangeOfHostMemoryIsMisreported) {
  const AddressRange range = Reserve(1);
  MapNew(range.base, 1, On(Location::HostNuma(0)));
  Grant(range, For(kDevice0, Access::kRead));
  EXPECT_THAT(vmm().GetAddressRange(kDevice0, range.base), IsOk());
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kRangeOfHostMemoryMisreported),
                            DiagnosticRuleIs("RANGE-4"), DiagnosticSeverityIs(Severity::kWarning),
                            DiagnosticCallIs("cuMemGetAddressRange"),
                            Says("the mapping at " + ToString(range.base))));
}

TEST_F(DiagnosticsTest, TellThatTheLastAddressIsTakenForZero) {
  const AddressRange range = Reserve(1);
  MapNew(range.base, 1);
  const DeviceAddress last(~uint64_t{0});
  EXPECT_THAT(vmm().Unmap({last, range.end() - last, Bytes(0)}), IsOk());
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUnmapOfLastAddress), DiagnosticRuleIs("UNMAP-15"),
                            DiagnosticSeverityIs(Severity::kWarning),
                            Says("all below " + ToString(range.end()))));
  EXPECT_THAT(simulator_->HistoryOf(range.base), Contains(Entry(4u, "unmapped")));
}

TEST_F(StrictDiagnosticsTest, RefuseTheLastAddress) {
  const DeviceAddress last(~uint64_t{0});
  EXPECT_THAT(vmm().Unmap({last, Bytes(1), Bytes(0)}), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), IsDiagnostic(Kind::kUnmapOfUnreserved));
}

TEST_F(DiagnosticsTest, TellThatTheRightOfTheHostIsMisreported) {
  const AddressRange range = Reserve(1);
  MapNew(range.base, 1);
  EXPECT_THAT(vmm().GetAccess(Location::Host(), range.base), IsOkAndHolds(Access::kNone));
  EXPECT_THAT(Noticed(), IsEmpty());
  Grant(range, For(kDevice0, Access::kRead));
  EXPECT_THAT(vmm().GetAccess(Location::Host(), range.base), IsOkAndHolds(Access::kRead));
  EXPECT_THAT(Only(),
              AllOf(IsDiagnostic(Kind::kAccessOfHostMisreported), DiagnosticRuleIs("GETACC-5"),
                    DiagnosticSeverityIs(Severity::kWarning), Says("right of device 0")));
}

// --- Sharing

TEST_F(DiagnosticsTest, TellOfAnExportThatWasNotRequested) {
  const AllocationHandle handle = Create(1);
  EXPECT_THAT(vmm().ExportShareableHandle(handle, HandleType::kPosixFileDescriptor),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(),
              AllOf(IsDiagnostic(Kind::kExportOfUnrequestedType), DiagnosticRuleIs("SHARE-2"),
                    DiagnosticHandleIs(handle), History(ElementsAre(Entry(1u, "created")))));
}

TEST_F(DiagnosticsTest, TellOfAnImportOfAForeignDescriptor) {
  const int file = memfd_create("foreign", MFD_CLOEXEC);
  EXPECT_THAT(vmm().ImportShareableHandle(ShareableHandle::FileDescriptor(file)),
              HasDriverCode(DriverCode::kUnknown));
  close(file);
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kImportOfForeignDescriptor),
                            DiagnosticRuleIs("SHARE-8"), DiagnosticSeverityIs(Severity::kError)));
}

// --- Use of memory

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

// --- Work on streams

// Work runs as late as it may.
class PendingWorkTest : public DiagnosticsTest {
 protected:
  PendingWorkTest() : DiagnosticsTest(Deferred()) {}
  static Profile Deferred() {
    Profile profile = Profile::ReferenceH200(2);
    profile.stream_policy = StreamPolicy::kDeferred;
    return profile;
  }
  // Queues a fill of the first bytes of `range`.
  void QueueFill(const AddressRange& range) {
    EXPECT_THAT(executor().Fill(Stream(kDevice0), range.base, {7, Bytes(1)}, 64), IsOk());
  }
};

TEST_F(PendingWorkTest, TellOfAnUnmapUnderIt) {
  const AddressRange range = Ready(1);      // calls 1 to 4
  QueueFill(range);                         // call 5
  EXPECT_THAT(vmm().Unmap(range), IsOk());  // call 6
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUnmapUnderPendingWork), DiagnosticRuleIs("FAULT-5"),
                            DiagnosticSeverityIs(Severity::kError), DiagnosticCallIs("cuMemUnmap"),
                            DiagnosticNumberIs(6u), DiagnosticDeviceIs(kDevice0),
                            DiagnosticRangeIs(range), Says("is used by work queued by call 5"),
                            History(Contains(Entry(
                                5u, "cuMemsetAsync of " + InWords(At(range.base, Bytes(64))))))));
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), HasDriverCode(DriverCode::kIllegalAddress));
  ASSERT_THAT(Noticed(), SizeIs(2));
  EXPECT_THAT(Noticed()[1],
              AllOf(IsDiagnostic(Kind::kFaultOfQueuedWork), DiagnosticRuleIs("FAULT-5"),
                    DiagnosticCallIs("cuMemsetAsync"), DiagnosticNumberIs(5u),
                    DiagnosticDeviceIs(kDevice0), DiagnosticRangeIs(At(range.base, Bytes(64))),
                    Says("it was unmapped by call 6"), History(Contains(Entry(6u, "unmapped")))));
}

// What is synchronised is not pending, nor is what uses other memory.
TEST_F(PendingWorkTest, SayNothingOfAnUnmapAfterIt) {
  const AddressRange range = Ready(1);
  const AddressRange other = Ready(1);
  QueueFill(range);
  EXPECT_THAT(vmm().Unmap(other), IsOk());
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_THAT(Noticed(), IsEmpty());
}

TEST_F(PendingWorkTest, TellOfAccessLoweredUnderIt) {
  const AddressRange range = Ready(1);         // calls 1 to 4
  QueueFill(range);                            // call 5
  Grant(range, For(kDevice0, Access::kRead));  // call 6
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kAccessLoweredUnderPendingWork),
                            DiagnosticRuleIs("FAULT-6"), DiagnosticCallIs("cuMemSetAccess"),
                            DiagnosticNumberIs(6u), Says("is used by work queued by call 5")));
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), HasDriverCode(DriverCode::kIllegalAddress));
  ASSERT_THAT(Noticed(), SizeIs(2));
  EXPECT_THAT(Noticed()[1], AllOf(IsDiagnostic(Kind::kFaultOfQueuedWork), Says("is read-only")));
}

// A right that the work does not need may go.
TEST_F(PendingWorkTest, SayNothingOfAccessThatIsNotNeeded) {
  const AddressRange range = Ready(1);
  Grant(range, For(kDevice1, Access::kReadWrite));
  char byte = 0;
  EXPECT_THAT(executor().CopyDeviceToHost(Stream(kDevice0), &byte, range.base, Bytes(1)), IsOk());
  Grant(range, For(kDevice1, Access::kNone));
  Grant(range, For(kDevice0, Access::kRead));
  EXPECT_THAT(executor().SynchronizeDevice(kDevice0), IsOk());
  EXPECT_THAT(Noticed(), IsEmpty());
}

TEST_F(DiagnosticsTest, TellOfAStreamThatIsGone) {
  const Stream stream = *executor().CreateStream(kDevice1);
  EXPECT_THAT(executor().DestroyStream(stream), IsOk());
  EXPECT_THAT(executor().SynchronizeStream(stream), HasDriverCode(DriverCode::kInvalidHandle));
  EXPECT_THAT(executor().DestroyStream(stream), HasDriverCode(DriverCode::kInvalidHandle));
  const auto gone = AllOf(IsDiagnostic(Kind::kUseOfUnknownStream), DiagnosticDeviceIs(kDevice1),
                          Says("does not exist"));
  EXPECT_THAT(Noticed(), ElementsAre(AllOf(gone, DiagnosticCallIs("cuStreamSynchronize")),
                                     AllOf(gone, DiagnosticCallIs("cuStreamDestroy"))));
}

TEST_F(DiagnosticsTest, TellOfAnEventThatIsGone) {
  const Event event = *executor().CreateEvent(kDevice1);
  EXPECT_THAT(executor().DestroyEvent(event), IsOk());
  EXPECT_THAT(executor().QueryEvent(event), HasDriverCode(DriverCode::kInvalidHandle));
  EXPECT_THAT(executor().DestroyEvent(event), HasDriverCode(DriverCode::kInvalidHandle));
  const auto gone = AllOf(IsDiagnostic(Kind::kUseOfUnknownEvent), DiagnosticDeviceIs(kDevice1),
                          Says("does not exist"));
  EXPECT_THAT(Noticed(), ElementsAre(AllOf(gone, DiagnosticCallIs("cuEventQuery")),
                                     AllOf(gone, DiagnosticCallIs("cuEventDestroy"))));
}

TEST_F(DiagnosticsTest, ListStreamsAndEventsThatAreLeft) {
  const Stream stream = *executor().CreateStream(kDevice1);  // call 1
  const Event event = *executor().CreateEvent(kDevice1);     // call 2
  EXPECT_THAT(simulator_->leaks(),
              ElementsAre(AllOf(IsDiagnostic(Kind::kLeakedStream), DiagnosticNumberIs(1u),
                                DiagnosticCallIs("cuStreamCreate"), DiagnosticDeviceIs(kDevice1)),
                          AllOf(IsDiagnostic(Kind::kLeakedEvent), DiagnosticNumberIs(2u),
                                DiagnosticCallIs("cuEventCreate"), DiagnosticDeviceIs(kDevice1))));
  EXPECT_THAT(executor().DestroyStream(stream), IsOk());
  EXPECT_THAT(executor().DestroyEvent(event), IsOk());
  EXPECT_THAT(simulator_->leaks(), IsEmpty());
}

// What the machine has not got, or does not permit, is nobody's mistake.
TEST_F(DiagnosticsTest, SayNothingOfWhatIsNotThere) {
  EXPECT_THAT(vmm().Create(TiB(64), {}), HasDriverCode(DriverCode::kOutOfMemory));
  EXPECT_THAT(vmm().AddressReserve(TiB(128)), HasDriverCode(DriverCode::kOutOfMemory));
  AllocationProperties fabric;
  fabric.requested_handle_types = HandleType::kFabric;
  EXPECT_THAT(vmm().Create(kGranule, fabric), HasDriverCode(DriverCode::kNotPermitted));
  EXPECT_THAT(vmm().RetainAllocationHandle(Reserve(1).base),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Noticed(), IsEmpty());
}

// --- Left at the end

TEST_F(DiagnosticsTest, ListWhatIsLeft) {
  const AddressRange range = Reserve(1);                               // call 1
  const AllocationHandle handle = MapNew(range.base, 1, Shareable());  // calls 2 and 3
  EXPECT_THAT(*vmm().RetainAllocationHandle(range.base), handle);      // call 4
  const int file =
      vmm().ExportShareableHandle(handle, HandleType::kPosixFileDescriptor)->file_descriptor;
  const auto leaks = [&] { return simulator_->leaks(); };
  const auto mapping =
      AllOf(IsDiagnostic(Kind::kLeakedMapping), DiagnosticSeverityIs(Severity::kLeak),
            DiagnosticCallIs("cuMemMap"), DiagnosticNumberIs(3u), DiagnosticRangeIs(range),
            DiagnosticHandleIs(handle));
  const auto reservation =
      AllOf(IsDiagnostic(Kind::kLeakedReservation), DiagnosticCallIs("cuMemAddressReserve"),
            DiagnosticNumberIs(1u), DiagnosticRangeIs(range));
  const auto allocation =
      AllOf(IsDiagnostic(Kind::kLeakedAllocation), DiagnosticCallIs("cuMemCreate"),
            DiagnosticNumberIs(2u), DiagnosticHandleIs(handle), Says("2 reference(s) to 2 MiB"),
            History(ElementsAre(Entry(2u, "created"), Entry(3u, "mapped"), Entry(4u, "retained"),
                                Entry(5u, "exported"))));
  const auto descriptor =
      AllOf(IsDiagnostic(Kind::kLeakedDescriptor), DiagnosticCallIs("cuMemExportToShareableHandle"),
            DiagnosticNumberIs(5u));
  EXPECT_THAT(leaks(), ElementsAre(mapping, reservation, allocation, descriptor));
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_THAT(leaks(), ElementsAre(reservation, _, descriptor));
  EXPECT_THAT(vmm().AddressFree(range), IsOk());
  EXPECT_THAT(vmm().Release(handle), IsOk());
  EXPECT_THAT(vmm().Release(handle), IsOk());
  EXPECT_THAT(leaks(), ElementsAre(descriptor));
  close(file);
  EXPECT_THAT(leaks(), IsEmpty());
}

// The destructor hands over what was noticed, and then what is left.
TEST_F(DiagnosticsTest, AreHandedOverAtTheEnd) {
  std::vector<Diagnostic> all;
  SimulatorOptions options;
  options.at_end = [&](const std::vector<Diagnostic>& diagnostics) { all = diagnostics; };
  simulator_ = *Simulator::Create(profile(), options);
  EXPECT_THAT(vmm().Unmap(Reserve(1)), IsOk());
  simulator_.reset();
  EXPECT_THAT(all, ElementsAre(IsDiagnostic(Kind::kUnmapOfNothing),
                               IsDiagnostic(Kind::kLeakedReservation)));
}

// --- What is kept

// The example in the README is what is printed, but for the address.
TEST_F(DiagnosticsTest, AreInTheReadmeAsTheyArePrinted) {
  const AddressRange range = Reserve(1);
  const AllocationHandle handle = Create(1);
  EXPECT_THAT(vmm().Map(range, handle), IsOk());
  Grant(range, For(kDevice0, Access::kReadWrite));
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_THAT(vmm().Map(range, handle), IsOk());
  EXPECT_THAT(Write(kDevice0, range.base, 42), HasDriverCode(DriverCode::kInvalidValue));
  std::string printed = ToString(Only());
  const std::string address = ToString(range.base);
  for (size_t at = 0; (at = printed.find(address)) != std::string::npos;) {
    printed.replace(at, address.size(), "0x6f3ab7a00000");
  }
  std::stringstream readme;
  readme << std::ifstream("README.md").rdbuf();
  std::string example;
  for (std::string line; std::getline(readme, line);) {
    if (line.compare(0, 4, "    ") == 0) example += line.substr(4) + "\n";
  }
  EXPECT_THAT(example, HasSubstr(printed));
}

// The first ones are kept, all are counted.
TEST_F(DiagnosticsTest, AreCountedWhenThereIsNoRoom) {
  SimulatorOptions options;
  options.diagnostics_kept = 2;
  simulator_ = *Simulator::Create(profile(), options);
  const AddressRange range = Reserve(1);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(vmm().Unmap(range), IsOk());
  const auto nothing = IsDiagnostic(Kind::kUnmapOfNothing);
  EXPECT_THAT(Noticed(), ElementsAre(nothing, nothing));
  EXPECT_EQ(simulator_->CountOf(Kind::kUnmapOfNothing), 3u);
  EXPECT_EQ(simulator_->CountOf(Kind::kDoubleUnmap), 0u);
}

// Whoever asks is told at once, inside the call: all of what is kept, the kind of what is not.
TEST_F(DiagnosticsTest, AreToldAtOnce) {
  std::vector<std::pair<Kind, std::string>> told;
  SimulatorOptions options;
  options.diagnostics_kept = 1;
  options.at_once = [&](Kind kind, const Diagnostic* diagnostic) {
    told.emplace_back(kind, diagnostic == nullptr ? "" : diagnostic->message);
  };
  simulator_ = *Simulator::Create(profile(), options);
  const AddressRange range = Reserve(1);
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_THAT(told, ElementsAre(Pair(Kind::kUnmapOfNothing, HasSubstr("nothing is mapped"))));
  EXPECT_THAT(vmm().Release(AllocationHandle(77)), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(told, ElementsAre(_, Pair(Kind::kUseOfUnknownHandle, IsEmpty())));
}

// Calls that the ring has forgotten are not told of, but for those that made what is there.
TEST_F(DiagnosticsTest, RememberAsMuchAsTheyAreAskedTo) {
  SimulatorOptions options;
  options.calls_remembered = 4;
  simulator_ = *Simulator::Create(profile(), options);
  const AddressRange range = Reserve(1);
  MapNew(range.base, 1);
  for (int i = 0; i < 4; ++i) Grant(range, For(kDevice0, Access::kRead));  // calls 4 to 7
  EXPECT_THAT(simulator_->HistoryOf(range.base),
              ElementsAre(Entry(1u, "reserved"), Entry(3u, "mapped"), Entry(4u, "set"),
                          Entry(5u, "set"), Entry(6u, "set"), Entry(7u, "set")));
  Grant(range, For(kDevice0, Access::kRead));
  EXPECT_THAT(simulator_->HistoryOf(range.base),
              ElementsAre(Entry(1u, "reserved"), Entry(3u, "mapped"), Entry(5u, "set"),
                          Entry(6u, "set"), Entry(7u, "set"), Entry(8u, "set")));
}

// Without a history the misuse is told, not since when.
TEST_F(DiagnosticsTest, DoWithoutAHistory) {
  SimulatorOptions options;
  options.calls_remembered = 0;
  simulator_ = *Simulator::Create(profile(), options);
  const AddressRange range = Ready(1);
  EXPECT_THAT(vmm().Unmap(range), IsOk());
  EXPECT_THAT(Read(kDevice0, range.base), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUseOfUnmapped), DiagnosticNumberIs(6u),
                            History(ElementsAre(Entry(1u, "reserved")))));
}

// What was created is a size, and at no address.
TEST_F(DiagnosticsTest, TellNothingOfAnAddressThatNobodyUsed) {
  Create(1);
  EXPECT_THAT(simulator_->HistoryOf(DeviceAddress(4096)), IsEmpty());
}

// Refused calls have numbers too, and are part of the history.
TEST_F(DiagnosticsTest, NumberWhatIsRefused) {
  const AddressRange range = Reserve(1);
  EXPECT_THAT(vmm().Map(range, Create(1), Bytes(0), 1), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(simulator_->HistoryOf(range.base),
              ElementsAre(Entry(1u, "reserved"), Entry(3u, "was refused")));
  EXPECT_THAT(Noticed(), IsEmpty());
}

}  // namespace
}  // namespace twinmmu
