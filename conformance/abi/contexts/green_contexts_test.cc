// Green contexts: a primary context with some of its multiprocessors.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

constexpr int kMultiprocessors = 1;  // CUdevResourceType
constexpr unsigned kDefaultStream = 1;
constexpr auto kInvalidType = static_cast<CUresult>(914);
constexpr auto kInvalidConfiguration = static_cast<CUresult>(915);

struct Resource {
  int type;
  unsigned char of_driver[92];
  unsigned count;
  unsigned smallest;
  unsigned alignment;
  unsigned char rest[36];
};
static_assert(sizeof(Resource) == 144);

using GetOfDevice = Function<CUresult(CUdevice, Resource*, int)>;
using GetOfContext = Function<CUresult(void*, Resource*, int)>;
using Split =
    Function<CUresult(Resource*, unsigned*, const Resource*, Resource*, unsigned, unsigned)>;
using Describe = Function<CUresult(void**, const Resource*, unsigned)>;
using Create = Function<CUresult(void**, void*, CUdevice, unsigned)>;
using OfGreen = Function<CUresult(void*)>;
using FromGreen = Function<CUresult(CUcontext*, void*)>;
using GetId = Function<CUresult(void*, unsigned long long*)>;
using MakeStream = Function<CUresult(CUstream*, void*, unsigned, int)>;
using GetGreen = Function<CUresult(CUstream, void**)>;
using GetContext = Function<CUresult(CUstream, CUcontext*)>;
using GetContexts = Function<CUresult(CUstream, CUcontext*, void**)>;
using WithEvent = Function<CUresult(void*, CUevent)>;

class GreenContextTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    if (DriverVersion() < 12050) GTEST_SKIP() << "the driver is older than these functions";
    ASSERT_EQ(GetOfDevice("cuDeviceGetDevResource")(0, &all_, kMultiprocessors), CUDA_SUCCESS);
    ASSERT_EQ(all_.type, kMultiprocessors);
    if (all_.count < 32) GTEST_SKIP() << "the device is too small";
    unsigned groups = 1;
    ASSERT_EQ(Split("cuDevSmResourceSplitByCount")(&group_, &groups, &all_, &rest_, 0, 16),
              CUDA_SUCCESS);
    ASSERT_EQ(Describe("cuDevResourceGenerateDesc")(&description_, &group_, 1), CUDA_SUCCESS);
    ASSERT_EQ(Create("cuGreenCtxCreate")(&green_, description_, 0, kDefaultStream), CUDA_SUCCESS);
    ASSERT_EQ(FromGreen("cuCtxFromGreenCtx")(&as_context_, green_), CUDA_SUCCESS);
  }
  void TearDown() override {
    if (green_ != nullptr) {
      EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
      EXPECT_EQ(OfGreen("cuGreenCtxDestroy")(green_), CUDA_SUCCESS);
    }
    ContextTest::TearDown();
  }

  Resource all_ = {};
  Resource group_ = {};
  Resource rest_ = {};
  void* description_ = nullptr;
  void* green_ = nullptr;
  CUcontext as_context_ = nullptr;
};

