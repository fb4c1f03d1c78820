// What is set of a stream beside its work.

#include <cstring>
#include <vector>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

// CUstreamAttrID
enum Attribute : int {
  kWindow = 1,
  kPolicy = 3,
  kPriority = 8,
  kDomainMap = 9,
  kDomain = 10,
};

union Value {
  unsigned char bytes[64];
  int number;
  unsigned int words[16];
  struct {
    void* base;
    size_t bytes;
    float hit_ratio;
    int hit;
    int miss;
  } window;
};

using Get = Function<CUresult(CUstream, int, Value*)>;
using Set = Function<CUresult(CUstream, int, const Value*)>;
using Copy = Function<CUresult(CUstream, CUstream)>;
using GetDevice = Function<CUresult(CUstream, CUdevice*)>;
using GetPriority = Function<CUresult(CUstream, int*)>;

class StreamAttributesTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    ASSERT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cuStreamDestroy(stream_), CUDA_SUCCESS);
    ContextTest::TearDown();
  }
  static Value Filled() {
    Value value;
    std::memset(&value, 0xee, sizeof(value));
    return value;
  }
  int NumberOf(CUstream stream, int attribute) {
    Value value = Filled();
    EXPECT_EQ(Get("cuStreamGetAttribute")(stream, attribute, &value), CUDA_SUCCESS);
    return value.number;
  }
  CUresult SetNumber(int attribute, int number) {
    Value value = {};
    value.number = number;
    return Set("cuStreamSetAttribute")(stream_, attribute, &value);
  }

  CUstream stream_ = nullptr;
};

