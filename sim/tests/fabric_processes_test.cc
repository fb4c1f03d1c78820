// Fabric handles between machines of one domain, in one process and in several.

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "sim/host/fabric_domain.h"
#include "sim/testing/sharing_machine.h"
#include "sim/testing/two_processes.h"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;

constexpr Bytes kSize = SharingMachine::kSize;
constexpr HandleType kFabric = HandleType::kFabric;
constexpr DriverCode kUnknownHandle = DriverCode::kNotSupported;

// A domain with channels 0 and 1.
class FabricProcessesTest : public testing::Test {
 protected:
  FabricProcessesTest() {
    std::string name = testing::TempDir() + "fabric-XXXXXX";
    domain_ = mkdtemp(name.data());
    for (const char* channel : {"channel0", "channel1"})
      std::filesystem::create_directory(domain_ / channel);
  }
  ~FabricProcessesTest() override { std::filesystem::remove_all(domain_); }

  Profile On(int channel) const {
    Profile profile = *Profile::Named("fabric-permitted");
    profile.fabric_domain = domain_;
    profile.fabric_channel = channel;
    return profile;
  }
  ptrdiff_t Entries() const {
    const std::filesystem::directory_iterator entries(domain_ / "channel0");
    return std::distance(begin(entries), end(entries));
  }
  static ShareableHandle Export(SharingMachine& machine, AllocationHandle handle) {
    const auto shared = machine.vmm().ExportShareableHandle(handle, kFabric);
    EXPECT_THAT(shared, IsOk());
    return shared.value_or(ShareableHandle());
  }
  static AllocationHandle Import(SharingMachine& machine, const ShareableHandle& shared) {
    const auto handle = machine.vmm().ImportShareableHandle(shared);
    EXPECT_THAT(handle, IsOk());
    return handle.value_or(AllocationHandle());
  }
  static void ExpectUnknown(SharingMachine& machine, const ShareableHandle& shared,
                            const std::string& reason) {
    const auto refused = machine.vmm().ImportShareableHandle(shared);
    EXPECT_THAT(refused, HasDriverCode(kUnknownHandle));
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr(reason));
  }
  const std::filesystem::path& domain() const { return domain_; }

 private:
  std::filesystem::path domain_;
};

TEST_F(FabricProcessesTest, ProcessesOfAChannelShareMemory) {
  OtherProcess importer([&](Line& line) {
    SharingMachine machine(On(0));
    ShareableHandle shared;
    ASSERT_TRUE(line.Receive(&shared));
    const AddressRange range = machine.Map(Import(machine, shared));
    EXPECT_EQ(machine.Read(range), 1u);
    machine.Write(range, 2);
    ASSERT_TRUE(line.Send('.'));
  });
  SharingMachine machine(On(0));
  const AllocationHandle handle = machine.Create(kFabric);
  const AddressRange range = machine.Map(handle);
  machine.Write(range, 1);
  ASSERT_TRUE(importer.line().Send(Export(machine, handle)));
  char byte;
  ASSERT_TRUE(importer.line().Receive(&byte));
  EXPECT_EQ(machine.Read(range), 2u);
  EXPECT_TRUE(importer.Succeeds());
}

// The handle is the same each time, and leaves one entry.
TEST_F(FabricProcessesTest, ExportsTheSameHandleAgain) {
  SharingMachine machine(On(0));
  const AllocationHandle handle = machine.Create(kFabric);
  EXPECT_EQ(Export(machine, handle).fabric, Export(machine, handle).fabric);
  EXPECT_EQ(Entries(), 1);
}

// Of the same memory by descriptor and by fabric handle, there is one copy.
TEST_F(FabricProcessesTest, DescriptorAndFabricHandleAreTheSameMemory) {
  SharingMachine exporter(On(0));
  const AllocationHandle handle = exporter.Create(kFabric | HandleType::kPosixFileDescriptor);
  const ShareableHandle shared = Export(exporter, handle);
  SharingMachine machine(On(0));
  const Bytes free = machine.free();
  const AddressRange by_file = machine.Map(machine.Take(exporter.Export(handle)));
  const AddressRange by_fabric = machine.Map(Import(machine, shared));
  EXPECT_EQ(machine.free(), free - kSize);
  machine.Write(by_file, 3);
  EXPECT_EQ(machine.Read(by_fabric), 3u);
}

// It keeps nothing: after the exporter's last reference nobody gets the memory by it.
TEST_F(FabricProcessesTest, AHandleEndsWithTheExportersMemory) {
  SharingMachine exporter(On(0));
  SharingMachine machine(On(0));
  const Bytes free = exporter.free();
  const AllocationHandle handle = exporter.Create(kFabric);
  const ShareableHandle shared = Export(exporter, handle);
  const AllocationHandle imported = Import(machine, shared);
  const AddressRange range = machine.Map(imported);
  EXPECT_THAT(exporter.vmm().Release(handle), IsOk());
  EXPECT_EQ(Entries(), 0);
  EXPECT_EQ(exporter.free(), free - kSize) << "the import keeps it";
  SharingMachine late(On(0));
  ExpectUnknown(late, shared, "was freed");
  machine.Drop(range, imported);
  EXPECT_EQ(exporter.free(), free);
}

TEST_F(FabricProcessesTest, TheEndOfAMachineTakesItsEntries) {
  {
    SharingMachine exporter(On(0));
    Export(exporter, exporter.Create(kFabric));
    EXPECT_EQ(Entries(), 1);
  }
  EXPECT_EQ(Entries(), 0);
}

// What a killed process left leads nowhere, and the next exporter takes it away.
TEST_F(FabricProcessesTest, AKilledExporterLeavesNothingThatLeadsOn) {
  OtherProcess exporter([&](Line& line) {
    SharingMachine machine(On(0));
    ASSERT_TRUE(line.Send(Export(machine, machine.Create(kFabric))));
    char byte;
    line.Receive(&byte);
  });
  SharingMachine machine(On(0));
  ShareableHandle shared;
  ASSERT_TRUE(exporter.line().Receive(&shared));
  const AddressRange range = machine.Map(Import(machine, shared));
  exporter.Kill();
  EXPECT_EQ(Entries(), 1);
  SharingMachine late(On(0));
  ExpectUnknown(late, shared, "its process has ended");
  Export(late, late.Create(kFabric));
  EXPECT_EQ(Entries(), 1) << "the new one alone";
  machine.Write(range, 4);
  EXPECT_EQ(machine.Read(range), 4u);
}

// An entry that leads to another file by now is stale as well: the number of the process, or of
// the descriptor, came again.
TEST_F(FabricProcessesTest, AnEntryThatLeadsToAnotherFileIsStale) {
  SharingMachine exporter(On(0));
  const ShareableHandle shared = Export(exporter, exporter.Create(kFabric));
  const auto entry = std::filesystem::directory_iterator(domain() / "channel0")->path();
  for (const char* other : {"/dev/null", "/proc/self/exe", "/nowhere"}) {
    std::filesystem::remove(entry);
    std::filesystem::create_symlink(other, entry);
    SharingMachine machine(On(0));
    ExpectUnknown(machine, shared, "ended");
  }
}

TEST_F(FabricProcessesTest, AnotherChannelOrDomainKnowsNothing) {
  SharingMachine exporter(On(0));
  const ShareableHandle shared = Export(exporter, exporter.Create(kFabric));
  SharingMachine other_channel(On(1));
  ExpectUnknown(other_channel, shared, "fabric channel");
  SharingMachine no_domain(*Profile::Named("fabric-permitted"));
  ExpectUnknown(no_domain, shared, "no domain");
}

TEST_F(FabricProcessesTest, AMachineOfAnotherProfileIsRefused) {
  Profile other = On(0);
  other.driver_version = 12080;
  SharingMachine exporter(other);
  SharingMachine machine(On(0));
  ExpectUnknown(machine, Export(exporter, exporter.Create(kFabric)), "driver version 12080");
}

// A channel that cannot be used, in whatever way, permits nothing; and what was asked for without
// fabric handles is made.
TEST_F(FabricProcessesTest, WithoutAChannelNothingIsPermitted) {
  std::ofstream(domain() / "channel2") << "a file";
  std::filesystem::create_symlink("nowhere", domain() / "channel3");
  for (const int channel : {2, 3, 4}) {
    SharingMachine machine(On(channel));
    AllocationProperties properties;
    properties.requested_handle_types = kFabric;
    const Bytes free = machine.free();
    const auto refused = machine.vmm().Create(kSize, properties);
    EXPECT_THAT(refused, HasDriverCode(DriverCode::kNotPermitted));
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("channel"));
    EXPECT_EQ(machine.free(), free);
    machine.Create();
  }
}

// Takes away what lets root pass by the permissions of files.
void ActAsAnyUser() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  ASSERT_EQ(syscall(SYS_capset, &header, none), 0);
}

TEST_F(FabricProcessesTest, WithoutAccessToTheChannelNothingIsPermitted) {
  std::filesystem::permissions(domain() / "channel0", std::filesystem::perms(0500));
  OtherProcess user([&](Line&) {
    ActAsAnyUser();
    SharingMachine machine(On(0));
    AllocationProperties properties;
    properties.requested_handle_types = kFabric;
    const auto refused = machine.vmm().Create(kSize, properties);
    EXPECT_THAT(refused, HasDriverCode(DriverCode::kNotPermitted));
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("Permission denied"));
  });
  EXPECT_TRUE(user.Succeeds());
  std::filesystem::permissions(domain() / "channel0", std::filesystem::perms(0700));
}

// Whatever byte of a handle is another, it names nothing.
TEST_F(FabricProcessesTest, ChangedHandlesNameNothing) {
  SharingMachine exporter(On(0));
  const ShareableHandle shared = Export(exporter, exporter.Create(kFabric));
  SharingMachine machine(On(0));
  for (size_t i = 0; i < shared.fabric.size(); ++i) {
    ShareableHandle changed = shared;
    changed.fabric[i] ^= 1;
    EXPECT_THAT(machine.vmm().ImportShareableHandle(changed), HasDriverCode(kUnknownHandle)) << i;
  }
}

// One who makes right sums gets no further.
TEST_F(FabricProcessesTest, ForgedHandlesNameNothing) {
  SharingMachine exporter(On(0));
  const ShareableHandle shared = Export(exporter, exporter.Create(kFabric));
  const FabricName real = *ParseFabricHandle(shared.fabric);
  SharingMachine machine(On(0));
  std::mt19937_64 random(10);
  for (int i = 0; i < 1000; ++i) {
    FabricName name = real;
    const uint64_t choice = random();
    if (choice % 2 != 0) name.id ^= uint64_t{1} << random() % 64;
    if (choice % 3 != 0) name.identity.second = random();
    if (choice % 5 == 0) name.processes = random();
    if (ToFabricHandle(name) == shared.fabric) continue;
    ShareableHandle forged = shared;
    forged.fabric = ToFabricHandle(name);
    EXPECT_THAT(machine.vmm().ImportShareableHandle(forged), HasDriverCode(kUnknownHandle));
  }
}

}  // namespace
}  // namespace twinmmu
