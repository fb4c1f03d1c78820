// The host runs out of memory in calls by which processes share pools, events and memory: see
// memory_failure_steps.h. The simulated driver is linked in; what it exports, it imports itself.

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/tests/memory_failure/memory_failure_steps.h"

namespace twinmmu::libcuda {

// What the backend does not call.
extern "C" {
CUresult cuMemAllocFromPoolAsync(CUdeviceptr*, size_t, CUmemoryPool, CUstream);
CUresult cuMemFreeAsync(CUdeviceptr, CUstream);
CUresult cuMemPoolCreate(CUmemoryPool*, const CUmemPoolProps*);
CUresult cuMemPoolDestroy(CUmemoryPool);
CUresult cuMemPoolSetAccess(CUmemoryPool, const CUmemAccessDesc*, size_t);
CUresult cuMemPoolGetAttribute(CUmemoryPool, CUmemPool_attribute, void*);
CUresult cuMemPoolExportToShareableHandle(void*, CUmemoryPool, CUmemAllocationHandleType,
                                          unsigned long long);
CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool*, void*, CUmemAllocationHandleType,
                                            unsigned long long);
CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData*, CUdeviceptr);
CUresult cuMemPoolImportPointer(CUdeviceptr*, CUmemoryPool, CUmemPoolPtrExportData*);
CUresult cuIpcGetEventHandle(CUipcEventHandle*, CUevent);
CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
CUresult cuIpcGetMemHandle(CUipcMemHandle*, CUdeviceptr);
CUresult cuImportExternalMemory(CUexternalMemory*, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC*);
CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr*, CUexternalMemory,
                                         const CUDA_EXTERNAL_MEMORY_BUFFER_DESC*);
CUresult cuDestroyExternalMemory(CUexternalMemory);
CUresult cuMemFree_v2(CUdeviceptr);
}

