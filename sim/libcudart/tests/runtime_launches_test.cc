// Kernels that compilers register are found, loaded when they are first used, and launched.

#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcudart/testing/vector_kernels.h"

namespace {

class RuntimeLaunches : public testing::Test {
 protected:
  RuntimeLaunches() {
    for (int i = 0; i < kCount; ++i) host_[i] = i;
    for (void** const address : {&a_, &b_, &c_}) {
      EXPECT_EQ(cudaMalloc(address, sizeof(host_)), cudaSuccess);
      EXPECT_EQ(cudaMemcpy(*address, host_, sizeof(host_), cudaMemcpyHostToDevice), cudaSuccess);
    }
  }
  ~RuntimeLaunches() override {
    for (void* const address : {a_, b_, c_}) EXPECT_EQ(cudaFree(address), cudaSuccess);
    cudaGetLastError();
  }

  cudaError_t Launch(unsigned int block = 64) {
    int count = kCount;
    void* arguments[] = {&a_, &b_, &c_, &count};
    return cudaLaunchKernel(&Add, {2, 1, 1}, {block, 1, 1}, arguments, 0, nullptr);
  }
  int Result(int i) {
    EXPECT_EQ(cudaMemcpy(host_, c_, sizeof(host_), cudaMemcpyDeviceToHost), cudaSuccess);
    return host_[i];
  }

