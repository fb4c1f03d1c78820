// Copies by tensor maps, and changes of these.

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
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

// How elements of a map are reduced. Null: they are not.
ReduceRange FindTensorReduction(absl::string_view operation, TensorElement element) {
  const bool bitwise = operation == "and" || operation == "or" || operation == "xor";
  const bool adds = operation == "add";
  switch (element) {
    case TensorElement::kU32:
      return FindRangeReduction(operation, bitwise ? Type::kB32 : Type::kU32);
    case TensorElement::kS32:
      return FindRangeReduction(operation, bitwise ? Type::kB32 : Type::kS32);
    case TensorElement::kU64:
      return FindRangeReduction(operation, bitwise ? Type::kB64 : Type::kU64);
    case TensorElement::kS64:
      return adds ? nullptr : FindRangeReduction(operation, Type::kS64);
    case TensorElement::kF16:
      return FindRangeReduction(operation, Type::kF16);
    case TensorElement::kBf16:
      return FindRangeReduction(operation, Type::kBf16);
    case TensorElement::kF32:
    case TensorElement::kF32Ftz:
    case TensorElement::kTf32:
    case TensorElement::kTf32Ftz:
      return FindRangeReduction(operation, Type::kF32);
    case TensorElement::kF64:
      return FindRangeReduction(operation, Type::kF64);
    default:
      return nullptr;
  }
}

// What a load makes of f32: the nearest tf32, ties to even.
void RoundToTf32(char* to, const char* from, uint64_t size) {
  for (uint64_t at = 0; at < size; at += sizeof(uint32_t)) {
    uint32_t bits;
    std::memcpy(&bits, from + at, sizeof(bits));
    const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
    bits = is_nan ? 0x7fffe000 : (bits + 0xfff + (bits >> 13 & 1)) & ~uint32_t{0x1fff};
    std::memcpy(to + at, &bits, sizeof(bits));
  }
}

bool IllegalCopy(Warp& warp, int lane, const std::string& why) {
  warp.Fault(GridFault::kIllegalInstruction, Lanes{1} << lane, why);
  return false;
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
  return Decode(bits, map) || IllegalCopy(warp, lane, "what it takes for a tensor map is none");
}

// Whether the map is one for this copy. False: a fault, which is noted.
bool Suits(Warp& warp, int lane, const TensorMap& map, const TensorCode& code) {
  if (map.rank != code.coordinates.size()) {
    return IllegalCopy(warp, lane,
                       absl::StrCat("its tensor map is of rank ", map.rank, ", and the copy of ",
                                    code.coordinates.size()));
  }
  if (map.im2col != code.im2col) {
    return IllegalCopy(warp, lane,
                       map.im2col ? "its tensor map is one of im2col, and the copy is of tiles"
                                  : "its tensor map is one of tiles, and the copy of im2col");
  }
  return true;
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

// What it does to the bytes. False: a fault, which is noted.
bool FindChange(Warp& warp, const TensorMap& map, const TensorCode& code, int lane,
                AsyncOperation* operation) {
  if (code.form == TensorCode::kLoad && map.element >= TensorElement::kTf32) {
    operation->reduce = RoundToTf32;
  }
  if (code.form != TensorCode::kReduce) return true;
  operation->reduce = FindTensorReduction(code.reduction, map.element);
  if (operation->reduce != nullptr) return true;
  return IllegalCopy(warp, lane,
                     absl::StrCat("there is no '", code.reduction, "' of its map's elements"));
}

// A device wants the tensor to be mapped, though the box has nothing of it.
bool TensorIsThere(Warp& warp, const TensorMap& map, const TensorBox& box, int lane) {
  for (const TensorRun& run : box.runs) {
    if (run.inside) return true;
  }
  const DeviceAddress address(map.address);
  if (warp.block().cache().Find(address, 1, Access::kRead) != nullptr) return true;
  MemoryAccess access;
  access.bytes = 1;
  warp.FaultAt(GridFault::kIllegalAddress, lane, access, map.address);
  return false;
}

bool CopyTensor(Warp& warp, const Step& step, const TensorCode& code, int lane) {
  const bool loads = code.form == TensorCode::kLoad;
  TensorMap map;
  if (!ReadMap(warp, lane, warp.Slot<uint64_t>(step.operands[1])[lane], &map)) return false;
  if (!Suits(warp, lane, map, code)) return false;
  const uint64_t shared =
      step.operands[0] == kNoSlot ? 0 : warp.Slot<uint64_t>(step.operands[0])[lane];
  if (!IsAligned(warp, lane, shared, kBoxAlignment, "a box in shared memory")) return false;
  const TensorPlace place = PlaceOf(warp, code, lane, shared);
  const bool reads_only = loads || code.form == TensorCode::kPrefetch;
  const char* const wrong = WhyNoBox(map, place, reads_only);
  if (wrong != nullptr) return IllegalCopy(warp, lane, wrong);
  if (code.form == TensorCode::kPrefetch) return true;
  auto box = std::make_shared<const TensorBox>(BoxOf(map, place, loads));
  if (loads && !TensorIsThere(warp, map, *box, lane)) return false;
  AsyncOperation operation = OperationOf(warp, step, lane);
  operation.kind = AsyncOperation::kBulk;
  operation.from_shared = !loads;
  operation.to_shared = loads;
  (loads ? operation.to : operation.from) = shared;
  operation.size = static_cast<uint32_t>(box->size);
  operation.read = operation.size;
  operation.box = std::move(box);
  if (!FindChange(warp, map, code, lane, &operation)) return false;
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
  const bool stores = code.form == TensorCode::kStore || code.form == TensorCode::kReduce;
  if (lanes != 0) warp.NoteStore(stores ? Space::kGlobal : Space::kShared);
  for (; lanes != 0; lanes &= lanes - 1) {
    if (!CopyTensor(warp, step, code, __builtin_ctz(lanes))) return Flow::kFault;
  }
  return Flow::kNext;
}

Flow PerformReplaceInTensorMap(Warp& warp, const Step& step, Lanes lanes) {
  if (lanes == 0) return Flow::kNext;
  LaneMemory memory;
  if (warp.Resolve(step.memory, step.operands[0], lanes, &memory) == Found::kFault) {
    return Flow::kFault;
  }
  ++warp.changes;
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
  if (lanes == 0) return Flow::kNext;
  MemoryAccess access;
  access.bytes = sizeof(TensorMapBits);
  access.space = Space::kShared;
  LaneMemory from;
  LaneMemory to;
  if (warp.Resolve(access, step.operands[1], lanes, &from) == Found::kFault) return Flow::kFault;
  access.space = Space::kGlobal;
  access.access = Access::kReadWrite;
  if (warp.Resolve(access, step.operands[0], lanes, &to) == Found::kFault) return Flow::kFault;
  ++warp.changes;
  ForEachLane(lanes, [&](int lane) { std::memcpy(to[lane], from[lane], sizeof(TensorMapBits)); });
  return Flow::kNext;
}

}  // namespace twinmmu::ptx
