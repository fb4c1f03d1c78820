// Libraries of device code that a program loads itself, and the functions of the driver behind
// kernels.

#include <unistd.h>

#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "sim/libcudart/testing/vector_kernels.h"

namespace {

constexpr char kText[] =
    ".version 8.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .global .align 4 .u32 number = 7;\n"
    ".visible .global .attribute(.managed) .align 8 .u64 shared_number = 8;\n"
    ".visible .entry Store(.param .u64 Store_to) {\n"
    "  .reg .b64 %to;\n"
    "  .reg .b32 %value;\n"
    "  ld.param.u64 %to, [Store_to];\n"
    "  ld.global.u32 %value, [number];\n"
    "  st.global.u32 [%to], %value;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry Nothing() { ret; }\n";

cudaError_t Load(cudaLibrary_t* library, const void* code) {
  return cudaLibraryLoadData(library, code, nullptr, nullptr, 0, nullptr, nullptr, 0);
}
cudaError_t LoadFile(cudaLibrary_t* library, const char* path) {
  return cudaLibraryLoadFromFile(library, path, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

class RuntimeLibraries : public testing::Test {
 protected:
  RuntimeLibraries() { EXPECT_EQ(Load(&library_, kText), cudaSuccess); }
  ~RuntimeLibraries() override {
    EXPECT_EQ(cudaLibraryUnload(library_), cudaSuccess);
    cudaGetLastError();
  }

  // What Store stores.
  static int Stored(cudaLibrary_t library) {
    cudaKernel_t kernel = nullptr;
    void* memory = nullptr;
    int stored = 0;
    EXPECT_EQ(cudaLibraryGetKernel(&kernel, library, "Store"), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&memory, sizeof(stored)), cudaSuccess);
    void* arguments[] = {&memory};
    EXPECT_EQ(cudaLaunchKernel(kernel, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(&stored, memory, sizeof(stored), cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
    return stored;
  }

  cudaLibrary_t library_ = nullptr;
};

TEST_F(RuntimeLibraries, HaveKernelsThatAreLaunchedByTheirHandles) {
  EXPECT_EQ(Stored(library_), 7);
  cudaKernel_t kernel = nullptr;
  EXPECT_EQ(cudaLibraryGetKernel(&kernel, library_, "store"), cudaErrorSymbolNotFound);
  EXPECT_EQ(cudaLibraryGetKernel(&kernel, library_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaLibraryGetKernel(nullptr, library_, "Store"), cudaErrorInvalidValue);
  EXPECT_EQ(cudaLibraryGetKernel(&kernel, nullptr, "Store"), cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeLibraries, CountTheirKernels) {
  unsigned int count = 0;
  EXPECT_EQ(cudaLibraryGetKernelCount(&count, library_), cudaSuccess);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(cudaLibraryGetKernelCount(nullptr, library_), cudaErrorInvalidValue);
  cudaKernel_t store = nullptr;
  cudaKernel_t kernels[3] = {};
  EXPECT_EQ(cudaLibraryGetKernel(&store, library_, "Store"), cudaSuccess);
  EXPECT_EQ(cudaLibraryEnumerateKernels(kernels, 3, library_), cudaSuccess);
  EXPECT_TRUE(kernels[0] == store || kernels[1] == store);
  EXPECT_NE(kernels[0], kernels[1]);
  EXPECT_EQ(kernels[2], nullptr);
  EXPECT_EQ(cudaLibraryEnumerateKernels(nullptr, 2, library_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaLibraryEnumerateKernels(kernels, 0, library_), cudaSuccess);
}

TEST_F(RuntimeLibraries, HaveVariables) {
  void* address = nullptr;
  size_t size = 0;
  ASSERT_EQ(cudaLibraryGetGlobal(&address, &size, library_, "number"), cudaSuccess);
  EXPECT_EQ(size, 4u);
  const int nine = 9;
  EXPECT_EQ(cudaMemcpy(address, &nine, sizeof(nine), cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(Stored(library_), 9);
  EXPECT_EQ(cudaLibraryGetGlobal(&address, &size, library_, "Number"), cudaErrorSymbolNotFound);
  EXPECT_EQ(cudaLibraryGetGlobal(&address, &size, library_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaLibraryGetGlobal(nullptr, nullptr, library_, "number"), cudaErrorInvalidValue);
}

TEST_F(RuntimeLibraries, HaveManagedVariables) {
  void* address = nullptr;
  size_t size = 0;
  ASSERT_EQ(cudaLibraryGetManaged(&address, &size, library_, "shared_number"), cudaSuccess);
  EXPECT_EQ(size, 8u);
  EXPECT_EQ(*static_cast<unsigned long long*>(address), 8u);
  EXPECT_EQ(cudaLibraryGetManaged(&address, &size, library_, "number"), cudaErrorSymbolNotFound);
}

TEST_F(RuntimeLibraries, HaveNoUnifiedFunctions) {
  void* address = nullptr;
  EXPECT_EQ(cudaLibraryGetUnifiedFunction(&address, library_, "Store"), cudaErrorInvalidValue);
  EXPECT_EQ(cudaLibraryGetUnifiedFunction(nullptr, library_, "Store"), cudaErrorInvalidValue);
}

TEST_F(RuntimeLibraries, AreLoadedFromFilesToo) {
  const std::string path = testing::TempDir() + "runtime_library.ptx";
  std::ofstream(path) << kText;
  cudaLibrary_t library = nullptr;
  ASSERT_EQ(LoadFile(&library, path.c_str()), cudaSuccess);
  unlink(path.c_str());
  EXPECT_EQ(Stored(library), 7);
  EXPECT_EQ(cudaLibraryUnload(library), cudaSuccess);
  EXPECT_EQ(LoadFile(&library, path.c_str()), cudaErrorFileNotFound);
  EXPECT_EQ(LoadFile(&library, nullptr), cudaErrorInvalidValue);
}

TEST_F(RuntimeLibraries, AreOfDeviceCode) {
  cudaLibrary_t none = nullptr;
  EXPECT_EQ(Load(nullptr, kText), cudaErrorInvalidValue);
  EXPECT_EQ(Load(&none, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaLibraryUnload(nullptr), cudaErrorInvalidResourceHandle);
}

// --- Functions of the driver

TEST_F(RuntimeLibraries, AKernelOfTheProgramIsAFunctionOfTheDriver) {
  void** const module = RegisterVectorKernels();
  cudaFunction_t function = nullptr;
  const char* name = nullptr;
  ASSERT_EQ(cudaGetFuncBySymbol(&function, &Add), cudaSuccess);
  ASSERT_NE(function, nullptr);
  EXPECT_EQ(cudaFuncGetName(&name, &Add), cudaSuccess);
  EXPECT_STREQ(name, "Add");
  void* get_name = nullptr;
  int found = 1;
  ASSERT_EQ(cudaGetDriverEntryPointByVersion("cuFuncGetName", &get_name, 12030, cudaEnableDefault,
                                             &found),
            cudaSuccess);
  const char* told = nullptr;
  EXPECT_EQ(reinterpret_cast<int (*)(const char**, cudaFunction_t)>(get_name)(&told, function), 0);
  EXPECT_STREQ(told, "Add");
  EXPECT_EQ(cudaGetFuncBySymbol(&function, &found), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaGetFuncBySymbol(nullptr, &Add), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetSharedMemConfig(&Add, 1), cudaSuccess);
  EXPECT_EQ(cudaFuncSetSharedMemConfig(&Add, 100), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetSharedMemConfig(&found, 1), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaFuncSetCacheConfig(&Add, 1), cudaSuccess);
  EXPECT_EQ(cudaFuncSetCacheConfig(&Add, 100), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetCacheConfig(&found, 1), cudaErrorInvalidResourceHandle);
  __cudaUnregisterFatBinary(module);
}

}  // namespace
