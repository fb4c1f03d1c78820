// Libraries: their kernels and variables, and what is left of them. Measured on an H200 with driver
// 580.159.

#include <algorithm>
#include <vector>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

const char kTwoKernels[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 4 .u32 counter = 7;\n"
    ".visible .entry first() { ret; }\n"
    ".visible .entry second(.param .u64 at, .param .u32 value) { ret; }\n";

const Function<CUresult(void**, const void*, void*, void*, unsigned, void*, void*, unsigned)> load(
    "cuLibraryLoadData");
const Function<CUresult(void*)> unload("cuLibraryUnload");
const Function<CUresult(void**, void*, const char*)> get_kernel("cuLibraryGetKernel");
const Function<CUresult(unsigned*, void*)> count_kernels("cuLibraryGetKernelCount");
const Function<CUresult(void**, unsigned, void*)> list_kernels("cuLibraryEnumerateKernels");
const Function<CUresult(CUmodule*, void*)> get_module("cuLibraryGetModule");
const Function<CUresult(CUdeviceptr*, size_t*, void*, const char*)> get_global(
    "cuLibraryGetGlobal");
const Function<CUresult(CUdeviceptr*, size_t*, void*, const char*)> get_managed(
    "cuLibraryGetManaged");
const Function<CUresult(CUdeviceptr*, size_t*, CUmodule, const char*)> get_global_of_module(
    "cuModuleGetGlobal_v2");
const Function<CUresult(CUfunction*, void*)> get_function("cuKernelGetFunction");
const Function<CUresult(void**, void*)> get_library("cuKernelGetLibrary");
const Function<CUresult(int*, int, void*, CUdevice)> get_attribute("cuKernelGetAttribute");
const Function<CUresult(int, int, void*, CUdevice)> set_attribute("cuKernelSetAttribute");
const Function<CUresult(void*, size_t, size_t*, size_t*)> get_parameter("cuKernelGetParamInfo");
const Function<CUresult(int*, int, CUfunction)> get_of_function("cuFuncGetAttribute");
const Function<CUresult(CUfunction, int, int)> set_of_function("cuFuncSetAttribute");

// Attributes of kernels.
constexpr int kMostThreads = 0;
constexpr int kMostDynamicShared = 8;
constexpr int kCarveout = 9;
constexpr int kLargeClusters = 14;
constexpr int kClusterPolicy = 15;
constexpr int kUnknown = 1000;

class LibrariesTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    if (HasFatalFailure()) return;
    ASSERT_EQ(Load(&library_), CUDA_SUCCESS);
  }
  void TearDown() override {
    if (library_ != nullptr) {
      EXPECT_EQ(unload(library_), CUDA_SUCCESS);
    }
    ContextTest::TearDown();
  }

  static CUresult Load(void** library) {
    return load(library, kTwoKernels, nullptr, nullptr, 0, nullptr, nullptr, 0);
  }
  void* KernelNamed(const char* name) {
    void* kernel = nullptr;
    EXPECT_EQ(get_kernel(&kernel, library_, name), CUDA_SUCCESS) << name;
    return kernel;
  }

  void* library_ = nullptr;
};

