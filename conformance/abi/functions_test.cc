// What a program asks about functions that are loaded, and about atomic operations of devices.

#include <vector>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

const char kText[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry kernel() { ret; }\n";

using Load = Function<CUresult(void**, const void*)>;
using Unload = Function<CUresult(void*)>;
using GetFunction = Function<CUresult(void**, void*, const char*)>;
using LoadLibrary =
    Function<CUresult(void**, const void*, void*, void*, unsigned, void*, void*, unsigned)>;
using OfKernel = Function<CUresult(void**, void*)>;
using IsLoaded = Function<CUresult(int*, void*)>;
using LoadFunction = Function<CUresult(void*)>;
using GetModule = Function<CUresult(void**, void*)>;
using GetName = Function<CUresult(const char**, void*)>;
using ParameterInfo = Function<CUresult(void*, size_t, size_t*, size_t*)>;
using GetAttribute = Function<CUresult(int*, int, void*)>;
using SetAttribute = Function<CUresult(void*, int, int)>;
using SetCache = Function<CUresult(void*, int)>;
using OfDevice = Function<CUresult(int*, int, void*, CUdevice)>;
using SetOfDevice = Function<CUresult(int, int, void*, CUdevice)>;
using PreferCache = Function<CUresult(void*, int, CUdevice)>;
using CountFunctions = Function<CUresult(unsigned*, void*)>;
using ListFunctions = Function<CUresult(void**, unsigned, void*)>;
using GetUnified = Function<CUresult(void**, void*, const char*)>;
using HostAtomics = Function<CUresult(unsigned*, const int*, unsigned, CUdevice)>;
using PeerAtomics = Function<CUresult(unsigned*, const int*, unsigned, CUdevice, CUdevice)>;
using Notification = void (*)(void*, void*, void*);
using Register = Function<CUresult(CUdevice, Notification, void*, void**)>;
using Unregister = Function<CUresult(CUdevice, void*)>;

class FunctionsTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    ASSERT_EQ(Load("cuModuleLoadData")(&module_, kText), CUDA_SUCCESS);
    ASSERT_EQ(GetFunction("cuModuleGetFunction")(&function_, module_, "kernel"), CUDA_SUCCESS);
    ASSERT_EQ(LoadLibrary("cuLibraryLoadData")(&library_, kText, nullptr, nullptr, 0, nullptr,
                                               nullptr, 0),
              CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(Unload("cuLibraryUnload")(library_), CUDA_SUCCESS);
    EXPECT_EQ(Unload("cuModuleUnload")(module_), CUDA_SUCCESS);
    ContextTest::TearDown();
  }

  void* module_ = nullptr;
  void* function_ = nullptr;
  void* library_ = nullptr;
};

