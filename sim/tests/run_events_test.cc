// What a simulator tells the record of a run.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/record/event.h"
#include "api/record/event_reader.h"
#include "api/record/event_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/calls/linear/linear_calls.h"
#include "sim/calls/pools/pool_calls.h"
#include "sim/simulator.h"
#include "sim/testing/two_processes.h"

namespace twinmmu {
namespace {

using record::EventKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Bytes kGranule = MiB(2);
const Location kDevice0 = Location::Device(DeviceOrdinal(0));

// Texts live no longer than the reader.
struct ToldEvent {
  record::Event event;
  std::string text;
  std::string code;
};

class RunEventsTest : public testing::Test {
 protected:
  explicit RunEventsTest(const Profile& profile = Profile::ReferenceH200(2)) {
    SimulatorOptions options;
    options.events = events_.get();
    simulator_ = *Simulator::Create(profile, options);
    vmm_ = *simulator_->vmm();
  }

  // Ends the run.
  std::vector<ToldEvent> Told() {
    simulator_.reset();
    events_.reset();
    std::vector<ToldEvent> told;
    const auto reader = record::EventReader::Open(path_);
    record::Event event;
    const record::Stack* stack = nullptr;
    while (reader.ok() && (*reader)->Next(&event, &stack))
      told.push_back({event, std::string(event.text), std::string(event.code)});
    return told;
  }
  static std::vector<std::string> WordsOf(const std::vector<ToldEvent>& told) {
    std::vector<std::string> words;
    for (const ToldEvent& one : told) words.emplace_back(record::Word(one.event.kind));
    return words;
  }

