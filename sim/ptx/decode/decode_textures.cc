// tex, tld4, txq, suq, istypep: in unified mode, where a handle names a texture and how it is read.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "sim/ptx/decode/decode.h"
#include "sim/ptx/run/moves.h"
#include "sim/ptx/run/steps.h"

namespace twinmmu::ptx {
namespace {

struct NamedQuery {
  absl::string_view name;
  TextureQuery query;
};
// What else there is to ask, drivers know of variables only.
constexpr NamedQuery kQueries[] = {{"width", TextureQuery::kWidth},
                                   {"height", TextureQuery::kHeight},
                                   {"depth", TextureQuery::kDepth}};

}  // namespace

bool Decoder::TakeGeometry(TextureGeometry* geometry) {
  switch (TakeOneOf({"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"})) {
    case 0:
      *geometry = {1, false, false};
      return true;
    case 1:
      *geometry = {2, false, false};
      return true;
    case 2:
      *geometry = {3, false, false};
      return true;
    case 3:
      *geometry = {1, true, false};
      return true;
    case 4:
      *geometry = {2, true, false};
      return true;
    case 5:
      *geometry = {2, false, true};
      return true;
    case 6:
      *geometry = {2, true, true};
      return true;
    default:
      FailUnimplemented("textures of such a geometry are not supported");
      return false;
  }
}

bool Decoder::IsReference(const Operand& operand) const {
  return operand.kind == Operand::kVariable && operand.index >= 0 &&
         static_cast<size_t>(operand.index) < module_.variables.size() &&
         module_.variables[static_cast<size_t>(operand.index)].reference != Reference::kNone;
}

// Of [a, ...]: the slot of a, a handle. That of a variable is its address.
uint32_t Decoder::HandleAt(size_t index) {
  const Operand& address = At(index);
  if (address.kind != Operand::kAddress || address.parts.empty() || address.bits != 0) {
    FailInvalid("a texture or surface is missing");
    return 0;
  }
  if (address.parts[0].kind != Operand::kRegister && !IsReference(address.parts[0])) {
    FailUnimplemented("a texture that no handle in a register names is not supported");
    return 0;
  }
  return Source(address.parts[0], Type::kB64);
}

// The first `count` components of a vector; a scalar is a vector of one.
std::vector<uint32_t> Decoder::ComponentsOf(const Operand& operand, size_t count, Type type) {
  const bool vector = operand.kind == Operand::kVector;
  const absl::Span<const Operand> parts =
      vector ? absl::MakeConstSpan(operand.parts) : absl::MakeConstSpan(&operand, 1);
  std::vector<uint32_t> slots;
  if (parts.size() < count) {
    FailInvalid("a vector has ", parts.size(), " components, not ", count);
    return slots;
  }
  for (size_t i = 0; i < count; ++i) slots.push_back(Source(parts[i], type));
  return slots;
}

// Of [a, c]: the handle, and c: the layer if there is one, then the coordinates.
void Decoder::CoordinatesAt(size_t index, Type type, TextureCode* code) {
  code->handle = HandleAt(index);
  if (!status_.ok()) return;
  const Operand& address = At(index);
  code->of_variable = IsReference(address.parts[0]);
  if (address.parts.size() > 2) {
    return FailUnimplemented("samplers apart from their textures are not supported");
  }
  if (address.parts.size() < 2) return FailInvalid("the coordinates are missing");
  if (module_.separate_samplers) return FailInvalid("it has no sampler");
  const TextureGeometry& geometry = code->geometry;
  const size_t count = geometry.cube ? 3 : static_cast<size_t>(geometry.dimensions);
  if (!geometry.layered) {
    code->at = ComponentsOf(address.parts[1], count, type);
    return;
  }
  if (address.parts[1].kind != Operand::kVector || address.parts[1].parts.empty()) {
    return FailInvalid("the layer is missing");
  }
  Operand coordinates = address.parts[1];
  code->layer.push_back(Source(coordinates.parts[0], Type::kU32));
  coordinates.parts.erase(coordinates.parts.begin());
  code->at = ComponentsOf(coordinates, count, type);
}

// Where the channels go, and whether there is memory: {r, g, b, a} or {r, g, b, a}|p.
void Decoder::TextureValues(size_t index, Type type, int count, TextureCode* code) {
  const Operand* values = &At(index);
  if (values->kind == Operand::kPair && values->parts.size() == 2) {
    code->resident.push_back(Destination(values->parts[1], Type::kPred));
    values = &values->parts[0];
  }
  if (values->kind != Operand::kVector || values->parts.size() != static_cast<size_t>(count)) {
    return FailInvalid("the result is not a vector of ", count);
  }
  const Type bits = BitsOfWidth(WidthOf(type));
  for (const Operand& part : values->parts) code->values.push_back(Destination(part, bits));
}

void Decoder::EmitTexture(const TextureCode& code, Perform perform, uint8_t detail) {
  if (!status_.ok()) return;
  Step step;
  step.perform = perform;
  step.detail = detail;
  step.target = static_cast<uint32_t>(code_.textures.size());
  code_.textures.push_back(code);
  Emit(step);
}

// tex{.base, .level, .grad}.geom.v4.dtype.ctype d{|p}, [a, c]{, lod}{, dPdx, dPdy}{, e}
void Decoder::TextureRead() {
  const Type coordinates = TakeType();
  const Type type = TakeType();
  const int from = TakeOneOf({"base", "level", "grad"});
  TextureCode code;
  if (!TakeGeometry(&code.geometry)) return;
  const int count = Take("v4") ? 4 : Take("v2") ? 2 : 0;
  code.pairs = type == Type::kF16x2;
  code.halves = type == Type::kF16;
  code.integers = coordinates == Type::kS32;
  const bool typed = code.pairs ? count == 2 : count == 4 && (code.halves || WidthOf(type) == 4);
  if (!typed || (coordinates != Type::kS32 && coordinates != Type::kF32)) {
    return FailInvalid("there is no such form");
  }
  const size_t levels = from == 1 ? 1 : from == 2 ? 2 : 0;
  ExpectOperands(2 + levels, 4 + levels);
  if (!status_.ok()) return;
  TextureValues(0, type, count, &code);
  CoordinatesAt(1, coordinates, &code);
  if (!status_.ok()) return;
  if (from == 1) code.level.push_back(Source(At(2), code.integers ? Type::kS32 : Type::kF32));
  for (size_t i = 0; from == 2 && i < 2; ++i) {
    for (const uint32_t slot : ComponentsOf(At(2 + i), code.at.size(), Type::kF32)) {
      code.gradients.push_back(slot);
    }
  }
  const size_t next = 2 + levels;
  if (instruction_->operands.size() > next) {
    if (At(next).kind != Operand::kVector) {
      return FailUnimplemented("textures of depths are not supported");
    }
    code.offset = ComponentsOf(At(next), static_cast<size_t>(code.geometry.dimensions), Type::kS32);
  }
  if (instruction_->operands.size() > next + 1) {
    return FailUnimplemented("textures of depths are not supported");
  }
  EmitTexture(code, PerformTexture);
}

// tld4.comp.2d.v4.dtype.f32 d{|p}, [a, c]{, e}
void Decoder::TextureGather() {
  const Type coordinates = TakeType();
  const Type type = TakeType();
  TextureCode code;
  if (!TakeGeometry(&code.geometry)) return;
  code.gathered = TakeOneOf({"r", "g", "b", "a"});
  if (!Take("v4") || code.gathered < 0 || coordinates != Type::kF32 || WidthOf(type) != 4 ||
      code.geometry.dimensions != 2) {
    return FailInvalid("there is no such form");
  }
  ExpectOperands(2, 4);
  if (!status_.ok()) return;
  TextureValues(0, type, 4, &code);
  CoordinatesAt(1, coordinates, &code);
  if (instruction_->operands.size() > 2) {
    if (At(2).kind != Operand::kVector || instruction_->operands.size() > 3) {
      return FailUnimplemented("textures of depths are not supported");
    }
    code.offset = ComponentsOf(At(2), 2, Type::kS32);
  }
  EmitTexture(code, PerformTexture);
}

// txq{.level}.query.b32 d, [a]{, lod}; suq.query.b32 d, [a]
void Decoder::AskTexture() {
  if (!Take("b32")) return FailInvalid("the type is .b32");
  const bool level = Take("level");
  ExpectOperands(level ? 3 : 2, level ? 3 : 2);
  if (!status_.ok()) return;
  for (const NamedQuery& named : kQueries) {
    if (!Take(named.name)) continue;
    TextureCode code;
    code.handle = HandleAt(1);
    if (!status_.ok()) return;
    code.of_variable = IsReference(At(1).parts[0]);
    if (level) code.level.push_back(Source(At(2), Type::kU32));
    code.values.push_back(Destination(At(0), Type::kB32));
    return EmitTexture(code, PerformTextureQuery, static_cast<uint8_t>(named.query));
  }
  FailUnimplemented("of a handle, only width, height and depth can be asked for");
}

// istypep.type p, a: in a module without such variables no handle is one of a variable.
void Decoder::IsTextureType() {
  if (TakeOneOf({"texref", "surfref", "samplerref"}) < 0) {
    return FailInvalid("the type is .texref, .samplerref or .surfref");
  }
  for (const Variable& variable : module_.variables) {
    if (variable.reference == Reference::kNone) continue;
    return FailUnimplemented("a module with variables for textures or surfaces cannot ask");
  }
  ExpectOperands(2, 2);
  if (!status_.ok()) return;
  Source(At(1), Type::kB64);
  const uint32_t to = Destination(At(0), Type::kPred);
  EmitCompute(FindCopy(0), {to, Fixed(FixedSlot::kZero, 0, 0, 0)});
}

}  // namespace twinmmu::ptx
