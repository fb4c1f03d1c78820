#include "sim/ptx/operations/run_operation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace twinmmu::ptx {
namespace {

constexpr size_t kSlotBytes = 256;  // of the widest type

size_t ValueBytes(Type type) { return std::max<size_t>(BytesOf(type), 2); }

void SetLane(char* slot, Type type, int lane, uint64_t value) {
  if (type == Type::kPred) {
    Lanes lanes;
    std::memcpy(&lanes, slot, sizeof lanes);
    lanes = (lanes & ~(Lanes{1} << lane)) | static_cast<Lanes>(value & 1) << lane;
    std::memcpy(slot, &lanes, sizeof lanes);
    return;
  }
  // Of a little-endian host.
  std::memcpy(slot + lane * ValueBytes(type), &value, ValueBytes(type));
}
uint64_t GetLane(const char* slot, Type type, int lane) {
  uint64_t value = 0;
  if (type == Type::kPred) {
    std::memcpy(&value, slot, sizeof(Lanes));
    return value >> lane & 1;
  }
  std::memcpy(&value, slot + lane * ValueBytes(type), ValueBytes(type));
  return value;
}

}  // namespace

OperandValues RunOperation(const Operation& operation, const OperandValues& inputs, int trials) {
  alignas(64) std::array<char, kMaxOperands * kSlotBytes> registers;
  std::array<uint32_t, kMaxOperands> offsets;
  for (int i = 0; i < kMaxOperands; ++i) offsets[i] = static_cast<uint32_t>(i * kSlotBytes);
  OperandValues results(operation.operand_count);
  for (int first = 0; first < trials; first += kLanes) {
    registers.fill(0);
    const int count = std::min(kLanes, trials - first);
    for (int i = 0; i < operation.operand_count; ++i) {
      const OperandType& operand = operation.operands[i];
      for (int lane = 0; lane < count && !operand.written; ++lane) {
        SetLane(&registers[offsets[i]], operand.type, lane, inputs[i][first + lane]);
      }
    }
    const Lanes lanes = count == kLanes ? kAllLanes : (Lanes{1} << count) - 1;
    operation.compute(offsets.data(), registers.data(), lanes);
    for (int i = 0; i < operation.operand_count; ++i) {
      const OperandType& operand = operation.operands[i];
      for (int lane = 0; lane < count && operand.written; ++lane) {
        results[i].push_back(GetLane(&registers[offsets[i]], operand.type, lane));
      }
    }
  }
  return results;
}

}  // namespace twinmmu::ptx