  const std::string path_ = testing::TempDir() + "run_events.events";
  std::unique_ptr<record::EventWriter> events_ = *record::EventWriter::Create(path_);
  std::unique_ptr<Simulator> simulator_;
  Vmm* vmm_;
};

TEST_F(RunEventsTest, TheLifeOfAMappingIsTold) {
  const AddressRange range = *vmm_->AddressReserve(2 * kGranule);
  AllocationProperties properties;
  properties.location = Location::Device(DeviceOrdinal(1));
  const AllocationHandle handle = *vmm_->Create(kGranule, properties);
  const AddressRange half = range.subrange(Bytes(0), kGranule);
  ASSERT_TRUE(vmm_->Map(half, handle).ok());
  const std::array grants{AccessGrant{kDevice0, Access::kRead},
                          AccessGrant{Location::Device(DeviceOrdinal(1)), Access::kReadWrite}};
  ASSERT_TRUE(vmm_->SetAccess(half, grants).ok());
  ASSERT_TRUE(vmm_->Unmap(half).ok());
  ASSERT_TRUE(vmm_->Release(handle).ok());
  ASSERT_TRUE(vmm_->AddressFree(range).ok());
  const std::vector<ToldEvent> told = Told();
  ASSERT_THAT(WordsOf(told), ElementsAre("reserve", "create", "map", "set-access", "set-access",
                                         "unmap", "release", "address-free"));
  EXPECT_EQ(told[0].event.address, range.base.value());
  EXPECT_EQ(told[0].event.bytes, range.size.value());
  EXPECT_EQ(told[1].event.allocation, handle.value());
  EXPECT_EQ(told[1].event.device, 1);
  EXPECT_EQ(told[2].event.bytes, kGranule.value());
  EXPECT_EQ(told[2].event.allocation, handle.value());
  EXPECT_EQ(told[3].event.device, 0);
  EXPECT_EQ(told[3].event.access, 1);
  EXPECT_EQ(told[4].event.device, 1);
  EXPECT_EQ(told[4].event.access, 3);
  EXPECT_EQ(told[6].event.allocation, handle.value());
}

TEST_F(RunEventsTest, OnlyTheLastReleaseIsTold) {
  const AddressRange range = *vmm_->AddressReserve(kGranule);
  const AllocationHandle handle = *vmm_->Create(kGranule, AllocationProperties());
  ASSERT_TRUE(vmm_->Map(range, handle).ok());
  ASSERT_TRUE(vmm_->RetainAllocationHandle(range.base).ok());
  ASSERT_TRUE(vmm_->Release(handle).ok());
  EXPECT_THAT(WordsOf(Told()), ElementsAre("reserve", "create", "map"));
}

TEST_F(RunEventsTest, MisuseIsTold) {
  EXPECT_FALSE(vmm_->Release(AllocationHandle(7)).ok());
  const std::vector<ToldEvent> told = Told();
  ASSERT_THAT(WordsOf(told), ElementsAre("diagnostic", "release"));
  EXPECT_EQ(told[0].event.severity, record::Severity::kError);
  EXPECT_EQ(told[0].code, "kUseOfUnknownHandle");
  EXPECT_THAT(told[0].text, HasSubstr("what to do"));
  EXPECT_EQ(told[1].event.severity, record::Severity::kError);
}

TEST_F(RunEventsTest, ACallThatFailsIsToldAsSuch) {
  EXPECT_FALSE(vmm_->AddressReserve(Bytes(1)).ok());
  const std::vector<ToldEvent> told = Told();
  ASSERT_THAT(WordsOf(told), ElementsAre("reserve"));
  EXPECT_EQ(told[0].event.severity, record::Severity::kError);
  EXPECT_EQ(told[0].event.allocation, 0u);
}

// As does a release: what it was to map, or to release.
TEST_F(RunEventsTest, ARefusedMapNamesItsMemory) {
  const AddressRange range = *vmm_->AddressReserve(kGranule);
  const AllocationHandle handle = *vmm_->Create(kGranule, AllocationProperties());
  ASSERT_TRUE(vmm_->Map(range, handle).ok());
  EXPECT_FALSE(vmm_->Map(range, handle).ok());
  EXPECT_FALSE(vmm_->Release(AllocationHandle(7)).ok());
  std::vector<uint64_t> refused;
  for (const ToldEvent& told : Told()) {
    const bool is_call = told.event.kind != EventKind::kDiagnostic;
    if (is_call && told.event.severity == record::Severity::kError)
      refused.push_back(told.event.allocation);
  }
  EXPECT_THAT(refused, ElementsAre(handle.value(), 7));
}

class OffsetsTest : public RunEventsTest {
 protected:
  OffsetsTest() : RunEventsTest(WithOffsets()) {}
  static Profile WithOffsets() {
    Profile profile = Profile::ReferenceH200();
    profile.map_takes_offsets = true;
    profile.quirks.map_takes_whole_allocations_only = false;
    return profile;
  }
};

TEST_F(OffsetsTest, AMappingIsToldWithIts) {
  const AddressRange range = *vmm_->AddressReserve(kGranule);
  const AllocationHandle handle = *vmm_->Create(3 * kGranule, AllocationProperties());
  const absl::Status mapped = vmm_->Map(range, handle, 2 * kGranule, 0);
  ASSERT_TRUE(mapped.ok()) << mapped;
  const std::vector<ToldEvent> told = Told();
  ASSERT_THAT(WordsOf(told), ElementsAre("reserve", "create", "map"));
  EXPECT_EQ(told[2].event.offset, 2 * kGranule.value());
}

TEST_F(RunEventsTest, AGrantToTheHostIsToldOfNoDevice) {
  AllocationProperties properties;
  properties.location = Location::HostNuma(0);
  const AddressRange range = *vmm_->AddressReserve(kGranule);
  const AllocationHandle handle = *vmm_->Create(kGranule, properties);
  ASSERT_TRUE(vmm_->Map(range, handle).ok());
  ASSERT_TRUE(vmm_->SetAccess(range, {{Location::HostNuma(0), Access::kReadWrite}}).ok());
  const std::vector<ToldEvent> told = Told();
  ASSERT_THAT(WordsOf(told), ElementsAre("reserve", "create", "map", "set-access"));
  EXPECT_EQ(told[1].event.device, record::kHost);
  EXPECT_EQ(told[3].event.device, record::kHost);
  EXPECT_EQ(told[3].event.access, 3);
}

TEST_F(RunEventsTest, LinearMemoryIsToldWithItsDevice) {
  LinearCalls& linear = simulator_->linear();
  const DeviceOrdinal device(1);
  ASSERT_TRUE(linear.Allocate({device}, Bytes(512)).ok());
  ASSERT_TRUE(linear.AllocateManaged({device}, Bytes(512), 1).ok());
  ASSERT_TRUE(linear.AllocateHost({device}, Bytes(512), 0).ok());
  const std::vector<ToldEvent> told = Told();
  ASSERT_THAT(WordsOf(told), ElementsAre("allocate", "allocate", "allocate"));
  EXPECT_EQ(told[0].event.device, 1);
  EXPECT_EQ(told[0].event.bytes, 512u);
  EXPECT_EQ(told[1].event.device, 1);
  EXPECT_EQ(told[2].event.device, record::kHost);
}

// A free of nothing frees nothing.
TEST_F(RunEventsTest, AFreeIsToldIfSomethingGoes) {
  LinearCalls& linear = simulator_->linear();
  const DeviceAddress memory = *linear.Allocate({DeviceOrdinal(0)}, Bytes(512));
  ASSERT_TRUE(linear.Free(DeviceAddress(0)).ok());
  ASSERT_TRUE(linear.Free(memory).ok());
  const std::vector<ToldEvent> told = Told();
  ASSERT_THAT(WordsOf(told), ElementsAre("allocate", "free"));
  EXPECT_EQ(told[1].event.address, memory.value());
}

TEST_F(RunEventsTest, TheMemoryOfAPoolIsToldWithItsStream) {
  const Stream stream = *(**simulator_->executor()).CreateStream(DeviceOrdinal(1));
  const DeviceAddress memory = *simulator_->pools().Allocate(stream, Bytes(512));
  ASSERT_TRUE(simulator_->pools().Free(stream, memory).ok());
  const std::vector<ToldEvent> told = Told();
  ASSERT_THAT(WordsOf(told), ElementsAre("pool-allocate", "pool-free"));
  EXPECT_EQ(told[0].event.stream, stream.value());
  EXPECT_EQ(told[0].event.device, 1);
  EXPECT_EQ(told[1].event.stream, stream.value());
}

constexpr char kStores[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry store(.param .u64 place)
{
  .reg .u64 %place;
  ld.param.u64 %place, [place];
  st.global.u32 [%place], 7;
  ret;
}
)";

TEST_F(RunEventsTest, AFaultIsToldWithItsAddress) {
  Executor& executor = **simulator_->executor();
  const AddressRange range = *vmm_->AddressReserve(kGranule);
  const DeviceOrdinal device(1);
  const Module module = *executor.LoadModule(device, kStores);
  const Kernel kernel = *executor.GetKernel(module, "store");
  const void* const arguments[] = {&range.base};
  ASSERT_TRUE(executor.Launch(Stream(device), kernel, LaunchConfig(), arguments).ok());
  EXPECT_FALSE(executor.SynchronizeDevice(device).ok());
  std::vector<ToldEvent> faults;
  for (const ToldEvent& told : Told()) {
    if (told.event.kind == EventKind::kFault) faults.push_back(told);
  }
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].event.severity, record::Severity::kError);
  EXPECT_EQ(faults[0].event.device, 1);
  EXPECT_EQ(faults[0].event.address, range.base.value());
  EXPECT_THAT(faults[0].text, HasSubstr("store"));
}

