// CheckedVmm says what the simulator says: small programs, each wrong in one way, on both.

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "api/testing/checked_vmm.h"
#include "api/testing/matchers.h"
#include "conformance/instances/checked_words.h"
#include "conformance/instances/cuda_on_sim_target.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/simulator.h"

namespace twinmmu::conformance {
namespace {

using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

constexpr Bytes kGranule = MiB(2);
constexpr DeviceOrdinal kDevice0(0);

AddressRange Part(const AddressRange& range, uint64_t first, uint64_t granules) {
  return AddressRange{range.base + first * kGranule, granules * kGranule, Bytes(0)};
}

// The steps of the programs. What comes of a wrong one is not their concern.
class Steps {
 public:
  explicit Steps(Vmm* vmm) : vmm_(*vmm) {}

  Vmm& vmm() { return vmm_; }
  AddressRange Reserve(uint64_t granules, DeviceAddress hint = DeviceAddress(0)) {
    return *vmm_.AddressReserve(granules * kGranule, {Bytes(0), hint, 0});
  }
  AllocationHandle Create(uint64_t granules, const AllocationProperties& properties = {}) {
    return *vmm_.Create(granules * kGranule, properties);
  }
  void Map(const AddressRange& range, AllocationHandle handle) {
    vmm_.Map(range, handle).IgnoreError();
  }
  AllocationHandle MapNew(const AddressRange& range, const AllocationProperties& properties = {}) {
    const AllocationHandle handle = Create(range.size / kGranule, properties);
    Map(range, handle);
    return handle;
  }
  void Grant(const AddressRange& range, std::vector<AccessGrant> grants) {
    vmm_.SetAccess(range, grants).IgnoreError();
  }
  void Unmap(const AddressRange& range) { vmm_.Unmap(range).IgnoreError(); }
  void Free(const AddressRange& range) { vmm_.AddressFree(range).IgnoreError(); }
  void Release(AllocationHandle handle) { vmm_.Release(handle).IgnoreError(); }
  // Reserved, mapped, granted to device 0.
  AddressRange Ready(uint64_t granules) {
    const AddressRange range = Reserve(granules);
    MapNew(range);
    Grant(range, {{Location::Device(kDevice0), Access::kReadWrite}});
    return range;
  }
  void Export(AllocationHandle handle) {
    vmm_.ExportShareableHandle(handle, HandleType::kPosixFileDescriptor).IgnoreError();
  }

