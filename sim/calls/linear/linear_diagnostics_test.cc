// Each kind of diagnostic that is about linear memory, and what is left of it.

#include <string>
#include <vector>

#include "sim/testing/diagnostics_fixture.h"

namespace twinmmu {
namespace {

using Kind = DiagnosticKind;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto kInvalid = DriverCode::kInvalidValue;
constexpr LinearCalls::Context kContext{kDevice0, 0xc0};

class LinearDiagnosticsTest : public DiagnosticsTest {
 protected:
  using DiagnosticsTest::DiagnosticsTest;

  DeviceAddress Allocate(Bytes size) {
    const auto address = linear().Allocate(kContext, size);
    EXPECT_THAT(address, IsOk());
    return *address;
  }
  absl::Status ToHost(DeviceAddress source, uint64_t size) {
    return executor().CopyDeviceToHost(kDevice0, bytes_.data(), source, Bytes(size));
  }
  static DeviceAddress AddressOf(const void* memory) {
    return DeviceAddress(reinterpret_cast<uint64_t>(memory));
  }

  std::vector<char> bytes_ = std::vector<char>(KiB(8).value());
};

// The lives of all kinds as they should be raise nothing, and leave nothing.
TEST_F(LinearDiagnosticsTest, SayNothingOfACorrectProgram) {
  const DeviceAddress memory = Allocate(Bytes(100));
  void* const pinned = *linear().AllocateHost(kContext, Bytes(100), 0);
  EXPECT_THAT(linear().RegisterHost(kContext, bytes_.data(), KiB(4), 0), IsOk());
  EXPECT_THAT(ToHost(memory, 100), IsOk());
  EXPECT_THAT(linear().Copy(kDevice0, AddressOf(pinned), memory, Bytes(100)), IsOk());
  EXPECT_THAT(linear().Free(memory), IsOk());
  EXPECT_THAT(linear().FreeHost(pinned), IsOk());
  EXPECT_THAT(linear().UnregisterHost(bytes_.data()), IsOk());
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
  EXPECT_THAT(simulator_->leaks(), IsEmpty());
}

// --- Use

TEST_F(LinearDiagnosticsTest, TellOfAUseBeyondTheEnd) {
  const DeviceAddress memory = Allocate(Bytes(100));  // call 1
  EXPECT_THAT(ToHost(memory + Bytes(50), 51), HasDriverCode(kInvalid));
  EXPECT_THAT(Only(),
              AllOf(IsDiagnostic(Kind::kUseBeyondMemory), DiagnosticCallIs("cuMemcpyDtoH"),
                    DiagnosticRangeIs(At(memory + Bytes(50), Bytes(51))),
                    DiagnosticSeverityIs(Severity::kError),
                    Says("beyond the end of what was made at " + ToString(memory) + " by call 1"),
                    History(ElementsAre(Entry(1u, "cuMemAlloc made [")))));
}

TEST_F(LinearDiagnosticsTest, TellOfAFillBeyondTheEnd) {
  EXPECT_THAT(executor().Fill(kDevice0, Allocate(Bytes(100)), {0, Bytes(1)}, 101),
              HasDriverCode(kInvalid));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUseBeyondMemory), DiagnosticCallIs("cuMemset")));
}

// What is a pointer of the host by name is told in the same way.
TEST_F(LinearDiagnosticsTest, TellOfAUseAsAPointerBeyondTheEnd) {
  const DeviceAddress memory = Allocate(Bytes(100));
  const DeviceAddress large = Allocate(KiB(4));
  EXPECT_THAT(executor().CopyHostToDevice(
                  kDevice0, large, reinterpret_cast<const void*>(memory.value()), Bytes(101)),
              HasDriverCode(kInvalid));
  EXPECT_THAT(Only(), IsDiagnostic(Kind::kUseBeyondMemory));
}

TEST_F(LinearDiagnosticsTest, TellOfAUseAfterTheFree) {
  const DeviceAddress memory = Allocate(Bytes(100));  // call 1
  EXPECT_THAT(linear().Free(memory), IsOk());         // call 2
  EXPECT_THAT(ToHost(memory + Bytes(99), 1), HasDriverCode(kInvalid));
  EXPECT_THAT(
      Only(),
      AllOf(IsDiagnostic(Kind::kUseAfterFreeOfMemory), Says("freed by call 2"),
            History(ElementsAre(Entry(1u, "cuMemAlloc made ["), Entry(2u, "cuMemFree freed [")))));
}

TEST_F(LinearDiagnosticsTest, TellOfAUseAfterTheEndOfTheContext) {
  const DeviceAddress memory = Allocate(Bytes(100));          // call 1
  EXPECT_THAT(linear().FreeOwnedBy(kContext.owner), IsOk());  // call 2
  EXPECT_THAT(ToHost(memory, 1), HasDriverCode(kInvalid));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUseAfterFreeOfMemory), Says("freed by call 2"),
                            History(ElementsAre(Entry(1u, "cuMemAlloc made ["),
                                                Entry(2u, "cuCtxDestroy freed [")))));
}

// What was never anything is not mapped, and no more is known.
TEST_F(LinearDiagnosticsTest, TellOfAUseOfNothing) {
  EXPECT_THAT(ToHost(Allocate(Bytes(100)) + KiB(4), 1), HasDriverCode(kInvalid));
  EXPECT_THAT(Only(), IsDiagnostic(Kind::kUseOfUnmapped));
}

TEST_F(LinearDiagnosticsTest, TellOfAFillWithoutPeerAccess) {
  const DeviceAddress memory = Allocate(KiB(4));  // call 1
  EXPECT_THAT(executor().Fill(kDevice1, memory, {0, Bytes(1)}, 4), HasDriverCode(kInvalid));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kUseWithoutPeerAccess), DiagnosticDeviceIs(kDevice1),
                            Says("made at " + ToString(memory) + " by call 1 is on another device"),
                            History(ElementsAre(Entry(1u, "cuMemAlloc made [")))));
}

// --- Freeing

TEST_F(LinearDiagnosticsTest, TellOfADoubleFree) {
  const DeviceAddress memory = Allocate(Bytes(100));  // call 1
  EXPECT_THAT(linear().Free(memory), IsOk());         // call 2
  EXPECT_THAT(linear().Free(memory), HasDriverCode(kInvalid));
  EXPECT_THAT(
      Only(),
      AllOf(IsDiagnostic(Kind::kDoubleFreeOfMemory), DiagnosticCallIs("cuMemFree"),
            Says("freed by call 2"),
            History(ElementsAre(Entry(1u, "cuMemAlloc made ["), Entry(2u, "cuMemFree freed [")))));
}

TEST_F(LinearDiagnosticsTest, TellOfADoubleUnregister) {
  EXPECT_THAT(linear().RegisterHost(kContext, bytes_.data(), KiB(4), 0), IsOk());  // call 1
  EXPECT_THAT(linear().UnregisterHost(bytes_.data()), IsOk());                     // call 2
  EXPECT_THAT(linear().UnregisterHost(bytes_.data()),
              HasDriverCode(DriverCode::kHostMemoryNotRegistered));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kDoubleFreeOfMemory),
                            DiagnosticCallIs("cuMemHostUnregister"),
                            History(ElementsAre(Entry(1u, "cuMemHostRegister registered ["),
                                                Entry(2u, "cuMemHostUnregister unregistered [")))));
}

TEST_F(LinearDiagnosticsTest, TellOfAFreeOfTheInside) {
  const DeviceAddress memory = Allocate(Bytes(1000));
  EXPECT_THAT(linear().Free(memory + Bytes(512)), HasDriverCode(kInvalid));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kFreeOfUnknownMemory),
                            Says("is inside of what cuMemAlloc made at " + ToString(memory)),
                            History(ElementsAre(Entry(1u, "cuMemAlloc made [")))));
}

TEST_F(LinearDiagnosticsTest, TellOfAFreeByTheWrongCall) {
  void* const pinned = *linear().AllocateHost(kContext, Bytes(100), 0);
  EXPECT_THAT(linear().Free(AddressOf(pinned)), HasDriverCode(kInvalid));
  EXPECT_THAT(Only(), AllOf(IsDiagnostic(Kind::kFreeOfUnknownMemory), DiagnosticCallIs("cuMemFree"),
                            Says("it was made by cuMemHostAlloc, and not by cuMemAlloc")));
}

TEST_F(LinearDiagnosticsTest, TellOfAFreeOfMappedMemory) {
  const AddressRange range = Ready(1);
  EXPECT_THAT(linear().Free(range.base), HasDriverCode(kInvalid));
  EXPECT_THAT(Only(),
              AllOf(IsDiagnostic(Kind::kFreeOfUnknownMemory),
                    Says("nothing that cuMemAlloc made begins at " + ToString(range.base))));
}

TEST_F(LinearDiagnosticsTest, TellOfADoubleRegistration) {
  EXPECT_THAT(linear().RegisterHost(kContext, bytes_.data(), KiB(4), 0), IsOk());  // call 1
  EXPECT_THAT(linear().RegisterHost(kContext, bytes_.data() + 100, Bytes(1), 0),
              HasDriverCode(DriverCode::kHostMemoryAlreadyRegistered));
  EXPECT_THAT(Only(),
              AllOf(IsDiagnostic(Kind::kDoubleRegistration), Says("was registered by call 1"),
                    History(ElementsAre(Entry(1u, "cuMemHostRegister registered [")))));
}

// What has no memory left, or was never allowed, is no mistake of the program.
TEST_F(LinearDiagnosticsTest, SayNothingOfWhatCannotBe) {
  EXPECT_THAT(linear().Allocate(kContext, TiB(64)), HasDriverCode(DriverCode::kOutOfMemory));
  EXPECT_THAT(linear().Allocate(kContext, Bytes(0)), HasDriverCode(kInvalid));
  EXPECT_THAT(linear().Find(DeviceAddress(1)), HasDriverCode(kInvalid));
  EXPECT_THAT(simulator_->diagnostics(), IsEmpty());
}

// --- What is left

TEST_F(LinearDiagnosticsTest, TellWhatIsLeft) {
  const DeviceAddress memory = Allocate(Bytes(100));                               // call 1
  void* const pinned = *linear().AllocateHost(kContext, Bytes(200), 0);            // call 2
  EXPECT_THAT(linear().RegisterHost(kContext, bytes_.data(), KiB(4), 0), IsOk());  // call 3
  const auto leak = [](Kind kind, uint64_t number, const char* call, const AddressRange& range) {
    return AllOf(IsDiagnostic(kind), DiagnosticCallIdIs(number), DiagnosticCallIs(call),
                 DiagnosticRangeIs(range), DiagnosticDeviceIs(kDevice0),
                 DiagnosticSeverityIs(Severity::kLeak), History(SizeIs(1)));
  };
  EXPECT_THAT(
      simulator_->leaks(),
      ::testing::UnorderedElementsAre(
          leak(Kind::kLeakedMemory, 1, "cuMemAlloc", At(memory, Bytes(100))),
          leak(Kind::kLeakedHostMemory, 2, "cuMemHostAlloc", At(AddressOf(pinned), Bytes(200))),
          leak(Kind::kLeakedHostMemory, 3, "cuMemHostRegister",
               At(AddressOf(bytes_.data()), KiB(4)))));
  EXPECT_THAT(linear().FreeOwnedBy(kContext.owner), IsOk());
  EXPECT_THAT(simulator_->leaks(), IsEmpty());
}

// What made it is told even if the calls are forgotten.
TEST(LinearHistoryTest, RemembersWhatMadeIt) {
  SimulatorOptions options;
  options.calls_remembered = 0;
  const auto simulator = *Simulator::Create(Profile::ReferenceH200(), options);
  const DeviceAddress memory = *simulator->linear().Allocate(kContext, Bytes(100));
  EXPECT_THAT(simulator->HistoryOf(memory), ElementsAre(Entry(1u, "cuMemAlloc made [")));
}

}  // namespace
}  // namespace twinmmu
