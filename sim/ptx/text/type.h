// Type: the fundamental types of PTX.

#ifndef TWINMMU_SIM_PTX_TEXT_TYPE_H_
#define TWINMMU_SIM_PTX_TEXT_TYPE_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace twinmmu::ptx {

enum class Type : uint8_t {
  kPred,
  kB8,
  kB16,
  kB32,
  kB64,
  kB128,
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kF16,
  kF16x2,
  kBf16,
  kBf16x2,
  kTf32,
  kE4m3,
  kE5m2,
  kE4m3x2,
  kE5m2x2,
  kF32,
  kF64,
  kU16x2,
  kS16x2,
};

// The type of a name without its dot, "u32"; nullopt: no such type.
std::optional<Type> TypeNamed(absl::string_view name);
// "u32".
const char* NameOf(Type type);
// In memory; of a predicate, which has no place there, 1.
uint64_t BytesOf(Type type);
bool IsSigned(Type type);
bool IsFloating(Type type);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_TEXT_TYPE_H_
