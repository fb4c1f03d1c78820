// What is said of reservations and handles that are used wrongly.

#include "sim/testing/diagnostics_fixture.h"

namespace twinmmu {
namespace {

using Kind = DiagnosticKind;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(DiagnosticsTest, TellOfADoubleFree) {
  const AddressRange range = Reserve(1);          // call 1
  EXPECT_THAT(vmm().AddressFree(range), IsOk());  // call 2
  EXPECT_THAT(vmm().AddressFree(range), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kDoubleFree), DiagnosticRuleIs("FREE-4"),
                            DiagnosticCallIs("cuMemAddressFree"), DiagnosticCallIdIs(3u),
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
                    DiagnosticCallIdIs(4u), Says("was mapped by call 3"),
                    History(ElementsAre(Entry(1u, "reserved"), Entry(3u, "cuMemMap mapped")))));
}

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

}  // namespace
}  // namespace twinmmu