  static constexpr int kCount = 100;
  int host_[kCount];
  void* a_ = nullptr;
  void* b_ = nullptr;
  void* c_ = nullptr;
};

TEST_F(RuntimeLaunches, RunARegisteredKernel) {
  void** const module = RegisterVectorKernels();
  EXPECT_EQ(Launch(), cudaSuccess);
  EXPECT_EQ(Result(99), 2 * 198);
  __cudaUnregisterFatBinary(module);
}

TEST_F(RuntimeLaunches, GoInTwoHalves) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  EXPECT_EQ(__cudaPushCallConfiguration({1, 2, 3}, {4, 5, 6}, 7, stream), 0u);
  EXPECT_EQ(__cudaPushCallConfiguration({9, 1, 1}, {9, 1, 1}, 0, nullptr), 0u);
  twinmmu_dim3 grid = {};
  twinmmu_dim3 block = {};
  size_t shared = 1;
  cudaStream_t popped = stream;
  EXPECT_EQ(__cudaPopCallConfiguration(&grid, &block, &shared, &popped), cudaSuccess);
  EXPECT_EQ(grid.x, 9u);
  EXPECT_EQ(popped, nullptr);
  EXPECT_EQ(__cudaPopCallConfiguration(&grid, &block, &shared, &popped), cudaSuccess);
  EXPECT_EQ(grid.z, 3u);
  EXPECT_EQ(block.y, 5u);
  EXPECT_EQ(shared, 7u);
  EXPECT_EQ(popped, stream);
  EXPECT_EQ(__cudaPopCallConfiguration(&grid, &block, &shared, &popped),
            cudaErrorMissingConfiguration);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

// Between the halves: what it had pushed ends with it, and is nobody else's.
TEST_F(RuntimeLaunches, MayBeLeftInTheMiddleByAThreadThatEnds) {
  void** const module = RegisterVectorKernels();
  std::thread([] {
    EXPECT_EQ(__cudaPushCallConfiguration({1, 1, 1}, {1, 1, 1}, 0, nullptr), 0u);
  }).join();
  twinmmu_dim3 size = {};
  size_t shared = 0;
  cudaStream_t stream = nullptr;
  EXPECT_EQ(__cudaPopCallConfiguration(&size, &size, &shared, &stream),
            cudaErrorMissingConfiguration);
  EXPECT_EQ(Launch(), cudaSuccess);
  EXPECT_EQ(Result(99), 2 * 198);
  __cudaUnregisterFatBinary(module);
}

// What nvcc of CUDA 13 writes: the kernel is looked up once, and launched by its handle.
TEST_F(RuntimeLaunches, TakeAHandle) {
  void** const module = RegisterVectorKernels();
  cudaKernel_t kernel = nullptr;
  ASSERT_EQ(__cudaGetKernel(&kernel, &Add), cudaSuccess);
  int count = kCount;
  void* arguments[] = {&a_, &b_, &c_, &count};
  EXPECT_EQ(__cudaLaunchKernel(kernel, {2, 1, 1}, {64, 1, 1}, arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(Result(50), 2 * 100);
  EXPECT_EQ(cudaLaunchKernel(kernel, {2, 1, 1}, {64, 1, 1}, arguments, 0, nullptr), cudaSuccess);
  __cudaUnregisterFatBinary(module);
}

TEST_F(RuntimeLaunches, AreConfiguredOrCooperative) {
  void** const module = RegisterVectorKernels();
  int count = kCount;
  void* arguments[] = {&a_, &b_, &c_, &count};
  cudaLaunchConfig_t config = {{2, 1, 1}, {64, 1, 1}, 0, nullptr, nullptr, 0};
  EXPECT_EQ(cudaLaunchKernelExC(&config, &Add, arguments), cudaSuccess);
  EXPECT_EQ(Result(50), 2 * 100);
  EXPECT_EQ(cudaMemset(c_, 0, sizeof(host_)), cudaSuccess);
  EXPECT_EQ(cudaLaunchCooperativeKernel(&Add, {2, 1, 1}, {64, 1, 1}, arguments, 0, nullptr),
            cudaSuccess);
  EXPECT_EQ(Result(50), 2 * 100);
  __cudaUnregisterFatBinary(module);
}

// What an attribute names is the driver's to take or to refuse.
TEST_F(RuntimeLaunches, RecordEventsThatAttributesName) {
  void** const module = RegisterVectorKernels();
  cudaEvent_t untimed = nullptr;
  cudaEvent_t timed = nullptr;
  EXPECT_EQ(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming), cudaSuccess);
  EXPECT_EQ(cudaEventCreate(&timed), cudaSuccess);
  int count = kCount;
  void* arguments[] = {&a_, &b_, &c_, &count};
  for (const int id : {7, 12}) {  // cudaLaunchAttributeProgrammaticEvent, ...CompletionEvent
    struct {
      int id;
      int pad;
      cudaEvent_t event;
      int rest[14];
    } recorded = {id, 0, untimed, {}};
    cudaLaunchConfig_t config = {{2, 1, 1}, {64, 1, 1}, 0, nullptr, nullptr, 1};
    config.attrs = reinterpret_cast<cudaLaunchAttribute_st*>(&recorded);
    EXPECT_EQ(cudaLaunchKernelExC(&config, &Add, arguments), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(untimed), cudaSuccess);
    recorded.event = timed;
    EXPECT_EQ(cudaLaunchKernelExC(&config, &Add, arguments), cudaErrorNotSupported);
  }
  EXPECT_EQ(Result(50), 2 * 100);
  EXPECT_EQ(cudaEventDestroy(untimed), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(timed), cudaSuccess);
  __cudaUnregisterFatBinary(module);
}

constexpr int kDynamicShared = 8;
constexpr int kClusterDepth = 13;
constexpr int kCarveout = 9;
constexpr int kLargeClusters = 14;
constexpr auto kInvalidClusterSize = static_cast<cudaError_t>(912);

// A part of a cluster that is required fits no launch which does not say the rest.
TEST_F(RuntimeLaunches, MayBeSetToRequireAPartOfACluster) {
  void** const module = RegisterVectorKernels();
  EXPECT_EQ(cudaFuncSetAttribute(&Add, kClusterDepth, -1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(&Add, kClusterDepth, 1), cudaSuccess);
  cudaFuncAttributes attributes = {};
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, &Add), cudaSuccess);
  EXPECT_EQ(attributes.requiredClusterDepth, 1);
  EXPECT_EQ(attributes.requiredClusterWidth, 0);
  EXPECT_EQ(Launch(), kInvalidClusterSize);
  int count = kCount;
  void* arguments[] = {&a_, &b_, &c_, &count};
  struct {
    int id;
    int pad;
    unsigned int dimensions[16];
  } cluster = {4, 0, {2, 1, 1}};
  cudaLaunchConfig_t config = {{2, 1, 1}, {64, 1, 1}, 0, nullptr, nullptr, 1};
  config.attrs = reinterpret_cast<cudaLaunchAttribute_st*>(&cluster);
  EXPECT_EQ(cudaLaunchKernelExC(&config, &Add, arguments), cudaSuccess);
  EXPECT_EQ(cudaFuncSetAttribute(&Add, kClusterDepth, 2), cudaSuccess);
  EXPECT_EQ(cudaLaunchKernelExC(&config, &Add, arguments), kInvalidClusterSize);
  EXPECT_EQ(cudaFuncSetAttribute(&Add, kClusterDepth, 0), cudaSuccess);
  EXPECT_EQ(Launch(), cudaSuccess);
  __cudaUnregisterFatBinary(module);
}

// They are those of the kernel, as they were set.
TEST_F(RuntimeLaunches, HaveTheAttributesThatWereSetLast) {
  void** const module = RegisterVectorKernels();
  cudaKernel_t kernel = nullptr;
  ASSERT_EQ(cudaGetKernel(&kernel, &Add), cudaSuccess);
  EXPECT_EQ(cudaFuncSetAttribute(&Add, kLargeClusters, 3), cudaSuccess);
  EXPECT_EQ(cudaFuncSetAttribute(&Add, kCarveout, 50), cudaSuccess);
  EXPECT_EQ(cudaFuncSetAttribute(&Add, kDynamicShared, 1000), cudaSuccess);
  EXPECT_EQ(cudaKernelSetAttributeForDevice(kernel, kDynamicShared, 2000, 0), cudaSuccess);
  cudaFuncAttributes attributes = {};
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, &Add), cudaSuccess);
  EXPECT_EQ(attributes.nonPortableClusterSizeAllowed, 3);
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 2000);
  EXPECT_EQ(attributes.preferredShmemCarveout, 50);
  __cudaUnregisterFatBinary(module);
}

