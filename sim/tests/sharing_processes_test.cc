// Exported memory in two processes, each with a simulator of its own.

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <iterator>
#include <vector>

#include "sim/testing/sharing_machine.h"
#include "sim/testing/two_processes.h"

namespace twinmmu {
namespace {

constexpr Bytes kSize = SharingMachine::kSize;

// Waits until the other process says so.
void Await(Line& line) {
  char byte;
  ASSERT_TRUE(line.Receive(&byte));
}
void Say(Line& line) { ASSERT_TRUE(line.Send('.')); }

// The descriptor that the other process sends.
int Get(Line& line) {
  char byte;
  int descriptor = -1;
  EXPECT_TRUE(line.Receive(&byte, &descriptor));
  return descriptor;
}
void Give(Line& line, int descriptor) {
  EXPECT_TRUE(line.Send('.', descriptor));
  close(descriptor);
}

// What one process writes, the other one reads, both ways.
TEST(SharingProcessesTest, SeeEachOthersData) {
  OtherProcess importer([](Line& line) {
    SharingMachine machine;
    const AddressRange range = machine.Map(machine.Take(Get(line)));
    EXPECT_EQ(machine.Read(range), 1u);
    machine.Write(range, 2);
    Say(line);
  });
  SharingMachine machine;
  const AllocationHandle handle = machine.Create();
  const AddressRange range = machine.Map(handle);
  machine.Write(range, 1);
  Give(importer.line(), machine.Export(handle));
  Await(importer.line());
  EXPECT_EQ(machine.Read(range), 2u);
  EXPECT_TRUE(importer.Succeeds());
}

// An import has the exporter's properties, but cannot be exported, and is not for GPUDirect RDMA.
TEST(SharingProcessesTest, PropertiesTravel) {
  AllocationProperties asked = Shareable();
  asked.location = Location::Device(kDevice1);
  asked.compression = CompressionType::kGeneric;
  OtherProcess importer([&](Line& line) {
    SharingMachine machine;
    const AllocationHandle handle = machine.Take(Get(line));
    AllocationProperties expected = asked;
    expected.requested_handle_types = HandleType::kNone;
    EXPECT_THAT(machine.vmm().GetAllocationProperties(handle), IsOkAndHolds(expected));
    EXPECT_THAT(machine.vmm().ExportShareableHandle(handle, HandleType::kPosixFileDescriptor),
                HasDriverCode(DriverCode::kInvalidValue));
  });
  SharingMachine machine;
  Give(importer.line(), machine.Export(*machine.vmm().Create(kGranule, asked)));
  EXPECT_TRUE(importer.Succeeds());
}

// Memory of the host is seen by the CPU of both.
TEST(SharingProcessesTest, ShareMemoryOfTheHost) {
  if (!Profile::ReferenceH200().window.claimed) GTEST_SKIP() << "no room for a window";
  const auto show = [](SharingMachine& machine, AllocationHandle handle) {
    const AddressRange range = machine.Map(handle);
    EXPECT_THAT(machine.vmm().SetAccess(range, std::array{ForHost(Access::kReadWrite)}), IsOk());
    return reinterpret_cast<volatile uint32_t*>(range.base.value());
  };
  OtherProcess importer([&](Line& line) {
    SharingMachine machine;
    *show(machine, machine.Take(Get(line))) = 7;
    Say(line);
  });
  SharingMachine machine;
  AllocationProperties properties = Shareable();
  properties.location = Location::HostNuma(0);
  const AllocationHandle handle = *machine.vmm().Create(kSize, properties);
  volatile uint32_t* const word = show(machine, handle);
  Give(importer.line(), machine.Export(handle));
  Await(importer.line());
  EXPECT_EQ(*word, 7u);
  EXPECT_TRUE(importer.Succeeds());
}

// Several imports in one process take room once, from the first to the end of the last.
TEST(SharingProcessesTest, ImportsTakeRoomOnce) {
  OtherProcess importer([](Line& line) {
    SharingMachine machine;
    const Bytes free = machine.free();
    const int descriptor = Get(line);
    const AllocationHandle first = *machine.Import(descriptor);
    const AllocationHandle second = machine.Take(descriptor);
    EXPECT_NE(first, second);
    EXPECT_EQ(machine.free(), free - kSize);
    const AddressRange range = machine.Map(first);
    machine.Write(range, 3);
    machine.Drop(range, first);
    EXPECT_EQ(machine.free(), free - kSize);
    const AddressRange other = machine.Map(second);
    EXPECT_EQ(machine.Read(other), 3u);
    machine.Drop(other, second);
    EXPECT_EQ(machine.free(), free);
  });
  SharingMachine machine;
  Give(importer.line(), machine.Export(machine.Create()));
  EXPECT_TRUE(importer.Succeeds());
}

// What comes back to the process that made it is the same memory, and takes no room again.
TEST(SharingProcessesTest, ADescriptorComesBack) {
  OtherProcess importer([](Line& line) {
    SharingMachine machine;
    const int descriptor = Get(line);
    EXPECT_THAT(machine.Import(descriptor), IsOk());
    Give(line, descriptor);
  });
  SharingMachine machine;
  const AllocationHandle handle = machine.Create();
  const AddressRange range = machine.Map(handle);
  Give(importer.line(), machine.Export(handle));
  const int back = Get(importer.line());
  const Bytes free = machine.free();
  const AddressRange alias = machine.Map(machine.Take(back));
  EXPECT_EQ(machine.free(), free);
  machine.Write(range, 4);
  EXPECT_EQ(machine.Read(alias), 4u);
  EXPECT_TRUE(importer.Succeeds());
}

// The exporter's machine counts memory until nobody has it any more, here or elsewhere.
TEST(SharingProcessesTest, TheImporterKeepsTheMemory) {
  OtherProcess importer([](Line& line) {
    SharingMachine machine;
    const AllocationHandle handle = machine.Take(Get(line));
    const AddressRange range = machine.Map(handle);
    Say(line);
    Await(line);
    EXPECT_EQ(machine.Read(range), 5u);
    machine.Drop(range, handle);
    Say(line);
    Await(line);
  });
  SharingMachine machine;
  const Bytes free = machine.free();
  const AllocationHandle handle = machine.Create();
  const AddressRange range = machine.Map(handle);
  machine.Write(range, 5);
  Give(importer.line(), machine.Export(handle));
  Await(importer.line());
  machine.Drop(range, handle);
  EXPECT_EQ(machine.free(), free - kSize);
  Say(importer.line());
  Await(importer.line());
  EXPECT_EQ(machine.free(), free);
  Say(importer.line());
  EXPECT_TRUE(importer.Succeeds());
}

// A descriptor is left by the process that has it open. What another one has got is not.
TEST(SharingProcessesTest, WhatWasSentAndClosedIsNotLeft) {
  OtherProcess importer([](Line& line) {
    SharingMachine machine;
    machine.Map(machine.Take(Get(line)));
    Say(line);
    Await(line);
  });
  SharingMachine machine;
  const AllocationHandle handle = machine.Create();
  const int descriptor = machine.Export(handle);
  EXPECT_THAT(machine.vmm().Release(handle), IsOk());
  ASSERT_EQ(machine.simulator().leaks().size(), 1u);
  EXPECT_EQ(machine.simulator().leaks()[0].kind, DiagnosticKind::kLeakedDescriptor);
  Give(importer.line(), descriptor);
  Await(importer.line());
  EXPECT_TRUE(machine.simulator().leaks().empty());
  Say(importer.line());
  EXPECT_TRUE(importer.Succeeds());
}

// Import needs no descriptor, and keeps none.
TEST(SharingProcessesTest, ImportsWithoutADescriptorLeft) {
  OtherProcess importer([](Line& line) {
    SharingMachine machine;
    const auto open_files = [] {
      const std::filesystem::directory_iterator files("/proc/self/fd");
      return std::distance(begin(files), end(files));
    };
    const auto before = open_files();
    const int descriptor = Get(line);
    rlimit usual;
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
    rlimit none_left = usual;
    none_left.rlim_cur = 0;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none_left), 0);
    const AllocationHandle handle = machine.Take(descriptor);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
    machine.Map(handle);
    EXPECT_EQ(open_files(), before);
  });
  SharingMachine machine;
  Give(importer.line(), machine.Export(machine.Create()));
  EXPECT_TRUE(importer.Succeeds());
}