TEST_F(StreamAttributesTest, AStreamIsOfTheDeviceOfItsContext) {
  for (const CUstream stream : {stream_, CUstream{nullptr}}) {
    CUdevice device = -1;
    EXPECT_EQ(GetDevice("cuStreamGetDevice")(stream, &device), CUDA_SUCCESS);
    EXPECT_EQ(device, 0);
  }
  EXPECT_EQ(GetDevice("cuStreamGetDevice")(stream_, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(StreamAttributesTest, OnlyADefaultStreamNeedsACurrentContext) {
  EmptyStack();
  CUdevice device = -1;
  EXPECT_EQ(GetDevice("cuStreamGetDevice")(stream_, &device), CUDA_SUCCESS);
  EXPECT_EQ(GetDevice("cuStreamGetDevice")(nullptr, &device), CUDA_ERROR_INVALID_CONTEXT);
  Value value = Filled();
  EXPECT_EQ(Get("cuStreamGetAttribute")(stream_, kPriority, &value), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxPushCurrent(context_), CUDA_SUCCESS);
}

TEST_F(StreamAttributesTest, NothingIsSetOfANewStream) {
  EXPECT_EQ(NumberOf(stream_, kPolicy), -1);
  EXPECT_EQ(NumberOf(stream_, kPriority), 0);
  EXPECT_EQ(NumberOf(stream_, kDomain), 0);
  Value value = Filled();
  ASSERT_EQ(Get("cuStreamGetAttribute")(stream_, kDomainMap, &value), CUDA_SUCCESS);
  EXPECT_EQ(value.words[0], 0xeeee0100u);
  value = Filled();
  ASSERT_EQ(Get("cuStreamGetAttribute")(stream_, kWindow, &value), CUDA_SUCCESS);
  EXPECT_EQ(value.window.base, nullptr);
  EXPECT_EQ(value.window.bytes, 0u);
}

TEST_F(StreamAttributesTest, LaunchesHaveAttributesThatStreamsHaveNot) {
  for (const int attribute : {-1, 0, 2, 4, 5, 6, 7, 11, 12, 13}) {
    Value value = {};
    EXPECT_EQ(Get("cuStreamGetAttribute")(stream_, attribute, &value), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(Set("cuStreamSetAttribute")(stream_, attribute, &value), CUDA_ERROR_INVALID_VALUE);
  }
}

TEST_F(StreamAttributesTest, APolicyIsOneOfFour) {
  for (const int policy : {1, 2, 3, 4}) {
    EXPECT_EQ(SetNumber(kPolicy, policy), CUDA_SUCCESS);
    EXPECT_EQ(NumberOf(stream_, kPolicy), policy);
  }
  for (const int policy : {0, 5}) {
    EXPECT_EQ(SetNumber(kPolicy, policy), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(NumberOf(stream_, kPolicy), 4);
  }
}

TEST_F(StreamAttributesTest, TheDefaultStreamHasThePriorityThatWasSet) {
  Value value = {};
  value.number = -8;
  int priority = 77;
  EXPECT_EQ(Set("cuStreamSetAttribute")(nullptr, kPriority, &value), CUDA_SUCCESS);
  EXPECT_EQ(NumberOf(nullptr, kPriority), -5);
  EXPECT_EQ(GetPriority("cuStreamGetPriority")(CU_STREAM_LEGACY, &priority), CUDA_SUCCESS);
  EXPECT_EQ(priority, -5);
  EXPECT_EQ(GetPriority("cuStreamGetPriority")(CU_STREAM_PER_THREAD, &priority), CUDA_SUCCESS);
  EXPECT_EQ(priority, 0);
  value.number = 0;
  EXPECT_EQ(Set("cuStreamSetAttribute")(nullptr, kPriority, &value), CUDA_SUCCESS);
}

TEST_F(StreamAttributesTest, APriorityIsTakenToTheNearestThatThereIs) {
  const int wanted[] = {-8, -5, -3, 0, 3};
  const int given[] = {-5, -5, -3, 0, 0};
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(SetNumber(kPriority, wanted[i]), CUDA_SUCCESS);
    EXPECT_EQ(NumberOf(stream_, kPriority), given[i]);
    int priority = 77;
    EXPECT_EQ(GetPriority("cuStreamGetPriority")(stream_, &priority), CUDA_SUCCESS);
    EXPECT_EQ(priority, given[i]);
  }
}

TEST_F(StreamAttributesTest, ThereAreTwoDomainsForFences) {
  EXPECT_EQ(SetNumber(kDomain, 1), CUDA_SUCCESS);
  EXPECT_EQ(SetNumber(kDomain, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(NumberOf(stream_, kDomain), 1);
  EXPECT_EQ(SetNumber(kDomainMap, 0x0203), CUDA_SUCCESS);
  EXPECT_EQ(SetNumber(kDomainMap, 0x0401), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(SetNumber(kDomainMap, 0x0104), CUDA_ERROR_INVALID_VALUE);
  Value value = Filled();
  ASSERT_EQ(Get("cuStreamGetAttribute")(stream_, kDomainMap, &value), CUDA_SUCCESS);
  EXPECT_EQ(value.words[0] & 0xffff, 0x0203u);
}

TEST_F(StreamAttributesTest, AWindowHasARatioASizeAndMissesThatDoNotPersist) {
  constexpr int kStreaming = 1;
  constexpr int kPersisting = 2;
  const Buffer memory(4096);
  const auto set = [&](size_t bytes, float ratio, int miss) {
    Value value = {};
    value.window = {reinterpret_cast<void*>(memory.address()), bytes, ratio, kPersisting, miss};
    return Set("cuStreamSetAttribute")(stream_, kWindow, &value);
  };
  EXPECT_EQ(set(4096, 0.5f, kStreaming), CUDA_SUCCESS);
  EXPECT_EQ(set(4096, 1.5f, kStreaming), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(4096, -1.0f, kStreaming), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(4096, 1.0f, kPersisting), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(~size_t{0}, 1.0f, kStreaming), CUDA_ERROR_INVALID_VALUE);
  Value value = Filled();
  ASSERT_EQ(Get("cuStreamGetAttribute")(stream_, kWindow, &value), CUDA_SUCCESS);
  EXPECT_EQ(value.window.base, reinterpret_cast<void*>(memory.address()));
  EXPECT_EQ(value.window.bytes, 4096u);
  EXPECT_EQ(value.window.hit_ratio, 0.5f);
}

TEST_F(StreamAttributesTest, AttributesAreCopiedToAnotherStream) {
  CUstream other = nullptr;
  ASSERT_EQ(cuStreamCreate(&other, CU_STREAM_DEFAULT), CUDA_SUCCESS);
  EXPECT_EQ(SetNumber(kPolicy, 2), CUDA_SUCCESS);
  EXPECT_EQ(SetNumber(kPriority, -3), CUDA_SUCCESS);
  EXPECT_EQ(SetNumber(kDomain, 1), CUDA_SUCCESS);
  EXPECT_EQ(Copy("cuStreamCopyAttributes")(other, stream_), CUDA_SUCCESS);
  EXPECT_EQ(NumberOf(other, kPolicy), 2);
  EXPECT_EQ(NumberOf(other, kPriority), -3);
  EXPECT_EQ(NumberOf(other, kDomain), 1);
  EXPECT_EQ(Copy("cuStreamCopyAttributes")(other, other), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(other), CUDA_SUCCESS);
}

TEST_F(StreamAttributesTest, AttributesAreNotCopiedToAnotherContext) {
  CUcontext other = nullptr;
  CUstream stream = nullptr;
  ASSERT_EQ(cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_DEFAULT), CUDA_SUCCESS);
  EXPECT_EQ(Copy("cuStreamCopyAttributes")(stream, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Copy("cuStreamCopyAttributes")(stream_, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxDestroy(other), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi
