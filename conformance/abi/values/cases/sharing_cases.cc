// What other processes and interfaces share.

#include <unistd.h>

#include "conformance/abi/values/cases/all_cases.h"
#include "conformance/abi/values/cases/case_objects.h"

namespace twinmmu::abi {
namespace {

void GetMemory(Trial& trial) {
  CUdeviceptr address = Memory();
  trial.Offset(kBytes, FIELD(address));
  CUipcMemHandle handle;
  trial.Answer(Call("cuIpcGetMemHandle", &handle, address));
}
// Of this process, which is refused after its flags.
void OpenMemory(Trial& trial) {
  unsigned int flags = 1;
  trial.Any(FIELD(flags));
  CUipcMemHandle handle;
  Must("cuIpcGetMemHandle", &handle, Memory());
  CUdeviceptr address = 0;
  trial.Answer(Call("cuIpcOpenMemHandle_v2", &address, handle, flags));
}
void GetEvent(Trial& trial) {
  unsigned int flags = 6;
  trial.Any(FIELD(flags));
  CUevent event = nullptr;
  const CUresult result = Call("cuEventCreate", &event, flags);
  trial.Answer(result);
  if (result != CUDA_SUCCESS) return;
  CUipcEventHandle handle;
  trial.Answer(Call("cuIpcGetEventHandle", &handle, event));
  Must("cuEventDestroy_v2", event);
}

constexpr uint64_t kShared = 8 * kMiB;
// A new descriptor.
int SharedMemory() {
  static const CUmemGenericAllocationHandle handle = [] {
    CUmemAllocationProp properties = PinnedProperties();
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemGenericAllocationHandle made = 0;
    Must("cuMemCreate", &made, kShared, &properties, 0);
    return made;
  }();
  int descriptor = -1;
  Must("cuMemExportToShareableHandle", &descriptor, handle,
       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  return descriptor;
}
CUDA_EXTERNAL_MEMORY_HANDLE_DESC Described(int descriptor) {
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC memory = {};
  memory.type = 1;
  memory.handle.fd = descriptor;
  memory.size = kShared;
  return memory;
}
// The other types take pointers.
bool TakesDescriptor(uint64_t type) { return type <= 1 || type > 16; }

void ImportMemory(Trial& trial) {
  const int descriptor = SharedMemory();
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC memory = Described(descriptor);
  trial.Where(TakesDescriptor, FIELD(memory.type));
  trial.Any(FIELD(memory.size));
  trial.Any(FIELD(memory.flags));
  trial.Any(FIELD(memory.reserved[0]));
  CUexternalMemory imported = nullptr;
  const CUresult result = Call("cuImportExternalMemory", &imported, &memory);
  trial.Answer(result);
  if (result == CUDA_SUCCESS) {
    Must("cuDestroyExternalMemory", imported);
  } else {
    close(descriptor);
  }
}
void MapBuffer(Trial& trial) {
  static const CUexternalMemory imported = [] {
    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC memory = Described(SharedMemory());
    CUexternalMemory made = nullptr;
    Must("cuImportExternalMemory", &made, &memory);
    return made;
  }();
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = {};
  buffer.size = 65536;
  trial.Size(FIELD(buffer.offset));
  trial.Size(FIELD(buffer.size));
  trial.Any(FIELD(buffer.flags));
  trial.Any(FIELD(buffer.reserved[0]));
  CUdeviceptr address = 0;
  const CUresult result = Call("cuExternalMemoryGetMappedBuffer", &address, imported, &buffer);
  trial.Answer(result);
  if (result == CUDA_SUCCESS) Must("cuMemFree_v2", address);
}

// CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC
struct SemaphoreHandle {
  int type;
  union {
    int fd;
    void* handles[2];
  } handle;
  unsigned int flags;
  unsigned int reserved[16];
};
void ImportSemaphore(Trial& trial) {
  SemaphoreHandle semaphore = {};
  semaphore.type = 1;
  semaphore.handle.fd = -1;
  trial.Where(TakesDescriptor, FIELD(semaphore.type));
  trial.Any(FIELD(semaphore.flags));
  trial.Any(FIELD(semaphore.reserved[0]));
  CUexternalSemaphore imported = nullptr;
  trial.Answer(Call("cuImportExternalSemaphore", &imported, &semaphore));
}

}  // namespace

std::vector<Case> SharingCases() {
  return {{"cuIpcGetMemHandle", GetMemory},
          {"cuIpcOpenMemHandle", OpenMemory},
          {"cuIpcGetEventHandle", GetEvent},
          {"cuImportExternalMemory", ImportMemory},
          {"cuExternalMemoryGetMappedBuffer", MapBuffer},
          {"cuImportExternalSemaphore", ImportSemaphore}};
}

}  // namespace twinmmu::abi
