// Teams of several processes, of which one is killed, or is out of reach.

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "sim/testing/team_machine.h"

namespace twinmmu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

ptrdiff_t OpenDescriptors() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

[[noreturn]] void WaitToBeKilled(Line& line) {
  Say(line);
  while (true) pause();
}

void ExpectFault(TeamMachine& machine, const std::string& words) {
  const absl::Status fault = machine.SumOfAll(0).status();
  EXPECT_THAT(fault, HasDriverCode(DriverCode::kIllegalAddress));
  EXPECT_THAT(std::string(fault.message()),
              AllOf(HasSubstr("multimem.ld_reduce"), HasSubstr(words)));
}

// How far an importer came that is killed.
class KilledImporterTest : public testing::TestWithParam<size_t> {
 protected:
  static constexpr size_t kAdded = 2, kBound = 3, kStored = 5, kUnbound = 6;

  bool complete() const { return GetParam() >= kAdded; }
  bool was_bound() const { return GetParam() >= kBound && GetParam() < kUnbound; }

  // Until it is killed. The other one has bound after its second step.
  void Import(Line& line) const {
    TeamMachine machine(1);
    const std::function<void()> steps[] = {
        [&] { machine.TakeObject(Get(line)); },
        [&] {
          EXPECT_THAT(machine.AddDevice(), IsOk());
          Say(line);
          Await(line);
        },
        [&] { EXPECT_THAT(machine.Bind(), IsOk()); },
        [&] { machine.MapObject(); },
        [&] { EXPECT_THAT(machine.StoreToAll(1, 6), IsOk()); },
        [&] { EXPECT_THAT(machine.Unbind(), IsOk()); },
    };
    for (size_t i = 0; i < GetParam(); ++i) steps[i]();
    WaitToBeKilled(line);
  }
  // What the other one does until the importer is dead.
  void Outlive(TeamMachine& machine, OtherProcess& importer) const {
    Give(importer.line(), machine.CreateObject());
    EXPECT_THAT(machine.AddDevice(), IsOk());
    if (complete()) {
      Await(importer.line());
      EXPECT_THAT(machine.Bind(), IsOk());
      machine.MapObject();
      Say(importer.line());
    }
    Await(importer.line());
    importer.Kill();
    importer.line().Close();  // in which the descriptor may still be
  }
};

// What it had bound is there no more, and who uses it is told who left.
TEST_P(KilledImporterTest, IsMissed) {
  OtherProcess importer([&](Line& line) { Import(line); });
  TeamMachine machine(0);
  Outlive(machine, importer);
  if (!complete()) {
    EXPECT_THAT(machine.Bind(), HasDriverCode(DriverCode::kIllegalState));
    return;
  }
  EXPECT_EQ(machine.Get(1), GetParam() >= kStored ? 6u : 0u);
  ExpectFault(machine, was_bound() ? "which had bound memory of device 1 there, has ended"
                                   : "a device of the team has bound no memory there");
}

// It keeps nothing of the other one's.
TEST_P(KilledImporterTest, KeepsNothing) {
  OtherProcess importer([&](Line& line) { Import(line); });
  TeamMachine machine(0);
  const Bytes free = machine.free();
  const ptrdiff_t open = OpenDescriptors();
  Outlive(machine, importer);
  if (complete()) {
    machine.UnmapObject();
    machine.UnmapOwn();
  }
  machine.ReleaseObject();
  EXPECT_EQ(machine.free(), free);
  EXPECT_EQ(machine.vmm().GetMemoryInfo(kDevice1)->free, free);
  EXPECT_EQ(OpenDescriptors(), open - 1);  // that of the line
}

INSTANTIATE_TEST_SUITE_P(AtEachStep, KilledImporterTest, testing::Range<size_t>(0, 7));

// The object outlives the process that made it, without what that had bound. The device stays in
// the team, and whoever has it binds anew.
TEST(MulticastDeathsTest, AnotherTakesThePlaceOfAKilledExporter) {
  OtherProcess exporter([](Line& line) {
    TeamMachine machine(0);
    const int descriptor = machine.CreateObject();
    EXPECT_THAT(machine.AddDevice(), IsOk());
    EXPECT_THAT(machine.multicast().AddDevice(machine.object(), kDevice1), IsOk());
    EXPECT_THAT(machine.Bind(), IsOk());
    Give(line, descriptor);
    WaitToBeKilled(line);
  });
  OtherProcess successor([](Line& line) {
    TeamMachine machine(0);
    machine.TakeObject(Get(line));
    EXPECT_THAT(machine.AddDevice(), HasDriverCode(DriverCode::kInvalidValue));
    EXPECT_THAT(machine.Bind(), IsOk());
    machine.Set(0, 4);
    Say(line);
    Await(line);
  });
  TeamMachine machine(1);
  const int descriptor = Get(exporter.line());
  Await(exporter.line());
  machine.TakeObject(dup(descriptor));
  EXPECT_THAT(machine.Bind(), IsOk());
  machine.MapObject();
  EXPECT_THAT(machine.SumOfAll(0), IsOkAndHolds(0u));
  exporter.Kill();
  Give(successor.line(), descriptor);
  Await(successor.line());
  EXPECT_THAT(machine.SumOfAll(0), IsOkAndHolds(4u));
  Say(successor.line());
  EXPECT_TRUE(successor.Succeeds());
}

// A kernel that is at it when another process ends faults, and does not wait for ever.
TEST(MulticastDeathsTest, EndAKernelThatPolls) {
  OtherProcess importer([](Line& line) {
    TeamMachine machine(1);
    machine.TakeObject(Get(line));
    EXPECT_THAT(machine.Bind(), IsOk());
    Say(line);
    usleep(50'000);
    raise(SIGKILL);
  });
  TeamMachine machine(0);
  const int descriptor = machine.CreateObject();
  EXPECT_THAT(machine.AddDevice(), IsOk());
  EXPECT_THAT(machine.multicast().AddDevice(machine.object(), kDevice1), IsOk());
  EXPECT_THAT(machine.Bind(), IsOk());
  machine.MapObject();
  Give(importer.line(), descriptor);
  Await(importer.line());
  const absl::Status fault = machine.Run(
      "look:\nmultimem.ld_reduce.acquire.sys.global.add.u32 %r1, [%rd1];\n"
      "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra look;");
  EXPECT_THAT(fault, HasDriverCode(DriverCode::kIllegalAddress));
  EXPECT_THAT(std::string(fault.message()), HasSubstr("has ended"));
}

// Processes that bind and unbind as fast as they can are killed at any instruction. The survivor
// does the same, and never waits nor fails; in the end all is given back.
TEST(MulticastDeathsTest, SurviveProcessesThatAreKilledAnywhere) {
  std::vector<std::unique_ptr<OtherProcess>> importers;
  for (int i = 0; i < 16; ++i) {
    importers.push_back(std::make_unique<OtherProcess>([](Line& line) {
      const int descriptor = Get(line);
      TeamMachine machine(1);
      machine.TakeObject(descriptor);
      Say(line);
      while (true) {
        EXPECT_THAT(machine.Bind(), IsOk());
        EXPECT_THAT(machine.Unbind(), IsOk());
        machine.UnmapOwn();
      }
    }));
  }
  TeamMachine machine(0);
  const Bytes free = machine.free();
  const int descriptor = machine.CreateObject();
  EXPECT_THAT(machine.AddDevice(), IsOk());
  EXPECT_THAT(machine.multicast().AddDevice(machine.object(), kDevice1), IsOk());
  machine.MapObject();
  for (size_t i = 0; i < importers.size(); ++i) {
    Give(importers[i]->line(), dup(descriptor));
    Await(importers[i]->line());
    for (size_t round = 0; round < 5 + i; ++round) {
      EXPECT_THAT(machine.Bind(), IsOk());
      EXPECT_THAT(machine.Unbind(), IsOk());
      machine.UnmapOwn();
    }
    importers[i]->Kill();
    EXPECT_THAT(machine.Bind(), IsOk());
    EXPECT_THAT(machine.Unbind(), IsOk());
    machine.UnmapOwn();
  }
  machine.UnmapObject();
  machine.ReleaseObject();
  close(descriptor);
  EXPECT_EQ(machine.free(), free);
  EXPECT_EQ(machine.vmm().GetMemoryInfo(kDevice1)->free, free);
}

// Where the host does not let one process look at another one, that is what is said, when the
// memory is needed.
TEST(MulticastDeathsTest, SayThatTheHostForbidsIt) {
  const auto act_as_any_user = [] {
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
    ASSERT_EQ(syscall(SYS_capset, &header, none), 0);
  };
  OtherProcess hidden([&](Line& line) {
    const int descriptor = Get(line);
    act_as_any_user();
    prctl(PR_SET_DUMPABLE, 0);
    TeamMachine machine(1);
    machine.TakeObject(descriptor);
    EXPECT_THAT(machine.Bind(), IsOk());
    Say(line);
    Await(line);
  });
  OtherProcess other([&](Line& line) {
    const int descriptor = Get(line);
    act_as_any_user();
    TeamMachine machine(0);
    machine.TakeObject(descriptor);
    EXPECT_THAT(machine.Bind(), IsOk());
    machine.MapObject();
    ExpectFault(machine, "has bound there cannot be reached: the host does not allow it");
  });
  TeamMachine machine(0);
  const int descriptor = machine.CreateObject();
  for (const DeviceOrdinal device : {kDevice0, kDevice1}) {
    EXPECT_THAT(machine.multicast().AddDevice(machine.object(), device), IsOk());
  }
  Give(hidden.line(), dup(descriptor));
  Await(hidden.line());
  Give(other.line(), descriptor);
  EXPECT_TRUE(other.Succeeds());
  Say(hidden.line());
  EXPECT_TRUE(hidden.Succeeds());
}

}  // namespace
}  // namespace twinmmu