TEST_F(GreenContextTest, NoGreenContextIsNoContext) {
  CUcontext context = nullptr;
  EXPECT_EQ(FromGreen("cuCtxFromGreenCtx")(&context, nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(FromGreen("cuCtxFromGreenCtx")(nullptr, green_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GreenContextTest, ADeviceHasItsMultiprocessors) {
  int count = 0;
  ASSERT_EQ(cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(all_.count, static_cast<unsigned>(count));
  EXPECT_EQ(all_.smallest, 8u);
  EXPECT_EQ(all_.alignment, 8u);
  Resource of_context = {};
  EXPECT_EQ(GetOfContext("cuCtxGetDevResource")(context_, &of_context, kMultiprocessors),
            CUDA_SUCCESS);
  EXPECT_EQ(of_context.count, all_.count);
}

TEST_F(GreenContextTest, ThereAreNoOtherResources) {
  Resource found = {};
  for (const int type : {-1, 0, 2, 3}) {
    EXPECT_EQ(GetOfDevice("cuDeviceGetDevResource")(0, &found, type), kInvalidType);
    EXPECT_EQ(GetOfContext("cuCtxGetDevResource")(context_, &found, type), kInvalidType);
    EXPECT_EQ(GetOfContext("cuGreenCtxGetDevResource")(green_, &found, type), kInvalidType);
  }
  const GetOfDevice get("cuDeviceGetDevResource");
  EXPECT_EQ(get(0, nullptr, kMultiprocessors), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get(-1, &found, kMultiprocessors), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(GetOfContext("cuCtxGetDevResource")(nullptr, &found, kMultiprocessors),
            CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(GreenContextTest, GroupsHaveAMultipleOf8Multiprocessors) {
  EXPECT_EQ(group_.type, kMultiprocessors);
  EXPECT_EQ(group_.count, 16u);
  EXPECT_EQ(rest_.count, all_.count - 16);
  Resource group = {};
  Resource rest = {};
  unsigned groups = 1;
  EXPECT_EQ(Split("cuDevSmResourceSplitByCount")(&group, &groups, &all_, &rest, 0, 17),
            CUDA_SUCCESS);
  EXPECT_EQ(group.count, 24u);
  EXPECT_EQ(rest.count, all_.count - 24);
}

TEST_F(GreenContextTest, GroupsThatNeedNotBeTogetherHaveAMultipleOf2) {
  constexpr unsigned kIgnoreCoscheduling = 1;
  unsigned groups = 0;
  EXPECT_EQ(Split("cuDevSmResourceSplitByCount")(nullptr, &groups, &all_, nullptr,
                                                 kIgnoreCoscheduling, 3),
            CUDA_SUCCESS);
  EXPECT_EQ(groups, all_.count / 4);
}

TEST_F(GreenContextTest, AllMultiprocessorsAreAGroupThatLeavesNothing) {
  Resource group = {};
  Resource rest = {};
  unsigned groups = 100;
  EXPECT_EQ(Split("cuDevSmResourceSplitByCount")(&group, &groups, &all_, &rest, 0, all_.count),
            CUDA_SUCCESS);
  EXPECT_EQ(groups, 1u);
  EXPECT_EQ(group.count, all_.count);
  EXPECT_EQ(rest.type, 0);
}

TEST_F(GreenContextTest, WhatIsNoResourceIsNotSplit) {
  const Split split("cuDevSmResourceSplitByCount");
  Resource group = {};
  unsigned groups = 1;
  EXPECT_EQ(split(&group, &groups, &all_, nullptr, 0, all_.count + 1), kInvalidConfiguration);
  EXPECT_EQ(split(&group, &groups, &group_, nullptr, 0, 8), kInvalidConfiguration);
  Resource bad = all_;
  bad.type = 0;
  EXPECT_EQ(split(&group, &groups, &bad, nullptr, 0, 8), kInvalidType);
  bad = all_;
  bad.count = 64;
  EXPECT_EQ(split(&group, &groups, &bad, nullptr, 0, 8), kInvalidConfiguration);
  EXPECT_EQ(split(&group, &groups, nullptr, nullptr, 0, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(split(&group, nullptr, &all_, nullptr, 0, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(split(&group, &groups, &all_, nullptr, 3, 8), CUDA_ERROR_INVALID_VALUE);
  groups = 0;
  EXPECT_EQ(split(&group, &groups, &all_, nullptr, 0, 8), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GreenContextTest, AGreenContextHasItsGroup) {
  Resource found = {};
  EXPECT_EQ(GetOfContext("cuGreenCtxGetDevResource")(green_, &found, kMultiprocessors),
            CUDA_SUCCESS);
  EXPECT_EQ(found.count, 16u);
  EXPECT_EQ(GetOfContext("cuCtxGetDevResource")(as_context_, &found, kMultiprocessors),
            CUDA_SUCCESS);
  EXPECT_EQ(found.count, 16u);
  EXPECT_EQ(found.smallest, 8u);
}

TEST_F(GreenContextTest, AGreenContextIsMadeOfADescription) {
  const Create create("cuGreenCtxCreate");
  void* made = nullptr;
  EXPECT_EQ(create(nullptr, description_, 0, kDefaultStream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(&made, description_, -1, kDefaultStream), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(create(&made, description_, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(&made, description_, 0, 3), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(create(&made, nullptr, 0, kDefaultStream), CUDA_SUCCESS);
  EXPECT_EQ(OfGreen("cuGreenCtxDestroy")(made), CUDA_SUCCESS);
  EXPECT_EQ(OfGreen("cuGreenCtxDestroy")(nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(Describe("cuDevResourceGenerateDesc")(nullptr, &group_, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GreenContextTest, AGreenContextIsAContextWithItsOwnId) {
  unsigned long long of_green = 0;
  unsigned long long of_context = 0;
  unsigned long long of_primary = 0;
  EXPECT_EQ(GetId("cuGreenCtxGetId")(green_, &of_green), CUDA_SUCCESS);
  EXPECT_EQ(GetId("cuCtxGetId")(as_context_, &of_context), CUDA_SUCCESS);
  EXPECT_EQ(GetId("cuCtxGetId")(context_, &of_primary), CUDA_SUCCESS);
  EXPECT_EQ(of_green, of_context);
  EXPECT_NE(of_green, of_primary);
  EXPECT_EQ(GetId("cuGreenCtxGetId")(nullptr, &of_green), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_EQ(cuCtxSetCurrent(as_context_), CUDA_SUCCESS);
  unsigned long long of_current = 0;
  EXPECT_EQ(GetId("cuGreenCtxGetId")(nullptr, &of_current), CUDA_SUCCESS);
  EXPECT_EQ(of_current, of_green);
}

TEST_F(GreenContextTest, ThePrimaryOneIsNotResetMeanwhile) {
  unsigned flags = 0;
  int active = 0;
  EXPECT_EQ(cuDevicePrimaryCtxReset(0), CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
  EXPECT_EQ(active, 1);
  CUdeviceptr memory = 0;
  EXPECT_EQ(cuMemAlloc(&memory, 16), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(GreenContextTest, ItIsCurrentUnderItsOwnHandle) {
  CUcontext current = nullptr;
  CUdevice device = -1;
  ASSERT_EQ(cuCtxSetCurrent(as_context_), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, as_context_);
  EXPECT_EQ(cuCtxGetDevice(&device), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cuCtxDestroy(as_context_), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(GreenContextTest, WhatIsMadeInItBelongsToThePrimaryContext) {
  ASSERT_EQ(cuCtxSetCurrent(as_context_), CUDA_SUCCESS);
  CUdeviceptr memory = 0;
  CUcontext owner = nullptr;
  ASSERT_EQ(cuMemAlloc(&memory, 4096), CUDA_SUCCESS);
  EXPECT_EQ(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, memory), CUDA_SUCCESS);
  EXPECT_EQ(owner, context_);
  ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8(memory, 1, 4096), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(GreenContextTest, AStreamKnowsInWhichItWasMade) {
  CUstream stream = nullptr;
  CUstream ordinary = nullptr;
  void* found = nullptr;
  CUcontext context = nullptr;
  ASSERT_EQ(MakeStream("cuGreenCtxStreamCreate")(&stream, green_, 1, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamCreate(&ordinary, CU_STREAM_DEFAULT), CUDA_SUCCESS);
  EXPECT_EQ(GetGreen("cuStreamGetGreenCtx")(stream, &found), CUDA_SUCCESS);
  EXPECT_EQ(found, green_);
  EXPECT_EQ(GetContext("cuStreamGetCtx")(stream, &context), CUDA_SUCCESS);
  EXPECT_EQ(context, as_context_);
  EXPECT_EQ(GetContexts("cuStreamGetCtx_v2")(stream, &context, &found), CUDA_SUCCESS);
  EXPECT_EQ(context, context_);
  EXPECT_EQ(found, green_);
  EXPECT_EQ(GetGreen("cuStreamGetGreenCtx")(ordinary, &found), CUDA_SUCCESS);
  EXPECT_EQ(found, nullptr);
  EXPECT_EQ(cuStreamDestroy(ordinary), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

TEST_F(GreenContextTest, TheDefaultStreamIsOfTheOneThatIsCurrent) {
  void* found = this;
  EXPECT_EQ(GetGreen("cuStreamGetGreenCtx")(nullptr, &found), CUDA_SUCCESS);
  EXPECT_EQ(found, nullptr);
  ASSERT_EQ(cuCtxSetCurrent(as_context_), CUDA_SUCCESS);
  EXPECT_EQ(GetGreen("cuStreamGetGreenCtx")(nullptr, &found), CUDA_SUCCESS);
  EXPECT_EQ(found, green_);
  EXPECT_EQ(GetGreen("cuStreamGetGreenCtx")(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GreenContextTest, ItsStreamsAreNonBlocking) {
  const MakeStream make("cuGreenCtxStreamCreate");
  CUstream stream = nullptr;
  EXPECT_EQ(make(&stream, green_, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(make(&stream, green_, 2, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(make(nullptr, green_, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(make(&stream, nullptr, 1, 0), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(GreenContextTest, ItsStreamsWorkOnMemoryOfThePrimaryContext) {
  CUstream stream = nullptr;
  const Buffer memory(4);
  unsigned word = 0;
  ASSERT_EQ(MakeStream("cuGreenCtxStreamCreate")(&stream, green_, 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32Async(memory.address(), 7, 1, stream), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH(&word, memory.address(), 4), CUDA_SUCCESS);
  EXPECT_EQ(word, 7u);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

TEST_F(GreenContextTest, EventsOfThePrimaryContextAreItsOwnToo) {
  const WithEvent record("cuGreenCtxRecordEvent");
  const WithEvent wait("cuGreenCtxWaitEvent");
  CUevent event = nullptr;
  ASSERT_EQ(cuEventCreate(&event, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  EXPECT_EQ(record(green_, event), CUDA_SUCCESS);
  EXPECT_EQ(wait(green_, event), CUDA_SUCCESS);
  for (const WithEvent& call : {record, wait}) {
    EXPECT_EQ(call(nullptr, event), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(call(green_, nullptr), CUDA_ERROR_INVALID_HANDLE);
  }
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
}

// --- The default stream --------------------------------------------------------------------------

class GreenStreamTest : public GreenContextTest {
 protected:
  void SetUp() override {
    GreenContextTest::SetUp();
    if (green_ == nullptr) return;
    ASSERT_EQ(cuStreamCreate(&releasing_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc(&gate_, 4096), CUDA_SUCCESS);
    ASSERT_EQ(cuMemsetD8(gate_, 0, 4096), CUDA_SUCCESS);
  }
  void TearDown() override {
    if (green_ != nullptr) {
      EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
      EXPECT_EQ(cuMemFree(gate_), CUDA_SUCCESS);
      EXPECT_EQ(cuStreamDestroy(releasing_), CUDA_SUCCESS);
    }
    GreenContextTest::TearDown();
  }

  // The stream waits until it is released.
  void Hold(CUstream stream) const {
    EXPECT_EQ(WithWord("cuStreamWaitValue32_v2")(stream, gate_, 1, 1), CUDA_SUCCESS);
  }
  void Release() const {
    EXPECT_EQ(WithWord("cuStreamWriteValue32_v2")(releasing_, gate_, 1, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  }
  // Within a second.
  static bool BecomesIdle(CUstream stream) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (std::chrono::steady_clock::now() < end) {
      if (cuStreamQuery(stream) == CUDA_SUCCESS) return true;
      std::this_thread::yield();
    }
    return false;
  }

  // Another thread waits for the green context. Streams that are held are released after that time.
  bool WaitEndsWithin(
      std::chrono::milliseconds time,
      const std::function<CUresult()>& wait = [] { return cuCtxSynchronize(); }) const {
    std::atomic<bool> returned{false};
    std::thread waiting([&] {
      EXPECT_EQ(cuCtxSetCurrent(as_context_), CUDA_SUCCESS);
      EXPECT_EQ(wait(), CUDA_SUCCESS);
      returned = true;
    });
    const auto end = std::chrono::steady_clock::now() + time;
    while (!returned && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    const bool ended = returned;
    Release();
    waiting.join();
    return ended;
  }

  using WithWord = Function<CUresult(CUstream, CUdeviceptr, uint32_t, unsigned int)>;
  CUstream releasing_ = nullptr;
  CUdeviceptr gate_ = 0;
};

TEST_F(GreenStreamTest, ItsDefaultStreamIsItsOwn) {
  const Function<CUresult(CUstream, unsigned long long*)> id_of("cuStreamGetId");
  const auto legacy = reinterpret_cast<CUstream>(1);
  unsigned long long of_primary = 0;
  unsigned long long own = 0;
  unsigned long long again = 0;
  unsigned int flags = 0;
  CUcontext context = nullptr;
  EXPECT_EQ(id_of(nullptr, &of_primary), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(as_context_), CUDA_SUCCESS);
  EXPECT_EQ(id_of(nullptr, &own), CUDA_SUCCESS);
  EXPECT_EQ(id_of(legacy, &again), CUDA_SUCCESS);
  EXPECT_NE(own, of_primary);
  EXPECT_EQ(own, again);
  EXPECT_EQ(cuStreamGetFlags(nullptr, &flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, CU_STREAM_NON_BLOCKING);
  EXPECT_EQ(GetContext("cuStreamGetCtx")(nullptr, &context), CUDA_SUCCESS);
  EXPECT_EQ(context, as_context_);
  EXPECT_EQ(cuStreamDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(GreenStreamTest, ItsDefaultStreamWaitsForNoOther) {
  const Buffer memory(16);
  Hold(nullptr);
  ASSERT_EQ(cuCtxSetCurrent(as_context_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8Async(memory.address(), 1, 16, nullptr), CUDA_SUCCESS);
  EXPECT_TRUE(BecomesIdle(nullptr));
  Release();
}

TEST_F(GreenStreamTest, NoOtherWaitsForItsDefaultStream) {
  const Buffer memory(16);
  ASSERT_EQ(cuCtxSetCurrent(as_context_), CUDA_SUCCESS);
  Hold(nullptr);
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8Async(memory.address(), 1, 16, nullptr), CUDA_SUCCESS);
  EXPECT_TRUE(BecomesIdle(nullptr));
  Release();
}

TEST_F(GreenStreamTest, AWaitForItIsForNoOtherStreams) {
  Hold(nullptr);
  EXPECT_TRUE(WaitEndsWithin(std::chrono::seconds(1)));
}

TEST_F(GreenStreamTest, AWaitForItIsForItsOwnStreams) {
  ASSERT_EQ(cuCtxSetCurrent(as_context_), CUDA_SUCCESS);
  Hold(nullptr);
  EXPECT_FALSE(WaitEndsWithin(std::chrono::milliseconds(100)));
}

// A wait that names no context is for the current one.
TEST_F(GreenStreamTest, AWaitForNoContextIsForNoOtherStreams) {
  const Function<CUresult(CUcontext)> wait_for("cuCtxSynchronize_v2");
  Hold(nullptr);
  EXPECT_TRUE(WaitEndsWithin(std::chrono::seconds(1), [&] { return wait_for(nullptr); }));
}

TEST_F(GreenStreamTest, ItsDefaultStreamCanBeCaptured) {
  const Buffer memory(16);
  CUgraph graph = nullptr;
  size_t nodes = 0;
  ASSERT_EQ(cuCtxSetCurrent(as_context_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8Async(memory.address(), 1, 16, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8Async(memory.address(), 1, 16, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamEndCapture(nullptr, &graph), CUDA_ERROR_ILLEGAL_STATE);
  ASSERT_EQ(cuCtxSetCurrent(as_context_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamEndCapture(nullptr, &graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphGetNodes(graph, nullptr, &nodes), CUDA_SUCCESS);
  EXPECT_EQ(nodes, 1u);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(GreenStreamTest, NoThreadHasADefaultStreamOfIt) {
  const Function<CUresult(CUdeviceptr, const void*, size_t)> copy("cuMemcpyHtoD_v2_ptds");
  const auto of_thread = reinterpret_cast<CUstream>(2);
  const Buffer memory(16);
  const unsigned word = 1;
  ASSERT_EQ(cuCtxSetCurrent(as_context_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(of_thread), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuMemsetD8Async(memory.address(), 1, 16, of_thread), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(copy(memory.address(), &word, 4), CUDA_ERROR_INVALID_HANDLE);
}

// By the name that is not null.
TEST_F(GreenStreamTest, ManagedMemoryIsAttachedToItsDefaultStream) {
  const Function<CUresult(CUdeviceptr*, size_t, unsigned int)> allocate("cuMemAllocManaged");
  const Function<CUresult(CUstream, CUdeviceptr, size_t, unsigned int)> attach(
      "cuStreamAttachMemAsync");
  constexpr unsigned kSingle = 4;  // CU_MEM_ATTACH_SINGLE
  CUdeviceptr memory = 0;
  ASSERT_EQ(allocate(&memory, 4096, 1), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(as_context_), CUDA_SUCCESS);
  EXPECT_EQ(attach(nullptr, memory, 0, kSingle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(attach(reinterpret_cast<CUstream>(1), memory, 0, kSingle), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(GreenStreamTest, AttributesAreNotCopiedToStreamsOfAnother) {
  const Function<CUresult(CUstream, CUstream)> copy("cuStreamCopyAttributes");
  CUstream stream = nullptr;
  ASSERT_EQ(MakeStream("cuGreenCtxStreamCreate")(&stream, green_, 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(copy(stream, nullptr), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuCtxSetCurrent(as_context_), CUDA_SUCCESS);
  EXPECT_EQ(copy(stream, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(copy(releasing_, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

TEST_F(GreenStreamTest, KernelsAreLaunchedStepwiseOnItsStreamsOnly) {
  const Function<CUresult(CUfunction, int, int, int)> set_block("cuFuncSetBlockShape");
  const Function<CUresult(CUfunction, int, int, CUstream)> launch("cuLaunchGridAsync");
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module,
                             ".version 7.0\n.target sm_70\n.address_size 64\n.entry k() { ret; }"),
            CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&kernel, module, "k"), CUDA_SUCCESS);
  EXPECT_EQ(set_block(kernel, 1, 1, 1), CUDA_SUCCESS);
  EXPECT_EQ(launch(kernel, 1, 1, releasing_), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(as_context_), CUDA_SUCCESS);
  EXPECT_EQ(launch(kernel, 1, 1, releasing_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(kernel, 1, 1, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
}

TEST_F(GreenContextTest, OneThatIsGoneIsAContextThatIsDestroyed) {
  const Buffer memory(16);
  ASSERT_EQ(cuCtxSetCurrent(as_context_), CUDA_SUCCESS);
  EXPECT_EQ(OfGreen("cuGreenCtxDestroy")(green_), CUDA_SUCCESS);
  green_ = nullptr;
  EXPECT_EQ(cuMemsetD8(memory.address(), 1, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8(memory.address(), 1, 16), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi
