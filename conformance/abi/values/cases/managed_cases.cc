// Managed memory.

#include "conformance/abi/values/cases/all_cases.h"
#include "conformance/abi/values/cases/case_objects.h"

namespace twinmmu::abi {
namespace {

constexpr uint64_t kPart = 65536;
constexpr CUmemLocation kHost = {2, 0};

void Advise(Trial& trial, int advice) {
  CUdeviceptr address = ManagedMemory();
  size_t size = kPart;
  CUmemLocation location = OnDevice();
  trial.Offset(kBytes, FIELD(address));
  trial.Size(FIELD(size));
  trial.Any(FIELD(advice));
  trial.Any(FIELD(location.type));
  trial.Any(FIELD(location.id));
  trial.Answer(Call("cuMemAdvise_v2", address, size, advice, location));
}
void AdviseReadMostly(Trial& trial) { Advise(trial, 1); }
void AdvisePreferred(Trial& trial) { Advise(trial, 3); }
void AdviseAccessed(Trial& trial) { Advise(trial, 5); }

void Prefetch(Trial& trial) {
  CUdeviceptr address = ManagedMemory();
  size_t size = kPart;
  CUmemLocation location = OnDevice();
  unsigned int flags = 0;
  trial.Offset(kBytes, FIELD(address));
  trial.Size(FIELD(size));
  trial.Any(FIELD(location.type));
  trial.Any(FIELD(location.id));
  trial.Any(FIELD(flags));
  trial.Answer(Call("cuMemPrefetchAsync_v2", address, size, location, flags, Stream()));
}

// Two parts, the first to the device and the second to the host.
void PrefetchParts(Trial& trial, const char* symbol) {
  CUdeviceptr addresses[] = {ManagedMemory(), ManagedMemory() + kPart};
  size_t sizes[] = {kPart, kPart};
  size_t firsts[] = {0, 1};
  CUmemLocation locations[] = {OnDevice(), kHost};
  size_t parts = 2;
  size_t places = 2;
  unsigned long long flags = 0;
  trial.Offset(kBytes, FIELD(addresses[0]));
  trial.Size(FIELD(sizes[0]));
  trial.Any(FIELD(firsts[0]));
  trial.Any(FIELD(firsts[1]));
  trial.UpTo(2, FIELD(parts));
  trial.UpTo(2, FIELD(places));
  trial.Any(FIELD(flags));
  trial.Any(FIELD(locations[0].type));
  trial.Any(FIELD(locations[0].id));
  trial.Any(FIELD(locations[1].type));
  trial.Answer(Call(symbol, addresses, sizes, parts, locations, firsts, places, flags, Stream()));
}
void PrefetchBatch(Trial& trial) { PrefetchParts(trial, "cuMemPrefetchBatchAsync"); }
void DiscardAndPrefetch(Trial& trial) { PrefetchParts(trial, "cuMemDiscardAndPrefetchBatchAsync"); }
void Discard(Trial& trial) {
  CUdeviceptr addresses[] = {ManagedMemory(), ManagedMemory() + kPart};
  size_t sizes[] = {kPart, kPart};
  size_t parts = 2;
  unsigned long long flags = 0;
  trial.Offset(kBytes, FIELD(addresses[0]));
  trial.Size(FIELD(sizes[0]));
  trial.UpTo(2, FIELD(parts));
  trial.Any(FIELD(flags));
  trial.Answer(Call("cuMemDiscardBatchAsync", addresses, sizes, parts, flags, Stream()));
}

void RangeAttribute(Trial& trial) {
  CUdeviceptr address = ManagedMemory();
  size_t size = kPart;
  size_t data_size = 4;
  int attribute = 1;
  trial.Offset(kBytes, FIELD(address));
  trial.Size(FIELD(size));
  trial.UpTo(4096, FIELD(data_size));
  trial.Any(FIELD(attribute));
  int data[1024] = {77};
  trial.Answer(Call("cuMemRangeGetAttribute", data, data_size, attribute, address, size));
  trial.Tell(data[0]);
}

// A genuine driver ends the process for flags of 0.
bool IsNotZero(uint64_t value) { return value != 0; }

void Attach(Trial& trial) {
  CUdeviceptr address = ManagedMemory();
  size_t size = 0;
  unsigned int flags = 4;
  trial.Offset(kBytes, FIELD(address));
  trial.Size(FIELD(size));
  trial.Where(IsNotZero, FIELD(flags));
  trial.Answer(Call("cuStreamAttachMemAsync", Stream(), address, size, flags));
  constexpr unsigned int kGlobal = 1;
  Must("cuStreamAttachMemAsync", Stream(), ManagedMemory(), 0, kGlobal);
}

}  // namespace

std::vector<Case> ManagedCases() {
  return {{"cuMemAdvise/read-mostly", AdviseReadMostly},
          {"cuMemAdvise/preferred", AdvisePreferred},
          {"cuMemAdvise/accessed", AdviseAccessed},
          {"cuMemPrefetchAsync", Prefetch},
          {"cuMemPrefetchBatchAsync", PrefetchBatch},
          {"cuMemDiscardAndPrefetchBatchAsync", DiscardAndPrefetch},
          {"cuMemDiscardBatchAsync", Discard},
          {"cuMemRangeGetAttribute", RangeAttribute},
          {"cuStreamAttachMemAsync", Attach}};
}

}  // namespace twinmmu::abi
