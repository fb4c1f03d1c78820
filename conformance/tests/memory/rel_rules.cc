// cuMemRelease.

#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "conformance/fixtures/child_checks.h"
#include "conformance/fixtures/fixtures.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {
namespace {

constexpr char kLegalPartDone[] = "the legal part is done";

}  // namespace

CONFORMANCE_TEST(ConformanceTest, REL_1, RefusesHandleZero) {
  EXPECT_THAT(vmm().Release(AllocationHandle(0)), HasDriverCode(DriverCode::kInvalidValue));
}

CONFORMANCE_TEST(MappedTest, REL_2, AMappingOutlivesItsHandle) {
  ASSERT_THAT(Write(mapping(), 2), IsOk());
  ASSERT_THAT(vmm().Release(handle()), IsOk());
  ExpectHolds(mapping(), 2);
  EXPECT_THAT(vmm().GetAccess(here(), mapping().base), IsOkAndHolds(Access::kReadWrite));
  ASSERT_THAT(Write(mapping(), 3), IsOk());
  ExpectHolds(mapping(), 3);
}

CONFORMANCE_TEST(MappedTest, REL_3, AHandleKeepsItsDataUnmapped) {
  ASSERT_THAT(Write(mapping(), 4), IsOk());
  ASSERT_THAT(vmm().Unmap(mapping()), IsOk());
  ASSERT_THAT(vmm().Map(Granules(4, 4), handle()), IsOk());
  ASSERT_THAT(Grant(Granules(4, 4), Access::kRead), IsOk());
  ExpectHolds(Granules(4, 4), 4);
}

CONFORMANCE_TEST(MappedTest, REL_4, ADeadHandleIsRefusedOrEndsTheProcess) {
  ExpectInChildOrEnd(kLegalPartDone, [&](ChildChecks& checks) {
    const auto dead = vmm().Create(granule(), properties());
    checks.Expect("create", dead.status());
    checks.Expect("first release", vmm().Release(*dead));
    std::cerr << kLegalPartDone << std::endl;
    checks.Expect("second release", vmm().Release(*dead), DriverCode::kInvalidValue);
    checks.Expect("write elsewhere", Write(mapping(), 4));
    checks.Expect("map elsewhere", vmm().Map(Granules(4, 4), handle()));
    checks.Expect("release another", vmm().Release(handle()));
  });
}

CONFORMANCE_TEST(MappedTest, REL_5, ADeadHandleIsNeitherMappedNorExported) {
  const bool shareable = Tells(DeviceAttribute::kHandleTypePosixFileDescriptorSupported);
  constexpr HandleType kFd = HandleType::kPosixFileDescriptor;
  AllocationProperties shared;
  if (shareable) shared.requested_handle_types = kFd;
  for (const bool map : {true, false}) {
    SCOPED_TRACE(map ? "map" : "export");
    ExpectInChildOrEnd(kLegalPartDone, [&](ChildChecks& checks) {
      const auto dead = vmm().Create(granule(), shared);
      checks.Expect("create", dead.status());
      checks.Expect("release", vmm().Release(*dead));
      std::cerr << kLegalPartDone << std::endl;
      checks.Expect(
          "use the dead handle",
          map ? vmm().Map(Granules(6, 1), *dead) : vmm().ExportShareableHandle(*dead, kFd).status(),
          DriverCode::kInvalidValue);
      checks.Expect("write elsewhere", Write(mapping(), 5));
      checks.Expect("map a live one", vmm().Map(Granules(4, 4), handle()));
    });
  }
}

CONFORMANCE_TEST(MappedTest, REL_6, ADeadHandleIsRefusedWhileItsMemoryIsMapped) {
  const DriverCode code = Deviates(Deviation::kReleasedHandleWorksWhileMapped)
                              ? DriverCode::kSuccess
                              : DriverCode::kInvalidValue;
  ExpectInChild([&](ChildChecks& checks) {
    checks.Expect("release", vmm().Release(handle()));
    checks.Expect("release again", vmm().Release(handle()), DriverCode::kInvalidValue);
    checks.Expect("properties", vmm().GetAllocationProperties(handle()).status(), code);
    checks.Expect("map", vmm().Map(Granules(4, 4), handle()), code);
    checks.Expect("write", Write(mapping(), 6));
  });
}

CONFORMANCE_TEST(ConformanceTest, REL_7, AnyLegalOrderGivesEverythingBack) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo before, vmm().GetMemoryInfo(device()));
  for (const std::string order :
       {"unmap free release", "unmap release free", "release unmap free"}) {
    SCOPED_TRACE(order);
    const Bytes size = 4 * granule();
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, vmm().AddressReserve(size));
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle, vmm().Create(size, properties()));
    ASSERT_THAT(MapGranted(range, handle), IsOk());
    std::istringstream steps(order);
    for (std::string step; steps >> step;) {
      ASSERT_THAT(step == "unmap"  ? vmm().Unmap(range)
                  : step == "free" ? vmm().AddressFree(range)
                                   : vmm().Release(handle),
                  IsOk())
          << step;
    }
    ExpectFree(device(), before.free);
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange again,
                                 vmm().AddressReserve(size, Hint(range.base)));
    EXPECT_EQ(again, range);
    ASSERT_THAT(vmm().AddressFree(again), IsOk());
  }
}

CONFORMANCE_TEST(MappedTest, REL_8, AnInventedHandleIsRefusedOrEndsTheProcess) {
  constexpr HandleType kFd = HandleType::kPosixFileDescriptor;
  using Use = std::function<absl::Status(AllocationHandle)>;
  const std::vector<std::pair<std::string, Use>> uses = {
      {"release", [&](AllocationHandle invented) { return vmm().Release(invented); }},
      {"map", [&](AllocationHandle invented) { return vmm().Map(Granules(6, 1), invented); }},
      {"export",
       [&](AllocationHandle invented) {
         return vmm().ExportShareableHandle(invented, kFd).status();
       }},
      {"properties",
       [&](AllocationHandle invented) { return vmm().GetAllocationProperties(invented).status(); }},
  };
  for (const auto& [name, use] : uses) {
    for (const uint64_t value : {uint64_t{0x1230}, ~uint64_t{0xf}}) {
      SCOPED_TRACE(::testing::Message() << name << " " << value);
      ExpectInChildOrEnd(
          kLegalPartDone, [&use = use, &name = name, value, this](ChildChecks& checks) {
            std::cerr << kLegalPartDone << std::endl;
            checks.Expect(name, use(AllocationHandle(value)), DriverCode::kInvalidValue);
            checks.Expect("write elsewhere", Write(mapping(), 8));
            checks.Expect("map a live one", vmm().Map(Granules(4, 4), handle()));
            checks.Expect("release another", vmm().Release(handle()));
          });
    }
  }
}

}  // namespace twinmmu::conformance
