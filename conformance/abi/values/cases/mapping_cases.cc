// Virtual memory: what is created, reserved, mapped and granted.

#include <unistd.h>

#include "conformance/abi/values/cases/all_cases.h"
#include "conformance/abi/values/cases/case_objects.h"

namespace twinmmu::abi {
namespace {

constexpr uint64_t kMapped = 8 * kMiB;
constexpr CUmemLocation kHost = {2, 0};
constexpr CUmemLocation kHostNode = {3, 0};

// Handles of the type of a fabric (8) need a machine that is in one.
bool IsOfNoFabric(uint64_t types) { return (types & CU_MEM_HANDLE_TYPE_FABRIC) == 0; }

void VaryProperties(Trial& trial, CUmemAllocationProp& properties) {
  trial.Any(FIELD(properties.type));
  trial.Where(IsOfNoFabric, FIELD(properties.requestedHandleTypes));
  trial.Any(FIELD(properties.location.type));
  trial.Any(FIELD(properties.location.id));
  trial.Any(FIELD(properties.allocFlags.compressionType));
  trial.Any(FIELD(properties.allocFlags.gpuDirectRDMACapable));
  trial.Any(FIELD(properties.allocFlags.usage));
  trial.Any(FIELD(properties.allocFlags.reserved[0]));
  trial.Any(FIELD(properties.allocFlags.reserved[3]));
  trial.Word(&properties.win32HandleMetaData, "properties.win32HandleMetaData");
}

void CreateIn(Trial& trial, CUmemLocation location, int handle_types) {
  CUmemAllocationProp properties = PinnedProperties();
  properties.location = location;
  properties.requestedHandleTypes = handle_types;
  size_t size = 2 * kMiB;
  unsigned long long flags = 0;
  VaryProperties(trial, properties);
  if (location.type == OnDevice().type) {
    trial.Memory(FIELD(size));
  } else {
    trial.UpTo(16 * kMiB, FIELD(size));
  }
  trial.Any(FIELD(flags));
  CUmemGenericAllocationHandle handle = 0;
  const CUresult result = Call("cuMemCreate", &handle, size, &properties, flags);
  trial.Answer(result);
  if (result != CUDA_SUCCESS) return;
  CUmemAllocationProp told = {};
  Must("cuMemGetAllocationPropertiesFromHandle", &told, handle);
  trial.Tell(told.type, told.requestedHandleTypes, told.location.type, told.location.id,
             told.allocFlags.compressionType, told.allocFlags.gpuDirectRDMACapable,
             told.allocFlags.usage);
  Must("cuMemRelease", handle);
}
void Create(Trial& trial) { CreateIn(trial, OnDevice(), 0); }
void CreateOnHost(Trial& trial) { CreateIn(trial, kHost, 0); }
void CreateOnHostNode(Trial& trial) { CreateIn(trial, kHostNode, 1); }

void GranularityIn(Trial& trial, CUmemLocation location) {
  CUmemAllocationProp properties = PinnedProperties();
  properties.location = location;
  int option = 0;
  VaryProperties(trial, properties);
  trial.Any(FIELD(option));
  size_t granularity = 0;
  trial.Answer(Call("cuMemGetAllocationGranularity", &granularity, &properties, option));
  trial.Tell(granularity);
}
void Granularity(Trial& trial) { GranularityIn(trial, OnDevice()); }
void GranularityOnHostNode(Trial& trial) { GranularityIn(trial, kHostNode); }

void Reserve(Trial& trial) {
  size_t size = 2 * kMiB;
  size_t alignment = 0;
  CUdeviceptr hint = 0;
  unsigned long long flags = 0;
  trial.Size(FIELD(size));
  trial.Size(FIELD(alignment));
  trial.Size(FIELD(hint));
  trial.Any(FIELD(flags));
  CUdeviceptr address = 0;
  const CUresult result = Call("cuMemAddressReserve", &address, size, alignment, hint, flags);
  trial.Answer(result);
  if (result != CUDA_SUCCESS) return;
  if (alignment != 0 && address % alignment != 0) trial.Add("not-aligned");
  Must("cuMemAddressFree", address, size);
}

CUmemGenericAllocationHandle CreatedFor(int handle_types) {
  CUmemAllocationProp properties = PinnedProperties();
  properties.requestedHandleTypes = handle_types;
  CUmemGenericAllocationHandle handle = 0;
  Must("cuMemCreate", &handle, kMapped, &properties, 0);
  return handle;
}
CUmemGenericAllocationHandle Created() {
  static const CUmemGenericAllocationHandle handle = CreatedFor(0);
  return handle;
}
CUmemGenericAllocationHandle Shareable() {
  static const CUmemGenericAllocationHandle handle = CreatedFor(1);
  return handle;
}
CUdeviceptr Reserved() {
  static const CUdeviceptr address = [] {
    CUdeviceptr made = 0;
    Must("cuMemAddressReserve", &made, kMapped, 0, 0, 0);
    return made;
  }();
  return address;
}
void Grant(CUdeviceptr address) {
  const CUmemAccessDesc grant = ReadWrite();
  Must("cuMemSetAccess", address, kMapped, &grant, 1);
}
// Maps all of it.
CUdeviceptr MapAll() {
  Must("cuMemMap", Reserved(), kMapped, 0, Created(), 0);
  Grant(Reserved());
  return Reserved();
}
CUdeviceptr Mapped() {
  static const CUdeviceptr address = MapAll();
  return address;
}

void Map(Trial& trial) {
  CUdeviceptr address = Reserved();
  size_t size = kMapped;
  size_t offset = 0;
  unsigned long long flags = 0;
  trial.Offset(kMapped, FIELD(address));
  trial.Size(FIELD(size));
  trial.Size(FIELD(offset));
  trial.Any(FIELD(flags));
  const CUresult result = Call("cuMemMap", address, size, offset, Created(), flags);
  trial.Answer(result);
  if (result == CUDA_SUCCESS) Must("cuMemUnmap", address, size);
}
void Unmap(Trial& trial) {
  CUdeviceptr address = MapAll();
  size_t size = kMapped;
  trial.Offset(kMapped, FIELD(address));
  trial.UpTo(kMapped, FIELD(size));
  const CUresult result = Call("cuMemUnmap", address, size);
  trial.Answer(result);
  if (result != CUDA_SUCCESS) Must("cuMemUnmap", Reserved(), kMapped);
}
void SetAccess(Trial& trial) {
  CUdeviceptr address = Mapped();
  size_t size = kMapped;
  CUmemAccessDesc grant = ReadWrite();
  size_t count = 1;
  trial.Offset(kMapped, FIELD(address));
  trial.Size(FIELD(size));
  trial.Any(FIELD(grant.location.type));
  trial.Any(FIELD(grant.location.id));
  trial.Any(FIELD(grant.flags));
  trial.UpTo(1, FIELD(count));
  trial.Answer(Call("cuMemSetAccess", address, size, &grant, count));
  unsigned long long flags = 0;
  const CUmemLocation location = OnDevice();
  Must("cuMemGetAccess", &flags, &location, Mapped());
  trial.Tell(flags);
  Grant(Mapped());
}
void GetAccess(Trial& trial) {
  CUdeviceptr address = Mapped();
  CUmemLocation location = OnDevice();
  trial.Offset(kMapped, FIELD(address));
  trial.Any(FIELD(location.type));
  trial.Any(FIELD(location.id));
  unsigned long long flags = 77;
  trial.Answer(Call("cuMemGetAccess", &flags, &location, address));
  trial.Tell(flags);
}
void Retain(Trial& trial) {
  CUdeviceptr address = Mapped();
  trial.Offset(kMapped, FIELD(address));
  CUmemGenericAllocationHandle handle = 0;
  const CUresult result = Call("cuMemRetainAllocationHandle", &handle, address);
  trial.Answer(result);
  if (result != CUDA_SUCCESS) return;
  if (handle != Created()) trial.Add("another");
  Must("cuMemRelease", handle);
}
void MappedRange(Trial& trial) {
  CUdeviceptr address = Mapped();
  trial.Offset(kMapped, FIELD(address));
  CUdeviceptr base = 0;
  size_t size = 0;
  const CUresult result = Call("cuMemGetAddressRange_v2", &base, &size, address);
  trial.Answer(result);
  if (result == CUDA_SUCCESS) trial.Tell(base - Mapped(), size);
}

void Export(Trial& trial) {
  int type = 1;
  unsigned long long flags = 0;
  trial.Any(FIELD(type));
  trial.Any(FIELD(flags));
  int descriptor = -1;
  trial.Answer(Call("cuMemExportToShareableHandle", &descriptor, Shareable(), type, flags));
  close(descriptor);
}
void Import(Trial& trial) {
  int type = 1;
  trial.Where(IsOfNoFabric, FIELD(type));
  int descriptor = -1;
  Must("cuMemExportToShareableHandle", &descriptor, Shareable(), 1, 0);
  CUmemGenericAllocationHandle handle = 0;
  const CUresult result = Call("cuMemImportFromShareableHandle", &handle, descriptor, type);
  trial.Answer(result);
  if (result == CUDA_SUCCESS) Must("cuMemRelease", handle);
  close(descriptor);
}
void RangeHandleOf(Trial& trial, CUdeviceptr address, uint64_t bytes) {
  size_t size = bytes;
  int type = 1;
  unsigned long long flags = 0;
  if (bytes != kMapped) size /= 2;
  trial.Offset(bytes, FIELD(address));
  trial.UpTo(bytes, FIELD(size));
  trial.Any(FIELD(type));
  trial.Any(FIELD(flags));
  int descriptor = -1;
  trial.Answer(Call("cuMemGetHandleForAddressRange", &descriptor, address, size, type, flags));
  close(descriptor);
}
void RangeHandle(Trial& trial) { RangeHandleOf(trial, Memory(), kBytes); }
void MappedRangeHandle(Trial& trial) { RangeHandleOf(trial, Mapped(), kMapped); }

}  // namespace

std::vector<Case> MappingCases() {
  return {{"cuMemCreate/device", Create},
          {"cuMemCreate/host", CreateOnHost},
          {"cuMemCreate/host-node", CreateOnHostNode},
          {"cuMemGetAllocationGranularity/device", Granularity},
          {"cuMemGetAllocationGranularity/host-node", GranularityOnHostNode},
          {"cuMemAddressReserve", Reserve},
          {"cuMemMap", Map},
          {"cuMemUnmap", Unmap},
          {"cuMemSetAccess", SetAccess},
          {"cuMemGetAccess", GetAccess},
          {"cuMemRetainAllocationHandle", Retain},
          {"cuMemGetAddressRange/mapped", MappedRange},
          {"cuMemExportToShareableHandle", Export},
          {"cuMemImportFromShareableHandle", Import},
          {"cuMemGetHandleForAddressRange", RangeHandle},
          {"cuMemGetHandleForAddressRange/mapped", MappedRangeHandle}};
}

}  // namespace twinmmu::abi
