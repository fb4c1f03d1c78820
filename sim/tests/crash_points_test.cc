// A process that shares memory is killed before and after each of its system calls. Another one
// goes on, and after it the next begins.

#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <iterator>
#include <string>

#include "sim/testing/killed_process.h"
#include "sim/testing/team_machine.h"
#include "sim/testing/two_processes.h"

namespace twinmmu {
namespace {

constexpr HandleType kBoth = HandleType::kFabric | HandleType::kPosixFileDescriptor;

class CrashPointsTest : public testing::Test {
 protected:
  CrashPointsTest() {
    std::string name = testing::TempDir() + "crash-XXXXXX";
    domain_ = mkdtemp(name.data());
    std::filesystem::create_directory(domain_ / "channel0");
  }
  ~CrashPointsTest() override { std::filesystem::remove_all(domain_); }

  Profile Machine() const {
    Profile profile = *Profile::Named("fabric-permitted");
    profile.fabric_domain = domain_;
    return profile;
  }
  ptrdiff_t Entries() const {
    const std::filesystem::directory_iterator entries(domain_ / "channel0");
    return std::distance(begin(entries), end(entries));
  }

  // `victim` is killed at each stop, and once ends by itself. Before each time `survivor` is told,
  // and gives a descriptor; after it, too, with what the victim has sent, or -1.
  void KillAtEachStop(const std::function<void(int descriptor, Line& line)>& victim,
                      OtherProcess& survivor) {
    int stop = 0;
    for (End end = End::kKilled; end == End::kKilled;) {
      Say(survivor.line());
      const int given = Get(survivor.line());
      int sockets[2];
      ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
      end = KillAtStop(++stop, [&] {
        Line line(sockets[1]);
        victim(given, line);
      });
      close(given);
      close(sockets[1]);
      Line sent(sockets[0]);
      char byte;
      int descriptor = -1;
      sent.Receive(&byte, &descriptor);
      if (end == End::kNotTraced) GTEST_SKIP() << "no process may follow another one here";
      ASSERT_NE(end, End::kFailed) << "stop " << stop;
      Give(survivor.line(), descriptor);
      bool is_well = false;
      ASSERT_TRUE(survivor.line().Receive(&is_well) && is_well) << "killed at stop " << stop;
    }
    survivor.line().Close();
    EXPECT_TRUE(survivor.Succeeds());
    EXPECT_GT(stop, 50);
    RecordProperty("stops", stop);
  }

 private:
  std::filesystem::path domain_;
};

// What a victim does with memory of another process and with its own.
void ShareMemory(const Profile& profile, int descriptor, Line& line) {
  SharingMachine machine(profile);
  const AllocationHandle taken = *machine.Import(descriptor);
  const AddressRange range = machine.Map(taken);
  machine.Write(range, 2);
  const AllocationHandle own = machine.Create(kBoth);
  const AddressRange of_own = machine.Map(own);
  machine.Write(of_own, 3);
  const auto fabric = machine.vmm().ExportShareableHandle(own, HandleType::kFabric);
  EXPECT_THAT(fabric, IsOk());
  EXPECT_THAT(machine.vmm().Release(*machine.vmm().ImportShareableHandle(*fabric)), IsOk());
  Give(line, machine.Export(own));
  machine.Drop(range, taken);
  machine.Drop(of_own, own);
}

// The other one has all its memory, with what was written into it, sees what the victim has sent,
// and counts nothing that is gone. Nothing of the victim is left in the folder of fabric handles
// when the next one exports.
TEST_F(CrashPointsTest, SharedMemory) {
  OtherProcess survivor([&](Line& line) {
    SharingMachine machine(Machine());
    const Bytes free = machine.free();
    char byte;
    while (line.Receive(&byte)) {
      const AllocationHandle own = machine.Create(kBoth);
      const AddressRange range = machine.Map(own);
      machine.Write(range, 1);
      Give(line, machine.Export(own));
      const int sent = Get(line);
      EXPECT_THAT(machine.Read(range), testing::AnyOf(1u, 2u));
      if (sent != -1) {
        EXPECT_EQ(machine.Read(range), 2u);
        const AllocationHandle taken = machine.Take(sent);
        const AddressRange of_victim = machine.Map(taken);
        EXPECT_EQ(machine.Read(of_victim), 3u);
        machine.Drop(of_victim, taken);
      }
      {
        SharingMachine next(Machine());
        const AllocationHandle fabric = next.Create(kBoth);
        EXPECT_THAT(next.vmm().ExportShareableHandle(fabric, HandleType::kFabric), IsOk());
        EXPECT_EQ(Entries(), 1);
        const AllocationHandle taken = machine.Take(next.Export(fabric));
        machine.Drop(machine.Map(taken), taken);
      }
      machine.Drop(range, own);
      EXPECT_EQ(machine.free(), free);
      ASSERT_TRUE(line.Send(!testing::Test::HasFailure()));
    }
  });
  KillAtEachStop([&](int descriptor, Line& line) { ShareMemory(Machine(), descriptor, line); },
                 survivor);
}

// Binds new memory of any device of the team.
void BindFor(TeamMachine& machine, DeviceOrdinal device) {
  AllocationProperties properties = Shareable();
  properties.location = Location::Device(device);
  const AllocationHandle memory = *machine.vmm().Create(kGranule, properties);
  EXPECT_THAT(
      machine.multicast().BindMemory(machine.object(), Bytes(0), memory, Bytes(0), kGranule),
      IsOk());
  EXPECT_THAT(machine.vmm().Release(memory), IsOk());
}

// The device of a victim that came into the team stays there, and what it had bound is gone. The
// object does for the others what it did.
TEST_F(CrashPointsTest, MulticastObjects) {
  OtherProcess survivor([](Line& line) {
    TeamMachine machine(0);
    const Bytes free = machine.free();
    char byte;
    while (line.Receive(&byte)) {
      Give(line, machine.CreateObject());
      EXPECT_THAT(machine.AddDevice(), IsOk());
      const int sent = Get(line);
      if (sent != -1) close(sent);
      const bool is_complete = !machine.multicast().AddDevice(machine.object(), kDevice1).ok();
      EXPECT_TRUE(is_complete || sent == -1);
      EXPECT_THAT(machine.Bind(), IsOk());
      BindFor(machine, kDevice1);
      machine.MapObject();
      machine.Set(0, 5);
      EXPECT_THAT(machine.SumOfAll(0), IsOkAndHolds(5u));
      machine.UnmapObject();
      machine.UnmapOwn();
      machine.ReleaseObject();
      EXPECT_EQ(machine.free(), free);
      EXPECT_EQ(machine.vmm().GetMemoryInfo(kDevice1)->free, free);
      ASSERT_TRUE(line.Send(!testing::Test::HasFailure()));
    }
  });
  KillAtEachStop(
      [](int descriptor, Line& line) {
        TeamMachine machine(1);
        machine.TakeObject(descriptor);
        machine.AddDevice().IgnoreError();
        Give(line, dup(descriptor));
        EXPECT_THAT(machine.Bind(), IsOk());
        EXPECT_THAT(machine.Unbind(), IsOk());
        machine.UnmapOwn();
        machine.ReleaseObject();
      },
      survivor);
}

}  // namespace
}  // namespace twinmmu
