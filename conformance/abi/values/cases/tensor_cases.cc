// Tensor maps. The genuine driver reads as many dimensions as it is told, and ends the process for
// ranks that are far too large.

#include "conformance/abi/values/cases/all_cases.h"
#include "conformance/abi/values/cases/case_objects.h"

namespace twinmmu::abi {
namespace {

constexpr int kUint8 = 0;
constexpr int kFloat16 = 6;
constexpr int kFloat32 = 7;
constexpr uint64_t kLargestRank = 20;

// What all kinds of maps have.
struct Tensor {
  int type;
  unsigned int rank;
  CUdeviceptr address;
  uint64_t dims[32];
  uint64_t strides[32];
  unsigned int steps[32];  // from element to element
  int interleave;
  int swizzle;
  int promotion;
  int fill;
};
void VaryLayout(Trial& trial, Tensor& tensor) {
  trial.Any(FIELD(tensor.type));
  trial.UpTo(kLargestRank, FIELD(tensor.rank));
  trial.Offset(kBytes, FIELD(tensor.address));
  trial.Any(FIELD(tensor.dims[0]));
  trial.Any(FIELD(tensor.dims[2]));
  trial.Any(FIELD(tensor.strides[0]));
  trial.Any(FIELD(tensor.strides[1]));
  trial.Any(FIELD(tensor.steps[0]));
  trial.Any(FIELD(tensor.steps[1]));
  trial.Any(FIELD(tensor.steps[2]));
}
void VaryModes(Trial& trial, Tensor& tensor) {
  trial.Any(FIELD(tensor.interleave));
  trial.Any(FIELD(tensor.swizzle));
  trial.Any(FIELD(tensor.promotion));
  trial.Any(FIELD(tensor.fill));
}

CUresult EncodeTiled(const Tensor& tensor, const unsigned int* box) {
  CUtensorMap map;
  return Call("cuTensorMapEncodeTiled", &map, tensor.type, tensor.rank, tensor.address, tensor.dims,
              tensor.strides, box, tensor.steps, tensor.interleave, tensor.swizzle,
              tensor.promotion, tensor.fill);
}
void Tiled(Trial& trial, Tensor tensor, unsigned int width) {
  unsigned int box[32] = {width, 8, 1, 1, 1};
  VaryLayout(trial, tensor);
  trial.Any(FIELD(box[0]));
  trial.Any(FIELD(box[1]));
  trial.Any(FIELD(box[2]));
  VaryModes(trial, tensor);
  trial.Answer(EncodeTiled(tensor, box));
}
Tensor TwoDimensions(int type) {
  return {type, 2, Memory(), {64, 64, 4, 4, 4}, {256, 16384, 65536, 262144}, {1, 1, 1, 1, 1}, 0,
          0,    0, 0};
}
Tensor ThreeDimensions() {
  return {kUint8, 3, Memory(), {64, 64, 4, 4, 4}, {64, 4096, 65536, 262144}, {1, 1, 1, 1, 1}, 1,
          0,      0, 0};
}
Tensor FourDimensions() {
  return {kFloat16, 4, Memory(), {64, 16, 16, 4, 4}, {128, 2048, 32768, 262144}, {1, 1, 1, 1, 1}, 0,
          0,        0, 0};
}
void TiledFloats(Trial& trial) { Tiled(trial, TwoDimensions(kFloat32), 8); }
void TiledBytes(Trial& trial) { Tiled(trial, ThreeDimensions(), 32); }
void TiledSwizzled(Trial& trial) {
  Tensor tensor = TwoDimensions(kFloat16);
  tensor.swizzle = 1;
  Tiled(trial, tensor, 8);
}

void Im2col(Trial& trial) {
  Tensor tensor = FourDimensions();
  int lower[32] = {};
  int upper[32] = {};
  unsigned int channels = 32;
  unsigned int pixels = 16;
  VaryLayout(trial, tensor);
  trial.Any(FIELD(lower[0]));
  trial.Any(FIELD(lower[1]));
  trial.Any(FIELD(upper[0]));
  trial.Any(FIELD(upper[1]));
  trial.Any(FIELD(channels));
  trial.Any(FIELD(pixels));
  VaryModes(trial, tensor);
  CUtensorMap map;
  trial.Answer(Call("cuTensorMapEncodeIm2col", &map, tensor.type, tensor.rank, tensor.address,
                    tensor.dims, tensor.strides, lower, upper, channels, pixels, tensor.steps,
                    tensor.interleave, tensor.swizzle, tensor.promotion, tensor.fill));
}
void WideIm2col(Trial& trial) {
  Tensor tensor = FourDimensions();
  tensor.swizzle = 3;
  int lower = 0;
  int upper = 0;
  unsigned int channels = 64;
  unsigned int pixels = 16;
  int mode = 0;
  VaryLayout(trial, tensor);
  trial.Any(FIELD(lower));
  trial.Any(FIELD(upper));
  trial.Any(FIELD(channels));
  trial.Any(FIELD(pixels));
  trial.Any(FIELD(mode));
  VaryModes(trial, tensor);
  CUtensorMap map;
  trial.Answer(Call("cuTensorMapEncodeIm2colWide", &map, tensor.type, tensor.rank, tensor.address,
                    tensor.dims, tensor.strides, lower, upper, channels, pixels, tensor.steps,
                    tensor.interleave, mode, tensor.swizzle, tensor.promotion, tensor.fill));
}
void ReplaceAddress(Trial& trial) {
  const Tensor tensor = TwoDimensions(kFloat32);
  const unsigned int box[32] = {8, 8};
  CUtensorMap map;
  Must("cuTensorMapEncodeTiled", &map, tensor.type, tensor.rank, tensor.address, tensor.dims,
       tensor.strides, box, tensor.steps, 0, 0, 0, 0);
  CUdeviceptr address = Memory();
  trial.Offset(kBytes, FIELD(address));
  trial.Answer(Call("cuTensorMapReplaceAddress", &map, address));
}

}  // namespace

std::vector<Case> TensorCases() {
  return {{"cuTensorMapEncodeTiled/floats", TiledFloats},
          {"cuTensorMapEncodeTiled/bytes", TiledBytes},
          {"cuTensorMapEncodeTiled/swizzled", TiledSwizzled},
          {"cuTensorMapEncodeIm2col", Im2col},
          {"cuTensorMapEncodeIm2colWide", WideIm2col},
          {"cuTensorMapReplaceAddress", ReplaceAddress}};
}

}  // namespace twinmmu::abi
