// Linear memory that machines in two processes use. What programs see of it is tested in
// conformance/abi/sharing/ipc_memory_test.cc.

#include <memory>

#include "sim/testing/test_machine.h"
#include "sim/testing/two_processes.h"

namespace twinmmu {
namespace {

constexpr LinearCalls::Context kFirst = {kDevice0, 1};

// One machine, and how its memory is read and written.
class Machine {
 public:
  explicit Machine(const Profile& profile = Profile::ReferenceH200(2))
      : simulator_(*Simulator::Create(profile)) {}

  LinearCalls& linear() { return simulator_->linear(); }
  DeviceAddress Allocate(Bytes size) {
    const auto made = linear().Allocate(kFirst, size);
    EXPECT_THAT(made, IsOk());
    return made.value_or(DeviceAddress(0));
  }
  FileName Share(DeviceAddress address) {
    const auto name = linear().Share(address);
    EXPECT_THAT(name, IsOk());
    return name.value_or(FileName());
  }
  AddressRange Open(const FileName& name, const LinearCalls::Context& context = kFirst) {
    const auto opened = linear().OpenShared(context, name);
    EXPECT_THAT(opened, IsOk());
    return opened.ok() ? opened->range : AddressRange();
  }
  void Write(DeviceAddress to, uint64_t word) {
    EXPECT_THAT(linear().Copy(kDevice0, to, AddressOf(&word), Bytes(sizeof(word))), IsOk());
  }
  uint64_t Read(DeviceAddress from) {
    uint64_t word = 0;
    EXPECT_THAT(linear().Copy(kDevice0, AddressOf(&word), from, Bytes(sizeof(word))), IsOk());
    return word;
  }

 private:
  static DeviceAddress AddressOf(const void* memory) {
    return DeviceAddress(reinterpret_cast<uint64_t>(memory));
  }

  std::unique_ptr<Simulator> simulator_;
};

// The other process opens memory of this one, at an address inside, and `body` goes on.
template <typename Body>
void GiveTo(const Body& body, Bytes size = MiB(3)) {
  OtherProcess importer([&](Line& line) {
    FileName name;
    ASSERT_TRUE(line.Receive(&name));
    body(name);
    ASSERT_TRUE(line.Send('.'));
  });
  Machine machine;
  const DeviceAddress other = machine.Allocate(size);
  const DeviceAddress address = machine.Allocate(size);
  machine.Write(other, 3);
  machine.Write(address, 1);
  ASSERT_TRUE(importer.line().Send(machine.Share(address + Bytes(100))));
  char byte;
  ASSERT_TRUE(importer.line().Receive(&byte));
  EXPECT_EQ(machine.Read(other), 3u);
  EXPECT_EQ(machine.Read(address + Bytes(8)), 2u);
  EXPECT_TRUE(importer.Succeeds());
}

TEST(LinearProcessesTest, UseTheSameMemory) {
  for (const Bytes size : {Bytes(1000), MiB(3), MiB(40)}) {
    GiveTo(
        [size](const FileName& name) {
          Machine machine;
          const AddressRange range = machine.Open(name);
          EXPECT_EQ(range.size, size);
          EXPECT_EQ(machine.Read(range.base), 1u);
          machine.Write(range.base + Bytes(8), 2);
        },
        size);
  }
}

TEST(LinearProcessesTest, CloseAsOftenAsTheyOpened) {
  GiveTo([](const FileName& name) {
    Machine machine;
    const DeviceAddress base = machine.Open(name).base;
    EXPECT_EQ(machine.Open(name).base, base);
    machine.Write(base + Bytes(8), 2);
    EXPECT_THAT(machine.linear().Free(base), HasDriverCode(DriverCode::kInvalidValue));
    for (const bool last : {false, true}) {
      const auto gone = machine.linear().CloseShared(base);
      ASSERT_THAT(gone, IsOk());
      EXPECT_EQ(*gone, last);
    }
    EXPECT_THAT(machine.linear().Find(base), HasDriverCode(DriverCode::kInvalidValue));
    EXPECT_THAT(machine.linear().CloseShared(base), HasDriverCode(DriverCode::kInvalidValue));
  });
}

TEST(LinearProcessesTest, EachContextOpensForItself) {
  GiveTo([](const FileName& name) {
    Machine machine;
    const DeviceAddress base = machine.Open(name).base;
    const AddressRange second = machine.Open(name, {kDevice1, 2});
    EXPECT_NE(second.base, base);
    machine.Write(second.base + Bytes(8), 2);
    EXPECT_THAT(machine.linear().FreeOwnedBy(2), IsOk());
    EXPECT_THAT(machine.linear().Find(second.base), HasDriverCode(DriverCode::kInvalidValue));
    EXPECT_EQ(machine.Read(base + Bytes(8)), 2u);
  });
}

TEST(LinearProcessesTest, OtherMachinesOpenNothing) {
  GiveTo([](const FileName& name) {
    Machine same;
    same.Write(same.Open(name).base + Bytes(8), 2);
    Machine blind(*Profile::Named("exporter-invisible"));
    EXPECT_THAT(blind.linear().OpenShared(kFirst, name), HasDriverCode(DriverCode::kInvalidDevice));
    Machine another(*Profile::Named("reference-b200"));
    EXPECT_THAT(another.linear().OpenShared(kFirst, name),
                HasDriverCode(DriverCode::kInvalidValue));
  });
}

TEST(LinearProcessesTest, NamesThatLeadNowhereAreRefused) {
  OtherProcess importer([](Line& line) {
    FileName name;
    ASSERT_TRUE(line.Receive(&name));
    Machine machine;
    EXPECT_THAT(machine.linear().OpenShared(kFirst, name),
                HasDriverCode(DriverCode::kInvalidValue));
    for (char& part : name) {
      ++part;
      EXPECT_THAT(machine.linear().OpenShared(kFirst, name),
                  HasDriverCode(DriverCode::kInvalidValue));
      --part;
    }
  });
  Machine machine;
  const DeviceAddress address = machine.Allocate(MiB(3));
  const FileName name = machine.Share(address);
  EXPECT_THAT(machine.linear().OpenShared(kFirst, name),
              HasDriverCode(DriverCode::kInvalidContext));
  EXPECT_THAT(machine.linear().Free(address), IsOk());
  ASSERT_TRUE(importer.line().Send(name));
  EXPECT_TRUE(importer.Succeeds());
}

}  // namespace
}  // namespace twinmmu
