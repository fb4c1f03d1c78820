// Does what the runtime refuses, for runtime_report_test.sh.

#include <thread>

#include "sim/libcudart/testing/fat_binary_image.h"
#include "third_party/cuda_abi/cudart_abi.h"

extern "C" cudaError_t cudaGLSetGLDevice(int device);
extern "C" void __cudaRegisterUnifiedTable(void** module, void* table);

// A part of device code that was compiled separately; the functions that it calls are in no part.
TWINMMU_FAT_BINARY(kPart, 70,
                   ".version 7.0\n.target sm_70\n.address_size 64\n"
                   ".extern .func Missing();\n"
                   ".extern .func __cudaCDP2LaunchDeviceV2();\n"
                   ".visible .entry Call() {\n"
                   "  call.uni Missing;\n"
                   "  call.uni __cudaCDP2LaunchDeviceV2;\n"
                   "  ret;\n"
                   "}\n");

// As clang makes one, unless it is told to add PTX.
TWINMMU_FAT_BINARY_OF(TWINMMU_FAT_MACHINE_CODE, kMachineCode, 90, "machine code");

static cudaError_t UseMachineCode() {
  static const char kernel = 0;
  void** const module = __cudaRegisterFatBinary(&kMachineCode);
  __cudaRegisterFunction(module, &kernel, nullptr, "Run", -1, nullptr, nullptr, nullptr, nullptr,
                         nullptr);
  const cudaError_t error = cudaLaunchKernel(&kernel, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr);
  __cudaUnregisterFatBinary(module);
  return error;
}

static bool RefusesUnknownSymbols() {
  static const int variable = 0;
  void* address = nullptr;
  return cudaMemcpyToSymbol(&variable, &variable, 4, 0, cudaMemcpyHostToDevice) ==
             cudaErrorInvalidSymbol &&
         cudaGetSymbolAddress(&address, &variable) == cudaErrorInvalidSymbol;
}

// Between the halves of a launch.
static void EndThreads() {
  for (int i = 0; i < 2; ++i) {
    std::thread([] { __cudaPushCallConfiguration({1, 1, 1}, {1, 1, 1}, 0, nullptr); }).join();
  }
}

static cudaError_t UseWhatCannotBeLinked() {
  static const char kernel = 0;
  static const void* parts[] = {kPart.image, nullptr};
  static twinmmu_fat_headers nothing = {};
  nothing.magic = kPartImage.headers.magic;
  nothing.header_bytes = kPartImage.headers.header_bytes;
  static twinmmu_fat_wrapper linked = {kPart.magic, 2, &nothing, parts};
  void** const module = __cudaRegisterFatBinary(&linked);
  __cudaRegisterFunction(module, &kernel, nullptr, "Call", -1, nullptr, nullptr, nullptr, nullptr,
                         nullptr);
  cudaFuncAttributes attributes = {};
  const cudaError_t error = cudaFuncGetAttributes(&attributes, &kernel);
  __cudaUnregisterFatBinary(module);
  return error;
}

int main() {
  static const char kernel = 0;
  const bool refused =
      cudaGLSetGLDevice(0) == cudaErrorNotSupported && cudaGLSetGLDevice(0) == cudaGetLastError();
  const cudaError_t unknown = cudaLaunchKernel(&kernel, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr);
  __cudaRegisterUnifiedTable(nullptr, nullptr);  // has no result
  const bool told = cudaGetLastError() == cudaErrorNotSupported;
  const bool linked = UseWhatCannotBeLinked() == cudaSuccess;
  const bool compiled = UseMachineCode() != cudaErrorNoKernelImageForDevice;
  const bool known = !RefusesUnknownSymbols();
  EndThreads();
  if (linked || compiled || known || unknown != cudaErrorInvalidResourceHandle) return 1;
  return refused && told ? 0 : 1;
}
