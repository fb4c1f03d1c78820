// cuMemCreate.

#include <set>
#include <vector>

#include "conformance/fixtures/fixtures.h"
#include "conformance/framework/registry.h"

namespace twinmmu::conformance {
namespace {

using ::testing::AnyOf;

AllocationProperties SharedBy(HandleType types) {
  AllocationProperties properties;
  properties.requested_handle_types = types;
  return properties;
}

constexpr Location kNoDevice{LocationType::kDevice, 9999};

}  // namespace

CONFORMANCE_TEST(ConformanceTest, CREATE_1, CreatesAnyNumberOfGranules) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange all, vmm().AddressReserve(16 * granule()));
  std::set<AllocationHandle> handles;
  for (uint64_t granules = 1; granules <= 16; ++granules) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle,
                                 vmm().Create(granules * granule(), properties()));
    EXPECT_NE(handle, AllocationHandle(0));
    EXPECT_TRUE(handles.insert(handle).second) << "live handles must differ";
    const AddressRange range = all.subrange(Bytes(0), granules * granule());
    EXPECT_THAT(vmm().Map(range, handle), IsOk()) << "all that was asked for must be there";
    EXPECT_THAT(vmm().Map(range, handle), HasDriverCode(DriverCode::kInvalidValue)) << "it is";
    EXPECT_THAT(vmm().Unmap(range), IsOk());
  }
}

CONFORMANCE_TEST(ConformanceTest, CREATE_2, RefusesSizeZero) {
  EXPECT_THAT(vmm().Create(Bytes(0), properties()), HasDriverCode(DriverCode::kInvalidValue));
}

CONFORMANCE_TEST(ConformanceTest, CREATE_3, RefusesASizeThatIsNotAMultiple) {
  for (const Bytes size :
       {Bytes(1), granule() / 2, granule() - Bytes(1), granule() + Bytes(1), Bytes(~uint64_t{0})}) {
    EXPECT_THAT(vmm().Create(size, properties()), HasDriverCode(DriverCode::kInvalidValue)) << size;
  }
}

CONFORMANCE_TEST(ConformanceTest, CREATE_4, RefusesFlags) {
  for (const uint64_t flags : {uint64_t{1}, uint64_t{2}, uint64_t{1} << 63}) {
    EXPECT_THAT(vmm().Create(granule(), properties(), flags),
                HasDriverCode(DriverCode::kInvalidValue));
  }
}

CONFORMANCE_TEST(ConformanceTest, CREATE_5, RefusesAnUnknownType) {
  for (const uint32_t type : {0u, 99u}) {
    AllocationProperties unknown;
    unknown.type = static_cast<AllocationType>(type);
    EXPECT_THAT(vmm().Create(granule(), unknown), HasDriverCode(DriverCode::kInvalidValue));
  }
}

CONFORMANCE_TEST(ConformanceTest, CREATE_6, RefusesAnUnknownLocationType) {
  for (const int type : {0, 99}) {
    EXPECT_THAT(vmm().Create(granule(), properties({static_cast<LocationType>(type), 0})),
                HasDriverCode(DriverCode::kInvalidValue));
  }
}

CONFORMANCE_TEST(ConformanceTest, CREATE_7, RefusesAnUnknownDevice) {
  for (const int id : {-1, device_count(), 9999}) {
    EXPECT_THAT(vmm().Create(granule(), properties({LocationType::kDevice, id})),
                HasDriverCode(DriverCode::kInvalidDevice))
        << id;
  }
}

CONFORMANCE_TEST(ConformanceTest, CREATE_8, MoreThanThereIsTakesNothing) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo before, vmm().GetMemoryInfo(device()));
  for (const Bytes size :
       {RoundUp(before.total, granule()) + granule(), TiB(1), TiB(1 << 20), Bytes(0) - granule()}) {
    EXPECT_THAT(vmm().Create(size, properties()), HasDriverCode(DriverCode::kOutOfMemory)) << size;
  }
  ExpectFree(device(), before.free);
}

CONFORMANCE_TEST(ConformanceTest, CREATE_20, AllMemoryCanBeTakenAndComesBack) {
  if (!traits().sole_user) GTEST_SKIP() << "needs devices that nobody else uses";
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo before, vmm().GetMemoryInfo(device()));
  std::vector<AllocationHandle> taken;
  Bytes sum;  // whoever gives more than there is need not be asked for ever
  for (const Bytes size : {GiB(1), MiB(64), granule()}) {
    absl::StatusOr<AllocationHandle> handle = vmm().Create(size, properties());
    for (; handle.ok() && sum <= before.total; handle = vmm().Create(size, properties())) {
      taken.push_back(*handle);
      sum = sum + size;
    }
    EXPECT_THAT(handle, HasDriverCode(DriverCode::kOutOfMemory)) << size;
  }
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo left, vmm().GetMemoryInfo(device()));
  EXPECT_LT(left.free, MiB(64));
  for (const AllocationHandle handle : taken) ASSERT_THAT(vmm().Release(handle), IsOk());
  ExpectFree(device(), before.free);
  EXPECT_THAT(vmm().Create(GiB(1), properties()), IsOk());
}

CONFORMANCE_TEST(ReservedTest, CREATE_21, FreshMemoryIsZero) {
  const AddressRange range = Granules(0, 2);
  std::vector<uint8_t> bytes(range.size.value());
  for (int round = 0; round < 3; ++round) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle fresh,
                                 vmm().Create(range.size, properties()));
    ASSERT_THAT(MapGranted(range, fresh), IsOk());
    ASSERT_THAT(executor().CopyDeviceToHost(device(), bytes.data(), range.base, range.size),
                IsOk());
    ExpectAllBytes(bytes, 0);
    const FillPattern used{0xab, Bytes(1)};
    ASSERT_THAT(executor().Fill(device(), range.base, used, bytes.size()), IsOk());
    ASSERT_THAT(executor().CopyDeviceToHost(device(), bytes.data(), range.base, range.size),
                IsOk());
    ExpectAllBytes(bytes, 0xab);
    ASSERT_THAT(vmm().Unmap(range), IsOk());
    ASSERT_THAT(vmm().Release(fresh), IsOk());
  }
}

CONFORMANCE_TEST(ConformanceTest, CREATE_22, PropertiesBeforeMemoryBeforePermission) {
  EXPECT_THAT(vmm().Create(granule(), properties(kNoDevice), 1),
              HasDriverCode(DriverCode::kInvalidValue));
  AllocationProperties bad = SharedBy(HandleType::kWin32);
  EXPECT_THAT(vmm().Create(TiB(1024), bad), HasDriverCode(DriverCode::kInvalidValue));
  bad.location = kNoDevice;
  EXPECT_THAT(vmm().Create(granule(), bad), HasDriverCode(DriverCode::kInvalidDevice));
  EXPECT_THAT(vmm().Create(TiB(1024), SharedBy(HandleType::kFabric)),
              HasDriverCode(DriverCode::kOutOfMemory));
}

CONFORMANCE_TEST(ConformanceTest, CREATE_9, FabricIsCreatedOrRefusedWhole) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo before, vmm().GetMemoryInfo(device()));
  const auto handle = vmm().Create(granule(), SharedBy(HandleType::kFabric));
  if (handle.ok()) {
    EXPECT_THAT(vmm().GetDeviceAttribute(DeviceAttribute::kHandleTypeFabricSupported, device()),
                IsOkAndHolds(1));
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationProperties granted,
                                 vmm().GetAllocationProperties(*handle));
    EXPECT_EQ(granted.requested_handle_types, HandleType::kFabric);
    return;
  }
  EXPECT_THAT(handle, AnyOf(HasDriverCode(DriverCode::kNotPermitted),
                            HasDriverCode(DriverCode::kNotSupported)));
  ExpectFree(device(), before.free);
}

CONFORMANCE_TEST(ConformanceTest, CREATE_10, RefusesWindowsHandleTypes) {
  for (const HandleType type : {HandleType::kWin32, HandleType::kWin32Kmt,
                                HandleType::kPosixFileDescriptor | HandleType::kWin32}) {
    EXPECT_THAT(vmm().Create(granule(), SharedBy(type)), HasDriverCode(DriverCode::kInvalidValue))
        << type;
  }
}

CONFORMANCE_TEST(ConformanceTest, CREATE_11, CompressionReadsBack) {
  AllocationProperties compressed;
  compressed.compression = CompressionType::kGeneric;
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle, vmm().Create(granule(), compressed));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationProperties granted,
                               vmm().GetAllocationProperties(handle));
  EXPECT_THAT(granted.compression, AnyOf(CompressionType::kNone, CompressionType::kGeneric));
  AllocationProperties unknown;
  unknown.compression = static_cast<CompressionType>(9);
  EXPECT_THAT(vmm().Create(granule(), unknown), HasDriverCode(DriverCode::kInvalidValue));
  if (!Tells(DeviceAttribute::kGenericCompressionSupported)) {
    EXPECT_EQ(granted.compression, CompressionType::kNone);
  }
}

CONFORMANCE_TEST(ConformanceTest, CREATE_12, HostMemoryCarriesData) {
  const auto handle = vmm().Create(2 * granule(), properties(Location::HostNuma(0)));
  if (!IsHostMemoryCreated(Location::HostNuma(0), handle.status())) return;
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, vmm().AddressReserve(2 * granule()));
  ASSERT_THAT(MapGranted(range, *handle), IsOk());
  ASSERT_THAT(Grant(range, Access::kReadWrite, Location::HostNuma(0)), IsOk());
  ASSERT_THAT(Write(range, 12), IsOk());
  ExpectHolds(range, 12);
}

CONFORMANCE_TEST(ConformanceTest, CREATE_18, HostMemoryOfNoNodeBelongsToANode) {
  std::set<int> nodes;
  for (const int ignored_id : {0, 5}) {
    const auto handle = vmm().Create(granule(), properties({LocationType::kHost, ignored_id}));
    if (!IsHostMemoryCreated(Location::Host(), handle.status())) return;
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationProperties granted,
                                 vmm().GetAllocationProperties(*handle));
    EXPECT_EQ(granted.location.type, LocationType::kHostNuma);
    EXPECT_GE(granted.location.id, 0);
    nodes.insert(granted.location.id);
  }
  EXPECT_EQ(nodes.size(), 1u) << "the id must not matter";
}

CONFORMANCE_TEST(ConformanceTest, CREATE_27, HostMemoryIsMadeOrRefusedEachTimeAlike) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const MemoryInfo before, vmm().GetMemoryInfo(device()));
  for (const Location& host : {Location::HostNuma(0), Location::Host()}) {
    SCOPED_TRACE(host);
    const DriverCode code = GetDriverCode(vmm().Create(granule(), properties(host)).status());
    for (const uint64_t granules : {2, 1, 3}) {
      const auto handle = vmm().Create(granules * granule(), properties(host));
      EXPECT_THAT(handle, HasDriverCode(code));
      if (!handle.ok()) continue;
      TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationProperties granted,
                                   vmm().GetAllocationProperties(*handle));
      EXPECT_EQ(granted.location.type, LocationType::kHostNuma);
    }
    if (code != DriverCode::kSuccess) ExpectFree(device(), before.free);
  }
  EXPECT_THAT(vmm().Create(granule(), properties()), IsOk());
}

CONFORMANCE_TEST(ConformanceTest, CREATE_19, RdmaReadsBack) {
  AllocationProperties asked;
  for (const uint8_t flag : {1, 7}) {
    asked.gpu_direct_rdma = flag;
    const auto handle = vmm().Create(granule(), asked);
    if (!IsCreatedAsTold(DeviceAttribute::kGpuDirectRdmaWithCudaVmmSupported, handle.status())) {
      return;
    }
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationProperties granted,
                                 vmm().GetAllocationProperties(*handle));
    EXPECT_EQ(granted.gpu_direct_rdma, 1);
  }
}

CONFORMANCE_TEST(ConformanceTest, CREATE_13, RefusesUnknownHandleTypes) {
  const auto handle = vmm().Create(granule(), SharedBy(static_cast<HandleType>(16)));
  if (Deviates(Deviation::kUnknownHandleTypesAreIgnored)) {
    ASSERT_THAT(handle, IsOk());
    TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationProperties granted,
                                 vmm().GetAllocationProperties(*handle));
    EXPECT_EQ(granted.requested_handle_types, HandleType::kNone);
  } else {
    EXPECT_THAT(handle, HasDriverCode(DriverCode::kInvalidValue));
  }
}

CONFORMANCE_TEST(ConformanceTest, CREATE_28, RefusesUnknownUsage) {
  for (const uint16_t usage : {uint16_t{4}, uint16_t{0x8000}}) {
    AllocationProperties unknown;
    unknown.usage = usage;
    const auto handle = vmm().Create(granule(), unknown);
    if (Deviates(Deviation::kUnknownUsageIsIgnored)) {
      ASSERT_THAT(handle, IsOk());
      TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationProperties granted,
                                   vmm().GetAllocationProperties(*handle));
      EXPECT_EQ(granted.usage, 0);
      TWINMMU_ASSERT_OK_AND_ASSIGN(const AddressRange range, vmm().AddressReserve(granule()));
      EXPECT_THAT(vmm().Map(range, *handle), IsOk());
    } else {
      EXPECT_THAT(handle, HasDriverCode(DriverCode::kInvalidValue));
    }
  }
}

