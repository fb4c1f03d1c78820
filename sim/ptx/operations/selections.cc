// selp and slct.

#include <string>

#include "sim/ptx/operations/float_math.h"
#include "sim/ptx/operations/operation_table.h"

namespace twinmmu::ptx {
namespace {

template <typename T>
T Selp(T a, T b, bool c) {
  return c ? a : b;
}
template <typename T>
T SlctS32(T a, T b, int32_t c) {
  return c >= 0 ? a : b;
}
// A NaN selects b, and -0 is 0.
template <typename T, bool kFtz>
T SlctF32(T a, T b, float c) {
  return Flush<kFtz>(c) >= 0 ? a : b;
}

template <typename T>
void AddForType(OperationTable& table, const std::string& type) {
  table.Map<Selp<T>>("selp" + type);
  table.Map<SlctS32<T>>("slct" + type + ".s32");
  table.Map<SlctF32<T, false>>("slct" + type + ".f32");
  table.Map<SlctF32<T, true>>("slct.ftz" + type + ".f32");
}

}  // namespace

void AddSelections(OperationTable& table) {
  AddForType<uint16_t>(table, ".b16");
  AddForType<uint32_t>(table, ".b32");
  AddForType<uint64_t>(table, ".b64");
  AddForType<uint16_t>(table, ".u16");
  AddForType<uint32_t>(table, ".u32");
  AddForType<uint64_t>(table, ".u64");
  AddForType<int16_t>(table, ".s16");
  AddForType<int32_t>(table, ".s32");
  AddForType<int64_t>(table, ".s64");
  AddForType<float>(table, ".f32");
  AddForType<double>(table, ".f64");
}

}  // namespace twinmmu::ptx
