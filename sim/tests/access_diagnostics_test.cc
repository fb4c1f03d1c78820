// What is said of access that is set wrongly, and of sharing.

#include <sys/mman.h>
#include <unistd.h>

#include "sim/testing/diagnostics_fixture.h"

namespace twinmmu {
namespace {

using Kind = DiagnosticKind;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

// The driver says "invalid device ordinal" of a device that is there.
TEST(NoPeersDiagnosticsTest, TellOfAGrantToADeviceThatIsNoPeer) {
  const std::unique_ptr<Simulator> simulator = *Simulator::Create(*Profile::Named("no-peers"));
  Vmm& vmm = **simulator->vmm();
  const AddressRange range = *vmm.AddressReserve(kGranule);
  const AllocationHandle memory = *vmm.Create(kGranule, {});
  EXPECT_THAT(vmm.Map(range, memory), IsOk());
  EXPECT_THAT(vmm.SetAccess(range, std::array{For(DeviceOrdinal(1), Access::kRead)}),
              HasDriverCode(DriverCode::kInvalidDevice));
  EXPECT_THAT(simulator->diagnostics(),
              ElementsAre(AllOf(IsDiagnostic(Kind::kGrantToNoPeer), DiagnosticRuleIs("PEER-1"),
                                DiagnosticSeverityIs(Severity::kError),
                                Says("device 1 is not a peer of device 0"))));
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

TEST_F(DiagnosticsTest, TellThatTheAccessOfTheHostIsMisreported) {
  const AddressRange range = Reserve(1);
  MapNew(range.base, 1);
  EXPECT_THAT(vmm().GetAccess(Location::Host(), range.base), IsOkAndHolds(Access::kNone));
  EXPECT_THAT(Noticed(), IsEmpty());
  Grant(range, For(kDevice0, Access::kRead));
  EXPECT_THAT(vmm().GetAccess(Location::Host(), range.base), IsOkAndHolds(Access::kRead));
  EXPECT_THAT(Only(),
              AllOf(IsDiagnostic(Kind::kAccessOfHostMisreported), DiagnosticRuleIs("GETACC-5"),
                    DiagnosticSeverityIs(Severity::kWarning), Says("access of device 0")));
}

// Of memory that can be exported in one way, a program may ask whether it can in the other.
TEST_F(DiagnosticsTest, SayNothingOfAnExportThatTriesATypeThatWasNotRequested) {
  AllocationProperties properties;
  properties.requested_handle_types = HandleType::kPosixFileDescriptor;
  const AllocationHandle handle = *vmm().Create(kGranule, properties);
  EXPECT_THAT(vmm().ExportShareableHandle(handle, HandleType::kFabric),
              HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(Noticed(), IsEmpty());
}

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

}  // namespace
}  // namespace twinmmu
