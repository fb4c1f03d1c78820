// The host runs out of memory in calls that map, share and bind memory: see
// memory_failure_steps.h. The simulated driver is linked in.

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/tests/memory_failure/memory_failure_steps.h"

namespace twinmmu::libcuda {
namespace {

constexpr size_t kSize = size_t{2} << 20;

struct World {
  ~World() {
    if (file >= 0) close(file);
  }

  CUcontext context = nullptr;
  CUdeviceptr address = 0, alias = 0, all = 0;
  CUmemGenericAllocationHandle memory = 0, imported = 0, retained = 0;
  CUmemGenericAllocationHandle object = 0, own[2] = {};
  int file = -1;
};
using Steps = std::vector<Step<World>>;

CUmemAllocationProp Properties(int device) {
  CUmemAllocationProp properties = {};
  properties.type = static_cast<decltype(properties.type)>(1);
  properties.location.type = static_cast<decltype(properties.location.type)>(1);
  properties.location.id = device;
  properties.requestedHandleTypes = static_cast<decltype(properties.requestedHandleTypes)>(1);
  return properties;
}
CUresult Create(CUmemGenericAllocationHandle* handle, int device) {
  const CUmemAllocationProp properties = Properties(device);
  return cuMemCreate(handle, kSize, &properties, 0);
}
CUresult Grant(CUdeviceptr address) {
  CUmemAccessDesc access = {};
  access.location = Properties(0).location;
  access.flags = static_cast<decltype(access.flags)>(3);
  return cuMemSetAccess(address, kSize, &access, 1);
}
CUresult CreateObject(World& w) {
  CUmulticastObjectProp properties = {};
  properties.numDevices = 2;
  properties.size = kSize;
  properties.handleTypes = 1;
  return cuMulticastCreate(&w.object, &properties);
}

Steps Mapping() {
  return {
      {"retain", [](World& w) { return cuDevicePrimaryCtxRetain(&w.context, 0); }},
      {"push", [](World& w) { return cuCtxPushCurrent_v2(w.context); }},
      {"create", [](World& w) { return Create(&w.memory, 0); }},
      {"reserve", [](World& w) { return cuMemAddressReserve(&w.address, kSize, 0, 0, 0); }},
      {"reserve again", [](World& w) { return cuMemAddressReserve(&w.alias, kSize, 0, 0, 0); }},
      {"map", [](World& w) { return cuMemMap(w.address, kSize, 0, w.memory, 0); }},
      {"grant", [](World& w) { return Grant(w.address); }},
      {"map an alias", [](World& w) { return cuMemMap(w.alias, kSize, 0, w.memory, 0); }},
      {"grant the alias", [](World& w) { return Grant(w.alias); }},
      {"fill", [](World& w) { return cuMemsetD8_v2(w.address, 3, 64); }},
      {"fill through the alias", [](World& w) { return cuMemsetD8_v2(w.alias, 5, 64); }},
      {"retain by address",
       [](World& w) {
         return cuMemRetainAllocationHandle(&w.retained, reinterpret_cast<void*>(w.alias));
       }},
  };
}

Steps Sharing() {
  return {
      {"export",
       [](World& w) {
         return cuMemExportToShareableHandle(&w.file, w.memory,
                                             static_cast<CUmemAllocationHandleType>(1), 0);
       }},
      {"import",
       [](World& w) {
         return cuMemImportFromShareableHandle(&w.imported,
                                               reinterpret_cast<void*>(intptr_t{w.file}),
                                               static_cast<CUmemAllocationHandleType>(1));
       }},
      {"release what was imported", [](World& w) { return cuMemRelease(w.imported); }},
      {"release what was retained", [](World& w) { return cuMemRelease(w.retained); }},
      {"unmap the alias", [](World& w) { return cuMemUnmap(w.alias, kSize); }},
      {"free its addresses", [](World& w) { return cuMemAddressFree(w.alias, kSize); }},
  };
}

Steps Binding() {
  return {
      {"create an object", CreateObject},
      {"add a device", [](World& w) { return cuMulticastAddDevice(w.object, 0); }},
      {"add another", [](World& w) { return cuMulticastAddDevice(w.object, 1); }},
      {"create on the first", [](World& w) { return Create(&w.own[0], 0); }},
      {"create on the second", [](World& w) { return Create(&w.own[1], 1); }},
      {"bind the first",
       [](World& w) { return cuMulticastBindMem(w.object, 0, w.own[0], 0, kSize, 0); }},
      {"bind the second",
       [](World& w) { return cuMulticastBindMem(w.object, 0, w.own[1], 0, kSize, 0); }},
      {"reserve for all", [](World& w) { return cuMemAddressReserve(&w.all, kSize, 0, 0, 0); }},
      {"map the object", [](World& w) { return cuMemMap(w.all, kSize, 0, w.object, 0); }},
      {"grant it", [](World& w) { return Grant(w.all); }},
      {"unmap it", [](World& w) { return cuMemUnmap(w.all, kSize); }},
      {"free the addresses for all", [](World& w) { return cuMemAddressFree(w.all, kSize); }},
      {"unbind", [](World& w) { return cuMulticastUnbind(w.object, 0, 0, kSize); }},
      {"bind by address",
       [](World& w) { return cuMulticastBindAddr(w.object, 0, w.address, kSize, 0); }},
      {"unbind that", [](World& w) { return cuMulticastUnbind(w.object, 0, 0, kSize); }},
      {"release the object", [](World& w) { return cuMemRelease(w.object); }},
      {"release the first", [](World& w) { return cuMemRelease(w.own[0]); }},
      {"release the second", [](World& w) { return cuMemRelease(w.own[1]); }},
      {"unmap", [](World& w) { return cuMemUnmap(w.address, kSize); }},
      {"free", [](World& w) { return cuMemAddressFree(w.address, kSize); }},
      {"release", [](World& w) { return cuMemRelease(w.memory); }},
  };
}

Steps Script() { return Joined<World>({Mapping(), Sharing(), Binding()}); }

std::string VisibleState(World& w) {
  std::ostringstream out;
  out << FreeOn(2);
  for (const auto handle : {w.memory, w.imported, w.retained, w.object, w.own[0], w.own[1]}) {
    CUmemAllocationProp properties = {};
    out << cuMemGetAllocationPropertiesFromHandle(&properties, handle) << " handle\n";
  }
  const CUmemLocation location = Properties(0).location;
  for (const auto address : {w.address, w.alias, w.all}) {
    unsigned long long access = 0;
    out << cuMemGetAccess(&access, &location, address) << " access " << access << "\n";
    char bytes[64] = {};
    out << cuMemcpyDtoH_v2(bytes, address, 64) << " content " << int{bytes[0]} << "\n";
  }
  const std::filesystem::directory_iterator files("/proc/self/fd");
  out << std::distance(begin(files), end(files)) << " descriptors\n";
  return out.str();
}

class VmmMemoryFailureTest : public testing::TestWithParam<bool> {};

TEST_P(VmmMemoryFailureTest, NothingIsLost) {
  ExpectNothingIsLost(Script(), &VisibleState, GetParam(), /*least=*/30);
}

INSTANTIATE_TEST_SUITE_P(All, VmmMemoryFailureTest, testing::Bool());

}  // namespace
}  // namespace twinmmu::libcuda