TEST_F(RuntimeLaunches, ForgetTheLastErrorWhereTheyAreSetOrTellTheirParameters) {
  void** const module = RegisterVectorKernels();
  cudaGetLastError();
  EXPECT_EQ(cudaFuncGetAttributes(nullptr, &Add), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetCacheConfig(&Add, 0), cudaSuccess);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(&Add, kDynamicShared, 1000), cudaSuccess);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  EXPECT_EQ(cudaFuncGetAttributes(nullptr, &Add), cudaErrorInvalidValue);
  size_t offset = 0;
  EXPECT_EQ(cudaFuncGetParamInfo(&Add, 1, &offset, nullptr), cudaSuccess);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  __cudaUnregisterFatBinary(module);
}

TEST_F(RuntimeLaunches, RefuseOtherArgumentsBeforeAFunctionThatIsNone) {
  const void* const none = &a_;
  int blocks = 0;
  size_t size = 0;
  EXPECT_EQ(cudaFuncGetName(nullptr, none), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(none, 1, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(none, kDynamicShared, -5), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, none, 32, 0, 2),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaOccupancyAvailableDynamicSMemPerBlock(&size, none, 0, 32), cudaErrorInvalidValue);
  EXPECT_EQ(cudaOccupancyAvailableDynamicSMemPerBlock(&size, none, 8, 0),
            cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaFuncGetName(nullptr, nullptr), cudaErrorInvalidValue);
  const char* name = nullptr;
  EXPECT_EQ(cudaFuncGetName(&name, nullptr), cudaErrorInvalidDeviceFunction);
}

TEST_F(RuntimeLaunches, SayHowManyClustersFit) {
  void** const module = RegisterVectorKernels();
  cudaLaunchConfig_t config = {{2, 1, 1}, {64, 1, 1}, 0, nullptr, nullptr, 0};
  int size = -1;
  int count = -1;
  EXPECT_EQ(cudaOccupancyMaxPotentialClusterSize(&size, &Add, &config), cudaSuccess);
  EXPECT_EQ(size, 8);
  EXPECT_EQ(cudaOccupancyMaxActiveClusters(&count, &Add, &config), cudaSuccess);
  EXPECT_EQ(count, 0) << "the launch has no clusters";
  EXPECT_EQ(cudaOccupancyMaxActiveClusters(&count, &Add, nullptr), cudaErrorInvalidValue);
  __cudaUnregisterFatBinary(module);
}

