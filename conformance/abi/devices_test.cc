// Devices.

#include <cstdio>
#include <cstring>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

constexpr CUdevice kNoDevice = 99;
constexpr auto kNoAttribute = static_cast<CUdevice_attribute>(10000);

using DevicesTest = DriverTest;

std::string NameOf(CUdevice device) {
  char name[256] = "";
  EXPECT_EQ(cuDeviceGetName(name, sizeof(name), device), CUDA_SUCCESS);
  return name;
}

std::string BusIdOf(CUdevice device) {
  char bus_id[32] = "";
  EXPECT_EQ(cuDeviceGetPCIBusId(bus_id, sizeof(bus_id), device), CUDA_SUCCESS);
  return bus_id;
}

int AttributeOf(int attribute) {
  int value = 0;
  EXPECT_EQ(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(attribute), 0),
            CUDA_SUCCESS)
      << attribute;
  return value;
}

TEST_F(DevicesTest, AreTheirOrdinals) {
  for (int ordinal = 0; ordinal < DeviceCount(); ++ordinal) {
    CUdevice device = -1;
    EXPECT_EQ(cuDeviceGet(&device, ordinal), CUDA_SUCCESS);
    EXPECT_EQ(device, ordinal);
  }
}

TEST_F(DevicesTest, OrdinalsOutOfRangeAreRefused) {
  CUdevice device = 0;
  EXPECT_EQ(cuDeviceGet(&device, DeviceCount()), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(DevicesTest, NameIsCutToTheRoomThereIs) {
  const std::string name = NameOf(0);
  char part[8] = "zzzzzzz";
  EXPECT_EQ(cuDeviceGetName(part, 5, 0), CUDA_SUCCESS);
  EXPECT_EQ(part, name.substr(0, 4));
  EXPECT_EQ(part[5], 'z');
}

TEST_F(DevicesTest, NameFillsTheRoomItNeeds) {
  const std::string name = NameOf(0);
  std::string whole(name.size() + 1, 'z');
  EXPECT_EQ(cuDeviceGetName(whole.data(), static_cast<int>(whole.size()), 0), CUDA_SUCCESS);
  EXPECT_EQ(whole, name + '\0');
}

TEST_F(DevicesTest, NameOfNoDeviceLeavesTheTextAlone) {
  char name[8] = "before";
  EXPECT_EQ(cuDeviceGetName(name, sizeof(name), kNoDevice), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_STREQ(name, "before");
}

TEST_F(DevicesTest, NullResultsAreNoticedBeforeTheDevice) {
  int value = 0;
  EXPECT_EQ(cuDeviceGetName(nullptr, 64, kNoDevice), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetAttribute(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, kNoDevice),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceCanAccessPeer(nullptr, 0, kNoDevice), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetAttribute(&value, kNoAttribute, kNoDevice), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(DevicesTest, NullResultsAreRefused) {
  EXPECT_EQ(cuDeviceGet(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetCount(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceTotalMem(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetUuid(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDriverGetVersion(nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DevicesTest, UnknownAttributesAreRefusedAndNothingIsWritten) {
  int value = -5;
  EXPECT_EQ(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(0), 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetAttribute(&value, kNoAttribute, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, kNoDevice),
            CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(value, -5);
}

TEST_F(DevicesTest, TotalMemoryOfNoDeviceIsZero) {
  size_t bytes = 5;
  EXPECT_EQ(cuDeviceTotalMem(&bytes, kNoDevice), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(bytes, 0u);
}

TEST_F(DevicesTest, TotalMemoryIsThatOfItsContexts) {
  CUcontext context = nullptr;
  ASSERT_EQ(cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
  size_t bytes = 0;
  size_t free = 0;
  size_t total = 0;
  EXPECT_EQ(cuDeviceTotalMem(&bytes, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemGetInfo(&free, &total), CUDA_SUCCESS);
  EXPECT_EQ(bytes, total);
  EXPECT_LE(free, total);
  EXPECT_EQ(cuCtxDestroy(context), CUDA_SUCCESS);
}

TEST_F(DevicesTest, UuidsDiffer) {
  CUuuid first = {};
  CUuuid zero = {};
  EXPECT_EQ(cuDeviceGetUuid(&first, 0), CUDA_SUCCESS);
  EXPECT_NE(std::memcmp(&first, &zero, sizeof(first)), 0);
  EXPECT_EQ(cuDeviceGetUuid(&zero, kNoDevice), CUDA_ERROR_INVALID_DEVICE);
  for (CUdevice device = 1; device < DeviceCount(); ++device) {
    CUuuid other = {};
    EXPECT_EQ(cuDeviceGetUuid(&other, device), CUDA_SUCCESS);
    EXPECT_NE(std::memcmp(&first, &other, sizeof(first)), 0);
  }
}

TEST_F(DevicesTest, HaveNoLuid) {
  char luid[8];
  unsigned int nodes = 0;
  EXPECT_EQ(cuDeviceGetLuid(luid, &nodes, 0), CUDA_ERROR_NOT_SUPPORTED);
}

// What a machine without that library answers.
TEST_F(DevicesTest, HaveNoAttributesForNvSciSync) {
  const Function<CUresult(void*, CUdevice, int)> cuDeviceGetNvSciSyncAttributes(
      "cuDeviceGetNvSciSyncAttributes");
  char attributes[8] = {};
  constexpr int kSignals = 1;
  constexpr int kSignalsAndWaits = 3;
  EXPECT_EQ(cuDeviceGetNvSciSyncAttributes(attributes, 0, kSignals), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuDeviceGetNvSciSyncAttributes(attributes, 0, kSignalsAndWaits),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuDeviceGetNvSciSyncAttributes(attributes, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetNvSciSyncAttributes(attributes, kNoDevice, 0), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGetNvSciSyncAttributes(nullptr, kNoDevice, 0), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DevicesTest, BusIdIsCutToTheRoomThereIs) {
  const std::string bus_id = BusIdOf(0);
  ASSERT_EQ(bus_id.size(), 12u) << bus_id;
  char part[13] = "";
  EXPECT_EQ(cuDeviceGetPCIBusId(part, 13, 0), CUDA_SUCCESS);
  EXPECT_EQ(part, bus_id);
  for (const int room : {12, 5}) {
    EXPECT_EQ(cuDeviceGetPCIBusId(part, room, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(part, bus_id.substr(0, static_cast<size_t>(room - 1)));
  }
}

TEST_F(DevicesTest, BusIdWithoutRoomIsNotWritten) {
  char text[32] = "as it was";
  EXPECT_EQ(cuDeviceGetPCIBusId(text, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_STREQ(text, "as it was");
}

TEST_F(DevicesTest, AreFoundByTheirBusIds) {
  for (int ordinal = 0; ordinal < DeviceCount(); ++ordinal) {
    CUdevice device = -1;
    EXPECT_EQ(cuDeviceGetByPCIBusId(&device, BusIdOf(ordinal).c_str()), CUDA_SUCCESS);
    EXPECT_EQ(device, ordinal);
  }
}

TEST_F(DevicesTest, AreFoundByAllFormsOfTheirBusIds) {
  for (int ordinal = 0; ordinal < DeviceCount(); ++ordinal) {
    const std::string bus_id = BusIdOf(ordinal);  // "0000:0f:00.0"
    for (const std::string& form : {bus_id.substr(0, 10), bus_id.substr(5)}) {
      CUdevice device = -1;
      EXPECT_EQ(cuDeviceGetByPCIBusId(&device, form.c_str()), CUDA_SUCCESS) << form;
      EXPECT_EQ(device, ordinal) << form;
    }
  }
}

TEST_F(DevicesTest, BusIdsAreMadeOfTheirAttributes) {
  constexpr auto kBus = static_cast<CUdevice_attribute>(33);
  constexpr auto kDevice = static_cast<CUdevice_attribute>(34);
  constexpr auto kDomain = static_cast<CUdevice_attribute>(50);
  for (int ordinal = 0; ordinal < DeviceCount(); ++ordinal) {
    int bus = 0;
    int device = 0;
    int domain = 0;
    EXPECT_EQ(cuDeviceGetAttribute(&bus, kBus, ordinal), CUDA_SUCCESS);
    EXPECT_EQ(cuDeviceGetAttribute(&device, kDevice, ordinal), CUDA_SUCCESS);
    EXPECT_EQ(cuDeviceGetAttribute(&domain, kDomain, ordinal), CUDA_SUCCESS);
    char made[32];
    std::snprintf(made, sizeof(made), "%04x:%02x:%02x.0", domain, bus, device);
    EXPECT_EQ(BusIdOf(ordinal), made);
  }
}

TEST_F(DevicesTest, BusIdsOfNoDeviceAreToldFromNoBusIds) {
  CUdevice device = -1;
  EXPECT_EQ(cuDeviceGetByPCIBusId(&device, "ff:ff.f"), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGetByPCIBusId(&device, "zz"), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DevicesTest, BusIdsAreOfNumbers) {
  const std::string bus_id = BusIdOf(0);  // "0000:0f:00.0"
  CUdevice device = -1;
  for (const std::string& wrong :
       {"zzzz" + bus_id.substr(4), bus_id.substr(0, 5) + "zz" + bus_id.substr(7)}) {
    EXPECT_EQ(cuDeviceGetByPCIBusId(&device, wrong.c_str()), CUDA_ERROR_INVALID_VALUE) << wrong;
  }
}

TEST_F(DevicesTest, PropertiesAreTheFirstAttributes) {
  const Function<CUresult(int*, CUdevice)> get_properties("cuDeviceGetProperties");
  int properties[14] = {};
  EXPECT_EQ(get_properties(properties, 0), CUDA_SUCCESS);
  for (int attribute = 1; attribute <= 14; ++attribute) {
    EXPECT_EQ(properties[attribute - 1], AttributeOf(attribute)) << attribute;
  }
}

TEST_F(DevicesTest, ComputeCapabilityIsTheAttributes) {
  const Function<CUresult(int*, int*, CUdevice)> get("cuDeviceComputeCapability");
  int major = 0;
  int minor = 0;
  EXPECT_EQ(get(&major, &minor, 0), CUDA_SUCCESS);
  EXPECT_EQ(major, AttributeOf(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  EXPECT_EQ(minor, AttributeOf(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
}

}  // namespace
}  // namespace twinmmu::abi