TEST_F(LibrariesTest, ALibraryIsMadeOfAnImage) {
  void* library = nullptr;
  EXPECT_EQ(Load(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(load(&library, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(library, nullptr);
}

// The driver loads lazily. In a process of its own: an H200's links of missing symbols as if
// nothing were missing from then on.
TEST_F(LibrariesTest, WhatIsWrongWithAnImageIsToldWhenSomethingOfItIsAskedFor) {
  if (NewProcessTest::RanInNewProcess()) return;
  struct Image {
    const char* text;
    CUresult result;
  };
  const Image kImages[] = {
      {"", CUDA_ERROR_INVALID_IMAGE},
      {"this is no PTX", CUDA_ERROR_INVALID_IMAGE},
      {".version 7.0\n.target sm_70\n.address_size 64\nnonsense\n", CUDA_ERROR_INVALID_PTX},
      {".version 99.0\n.target sm_70\n.address_size 64\n", CUDA_ERROR_UNSUPPORTED_PTX_VERSION},
  };
  for (const Image& image : kImages) {
    SCOPED_TRACE(image.text);
    void* library = nullptr;
    ASSERT_EQ(load(&library, image.text, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
    void* kernel = nullptr;
    CUmodule module = nullptr;
    CUdeviceptr address = 0;
    size_t size = 0;
    unsigned count = 77;
    EXPECT_EQ(count_kernels(&count, library), CUDA_SUCCESS);
    EXPECT_EQ(count, 0u);
    EXPECT_EQ(list_kernels(&kernel, 1, library), CUDA_SUCCESS);
    EXPECT_EQ(get_kernel(&kernel, library, "first"), image.result);
    EXPECT_EQ(get_kernel(&kernel, library, ""), image.result);
    EXPECT_EQ(kernel, nullptr);
    EXPECT_EQ(get_module(&module, library), image.result);
    for (const auto& get : {get_global, get_managed}) {
      EXPECT_EQ(get(&address, &size, library, "counter"), image.result);
      EXPECT_EQ(get(&address, &size, library, ""), CUDA_ERROR_INVALID_VALUE);
    }
    EXPECT_EQ(unload(library), CUDA_SUCCESS);
  }
}

TEST_F(LibrariesTest, OptionsMustExist) {
  const auto result = [](const char* text, int option, int library_option) {
    void* value = reinterpret_cast<void*>(1);
    void* library = nullptr;
    const CUresult loaded = load(&library, text, &option, &value, option != 0 ? 1 : 0,
                                 &library_option, &value, library_option != 0 ? 1 : 0);
    if (loaded == CUDA_SUCCESS) {
      EXPECT_EQ(unload(library), CUDA_SUCCESS);
    }
    return loaded;
  };
  constexpr int kOptimizationLevel = 7;
  constexpr int kPreserved = 1;
  EXPECT_EQ(result(kTwoKernels, kOptimizationLevel, kPreserved), CUDA_SUCCESS);
  for (const char* const text : {kTwoKernels, "this is no PTX"}) {
    for (const int none : {-1, kUnknown}) {
      EXPECT_EQ(result(text, none, 0), CUDA_ERROR_INVALID_VALUE) << none;
      EXPECT_EQ(result(text, 0, none), CUDA_ERROR_INVALID_VALUE) << none;
    }
  }
}

TEST_F(LibrariesTest, AKernelIsTheSameWhenItIsAskedForAgain) {
  EXPECT_NE(KernelNamed("first"), nullptr);
  EXPECT_EQ(KernelNamed("first"), KernelNamed("first"));
  EXPECT_NE(KernelNamed("first"), KernelNamed("second"));
}

TEST_F(LibrariesTest, TwoLibrariesHaveKernelsOfTheirOwn) {
  void* other = nullptr;
  void* kernel = nullptr;
  ASSERT_EQ(Load(&other), CUDA_SUCCESS);
  EXPECT_NE(other, library_);
  EXPECT_EQ(get_kernel(&kernel, other, "first"), CUDA_SUCCESS);
  EXPECT_NE(kernel, KernelNamed("first"));
  void* found = nullptr;
  EXPECT_EQ(get_library(&found, kernel), CUDA_SUCCESS);
  EXPECT_EQ(found, other);
  EXPECT_EQ(unload(other), CUDA_SUCCESS);
  EXPECT_EQ(get_library(&found, KernelNamed("first")), CUDA_SUCCESS);
  EXPECT_EQ(found, library_);
}

TEST_F(LibrariesTest, AKernelHasAName) {
  void* kernel = nullptr;
  EXPECT_EQ(get_kernel(&kernel, library_, "third"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(get_kernel(&kernel, library_, "counter"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(get_kernel(nullptr, library_, "first"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_kernel(&kernel, library_, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(kernel, nullptr);
}

TEST_F(LibrariesTest, ItsKernelsAreCounted) {
  unsigned count = 77;
  EXPECT_EQ(count_kernels(&count, library_), CUDA_SUCCESS);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(count_kernels(nullptr, library_), CUDA_ERROR_INVALID_VALUE);
  count = 77;
  EXPECT_EQ(count_kernels(&count, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(count, 77u);
}

TEST_F(LibrariesTest, AsManyKernelsAreListedAsThereIsRoomFor) {
  void* const mark = this;
  std::vector<void*> kernels(3, mark);
  EXPECT_EQ(list_kernels(kernels.data(), 1, library_), CUDA_SUCCESS);
  EXPECT_NE(kernels[0], mark);
  EXPECT_EQ(kernels[1], mark);
  EXPECT_EQ(list_kernels(kernels.data(), 3, library_), CUDA_SUCCESS);
  EXPECT_EQ(kernels[2], mark);
  for (const char* const name : {"first", "second"}) {
    EXPECT_EQ(std::count(kernels.begin(), kernels.end(), KernelNamed(name)), 1) << name;
  }
  EXPECT_EQ(list_kernels(nullptr, 2, library_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(list_kernels(kernels.data(), 2, nullptr), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(LibrariesTest, AFunctionOfAKernelIsTheSameWhenItIsAskedForAgain) {
  CUfunction function = nullptr;
  CUfunction again = nullptr;
  EXPECT_EQ(get_function(&function, KernelNamed("first")), CUDA_SUCCESS);
  EXPECT_EQ(get_function(&again, KernelNamed("first")), CUDA_SUCCESS);
  EXPECT_EQ(function, again);
  EXPECT_EQ(get_function(&again, KernelNamed("second")), CUDA_SUCCESS);
  EXPECT_NE(function, again);
  EXPECT_EQ(get_function(nullptr, KernelNamed("first")), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_function(&again, nullptr), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(LibrariesTest, AKernelKeepsTheAttributesThatAreSet) {
  void* const kernel = KernelNamed("first");
  int value = 0;
  EXPECT_EQ(set_attribute(kMostDynamicShared, 64 << 10, kernel, 0), CUDA_SUCCESS);
  EXPECT_EQ(get_attribute(&value, kMostDynamicShared, kernel, 0), CUDA_SUCCESS);
  EXPECT_EQ(value, 64 << 10);
  EXPECT_EQ(get_attribute(&value, kMostThreads, kernel, 0), CUDA_SUCCESS);
  EXPECT_EQ(value, 1024);
}

// In whatever order they are set.
TEST_F(LibrariesTest, AFunctionHasTheAttributesOfItsKernelUnlessItHasItsOwn) {
  void* const kernel = KernelNamed("first");
  CUfunction function = nullptr;
  ASSERT_EQ(get_function(&function, kernel), CUDA_SUCCESS);
  const auto of_function = [&](int attribute) {
    int value = 77;
    EXPECT_EQ(get_of_function(&value, attribute, function), CUDA_SUCCESS);
    return value;
  };
  for (const int attribute : {kMostDynamicShared, kCarveout, kClusterPolicy}) {
    SCOPED_TRACE(attribute);
    int value = 77;
    EXPECT_EQ(set_attribute(attribute, 2, kernel, 0), CUDA_SUCCESS);
    EXPECT_EQ(of_function(attribute), 2);
    EXPECT_EQ(set_of_function(function, attribute, 1), CUDA_SUCCESS);
    EXPECT_EQ(of_function(attribute), 1);
    EXPECT_EQ(get_attribute(&value, attribute, kernel, 0), CUDA_SUCCESS);
    EXPECT_EQ(value, 2);
    EXPECT_EQ(set_attribute(attribute, 0, kernel, 0), CUDA_SUCCESS);
    EXPECT_EQ(of_function(attribute), 1);
  }
}

TEST_F(LibrariesTest, WhetherAKernelMayHaveLargeClustersIsKeptAsItWasSet) {
  void* const kernel = KernelNamed("first");
  CUfunction function = nullptr;
  ASSERT_EQ(get_function(&function, kernel), CUDA_SUCCESS);
  for (const int set : {-1, 0, 1, 101}) {
    int value = 77;
    EXPECT_EQ(set_attribute(kLargeClusters, set, kernel, 0), CUDA_SUCCESS);
    EXPECT_EQ(get_attribute(&value, kLargeClusters, kernel, 0), CUDA_SUCCESS);
    EXPECT_EQ(value, set);
    EXPECT_EQ(get_of_function(&value, kLargeClusters, function), CUDA_SUCCESS);
    EXPECT_EQ(value, set != 0 ? 1 : 0);
  }
}

TEST_F(LibrariesTest, AKernelHasNoOtherAttributes) {
  void* const kernel = KernelNamed("first");
  int value = 77;
  EXPECT_EQ(get_attribute(&value, kUnknown, kernel, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set_attribute(kUnknown, 1, kernel, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set_attribute(kMostThreads, 1, kernel, 0), CUDA_ERROR_INVALID_VALUE) << "read only";
}

TEST_F(LibrariesTest, AKernelTellsWhereItsParametersAre) {
  void* const kernel = KernelNamed("second");
  size_t offset = 0;
  size_t size = 0;
  EXPECT_EQ(get_parameter(kernel, 1, &offset, &size), CUDA_SUCCESS);
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(size, 4u);
  EXPECT_EQ(get_parameter(kernel, 2, &offset, &size), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LibrariesTest, AVariableHasAnAddressAndASize) {
  CUdeviceptr address = 0;
  size_t size = 0;
  EXPECT_EQ(get_global(&address, &size, library_, "counter"), CUDA_SUCCESS);
  EXPECT_EQ(size, 4u);
  unsigned value = 0;
  EXPECT_EQ(cuMemcpyDtoH(&value, address, sizeof(value)), CUDA_SUCCESS);
  EXPECT_EQ(value, 7u);
  CUdeviceptr again = 0;
  EXPECT_EQ(get_global(&again, nullptr, library_, "counter"), CUDA_SUCCESS);
  EXPECT_EQ(again, address);
  size = 0;
  EXPECT_EQ(get_global(nullptr, &size, library_, "counter"), CUDA_SUCCESS);
  EXPECT_EQ(size, 4u);
}

TEST_F(LibrariesTest, AVariableIsAskedForByName) {
  CUdeviceptr address = 0;
  size_t size = 0;
  for (const auto& get : {get_global, get_managed}) {
    EXPECT_EQ(get(&address, &size, library_, "nothing"), CUDA_ERROR_NOT_FOUND);
    EXPECT_EQ(get(&address, &size, library_, ""), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(get_global(&address, &size, library_, "first"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_managed(&address, &size, library_, "first"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(get_global(&address, &size, library_, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_global(nullptr, nullptr, library_, "counter"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_global(&address, &size, nullptr, "counter"), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(address, 0u);
}

// The module of the context, in which the variable and the functions are the same.
TEST_F(LibrariesTest, AModuleOfALibraryHasItsVariables) {
  CUmodule module = nullptr;
  CUmodule again = nullptr;
  EXPECT_EQ(get_module(&module, library_), CUDA_SUCCESS);
  EXPECT_EQ(get_module(&again, library_), CUDA_SUCCESS);
  EXPECT_EQ(module, again);
  CUdeviceptr of_module = 0;
  CUdeviceptr of_library = 0;
  EXPECT_EQ(get_global_of_module(&of_module, nullptr, module, "counter"), CUDA_SUCCESS);
  EXPECT_EQ(get_global(&of_library, nullptr, library_, "counter"), CUDA_SUCCESS);
  EXPECT_EQ(of_module, of_library);
  EXPECT_EQ(get_module(nullptr, library_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_module(&module, nullptr), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(LibrariesTest, NothingIsLeftOfALibraryThatIsUnloaded) {
  if (!TraitsOf().survives_bad_pointers) GTEST_SKIP() << "this driver may end the process";
  void* const kernel = KernelNamed("first");
  CUdeviceptr address = 0;
  EXPECT_EQ(get_global(&address, nullptr, library_, "counter"), CUDA_SUCCESS);
  EXPECT_EQ(unload(library_), CUDA_SUCCESS);
  unsigned count = 0;
  unsigned value = 0;
  CUfunction function = nullptr;
  void* found = nullptr;
  EXPECT_EQ(count_kernels(&count, library_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(get_function(&function, kernel), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(get_library(&found, kernel), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuMemcpyDtoH(&value, address, sizeof(value)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(unload(library_), CUDA_ERROR_INVALID_HANDLE);
  library_ = nullptr;
}

}  // namespace
}  // namespace twinmmu::abi
