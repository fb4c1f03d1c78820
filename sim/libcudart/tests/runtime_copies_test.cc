// Rows of memory, pitched memory, and copies in batches, as a program of the runtime of CUDA 13
// uses them.

#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "third_party/cuda_abi/cuda_abi.h"
#include "third_party/cuda_abi/cudart_abi.h"

struct cudaMemcpyAttributes : twinmmu::cuda_abi::CUmemcpyAttributes {};

// Those that differ from version to version.
extern "C" {
cudaError_t cudaMemcpyBatchAsync(void** to, void** from, size_t* sizes, size_t count,
                                 cudaMemcpyAttributes* attributes, size_t* first,
                                 size_t attribute_count, cudaStream_t stream);
cudaError_t cudaMemcpy3DBatchAsync(size_t count, void* copies, unsigned long long flags,
                                   cudaStream_t stream);
}

namespace {

using twinmmu::cuda_abi::CU_MEMCPY_OPERAND_TYPE_POINTER;
using twinmmu::cuda_abi::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
using twinmmu::cuda_abi::CUDA_MEMCPY3D_BATCH_OP;

constexpr size_t kPitch = 4;
constexpr size_t kRows = 3;
constexpr size_t kSize = kPitch * kRows;
constexpr cudaMemcpyKind kNoKind = 77;

// Three rows of four bytes, which are dots, and a stream that is captured for some tests.
class RuntimeCopies : public testing::Test {
 protected:
  RuntimeCopies() {
    EXPECT_EQ(cudaMalloc(&memory_, kSize), cudaSuccess);
    EXPECT_EQ(cudaMemset(memory_, '.', kSize), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  ~RuntimeCopies() override {
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    EXPECT_EQ(cudaFree(memory_), cudaSuccess);
    cudaGetLastError();
  }

  std::string Read() const {
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    std::string text(kSize, '?');
    EXPECT_EQ(cudaMemcpy(&text[0], memory_, kSize, cudaMemcpyDeviceToHost), cudaSuccess);
    return text;
  }
  // How many nodes a capture of the stream makes of what enqueue() does there.
  template <typename Enqueue>
  size_t Captured(const Enqueue& enqueue) {
    cudaGraph_t graph = nullptr;
    size_t count = 0;
    EXPECT_EQ(cudaStreamBeginCapture(stream_, 0), cudaSuccess);
    EXPECT_EQ(enqueue(), cudaSuccess);
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
    EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &count), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    return count;
  }

  void* memory_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

TEST_F(RuntimeCopies, RowsAreCopiedWithoutWhatIsBetweenThem) {
  const char text[] = "ab--ef--";
  EXPECT_EQ(cudaMemcpy2DAsync(memory_, kPitch, text, 4, 2, 2, cudaMemcpyHostToDevice, stream_),
            cudaSuccess);
  EXPECT_EQ(Read(), "ab..ef......");
  EXPECT_EQ(cudaMemcpy2D(memory_, kPitch, text, 4, 3, 1, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(Read(), "ab-.ef......");
}

TEST_F(RuntimeCopies, RowsLieApart) {
  const char text[] = "abcdefgh";
  EXPECT_EQ(cudaMemcpy2DAsync(memory_, 1, text, 4, 2, 2, cudaMemcpyHostToDevice, stream_),
            cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaMemcpy2DAsync(memory_, kPitch, text, 1, 2, 2, cudaMemcpyHostToDevice, stream_),
            cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaMemcpy2DAsync(memory_, kPitch, text, 4, 2, 2, kNoKind, stream_),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(Read(), "............");
}

TEST_F(RuntimeCopies, RowsMayLieSideBySide) {
  EXPECT_EQ(cudaMemcpy2D(memory_, 2, "abcdef", 2, 2, 3, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(Read(), "abcdef......");
}

TEST_F(RuntimeCopies, RowsAreFilled) {
  EXPECT_EQ(cudaMemset2D(memory_, kPitch, 'x', 2, 3), cudaSuccess);
  EXPECT_EQ(Read(), "xx..xx..xx..");
  EXPECT_EQ(cudaMemset2DAsync(memory_, kPitch, 'y' + 256, 1, 2, stream_), cudaSuccess);
  EXPECT_EQ(Read(), "yx..yx..xx..");
}

TEST_F(RuntimeCopies, RowsThatAreFilledLieApart) {
  EXPECT_EQ(cudaMemset2D(memory_, 1, 'x', 2, 2), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset2D(memory_, 1, 'x', 2, 1), cudaSuccess) << "one row has no neighbour";
  EXPECT_EQ(cudaMemset2D(nullptr, kPitch, 'x', 0, 2), cudaSuccess) << "no row has an address";
  EXPECT_EQ(cudaMemset2D(nullptr, kPitch, 'x', 2, 2), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset2DAsync(nullptr, kPitch, 'x', 2, 2, stream_), cudaErrorInvalidValue);
  EXPECT_EQ(Read(), "xx..........");
}

TEST_F(RuntimeCopies, WhatIsAsynchronousGoesToItsStream) {
  cudaMemcpy3DParms box = {};
  box.srcPtr = {memory_, kPitch, kPitch, kRows};
  box.dstPtr = {static_cast<char*>(memory_) + 2, kPitch, kPitch, kRows};
  box.extent = {1, kRows, 1};
  box.kind = cudaMemcpyDeviceToDevice;
  EXPECT_EQ(Captured([&] {
              return cudaMemcpy2DAsync(box.dstPtr.ptr, kPitch, memory_, kPitch, 1, 2,
                                       cudaMemcpyDeviceToDevice, stream_);
            }),
            1u);
  EXPECT_EQ(Captured([&] { return cudaMemset2DAsync(memory_, kPitch, 1, 1, 2, stream_); }), 1u);
  EXPECT_EQ(Captured([&] { return cudaMemcpy3DAsync(&box, stream_); }), 1u);
  EXPECT_EQ(Captured([&] { return cudaMemset3DAsync(box.srcPtr, 1, box.extent, stream_); }), 1u);
  EXPECT_EQ(Read(), "............");
}

TEST_F(RuntimeCopies, BoxesAreCopiedInTheOrderOfAStream) {
  cudaMemcpy3DParms box = {};
  box.srcPtr = {memory_, kPitch, kPitch, kRows};
  box.dstPtr = box.srcPtr;
  box.dstPos = {2, 0, 0};
  box.extent = {1, kRows, 1};
  box.kind = cudaMemcpyDeviceToDevice;
  EXPECT_EQ(cudaMemset2DAsync(memory_, kPitch, 'x', 1, 2, stream_), cudaSuccess);
  EXPECT_EQ(cudaMemcpy3DAsync(&box, stream_), cudaSuccess);
  EXPECT_EQ(Read(), "x.x.x.x.....");
  EXPECT_EQ(cudaMemcpy3DAsync(nullptr, stream_), cudaErrorInvalidValue);
  box.kind = kNoKind;
  EXPECT_EQ(cudaMemcpy3DAsync(&box, stream_), cudaErrorInvalidMemcpyDirection);
}

TEST_F(RuntimeCopies, BoxesAreCopiedBetweenDevicesInTheOrderOfAStream) {
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  void* remote = nullptr;
  ASSERT_EQ(cudaMalloc(&remote, kSize), cudaSuccess);
  ASSERT_EQ(cudaMemset(remote, 'r', kSize), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  cudaMemcpy3DPeerParms box = {};
  box.srcPtr = {remote, kPitch, kPitch, kRows};
  box.srcDevice = 1;
  box.dstPtr = {memory_, kPitch, kPitch, kRows};
  box.dstPos = {1, 1, 0};
  box.extent = {2, 2, 1};
  EXPECT_EQ(cudaMemcpy3DPeerAsync(&box, stream_), cudaSuccess);
  EXPECT_EQ(Read(), ".....rr..rr.");
  box.dstDevice = 100;
  EXPECT_EQ(cudaMemcpy3DPeerAsync(&box, stream_), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaMemcpy3DPeerAsync(nullptr, stream_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(remote), cudaSuccess);
}

// --- Batches

TEST_F(RuntimeCopies, ManyGoAtOnce) {
  char text[] = "abcdef";
  void* to[] = {memory_, static_cast<char*>(memory_) + 8};
  void* from[] = {text, text + 3};
  size_t sizes[] = {3, 2};
  size_t first[] = {0};
  cudaMemcpyAttributes attributes = {};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  EXPECT_EQ(cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, first, 1, stream_), cudaSuccess);
  EXPECT_EQ(Read(), "abc.....de..");
}

TEST_F(RuntimeCopies, ABatchHasCopiesAndAStreamOfItsOwn) {
  char text[] = "abcdef";
  void* to[] = {memory_};
  void* from[] = {text};
  size_t sizes[] = {3};
  size_t first[] = {0};
  cudaMemcpyAttributes attributes = {};
  EXPECT_EQ(cudaMemcpyBatchAsync(to, from, sizes, 1, &attributes, first, 1, stream_),
            cudaErrorInvalidValue)
      << "an order is chosen";
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  EXPECT_EQ(cudaMemcpyBatchAsync(to, from, sizes, 0, &attributes, first, 1, stream_),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyBatchAsync(nullptr, from, sizes, 1, &attributes, first, 1, stream_),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyBatchAsync(to, from, sizes, 1, &attributes, first, 1, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(Read(), "............");
}

TEST_F(RuntimeCopies, ManyBoxesGoAtOnce) {
  CUDA_MEMCPY3D_BATCH_OP box = {};
  box.src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  box.src.op.ptr.ptr = reinterpret_cast<uintptr_t>(memory_);
  box.src.op.ptr.rowLength = kPitch;
  box.src.op.ptr.layerHeight = kRows;
  box.dst = box.src;
  box.dst.op.ptr.ptr += 2;
  box.extent = {1, 2, 1};
  box.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  EXPECT_EQ(cudaMemset2D(memory_, kPitch, 'x', 1, 3), cudaSuccess);
  EXPECT_EQ(cudaMemcpy3DBatchAsync(1, &box, 0, stream_), cudaSuccess);
  EXPECT_EQ(Read(), "x.x.x.x.x...");
  EXPECT_EQ(cudaMemcpy3DBatchAsync(1, &box, 1, stream_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy3DBatchAsync(0, &box, 0, stream_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy3DBatchAsync(1, nullptr, 0, stream_), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy3DBatchAsync(1, &box, 0, nullptr), cudaErrorInvalidValue);
}

// --- Pitched memory

TEST_F(RuntimeCopies, PitchedMemoryHasRowsOfItsPitch) {
  void* rows = nullptr;
  size_t pitch = 0;
  ASSERT_EQ(cudaMallocPitch(&rows, &pitch, 100, 10), cudaSuccess);
  EXPECT_EQ(pitch, 512u);
  EXPECT_EQ(cudaMemset(rows, 0, pitch * 10), cudaSuccess);
  EXPECT_EQ(cudaFree(rows), cudaSuccess);
  EXPECT_EQ(cudaMallocPitch(&rows, nullptr, 100, 10), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMallocPitch(nullptr, &pitch, 100, 10), cudaErrorInvalidValue);
}

TEST_F(RuntimeCopies, PitchedMemoryOfNoRowsIsNowhere) {
  void* rows = memory_;
  size_t pitch = 7;
  EXPECT_EQ(cudaMallocPitch(&rows, &pitch, 0, 10), cudaSuccess);
  EXPECT_EQ(rows, nullptr);
  EXPECT_EQ(pitch, 0u);
}

TEST_F(RuntimeCopies, ABoxOfMemoryHasRoomForAllItsLayers) {
  cudaPitchedPtr box = {};
  ASSERT_EQ(cudaMalloc3D(&box, {100, 10, 3}), cudaSuccess);
  EXPECT_EQ(box.pitch, 512u);
  EXPECT_EQ(box.xsize, 100u);
  EXPECT_EQ(box.ysize, 10u);
  EXPECT_EQ(cudaMemset3D(box, 0, {100, 10, 3}), cudaSuccess);
  EXPECT_EQ(cudaFree(box.ptr), cudaSuccess);
  EXPECT_EQ(cudaMalloc3D(&box, {100, 10, 0}), cudaSuccess);
  EXPECT_EQ(box.ptr, nullptr);
  EXPECT_EQ(cudaMalloc3D(nullptr, {100, 10, 3}), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMalloc3D(&box, {1, size_t{1} << 40, size_t{1} << 40}), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc3D(&box, {size_t{1} << 40, 10, 3}), cudaErrorMemoryAllocation);
  EXPECT_EQ(box.pitch, size_t{1} << 40) << "is told all the same";
}

}  // namespace
