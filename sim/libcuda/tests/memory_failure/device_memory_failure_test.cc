// The host runs out of memory in calls for devices and contexts and what they are like, and in
// those that ask the driver about itself: see memory_failure_steps.h. The simulated driver is
// linked in.

#include <cstdint>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/process.h"
#include "sim/libcuda/tests/memory_failure/memory_failure_steps.h"

namespace twinmmu::libcuda {

struct Resource {  // CUdevResource
  int type;
  unsigned char of_driver[140];
};
struct ExecAffinity {  // CUexecAffinityParam
  int type;
  unsigned int multiprocessors;
};

// What the backend does not call.
extern "C" {
CUresult cuGetErrorName(CUresult, const char**);
CUresult cuGetErrorString(CUresult, const char**);
CUresult cuGetProcAddress_v2(const char*, void**, int, uint64_t, CUdriverProcAddressQueryResult*);
CUresult cuDeviceGetUuid_v2(CUuuid*, CUdevice);
CUresult cuDeviceTotalMem_v2(size_t*, CUdevice);
CUresult cuDeviceComputeCapability(int*, int*, CUdevice);
CUresult cuDeviceGetProperties(CUdevprop*, CUdevice);
CUresult cuDeviceGetPCIBusId(char*, int, CUdevice);
CUresult cuDeviceGetByPCIBusId(CUdevice*, const char*);
CUresult cuDeviceGetP2PAttribute(int*, int, CUdevice, CUdevice);
CUresult cuDeviceGetHostAtomicCapabilities(unsigned int*, const int*, unsigned int, CUdevice);
CUresult cuDeviceGetP2PAtomicCapabilities(unsigned int*, const int*, unsigned int, CUdevice,
                                          CUdevice);
CUresult cuDeviceGetExecAffinitySupport(int*, int, CUdevice);
CUresult cuDeviceGetCliqueCount(size_t*, CUdevice);
CUresult cuDeviceGetCliqueInfo(CUcliqueInfo*, size_t*, CUdevice);
CUresult cuDeviceGetFabricClusterUuid(CUuuid*, CUdevice);
CUresult cuDevicePrimaryCtxGetState(CUdevice, unsigned int*, int*);
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice, unsigned int);
CUresult cuCtxCreate_v4(CUcontext*, void*, unsigned int, CUdevice);
CUresult cuCtxAttach(CUcontext*, unsigned int);
CUresult cuCtxDetach(CUcontext);
CUresult cuCtxGetId(CUcontext, unsigned long long*);
CUresult cuCtxGetDevice(CUdevice*);
CUresult cuCtxGetFlags(unsigned int*);
CUresult cuCtxSetFlags(unsigned int);
CUresult cuCtxGetApiVersion(CUcontext, unsigned int*);
CUresult cuCtxGetStreamPriorityRange(int*, int*);
CUresult cuCtxGetExecAffinity(ExecAffinity*, int);
CUresult cuCtxGetDevResource(CUcontext, Resource*, int);
CUresult cuDevResourceGenerateDesc(void**, const Resource*, unsigned int);
CUresult cuGreenCtxCreate(void**, void*, CUdevice, unsigned int);
CUresult cuGreenCtxGetDevResource(void*, Resource*, int);
CUresult cuGreenCtxDestroy(void*);
}

namespace {

constexpr int kVersion = 13000;
constexpr unsigned int kYield = 2;  // CU_CTX_SCHED_YIELD
constexpr unsigned int kBlock = 4;  // CU_CTX_SCHED_BLOCKING_SYNC

// The driver of a later version, which knows of cliques.
void RestartWithCliques() {
  Profile profile = Profile::ReferenceH200(2);
  profile.driver_version = 13040;
  Process::Get().Restart(profile);
}

// What the steps hand on to each other.
struct World {
  World() { RestartWithCliques(); }

  CUcontext primary = nullptr, created = nullptr, attached = nullptr, popped = nullptr;
  char bus[32] = {};
  Resource all = {};
  void* description = nullptr;
  void* green = nullptr;
  const char* text = nullptr;
  void* function = nullptr;
  int number = 0, other = 0;
  unsigned int word = 0;
  CUuuid uuid = {};
};
using Steps = std::vector<Step<World>>;

CUresult Find(World& w, const char* name) {
  CUdriverProcAddressQueryResult found = 0;
  return cuGetProcAddress_v2(name, &w.function, kVersion, 0, &found);
}
CUresult GetName(World&) {
  char name[100];
  return cuDeviceGetName(name, sizeof(name), 0);
}
CUresult GetProperties(World&) {
  CUdevprop properties = {};
  return cuDeviceGetProperties(&properties, 0);
}
CUresult GetAtomics(World&) {
  const int operations[] = {0, 1};
  unsigned int capabilities[2] = {};
  return cuDeviceGetHostAtomicCapabilities(capabilities, operations, 2, 0);
}
CUresult GetAtomicsOfPeers(World&) {
  const int operations[] = {0, 1};
  unsigned int capabilities[2] = {};
  return cuDeviceGetP2PAtomicCapabilities(capabilities, operations, 2, 0, 1);
}
CUresult GetCliques(World&) {
  CUcliqueInfo info[8] = {};
  size_t count = std::size(info);
  return cuDeviceGetCliqueInfo(info, &count, 0);
}

Steps Asking() {
  return {
      {"version", [](World& w) { return cuDriverGetVersion(&w.number); }},
      {"name of an error", [](World& w) { return cuGetErrorName(2, &w.text); }},
      {"text of an error", [](World& w) { return cuGetErrorString(2, &w.text); }},
      {"find a function", [](World& w) { return Find(w, "cuMemAlloc"); }},
      {"find none", [](World& w) { return Find(w, "cuMemTeleport"); }},
      {"count", [](World& w) { return cuDeviceGetCount(&w.number); }},
      {"device", [](World& w) { return cuDeviceGet(&w.number, 1); }},
      {"name", GetName},
      {"identity", [](World& w) { return cuDeviceGetUuid_v2(&w.uuid, 0); }},
      {"memory",
       [](World&) {
         size_t size = 0;
         return cuDeviceTotalMem_v2(&size, 0);
       }},
      {"attribute", [](World& w) { return cuDeviceGetAttribute(&w.number, 16, 0); }},
      {"capability", [](World& w) { return cuDeviceComputeCapability(&w.number, &w.other, 0); }},
      {"properties", GetProperties},
      {"place", [](World& w) { return cuDeviceGetPCIBusId(w.bus, sizeof(w.bus), 1); }},
      {"device there", [](World& w) { return cuDeviceGetByPCIBusId(&w.number, w.bus); }},
      {"reaches", [](World& w) { return cuDeviceCanAccessPeer(&w.number, 0, 1); }},
      {"reaches how", [](World& w) { return cuDeviceGetP2PAttribute(&w.number, 2, 0, 1); }},
      {"atomics", GetAtomics},
      {"atomics of peers", GetAtomicsOfPeers},
      {"affinity", [](World& w) { return cuDeviceGetExecAffinitySupport(&w.number, 0, 0); }},
      {"count cliques",
       [](World&) {
         size_t count = 0;
         return cuDeviceGetCliqueCount(&count, 0);
       }},
      {"cliques", GetCliques},
      {"cluster", [](World& w) { return cuDeviceGetFabricClusterUuid(&w.uuid, 0); }},
  };
}

Steps Contexts() {
  return {
      {"set flags of the primary", [](World&) { return cuDevicePrimaryCtxSetFlags_v2(0, kYield); }},
      {"retain", [](World& w) { return cuDevicePrimaryCtxRetain(&w.primary, 0); }},
      {"push", [](World& w) { return cuCtxPushCurrent_v2(w.primary); }},
      {"create", [](World& w) { return cuCtxCreate_v4(&w.created, nullptr, 0, 1); }},
      {"attach", [](World& w) { return cuCtxAttach(&w.attached, 0); }},
      {"set flags", [](World&) { return cuCtxSetFlags(kBlock); }},
      {"flags", [](World& w) { return cuCtxGetFlags(&w.word); }},
      {"its device", [](World& w) { return cuCtxGetDevice(&w.number); }},
      {"its version", [](World& w) { return cuCtxGetApiVersion(w.created, &w.word); }},
      {"priorities", [](World& w) { return cuCtxGetStreamPriorityRange(&w.number, &w.other); }},
      {"its affinity",
       [](World&) {
         ExecAffinity affinity = {};
         return cuCtxGetExecAffinity(&affinity, 0);
       }},
      {"detach", [](World& w) { return cuCtxDetach(w.attached); }},
      {"detach the last time", [](World& w) { return cuCtxDetach(w.created); }},
      {"multiprocessors", [](World& w) { return cuCtxGetDevResource(w.primary, &w.all, 1); }},
      {"describe", [](World& w) { return cuDevResourceGenerateDesc(&w.description, &w.all, 1); }},
      {"create a green one",
       [](World& w) { return cuGreenCtxCreate(&w.green, w.description, 0, 1); }},
      {"its multiprocessors",
       [](World& w) { return cuGreenCtxGetDevResource(w.green, &w.all, 1); }},
      {"destroy it", [](World& w) { return cuGreenCtxDestroy(w.green); }},
      {"pop", [](World& w) { return cuCtxPopCurrent_v2(&w.popped); }},
      {"release", [](World&) { return cuDevicePrimaryCtxRelease_v2(0); }},
  };
}

Steps Script() { return Joined<World>({Asking(), Contexts()}); }

// All that a program can see.
std::string VisibleState(World& w) {
  std::ostringstream out;
  unsigned int flags = 0;
  int active = 0;
  out << cuDevicePrimaryCtxGetState(0, &flags, &active) << " primary " << active << " " << flags
      << "\n";
  CUcontext current = nullptr;
  out << cuCtxGetCurrent(&current) << " current " << current << "\n";
  out << cuCtxGetFlags(&flags) << " flags " << flags << "\n";
  for (const CUcontext context : {w.primary, w.created}) {
    unsigned long long id = 0;
    out << (context == nullptr ? 0 : cuCtxGetId(context, &id)) << " context " << id << "\n";
  }
  Resource resource = {};
  out << cuGreenCtxGetDevResource(w.green, &resource, 1) << " green\n";
  out << FreeOn(2);
  return out.str();
}

class DeviceMemoryFailureTest : public testing::TestWithParam<bool> {};

TEST_P(DeviceMemoryFailureTest, NothingIsLost) {
  ExpectNothingIsLost(Script(), &VisibleState, GetParam(), /*least=*/10);
}

INSTANTIATE_TEST_SUITE_P(OnceOrFromThenOn, DeviceMemoryFailureTest, testing::Bool());

}  // namespace
}  // namespace twinmmu::libcuda
