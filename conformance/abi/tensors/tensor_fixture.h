// Tensor maps, and kernels that copy by them.

#ifndef TWINMMU_CONFORMANCE_ABI_TENSORS_TENSOR_FIXTURE_H_
#define TWINMMU_CONFORMANCE_ABI_TENSORS_TENSOR_FIXTURE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {

// A tensor map, as it is passed to a driver. At first: words of 32 bits, 16 by 8, in boxes of 4
// by 2.
struct TiledMap {
  int element = CU_TENSOR_MAP_DATA_TYPE_UINT32;
  unsigned rank = 2;
  CUdeviceptr address = 0x7f0000000000;
  std::array<uint64_t, 8> dims = {16, 8, 4, 2, 2};
  std::array<uint64_t, 8> strides = {64, 512, 2048, 4096};
  std::array<uint32_t, 8> box = {4, 2, 1, 1, 1};
  std::array<uint32_t, 8> steps = {1, 1, 1, 1, 1};
  int interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  int swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  int promotion = 0;
  int fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;

  CUresult Encode(CUtensorMap* map) const;
};

// The same of im2col: pixels of 16 channels of 32 bits, 6 by 5 of them, in 3 images.
struct Im2colMap {
  int element = CU_TENSOR_MAP_DATA_TYPE_UINT32;
  unsigned rank = 4;
  CUdeviceptr address = 0x7f0000000000;
  std::array<uint64_t, 8> dims = {8, 6, 5, 3, 2};
  std::array<uint64_t, 8> strides = {32, 256, 2048, 8192};
  std::array<int, 3> lower = {-1, -1, -1};
  std::array<int, 3> upper = {-1, -1, -1};
  unsigned channels = 4;
  unsigned pixels = 8;
  std::array<uint32_t, 8> steps = {1, 1, 1, 1, 1};
  int interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;

  CUresult Encode(CUtensorMap* map) const;
};

class TensorMapTest : public ContextTest {
 protected:
  void SetUp() override;
};

// One thread copies between 4 KiB of shared memory and a tensor of words 0, 1, 2, ...
class TensorKernelTest : public TensorMapTest {
 protected:
  static constexpr size_t kWords = 2048;

  void SetUp() override;
  void TearDown() override;

  // `copy` has the map at %rd1, coordinates in %r1 to %r5, shared memory at %r9, an mbarrier at
  // %r10. Before it, shared memory is filled with 1000, 1001, ... A load completes on the mbarrier.
  void Run(const std::string& copy, const CUtensorMap& map, const std::vector<int>& coordinates);
  // What is in shared memory then, and in the tensor.
  std::vector<uint32_t> shared_;
  std::vector<uint32_t> tensor_;
  CUdeviceptr address() const { return memory_->address(); }

 private:
  std::optional<Buffer> memory_;
};

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_TENSORS_TENSOR_FIXTURE_H_
