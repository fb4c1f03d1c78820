// Multicast objects in several processes, each with a simulator and a device of its own.

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "sim/testing/team_machine.h"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;

constexpr DriverCode kInvalid = DriverCode::kInvalidValue;

// The importer of most tests: joins with its device, waits until it is told, and binds and maps.
void JoinWith(TeamMachine& machine, Line& line) {
  EXPECT_THAT(machine.AddDevice(), IsOk());
  Say(line);
  Await(line);
  EXPECT_THAT(machine.Bind(), IsOk());
  machine.MapObject();
  Say(line);
}
void Join(TeamMachine& machine, Line& line) {
  machine.TakeObject(Get(line));
  JoinWith(machine, line);
}
// The same for the one that makes the object. Both have bound after it.
void MeetWith(TeamMachine& machine, Line& line) {
  EXPECT_THAT(machine.AddDevice(), IsOk());
  Await(line);
  EXPECT_THAT(machine.Bind(), IsOk());
  machine.MapObject();
  Say(line);
  Await(line);
}

void Meet(TeamMachine& machine, Line& line) {
  Give(line, machine.CreateObject());
  MeetWith(machine, line);
}

ptrdiff_t OpenDescriptors() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

// What a kernel of one process stores is in the memory that the other one bound, and what each has
// is in the sum.
TEST(MulticastProcessesTest, ReachTheMemoryThatOthersBound) {
  OtherProcess importer([](Line& line) {
    TeamMachine machine(1);
    Join(machine, line);
    machine.Set(1, 20);
    EXPECT_THAT(machine.StoreToAll(0, 7), IsOk());
    Say(line);
    Await(line);
  });
  TeamMachine machine(0);
  Meet(machine, importer.line());
  machine.Set(1, 10);
  Await(importer.line());
  EXPECT_EQ(machine.Get(0), 7u);
  EXPECT_THAT(machine.SumOfAll(1), IsOkAndHolds(30u));
  Say(importer.line());
  EXPECT_TRUE(importer.Succeeds());
}

// A device that one process has added is in the team for the other one, and counts once.
TEST(MulticastProcessesTest, AreOneTeam) {
  OtherProcess importer([](Line& line) {
    TeamMachine machine(1);
    machine.TakeObject(Get(line));
    EXPECT_THAT(machine.multicast().AddDevice(machine.object(), kDevice0), HasDriverCode(kInvalid));
    EXPECT_THAT(machine.AddDevice(), IsOk());
    Say(line);
    Await(line);
  });
  TeamMachine machine(0);
  const int descriptor = machine.CreateObject();
  EXPECT_THAT(machine.AddDevice(), IsOk());
  Give(importer.line(), descriptor);
  Await(importer.line());
  const absl::Status again = machine.multicast().AddDevice(machine.object(), kDevice1);
  EXPECT_THAT(again, HasDriverCode(kInvalid));
  EXPECT_THAT(std::string(again.message()), HasSubstr("device 1 is in the team already"));
  Say(importer.line());
  EXPECT_TRUE(importer.Succeeds());
}

// As long as another process has not added its device, nothing is bound or mapped.
TEST(MulticastProcessesTest, SayThatADeviceOfAnotherProcessIsMissing) {
  OtherProcess importer([](Line& line) {
    TeamMachine machine(1);
    machine.TakeObject(Get(line));
    EXPECT_THAT(machine.AddDevice(), IsOk());
    const absl::Status bound = machine.Bind();
    EXPECT_THAT(bound, HasDriverCode(DriverCode::kIllegalState));
    EXPECT_THAT(std::string(bound.message()), HasSubstr("added: device 1; not added: device 0"));
    Say(line);
    Await(line);
    EXPECT_THAT(machine.Bind(), IsOk());
  });
  TeamMachine machine(0);
  Give(importer.line(), machine.CreateObject());
  Await(importer.line());
  EXPECT_THAT(machine.AddDevice(), IsOk());
  Say(importer.line());
  EXPECT_TRUE(importer.Succeeds());
}