TEST_F(RunEventsTest, SharedMemoryHasTheSameIdOnBothSides) {
  AllocationProperties properties;
  properties.requested_handle_types = HandleType::kPosixFileDescriptor;
  const AllocationHandle handle = *vmm_->Create(kGranule, properties);
  const auto shareable = vmm_->ExportShareableHandle(handle, HandleType::kPosixFileDescriptor);
  ASSERT_TRUE(shareable.ok()) << shareable.status();
  const auto imported = vmm_->ImportShareableHandle(*shareable);
  ASSERT_TRUE(imported.ok()) << imported.status();
  const std::vector<ToldEvent> told = Told();
  ASSERT_THAT(WordsOf(told), ElementsAre("create", "export", "import"));
  EXPECT_NE(told[1].event.shared, 0u);
  EXPECT_EQ(told[1].event.shared, told[2].event.shared);
  EXPECT_EQ(told[2].event.allocation, imported->value());
  EXPECT_EQ(told[2].event.bytes, kGranule.value());
}

TEST_F(RunEventsTest, MemoryOfAnotherProcessIsToldWhereItIsSeen) {
  constexpr LinearCalls::Context kContext{DeviceOrdinal(0), 1};
  OtherProcess other([&](Line& line) {
    const auto machine = *Simulator::Create(Profile::ReferenceH200(2));
    const DeviceAddress memory = *machine->linear().Allocate(kContext, Bytes(512));
    ASSERT_TRUE(line.Send(*machine->linear().Share(memory)));
    char byte;
    ASSERT_TRUE(line.Receive(&byte));
  });
  FileName name;
  ASSERT_TRUE(other.line().Receive(&name));
  const auto opened = simulator_->linear().OpenShared(kContext, name);
  ASSERT_TRUE(opened.ok()) << opened.status();
  ASSERT_TRUE(other.line().Send('.'));
  EXPECT_TRUE(other.Succeeds());
  const std::vector<ToldEvent> told = Told();
  ASSERT_THAT(WordsOf(told), ElementsAre("allocate"));
  EXPECT_EQ(told[0].event.severity, record::Severity::kNone);
  EXPECT_EQ(told[0].event.address, opened->range.base.value());
  EXPECT_EQ(told[0].event.bytes, 512u);
}

TEST_F(RunEventsTest, CopiesAndFillsAreToldWithTheirTime) {
  const AddressRange range = *vmm_->AddressReserve(kGranule);
  const AllocationHandle handle = *vmm_->Create(kGranule, AllocationProperties());
  ASSERT_TRUE(vmm_->Map(range, handle).ok());
  ASSERT_TRUE(vmm_->SetAccess(range, {{kDevice0, Access::kReadWrite}}).ok());
  Executor& executor = **simulator_->executor();
  char bytes[64] = {};
  ASSERT_TRUE(executor.CopyHostToDevice(DeviceOrdinal(0), range.base, bytes, Bytes(64)).ok());
  ASSERT_TRUE(executor.Fill(DeviceOrdinal(0), range.base, FillPattern{1, Bytes(1)}, 128).ok());
  const std::vector<ToldEvent> told = Told();
  ASSERT_THAT(told, SizeIs(6));
  const record::Event& copy = told[4].event;
  EXPECT_EQ(copy.kind, EventKind::kCopy);
  EXPECT_EQ(copy.address, range.base.value());
  EXPECT_EQ(copy.from, reinterpret_cast<uint64_t>(bytes));
  EXPECT_EQ(copy.bytes, 64u);
  EXPECT_EQ(copy.device, 0);
  EXPECT_GT(copy.duration_ns, 0u);
  EXPECT_LE(copy.time_ns + copy.duration_ns, told[5].event.time_ns);
  EXPECT_EQ(told[5].event.kind, EventKind::kFill);
  EXPECT_EQ(told[5].event.bytes, 128u);
}

}  // namespace
}  // namespace twinmmu
