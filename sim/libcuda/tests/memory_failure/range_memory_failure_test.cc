// The host runs out of memory in calls that say where managed memory is to be, choose the pools of
// a device, or tell of memory: see memory_failure_steps.h. The simulated driver is linked in.

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/tests/memory_failure/memory_failure_steps.h"

namespace twinmmu::libcuda {

// What the backend does not call.
extern "C" {
CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
CUresult cuMemAllocManaged(CUdeviceptr*, size_t, unsigned int);
CUresult cuMemHostAlloc(void**, size_t, unsigned int);
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr*, void*, unsigned int);
CUresult cuMemHostGetFlags(unsigned int*, void*);
CUresult cuMemFreeHost(void*);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemPrefetchBatchAsync(CUdeviceptr*, size_t*, size_t, CUmemLocation*, size_t*, size_t,
                                 unsigned long long, CUstream);
CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr*, size_t*, size_t, CUmemLocation*, size_t*,
                                           size_t, unsigned long long, CUstream);
CUresult cuMemDiscardBatchAsync(CUdeviceptr*, size_t*, size_t, unsigned long long, CUstream);
CUresult cuMemRangeGetAttribute(void*, size_t, int, CUdeviceptr, size_t);
CUresult cuMemRangeGetAttributes(void**, size_t*, int*, size_t, CUdeviceptr, size_t);
CUresult cuPointerGetAttributes(unsigned int, CUpointer_attribute*, void**, CUdeviceptr);
CUresult cuMemPoolCreate(CUmemoryPool*, const CUmemPoolProps*);
CUresult cuMemPoolDestroy(CUmemoryPool);
CUresult cuMemPoolGetAccess(CUmemAccess_flags*, CUmemoryPool, CUmemLocation*);
CUresult cuMemPoolGetAttribute(CUmemoryPool, CUmemPool_attribute, void*);
CUresult cuMemPoolSetAttribute(CUmemoryPool, CUmemPool_attribute, void*);
CUresult cuDeviceGetMemPool(CUmemoryPool*, CUdevice);
CUresult cuDeviceSetMemPool(CUdevice, CUmemoryPool);
CUresult cuMemGetDefaultMemPool(CUmemoryPool*, CUmemLocation*, CUmemAllocationType);
CUresult cuMemGetMemPool(CUmemoryPool*, CUmemLocation*, CUmemAllocationType);
CUresult cuMemSetMemPool(CUmemLocation*, CUmemAllocationType, CUmemoryPool);
}

namespace {

constexpr size_t kSize = size_t{2} << 20;
constexpr size_t kHalf = kSize / 2;
constexpr int kDevice = 1;  // CUmemLocationType
constexpr int kHost = 2;
constexpr CUmemAllocationType kPinned = 1;
constexpr int kDmaBuf = 1;                // CUmemRangeHandleType
constexpr int kLastPrefetchLocation = 4;  // CUmem_range_attribute
constexpr int kReadMostly = 1;
constexpr CUpointer_attribute kType = 2, kOrdinal = 9;
constexpr CUmemPool_attribute kThreshold = 4;

// What the steps hand on to each other.
struct World {
  ~World() {
    if (file >= 0) close(file);
  }

  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0, managed = 0;
  void* host = nullptr;
  int file = -1;
  CUmemoryPool usual = nullptr, of_host = nullptr, pool = nullptr, other = nullptr;
};
using Steps = std::vector<Step<World>>;

CUmemLocation Location(int type, int id) { return {type, id}; }

Steps Preparing() {
  return {
      {"retain", [](World& w) { return cuDevicePrimaryCtxRetain(&w.context, 0); }},
      {"push", [](World& w) { return cuCtxPushCurrent_v2(w.context); }},
      {"create stream", [](World& w) { return cuStreamCreate(&w.stream, 1); }},
      {"allocate", [](World& w) { return cuMemAlloc_v2(&w.memory, kSize); }},
      {"allocate managed", [](World& w) { return cuMemAllocManaged(&w.managed, kSize, 1); }},
      {"allocate of the host", [](World& w) { return cuMemHostAlloc(&w.host, 4096, 2); }},
  };
}

// The halves of the managed memory.
struct Halves {
  explicit Halves(const World& w) : ranges{w.managed, w.managed + kHalf} {}