namespace {

constexpr size_t kSize = size_t{2} << 20;
constexpr auto kDescriptor = static_cast<CUmemAllocationHandleType>(1);

// What the steps hand on to each other.
struct World {
  ~World() {
    for (const int file : {of_pool, of_memory, given}) {
      if (file >= 0) close(file);
    }
  }

  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUmemoryPool pool = nullptr, imported = nullptr;
  CUdeviceptr piece = 0, other = 0, again = 0, buffer = 0, linear = 0;
  CUmemPoolPtrExportData data = {};
  CUevent event = nullptr;
  CUmemGenericAllocationHandle memory = 0;
  CUexternalMemory external = nullptr;
  int of_pool = -1, of_memory = -1;
  int given = -1;  // to the driver, if it took it
};
using Steps = std::vector<Step<World>>;

CUresult CreatePool(World& w) {
  CUmemPoolProps properties = {};
  properties.allocType = 1;
  properties.location.type = 1;
  properties.handleTypes = kDescriptor;
  return cuMemPoolCreate(&w.pool, &properties);
}
CUresult Import(World& w) {
  return cuMemPoolImportFromShareableHandle(
      &w.imported, reinterpret_cast<void*>(intptr_t{w.of_pool}), kDescriptor, 0);
}
CUresult GrantToPeer(World& w) {
  CUmemAccessDesc access = {};
  access.location.type = static_cast<decltype(access.location.type)>(1);
  access.location.id = 1;
  access.flags = static_cast<decltype(access.flags)>(3);
  return cuMemPoolSetAccess(w.pool, &access, 1);
}

Steps Pools() {
  return {
      {"retain", [](World& w) { return cuDevicePrimaryCtxRetain(&w.context, 0); }},
      {"push", [](World& w) { return cuCtxPushCurrent_v2(w.context); }},
      {"create stream", [](World& w) { return cuStreamCreate(&w.stream, 1); }},
      {"create a pool", CreatePool},
      {"export",
       [](World& w) {
         return cuMemPoolExportToShareableHandle(&w.of_pool, w.pool, kDescriptor, 0);
       }},
      {"allocate",
       [](World& w) { return cuMemAllocFromPoolAsync(&w.piece, kSize, w.pool, w.stream); }},
      {"grant", GrantToPeer},
      {"allocate another",
       [](World& w) { return cuMemAllocFromPoolAsync(&w.other, kSize, w.pool, w.stream); }},
      {"export a piece", [](World& w) { return cuMemPoolExportPointer(&w.data, w.piece); }},
      {"import", Import},
      {"import again", Import},
      {"import the piece",
       [](World& w) { return cuMemPoolImportPointer(&w.again, w.imported, &w.data); }},
      {"fill", [](World& w) { return cuMemsetD8Async(w.again, 5, 64, w.stream); }},
      {"synchronise", [](World& w) { return cuStreamSynchronize(w.stream); }},
      {"free what was imported", [](World& w) { return cuMemFreeAsync(w.again, w.stream); }},
      {"destroy an import", [](World& w) { return cuMemPoolDestroy(w.imported); }},
      {"destroy the other", [](World& w) { return cuMemPoolDestroy(w.imported); }},
      {"free the piece", [](World& w) { return cuMemFreeAsync(w.piece, w.stream); }},
      {"free the other", [](World& w) { return cuMemFreeAsync(w.other, w.stream); }},
      {"synchronise again", [](World& w) { return cuStreamSynchronize(w.stream); }},
      {"destroy the pool", [](World& w) { return cuMemPoolDestroy(w.pool); }},
  };
}

CUresult CreateMemory(World& w) {
  CUmemAllocationProp properties = {};
  properties.type = static_cast<decltype(properties.type)>(1);
  properties.location.type = static_cast<decltype(properties.location.type)>(1);
  properties.requestedHandleTypes =
      static_cast<decltype(properties.requestedHandleTypes)>(kDescriptor);
  return cuMemCreate(&w.memory, kSize, &properties, 0);
}
// A descriptor that is taken is the driver's.
CUresult ImportExternal(World& w) {
  if (w.given < 0) w.given = dup(w.of_memory);
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC description = {};
  description.type = 1;
  description.handle.fd = w.given;
  description.size = kSize;
  const CUresult imported = cuImportExternalMemory(&w.external, &description);
  if (imported == CUDA_SUCCESS) w.given = -1;
  return imported;
}
CUresult MapBuffer(World& w) {
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC description = {};
  description.size = kSize;
  return cuExternalMemoryGetMappedBuffer(&w.buffer, w.external, &description);
}

Steps External() {
  return {
      {"create an event", [](World& w) { return cuEventCreate(&w.event, 4 | 2); }},
      {"its handle",
       [](World& w) {
         CUipcEventHandle handle = {};
         return cuIpcGetEventHandle(&handle, w.event);
       }},
      {"record it", [](World& w) { return cuEventRecord(w.event, w.stream); }},
      {"wait for it", [](World& w) { return cuStreamWaitEvent(w.stream, w.event, 0); }},
      {"synchronise it", [](World& w) { return cuEventSynchronize(w.event); }},
      {"allocate memory", [](World& w) { return cuMemAlloc_v2(&w.linear, kSize); }},
      {"its handle",
       [](World& w) {
         CUipcMemHandle handle = {};
         return cuIpcGetMemHandle(&handle, w.linear);
       }},
      {"free the memory", [](World& w) { return cuMemFree_v2(w.linear); }},
      {"create memory", CreateMemory},
      {"export memory",
       [](World& w) {
         return cuMemExportToShareableHandle(&w.of_memory, w.memory, kDescriptor, 0);
       }},
      {"import it", ImportExternal},
      {"map it", MapBuffer},
      {"fill it", [](World& w) { return cuMemsetD8_v2(w.buffer, 6, 64); }},
      {"free the buffer", [](World& w) { return cuMemFree_v2(w.buffer); }},
      {"destroy it", [](World& w) { return cuDestroyExternalMemory(w.external); }},
      {"release the memory", [](World& w) { return cuMemRelease(w.memory); }},
      {"destroy the event", [](World& w) { return cuEventDestroy_v2(w.event); }},
  };
}

Steps Script() {
  Steps script = Pools();
  for (const Step<World>& step : External()) script.push_back(step);
  return script;
}

// But for the file of a pool, which the pool may keep once it was asked for it.
int Descriptors() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code closed;  // the folder's own
    const std::string file = std::filesystem::read_symlink(entry.path(), closed).string();
    if (file.find("device pool") == std::string::npos) ++count;
  }
  return count;
}

// All that a program can see.
std::string VisibleState(World& w) {
  std::ostringstream out;
  for (CUmemPool_attribute attribute = 5; w.pool != nullptr && attribute <= 8; ++attribute) {
    uint64_t value = 0;
    out << cuMemPoolGetAttribute(w.pool, attribute, &value) << " attribute " << value << "\n";
  }
  for (const CUdeviceptr address : {w.piece, w.other, w.again, w.buffer}) {
    unsigned int type = 0;
    out << cuPointerGetAttribute(&type, static_cast<CUpointer_attribute>(2), address) << " memory "
        << type << "\n";
  }
  out << FreeOn(1);
  if (w.event != nullptr) out << cuEventQuery(w.event) << " event\n";
  out << Descriptors() - (w.given >= 0 ? 1 : 0) << " descriptors\n";
  return out.str();
}

class SharingMemoryFailureTest : public testing::TestWithParam<bool> {};

TEST_P(SharingMemoryFailureTest, NothingIsLost) {
  ExpectNothingIsLost(Script(), &VisibleState, GetParam(), /*least=*/60);
}

INSTANTIATE_TEST_SUITE_P(OnceOrFromThenOn, SharingMemoryFailureTest, testing::Bool());

}  // namespace
}  // namespace twinmmu::libcuda
