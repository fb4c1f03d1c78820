// Devices, and what needs none: errors, functions by their names, logs, core dumps.

#include <algorithm>
#include <iterator>

#include "conformance/abi/values/cases/all_cases.h"
#include "conformance/abi/values/cases/case_objects.h"

namespace twinmmu::abi {
namespace {

void GetDevice(Trial& trial) {
  int ordinal = 0;
  trial.Any(FIELD(ordinal));
  int device = 77;
  trial.Answer(Call("cuDeviceGet", &device, ordinal));
  trial.Tell(device);
}
void GetAttribute(Trial& trial) {
  // Clocks, timeouts, modes, ECC, the place on the bus, what the machine's kernel and links allow.
  constexpr int kOfMachine[] = {13, 17, 20, 32, 33, 100, 128};
  int attribute = 1;
  int device = 0;
  trial.Any(FIELD(attribute));
  trial.Any(FIELD(device));
  int value = -77;
  trial.Answer(Call("cuDeviceGetAttribute", &value, attribute, device));
  const auto* const end = std::end(kOfMachine);
  if (std::find(std::begin(kOfMachine), end, attribute) == end) trial.Tell(value);
}
// A question whose answer is not told: it is another one on each machine.
void AskOfDevice(Trial& trial, const char* symbol) {
  int device = 0;
  trial.Any(FIELD(device));
  alignas(16) char place[64] = {};
  trial.Answer(Call(symbol, place, device));
}
void GetUuid(Trial& trial) { AskOfDevice(trial, "cuDeviceGetUuid_v2"); }
void TotalMemory(Trial& trial) { AskOfDevice(trial, "cuDeviceTotalMem_v2"); }
void GetLuid(Trial& trial) {
  int device = 0;
  trial.Any(FIELD(device));
  char luid[8] = {};
  unsigned int nodes = 0;
  trial.Answer(Call("cuDeviceGetLuid", luid, &nodes, device));
}
void ComputeCapability(Trial& trial) {
  int device = 0;
  trial.Any(FIELD(device));
  int major = 7;
  int minor = 7;
  trial.Answer(Call("cuDeviceComputeCapability", &major, &minor, device));
  trial.Tell(major, minor);
}
// The genuine driver ends the process for a size of 0.
bool IsSizeOfName(uint64_t size) { return size > 0 && size <= 400; }

void GetName(Trial& trial) {
  int size = 100;
  int device = 0;
  trial.Where(IsSizeOfName, FIELD(size));
  trial.Any(FIELD(device));
  char name[512] = {};
  trial.Answer(Call("cuDeviceGetName", name, size, device));
}
void GetBusId(Trial& trial) {
  int size = 13;
  int device = 0;
  trial.UpTo(60, FIELD(size));
  trial.Any(FIELD(device));
  char id[64] = {};
  trial.Answer(Call("cuDeviceGetPCIBusId", id, size, device));
}
void PeerAttribute(Trial& trial) {
  int attribute = 1;
  int device = 0;
  int peer = 0;
  trial.Any(FIELD(attribute));
  trial.Any(FIELD(device));
  trial.Any(FIELD(peer));
  int value = 77;
  trial.Answer(Call("cuDeviceGetP2PAttribute", &value, attribute, device, peer));
  trial.Tell(value);
}
void CanAccessPeer(Trial& trial) {
  int device = 0;
  int peer = 0;
  trial.Any(FIELD(device));
  trial.Any(FIELD(peer));
  int can = 77;
  trial.Answer(Call("cuDeviceCanAccessPeer", &can, device, peer));
  trial.Tell(can);
}
void PeerAtomics(Trial& trial) {
  int operations[] = {0, 1};
  unsigned int count = 1;
  int device = 0;
  int peer = 0;
  trial.UpTo(2, FIELD(count));
  trial.Any(FIELD(operations[0]));
  trial.Any(FIELD(device));
  trial.Any(FIELD(peer));
  unsigned int can[] = {77, 77};
  trial.Answer(Call("cuDeviceGetP2PAtomicCapabilities", can, operations, count, device, peer));
  trial.Tell(can[0]);
}
void HostAtomics(Trial& trial) {
  int operations[] = {0, 1};
  unsigned int count = 1;
  int device = 0;
  trial.UpTo(2, FIELD(count));
  trial.Any(FIELD(operations[0]));
  trial.Any(FIELD(device));
  unsigned int can[] = {77, 77};
  trial.Answer(Call("cuDeviceGetHostAtomicCapabilities", can, operations, count, device));
  trial.Tell(can[0]);
}
void AffinitySupport(Trial& trial) {
  int type = 0;
  int device = 0;
  trial.Any(FIELD(type));
  trial.Any(FIELD(device));
  int value = 77;
  trial.Answer(Call("cuDeviceGetExecAffinitySupport", &value, type, device));
  trial.Tell(value);
}
void SciSync(Trial& trial) {
  int flags = 1;
  int device = 0;
  trial.Any(FIELD(flags));
  trial.Any(FIELD(device));
  char attributes[1024] = {};
  trial.Answer(Call("cuDeviceGetNvSciSyncAttributes", attributes, device, flags));
}
void GraphMemory(Trial& trial) {
  int attribute = 0;
  int device = 0;
  trial.Any(FIELD(attribute));
  trial.Any(FIELD(device));
  uint64_t value = 77;
  trial.Answer(Call("cuDeviceGetGraphMemAttribute", device, attribute, &value));
  trial.Tell(value);
}
void SetGraphMemory(Trial& trial) {
  int attribute = 1;
  int device = 0;
  uint64_t value = 0;
  trial.Any(FIELD(attribute));
  trial.Any(FIELD(device));
  trial.Any(FIELD(value));
  trial.Answer(Call("cuDeviceSetGraphMemAttribute", device, attribute, &value));
}
void TrimGraphMemory(Trial& trial) {
  int device = 0;
  trial.Any(FIELD(device));
  trial.Answer(Call("cuDeviceGraphMemTrim", device));
}

void ErrorName(Trial& trial) {
  int error = 0;
  trial.Any(FIELD(error));
  const char* name = nullptr;
  trial.Answer(Call("cuGetErrorName", error, &name));
  if (name != nullptr) trial.Add(name);
}
void ErrorString(Trial& trial) {
  int error = 0;
  trial.Any(FIELD(error));
  const char* text = nullptr;
  trial.Answer(Call("cuGetErrorString", error, &text));
  if (text == nullptr) trial.Add("null");
}
void ProcAddress(Trial& trial) {
  int version = 13000;
  uint64_t flags = 0;
  trial.Any(FIELD(version));
  trial.Any(FIELD(flags));
  void* function = nullptr;
  int found = 77;
  trial.Answer(Call("cuGetProcAddress_v2", "cuMemAlloc", &function, version, flags, &found));
  trial.Tell(function != nullptr, found);
}
void FlushRdma(Trial& trial) {
  int target = 0;
  int scope = 100;
  trial.Any(FIELD(target));
  trial.Any(FIELD(scope));
  trial.Answer(Call("cuFlushGPUDirectRDMAWrites", target, scope));
}
void CoreDump(Trial& trial) {
  int attribute = 1;
  size_t size = 4;
  trial.Any(FIELD(attribute));
  trial.UpTo(1024, FIELD(size));
  const size_t asked = size;
  char value[1024] = {};
  trial.Answer(Call("cuCoredumpGetAttribute", attribute, value, &size));
  if (size != asked) trial.Tell(size);
}
void Logs(Trial& trial) {
  unsigned int flags = 0;
  trial.Any(FIELD(flags));
  unsigned int entry = 0;
  trial.Answer(Call("cuLogsCurrent", &entry, flags));
}
void DumpLogs(Trial& trial) {
  unsigned int flags = 0;
  trial.Any(FIELD(flags));
  static char logs[32768];
  size_t size = sizeof(logs);
  unsigned int entry = 0;
  Must("cuLogsCurrent", &entry, 0);
  trial.Answer(Call("cuLogsDumpToMemory", &entry, logs, &size, flags));
}

}  // namespace

std::vector<Case> DeviceCases() {
  return {{"cuDeviceGet", GetDevice},
          {"cuDeviceGetAttribute", GetAttribute},
          {"cuDeviceGetUuid", GetUuid},
          {"cuDeviceTotalMem", TotalMemory},
          {"cuDeviceGetLuid", GetLuid},
          {"cuDeviceComputeCapability", ComputeCapability},
          {"cuDeviceGetName", GetName},
          {"cuDeviceGetPCIBusId", GetBusId},
          {"cuDeviceGetP2PAttribute", PeerAttribute},
          {"cuDeviceCanAccessPeer", CanAccessPeer},
          {"cuDeviceGetP2PAtomicCapabilities", PeerAtomics},
          {"cuDeviceGetHostAtomicCapabilities", HostAtomics},
          {"cuDeviceGetExecAffinitySupport", AffinitySupport},
          {"cuDeviceGetNvSciSyncAttributes", SciSync},
          {"cuDeviceGetGraphMemAttribute", GraphMemory},
          {"cuDeviceSetGraphMemAttribute", SetGraphMemory},
          {"cuDeviceGraphMemTrim", TrimGraphMemory},
          {"cuGetErrorName", ErrorName},
          {"cuGetErrorString", ErrorString},
          {"cuGetProcAddress", ProcAddress},
          {"cuFlushGPUDirectRDMAWrites", FlushRdma},
          {"cuCoredumpGetAttribute", CoreDump},
          {"cuLogsCurrent", Logs},
          {"cuLogsDumpToMemory", DumpLogs}};
}

}  // namespace twinmmu::abi
