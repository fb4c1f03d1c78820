// Copies by tensor maps.

#include <cstddef>
#include <cstdint>

#include "sim/ptx/decode/decode.h"
#include "sim/ptx/run/steps.h"
#include "sim/ptx/tensors/tensor_map.h"

namespace twinmmu::ptx {

// [map, {x, y}]: the slot of the address of the map, and those of the coordinates.
uint32_t Decoder::TensorAddress(const Operand& operand, TensorCode* tensor) {
  if (operand.kind != Operand::kAddress || operand.parts.size() != 2 ||
      operand.parts[1].kind != Operand::kVector) {
    FailInvalid("a tensor map and coordinates [map, {x, y}] are missing");
    return 0;
  }
  for (const Operand& coordinate : operand.parts[1].parts) {
    tensor->coordinates.push_back(Source(coordinate, Type::kB32));
  }
  Operand map = operand;
  map.parts.resize(1);
  return WholeAddress(map, Space::kGeneric);
}

// "2d": how many coordinates it has.
size_t Decoder::TakeTensorRank() {
  const int rank = TakeOneOf({"1d", "2d", "3d", "4d", "5d"});
  if (rank < 0) FailInvalid(".1d to .5d is missing");
  return static_cast<size_t>(rank + 1);
}

// .tile, .im2col, or nothing: .tile.
void Decoder::TakeTensorMode(absl::string_view im2col, size_t rank, TensorCode* tensor) {
  if (TakeOneOf({"tile::gather4", "tile::scatter4", "im2col::w", "im2col::w::128"}) >= 0) {
    return FailInvalid("this mode is there from sm_100 on");
  }
  if (Take("tile")) return;
  tensor->im2col = Take(im2col);
  if (tensor->im2col && rank < 3) FailInvalid("im2col is of three dimensions or more");
}

// cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [to],
//   [map, {x, y}], [mbarrier]{, {offsets of im2col}}{, mask of blocks}{, policy};
// cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [map, {x, y}], [from]{, policy};
// cp.reduce.async.bulk.tensor, the same with an operation.
void Decoder::TensorCopy(bool reduces) {
  const size_t rank = TakeTensorRank();
  TensorCode tensor;
  const bool loads =
      Take("shared::cluster") || (Has("global") && !Has("bulk_group") && Take("shared::cta"));
  tensor.form = loads ? TensorCode::kLoad : reduces ? TensorCode::kReduce : TensorCode::kStore;
  if (!Take("global") ||
      !(loads ? Take("mbarrier::complete_tx::bytes") : Take("shared::cta") && Take("bulk_group"))) {
    return FailInvalid("there is no copy of tensors of this form");
  }
  TakeTensorMode(loads ? "im2col" : "im2col_no_offs", rank, &tensor);
  const bool multicast = Take("multicast::cluster");
  if ((multicast && !loads) || (reduces && loads)) {
    return FailInvalid("there is no copy of tensors of this form");
  }
  if (reduces) {
    tensor.reduction =
        std::string(TakeName({"add", "min", "max", "inc", "dec", "and", "or", "xor"}));
    if (tensor.reduction.empty()) return FailInvalid("the operation is missing");
  }
  const bool hint = Take("L2::cache_hint");
  if (!modifiers_.empty()) return;
  const bool offsets = loads && tensor.im2col;
  const size_t count = 2u + loads + offsets + multicast + hint;
  ExpectOperands(count, count);
  if (!status_.ok()) return;
  Step step;
  step.perform = PerformTensorCopy;
  step.operands.fill(kNoSlot);
  step.operands[0] = WholeAddress(At(loads ? 0 : 1), Space::kShared);
  step.operands[1] = TensorAddress(At(loads ? 1 : 0), &tensor);
  if (loads) step.operands[2] = WholeAddress(At(2), Space::kShared);
  if (offsets) TensorOffsets(At(3), &tensor);
  if (multicast) step.operands[3] = Source(At(3u + offsets), Type::kB16);
  if (hint) Source(At(count - 1), Type::kB64);
  code_.bulk_copies = true;
  EmitTensor(rank, tensor, step);
}

void Decoder::TensorOffsets(const Operand& operand, TensorCode* tensor) {
  if (operand.kind != Operand::kVector || operand.parts.size() + 2 != tensor->coordinates.size()) {
    return FailInvalid("the offsets of im2col are missing");
  }
  for (const Operand& offset : operand.parts) {
    tensor->offsets.push_back(Source(offset, Type::kB16));
  }
}

void Decoder::EmitTensor(size_t rank, const TensorCode& tensor, Step step) {
  if (tensor.coordinates.size() != rank) return FailInvalid("it has ", rank, " coordinates");
  step.target = static_cast<uint32_t>(code_.tensors.size());
  code_.tensors.push_back(tensor);
  Emit(step);
}

// cp.async.bulk.prefetch.tensor.2d.L2.global.tile [map, {x, y}]{, offsets}{, policy};
void Decoder::TensorPrefetch() {
  const size_t rank = TakeTensorRank();
  TensorCode tensor;
  tensor.form = TensorCode::kPrefetch;
  if (!Take("L2") || !Take("global")) return FailInvalid("L2.global is missing");
  TakeTensorMode("im2col", rank, &tensor);
  const bool hint = Take("L2::cache_hint");
  const size_t count = 1u + tensor.im2col + hint;
  ExpectOperands(count, count);
  if (!status_.ok()) return;
  Step step;
  step.perform = PerformTensorCopy;
  step.operands.fill(kNoSlot);
  step.operands[1] = TensorAddress(At(0), &tensor);
  if (tensor.im2col) TensorOffsets(At(1), &tensor);
  if (hint) Source(At(count - 1), Type::kB64);
  EmitTensor(rank, tensor, step);
}

void Decoder::TensorMapInstruction() {
  if (!IsThere(83, 90)) return;
  if (!module_.of_one_target) return FailInvalid("it is there for sm_90a only");
  if (Take("replace")) return ReplaceInTensorMap();
  if (Take("cp_fenceproxy")) return CopyTensorMap();
  FailInvalid("replace or cp_fenceproxy is missing");
}

// tensormap.replace.tile.global_dim.global.b1024.b32 [map], {dimension,} value;
void Decoder::ReplaceInTensorMap() {
  Take("tile");
  const int field =
      TakeOneOf({"global_address", "rank", "box_dim", "global_dim", "global_stride",
                 "element_stride", "elemtype", "interleave_layout", "swizzle_mode", "fill_mode"});
  if (field < 0) return FailInvalid("what it replaces is missing");
  const TensorField replaced = static_cast<TensorField>(field);
  Step step;
  step.perform = PerformReplaceInTensorMap;
  step.detail = static_cast<uint8_t>(replaced);
  const Space space = TakeOneOf({"shared::cta", "shared::cluster"}) >= 0 ? Space::kShared
                      : Take("global")                                   ? Space::kGlobal
                                                                         : Space::kGeneric;
  if (!Take("b1024")) return FailInvalid(".b1024 is missing");
  const bool wide = replaced == TensorField::kAddress || replaced == TensorField::kStride;
  if (!Take(wide ? "b64" : "b32")) return FailInvalid("its value has another type");
  const bool of_dimension = replaced >= TensorField::kBox && replaced <= TensorField::kStep;
  const size_t count = of_dimension ? 3 : 2;
  ExpectOperands(count, count);
  if (!status_.ok()) return;
  step.operands[0] = Address(At(0), space, &step);
  if (of_dimension) step.target = SmallConstant(At(1));
  if (step.target > 4) return FailInvalid("a tensor has five dimensions");
  step.operands[1] = Source(At(count - 1), wide ? Type::kB64 : Type::kB32);
  step.memory.bytes = sizeof(TensorMapBits);
  step.memory.access = Access::kReadWrite;
  Emit(step);
}

// tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [to],
//   [from], 128;
void Decoder::CopyTensorMap() {
  if (!Take("global") || !Take("shared::cta") || !Take("tensormap::generic") || !Take("release") ||
      !Take("sync") || !Take("aligned")) {
    return FailInvalid("there is no such copy of a tensor map");
  }
  TakeScope(coherence::Scope::kGpu);
  ExpectOperands(3, 3);
  if (SmallConstant(At(2)) != sizeof(TensorMapBits)) FailInvalid("a tensor map has 128 bytes");
  if (!status_.ok()) return;
  Step step;
  step.perform = PerformCopyTensorMap;
  step.operands[0] = WholeAddress(At(0), Space::kGlobal);
  step.operands[1] = WholeAddress(At(1), Space::kShared);
  Emit(step);
}

// Copies read tensor maps as they are when they begin: what the fences order is in order.
// fence.proxy.tensormap::generic.acquire.gpu [map], 128; .release.gpu
void Decoder::FenceOfTensorMaps() {
  const bool acquires = Take("acquire");
  if (!acquires && !Take("release")) return FailInvalid("acquire or release is missing");
  TakeScope(coherence::Scope::kGpu);
  ExpectOperands(acquires ? 2 : 0, acquires ? 2 : 0);
  if (acquires) WholeAddress(At(0), Space::kGeneric);
  Emit(PerformNothing);
}

}  // namespace twinmmu::ptx
