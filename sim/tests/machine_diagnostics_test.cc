// Diagnostics as a whole: what raises none, what is left at the end, and what is kept. What each
// kind is raised by, with rule, call and history, and what is near it and right, is in the files by
// subject.

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "api/diagnostics.h"
#include "sim/testing/diagnostics_fixture.h"

namespace twinmmu {
namespace {

using Kind = DiagnosticKind;
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

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
            DiagnosticCallIs("cuMemMap"), DiagnosticCallIdIs(3u), DiagnosticRangeIs(range),
            DiagnosticHandleIs(handle));
  const auto reservation =
      AllOf(IsDiagnostic(Kind::kLeakedReservation), DiagnosticCallIs("cuMemAddressReserve"),
            DiagnosticCallIdIs(1u), DiagnosticRangeIs(range));
  const auto allocation =
      AllOf(IsDiagnostic(Kind::kLeakedAllocation), DiagnosticCallIs("cuMemCreate"),
            DiagnosticCallIdIs(2u), DiagnosticHandleIs(handle), Says("2 reference(s) to 2 MiB"),
            History(ElementsAre(Entry(2u, "created"), Entry(3u, "mapped"), Entry(4u, "retained"),
                                Entry(5u, "exported"))));
  const auto descriptor =
      AllOf(IsDiagnostic(Kind::kLeakedDescriptor), DiagnosticCallIs("cuMemExportToShareableHandle"),
            DiagnosticCallIdIs(5u));
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
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUseOfUnmapped), DiagnosticCallIdIs(6u),
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