CONFORMANCE_TEST(ConformanceTest, CREATE_14, HostMemoryOfNoNodeCannotBeShared) {
  constexpr HandleType kUnknown = static_cast<HandleType>(16);
  for (const HandleType type : {HandleType::kPosixFileDescriptor, kUnknown}) {
    AllocationProperties shared = SharedBy(type);
    shared.location = Location::Host();
    EXPECT_THAT(vmm().Create(granule(), shared), HasDriverCode(DriverCode::kInvalidValue)) << type;
  }
}

CONFORMANCE_TEST(ConformanceTest, CREATE_23, RefusesRdmaForHostMemory) {
  for (const Location& host : {Location::Host(), Location::HostNuma(0)}) {
    AllocationProperties asked = properties(host);
    for (const uint8_t flag : {1, 7}) {
      asked.gpu_direct_rdma = flag;
      EXPECT_THAT(vmm().Create(granule(), asked), HasDriverCode(DriverCode::kInvalidValue)) << host;
    }
  }
}

CONFORMANCE_TEST(ConformanceTest, CREATE_24, ATilePoolIsPlain) {
  AllocationProperties tiles;
  tiles.usage = kUsageTilePool;
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationHandle handle, vmm().Create(granule(), tiles));
  EXPECT_THAT(vmm().GetAllocationProperties(handle), IsOkAndHolds(properties()));
  for (const HandleType type :
       {HandleType::kPosixFileDescriptor, static_cast<HandleType>(16), HandleType::kNone}) {
    for (const int special : {0, 1, 2}) {
      AllocationProperties asked = tiles;
      asked.requested_handle_types = type;
      if (special == 1) asked.gpu_direct_rdma = 1;
      if (special == 2) asked.compression = CompressionType::kGeneric;
      if (asked == tiles) continue;
      EXPECT_THAT(vmm().Create(granule(), asked), HasDriverCode(DriverCode::kInvalidValue))
          << type << ", " << special;
    }
  }
}

CONFORMANCE_TEST(ConformanceTest, CREATE_25, RdmaIsNotCompressed) {
  AllocationProperties asked;
  asked.gpu_direct_rdma = 1;
  asked.compression = CompressionType::kGeneric;
  const auto handle = vmm().Create(granule(), asked);
  if (!IsCreatedAsTold(DeviceAttribute::kGpuDirectRdmaWithCudaVmmSupported, handle.status())) {
    return;
  }
  TWINMMU_ASSERT_OK_AND_ASSIGN(const AllocationProperties granted,
                               vmm().GetAllocationProperties(*handle));
  EXPECT_EQ(granted.compression, CompressionType::kNone);
  EXPECT_EQ(granted.gpu_direct_rdma, 1);
}

CONFORMANCE_TEST(ConformanceTest, CREATE_26, MemoryForDecompressionIsNotCompressed) {
  AllocationProperties asked;
  asked.usage = kUsageHardwareDecompress;
  asked.compression = CompressionType::kGeneric;
  EXPECT_THAT(vmm().Create(granule(), asked), HasDriverCode(DriverCode::kInvalidValue));
  asked.compression = CompressionType::kNone;
  EXPECT_THAT(vmm().Create(granule(), asked), IsOk());
}

CONFORMANCE_TEST(ConformanceTest, CREATE_15, RefusesTheCurrentHostNumaNode) {
  EXPECT_THAT(vmm().Create(granule(), properties(Location::HostNumaCurrent())),
              HasDriverCode(DriverCode::kInvalidValue));
}

CONFORMANCE_TEST(ConformanceTest, CREATE_16, RefusesAnUnknownHostNumaNode) {
  for (const int node : {-1, 9999}) {
    EXPECT_THAT(vmm().Create(granule(), properties(Location::HostNuma(node))),
                HasDriverCode(DriverCode::kInvalidValue))
        << node;
  }
}

CONFORMANCE_TEST(ConformanceTest, CREATE_17, SizeBeforeDeviceBeforeType) {
  AllocationProperties bad = properties(kNoDevice);
  bad.type = AllocationType::kInvalid;
  EXPECT_THAT(vmm().Create(Bytes(1), bad), HasDriverCode(DriverCode::kInvalidValue));
  EXPECT_THAT(vmm().Create(granule(), bad), HasDriverCode(DriverCode::kInvalidDevice));
  EXPECT_THAT(vmm().Create(TiB(1024), properties(kNoDevice)),
              HasDriverCode(DriverCode::kInvalidDevice));
}

}  // namespace twinmmu::conformance