TEST_F(FunctionsTest, AFunctionOfAModuleIsLoaded) {
  int state = -1;
  EXPECT_EQ(IsLoaded("cuFuncIsLoaded")(&state, function_), CUDA_SUCCESS);
  EXPECT_EQ(state, 1);
  EXPECT_EQ(LoadFunction("cuFuncLoad")(function_), CUDA_SUCCESS);
  EXPECT_EQ(IsLoaded("cuFuncIsLoaded")(nullptr, function_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(FunctionsTest, AKernelOfALibraryIsNoFunction) {
  void* kernel = nullptr;
  int state = -1;
  ASSERT_EQ(GetFunction("cuLibraryGetKernel")(&kernel, library_, "kernel"), CUDA_SUCCESS);
  for (void* const none : {kernel, static_cast<void*>(nullptr)}) {
    EXPECT_EQ(IsLoaded("cuFuncIsLoaded")(&state, none), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(LoadFunction("cuFuncLoad")(none), CUDA_ERROR_INVALID_HANDLE);
  }
  EXPECT_EQ(state, -1);
}

TEST_F(FunctionsTest, TheFunctionOfAKernelIsLoaded) {
  void* kernel = nullptr;
  void* function = nullptr;
  int state = -1;
  ASSERT_EQ(GetFunction("cuLibraryGetKernel")(&kernel, library_, "kernel"), CUDA_SUCCESS);
  ASSERT_EQ(OfKernel("cuKernelGetFunction")(&function, kernel), CUDA_SUCCESS);
  EXPECT_EQ(IsLoaded("cuFuncIsLoaded")(&state, function), CUDA_SUCCESS);
  EXPECT_EQ(state, 1);
}

TEST_F(FunctionsTest, AFunctionIsOfItsModule) {
  const GetModule get("cuFuncGetModule");
  void* module = nullptr;
  EXPECT_EQ(get(&module, function_), CUDA_SUCCESS);
  EXPECT_EQ(module, module_);
  EXPECT_EQ(get(nullptr, function_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(FunctionsTest, AFunctionHasTheNameThatItsModuleGivesIt) {
  const GetName get("cuFuncGetName");
  const char* name = nullptr;
  EXPECT_EQ(get(&name, function_), CUDA_SUCCESS);
  EXPECT_STREQ(name, "kernel");
  EXPECT_EQ(get(nullptr, function_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(FunctionsTest, AKernelHasTheNameThatItsLibraryGivesIt) {
  const GetName get("cuKernelGetName");
  void* kernel = nullptr;
  const char* name = nullptr;
  ASSERT_EQ(GetFunction("cuLibraryGetKernel")(&kernel, library_, "kernel"), CUDA_SUCCESS);
  EXPECT_EQ(get(&name, kernel), CUDA_SUCCESS);
  EXPECT_STREQ(name, "kernel");
  EXPECT_EQ(get(nullptr, kernel), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(FunctionsTest, NullHasNoNameModuleOrParameters) {
  const ParameterInfo of_function("cuFuncGetParamInfo");
  const ParameterInfo of_kernel("cuKernelGetParamInfo");
  const char* name = nullptr;
  void* module = nullptr;
  size_t offset = 0;
  size_t size = 0;
  EXPECT_EQ(GetName("cuFuncGetName")(&name, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(GetName("cuFuncGetName")(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(GetName("cuKernelGetName")(&name, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(GetModule("cuFuncGetModule")(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(of_function(nullptr, 0, &offset, &size), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(of_kernel(nullptr, 0, &offset, &size), CUDA_ERROR_INVALID_VALUE);
  int value = 0;
  EXPECT_EQ(GetAttribute("cuFuncGetAttribute")(&value, 4, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(GetAttribute("cuFuncGetAttribute")(nullptr, 4, nullptr), CUDA_ERROR_INVALID_VALUE);
}

// A launch takes both.
TEST_F(FunctionsTest, AFunctionIsNoKernelAndAKernelNoFunction) {
  const ParameterInfo of_function("cuFuncGetParamInfo");
  const ParameterInfo of_kernel("cuKernelGetParamInfo");
  void* kernel = nullptr;
  ASSERT_EQ(GetFunction("cuLibraryGetKernel")(&kernel, library_, "kernel"), CUDA_SUCCESS);
  const char* name = nullptr;
  void* module = nullptr;
  int value = 0;
  size_t offset = 0;
  size_t size = 0;
  EXPECT_EQ(GetName("cuFuncGetName")(&name, kernel), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(GetModule("cuFuncGetModule")(&module, kernel), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(GetAttribute("cuFuncGetAttribute")(&value, 4, kernel), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(SetAttribute("cuFuncSetAttribute")(kernel, 8, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(SetCache("cuFuncSetCacheConfig")(kernel, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(SetCache("cuFuncSetSharedMemConfig")(kernel, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(of_function(kernel, 0, &offset, &size), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(GetName("cuKernelGetName")(&name, function_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(OfDevice("cuKernelGetAttribute")(&value, 4, function_, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(OfDevice("cuKernelGetAttribute")(&value, 4, nullptr, 99), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(OfDevice("cuKernelGetAttribute")(&value, 4, kernel, 99), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(SetOfDevice("cuKernelSetAttribute")(8, 0, function_, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(SetOfDevice("cuKernelSetAttribute")(77, 0, nullptr, 99), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(PreferCache("cuKernelSetCacheConfig")(function_, 0, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(PreferCache("cuKernelSetCacheConfig")(nullptr, 9, 99), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(of_kernel(function_, 0, &offset, &size), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(FunctionsTest, WhatAFunctionIsNeedsNoContextToBeTold) {
  void* kernel = nullptr;
  ASSERT_EQ(GetFunction("cuLibraryGetKernel")(&kernel, library_, "kernel"), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  const char* name = nullptr;
  void* module = nullptr;
  int value = 0;
  EXPECT_EQ(GetName("cuFuncGetName")(&name, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(GetName("cuFuncGetName")(&name, function_), CUDA_SUCCESS);
  EXPECT_EQ(GetName("cuKernelGetName")(&name, kernel), CUDA_SUCCESS);
  EXPECT_EQ(GetModule("cuFuncGetModule")(&module, function_), CUDA_SUCCESS);
  EXPECT_EQ(GetAttribute("cuFuncGetAttribute")(&value, 4, function_), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
}

TEST_F(FunctionsTest, FunctionsOfAModuleAreCounted) {
  const CountFunctions count("cuModuleGetFunctionCount");
  unsigned found = 77;
  EXPECT_EQ(count(&found, module_), CUDA_SUCCESS);
  EXPECT_EQ(found, 1u);
  EXPECT_EQ(count(nullptr, module_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(count(&found, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(count(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(FunctionsTest, FunctionsOfAModuleAreListed) {
  const ListFunctions list("cuModuleEnumerateFunctions");
  void* found = nullptr;
  const char* name = nullptr;
  EXPECT_EQ(list(&found, 1, module_), CUDA_SUCCESS);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(GetName("cuFuncGetName")(&name, found), CUDA_SUCCESS);
  EXPECT_STREQ(name, "kernel");
  EXPECT_EQ(list(nullptr, 1, module_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(list(&found, 1, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(list(nullptr, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(FunctionsTest, ALibraryHasNoUnifiedFunctions) {
  const GetUnified get("cuLibraryGetUnifiedFunction");
  void* found = this;
  EXPECT_EQ(get(&found, library_, "kernel"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get(&found, library_, "nothing"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get(nullptr, library_, "kernel"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get(&found, library_, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get(&found, nullptr, "kernel"), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(found, this);
}

TEST_F(FunctionsTest, TheHostTakesNoAtomicOperationOverPciExpress) {
  if (DriverVersion() < 13000) GTEST_SKIP() << "the driver is older than this function";
  const HostAtomics get("cuDeviceGetHostAtomicCapabilities");
  std::vector<int> operations;
  for (int i = 0; i < 14; ++i) operations.push_back(i);
  std::vector<unsigned> found(14, 77);
  EXPECT_EQ(get(found.data(), operations.data(), 13, 0), CUDA_SUCCESS);
  EXPECT_EQ(found[0], 0u);
  EXPECT_EQ(found[12], 0u);
  EXPECT_EQ(get(found.data(), operations.data(), 14, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get(found.data(), operations.data(), 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get(nullptr, operations.data(), 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get(found.data(), nullptr, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get(found.data(), operations.data(), 1, -1), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(FunctionsTest, ADeviceIsNotItsOwnPeer) {
  if (DriverVersion() < 13000) GTEST_SKIP() << "the driver is older than this function";
  const PeerAtomics get("cuDeviceGetP2PAtomicCapabilities");
  const int operation = 0;
  unsigned found = 77;
  EXPECT_EQ(get(&found, &operation, 1, 0, 0), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(get(&found, &operation, 1, -1, 0), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(get(nullptr, &operation, 1, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get(&found, nullptr, 1, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get(&found, &operation, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(found, 77u);
}

TEST_F(FunctionsTest, NotificationsAreRegisteredAndUnregistered) {
  const Register enter("cuDeviceRegisterAsyncNotification");
  const Unregister leave("cuDeviceUnregisterAsyncNotification");
  const Notification callback = [](void*, void*, void*) {};
  void* first = nullptr;
  void* second = nullptr;
  EXPECT_EQ(enter(0, callback, nullptr, &first), CUDA_SUCCESS);
  EXPECT_EQ(enter(0, callback, nullptr, &second), CUDA_SUCCESS);
  EXPECT_NE(first, second);
  EXPECT_EQ(enter(0, nullptr, nullptr, &second), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(enter(-1, callback, nullptr, &second), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(leave(-1, first), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(leave(0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(leave(0, first), CUDA_SUCCESS);
  EXPECT_EQ(leave(0, second), CUDA_SUCCESS);
}

TEST_F(FunctionsTest, AProfilerCannotBeInitialised) {
  const Function<CUresult(const char*, const char*, int)> initialise("cuProfilerInitialize");
  EXPECT_EQ(initialise("configuration", "output", 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(initialise(nullptr, nullptr, 7), CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace
}  // namespace twinmmu::abi