 private:
  Vmm& vmm_;
};

AllocationProperties Shareable() {
  AllocationProperties properties;
  properties.requested_handle_types = HandleType::kPosixFileDescriptor;
  return properties;
}
constexpr AccessGrant kHostReads{Location::Host(), Access::kRead};
constexpr AccessGrant kDeviceReads{Location::Device(kDevice0), Access::kRead};
constexpr DeviceAddress kLastAddress(~uint64_t{0});

struct Program {
  const char* name;
  void (*run)(Steps& steps);
};

const Program kPrograms[] = {
    {"DoubleFree",
     [](Steps& s) {
       const AddressRange range = s.Reserve(1);
       s.Free(range);
       s.Free(range);
     }},
    {"FreeOfUnreserved",
     [](Steps& s) {
       const AddressRange range = s.Reserve(1);
       s.Free({range.end() + GiB(1), kGranule, Bytes(0)});
       s.Free({DeviceAddress(4096), kGranule, Bytes(0)});
       s.Free({});
     }},
    {"FreeOfPart", [](Steps& s) { s.Free(Part(s.Reserve(2), 1, 1)); }},
    {"FreeWhileMapped",
     [](Steps& s) {
       const AddressRange range = s.Reserve(2);
       s.MapNew(Part(range, 1, 1));
       s.Free(range);
     }},
    {"DoubleRelease",
     [](Steps& s) {
       const AllocationHandle handle = s.Create(1);
       s.Release(handle);
       s.Release(handle);
     }},
    {"DoubleReleaseWhileMapped",
     [](Steps& s) {
       const AllocationHandle handle = s.MapNew(s.Reserve(1));
       s.Release(handle);
       s.Release(handle);
     }},
    {"UseOfDeadHandle",
     [](Steps& s) {
       const AddressRange range = s.Reserve(1);
       const AllocationHandle handle = s.Create(1);
       s.Release(handle);
       s.Map(range, handle);
       s.Export(handle);
       s.vmm().GetAllocationProperties(handle).status().IgnoreError();
     }},
    {"UseOfReleasedHandle",
     [](Steps& s) {
       const AddressRange range = s.Reserve(2);
       const AllocationHandle handle = s.MapNew(Part(range, 0, 1), Shareable());
       s.Release(handle);
       s.Map(Part(range, 1, 1), handle);
       s.vmm().GetAllocationProperties(handle).status().IgnoreError();
     }},
    {"UseOfUnknownHandle",
     [](Steps& s) {
       for (const uint64_t value : {uint64_t{0}, uint64_t{0xbad}, ~uint64_t{0}}) {
         s.Release(AllocationHandle(value));
         s.Map(s.Reserve(1), AllocationHandle(value));
       }
     }},
    {"MapOfUnreserved",
     [](Steps& s) {
       const AddressRange range = s.Reserve(1);
       const AllocationHandle handle = s.Create(1);
       s.Free(range);
       s.Map(range, handle);
     }},
    {"MapMisaligned",
     [](Steps& s) {
       const AddressRange range = s.Reserve(2);
       s.Map({range.base + KiB(4), kGranule, Bytes(0)}, s.Create(1));
     }},
    {"MapOverMapped",
     [](Steps& s) {
       const AddressRange range = s.Reserve(3);
       s.MapNew(Part(range, 1, 1));
       s.MapNew(range);
     }},
    {"MapBeyondAllocation", [](Steps& s) { s.Map(s.Reserve(2), s.Create(1)); }},
    {"MapBeyondReservation", [](Steps& s) { s.Map(Part(s.Reserve(2), 1, 2), s.Create(2)); }},
    {"MapWithFlags",
     [](Steps& s) { s.vmm().Map(s.Reserve(1), s.Create(1), Bytes(0), 1).IgnoreError(); }},
    {"UnmapOfUnreserved",
     [](Steps& s) {
       const AddressRange range = s.Reserve(1);
       s.Free(range);
       s.Unmap(range);
     }},
    {"UnmapOfLastAddress",
     [](Steps& s) {
       const AddressRange range = s.Ready(2);
       s.Unmap({kLastAddress, range.end() - kLastAddress, Bytes(0)});
     }},
    {"UnmapOfPart", [](Steps& s) { s.Unmap(Part(s.Ready(2), 0, 1)); }},
    {"DoubleUnmap",
     [](Steps& s) {
       const AddressRange range = s.Ready(1);
       s.Unmap(range);
       s.Unmap(range);
     }},
    {"UnmapOfNothing",
     [](Steps& s) {
       const AddressRange range = s.Ready(1);
       s.Unmap(range);
       s.Free(range);
       s.Unmap(s.Reserve(1, range.base));
     }},
    {"UnmapOverHoles",
     [](Steps& s) {
       const AddressRange range = s.Reserve(3);
       s.MapNew(Part(range, 0, 1));
       s.MapNew(Part(range, 2, 1));
       s.Unmap(range);
     }},
    {"UnmapBeyondReservation", [](Steps& s) { s.Unmap(Part(s.Ready(1), 0, 2)); }},
    {"UnmapOfWrappedRange",
     [](Steps& s) {
       s.Unmap({s.Ready(1).base, Bytes(0) - kGranule, Bytes(0)});
     }},
    {"AccessOfUnmapped",
     [](Steps& s) {
       const AddressRange range = s.Ready(1);
       s.Unmap(range);
       s.Grant(range, {kDeviceReads});
     }},
    {"AccessOfPart",
     [](Steps& s) {
       const AddressRange range = s.Ready(2);
       s.Grant(Part(range, 0, 1), {kDeviceReads});
       s.Grant(Part(range, 1, 1), {kDeviceReads});
     }},
    {"AccessStopsAtHole",
     [](Steps& s) {
       const AddressRange range = s.Reserve(3);
       s.MapNew(Part(range, 0, 1));
       s.MapNew(Part(range, 2, 1));
       s.Grant(range, {kDeviceReads});
       s.Unmap(Part(range, 1, 1));
     }},
    {"AccessAppliedInPart",
     [](Steps& s) {
       const AddressRange range = s.Reserve(1);
       s.MapNew(range);
       s.Grant(range, {kHostReads});
       s.Grant(range, {kDeviceReads, kHostReads});
       s.Grant(range, {kDeviceReads, kHostReads});
     }},
    {"AccessOfNoDevice",
     [](Steps& s) {
       s.Grant(s.Reserve(1), {{Location::Device(DeviceOrdinal(99)), Access::kRead}});
     }},
    {"AccessOfHostMisreported",
     [](Steps& s) {
       const AddressRange range = s.Ready(1);
       s.vmm().GetAccess(Location::Host(), range.base).status().IgnoreError();
       s.vmm().GetAccess(Location::HostNuma(0), range.base).status().IgnoreError();
     }},
    {"RangeOfHostMemoryMisreported",
     [](Steps& s) {
       AllocationProperties on_host;
       on_host.location = Location::HostNuma(0);
       const AddressRange range = s.Reserve(1);
       s.MapNew(range, on_host);
       s.Grant(range, {kDeviceReads});
       s.vmm().GetAddressRange(kDevice0, range.base).status().IgnoreError();
     }},
    {"ExportOfUnrequestedType", [](Steps& s) { s.Export(s.Create(1)); }},
    {"ImportOfForeignDescriptor",
     [](Steps& s) {
       s.vmm().ImportShareableHandle(ShareableHandle::FileDescriptor(0)).status().IgnoreError();
       s.vmm().ImportShareableHandle(ShareableHandle::FileDescriptor(999)).status().IgnoreError();
     }},
    {"Leaks",
     [](Steps& s) {
       const AddressRange range = s.Ready(2);
       s.vmm().RetainAllocationHandle(range.base).status().IgnoreError();
       s.Reserve(1);
       s.Release(s.MapNew(s.Reserve(1)));
     }},
    {"NothingWrong",
     [](Steps& s) {
       const AddressRange range = s.Ready(2);
       const AllocationHandle handle = *s.vmm().RetainAllocationHandle(range.base);
       s.Release(handle);
       s.Release(handle);
       s.Unmap(range);
       s.Free(range);
     }},
};

// Addresses are numbers, so that they are the same each time.
Profile Named(const char* name) {
  Profile profile = *Profile::Named(name);
  profile.window = {false, DeviceAddress(TiB(64).value()), TiB(1)};
  return profile;
}

struct Said {
  std::vector<Diagnostic> diagnostics;
  std::vector<Diagnostic> leaks;
};

Said BySimulator(const Profile& profile, const Program& program) {
  const std::unique_ptr<Simulator> simulator = *Simulator::Create(profile);
  Steps steps(*simulator->vmm());
  program.run(steps);
  return {simulator->diagnostics(), simulator->leaks()};
}

Said ByChecked(Vmm* vmm, const Program& program, bool refuse_undefined) {
  CheckedVmmOptions options;
  options.refuse_undefined = refuse_undefined;
  CheckedVmm checked(vmm, options);
  Steps steps(&checked);
  program.run(steps);
  return {checked.diagnostics(), checked.leaks()};
}

class CheckedSimTest : public testing::TestWithParam<std::tuple<const char*, Program>> {
 protected:
  void ExpectSame(bool refuse_undefined) {
    const auto& [name, program] = GetParam();
    const Said expected = BySimulator(Named(name), program);
    const std::unique_ptr<Simulator> simulator = *Simulator::Create(Named(name));
    const Said said = ByChecked(*simulator->vmm(), program, refuse_undefined);
    EXPECT_THAT(Texts(said.diagnostics), ElementsAreArray(Texts(expected.diagnostics)));
    EXPECT_THAT(Texts(said.leaks), UnorderedElementsAreArray(Texts(expected.leaks)));
  }
};

TEST_P(CheckedSimTest, SaysWhatTheSimulatorSays) { ExpectSame(true); }

TEST_P(CheckedSimTest, SaysTheSameWhereItPassesOnWhatIsUndefined) { ExpectSame(false); }

std::string NameOfProgram(const testing::TestParamInfo<std::tuple<const char*, Program>>& test) {
  return std::string(std::get<0>(test.param)) + "_" + std::get<1>(test.param).name;
}
INSTANTIATE_TEST_SUITE_P(Programs, CheckedSimTest,
                         testing::Combine(testing::Values("reference", "strict"),
                                          testing::ValuesIn(kPrograms)),
                         NameOfProgram);

// Without what the implementation says itself.
std::vector<Diagnostic> WithoutStatuses(std::vector<Diagnostic> diagnostics) {
  for (Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.kind == DiagnosticKind::kAccessAppliedInPart) diagnostic.message.clear();
  }
  return diagnostics;
}

// The same through the backend, which opens the simulated library.
class CheckedCudaTest : public testing::TestWithParam<Program> {};

TEST_P(CheckedCudaTest, SaysWhatTheSimulatorSays) {
  const Said expected = BySimulator(Profile::ReferenceH200(2), GetParam());
  const absl::StatusOr<Target> target = CudaOnSimTarget("sim/libcuda/libcuda.so.1").open();
  ASSERT_THAT(target, IsOk());
  const Said said = ByChecked(*target->driver->vmm(), GetParam(), true);
  EXPECT_THAT(TextsWithoutAddresses(WithoutStatuses(said.diagnostics)),
              ElementsAreArray(TextsWithoutAddresses(WithoutStatuses(expected.diagnostics))));
  EXPECT_EQ(said.leaks.size(), expected.leaks.size());
}

INSTANTIATE_TEST_SUITE_P(Programs, CheckedCudaTest, testing::ValuesIn(kPrograms),
                         [](const auto& test) { return std::string(test.param.name); });

// What is exported is open until it is closed.
TEST(CheckedDescriptorTest, IsALeakUntilItIsClosed) {
  const std::unique_ptr<Simulator> simulator = *Simulator::Create(Profile::ReferenceH200(1));
  CheckedVmm vmm(*simulator->vmm());
  const AllocationHandle handle = *vmm.Create(kGranule, Shareable());
  const ShareableHandle shareable =
      *vmm.ExportShareableHandle(handle, HandleType::kPosixFileDescriptor);
  EXPECT_THAT(vmm.Release(handle), IsOk());
  EXPECT_THAT(Texts(vmm.leaks()), Not(IsEmpty()));
  EXPECT_EQ(Texts(vmm.leaks()), Texts(simulator->leaks()));
  close(shareable.file_descriptor);
  EXPECT_THAT(Texts(vmm.leaks()), IsEmpty());
}

}  // namespace
}  // namespace twinmmu::conformance