// Where the profile says so, a call waits for the device that another process adds.
TEST(MulticastProcessesTest, WaitForTheTeam) {
  const auto profile = [] { return TeamMachine::ProfileOf(2, 60'000); };
  OtherProcess importer([&](Line& line) {
    TeamMachine machine(1, profile());
    machine.TakeObject(Get(line));
    EXPECT_THAT(machine.AddDevice(), IsOk());
    Say(line);
    EXPECT_THAT(machine.Bind(), IsOk());
  });
  TeamMachine machine(0, profile());
  Give(importer.line(), machine.CreateObject());
  Await(importer.line());
  usleep(20'000);
  EXPECT_THAT(machine.AddDevice(), IsOk());
  EXPECT_TRUE(importer.Succeeds());
}

// A process unbinds what it has bound, and nobody else does. Then no address stands for anything
// there, until something is bound anew.
TEST(MulticastProcessesTest, UnbindWhatIsTheirs) {
  OtherProcess importer([](Line& line) {
    TeamMachine machine(1);
    Join(machine, line);
    Await(line);
    machine.Set(0, 1);
    EXPECT_THAT(machine.Unbind(), IsOk());
    EXPECT_THAT(machine.Bind(), IsOk());
    machine.Set(0, 5);
    Say(line);
    Await(line);
    EXPECT_THAT(machine.Unbind(), IsOk());
    Say(line);
    Await(line);
  });
  TeamMachine machine(0);
  Meet(machine, importer.line());
  const absl::Status refused =
      machine.multicast().Unbind(machine.object(), kDevice1, Bytes(0), kGranule);
  EXPECT_THAT(refused, HasDriverCode(kInvalid));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("another process has bound"));
  EXPECT_THAT(machine.SumOfAll(0), IsOkAndHolds(0u));
  Say(importer.line());
  Await(importer.line());
  EXPECT_THAT(machine.SumOfAll(0), IsOkAndHolds(5u));
  Say(importer.line());
  Await(importer.line());
  const absl::Status fault = machine.SumOfAll(0).status();
  EXPECT_THAT(fault, HasDriverCode(DriverCode::kIllegalAddress));
  EXPECT_THAT(std::string(fault.message()), HasSubstr("a device of the team has bound no memory"));
  Say(importer.line());
  EXPECT_TRUE(importer.Succeeds());
}

// What a process has bound of a device is refused to others that bind of that device.
TEST(MulticastProcessesTest, BindASpanOfADeviceOnce) {
  OtherProcess importer([](Line& line) {
    TeamMachine machine(0);
    machine.TakeObject(Get(line));
    const absl::Status bound = machine.Bind();
    EXPECT_THAT(bound, HasDriverCode(kInvalid));
    EXPECT_THAT(std::string(bound.message()), HasSubstr("has bound offset 0"));
  });
  TeamMachine machine(0, TeamMachine::ProfileOf(2));
  const int descriptor = machine.CreateObject();
  EXPECT_THAT(machine.AddDevice(), IsOk());
  EXPECT_THAT(machine.multicast().AddDevice(machine.object(), kDevice1), IsOk());
  EXPECT_THAT(machine.Bind(), IsOk());
  Give(importer.line(), descriptor);
  EXPECT_TRUE(importer.Succeeds());
}

// Memory that is both imported by its handle and bound by its owner is one memory.
TEST(MulticastProcessesTest, ImportMemoryThatItsOwnerBound) {
  OtherProcess importer([](Line& line) {
    TeamMachine machine(1);
    Join(machine, line);
    const AllocationHandle theirs = machine.Take(Get(line));
    const Bytes with_theirs = machine.vmm().GetMemoryInfo(kDevice0)->free;
    EXPECT_THAT(machine.SumOfAll(0), IsOkAndHolds(0u));
    EXPECT_EQ(machine.vmm().GetMemoryInfo(kDevice0)->free, with_theirs);
    const AddressRange range = *machine.vmm().AddressReserve(kGranule);
    EXPECT_THAT(machine.vmm().Map(range, theirs), IsOk());
    EXPECT_THAT(machine.vmm().SetAccess(range, std::array{For(kDevice1, Access::kReadWrite)}),
                IsOk());
    EXPECT_THAT(machine.StoreToAll(3, 9), IsOk());
    uint32_t word = 0;
    EXPECT_THAT(
        machine.executor().CopyDeviceToHost(kDevice1, &word, range.base + Bytes(12), Bytes(4)),
        IsOk());
    EXPECT_EQ(word, 9u);
  });
  TeamMachine machine(0);
  Meet(machine, importer.line());
  const AllocationHandle own = *machine.vmm().RetainAllocationHandle(machine.own().base);
  Give(importer.line(), machine.Export(own));
  EXPECT_TRUE(importer.Succeeds());
}

// In whatever order they let go of it, nothing is left: no memory, no descriptor.
TEST(MulticastProcessesTest, LetGoInEveryOrder) {
  for (const bool exporter_first : {true, false}) {
    for (const bool unmap_first : {true, false}) {
      const auto let_go = [&](TeamMachine& machine) {
        const std::function<void()> steps[] = {[&] { machine.UnmapObject(); },
                                               [&] { machine.ReleaseObject(); }};
        for (const int step : {0, 1}) steps[unmap_first ? step : 1 - step]();
        machine.UnmapOwn();
      };
      const auto expect_nothing = [](TeamMachine& machine, Bytes free, ptrdiff_t open) {
        EXPECT_EQ(machine.free(), free);
        EXPECT_EQ(machine.vmm().GetMemoryInfo(kDevice0)->free,
                  machine.vmm().GetMemoryInfo(kDevice1)->free);
        EXPECT_EQ(OpenDescriptors(), open);
      };
      OtherProcess importer([&](Line& line) {
        TeamMachine machine(1);
        const Bytes free = machine.free();
        const ptrdiff_t open = OpenDescriptors();
        Join(machine, line);
        EXPECT_THAT(machine.SumOfAll(0), IsOkAndHolds(0u));
        Say(line);
        Await(line);
        let_go(machine);
        Say(line);
        expect_nothing(machine, free, open);
        Await(line);
      });
      TeamMachine machine(0);
      const Bytes free = machine.free();
      const ptrdiff_t open = OpenDescriptors();
      Meet(machine, importer.line());
      EXPECT_THAT(machine.SumOfAll(0), IsOkAndHolds(0u));
      Await(importer.line());
      if (exporter_first) let_go(machine);
      Say(importer.line());
      Await(importer.line());
      if (!exporter_first) let_go(machine);
      expect_nothing(machine, free, open);
      Say(importer.line());
      EXPECT_TRUE(importer.Succeeds());
    }
  }
}

// An object is imported only where one of its kind could be made.
TEST(MulticastProcessesTest, AreOfOneMachine) {
  const std::pair<const char*, std::function<void(Profile&)>> kChanges[] = {
      {"minimum granularity", [](Profile& p) { p.multicast_minimum_granularity = MiB(4); }},
      {"driver version", [](Profile& p) { p.driver_version = 12040; }},
      {"of another name", [](Profile& p) { p.devices[1].name = "other"; }},
  };
  TeamMachine machine(0);
  const int descriptor = machine.CreateObject();
  for (const auto& [words, change] : kChanges) {
    Profile profile = TeamMachine::ProfileOf(2);
    change(profile);
    TeamMachine other(0, profile);
    const auto refused = other.Import(descriptor);
    EXPECT_THAT(refused, HasDriverCode(DriverCode::kUnknown));
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr(words));
  }
  close(descriptor);
}

// By a fabric handle, in a domain.
TEST(MulticastProcessesTest, GoByFabricHandle) {
  std::string name = testing::TempDir() + "fabric-XXXXXX";
  const std::filesystem::path domain = mkdtemp(name.data());
  std::filesystem::create_directory(domain / "channel0");
  Profile profile = *Profile::Named("fabric-permitted");
  profile.fabric_domain = domain;
  OtherProcess importer([&](Line& line) {
    TeamMachine machine(1, profile);
    ShareableHandle shared;
    shared.type = HandleType::kFabric;
    EXPECT_TRUE(line.Receive(&shared.fabric));
    machine.Adopt(*machine.vmm().ImportShareableHandle(shared));
    JoinWith(machine, line);
    EXPECT_THAT(machine.StoreToAll(0, 3), IsOk());
    Say(line);
  });
  TeamMachine machine(0, profile);
  machine.CreateObject(HandleType::kFabric);
  const auto shared = machine.vmm().ExportShareableHandle(machine.object(), HandleType::kFabric);
  ASSERT_THAT(shared, IsOk());
  EXPECT_TRUE(importer.line().Send(shared->fabric));
  MeetWith(machine, importer.line());
  Await(importer.line());
  EXPECT_EQ(machine.Get(0), 3u);
  EXPECT_TRUE(importer.Succeeds());
  std::filesystem::remove_all(domain);
}

}  // namespace
}  // namespace twinmmu
