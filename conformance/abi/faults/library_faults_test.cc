// Libraries after a fault: they belong to no context, and go on until a context is needed.

#include "conformance/abi/faults/fault_fixture.h"

namespace twinmmu::abi {
namespace {

constexpr char kLibrary[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 4 .u32 counter = 7;\n"
    ".visible .global .attribute(.managed) .align 4 .u32 shared = 5;\n"
    ".visible .entry first(.param .u64 at) { ret; }\n";

constexpr Function<CUresult(void**, const void*, void*, void*, unsigned, void*, void*, unsigned)>
    load("cuLibraryLoadData");
constexpr Function<CUresult(void*)> unload("cuLibraryUnload");
constexpr Function<CUresult(void**, void*, const char*)> get_kernel("cuLibraryGetKernel");
constexpr Function<CUresult(unsigned*, void*)> count_kernels("cuLibraryGetKernelCount");
constexpr Function<CUresult(void**, unsigned, void*)> list_kernels("cuLibraryEnumerateKernels");
constexpr Function<CUresult(CUmodule*, void*)> get_module("cuLibraryGetModule");
constexpr Function<CUresult(CUdeviceptr*, size_t*, void*, const char*)> get_global(
    "cuLibraryGetGlobal");
constexpr Function<CUresult(CUdeviceptr*, size_t*, void*, const char*)> get_managed(
    "cuLibraryGetManaged");
constexpr Function<CUresult(CUfunction*, void*)> get_function("cuKernelGetFunction");
constexpr Function<CUresult(void**, void*)> get_library("cuKernelGetLibrary");
constexpr Function<CUresult(const char**, void*)> get_name("cuKernelGetName");
constexpr Function<CUresult(int*, int, void*, CUdevice)> get_attribute("cuKernelGetAttribute");
constexpr Function<CUresult(int, int, void*, CUdevice)> set_attribute("cuKernelSetAttribute");
constexpr Function<CUresult(void*, size_t, size_t*, size_t*)> get_parameter("cuKernelGetParamInfo");
constexpr Function<CUresult(int*, CUfunction)> is_loaded("cuFuncIsLoaded");
constexpr Function<CUresult(CUfunction)> load_function("cuFuncLoad");

constexpr int kCarveout = 9;

CUresult Load(void** library) {
  return load(library, kLibrary, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

class LibraryFaultTest : public FaultTest {
 protected:
  void MakeFaultBehindLoad() {
    ASSERT_NO_FATAL_FAILURE(Begin());
    ASSERT_EQ(Load(&library_), CUDA_SUCCESS);
    ASSERT_EQ(get_kernel(&kernel_, library_, "first"), CUDA_SUCCESS);
    ASSERT_NO_FATAL_FAILURE(Fault());
  }

  void* library_ = nullptr;
  void* kernel_ = nullptr;
};

TEST_F(LibraryFaultTest, LibrariesAreLoadedAndUnloaded) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(MakeFaultBehindLoad());
  void* library = nullptr;
  ASSERT_EQ(Load(&library), CUDA_SUCCESS);
  void* kernel = nullptr;
  EXPECT_EQ(get_kernel(&kernel, library, "first"), CUDA_SUCCESS);
  EXPECT_EQ(get_kernel(&kernel, library, "none"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(unload(library), CUDA_SUCCESS);
  EXPECT_EQ(unload(library_), CUDA_SUCCESS);
}

TEST_F(LibraryFaultTest, WhatIsInThemIsTold) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(MakeFaultBehindLoad());
  unsigned count = 0;
  EXPECT_EQ(count_kernels(&count, library_), CUDA_SUCCESS);
  EXPECT_EQ(count, 1u);
  void* kernel = nullptr;
  EXPECT_EQ(list_kernels(&kernel, 1, library_), CUDA_SUCCESS);
  EXPECT_EQ(kernel, kernel_);
  void* library = nullptr;
  EXPECT_EQ(get_library(&library, kernel_), CUDA_SUCCESS);
  EXPECT_EQ(library, library_);
  const char* name = "";
  EXPECT_EQ(get_name(&name, kernel_), CUDA_SUCCESS);
  EXPECT_STREQ(name, "first");
  CUdeviceptr address = 0;
  size_t size = 0;
  EXPECT_EQ(get_managed(&address, &size, library_, "shared"), CUDA_SUCCESS);
  EXPECT_EQ(size, 4u);
  EXPECT_EQ(get_managed(&address, &size, library_, "counter"), CUDA_ERROR_NOT_FOUND);
}

TEST_F(LibraryFaultTest, AttributesOfKernelsAreSet) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(MakeFaultBehindLoad());
  int value = 0;
  EXPECT_EQ(set_attribute(kCarveout, 50, kernel_, 0), CUDA_SUCCESS);
  EXPECT_EQ(get_attribute(&value, kCarveout, kernel_, 0), CUDA_SUCCESS);
  EXPECT_EQ(value, 50);
  EXPECT_EQ(set_attribute(kCarveout, 101, kernel_, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LibraryFaultTest, WhatIsOfAContextGivesItsCode) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(MakeFaultBehindLoad());
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUdeviceptr address = 0;
  size_t size = 0;
  EXPECT_EQ(get_module(&module, library_), kFault);
  EXPECT_EQ(get_function(&function, kernel_), kFault);
  EXPECT_EQ(get_global(&address, &size, library_, "counter"), kFault);
  EXPECT_EQ(get_global(&address, &size, library_, "none"), kFault);
  EXPECT_EQ(get_global(&address, &size, library_, ""), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LibraryFaultTest, ParametersGiveItsCodeOfWhateverIsNamed) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(MakeFaultBehindLoad());
  size_t size = 0;
  EXPECT_EQ(get_parameter(kernel_, 0, &size, &size), kFault);
  EXPECT_EQ(get_parameter(function_, 0, &size, &size), kFault);
  const char* name = "";
  EXPECT_EQ(get_name(&name, function_), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(LibraryFaultTest, AKernelIsNoFunction) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(MakeFaultBehindLoad());
  const auto kernel = static_cast<CUfunction>(kernel_);
  int state = 0;
  EXPECT_EQ(is_loaded(&state, function_), kFault);
  EXPECT_EQ(is_loaded(&state, kernel), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(load_function(function_), kFault);
  EXPECT_EQ(load_function(kernel), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(LibraryFaultTest, ItCountsBeforeFlagsOfOccupancy) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(MakeFaultBehindLoad());
  constexpr unsigned kUnknown = 2;
  int blocks = 0;
  int threads = 0;
  const Function<CUresult(int*, CUfunction, int, size_t, unsigned)> count(
      "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags");
  const Function<CUresult(int*, int*, CUfunction, size_t (*)(int), size_t, int, unsigned)> choose(
      "cuOccupancyMaxPotentialBlockSizeWithFlags");
  EXPECT_EQ(count(&blocks, function_, 32, 0, kUnknown), kFault);
  EXPECT_EQ(choose(&blocks, &threads, function_, nullptr, 0, 0, kUnknown), kFault);
}

}  // namespace
}  // namespace twinmmu::abi
