#include "sim/ptx/text/type.h"

#include <array>

namespace twinmmu::ptx {
namespace {

struct Description {
  const char* name;
  uint64_t bytes;
  bool is_signed;
  bool is_floating;
};

// By the number of the type.
constexpr std::array<Description, 27> kDescriptions = {{
    {"pred", 1, false, false},  {"b8", 1, false, false},    {"b16", 2, false, false},
    {"b32", 4, false, false},   {"b64", 8, false, false},   {"b128", 16, false, false},
    {"u8", 1, false, false},    {"u16", 2, false, false},   {"u32", 4, false, false},
    {"u64", 8, false, false},   {"s8", 1, true, false},     {"s16", 2, true, false},
    {"s32", 4, true, false},    {"s64", 8, true, false},    {"f16", 2, false, true},
    {"f16x2", 4, false, true},  {"bf16", 2, false, true},   {"bf16x2", 4, false, true},
    {"tf32", 4, false, true},   {"e4m3", 1, false, true},   {"e5m2", 1, false, true},
    {"e4m3x2", 2, false, true}, {"e5m2x2", 2, false, true}, {"f32", 4, false, true},
    {"f64", 8, false, true},    {"u16x2", 4, false, false}, {"s16x2", 4, true, false},
}};
static_assert(kDescriptions.size() == static_cast<size_t>(Type::kS16x2) + 1);

const Description& Describe(Type type) { return kDescriptions[static_cast<size_t>(type)]; }

}  // namespace

std::optional<Type> TypeNamed(absl::string_view name) {
  for (size_t i = 0; i < kDescriptions.size(); ++i) {
    if (name == kDescriptions[i].name) return static_cast<Type>(i);
  }
  return std::nullopt;
}

const char* NameOf(Type type) { return Describe(type).name; }
uint64_t BytesOf(Type type) { return Describe(type).bytes; }
bool IsSigned(Type type) { return Describe(type).is_signed; }
bool IsFloating(Type type) { return Describe(type).is_floating; }

}  // namespace twinmmu::ptx