  CUdeviceptr ranges[2];
  size_t sizes[2] = {kHalf, kHalf};
  CUmemLocation locations[2] = {{kDevice, 0}, {kDevice, 1}};
  size_t first[2] = {0, 1};
};
CUresult Prefetch(World& w) {
  Halves halves(w);
  return cuMemPrefetchBatchAsync(halves.ranges, halves.sizes, 2, halves.locations, halves.first, 2,
                                 0, w.stream);
}
CUresult DiscardAndPrefetch(World& w) {
  Halves halves(w);
  halves.locations[1].id = 0;
  return cuMemDiscardAndPrefetchBatchAsync(halves.ranges, halves.sizes, 2, halves.locations,
                                           halves.first, 2, 0, w.stream);
}
CUresult Discard(World& w) {
  Halves halves(w);
  return cuMemDiscardBatchAsync(halves.ranges, halves.sizes, 2, 0, w.stream);
}
CUresult AskForRange(World& w) {
  int values[2] = {};
  void* data[] = {&values[0], &values[1]};
  size_t sizes[] = {sizeof(int), sizeof(int)};
  int attributes[] = {kReadMostly, kLastPrefetchLocation};
  return cuMemRangeGetAttributes(data, sizes, attributes, 2, w.managed, kSize);
}

Steps Managed() {
  return {
      {"prefetch", Prefetch},
      {"synchronise", [](World& w) { return cuStreamSynchronize(w.stream); }},
      {"where to",
       [](World& w) {
         int device = 0;
         return cuMemRangeGetAttribute(&device, sizeof(device), kLastPrefetchLocation, w.managed,
                                       kHalf);
       }},
      {"discard and prefetch", DiscardAndPrefetch},
      {"discard", Discard},
      {"synchronise that", [](World& w) { return cuStreamSynchronize(w.stream); }},
      {"what is known", AskForRange},
  };
}

CUresult AskForPointer(World& w) {
  unsigned int type = 0;
  int ordinal = 0;
  CUpointer_attribute attributes[] = {kType, kOrdinal};
  void* data[] = {&type, &ordinal};
  return cuPointerGetAttributes(2, attributes, data, w.memory);
}
CUresult AskForGranularity(World&) {
  CUmemAllocationProp properties = {};
  properties.type = kPinned;
  properties.location = Location(kDevice, 0);
  size_t granularity = 0;
  return cuMemGetAllocationGranularity(&granularity, &properties, 0);
}

Steps Asking() {
  return {
      {"how much is free",
       [](World&) {
         size_t free = 0, total = 0;
         return cuMemGetInfo_v2(&free, &total);
       }},
      {"what is there",
       [](World& w) {
         CUdeviceptr base = 0;
         size_t size = 0;
         return cuMemGetAddressRange_v2(&base, &size, w.memory + 64);
       }},
      {"what it is like", AskForPointer},
      {"granularity", AskForGranularity},
      {"address of the host's",
       [](World& w) {
         CUdeviceptr address = 0;
         return cuMemHostGetDevicePointer_v2(&address, w.host, 0);
       }},
      {"flags of the host's",
       [](World& w) {
         unsigned int flags = 0;
         return cuMemHostGetFlags(&flags, w.host);
       }},
      {"handle of a range",
       [](World& w) {
         return cuMemGetHandleForAddressRange(&w.file, w.memory, kSize, kDmaBuf, 0);
       }},
      {"free memory", [](World& w) { return cuMemFree_v2(w.memory); }},
      {"free managed", [](World& w) { return cuMemFree_v2(w.managed); }},
      {"free the host's", [](World& w) { return cuMemFreeHost(w.host); }},
  };
}

CUresult CreatePool(CUmemoryPool* pool, const CUmemLocation& location) {
  CUmemPoolProps properties = {};
  properties.allocType = kPinned;
  properties.location = location;
  return cuMemPoolCreate(pool, &properties);
}
CUresult SetThreshold(World& w) {
  uint64_t bytes = kSize;
  return cuMemPoolSetAttribute(w.pool, kThreshold, &bytes);
}
CUresult AskForAccess(World& w) {
  CUmemLocation location = Location(kDevice, 0);
  CUmemAccess_flags flags = 0;
  return cuMemPoolGetAccess(&flags, w.pool, &location);
}
CUresult UseForHost(CUmemoryPool pool) {
  CUmemLocation location = Location(kHost, 0);
  return cuMemSetMemPool(&location, kPinned, pool);
}
CUresult AskForHost(World& w) {
  CUmemLocation location = Location(kHost, 0);
  return cuMemGetDefaultMemPool(&w.of_host, &location, kPinned);
}
CUresult CurrentOfHost(CUmemoryPool* pool) {
  CUmemLocation location = Location(kHost, 0);
  return cuMemGetMemPool(pool, &location, kPinned);
}

Steps Pools() {
  return {
      {"pool of the device", [](World& w) { return cuDeviceGetMemPool(&w.usual, 0); }},
      {"pool of the host", AskForHost},
      {"create a pool", [](World& w) { return CreatePool(&w.pool, Location(kDevice, 0)); }},
      {"create one of the host", [](World& w) { return CreatePool(&w.other, Location(kHost, 0)); }},
      {"set a threshold", SetThreshold},
      {"who has access", AskForAccess},
      {"use it for the device", [](World& w) { return cuDeviceSetMemPool(0, w.pool); }},
      {"use the other for the host", [](World& w) { return UseForHost(w.other); }},
      {"which is that",
       [](World&) {
         CUmemoryPool pool = nullptr;
         return CurrentOfHost(&pool);
       }},
      {"use the first again", [](World& w) { return cuDeviceSetMemPool(0, w.usual); }},
      {"use the first of the host again", [](World& w) { return UseForHost(w.of_host); }},
      {"destroy the pool", [](World& w) { return cuMemPoolDestroy(w.pool); }},
      {"destroy the other", [](World& w) { return cuMemPoolDestroy(w.other); }},
  };
}

Steps Script() { return Joined<World>({Preparing(), Managed(), Asking(), Pools()}); }

// Asking for the pool in use makes the first one: not before the program did.
std::string StateOfPools(const World& w) {
  std::ostringstream out;
  CUmemoryPool current = nullptr;
  if (w.usual != nullptr) out << cuDeviceGetMemPool(&current, 0) << " in use " << current << "\n";
  if (w.of_host != nullptr) out << CurrentOfHost(&current) << " of the host " << current << "\n";
  for (const CUmemoryPool pool : {w.usual, w.of_host, w.pool, w.other}) {
    uint64_t threshold = 0;
    if (pool == nullptr) continue;
    out << cuMemPoolGetAttribute(pool, kThreshold, &threshold) << " pool " << threshold << "\n";
  }
  return out.str();
}

// All that a program can see.
std::string VisibleState(World& w) {
  std::ostringstream out;
  for (const CUdeviceptr half : {w.managed, w.managed + kHalf}) {
    int device = 0;
    out << cuMemRangeGetAttribute(&device, sizeof(device), kLastPrefetchLocation, half, kHalf)
        << " prefetched to " << device << "\n";
  }
  for (const CUdeviceptr address : {w.memory, w.managed, reinterpret_cast<CUdeviceptr>(w.host)}) {
    unsigned int type = 0;
    out << cuPointerGetAttribute(&type, kType, address) << " memory " << type << "\n";
  }
  out << StateOfPools(w);
  size_t free = 0, total = 0;
  out << cuMemGetInfo_v2(&free, &total) << " free " << free << "\n";
  const std::filesystem::directory_iterator files("/proc/self/fd");
  out << std::distance(begin(files), end(files)) << " descriptors\n";
  return out.str();
}

class RangeMemoryFailureTest : public testing::TestWithParam<bool> {};

TEST_P(RangeMemoryFailureTest, NothingIsLost) {
  ExpectNothingIsLost(Script(), &VisibleState, GetParam(), /*least=*/32);
}

INSTANTIATE_TEST_SUITE_P(OnceOrFromThenOn, RangeMemoryFailureTest, testing::Bool());

}  // namespace
}  // namespace twinmmu::libcuda
