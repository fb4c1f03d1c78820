// What is known of pointers.

#include <algorithm>
#include <cstring>
#include <iterator>

#include "conformance/abi/values/cases/all_cases.h"
#include "conformance/abi/values/cases/case_objects.h"

namespace twinmmu::abi {
namespace {

constexpr int kMemoryType = 2;

// Those that are no addresses, identifiers or handles.
bool IsTold(int attribute) {
  // The type of the memory, managed, ordinal of the device, capable of IPC, mapped, types of
  // handles, capable of RDMA, access.
  constexpr int kTold[] = {kMemoryType, 8, 9, 10, 13, 14, 15, 16};
  return std::find(std::begin(kTold), std::end(kTold), attribute) != std::end(kTold);
}
bool IsToldAsSize(int attribute) { return attribute == 12 || attribute == 18; }

void GetOf(Trial& trial, CUdeviceptr memory) {
  CUdeviceptr address = memory + 100;
  int attribute = kMemoryType;
  trial.Any(FIELD(attribute));
  trial.Offset(kBytes - 100, FIELD(address));
  alignas(8) unsigned char data[256] = {};
  const CUresult result = Call("cuPointerGetAttribute", data, attribute, address);
  trial.Answer(result);
  uint64_t value = 0;
  std::memcpy(&value, data, sizeof(value));
  if (IsToldAsSize(attribute)) trial.Tell(value);
  if (IsTold(attribute)) trial.Tell(static_cast<unsigned int>(data[0]));
}
void GetOfDevice(Trial& trial) { GetOf(trial, Memory()); }
void GetOfManaged(Trial& trial) { GetOf(trial, ManagedMemory()); }
void GetOfHost(Trial& trial) { GetOf(trial, reinterpret_cast<CUdeviceptr>(HostMemory())); }
void GetOfMapped(Trial& trial) {
  static const CUdeviceptr mapped = [] {
    const CUmemAllocationProp properties = PinnedProperties();
    CUmemGenericAllocationHandle handle = 0;
    Must("cuMemCreate", &handle, kBytes, &properties, 0);
    CUdeviceptr address = 0;
    Must("cuMemAddressReserve", &address, 4 * kBytes, 0, 0, 0);
    Must("cuMemMap", address, kBytes, 0, handle, 0);
    const CUmemAccessDesc grant = ReadWrite();
    Must("cuMemSetAccess", address, kBytes, &grant, 1);
    return address;
  }();
  GetOf(trial, mapped);
}

void GetSeveral(Trial& trial) {
  CUdeviceptr address = Memory();
  int attributes[] = {kMemoryType, kMemoryType};
  unsigned int count = 2;
  trial.UpTo(2, FIELD(count));
  trial.Any(FIELD(attributes[0]));
  trial.Any(FIELD(attributes[1]));
  trial.Offset(kBytes, FIELD(address));
  unsigned char first[256] = {77};
  unsigned char second[256] = {77};
  void* data[] = {first, second};
  trial.Answer(Call("cuPointerGetAttributes", count, attributes, data, address));
  if (IsTold(attributes[0])) trial.Tell(static_cast<unsigned int>(first[0]));
  if (IsTold(attributes[1])) trial.Tell(static_cast<unsigned int>(second[0]));
}
void Set(Trial& trial) {
  constexpr int kSyncMemops = 6;
  CUdeviceptr address = Memory();
  int attribute = kSyncMemops;
  int value = 0;
  trial.Offset(kBytes, FIELD(address));
  trial.Any(FIELD(attribute));
  trial.Any(FIELD(value));
  trial.Answer(Call("cuPointerSetAttribute", &value, attribute, address));
}

}  // namespace

std::vector<Case> PointerCases() {
  return {{"cuPointerGetAttribute/device", GetOfDevice},
          {"cuPointerGetAttribute/managed", GetOfManaged},
          {"cuPointerGetAttribute/host", GetOfHost},
          {"cuPointerGetAttribute/mapped", GetOfMapped},
          {"cuPointerGetAttributes", GetSeveral},
          {"cuPointerSetAttribute", Set}};
}

}  // namespace twinmmu::abi