// Two streams of their own: each thread's default stream, and the same by its handle.
TEST_F(RuntimeLaunches, GoToTheDefaultStreamOfTheThread) {
  void** const module = RegisterVectorKernels();
  int count = kCount;
  void* arguments[] = {&a_, &b_, &c_, &count};
  EXPECT_EQ(cudaLaunchKernel_ptsz(&Add, {2, 1, 1}, {64, 1, 1}, arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
  EXPECT_EQ(cudaMemcpy_ptds(host_, c_, sizeof(host_), cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(host_[10], 40);
  __cudaUnregisterFatBinary(module);
}

TEST_F(RuntimeLaunches, OfWhatWasNeverRegisteredAreRefused) {
  EXPECT_EQ(Launch(), cudaErrorInvalidResourceHandle) << "taken for a handle";
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  cudaFuncAttributes attributes = {};
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, &Add), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, nullptr), cudaErrorInvalidDeviceFunction);
  cudaKernel_t kernel = nullptr;
  EXPECT_EQ(cudaGetKernel(&kernel, &Add), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(__cudaLaunchKernel(nullptr, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr),
            cudaErrorInvalidDeviceFunction)
      << "the error of the lookup";
  cudaGetLastError();
  EXPECT_EQ(__cudaLaunchKernel(nullptr, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr),
            cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeLaunches, EndWithTheRegistration) {
  void** const module = RegisterVectorKernels();
  EXPECT_EQ(Launch(), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  __cudaUnregisterFatBinary(module);
  EXPECT_EQ(Launch(), cudaErrorInvalidResourceHandle);
  void** const again = RegisterVectorKernels();
  EXPECT_EQ(Launch(), cudaSuccess);
  __cudaUnregisterFatBinary(again);
}

TEST_F(RuntimeLaunches, OfAWrongSizeAreAnInvalidValue) {
  void** const module = RegisterVectorKernels();
  EXPECT_EQ(Launch(1025), cudaErrorInvalidValue);
  EXPECT_EQ(Launch(0), cudaErrorInvalidValue);
  EXPECT_EQ(Launch(1024), cudaSuccess);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidValue);
  __cudaUnregisterFatBinary(module);
}

TWINMMU_FAT_BINARY_OF(TWINMMU_FAT_MACHINE_CODE, kMachineCode, 90,
                      "\x7f"
                      "ELF");

// Nothing is loaded before it is used; then the error says why.
TEST_F(RuntimeLaunches, OfMachineCodeAloneHaveNoImage) {
  void** const module = __cudaRegisterFatBinary(&kMachineCode);
  __cudaRegisterFunction(module, &Add, &Add, "Add", -1, nullptr, nullptr, nullptr, nullptr,
                         nullptr);
  __cudaRegisterFatBinaryEnd(module);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(Launch(), cudaErrorNoKernelImageForDevice);
  __cudaUnregisterFatBinary(module);
}

TEST_F(RuntimeLaunches, WorkOnEveryDeviceAndAfterAReset) {
  void** const module = RegisterVectorKernels();
  EXPECT_EQ(Launch(), cudaSuccess);
  int devices = 0;
  ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
  const int last = devices - 1;
  ASSERT_EQ(cudaSetDevice(last), cudaSuccess);
  for (int round = 0; round < 2; ++round) {
    int* memory = nullptr;
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&memory), 12), cudaSuccess);
    const int values[] = {4, 5, 0};
    EXPECT_EQ(cudaMemcpy(memory, values, 12, cudaMemcpyHostToDevice), cudaSuccess);
    const void* second = memory + 1;
    const void* third = memory + 2;
    int count = 1;
    void* arguments[] = {&memory, &second, &third, &count};
    EXPECT_EQ(cudaLaunchKernel(&Add, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr), cudaSuccess);
    int result = 0;
    EXPECT_EQ(cudaMemcpy(&result, third, 4, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(result, 18) << "round " << round;
    if (last > 0) {
      EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
    }
  }
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  __cudaUnregisterFatBinary(module);
}

TEST_F(RuntimeLaunches, TellOfAKernel) {
  void** const module = RegisterVectorKernels();
  cudaFuncAttributes attributes = {};
  attributes.reserved[15] = 77;
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, &Add), cudaSuccess);
  EXPECT_EQ(attributes.maxThreadsPerBlock, 1024);
  EXPECT_GT(attributes.ptxVersion, 0);
  EXPECT_EQ(attributes.reserved[15], 77);
  int blocks = 0;
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &Add, 1024, 0), cudaSuccess);
  EXPECT_GE(blocks, 1);
  const char* name = nullptr;
  EXPECT_EQ(cudaFuncGetName(&name, &Add), cudaSuccess);
  EXPECT_STREQ(name, "Add");
  __cudaUnregisterFatBinary(module);
}

TEST_F(RuntimeLaunches, FromManyThreadsAtOnce) {
  void** const module = RegisterVectorKernels();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(Launch(), cudaSuccess); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Result(1), 4);
  __cudaUnregisterFatBinary(module);
}

}  // namespace
