// Created contexts, the stack of each thread, and calls without a context.

#include <thread>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

constexpr auto kUnsupportedAffinity = static_cast<CUresult>(224);

struct Affinity {  // CUexecAffinityParam
  int type;
  unsigned int multiprocessors;
};

struct Graphics {  // CUctxCigParam
  int type = 0;
  void* data = nullptr;
};

struct ContextParams {  // CUctxCreateParams
  const Affinity* affinities;
  int count;
  const Graphics* graphics;
};

CUcontext Current() {
  CUcontext context = nullptr;
  EXPECT_EQ(cuCtxGetCurrent(&context), CUDA_SUCCESS);
  return context;
}

CUcontext Pop() {
  CUcontext context = nullptr;
  EXPECT_EQ(cuCtxPopCurrent(&context), CUDA_SUCCESS);
  return context;
}

CUcontext Create() {
  CUcontext context = nullptr;
  EXPECT_EQ(cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
  return context;
}

// --- The stack -----------------------------------------------------------------------------------

// Two contexts, and nothing on the stack.
class ContextStackTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    first_ = Create();
    second_ = Create();
    EmptyStack();
  }
  void TearDown() override {
    EmptyStack();
    if (first_ != nullptr) {
      EXPECT_EQ(cuCtxDestroy(first_), CUDA_SUCCESS);
    }
    if (second_ != nullptr) {
      EXPECT_EQ(cuCtxDestroy(second_), CUDA_SUCCESS);
    }
    EmptyStack();
  }

  CUcontext first_ = nullptr;
  CUcontext second_ = nullptr;
};

TEST_F(ContextStackTest, NewContextsAreOnTop) {
  const CUcontext made = Create();
  EXPECT_EQ(Current(), made);
  EXPECT_EQ(Pop(), made);
  EXPECT_EQ(Current(), nullptr);
  EXPECT_EQ(cuCtxDestroy(made), CUDA_SUCCESS);
}

TEST_F(ContextStackTest, EmptyOneHasNothingToPop) {
  CUcontext popped = first_;
  EXPECT_EQ(cuCtxPopCurrent(&popped), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(popped, first_) << "nothing is written";
}

TEST_F(ContextStackTest, EmptyOneHasNoDeviceAndNoFlags) {
  CUdevice device = 7;
  unsigned int flags = 7;
  EXPECT_EQ(cuCtxGetDevice(&device), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxGetFlags(&flags), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(device, 7);
  EXPECT_EQ(flags, 7u);
}

TEST_F(ContextStackTest, SetCurrentReplacesTheTop) {
  EXPECT_EQ(cuCtxPushCurrent(first_), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxPushCurrent(first_), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(second_), CUDA_SUCCESS);
  EXPECT_EQ(Pop(), second_);
  EXPECT_EQ(Pop(), first_);
  EXPECT_EQ(Current(), nullptr);
}

TEST_F(ContextStackTest, SetCurrentOfAnEmptyOnePushes) {
  EXPECT_EQ(cuCtxSetCurrent(first_), CUDA_SUCCESS);
  EXPECT_EQ(Pop(), first_);
}

TEST_F(ContextStackTest, SetCurrentOfNullPops) {
  EXPECT_EQ(cuCtxPushCurrent(first_), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Current(), nullptr);
  EXPECT_EQ(cuCtxPopCurrent(nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS) << "of an empty stack too";
}

TEST_F(ContextStackTest, NullCannotBePushed) {
  EXPECT_EQ(cuCtxPushCurrent(nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ContextStackTest, PoppingNeedsNoResult) {
  EXPECT_EQ(cuCtxPushCurrent(first_), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxPopCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Current(), nullptr);
}

TEST_F(ContextStackTest, DestroyingTheCurrentContextPopsIt) {
  EXPECT_EQ(cuCtxPushCurrent(first_), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxPushCurrent(second_), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(second_), CUDA_SUCCESS);
  second_ = nullptr;
  EXPECT_EQ(Current(), first_);
}

TEST_F(ContextStackTest, DestroyingAnotherContextLeavesItThere) {
  EXPECT_EQ(cuCtxPushCurrent(first_), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxPushCurrent(second_), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(first_), CUDA_SUCCESS);
  EXPECT_EQ(Pop(), second_);
  EXPECT_EQ(Current(), first_) << "it is dead, and still there";
  CUdevice device = -1;
  CUdeviceptr address = 0;
  EXPECT_EQ(cuCtxGetDevice(&device), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuMemAlloc(&address, 100), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  first_ = nullptr;
}

TEST_F(ContextStackTest, IsOfOneThread) {
  EXPECT_EQ(cuCtxPushCurrent(first_), CUDA_SUCCESS);
  std::thread([this] {
    CUdeviceptr address = 0;
    EXPECT_EQ(Current(), nullptr);
    EXPECT_EQ(cuMemAlloc(&address, 10), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuCtxSetCurrent(first_), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAlloc(&address, 10), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSetCurrent(second_), CUDA_SUCCESS);
  }).join();
  EXPECT_EQ(Current(), first_);
}

// --- Created contexts ----------------------------------------------------------------------------

using ContextsTest = DriverTest;

TEST_F(ContextsTest, AreOfTheirDevice) {
  for (CUdevice expected = 0; expected < DeviceCount(); ++expected) {
    CUcontext context = nullptr;
    CUdevice device = -1;
    EXPECT_EQ(cuCtxCreate(&context, 0, expected), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxGetDevice(&device), CUDA_SUCCESS);
    EXPECT_EQ(device, expected);
    EXPECT_EQ(cuCtxDestroy(context), CUDA_SUCCESS);
  }
}

TEST_F(ContextsTest, NeedNotBeCurrentToTellTheirDevice) {
  if (DriverVersion() < 13000) GTEST_SKIP() << "the driver is older than this function";
  const Function<CUresult(CUdevice*, CUcontext)> device_of("cuCtxGetDevice_v2");
  const int last = DeviceCount() - 1;
  CUcontext other = nullptr;
  CUdevice device = -1;
  EXPECT_EQ(cuCtxCreate(&other, 0, last), CUDA_SUCCESS);
  const CUcontext current = Create();
  EXPECT_EQ(device_of(&device, other), CUDA_SUCCESS);
  EXPECT_EQ(device, last);
  EXPECT_EQ(device_of(&device, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cuCtxDestroy(current), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(other), CUDA_SUCCESS);
}

TEST_F(ContextsTest, HaveTheVersionThatAllHave) {
  const CUcontext context = Create();
  unsigned int version = 0;
  EXPECT_EQ(cuCtxGetApiVersion(context, &version), CUDA_SUCCESS);
  EXPECT_EQ(version, 3020u);
  EXPECT_EQ(cuCtxGetApiVersion(nullptr, &version), CUDA_SUCCESS) << "the current one";
  EXPECT_EQ(version, 3020u);
  EXPECT_EQ(cuCtxDestroy(context), CUDA_SUCCESS);
}

TEST_F(ContextsTest, HaveIdentitiesOfTheirOwn) {
  const CUcontext first = Create();
  const CUcontext second = Create();
  unsigned long long of_first = 0;
  unsigned long long of_second = 0;
  unsigned long long of_current = 0;
  EXPECT_EQ(cuCtxGetId(first, &of_first), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetId(second, &of_second), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetId(nullptr, &of_current), CUDA_SUCCESS);
  EXPECT_LT(of_first, of_second);
  EXPECT_EQ(of_current, of_second);
  EXPECT_EQ(cuCtxDestroy(second), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(first), CUDA_SUCCESS);
}

TEST_F(ContextsTest, FormOfToday) {
  const Function<CUresult(CUcontext*, void*, unsigned int, CUdevice)> create("cuCtxCreate_v4");
  CUcontext context = nullptr;
  unsigned int flags = 7;
  EXPECT_EQ(create(&context, nullptr, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetFlags(&flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, 0u);
  EXPECT_EQ(create(nullptr, nullptr, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(nullptr, nullptr, 3, 99), CUDA_ERROR_INVALID_DEVICE) << "looked at first";
  EXPECT_EQ(cuCtxDestroy(context), CUDA_SUCCESS);
}

// Multiprocessors are chosen for clients of MPS alone. Source: an H200 with driver 580.159.
TEST_F(ContextsTest, HaveNoAffinity) {
  const Function<CUresult(CUcontext*, const Affinity*, int, unsigned int, CUdevice)> create(
      "cuCtxCreate_v3");
  const Affinity some[] = {{0, 8}, {99, 0}};
  CUcontext context = nullptr;
  EXPECT_EQ(create(&context, some, 1, 0, 0), kUnsupportedAffinity);
  EXPECT_EQ(create(&context, some + 1, 1, 0, 0), kUnsupportedAffinity);
  EXPECT_EQ(create(&context, some, 1, 0xffff, 0), kUnsupportedAffinity) << "before the flags";
  EXPECT_EQ(create(&context, some, 1, 0, 99), CUDA_ERROR_INVALID_DEVICE) << "after the device";
  EXPECT_EQ(create(&context, nullptr, 3, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(context, nullptr);
  for (const int count : {0, -1}) {
    EXPECT_EQ(create(&context, some, count, 0, 0), CUDA_SUCCESS) << count;
    EXPECT_EQ(cuCtxDestroy(context), CUDA_SUCCESS);
  }
}

TEST_F(ContextsTest, ShareTheirDeviceWithNoGraphics) {
  const Function<CUresult(CUcontext*, const ContextParams*, unsigned int, CUdevice)> create(
      "cuCtxCreate_v4");
  const Affinity some = {0, 8};
  CUcontext context = nullptr;
  const auto with = [&](const ContextParams& params) { return create(&context, &params, 0, 0); };
  const Graphics none;
  const Graphics d3d12{1, nullptr};
  EXPECT_EQ(with({nullptr, 0, &none}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with({nullptr, 0, &d3d12}), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(with({&some, 1, &d3d12}), CUDA_ERROR_NOT_SUPPORTED) << "before the affinity";
  EXPECT_EQ(with({&some, 1, nullptr}), kUnsupportedAffinity);
  EXPECT_EQ(with({nullptr, 3, nullptr}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(context, nullptr);
  EXPECT_EQ(with({&some, 0, nullptr}), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(context), CUDA_SUCCESS);
}

TEST_F(ContextsTest, FlagsMustBeValid) {
  CUcontext context = nullptr;
  EXPECT_EQ(cuCtxCreate(&context, 0x80000000, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxCreate(&context, 3, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ContextsTest, OfNoDeviceAreRefused) {
  CUcontext context = nullptr;
  EXPECT_EQ(cuCtxCreate(&context, 0, 99), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuCtxCreate(&context, 3, 99), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(ContextsTest, NullIsNotDestroyed) {
  EXPECT_EQ(cuCtxDestroy(nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ContextsTest, ThatMapHostMemoryGoOnToDoSo) {
  CUcontext context = nullptr;
  unsigned int flags = 0;
  EXPECT_EQ(cuCtxCreate(&context, CU_CTX_MAP_HOST, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetFlags(CU_CTX_SCHED_SPIN), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetFlags(&flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, unsigned{CU_CTX_SCHED_SPIN | CU_CTX_MAP_HOST});
  EXPECT_EQ(cuCtxDestroy(context), CUDA_SUCCESS);
}

TEST_F(ContextsTest, WhetherCoresAreDumpedIsAskedWhenTheyAreMade) {
  constexpr unsigned int kDumps = 0x20;           // CU_CTX_COREDUMP_ENABLE
  constexpr unsigned int kDumpsWhenAsked = 0x40;  // CU_CTX_USER_COREDUMP_ENABLE
  for (const unsigned int made_with : {0U, kDumps, kDumpsWhenAsked}) {
    CUcontext context = nullptr;
    EXPECT_EQ(cuCtxCreate(&context, made_with, 0), CUDA_SUCCESS);
    const unsigned int dumps = made_with == 0 ? 0 : kDumps;
    unsigned int flags = 0;
    EXPECT_EQ(cuCtxGetFlags(&flags), CUDA_SUCCESS);
    EXPECT_EQ(flags, dumps);
    for (const unsigned int changed : {0U, kDumps, kDumpsWhenAsked}) {
      EXPECT_EQ(cuCtxSetFlags(changed | CU_CTX_SCHED_SPIN), CUDA_SUCCESS);
      EXPECT_EQ(cuCtxGetFlags(&flags), CUDA_SUCCESS);
      EXPECT_EQ(flags, dumps | unsigned{CU_CTX_SCHED_SPIN});
    }
    EXPECT_EQ(cuCtxDestroy(context), CUDA_SUCCESS);
  }
}

TEST_F(ContextsTest, FlagsCanBeChanged) {
  const CUcontext context = Create();
  unsigned int flags = 0;
  EXPECT_EQ(cuCtxSetFlags(CU_CTX_SCHED_BLOCKING_SYNC), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetFlags(&flags), CUDA_SUCCESS);
  EXPECT_EQ(flags & CU_CTX_SCHED_BLOCKING_SYNC, unsigned{CU_CTX_SCHED_BLOCKING_SYNC});
  EXPECT_EQ(cuCtxSetFlags(3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxDestroy(context), CUDA_SUCCESS);
}

TEST_F(ContextsTest, MappingsOutliveThem) {
  const CUcontext context = Create();
  const Mapping mapping;
  const int written = 7;
  EXPECT_EQ(cuMemcpyHtoD(mapping.address(), &written, sizeof(written)), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(context), CUDA_SUCCESS);
  const CUcontext other = Create();
  int read = 0;
  EXPECT_EQ(cuMemcpyDtoH(&read, mapping.address(), sizeof(read)), CUDA_SUCCESS);
  EXPECT_EQ(read, 7);
  EXPECT_EQ(cuCtxDestroy(other), CUDA_SUCCESS);
}

TEST_F(ContextsTest, NullResultsAreRefused) {
  const CUcontext context = Create();
  EXPECT_EQ(cuCtxCreate(nullptr, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxGetCurrent(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxGetDevice(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxGetFlags(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxDestroy(context), CUDA_SUCCESS);
}

// --- Of the first form ---------------------------------------------------------------------------

using FirstFormTest = NewProcessTest;

// A driver that keeps the form of CUDA 2, which is of 32 bits, makes no other contexts after it.
TEST_F(FirstFormTest, IsThatOfToday) {
  if (TraitsOf().keeps_old_forms) GTEST_SKIP() << "it is not";
  if (RanInNewProcess()) return;
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  const Function<CUresult(CUcontext*, unsigned int, CUdevice)> create("cuCtxCreate");
  CUcontext context = nullptr;
  EXPECT_EQ(create(&context, CU_CTX_MAP_HOST, 0), CUDA_SUCCESS);
  EXPECT_EQ(Current(), context);
}

// --- Without a context ---------------------------------------------------------------------------

using NoContextTest = DriverTest;

TEST_F(NoContextTest, PlainMemoryNeedsOne) {
  CUdeviceptr address = 0;
  void* memory = nullptr;
  size_t free = 0;
  size_t total = 0;
  EXPECT_EQ(cuMemAlloc(&address, 10), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemAllocHost(&memory, 10), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemHostAlloc(&memory, 10, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemGetInfo(&free, &total), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(NoContextTest, FreeingNeedsNone) {
  int on_the_stack = 0;
  EXPECT_EQ(cuMemFree(0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(4096), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFreeHost(&on_the_stack), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(NoContextTest, StreamsAndEventsNeedOne) {
  CUstream stream = nullptr;
  CUevent event = nullptr;
  EXPECT_EQ(cuStreamCreate(&stream, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuEventCreate(&event, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuEventRecord(nullptr, nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(NoContextTest, MappingNeedsNoneAndCopyingDoes) {
  const Mapping mapping;
  int value = 0;
  EXPECT_EQ(cuMemcpyHtoD(mapping.address(), &value, 4), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemcpyHtoD(mapping.address(), &value, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemcpy(mapping.address(), AddressOf(&value), 4), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemsetD8(mapping.address(), 1, 4), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemcpyHtoDAsync(mapping.address(), &value, 4, nullptr), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(NoContextTest, PeersNeedOneToEnableAndNoneToAsk) {
  int can = 0;
  if (DeviceCount() > 1) {
    EXPECT_EQ(cuDeviceCanAccessPeer(&can, 0, 1), CUDA_SUCCESS);
  }
  EXPECT_EQ(cuCtxEnablePeerAccess(nullptr, 0), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(NoContextTest, ModulesNeedOne) {
  const Function<CUresult(void**, const void*)> load("cuModuleLoadData");
  void* module = nullptr;
  EXPECT_EQ(load(&module, "x"), CUDA_ERROR_INVALID_CONTEXT);
}

}  // namespace
}  // namespace twinmmu::abi
