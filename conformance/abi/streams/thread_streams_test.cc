// The default streams of threads: CU_STREAM_PER_THREAD, and the forms of functions that use it.

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "conformance/abi/streams/memory_words.h"

namespace twinmmu::abi {
namespace {

constexpr int kPriority = 8;  // CUstreamAttrID
const CUstream kOwn = CU_STREAM_PER_THREAD;

unsigned long long IdOfOwn() {
  unsigned long long id = 0;
  EXPECT_EQ(cuStreamGetId(kOwn, &id), CUDA_SUCCESS);
  return id;
}

class ThreadStreamsTest : public MemoryWordsTest {
 protected:
  // In another thread, until it has ended.
  void InAnotherThread(const std::function<void()>& body) const {
    std::thread([&] {
      EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
      body();
    }).join();
  }
  // What a stream is given from now on waits until Release.
  void Hold(CUstream stream) const {
    EXPECT_EQ(cuStreamWaitValue32(stream, OnHost(0), 1, kEqual), CUDA_SUCCESS);
  }
  void Release() { host_[0] = 1; }
  void EndOfHold() {
    Release();
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    host_[0] = 0;
  }
};

// A thread with a stream that is held, until the end.
class HoldingThread {
 public:
  HoldingThread(CUcontext context, const std::function<void()>& hold)
      : thread_([this, context, hold] {
          EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
          hold();
          holds_ = true;
          while (!ends_) std::this_thread::yield();
        }) {
    while (!holds_) std::this_thread::yield();
  }
  ~HoldingThread() {
    ends_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> holds_{false};
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

// --- Each its own --------------------------------------------------------------------------------

TEST_F(ThreadStreamsTest, EachThreadHasItsOwn) {
  const unsigned long long own = IdOfOwn();
  unsigned long long first = 0;
  unsigned long long second = 0;
  InAnotherThread([&] { first = IdOfOwn(); });
  InAnotherThread([&] { second = IdOfOwn(); });
  EXPECT_NE(own, first);
  EXPECT_NE(own, second);
  EXPECT_NE(first, second);
  EXPECT_EQ(IdOfOwn(), own);
}

TEST_F(ThreadStreamsTest, AttributesAreOfOneThread) {
  int priority = 9;
  InAnotherThread([&] {
    const std::array<int, 16> value = {-3};
    const Function<CUresult(CUstream, int, const int*)> set("cuStreamSetAttribute");
    EXPECT_EQ(set(kOwn, kPriority, value.data()), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamGetPriority(kOwn, &priority), CUDA_SUCCESS);
  });
  EXPECT_EQ(priority, -3);
  EXPECT_EQ(cuStreamGetPriority(kOwn, &priority), CUDA_SUCCESS);
  EXPECT_EQ(priority, 0);
}

TEST_F(ThreadStreamsTest, EachContextHasItsOwn) {
  CUcontext other = nullptr;
  Hold(kOwn);
  EXPECT_EQ(SettledSoon(kOwn), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(kOwn), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EndOfHold();
  EXPECT_EQ(cuCtxDestroy(other), CUDA_SUCCESS);
}

using ThreadStreamsAnewTest = DriverTest;

TEST_F(ThreadStreamsAnewTest, APrimaryContextThatWasResetHasOthers) {
  CUcontext context = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  const unsigned long long before = IdOfOwn();
  EXPECT_EQ(cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  EXPECT_NE(IdOfOwn(), before);
  {
    const Buffer buffer(4);
    EXPECT_EQ(cuMemsetD8Async(buffer.address(), 7, 4, kOwn), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(kOwn), CUDA_SUCCESS);
  }
  EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

TEST_F(ThreadStreamsTest, CannotBeDestroyed) {
  const unsigned long long own = IdOfOwn();
  EXPECT_EQ(cuStreamDestroy(kOwn), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(IdOfOwn(), own);
}

// --- What waits for what -------------------------------------------------------------------------

TEST_F(ThreadStreamsTest, ThreadsDoNotWaitForEachOther) {
  {
    const HoldingThread another(context_, [&] { Hold(kOwn); });
    EXPECT_EQ(cuMemsetD8Async(words_, 7, 4, kOwn), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(kOwn), CUDA_SUCCESS);
    EXPECT_EQ(Read(words_), 0x07070707u);
  }
  EndOfHold();
}

TEST_F(ThreadStreamsTest, OneThreadEndsWhatAnotherWaitsFor) {
  const HoldingThread another(context_, [&] { Hold(kOwn); });
  EXPECT_EQ(cuStreamWriteValue32(kOwn, OnHost(0), 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(ThreadStreamsTest, TheStreamOfTheContextWaitsForAll) {
  {
    const HoldingThread another(context_, [&] { Hold(kOwn); });
    EXPECT_EQ(SettledSoon(CU_STREAM_LEGACY), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(cuMemsetD8Async(words_, 7, 4, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(Read(words_), 0u);
  }
  EndOfHold();
  EXPECT_EQ(Read(words_), 0x07070707u);
}

TEST_F(ThreadStreamsTest, EachWaitsForTheStreamOfTheContext) {
  Hold(CU_STREAM_LEGACY);
  EXPECT_EQ(cuStreamQuery(kOwn), CUDA_SUCCESS);  // it was given nothing since
  EXPECT_EQ(cuStreamSynchronize(kOwn), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8Async(words_, 7, 4, kOwn), CUDA_SUCCESS);
  EXPECT_EQ(SettledSoon(kOwn), CUDA_ERROR_NOT_READY);
  EndOfHold();
  EXPECT_EQ(Read(words_), 0x07070707u);
}

TEST_F(ThreadStreamsTest, WorkOutlivesItsThread) {
  InAnotherThread([&] {
    Hold(kOwn);
    EXPECT_EQ(cuMemsetD8Async(words_, 7, 4, kOwn), CUDA_SUCCESS);
  });
  EXPECT_EQ(SettledSoon(CU_STREAM_LEGACY), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(Read(words_), 0u);
  InAnotherThread([&] {
    EXPECT_EQ(cuStreamWriteValue32(kOwn, OnHost(0), 1, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(kOwn), CUDA_SUCCESS);
  });
  EXPECT_EQ(cuStreamSynchronize(CU_STREAM_LEGACY), CUDA_SUCCESS);
  EXPECT_EQ(Read(words_), 0x07070707u);
}

TEST_F(ThreadStreamsTest, EventsOfTheContextComeAfterAll) {
  const Function<CUresult(CUcontext, CUevent)> record("cuCtxRecordEvent");
  CUevent event = nullptr;
  EXPECT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
  {
    const HoldingThread another(context_, [&] { Hold(kOwn); });
    EXPECT_EQ(record(context_, event), CUDA_SUCCESS);
    EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  }
  EndOfHold();
  EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
}

// --- Functions without a stream ------------------------------------------------------------------

class ThreadFormsTest : public ThreadStreamsTest {
 protected:
  struct Form {
    const char* name;
    std::function<CUresult()> call;
  };

  void SetUp() override {
    ThreadStreamsTest::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    CUDA_ARRAY_DESCRIPTOR form = {};
    form.Width = 64;
    form.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    form.NumChannels = 1;
    ASSERT_EQ(cuArrayCreate(&array_, &form), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc(&from_, kBytes), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  }
  void TearDown() override {
    if (array_ != nullptr) {
      EXPECT_EQ(cuArrayDestroy(array_), CUDA_SUCCESS);
      EXPECT_EQ(cuMemFree(from_), CUDA_SUCCESS);
    }
    ThreadStreamsTest::TearDown();
  }

  // Calls a function by its name.
  template <typename... Arguments>
  static Form Make(const char* name, Arguments... arguments) {
    return {name, [=] { return Function<CUresult(Arguments...)>(name)(arguments...); }};
  }

  // From memory of the device to memory of the device: they return before they are done.
  std::vector<Form> OfDevice() {
    using Byte = unsigned char;
    using Short = unsigned short;
    const auto rows = const_cast<const CUDA_MEMCPY2D*>(&rows_);
    const auto box = const_cast<const CUDA_MEMCPY3D*>(&box_);
    const auto between = const_cast<const CUDA_MEMCPY3D_PEER*>(&between_);
    rows_.srcMemoryType = rows_.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    rows_.srcDevice = from_;
    rows_.dstDevice = words_;
    rows_.srcPitch = rows_.dstPitch = 64;
    rows_.WidthInBytes = 8;
    rows_.Height = 2;
    box_.srcMemoryType = box_.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    box_.srcDevice = from_;
    box_.dstDevice = words_;
    box_.srcPitch = box_.dstPitch = 64;
    box_.WidthInBytes = 8;
    box_.Height = box_.Depth = 1;
    between_.srcMemoryType = between_.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    between_.srcContext = between_.dstContext = context_;
    between_.srcDevice = from_;
    between_.dstDevice = words_;
    between_.srcPitch = between_.dstPitch = 64;
    between_.WidthInBytes = 8;
    between_.Height = between_.Depth = 1;
    return {
        Make("cuMemcpyDtoD_v2_ptds", words_, from_, size_t{8}),
        Make("cuMemcpy_ptds", words_, from_, size_t{8}),
        Make("cuMemcpyPeer_ptds", words_, context_, from_, context_, size_t{8}),
        Make("cuMemsetD8_v2_ptds", words_, Byte{1}, size_t{8}),
        Make("cuMemsetD16_v2_ptds", words_, Short{1}, size_t{8}),
        Make("cuMemsetD32_v2_ptds", words_, 1u, size_t{8}),
        Make("cuMemsetD2D8_v2_ptds", words_, size_t{64}, Byte{1}, size_t{8}, size_t{2}),
        Make("cuMemsetD2D16_v2_ptds", words_, size_t{64}, Short{1}, size_t{8}, size_t{2}),
        Make("cuMemsetD2D32_v2_ptds", words_, size_t{64}, 1u, size_t{8}, size_t{2}),
        Make("cuMemcpy2D_v2_ptds", rows),
        Make("cuMemcpy2DUnaligned_v2_ptds", rows),
        Make("cuMemcpy3D_v2_ptds", box),
        Make("cuMemcpy3DPeer_ptds", between),
        Make("cuMemcpyAtoD_v2_ptds", words_, array_, size_t{0}, size_t{8}),
        Make("cuMemcpyDtoA_v2_ptds", array_, size_t{0}, from_, size_t{8}),
        Make("cuMemcpyAtoA_v2_ptds", array_, size_t{0}, array_, size_t{32}, size_t{8}),
    };
  }
  // With memory of the host.
  std::vector<Form> OfHost() {
    const auto from = static_cast<const void*>(bytes_);
    const auto to = static_cast<void*>(bytes_);
    return {
        Make("cuMemcpyHtoD_v2_ptds", words_, from, size_t{8}),
        Make("cuMemcpyDtoH_v2_ptds", to, from_, size_t{8}),
        Make("cuMemcpyAtoH_v2_ptds", to, array_, size_t{0}, size_t{8}),
        Make("cuMemcpyHtoA_v2_ptds", array_, size_t{0}, from, size_t{8}),
    };
  }
  std::vector<Form> All() {
    std::vector<Form> all = OfDevice();
    for (Form& form : OfHost()) all.push_back(std::move(form));
    return all;
  }

  char bytes_[64] = {};
  CUarray array_ = nullptr;
  CUdeviceptr from_ = 0;
  CUDA_MEMCPY2D rows_ = {};
  CUDA_MEMCPY3D box_ = {};
  CUDA_MEMCPY3D_PEER between_ = {};
};

TEST_F(ThreadFormsTest, TheirWorkIsOfTheStreamOfTheThread) {
  for (const Form& form : OfDevice()) {
    SCOPED_TRACE(form.name);
    Hold(kOwn);
    EXPECT_EQ(form.call(), CUDA_SUCCESS);
    Release();
    EXPECT_EQ(cuStreamSynchronize(kOwn), CUDA_SUCCESS);
    host_[0] = 0;
    Hold(CU_STREAM_LEGACY);
    EXPECT_EQ(cuStreamQuery(kOwn), CUDA_SUCCESS);
    EXPECT_EQ(form.call(), CUDA_SUCCESS);
    EXPECT_EQ(SettledSoon(kOwn), CUDA_ERROR_NOT_READY);
    EndOfHold();
  }
}

TEST_F(ThreadFormsTest, DoNotWaitForOtherStreams) {
  CUstream blocking = nullptr;
  EXPECT_EQ(cuStreamCreate(&blocking, 0), CUDA_SUCCESS);
  Hold(blocking);
  for (const Form& form : All()) {
    SCOPED_TRACE(form.name);
    EXPECT_EQ(form.call(), CUDA_SUCCESS);
    EXPECT_EQ(Settled(kOwn), CUDA_SUCCESS);
  }
  EndOfHold();
  EXPECT_EQ(cuStreamDestroy(blocking), CUDA_SUCCESS);
}

TEST_F(ThreadFormsTest, WaitForTheirStreamWhereTheHostsMemoryTakesPart) {
  for (const Form& form : OfHost()) {
    SCOPED_TRACE(form.name);
    std::atomic<bool> released{false};
    Hold(kOwn);
    std::thread releases([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      released = true;
      Release();
    });
    EXPECT_EQ(form.call(), CUDA_SUCCESS);
    EXPECT_TRUE(released);
    releases.join();
    EndOfHold();
  }
}

TEST_F(ThreadFormsTest, LeaveCapturesOfOtherStreamsAlone) {
  CUstream blocking = nullptr;
  EXPECT_EQ(cuStreamCreate(&blocking, 0), CUDA_SUCCESS);
  for (const Form& form : All()) {
    SCOPED_TRACE(form.name);
    CUgraph graph = nullptr;
    size_t nodes = 9;
    EXPECT_EQ(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQ(form.call(), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamEndCapture(blocking, &graph), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphGetNodes(graph, nullptr, &nodes), CUDA_SUCCESS);
    EXPECT_EQ(nodes, 0u);
    EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  }
  EXPECT_EQ(cuStreamDestroy(blocking), CUDA_SUCCESS);
}

TEST_F(ThreadFormsTest, TheOthersGoOnUsingTheStreamOfTheContext) {
  CUstream blocking = nullptr;
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamCreate(&blocking, 0), CUDA_SUCCESS);
  for (const Form& form : All()) EXPECT_EQ(form.call(), CUDA_SUCCESS) << form.name;
  EXPECT_EQ(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8(words_, 1, 4), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(cuStreamEndCapture(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(cuStreamDestroy(blocking), CUDA_SUCCESS);
}

TEST_F(ThreadFormsTest, SpoilTheCaptureOfTheirOwnStream) {
  for (const Form& form : All()) {
    SCOPED_TRACE(form.name);
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamBeginCapture(kOwn, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    EXPECT_EQ(form.call(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(cuStreamEndCapture(kOwn, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(graph, nullptr);
  }
}

TEST_F(ThreadFormsTest, LeaveCapturesInOtherThreadsAlone) {
  CUgraph graph = nullptr;
  InAnotherThread([&] {
    EXPECT_EQ(cuStreamBeginCapture(kOwn, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    std::thread([&] {
      EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
      for (const Form& form : All()) {
        SCOPED_TRACE(form.name);
        EXPECT_EQ(form.call(), CUDA_SUCCESS);
      }
    }).join();
    EXPECT_EQ(cuStreamEndCapture(kOwn, &graph), CUDA_SUCCESS);
  });
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi
