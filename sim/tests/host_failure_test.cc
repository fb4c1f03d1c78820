// The host runs out of memory, descriptors or addresses: each system call and each allocation of a
// script of all calls fails in turn. The call that was hit says OUT_OF_MEMORY (an export without
// descriptors: OPERATING_SYSTEM) and why, or does without; then everything is as it was, and the
// same call works.

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <numeric>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sim/testing/failing_host.h"
#include "sim/testing/test_machine.h"

namespace twinmmu {
namespace {

using failing_host::Fails;
using ::testing::Not;

// What the steps of the script hand on to each other.
struct World {
  explicit World(std::unique_ptr<Simulator> machine)
      : simulator(std::move(machine)),
        elsewhere(*Simulator::Create(simulator->profile())),
        vmm(**simulator->vmm()),
        executor(**simulator->executor()),
        arrays(**simulator->sparse_arrays()),
        other_vmm(**elsewhere->vmm()) {}
  ~World() {
    if (file >= 0) close(file);
  }

  AddressRange Granules(uint64_t first, uint64_t count) const {
    return At(space.base + first * kGranule, count * kGranule);
  }

  std::unique_ptr<Simulator> simulator;
  std::unique_ptr<Simulator> elsewhere;  // another machine, which imports
  Vmm& vmm;
  Executor& executor;
  SparseArrays& arrays;
  Vmm& other_vmm;
  AddressRange space;  // three reservations side by side: 8, 4 and 4 granules
  AllocationHandle plain, shared, host, overhanging, by_file, by_fabric, rdma;
  AllocationHandle foreign, foreign_by_fabric;  // elsewhere
  DeviceAddress small, large;                   // linear memory
  void* pinned = nullptr;
  ShareableHandle fabric;
  int file = -1;
  Stream stream;
  Event event;
  AllocationHandle tiles;
  Array sparse, with_memory, level;
  MipmappedArray mipmapped;
  std::array<char, 64> bytes = {};
};

struct Step {
  const char* name;
  std::function<absl::Status(World&)> run;
  DriverCode expected = DriverCode::kSuccess;
};

// Puts a result where later steps find it.
template <typename T, typename To>
absl::Status Store(const absl::StatusOr<T>& result, To& to) {
  if (result.ok()) to = *result;
  return result.status();
}

AllocationProperties SharedTwice() {
  AllocationProperties properties;
  properties.requested_handle_types = HandleType::kPosixFileDescriptor | HandleType::kFabric;
  return properties;
}

absl::Status GrantTo(World& w, const AddressRange& range, const Location& location, Access access) {
  return w.vmm.SetAccess(range, std::array{AccessGrant{location, access}});
}

std::vector<Step> Asking() {
  return {
      {"name", [](World& w) { return w.vmm.GetDeviceName(kDevice1).status(); }},
      {"no device", [](World& w) { return w.vmm.GetDeviceName(DeviceOrdinal(7)).status(); },
       DriverCode::kInvalidDevice},
      {"attribute",
       [](World& w) {
         return w.vmm.GetDeviceAttribute(DeviceAttribute::kDmaBufSupported, kDevice0).status();
       }},
      {"peer", [](World& w) { return w.vmm.CanAccessPeer(kDevice0, kDevice1).status(); }},
      {"granularity",
       [](World& w) { return w.vmm.GetAllocationGranularity({}, Granularity::kMinimum).status(); }},
  };
}

std::vector<Step> Building() {
  return {
      {"reserve", [](World& w) { return Store(w.vmm.AddressReserve(8 * kGranule), w.space); }},
      {"reserve behind",
       [](World& w) {
         return w.vmm.AddressReserve(4 * kGranule, {Bytes(0), w.space.end(), 0}).status();
       }},
      {"create", [](World& w) { return Store(w.vmm.Create(4 * kGranule, {}), w.plain); }},
      {"create shareable",
       [](World& w) { return Store(w.vmm.Create(2 * kGranule, SharedTwice()), w.shared); }},
      {"create on the host",
       [](World& w) { return Store(w.vmm.Create(2 * kGranule, On(Location::Host())), w.host); }},
      {"create another",
       [](World& w) { return Store(w.vmm.Create(4 * kGranule, {}), w.overhanging); }},
      {"map", [](World& w) { return w.vmm.Map(w.Granules(0, 4), w.plain); }},
      {"map over it", [](World& w) { return w.vmm.Map(w.Granules(2, 4), w.plain); },
       DriverCode::kInvalidValue},
      {"map shareable", [](World& w) { return w.vmm.Map(w.Granules(4, 2), w.shared); }},
      {"map the host's", [](World& w) { return w.vmm.Map(w.Granules(6, 2), w.host); }},
      {"map overhanging", [](World& w) { return w.vmm.Map(w.Granules(10, 4), w.overhanging); }},
      {"reserve under it",
       [](World& w) {
         return w.vmm.AddressReserve(4 * kGranule, {Bytes(0), w.Granules(12, 0).base, 0}).status();
       }},
      {"grant",
       [](World& w) {
         return w.vmm.SetAccess(w.Granules(0, 8), std::array{For(kDevice0, Access::kReadWrite),
                                                             For(kDevice1, Access::kRead)});
       }},
      {"grant to the CPU",
       [](World& w) { return GrantTo(w, w.Granules(6, 2), Location::Host(), Access::kReadWrite); }},
      {"let the CPU read",
       [](World& w) { return GrantTo(w, w.Granules(6, 2), Location::Host(), Access::kRead); }},
      {"hide from the CPU",
       [](World& w) { return GrantTo(w, w.Granules(6, 2), Location::Host(), Access::kNone); }},
      {"grant to the CPU again",
       [](World& w) { return GrantTo(w, w.Granules(6, 2), Location::Host(), Access::kReadWrite); }},
      {"grant what is not mapped",
       [](World& w) { return GrantTo(w, w.Granules(8, 2), Location::Host(), Access::kRead); },
       DriverCode::kInvalidValue},
  };
}

std::vector<Step> Using() {
  return {
      {"retain",
       [](World& w) { return w.vmm.RetainAllocationHandle(w.Granules(1, 1).base).status(); }},
      {"release what was retained", [](World& w) { return w.vmm.Release(w.plain); }},
      {"properties", [](World& w) { return w.vmm.GetAllocationProperties(w.plain).status(); }},
      {"access",
       [](World& w) { return w.vmm.GetAccess(Location::Host(), w.Granules(6, 1).base).status(); }},
      {"pointer attribute",
       [](World& w) {
         return w.vmm.GetPointerAttribute(kDevice0, PointerAttribute::kRangeSize, w.space.base)
             .status();
       }},
      {"address range",
       [](World& w) { return w.vmm.GetAddressRange(kDevice0, w.space.base).status(); }},
      {"export",
       [](World& w) {
         const auto exported =
             w.vmm.ExportShareableHandle(w.shared, HandleType::kPosixFileDescriptor);
         if (exported.ok()) w.file = exported->file_descriptor;
         return exported.status();
       }},
      {"import",
       [](World& w) {
         return Store(w.vmm.ImportShareableHandle(ShareableHandle::FileDescriptor(w.file)),
                      w.by_file);
       }},
      {"export to the fabric",
       [](World& w) {
         return Store(w.vmm.ExportShareableHandle(w.shared, HandleType::kFabric), w.fabric);
       }},
      {"import from the fabric",
       [](World& w) { return Store(w.vmm.ImportShareableHandle(w.fabric), w.by_fabric); }},
      {"import elsewhere",
       [](World& w) {
         return Store(w.other_vmm.ImportShareableHandle(ShareableHandle::FileDescriptor(w.file)),
                      w.foreign);
       }},
      {"release elsewhere", [](World& w) { return w.other_vmm.Release(w.foreign); }},
      {"import elsewhere from the fabric",
       [](World& w) {
         return Store(w.other_vmm.ImportShareableHandle(w.fabric), w.foreign_by_fabric);
       }},
      {"release what came from the fabric",
       [](World& w) { return w.other_vmm.Release(w.foreign_by_fabric); }},
      {"map the import", [](World& w) { return w.vmm.Map(w.Granules(8, 2), w.by_file); }},
      {"copy in",
       [](World& w) {
         return w.executor.CopyHostToDevice(kDevice0, w.space.base, w.bytes.data(), Bytes(64));
       }},
      {"copy",
       [](World& w) {
         return w.executor.CopyDeviceToDevice(kDevice0, w.Granules(6, 1).base, w.space.base,
                                              Bytes(64));
       }},
      {"fill",
       [](World& w) {
         return w.executor.Fill(kDevice0, w.space.base, {7, Bytes(1)}, 64);
       }},
      {"create stream",
       [](World& w) { return Store(w.executor.CreateStream(kDevice0), w.stream); }},
      {"create event", [](World& w) { return Store(w.executor.CreateEvent(kDevice0), w.event); }},
      {"fill later",
       [](World& w) {
         return w.executor.Fill(w.stream, w.space.base, {9, Bytes(1)}, 64);
       }},
      {"record", [](World& w) { return w.executor.RecordEvent(w.event, w.stream); }},
      {"wait", [](World& w) { return w.executor.WaitEvent(w.stream, w.event); }},
      {"copy out later",
       [](World& w) {
         return w.executor.CopyDeviceToHost(w.stream, w.bytes.data(), w.space.base, Bytes(64));
       }},
      {"ask the stream", [](World& w) { return w.executor.QueryStream(w.stream).status(); }},
      {"synchronise", [](World& w) { return w.executor.SynchronizeStream(w.stream); }},
      {"synchronise the device", [](World& w) { return w.executor.SynchronizeDevice(kDevice0); }},
  };
}

TileOperation FirstTile(const World& w, TileOperationType type) {
  TileOperation operation;
  operation.type = type;
  operation.array = w.sparse;
  operation.tiles.extent = {128, 128, 1};
  operation.memory = w.tiles;
  return operation;
}

std::vector<Step> UsingArrays() {
  constexpr ArrayExtent kOne{1, 1, 1};
  return {
      {"create a tile pool",
       [](World& w) {
         AllocationProperties properties;
         properties.usage = kUsageTilePool;
         return Store(w.vmm.Create(kGranule, properties), w.tiles);
       }},
      {"create a sparse array",
       [](World& w) {
         return Store(w.arrays.CreateArray(kDevice0, {{256, 256, 0}}), w.sparse);
       }},
      {"create an array with memory",
       [](World& w) {
         return Store(w.arrays.CreateArray(kDevice0, {{1024, 256, 0}, ArrayFormat::kUint32, 1, 0}),
                      w.with_memory);
       }},
      {"create a mipmapped array",
       [](World& w) {
         const ArrayDescriptor descriptor{{256, 256, 0}, ArrayFormat::kUint32, 1, 0};
         return Store(w.arrays.CreateMipmappedArray(kDevice0, descriptor, 9), w.mipmapped);
       }},
      {"level", [](World& w) { return Store(w.arrays.GetLevel(w.mipmapped, 1), w.level); }},
      {"sparse properties",
       [](World& w) { return w.arrays.GetArraySparseProperties(w.sparse).status(); }},
      {"map a tile",
       [](World& w) {
         return w.arrays.MapTiles(w.stream, {FirstTile(w, TileOperationType::kMap)});
       }},
      {"copy to the array",
       [kOne](World& w) {
         return w.arrays.CopyHostToArray(w.stream, w.sparse, {}, kOne, w.bytes.data());
       }},
      {"copy from the array",
       [kOne](World& w) {
         return w.arrays.CopyArrayToHost(w.stream, w.bytes.data(), w.sparse, {}, kOne);
       }},
      {"unmap a tile and map it again",
       [](World& w) {
         return w.arrays.MapTiles(w.stream, {FirstTile(w, TileOperationType::kUnmap),
                                             FirstTile(w, TileOperationType::kMap)});
       }},
      {"release the tile pool", [](World& w) { return w.vmm.Release(w.tiles); }},
      {"destroy a sparse array", [](World& w) { return w.arrays.DestroyArray(w.sparse); }},
      {"destroy one with memory", [](World& w) { return w.arrays.DestroyArray(w.with_memory); }},
      {"destroy a mipmapped array",
       [](World& w) { return w.arrays.DestroyMipmappedArray(w.mipmapped); }},
  };
}

std::vector<Step> UsingRdma() {
  return {
      {"create for RDMA",
       [](World& w) {
         AllocationProperties properties;
         properties.gpu_direct_rdma = 1;
         return Store(w.vmm.Create(kGranule, properties), w.rdma);
       }},
      {"map for RDMA", [](World& w) { return w.vmm.Map(w.Granules(14, 1), w.rdma); }},
      {"map for RDMA again", [](World& w) { return w.vmm.Map(w.Granules(15, 1), w.rdma); }},
      {"unmap the first for RDMA", [](World& w) { return w.vmm.Unmap(w.Granules(14, 1)); }},
      {"grant the second for RDMA",
       [](World& w) {
         return GrantTo(w, w.Granules(15, 1), Location::Device(kDevice0), Access::kRead);
       }},
      {"map for RDMA in vain", [](World& w) { return w.vmm.Map(w.Granules(14, 1), w.rdma); },
       DriverCode::kUnknown},
      {"unmap the second for RDMA", [](World& w) { return w.vmm.Unmap(w.Granules(15, 1)); }},
      {"release for RDMA", [](World& w) { return w.vmm.Release(w.rdma); }},
      {"destroy event", [](World& w) { return w.executor.DestroyEvent(w.event); }},
      {"destroy stream", [](World& w) { return w.executor.DestroyStream(w.stream); }},
  };
}

constexpr LinearCalls::Context kContext{kDevice0, 7};

DeviceAddress AddressOf(const void* memory) {
  return DeviceAddress(reinterpret_cast<uint64_t>(memory));
}

// Of memory that has its address from the start.
std::vector<Step> UsingLinear() {
  return {
      {"allocate",
       [](World& w) {
         return Store(w.simulator->linear().Allocate(kContext, 2 * kGranule), w.large);
       }},
      {"allocate little",
       [](World& w) {
         return Store(w.simulator->linear().Allocate(kContext, Bytes(64)), w.small);
       }},
      {"allocate in a context",
       [](World& w) {
         return w.simulator->linear().Allocate({kDevice1, 8}, Bytes(64)).status();
       }},
      {"pin",
       [](World& w) {
         return Store(w.simulator->linear().AllocateHost(kContext, Bytes(64), 0), w.pinned);
       }},
      {"register",
       [](World& w) {
         return w.simulator->linear().RegisterHost(kContext, w.bytes.data(), Bytes(64), 0);
       }},
      {"copy plain",
       [](World& w) {
         return w.executor.CopyDeviceToDevice(kDevice0, w.large, w.small, Bytes(64));
       }},
      {"copy from anywhere",
       [](World& w) {
         return w.simulator->linear().Copy(w.stream, AddressOf(w.pinned), w.space.base, Bytes(64));
       }},
      {"copy beyond the end",
       [](World& w) {
         return w.executor.CopyDeviceToDevice(kDevice0, w.large, w.small, Bytes(65));
       },
       DriverCode::kInvalidValue},
      {"enable peer access",
       [](World& w) { return w.simulator->linear().EnablePeerAccess(kContext, kDevice1); }},
      {"disable peer access",
       [](World& w) { return w.simulator->linear().DisablePeerAccess(kContext, kDevice1); }},
      {"free the inside", [](World& w) { return w.simulator->linear().Free(w.large + Bytes(1)); },
       DriverCode::kInvalidValue},
      {"free large", [](World& w) { return w.simulator->linear().Free(w.large); }},
      {"free little", [](World& w) { return w.simulator->linear().Free(w.small); }},
      {"allocate again",
       [](World& w) { return Store(w.simulator->linear().Allocate(kContext, kGranule), w.large); }},
      {"unregister", [](World& w) { return w.simulator->linear().UnregisterHost(w.bytes.data()); }},
      {"free pinned", [](World& w) { return w.simulator->linear().FreeHost(w.pinned); }},
      {"end the context", [](World& w) { return w.simulator->linear().FreeOwnedBy(7); }},
      {"end the other", [](World& w) { return w.simulator->linear().FreeOwnedBy(8); }},
  };
}

// What is let pass, with a warning, for which there may be no memory.
std::vector<Step> Misusing() {
  return {
      {"unmap nothing", [](World& w) { return w.vmm.Unmap(w.Granules(14, 2)); }},
      {"answer for the host",
       [](World& w) { return w.vmm.GetAccess(Location::Host(), w.space.base).status(); }},
      {"range of the host's",
       [](World& w) { return w.vmm.GetAddressRange(kDevice0, w.Granules(6, 1).base).status(); }},
      {"grant in part",
       [](World& w) { return GrantTo(w, w.Granules(6, 4), Location::Host(), Access::kReadWrite); },
       DriverCode::kNotSupported},
      {"granularity of nothing",
       [](World& w) {
         return w.vmm
             .GetAllocationGranularity(On(Location::Device(DeviceOrdinal(7))),
                                       Granularity::kMinimum)
             .status();
       }},
      {"fill that wraps",
       [](World& w) {
         return w.executor.Fill(kDevice0, w.space.base, {9, Bytes(4)}, (uint64_t{1} << 62) + 1);
       }},
      {"wait for it", [](World& w) { return w.executor.SynchronizeDevice(kDevice0); }},
      {"properties of what is released",
       [](World& w) {
         absl::Status status = w.vmm.Release(w.plain);
         if (status.ok()) status = w.vmm.GetAllocationProperties(w.plain).status();
         w.vmm.RetainAllocationHandle(w.space.base).IgnoreError();
         return status;
       }},
  };
}

std::vector<Step> Ending() {
  return {
      {"unmap a part", [](World& w) { return w.vmm.Unmap(w.Granules(0, 2)); },
       DriverCode::kInvalidValue},
      {"release the host's", [](World& w) { return w.vmm.Release(w.host); }},
      {"unmap", [](World& w) { return w.vmm.Unmap(w.Granules(0, 6)); }},
      {"unmap from the last address",
       [](World& w) {
         const DeviceAddress last(~uint64_t{0});
         return w.vmm.Unmap({last, w.Granules(8, 0).base - last, Bytes(0)});
       }},
      {"unmap the import", [](World& w) { return w.vmm.Unmap(w.Granules(8, 2)); }},
      {"unmap overhanging", [](World& w) { return w.vmm.Unmap(w.Granules(10, 4)); }},
      {"release", [](World& w) { return w.vmm.Release(w.plain); }},
      {"release another", [](World& w) { return w.vmm.Release(w.overhanging); }},
      {"release shareable", [](World& w) { return w.vmm.Release(w.shared); }},
      {"release the fabric's", [](World& w) { return w.vmm.Release(w.by_fabric); }},
      {"release the import", [](World& w) { return w.vmm.Release(w.by_file); }},
      {"memory kept by a descriptor",
       [](World& w) { return w.vmm.GetMemoryInfo(kDevice0).status(); }},
      {"memory after that",
       [](World& w) {
         if (w.file >= 0) close(std::exchange(w.file, -1));
         return w.vmm.GetMemoryInfo(kDevice0).status();
       }},
      {"free", [](World& w) { return w.vmm.AddressFree(w.Granules(0, 8)); }},
      {"free behind", [](World& w) { return w.vmm.AddressFree(w.Granules(8, 4)); }},
      {"free the last", [](World& w) { return w.vmm.AddressFree(w.Granules(12, 4)); }},
  };
}

std::vector<Step> Script() {
  std::vector<Step> script = Asking();
  for (const std::vector<Step>& part :
       {Building(), Using(), UsingArrays(), UsingLinear(), UsingRdma(), Misusing(), Ending()}) {
    script.insert(script.end(), part.begin(), part.end());
  }
  return script;
}

ptrdiff_t OpenFiles() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

// Whether the CPU can read there: the kernel says, by an error instead of a signal.
bool CpuReads(DeviceAddress address) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const bool reads = write(ends[1], reinterpret_cast<const void*>(address.value()), 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return reads;
}

// All that a client can see, and what the host has given for it.
std::string StateOf(World& w, bool what_the_cpu_sees) {
  std::ostringstream out;
  for (const DeviceOrdinal device : {kDevice0, kDevice1}) {
    out << w.vmm.GetMemoryInfo(device)->free << " free, ";
    out << w.other_vmm.GetMemoryInfo(device)->free << " elsewhere, ";
  }
  out << failing_host::MappedBytes() << " mapped, " << OpenFiles() << " files\n";
  for (const AllocationHandle handle : {w.plain, w.shared, w.host, w.by_file, w.by_fabric}) {
    const auto properties = w.vmm.GetAllocationProperties(handle);
    out << (properties.ok() ? ToString(*properties) : "gone") << "\n";
  }
  for (const DeviceAddress address :
       {w.small, w.large, AddressOf(w.pinned), AddressOf(w.bytes.data())}) {
    out << (w.simulator->linear().Find(address).ok() ? "plain" : "nothing") << "\n";
  }
  for (const Array array : {w.sparse, w.with_memory, w.level}) {
    uint32_t word = 0;
    const absl::Status read =
        w.arrays.CopyArrayToHost(Stream(kDevice0), &word, array, {}, {1, 1, 1});
    EXPECT_THAT(w.executor.SynchronizeDevice(kDevice0), IsOk());
    out << (read.ok() ? absl::StrCat("an array with ", word) : "no array") << "\n";
  }
  for (uint64_t i = 0; i < 18 && w.space.base != DeviceAddress(0); ++i) {
    const DeviceAddress at = w.Granules(i, 1).base;
    const auto handle = w.vmm.RetainAllocationHandle(at);
    if (handle.ok()) {
      EXPECT_THAT(w.vmm.Release(*handle), IsOk());
    }
    out << i << ": " << (handle.ok() ? *handle : AllocationHandle(0));
    for (const Location& location :
         {Location::Device(kDevice0), Location::Device(kDevice1), Location::HostNuma(0)}) {
      const auto access = w.vmm.GetAccess(location, at);
      out << " " << (access.ok() ? ToString(*access) : "unmapped");
    }
    for (const PointerAttribute attribute :
         {PointerAttribute::kRangeSize, PointerAttribute::kMappingBaseAddress}) {
      out << " " << w.vmm.GetPointerAttribute(kDevice0, attribute, at).value_or(0);
    }
    uint32_t word = 0;
    if (w.executor.CopyDeviceToHost(kDevice0, &word, at, Bytes(4)).ok()) out << " holds " << word;
    if (what_the_cpu_sees && w.simulator->profile().window.claimed)
      out << (CpuReads(at) ? " shown" : "");
    out << "\n";
  }
  return out.str();
}

// What fails in one run of the script, and when work runs there.
struct Failure {
  Fails what;
  bool for_good;
  uint64_t n;
  StreamPolicy policy;
};

// Runs a step where a failure may hit it; if it does, the step runs a second time. `uses`: how many
// calls or allocations the step makes if none fails.
void RunStep(World& w, const Step& step, uint64_t uses, bool for_good) {
  SCOPED_TRACE(step.name);
  const bool is_hit = failing_host::Countdown() < uses;
  // Where the host refuses for good, it also refuses to hide again what was shown.
  const std::string before = is_hit ? StateOf(w, !for_good) : "";
  absl::Status status;
  bool failed = false;
  try {
    const failing_host::Scope scope;
    status = step.run(w);
    failed = scope.failed();
  } catch (const std::exception& thrown) {
    ADD_FAILURE() << "throws " << thrown.what();
  }
  const DriverCode code = GetDriverCode(status);
  if (failed && (code == DriverCode::kOutOfMemory || code == DriverCode::kOperatingSystem)) {
    EXPECT_THAT(std::string(status.message()), Not(::testing::IsEmpty()));
    EXPECT_EQ(StateOf(w, !for_good), before) << status;
    status = step.run(w);
  }
  EXPECT_EQ(GetDriverCode(status), step.expected) << status;
}

std::unique_ptr<Simulator> MakeSimulator(StreamPolicy policy) {
  Profile profile = *Profile::Named("fabric-permitted");
  profile.fabric_domain = testing::TempDir() + "fabric";
  std::filesystem::create_directories(profile.fabric_domain + "/channel0");
  profile.stream_policy = policy;
  SimulatorOptions options;
  options.diagnostics_kept = 17;  // as many as the script raises: StateOf raises many more
  absl::StatusOr<std::unique_ptr<Simulator>> simulator;
  bool failed = false;
  {
    const failing_host::Scope scope;
    simulator = Simulator::Create(profile, options);
    failed = scope.failed();
  }
  if (simulator.ok()) return *std::move(simulator);
  EXPECT_TRUE(failed);
  EXPECT_THAT(simulator, StatusIs(absl::StatusCode::kResourceExhausted));
  return *Simulator::Create(profile, options);
}

// How many calls or allocations each step makes; the first is to make the simulator.
std::vector<uint64_t> CountUses(const std::vector<Step>& script, Fails what, StreamPolicy policy) {
  constexpr uint64_t kNever = ~uint64_t{0};
  std::vector<uint64_t> uses;
  failing_host::FailAt(what, kNever, false);
  World world(MakeSimulator(policy));
  uses.push_back(kNever - failing_host::Countdown());
  for (const Step& step : script) {
    const uint64_t left = failing_host::Countdown();
    RunStep(world, step, 0, false);
    uses.push_back(left - failing_host::Countdown());
  }
  return uses;
}

void RunScript(const std::vector<Step>& script, const std::vector<uint64_t>& uses,
               const Failure& failure) {
  failing_host::FailAt(failure.what, failure.n, failure.for_good);
  World world(MakeSimulator(failure.policy));
  const MemoryInfo fresh = *world.vmm.GetMemoryInfo(kDevice0);
  for (size_t i = 0; i < script.size(); ++i) {
    RunStep(world, script[i], uses[i + 1], failure.for_good);
  }
  EXPECT_EQ(world.vmm.GetMemoryInfo(kDevice0)->free, fresh.free);
}

// What the process has of its host.
struct Held {
  int64_t mapped_bytes;
  int64_t objects;
  ptrdiff_t files;

  bool operator==(const Held& other) const {
    return mapped_bytes == other.mapped_bytes && objects == other.objects && files == other.files;
  }
};

Held HeldNow() { return {failing_host::MappedBytes(), failing_host::LiveObjects(), OpenFiles()}; }

void ExpectNothingIsLost(const std::vector<Step>& script, const std::vector<uint64_t>& uses,
                         const Failure& failure) {
  SCOPED_TRACE(failure.n);
  Held before = HeldNow();
  RunScript(script, uses, failure);
  // Libraries keep what they need once for all failures. What is lost is lost again.
  if (!(HeldNow() == before)) {
    before = HeldNow();
    RunScript(script, uses, failure);
  }
  const Held after = HeldNow();
  EXPECT_EQ(after.mapped_bytes, before.mapped_bytes);
  EXPECT_EQ(after.objects, before.objects);
  EXPECT_EQ(after.files, before.files);
}

class HostFailureTest : public testing::TestWithParam<std::tuple<Fails, bool, StreamPolicy>> {};

// How many allocations there are from one that fails to the next. Each fails in one of the four
// ways here (alone or with all that follow in the same call, and by when work runs), with
// --config=campaign in all four.
uint64_t StrideOf(Fails what) {
  return what == Fails::kMemory && std::getenv("CAMPAIGN") == nullptr ? 4 : 1;
}

// Each failure in turn changes and loses nothing.
TEST_P(HostFailureTest, NothingIsLost) {
  const auto& [what, for_good, policy] = GetParam();
  const std::vector<Step> script = Script();
  const std::vector<uint64_t> uses = CountUses(script, what, policy);
  const uint64_t total = std::accumulate(uses.begin(), uses.end(), uint64_t{0});
  // Were the script not reached by failures, this test would prove nothing. (There are 25 system
  // calls where the window is not claimed, more where it is.)
  ASSERT_GE(total, 25u);
  // What the first error of a process makes for all to come is no loss.
  RunScript(script, uses, Failure{what, for_good, 0, policy});
  const uint64_t stride = StrideOf(what);
  const uint64_t way = 2 * (policy == StreamPolicy::kDeferred) + for_good;
  for (uint64_t n = way % stride; n < total && !HasFailure(); n += stride) {
    ExpectNothingIsLost(script, uses, Failure{what, for_good, n, policy});
  }
  RecordProperty("failures", std::to_string(total));
}

// Memory of an array that the host does not take back goes when the next array is made.
TEST(KeptArrayTest, GoesWithTheNextArray) {
  const auto simulator = MakeSimulator(StreamPolicy::kEager);
  SparseArrays& arrays = **simulator->sparse_arrays();
  const ArrayDescriptor descriptor{{1024, 256, 0}, ArrayFormat::kUint32, 1, 0};
  const int64_t before = failing_host::MappedBytes();
  const Array first = *arrays.CreateArray(kDevice0, descriptor);
  const int64_t with_one = failing_host::MappedBytes();
  ASSERT_GT(with_one, before);
  {
    failing_host::FailAt(Fails::kSystemCalls, 0, /*for_good=*/true);
    const failing_host::Scope scope;
    EXPECT_THAT(arrays.DestroyArray(first), IsOk());
    EXPECT_TRUE(scope.failed());
  }
  EXPECT_EQ(failing_host::MappedBytes(), with_one);
  const Array second = *arrays.CreateArray(kDevice0, descriptor);
  EXPECT_EQ(failing_host::MappedBytes(), with_one);
  EXPECT_THAT(arrays.DestroyArray(second), IsOk());
  EXPECT_EQ(failing_host::MappedBytes(), before);
}

INSTANTIATE_TEST_SUITE_P(
    All, HostFailureTest,
    testing::Combine(testing::Values(Fails::kSystemCalls, Fails::kMemory), testing::Bool(),
                     testing::Values(StreamPolicy::kEager, StreamPolicy::kDeferred)));

}  // namespace
}  // namespace twinmmu
