// Pools of memory.

#include <unistd.h>

#include "conformance/abi/values/cases/all_cases.h"
#include "conformance/abi/values/cases/case_objects.h"

namespace twinmmu::abi {
namespace {

constexpr int kReusesAfterEvents = 1;
constexpr int kReleaseThreshold = 4;
constexpr int kReserved = 5;
constexpr int kUsed = 7;
constexpr int kUsedHigh = 8;

CUmemPoolProps PinnedIn(int location_type) {
  CUmemPoolProps properties = {};
  properties.allocType = 1;
  properties.location = {location_type, 0};
  return properties;
}
void VaryPool(Trial& trial, CUmemPoolProps& properties) {
  trial.Any(FIELD(properties.allocType));
  trial.Any(FIELD(properties.handleTypes));
  trial.Any(FIELD(properties.location.type));
  trial.Any(FIELD(properties.location.id));
  trial.Size(FIELD(properties.maxSize));
  trial.Any(FIELD(properties.usage));
  trial.Any(FIELD(properties.reserved[0]));
  trial.Any(FIELD(properties.reserved[53]));
}
void CreateIn(Trial& trial, int location_type) {
  CUmemPoolProps properties = PinnedIn(location_type);
  VaryPool(trial, properties);
  CUmemoryPool pool = nullptr;
  const CUresult result = Call("cuMemPoolCreate", &pool, &properties);
  trial.Answer(result);
  if (result == CUDA_SUCCESS) Must("cuMemPoolDestroy", pool);
}
void Create(Trial& trial) { CreateIn(trial, 1); }
void CreateOnHostNode(Trial& trial) { CreateIn(trial, 3); }

uint64_t AttributeOf(CUmemoryPool pool, int attribute) {
  uint64_t value = 0;
  Must("cuMemPoolGetAttribute", pool, attribute, &value);
  return value;
}
void Allocate(Trial& trial) {
  CUmemPoolProps properties = PinnedIn(1);
  properties.maxSize = kMiB;
  size_t size = 64;
  trial.Size(FIELD(properties.maxSize));
  trial.Memory(FIELD(size));
  CUmemoryPool pool = nullptr;
  Must("cuMemPoolCreate", &pool, &properties);
  CUdeviceptr address = 0;
  const CUresult result = Call("cuMemAllocFromPoolAsync", &address, size, pool, Stream());
  trial.Answer(result);
  if (result == CUDA_SUCCESS) {
    const uint64_t used = AttributeOf(pool, kUsed);
    trial.Tell(AttributeOf(pool, kReserved));
    if (used != size) trial.Tell(used);
    Must("cuMemFreeAsync", address, Stream());
  }
  Must("cuStreamSynchronize", Stream());
  Must("cuMemPoolDestroy", pool);
}
void AllocateFromDefault(Trial& trial) {
  size_t size = 64;
  trial.Memory(FIELD(size));
  CUdeviceptr address = 0;
  const CUresult result = Call("cuMemAllocAsync", &address, size, Stream());
  trial.Answer(result);
  if (result == CUDA_SUCCESS) Must("cuMemFreeAsync", address, Stream());
  Must("cuStreamSynchronize", Stream());
}

// Of a pool of its own: what is set stays there.
void SetAttribute(Trial& trial, int attribute) {
  const CUmemPoolProps properties = PinnedIn(1);
  CUmemoryPool pool = nullptr;
  Must("cuMemPoolCreate", &pool, &properties);
  uint64_t value = 0;
  trial.Any(FIELD(attribute));
  trial.Any(FIELD(value));
  trial.Answer(Call("cuMemPoolSetAttribute", pool, attribute, &value));
  uint64_t told = 77;
  trial.Answer(Call("cuMemPoolGetAttribute", pool, attribute, &told));
  if (told == value) {
    trial.Add("kept");
  } else {
    trial.Tell(told);
  }
  Must("cuMemPoolDestroy", pool);
}
void SetThreshold(Trial& trial) { SetAttribute(trial, kReleaseThreshold); }
void SetReuse(Trial& trial) { SetAttribute(trial, kReusesAfterEvents); }
void SetUsedHigh(Trial& trial) { SetAttribute(trial, kUsedHigh); }

void SetAccess(Trial& trial) {
  CUmemAccessDesc grants[] = {ReadWrite(), ReadWrite()};
  size_t count = 1;
  trial.Any(FIELD(grants[0].location.type));
  trial.Any(FIELD(grants[0].location.id));
  trial.Any(FIELD(grants[0].flags));
  trial.UpTo(2, FIELD(count));
  trial.Answer(Call("cuMemPoolSetAccess", Pool(), grants, count));
}
void GetAccess(Trial& trial) {
  CUmemLocation location = OnDevice();
  trial.Any(FIELD(location.type));
  trial.Any(FIELD(location.id));
  int flags = 77;
  trial.Answer(Call("cuMemPoolGetAccess", &flags, Pool(), &location));
  trial.Tell(flags);
}
void Trim(Trial& trial) {
  size_t kept = 0;
  trial.Any(FIELD(kept));
  trial.Answer(Call("cuMemPoolTrimTo", Pool(), kept));
}
void Export(Trial& trial) {
  int type = 1;
  unsigned long long flags = 0;
  trial.Any(FIELD(type));
  trial.Any(FIELD(flags));
  int shareable[16] = {-1};
  trial.Answer(Call("cuMemPoolExportToShareableHandle", shareable, Pool(), type, flags));
  close(shareable[0]);
}

void PoolOf(Trial& trial, const char* symbol) {
  CUmemLocation location = OnDevice();
  int type = 1;
  trial.Any(FIELD(location.type));
  trial.Any(FIELD(location.id));
  trial.Any(FIELD(type));
  CUmemoryPool pool = nullptr;
  trial.Answer(Call(symbol, &pool, &location, type));
}
void DefaultPool(Trial& trial) { PoolOf(trial, "cuMemGetDefaultMemPool"); }
void CurrentPool(Trial& trial) { PoolOf(trial, "cuMemGetMemPool"); }
void SetPool(Trial& trial) {
  CUmemLocation location = OnDevice();
  int type = 1;
  trial.Any(FIELD(location.type));
  trial.Any(FIELD(location.id));
  trial.Any(FIELD(type));
  trial.Answer(Call("cuMemSetMemPool", &location, type, Pool()));
  CUmemoryPool before = nullptr;
  Must("cuDeviceGetDefaultMemPool", &before, 0);
  Must("cuDeviceSetMemPool", 0, before);
}
void PoolsOfDevice(Trial& trial) {
  int device = 0;
  trial.Any(FIELD(device));
  CUmemoryPool pool = nullptr;
  trial.Answer(Call("cuDeviceGetDefaultMemPool", &pool, device));
  trial.Answer(Call("cuDeviceGetMemPool", &pool, device));
}

}  // namespace

std::vector<Case> PoolCases() {
  return {{"cuMemPoolCreate/device", Create},
          {"cuMemPoolCreate/host-node", CreateOnHostNode},
          {"cuMemAllocFromPoolAsync", Allocate},
          {"cuMemAllocAsync", AllocateFromDefault},
          {"cuMemPoolSetAttribute/threshold", SetThreshold},
          {"cuMemPoolSetAttribute/reuse", SetReuse},
          {"cuMemPoolSetAttribute/used-high", SetUsedHigh},
          {"cuMemPoolSetAccess", SetAccess},
          {"cuMemPoolGetAccess", GetAccess},
          {"cuMemPoolTrimTo", Trim},
          {"cuMemPoolExportToShareableHandle", Export},
          {"cuMemGetDefaultMemPool", DefaultPool},
          {"cuMemGetMemPool", CurrentPool},
          {"cuMemSetMemPool", SetPool},
          {"cuDeviceGetMemPool", PoolsOfDevice}};
}

}  // namespace twinmmu::abi
