// suld, sust, sured: accesses of surfaces.

#include <cstdint>

#include "absl/types/span.h"
#include "sim/ptx/decode/decode.h"
#include "sim/ptx/run/steps.h"

namespace twinmmu::ptx {

// The geometry, what happens beyond the edges, and [a, b], whose type was taken.
void Decoder::TakeSurfacePlace(size_t address, TextureCode* code) {
  if (!TakeGeometry(&code->geometry)) return;
  if (code->geometry.cube) return FailInvalid("surfaces of cubes are read as layers");
  constexpr SurfaceBounds kBounds[] = {SurfaceBounds::kTrap, SurfaceBounds::kClamp,
                                       SurfaceBounds::kZero};
  const int bounds = TakeOneOf({"trap", "clamp", "zero"});
  if (bounds >= 0) code->bounds = kBounds[bounds];
  TakeCacheHints();
  CoordinatesAt(address, Type::kS32, code);
}

void Decoder::SurfaceValues(const Operand& operand, Type type, bool written, TextureCode* code) {
  const int count = Take("v2") ? 2 : Take("v4") ? 4 : 1;
  const bool vector = operand.kind == Operand::kVector;
  const absl::Span<const Operand> parts =
      vector ? absl::MakeConstSpan(operand.parts) : absl::MakeConstSpan(&operand, 1);
  if (parts.size() != static_cast<size_t>(count)) {
    return FailInvalid("the value is not a vector of ", count);
  }
  code->bytes = static_cast<uint8_t>(BytesOf(type));
  if (static_cast<uint32_t>(code->bytes) * static_cast<uint32_t>(count) > kMaxAccess) {
    return FailInvalid("it accesses more than ", kMaxAccess, " bytes");
  }
  const Type bits = BitsOfWidth(WidthOf(type));
  for (const Operand& part : parts) {
    code->values.push_back(written ? Destination(part, bits) : Source(part, bits));
  }
}

// suld.b.geom{.vec}.type{.clamp} d, [a, b]
void Decoder::SurfaceLoad() {
  TextureCode code;
  ExpectOperands(2, 2);
  if (!Take("b")) return FailInvalid(".b is missing");
  if (!status_.ok()) return;
  TakeSurfacePlace(1, &code);
  if (!status_.ok()) return;
  const Type type = TakeType();
  SurfaceValues(At(0), type, /*written=*/true, &code);
  EmitTexture(code, PerformSurfaceLoad);
}

// sust.b.geom{.vec}.type{.clamp} [a, b], c; sust.p alike, whose values have 32 bits
void Decoder::SurfaceStore() {
  TextureCode code;
  ExpectOperands(2, 2);
  code.formatted = Take("p");
  if (!code.formatted && !Take("b")) return FailInvalid(".b or .p is missing");
  if (!status_.ok()) return;
  TakeSurfacePlace(0, &code);
  if (!status_.ok()) return;
  const Type type = TakeType();
  if (code.formatted && BytesOf(type) != 4) return FailInvalid(".p stores values of 32 bits");
  SurfaceValues(At(1), type, /*written=*/false, &code);
  EmitTexture(code, PerformSurfaceStore);
}

// sured.b.op.geom.type.clamp [a, b], c; sured.p alike
void Decoder::SurfaceReduction() {
  TextureCode code;
  ExpectOperands(2, 2);
  code.formatted = Take("p");
  if (!code.formatted && !Take("b")) return FailInvalid(".b or .p is missing");
  if (!status_.ok()) return;
  const absl::string_view operation = TakeName({"add", "min", "max", "and", "or"});
  TakeSurfacePlace(0, &code);
  if (!status_.ok()) return;
  const Type type = TakeType();
  const Perform perform = FindSurfaceReduction(operation, type);
  if (perform == nullptr) return FailInvalid("there is no such operation of .", NameOf(type));
  SurfaceValues(At(1), type, /*written=*/false, &code);
  EmitTexture(code, perform);
}

}  // namespace twinmmu::ptx