// --- One process is killed, at each point where the other one could notice

// The steps of one side, each of which says when it is done.
using Steps = std::vector<std::function<void()>>;

// Does the first `count` steps, tells the other process, and waits there to be killed.
void DoUpTo(size_t count, const Steps& steps, Line& line) {
  for (size_t i = 0; i < count; ++i) steps[i]();
  Say(line);
  while (true) pause();
}

// However far an importer came, its death gives back what it had.
TEST(SharingProcessesTest, AKilledImporterKeepsNothing) {
  for (size_t killed_at = 0; killed_at <= 5; ++killed_at) {
    SCOPED_TRACE(killed_at);
    OtherProcess importer([&](Line& line) {
      SharingMachine machine;
      int descriptor = -1;
      AllocationHandle handle;
      AddressRange range;
      DoUpTo(killed_at,
             {[&] { descriptor = Get(line); }, [&] { handle = *machine.Import(descriptor); },
              [&] { range = machine.Map(handle); }, [&] { close(descriptor); },
              [&] { machine.Write(range, 6); }},
             line);
    });
    SharingMachine machine;
    const Bytes free = machine.free();
    const AllocationHandle handle = machine.Create();
    Give(importer.line(), machine.Export(handle));
    Await(importer.line());
    EXPECT_THAT(machine.vmm().Release(handle), IsOk());
    EXPECT_EQ(machine.free(), free - kSize);
    importer.Kill();
    importer.line().Close();  // in which the descriptor may still be
    EXPECT_EQ(machine.free(), free);
  }
}

// However far an exporter came after it sent the descriptor, its memory is there.
TEST(SharingProcessesTest, MemoryOutlivesAKilledExporter) {
  for (size_t killed_at = 2; killed_at <= 4; ++killed_at) {
    SCOPED_TRACE(killed_at);
    OtherProcess exporter([&](Line& line) {
      SharingMachine machine;
      AllocationHandle handle;
      AddressRange range;
      DoUpTo(killed_at,
             {[&] {
                handle = machine.Create();
                range = machine.Map(handle);
                machine.Write(range, 8);
              },
              [&] { Give(line, machine.Export(handle)); },
              [&] { EXPECT_THAT(machine.vmm().Unmap(range), IsOk()); },
              [&] { EXPECT_THAT(machine.vmm().Release(handle), IsOk()); }},
             line);
    });
    SharingMachine machine;
    const Bytes free = machine.free();
    const int descriptor = Get(exporter.line());
    Await(exporter.line());
    exporter.Kill();
    const AllocationHandle handle = machine.Take(descriptor);
    const AddressRange range = machine.Map(handle);
    EXPECT_EQ(machine.Read(range), 8u);
    EXPECT_EQ(machine.free(), free - kSize);
    machine.Drop(range, handle);
    EXPECT_EQ(machine.free(), free);
  }
}

}  // namespace
}  // namespace twinmmu
