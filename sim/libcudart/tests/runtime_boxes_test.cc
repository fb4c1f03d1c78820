// Fills of boxes, and copies of them from device to device.

#include <vector>

#include "gtest/gtest.h"
#include "third_party/cuda_abi/cudart_abi.h"

namespace {

constexpr size_t kPitch = 8;
constexpr size_t kRows = 3;
constexpr size_t kLayers = 2;
constexpr size_t kSize = kPitch * kRows * kLayers;

// Zeros: two layers of three rows of eight bytes.
class RuntimeBoxes : public testing::Test {
 protected:
  RuntimeBoxes() {
    EXPECT_EQ(cudaMalloc(&memory_, kSize), cudaSuccess);
    EXPECT_EQ(cudaMemset(memory_, 0, kSize), cudaSuccess);
  }
  ~RuntimeBoxes() override {
    EXPECT_EQ(cudaFree(memory_), cudaSuccess);
    cudaGetLastError();
  }

  cudaPitchedPtr Box() const { return {memory_, kPitch, kPitch, kRows}; }
  // Which bytes are set.
  std::vector<size_t> Found(const void* memory) {
    std::vector<char> bytes(kSize);
    EXPECT_EQ(cudaMemcpy(bytes.data(), memory, kSize, cudaMemcpyDeviceToHost), cudaSuccess);
    std::vector<size_t> found;
    for (size_t i = 0; i < kSize; ++i) {
      if (bytes[i] == 7) found.push_back(i);
    }
    return found;
  }

  void* memory_ = nullptr;
};

TEST_F(RuntimeBoxes, AFillLeavesGapsBetweenRowsAndLayers) {
  EXPECT_EQ(cudaMemset3D(Box(), 7, {2, 2, 2}), cudaSuccess);
  EXPECT_EQ(Found(memory_), (std::vector<size_t>{0, 1, 8, 9, 24, 25, 32, 33}));
}

TEST_F(RuntimeBoxes, AFillOfAllRowsGoesOnInTheNextLayer) {
  EXPECT_EQ(cudaMemset3DAsync(Box(), 7, {1, kRows, kLayers}, nullptr), cudaSuccess);
  EXPECT_EQ(Found(memory_), (std::vector<size_t>{0, 8, 16, 24, 32, 40}));
}

TEST_F(RuntimeBoxes, AFillOfNothingIsNone) {
  EXPECT_EQ(cudaMemset3D({nullptr, 0, 0, 0}, 7, {0, 1, 1}), cudaSuccess);
}

TEST_F(RuntimeBoxes, AFillOfMoreRowsThanALayerHasIsRefused) {
  EXPECT_EQ(cudaMemset3D(Box(), 7, {1, kRows + 1, 1}), cudaErrorInvalidValue);
  EXPECT_TRUE(Found(memory_).empty());
}

TEST_F(RuntimeBoxes, AFillOfTooManyBytesIsRefused) {
  EXPECT_EQ(cudaMemset3D({memory_, 8, 8, ~size_t{0}}, 7, {1, 2, 2}), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset3D({memory_, 8, 8, ~size_t{0}}, 7, {1, ~size_t{0}, 3}),
            cudaErrorInvalidValue);
}

TEST_F(RuntimeBoxes, AFillOfLayersHasRowsThatLieApart) {
  EXPECT_EQ(cudaMemset3D({memory_, kPitch, kPitch, kRows}, 7, {kPitch + 1, 1, 2}),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset3D({memory_, kPitch, kPitch, kRows}, 7, {kPitch + 1, 1, 1}), cudaSuccess);
  EXPECT_EQ(cudaMemset3D({memory_, kPitch, kPitch, kRows}, 7, {kPitch, 1, 2}), cudaSuccess);
}

TEST_F(RuntimeBoxes, ACopyHasRowsAndLayersThatLieApart) {
  std::vector<char> bytes(kSize);
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = Box();
  copy.dstPtr = {bytes.data(), kPitch, kPitch, kRows};
  copy.kind = cudaMemcpyDeviceToHost;
  copy.extent = {kPitch, kRows, kLayers};
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaSuccess);
  copy.srcPtr.ysize = kRows - 1;
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaErrorInvalidPitchValue) << "layers";
  copy.srcPtr = Box();
  copy.dstPtr.pitch = kPitch - 1;
  copy.extent = {kPitch, 1, kLayers};
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaErrorInvalidPitchValue) << "rows, each in its layer";
  copy.extent.depth = 1;
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaErrorInvalidValue) << "one row, which the driver refuses";
}

TEST_F(RuntimeBoxes, ACopyOfNothingIsNone) {
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = copy.dstPtr = Box();
  copy.kind = static_cast<cudaMemcpyKind>(77);
  copy.extent = {1, 0, 1};
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaSuccess);
  copy.extent = {1, 1, 1};
  EXPECT_EQ(cudaMemcpy3D(&copy), cudaErrorInvalidMemcpyDirection);
  cudaMemcpy3DPeerParms to_peer = {};
  EXPECT_EQ(cudaMemcpy3DPeer(&to_peer), cudaSuccess);
  to_peer.srcDevice = 100;
  EXPECT_EQ(cudaMemcpy3DPeer(&to_peer), cudaErrorInvalidDevice) << "devices are looked for first";
}

TEST_F(RuntimeBoxes, ABoxIsCopiedFromDeviceToDevice) {
  void* other = nullptr;
  ASSERT_EQ(cudaMalloc(&other, kSize), cudaSuccess);
  EXPECT_EQ(cudaMemset(other, 0, kSize), cudaSuccess);
  EXPECT_EQ(cudaMemset3D(Box(), 7, {1, 2, 2}), cudaSuccess);
  cudaMemcpy3DPeerParms copy = {};
  copy.srcPtr = Box();
  copy.dstPtr = {other, kPitch, kPitch, kRows};
  copy.dstPos = {1, 0, 0};
  copy.extent = {1, 2, 1};
  EXPECT_EQ(cudaMemcpy3DPeer(&copy), cudaSuccess);
  EXPECT_EQ(Found(other), (std::vector<size_t>{1, 9}));
  copy.dstArray = reinterpret_cast<cudaArray_t>(other);
  EXPECT_EQ(cudaMemcpy3DPeer(&copy), cudaErrorInvalidValue) << "memory, or an array";
  copy.dstArray = nullptr;
  copy.srcDevice = 100;
  EXPECT_EQ(cudaMemcpy3DPeer(&copy), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaMemcpy3DPeer(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(other), cudaSuccess);
}

}  // namespace
