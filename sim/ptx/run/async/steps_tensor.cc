// Copies by tensor maps, and changes of these.

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sim/ptx/run/async/async_copies.h"
#include "sim/ptx/run/async/shared_words.h"
#include "sim/ptx/run/block.h"
#include "sim/ptx/run/steps.h"
#include "sim/ptx/run/warp.h"
#include "sim/ptx/tensors/tensor_box.h"
#include "sim/ptx/tensors/tensor_map.h"

namespace twinmmu::ptx {
namespace {

constexpr uint32_t kMapAlignment = 64;
constexpr uint32_t kBoxAlignment = 128;  // in shared memory

// What elements are to a reduction.
Type TypeOf(TensorElement element) {
  switch (element) {
    case TensorElement::kU32:
      return Type::kU32;
    case TensorElement::kS32:
      return Type::kS32;
    case TensorElement::kU64:
      return Type::kU64;
    case TensorElement::kS64:
      return Type::kS64;
    case TensorElement::kF16:
      return Type::kF16;
    case TensorElement::kBf16:
      return Type::kBf16;
    case TensorElement::kF32:
    case TensorElement::kF32Ftz:
      return Type::kF32;
    case TensorElement::kF64:
      return Type::kF64;
    default:
      return Type::kPred;
  }
}

bool IsAligned(Warp& warp, int lane, uint64_t address, uint32_t alignment, const char* what) {
  if (address % alignment == 0) return true;
  MemoryAccess access;
  access.bytes = static_cast<uint8_t>(alignment);
  warp.FaultAt(GridFault::kMisalignedAddress, lane, access, address);
  warp.block().fault().words = absl::StrCat(what, " begins at a multiple of ", alignment, " bytes");
  return false;
}

// The map at an address. False: a fault, which is noted.
bool ReadMap(Warp& warp, int lane, uint64_t address, TensorMap* map) {
  if (!IsAligned(warp, lane, address, kMapAlignment, "a tensor map")) return false;
  TensorMapBits bits;
  if (!warp.Read(address, bits.data(), sizeof(bits), lane)) {
    MemoryAccess access;
    access.bytes = sizeof(bits);
    warp.FaultAt(GridFault::kIllegalAddress, lane, access, address);
    return false;
  }
  if (Decode(bits, map)) return true;
  warp.Fault(GridFault::kIllegalInstruction, Lanes{1} << lane,
             "what it takes for a tensor map is none");
  return false;
}

// Whether the map is one for this copy. False: a fault, which is noted.
bool Suits(Warp& warp, int lane, const TensorMap& map, const TensorCode& code) {
  std::string wrong;
  if (map.rank != code.coordinates.size()) {
    wrong = absl::StrCat("its tensor map is of rank ", map.rank, ", and the copy of ",
                         code.coordinates.size());
  } else if (map.im2col != code.im2col) {
    wrong = map.im2col ? "its tensor map is one of im2col, and the copy is of tiles"
                       : "its tensor map is one of tiles, and the copy of im2col";
  }
  if (wrong.empty()) return true;
  warp.Fault(GridFault::kIllegalInstruction, Lanes{1} << lane, wrong);
  return false;
}

TensorPlace PlaceOf(Warp& warp, const TensorCode& code, int lane, uint64_t shared) {
  TensorPlace place;
  place.shared = shared;
  for (size_t i = 0; i < code.coordinates.size(); ++i) {
    place.coordinates[i] = warp.Slot<int32_t>(code.coordinates[i])[lane];
  }
  for (size_t i = 0; i < code.offsets.size(); ++i) {
    place.offsets[i] = warp.Slot<uint16_t>(code.offsets[i])[lane];
  }
  return place;
}

bool CopyTensor(Warp& warp, const Step& step, const TensorCode& code, int lane) {
  const bool loads = code.form == TensorCode::kLoad;
  TensorMap map;
  if (!ReadMap(warp, lane, warp.Slot<uint64_t>(step.operands[1])[lane], &map)) return false;
  if (!Suits(warp, lane, map, code)) return false;
  if (code.form == TensorCode::kPrefetch) return true;
  const uint64_t shared = warp.Slot<uint64_t>(step.operands[0])[lane];
  if (!IsAligned(warp, lane, shared, kBoxAlignment, "a box in shared memory")) return false;
  auto box = std::make_shared<TensorBox>(BoxOf(map, PlaceOf(warp, code, lane, shared), loads));
  AsyncOperation operation = OperationOf(warp, step, lane);
  operation.kind = AsyncOperation::kBulk;
  operation.from_shared = !loads;
  operation.to_shared = loads;
  (loads ? operation.to : operation.from) = shared;
  operation.size = static_cast<uint32_t>(box->size);
  operation.read = operation.size;
  if (code.form == TensorCode::kReduce) {
    operation.reduce = FindRangeReduction(code.reduction, TypeOf(map.element));
    if (operation.reduce == nullptr) {
      warp.Fault(GridFault::kIllegalInstruction, Lanes{1} << lane,
                 absl::StrCat("there is no '", code.reduction, "' of what its tensor map has"));
      return false;
    }
  }
  operation.box = std::move(box);
  operation.has_barrier = loads;
  if (loads) operation.barrier = warp.Slot<uint64_t>(step.operands[2])[lane];
  warp.work += operation.size / 16;
  return step.operands[3] == kNoSlot
             ? warp.block().copies().Add(std::move(operation))
             : AddForBlocks(warp, operation, lane, warp.Slot<uint16_t>(step.operands[3])[lane]);
}

}  // namespace

Flow PerformTensorCopy(Warp& warp, const Step& step, Lanes lanes) {
  const TensorCode& code = warp.frame().function->tensors[step.target];
  warp.changes += lanes != 0;
  for (; lanes != 0; lanes &= lanes - 1) {
    if (!CopyTensor(warp, step, code, __builtin_ctz(lanes))) return Flow::kFault;
  }
  return Flow::kNext;
}

Flow PerformReplaceInTensorMap(Warp& warp, const Step& step, Lanes lanes) {
  LaneMemory memory;
  if (warp.Resolve(step.memory, step.operands[0], lanes, &memory) == Found::kFault) {
    return Flow::kFault;
  }
  warp.changes += lanes != 0;
  const bool wide = step.detail == static_cast<uint8_t>(TensorField::kAddress) ||
                    step.detail == static_cast<uint8_t>(TensorField::kStride);
  ForEachLane(lanes, [&](int lane) {
    const uint64_t value = wide ? warp.Slot<uint64_t>(step.operands[1])[lane]
                                : warp.Slot<uint32_t>(step.operands[1])[lane];
    TensorMapBits bits;
    std::memcpy(bits.data(), memory[lane], sizeof(bits));
    Replace(static_cast<TensorField>(step.detail), step.target, value, &bits);
    std::memcpy(memory[lane], bits.data(), sizeof(bits));
  });
  return Flow::kNext;
}

// All lanes have the same addresses.
Flow PerformCopyTensorMap(Warp& warp, const Step& step, Lanes lanes) {
  MemoryAccess access;
  access.bytes = sizeof(TensorMapBits);
  access.space = Space::kShared;
  LaneMemory from;
  LaneMemory to;
  if (warp.Resolve(access, step.operands[1], lanes, &from) == Found::kFault) return Flow::kFault;
  access.space = Space::kGlobal;
  access.access = Access::kReadWrite;
  if (warp.Resolve(access, step.operands[0], lanes, &to) == Found::kFault) return Flow::kFault;
  warp.changes += lanes != 0;
  ForEachLane(lanes, [&](int lane) { std::memcpy(to[lane], from[lane], sizeof(TensorMapBits)); });
  return Flow::kNext;
}

}  // namespace twinmmu::ptx
