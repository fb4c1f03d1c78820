// Managed variables of modules and libraries: the CPU sees them where kernels do.

#include <cstdint>
#include <cstring>

#include "conformance/abi/managed/managed_memory.h"

namespace twinmmu::abi {
namespace {

const char kText[] = R"(.version 7.0
.target sm_70
.address_size 64
.visible .global .attribute(.managed) .align 4 .u32 x = 7;
.visible .global .attribute(.managed) .align 8 .b8 big[3000000];
.visible .global .align 4 .u32 plain = 9;
.visible .global .align 8 .u64 address_of_x = x;
.visible .global .attribute(.managed) .align 8 .u64 address_of_plain = plain;
.visible .entry bump() {
  .reg .b32 %r;
  ld.global.u32 %r, [x];
  add.u32 %r, %r, 1;
  st.global.u32 [x], %r;
  st.global.u32 [big+2999996], %r;
  ret;
}
)";

using Launch = Function<CUresult(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, CUstream, void**, void**)>;
using GetGlobal = Function<CUresult(CUdeviceptr*, size_t*, void*, const char*)>;
const Function<CUresult(void**, const void*)> load("cuModuleLoadData");
const Function<CUresult(void*)> unload("cuModuleUnload");
const Function<CUresult(void**, void*, const char*)> get_function("cuModuleGetFunction");
const GetGlobal get_global("cuModuleGetGlobal_v2");
const Launch launch("cuLaunchKernel");

volatile int* IntAt(CUdeviceptr address) { return reinterpret_cast<volatile int*>(address); }

class ManagedVariablesTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    if (HasFatalFailure()) return;
    ASSERT_EQ(load(&module_, kText), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(unload(module_), CUDA_SUCCESS);
    ContextTest::TearDown();
  }
  CUdeviceptr Find(const char* name, size_t expected_size) {
    CUdeviceptr address = 0;
    size_t size = 0;
    EXPECT_EQ(get_global(&address, &size, module_, name), CUDA_SUCCESS) << name;
    EXPECT_EQ(size, expected_size) << name;
    return address;
  }
  void Bump() {
    void* bump = nullptr;
    ASSERT_EQ(get_function(&bump, module_, "bump"), CUDA_SUCCESS);
    ASSERT_EQ(launch(bump, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  }

  void* module_ = nullptr;
};

TEST_F(ManagedVariablesTest, AreSharedByTheCpuAndKernels) {
  volatile int* const x = IntAt(Find("x", 4));
  EXPECT_EQ(*x, 7) << "as the PTX says";
  *x = 40;
  Bump();
  EXPECT_EQ(*x, 41);
  EXPECT_EQ(*IntAt(Find("big", 3000000) + 2999996), 41);
}

TEST_F(ManagedVariablesTest, AreCopiedAndFilled) {
  const CUdeviceptr big = Find("big", 3000000);
  EXPECT_EQ(cuMemsetD8(big, 3, 3000000), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(*IntAt(big + 2999996), 0x03030303);
  char read[8];
  const CUdeviceptr x = Find("x", 4);
  EXPECT_EQ(cuMemcpyDtoH(read, x, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH(read, x, 5), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ManagedVariablesTest, AreKnownByTheirAddress) {
  uint64_t held = 0;
  EXPECT_EQ(cuMemcpyDtoH(&held, Find("address_of_x", 8), 8), CUDA_SUCCESS);
  EXPECT_EQ(held, Find("x", 4));
  EXPECT_EQ(cuMemcpyDtoH(&held, Find("address_of_plain", 8), 8), CUDA_SUCCESS);
  EXPECT_EQ(held, Find("plain", 4));
}

TEST_F(ManagedVariablesTest, AreEachAnAllocationOfNoContext) {
  for (const char* const name : {"x", "big"}) {
    const size_t size = std::strcmp(name, "x") == 0 ? 4 : 3000000;
    const CUdeviceptr address = Find(name, size);
    CUdeviceptr base = 0;
    size_t found = 0;
    EXPECT_EQ(cuMemGetAddressRange(&base, &found, address + size - 1), CUDA_SUCCESS);
    EXPECT_EQ(base, address);
    EXPECT_EQ(found, size);
    unsigned int managed = 0;
    EXPECT_EQ(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address),
              CUDA_SUCCESS);
    EXPECT_EQ(managed, 1u);
    CUcontext context = context_;
    EXPECT_EQ(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, address), CUDA_SUCCESS);
    EXPECT_EQ(context, nullptr);
  }
}

TEST_F(ManagedVariablesTest, PlainOnesAreNotManaged) {
  unsigned int managed = 7;
  EXPECT_EQ(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, Find("plain", 4)),
            CUDA_SUCCESS);
  EXPECT_EQ(managed, 0u);
  EXPECT_EQ(cuMemPrefetchAsync(Find("plain", 4), 4, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ManagedVariablesTest, PlainOnesCannotBeSharedEither) {
  const CUdeviceptr plain = Find("plain", 4);
  for (const CUpointer_attribute capable : {CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                            CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE}) {
    unsigned int value = 7;
    EXPECT_EQ(cuPointerGetAttribute(&value, capable, plain), CUDA_SUCCESS);
    EXPECT_EQ(value, 0u) << capable;
  }
  char handle[64];
  EXPECT_EQ(Function<CUresult(void*, CUdeviceptr)>("cuIpcGetMemHandle")(handle, plain),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ManagedVariablesTest, TakeHints) {
  const CUdeviceptr big = Find("big", 3000000);
  EXPECT_EQ(cuMemPrefetchAsync(big, 3000000, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(LastPrefetch(big, 3000000)[0], 0);
  EXPECT_EQ(cuMemPrefetchAsync(big, 3000001, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  const CUdeviceptr x = Find("x", 4);
  EXPECT_EQ(cuMemAdvise(x, 4, CU_MEM_ADVISE_SET_READ_MOSTLY, 0), CUDA_SUCCESS);
  EXPECT_EQ(RangeAttribute(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, x, 4), 1);
  EXPECT_EQ(RangeAttribute(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, big, 3000000), 0);
}

TEST_F(ManagedVariablesTest, AreAttached) {
  const CUdeviceptr x = Find("x", 4);
  EXPECT_EQ(cuStreamAttachMemAsync(nullptr, x, 0, CU_MEM_ATTACH_HOST), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamAttachMemAsync(nullptr, x, 4, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
}

TEST_F(ManagedVariablesTest, AreNotFreedOrShared) {
  const CUdeviceptr x = Find("x", 4);
  EXPECT_EQ(cuMemFree(x), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostRegister(reinterpret_cast<void*>(x), 4, 0), CUDA_ERROR_INVALID_VALUE);
  char handle[64];
  EXPECT_EQ(Function<CUresult(void*, CUdeviceptr)>("cuIpcGetMemHandle")(handle, x),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ManagedVariablesTest, EachModuleHasItsOwn) {
  const CUdeviceptr x = Find("x", 4);
  *IntAt(x) = 5;
  void* other = nullptr;
  ASSERT_EQ(load(&other, kText), CUDA_SUCCESS);
  CUdeviceptr its = 0;
  size_t size = 0;
  EXPECT_EQ(get_global(&its, &size, other, "x"), CUDA_SUCCESS);
  EXPECT_NE(its, x);
  EXPECT_EQ(*IntAt(its), 7);
  EXPECT_EQ(unload(other), CUDA_SUCCESS);
  unsigned int managed = 0;
  EXPECT_EQ(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, its),
            CUDA_ERROR_INVALID_VALUE)
      << "gone with its module";
  EXPECT_EQ(*IntAt(x), 5);
}

TEST_F(ContextTest, OnlyGlobalVariablesAreManaged) {
  for (const char* const wrong :
       {".visible .const .attribute(.managed) .align 4 .u32 x = 7;",
        ".shared .attribute(.managed) .align 4 .u32 x;",
        ".visible .global .u32 .attribute(.managed) x;", ".global .attribute(.other) .u32 x;"}) {
    const std::string text = std::string(".version 7.0\n.target sm_70\n.address_size 64\n") + wrong;
    void* module = nullptr;
    EXPECT_EQ(load(&module, text.c_str()), CUDA_ERROR_INVALID_PTX) << wrong;
  }
}

// --- Of a library --------------------------------------------------------------------------------

const Function<CUresult(void**, const void*, void*, void*, unsigned, void*, void*, unsigned)>
    load_library("cuLibraryLoadData");
const Function<CUresult(void*)> unload_library("cuLibraryUnload");
const GetGlobal get_managed("cuLibraryGetManaged");
const GetGlobal get_library_global("cuLibraryGetGlobal");
const Function<CUresult(void**, void*)> get_module("cuLibraryGetModule");

class LibraryVariablesTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    if (HasFatalFailure()) return;
    if (DriverVersion() < 12000) GTEST_SKIP() << "the driver has no libraries";
    ASSERT_EQ(load_library(&library_, kText, nullptr, nullptr, 0, nullptr, nullptr, 0),
              CUDA_SUCCESS);
  }
  void TearDown() override {
    if (library_ != nullptr) {
      EXPECT_EQ(unload_library(library_), CUDA_SUCCESS);
    }
    ContextTest::TearDown();
  }
  CUdeviceptr X() {
    CUdeviceptr address = 0;
    size_t size = 0;
    EXPECT_EQ(get_managed(&address, &size, library_, "x"), CUDA_SUCCESS);
    EXPECT_EQ(size, 4u);
    return address;
  }

  void* library_ = nullptr;
};

TEST_F(LibraryVariablesTest, AreFoundWithoutAContext) {
  EmptyStack();
  const CUdeviceptr x = X();
  EXPECT_EQ(*IntAt(x), 7);
  EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(X(), x);
}

TEST_F(LibraryVariablesTest, AreTheSameInAllContexts) {
  const CUdeviceptr x = X();
  *IntAt(x) = 50;
  CUcontext other = nullptr;
  ASSERT_EQ(cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(X(), x);
  EXPECT_EQ(cuCtxDestroy(other), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(X(), x);
  EXPECT_EQ(*IntAt(x), 50);
}

TEST_F(LibraryVariablesTest, AreThoseOfItsModule) {
  const CUdeviceptr x = X();
  CUdeviceptr address = 0;
  size_t size = 0;
  EXPECT_EQ(get_library_global(&address, &size, library_, "x"), CUDA_SUCCESS);
  EXPECT_EQ(address, x);
  void* module = nullptr;
  EXPECT_EQ(get_module(&module, library_), CUDA_SUCCESS);
  EXPECT_EQ(get_global(&address, &size, module, "x"), CUDA_SUCCESS);
  EXPECT_EQ(address, x);
}

TEST_F(LibraryVariablesTest, OthersAreNotFoundAmongThem) {
  CUdeviceptr address = 1;
  size_t size = 1;
  EXPECT_EQ(get_managed(&address, &size, library_, "plain"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(get_managed(&address, &size, library_, "nothing"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(address, 1u);
}

TEST_F(LibraryVariablesTest, AreAskedForByNameForOneOfTheirFacts) {
  CUdeviceptr address = 0;
  size_t size = 0;
  EXPECT_EQ(get_managed(nullptr, &size, library_, "x"), CUDA_SUCCESS);
  EXPECT_EQ(get_managed(&address, nullptr, library_, "x"), CUDA_SUCCESS);
  EXPECT_EQ(get_managed(nullptr, nullptr, library_, "x"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_managed(&address, &size, library_, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_managed(&address, &size, nullptr, "x"), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(TwoDevicesTest, VariablesOfALibraryAreTheSameOnAllDevices) {
  if (DriverVersion() < 12000) GTEST_SKIP() << "the driver has no libraries";
  void* library = nullptr;
  ASSERT_EQ(load_library(&library, kText, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
  for (CUcontext context : {context_, second_}) {
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    void* module = nullptr;
    void* bump = nullptr;
    ASSERT_EQ(get_module(&module, library), CUDA_SUCCESS);
    ASSERT_EQ(get_function(&bump, module, "bump"), CUDA_SUCCESS);
    ASSERT_EQ(launch(bump, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  }
  CUdeviceptr x = 0;
  size_t size = 0;
  EXPECT_EQ(get_managed(&x, &size, library, "x"), CUDA_SUCCESS);
  EXPECT_EQ(*IntAt(x), 9) << "7, and each device added 1";
  EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(unload_library(library), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi
