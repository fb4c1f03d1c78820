#include <unistd.h>

#include "sim/libcudart/comparison/comparison.h"

namespace comparison {
namespace {

// A kernel, a variable and a managed variable.
constexpr char kText[] = R"(.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .u32 number = 7;
.visible .global .attribute(.managed) .align 4 .u32 shared_number = 8;
.visible .entry store(.param .u64 to) {
  .reg .b64 %to;
  .reg .b32 %value;
  ld.param.u64 %to, [to];
  ld.global.u32 %value, [number];
  st.global.u32 [%to], %value;
  ret;
}
)";

}  // namespace

void AskAboutLibraries() {
  cudaLibrary_t library = nullptr;
  cudaLibrary_t none = nullptr;
  cudaKernel_t kernel = nullptr;
  void* address = nullptr;
  size_t size = 0;
  unsigned count = 77;
  ASK(cudaLibraryLoadData(&library, kText, nullptr, nullptr, 0, nullptr, nullptr, 0));
  ASK(cudaLibraryLoadData(nullptr, kText, nullptr, nullptr, 0, nullptr, nullptr, 0));
  ASK(cudaLibraryLoadData(&none, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0));
  ASK(cudaLibraryLoadData(&none, ".version 8.0\nnonsense", nullptr, nullptr, 0, nullptr, nullptr,
                          0));
  ASK(cudaLibraryLoadFromFile(&none, "/nowhere", nullptr, nullptr, 0, nullptr, nullptr, 0));
  ASK(cudaLibraryLoadFromFile(&none, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0));
  ASK(cudaLibraryGetKernel(&kernel, library, "store"));
  ASK(cudaLibraryGetKernel(&kernel, library, "nothing"));
  ASK(cudaLibraryGetKernel(&kernel, library, nullptr));
  ASK(cudaLibraryGetKernel(nullptr, library, "store"));
  ASK(cudaLibraryGetKernel(&kernel, nullptr, "store"));
  ASK(cudaLibraryGetKernel(&kernel, library, "store"));
  ASK(cudaLibraryGetKernelCount(&count, library));
  NUMBER(count);
  ASK(cudaLibraryGetKernelCount(nullptr, library));
  cudaKernel_t kernels[2] = {};
  ASK(cudaLibraryEnumerateKernels(kernels, 2, library));
  NUMBER(kernels[0] == kernel);
  ASK(cudaLibraryEnumerateKernels(nullptr, 2, library));
  ASK(cudaLibraryEnumerateKernels(kernels, 0, library));
  ASK(cudaLibraryGetGlobal(&address, &size, library, "number"));
  NUMBER(size);
  ASK(cudaLibraryGetGlobal(&address, &size, library, "nothing"));
  ASK(cudaLibraryGetGlobal(&address, &size, library, nullptr));
  ASK(cudaLibraryGetGlobal(nullptr, nullptr, library, "number"));
  ASK(cudaLibraryGetGlobal(&address, &size, library, "shared_number"));
  ASK(cudaLibraryGetManaged(&address, &size, library, "shared_number"));
  NUMBER(size);
  ASK(cudaLibraryGetManaged(&address, &size, library, "number"));
  ASK(cudaLibraryGetUnifiedFunction(&address, library, "store"));
  ASK(cudaLibraryGetUnifiedFunction(&address, library, nullptr));
  ASK(cudaLibraryGetUnifiedFunction(nullptr, library, "store"));
  void* memory = nullptr;
  cudaMalloc(&memory, 4);
  void* arguments[] = {&memory};
  ASK(cudaLaunchKernel((const void*)kernel, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr));
  ASK(cudaMemcpy(&count, memory, 4, cudaMemcpyDeviceToHost));
  NUMBER(count);
  cudaFuncAttributes attributes = {};
  ASK(cudaFuncGetAttributes(&attributes, (const void*)kernel));
  ASK(cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1000,
                                      0));
  ASK(cudaLibraryUnload(library));
  ASK(cudaLibraryUnload(nullptr));
}

void AskAboutSharing() {
  void* memory = nullptr;
  void* other = nullptr;
  cudaIpcMemHandle_t handle = {};
  cudaMalloc(&memory, 4096);
  ASK(cudaIpcGetMemHandle(&handle, memory));
  ASK(cudaIpcGetMemHandle(&handle, static_cast<char*>(memory) + 100));
  ASK(cudaIpcGetMemHandle(&handle, Nowhere()));
  ASK(cudaIpcGetMemHandle(&handle, nullptr));
  ASK(cudaIpcGetMemHandle(nullptr, memory));
  ASK(cudaIpcOpenMemHandle(&other, handle, cudaIpcMemLazyEnablePeerAccess));
  ASK(cudaIpcOpenMemHandle(&other, handle, 0));
  ASK(cudaIpcOpenMemHandle(nullptr, handle, cudaIpcMemLazyEnablePeerAccess));
  ASK(cudaIpcOpenMemHandle(&other, {}, cudaIpcMemLazyEnablePeerAccess));
  ASK(cudaIpcCloseMemHandle(memory));
  ASK(cudaIpcCloseMemHandle(nullptr));
  ASK(cudaIpcCloseMemHandle(Nowhere()));
  void* queued = nullptr;
  ASK(cudaMallocAsync(&queued, 4096, nullptr));
  ASK(cudaIpcGetMemHandle(&handle, queued));
  cudaMemPoolPtrExportData data = {};
  ASK(cudaMemPoolExportPointer(&data, queued));
  ASK(cudaMemPoolExportPointer(&data, memory));
  ASK(cudaMemPoolExportPointer(nullptr, queued));
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.handleTypes = cudaMemHandleTypePosixFileDescriptor;
  properties.location = {cudaMemLocationTypeDevice, 0};
  cudaMemPool_t pool = nullptr;
  cudaMemPool_t imported = nullptr;
  ASK(cudaMemPoolCreate(&pool, &properties));
  int descriptor = -1;
  ASK(cudaMemPoolExportToShareableHandle(&descriptor, pool, cudaMemHandleTypePosixFileDescriptor,
                                         0));
  ASK(cudaMemPoolExportToShareableHandle(&descriptor, pool, cudaMemHandleTypePosixFileDescriptor,
                                         1));
  ASK(cudaMemPoolExportToShareableHandle(&descriptor, pool, cudaMemHandleTypeFabric, 0));
  void* const as_handle = reinterpret_cast<void*>(static_cast<long>(descriptor));
  ASK(cudaMemPoolImportFromShareableHandle(&imported, as_handle,
                                           cudaMemHandleTypePosixFileDescriptor, 0));
  ASK(cudaMallocFromPoolAsync(&queued, 4096, pool, nullptr));
  ASK(cudaMemPoolExportPointer(&data, queued));
  ASK(cudaMemPoolImportPointer(&other, imported, &data));
  ASK(cudaMemPoolImportPointer(&other, pool, &data));
  ASK(cudaMemPoolImportPointer(nullptr, imported, &data));
  ASK(cudaMemPoolImportPointer(&other, imported, nullptr));
  void* const bad = reinterpret_cast<void*>(0);
  ASK(cudaMemPoolImportFromShareableHandle(&imported, bad, cudaMemHandleTypePosixFileDescriptor,
                                           0));
  cudaExternalMemoryHandleDesc external = {};
  cudaExternalMemory_t opened = nullptr;
  ASK(cudaImportExternalMemory(&opened, &external));
  ASK(cudaImportExternalMemory(nullptr, &external));
  ASK(cudaImportExternalMemory(&opened, nullptr));
  cudaExternalSemaphoreHandleDesc signals = {};
  cudaExternalSemaphore_t semaphore = nullptr;
  ASK(cudaImportExternalSemaphore(&semaphore, &signals));
  ASK(cudaImportExternalSemaphore(nullptr, &signals));
  ASK(cudaImportExternalSemaphore(&semaphore, nullptr));
  signals.type = cudaExternalSemaphoreHandleTypeOpaqueFd;
  signals.handle.fd = -1;
  ASK(cudaImportExternalSemaphore(&semaphore, &signals));
  cudaExternalSemaphoreSignalParams signal = {};
  cudaExternalSemaphoreWaitParams wait = {};
  ASK(cudaSignalExternalSemaphoresAsync(&semaphore, &signal, 0, nullptr));
  ASK(cudaSignalExternalSemaphoresAsync(nullptr, &signal, 1, nullptr));
  ASK(cudaWaitExternalSemaphoresAsync(&semaphore, &wait, 0, nullptr));
  ASK(cudaWaitExternalSemaphoresAsync(nullptr, &wait, 1, nullptr));
  ASK(cudaDestroyExternalSemaphore(nullptr));
  close(descriptor);
}

}  // namespace comparison
