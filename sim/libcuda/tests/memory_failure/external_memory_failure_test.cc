// The host runs out of memory in calls for logical endpoints, and for the granularity of multicast
// objects: see memory_failure_steps.h. The simulated driver is linked in; what it exports, it
// imports itself.

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/process.h"
#include "sim/libcuda/tests/memory_failure/memory_failure_steps.h"
#include "sim/profile/profile.h"

namespace twinmmu::libcuda {

// What the backend does not call.
extern "C" {
CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
CUresult cuLogicalEndpointIdReserve(CUlogicalEndpointId*, unsigned int);
CUresult cuLogicalEndpointIdRelease(CUlogicalEndpointId, unsigned int);
CUresult cuLogicalEndpointCreate(CUlogicalEndpointId, const CUlogicalEndpointProp*);
CUresult cuLogicalEndpointAddDevice(CUlogicalEndpointId, CUdevice);
CUresult cuLogicalEndpointDestroy(CUlogicalEndpointId);
CUresult cuLogicalEndpointBindAddr(CUlogicalEndpointId, CUdevice, unsigned long long, void*,
                                   unsigned long long, unsigned long long);
CUresult cuLogicalEndpointBindMem(CUlogicalEndpointId, CUdevice, unsigned long long,
                                  CUmemGenericAllocationHandle, unsigned long long,
                                  unsigned long long, unsigned long long);
CUresult cuLogicalEndpointUnbind(CUlogicalEndpointId, CUdevice, unsigned long long,
                                 unsigned long long);
CUresult cuLogicalEndpointExport(void*, CUlogicalEndpointId, CUlogicalEndpointIpcHandleType);
CUresult cuLogicalEndpointImport(CUlogicalEndpointId, const void*, CUlogicalEndpointIpcHandleType);
CUresult cuLogicalEndpointGetLimits(unsigned long long*, unsigned long long*,
                                    const CUlogicalEndpointProp*);
CUresult cuLogicalEndpointQuery(CUlogicalEndpointId, unsigned int, int*);
}

namespace {

constexpr size_t kSize = size_t{2} << 20;
constexpr int kTeam = 2;  // CUlogicalEndpointType
constexpr int kFabric = 1;
constexpr unsigned int kNumbers = 4;

// What the steps hand on to each other. It begins on a machine that has endpoints.
struct World {
  World() {
    Profile profile = *Profile::Named("driver-13.3");
    profile.fabric_permitted = true;
    Process::Get().Restart(profile);
  }

  CUcontext context = nullptr;
  CUmemGenericAllocationHandle memory = 0, other = 0;
  CUdeviceptr address = 0;
  CUlogicalEndpointId first = 0;
  CUlogicalEndpointFabricHandle handle = {};
  bool is_exported = false, is_bound = false;
};
using Steps = std::vector<Step<World>>;

CUmemAllocationProp Properties() {
  CUmemAllocationProp properties = {};
  properties.type = 1;
  properties.location.type = 1;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
  return properties;
}
CUresult Create(CUmemGenericAllocationHandle* memory) {
  const CUmemAllocationProp properties = Properties();
  return cuMemCreate(memory, kSize, &properties, 0);
}
CUresult Grant(World& w) {
  CUmemAccessDesc access = {};
  access.location = Properties().location;
  access.flags = 3;
  return cuMemSetAccess(w.address, kSize, &access, 1);
}
CUresult AskForGranularity(World&) {
  CUmulticastObjectProp properties = {};
  properties.numDevices = 2;
  properties.size = kSize;
  size_t granularity = 0;
  return cuMulticastGetGranularity(&granularity, &properties, 0);
}

CUlogicalEndpointProp OfTeam() {
  CUlogicalEndpointProp properties = {};
  properties.type = kTeam;
  properties.multicast.numDevices = 2;
  properties.size = 2 * kSize;
  properties.ipcHandleTypes = kFabric;
  return properties;
}
CUresult AskForLimits(World&) {
  const CUlogicalEndpointProp properties = OfTeam();
  unsigned long long alignment = 0, most = 0;
  return cuLogicalEndpointGetLimits(&alignment, &most, &properties);
}
CUresult CreateEndpoint(World& w) {
  const CUlogicalEndpointProp properties = OfTeam();
  return cuLogicalEndpointCreate(w.first, &properties);
}
CUresult Export(World& w) {
  const CUresult exported = cuLogicalEndpointExport(&w.handle, w.first, kFabric);
  w.is_exported |= exported == CUDA_SUCCESS;
  return exported;
}
CUresult BindMemory(World& w) {
  return cuLogicalEndpointBindMem(w.first, 0, 0, w.memory, 0, kSize, 0);
}
CUresult BindAddress(World& w) {
  const CUresult bound =
      cuLogicalEndpointBindAddr(w.first, 0, kSize, reinterpret_cast<void*>(w.address), kSize, 0);
  w.is_bound |= bound == CUDA_SUCCESS;
  return bound;
}
CUresult UnbindBoth(World& w) {
  const CUresult unbound = cuLogicalEndpointUnbind(w.first, 0, 0, 2 * kSize);
  w.is_bound &= unbound != CUDA_SUCCESS;
  return unbound;
}
CUresult Query(World& w) {
  int ready = 0;
  return cuLogicalEndpointQuery(w.first, 2, &ready);
}

Steps Preparing() {
  return {
      {"retain", [](World& w) { return cuDevicePrimaryCtxRetain(&w.context, 0); }},
      {"push", [](World& w) { return cuCtxPushCurrent_v2(w.context); }},
      {"create memory", [](World& w) { return Create(&w.memory); }},
      {"create other memory", [](World& w) { return Create(&w.other); }},
      {"reserve", [](World& w) { return cuMemAddressReserve(&w.address, kSize, 0, 0, 0); }},
      {"map", [](World& w) { return cuMemMap(w.address, kSize, 0, w.other, 0); }},
      {"grant", Grant},
      {"granularity of multicast", AskForGranularity},
  };
}

Steps Endpoints() {
  return {
      {"reserve numbers", [](World& w) { return cuLogicalEndpointIdReserve(&w.first, kNumbers); }},
      {"limits", AskForLimits},
      {"create endpoint", CreateEndpoint},
      {"export", Export},
      {"import", [](World& w) { return cuLogicalEndpointImport(w.first + 1, &w.handle, kFabric); }},
      {"add a device", [](World& w) { return cuLogicalEndpointAddDevice(w.first, 0); }},
      {"add another", [](World& w) { return cuLogicalEndpointAddDevice(w.first + 1, 1); }},
      {"query", Query},
      {"bind memory", BindMemory},
      {"bind an address", BindAddress},
      {"unbind both", UnbindBoth},
      {"bind memory again", BindMemory},
      {"bind an address again", BindAddress},
      {"destroy endpoint", [](World& w) { return cuLogicalEndpointDestroy(w.first); }},
      {"destroy the import", [](World& w) { return cuLogicalEndpointDestroy(w.first + 1); }},
      {"release a number in the middle",
       [](World& w) { return cuLogicalEndpointIdRelease(w.first + 1, 1); }},
      {"release the first", [](World& w) { return cuLogicalEndpointIdRelease(w.first, 1); }},
      {"release the others", [](World& w) { return cuLogicalEndpointIdRelease(w.first + 2, 2); }},
      {"unmap", [](World& w) { return cuMemUnmap(w.address, kSize); }},
      {"release memory", [](World& w) { return cuMemRelease(w.memory); }},
      {"release other memory", [](World& w) { return cuMemRelease(w.other); }},
  };
}

Steps Script() {
  Steps script = Preparing();
  for (const Step<World>& step : Endpoints()) script.push_back(step);
  return script;
}

// Whether something is bound at `offset`: then other memory is not. What was free is free again,
// but has room for a binding: not to be asked before the program has bound something.
CUresult Bound(World& w, unsigned long long offset) {
  CUmemGenericAllocationHandle probe = 0;
  if (Create(&probe) != CUDA_SUCCESS) return -1;
  const CUresult result = cuLogicalEndpointBindMem(w.first, 0, offset, probe, 0, kSize, 0);
  if (result == CUDA_SUCCESS) {
    EXPECT_EQ(cuLogicalEndpointUnbind(w.first, 0, offset, kSize), CUDA_SUCCESS);
  }
  EXPECT_EQ(cuMemRelease(probe), CUDA_SUCCESS);
  return result;
}

// All that a program can see.
std::string VisibleState(World& w) {
  std::ostringstream out;
  for (const unsigned int count : {1u, 2u, kNumbers}) {
    int ready = 0;
    out << cuLogicalEndpointQuery(w.first, count, &ready) << " numbers " << ready << "\n";
  }
  for (CUlogicalEndpointId id = w.first; w.first != 0 && id < w.first + kNumbers; ++id) {
    int ready = 0;
    out << cuLogicalEndpointQuery(id, 1, &ready) << " endpoint " << ready << "\n";
    CUlogicalEndpointFabricHandle handle = {};
    if (w.is_exported) out << cuLogicalEndpointExport(&handle, id, kFabric) << " exported\n";
  }
  for (const unsigned long long offset : {size_t{0}, kSize}) {
    if (w.is_bound) out << Bound(w, offset) << " bound\n";
  }
  for (const CUmemGenericAllocationHandle memory : {w.memory, w.other}) {
    CUmemAllocationProp properties = {};
    out << cuMemGetAllocationPropertiesFromHandle(&properties, memory) << " memory\n";
  }
  out << FreeOn(1);
  const std::filesystem::directory_iterator files("/proc/self/fd");
  out << std::distance(begin(files), end(files)) << " descriptors\n";
  return out.str();
}

class EndpointMemoryFailureTest : public testing::TestWithParam<bool> {};

TEST_P(EndpointMemoryFailureTest, NothingIsLost) {
  ExpectNothingIsLost(Script(), &VisibleState, GetParam(), /*least=*/30);
}

INSTANTIATE_TEST_SUITE_P(OnceOrFromThenOn, EndpointMemoryFailureTest, testing::Bool());

}  // namespace
}  // namespace twinmmu::libcuda
