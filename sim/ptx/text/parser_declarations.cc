// Variables of any space, and parameters.

#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sim/ptx/text/parser.h"

namespace twinmmu::ptx {
namespace {

// More than any device can place.
constexpr uint64_t kLargestAlignment = 65536;
// Of a variable, in bytes: far above any memory.
constexpr uint64_t kLargestVariable = uint64_t{1} << 48;
// Of all variables of a module, so that no one who adds them up has to think of 2^64.
constexpr uint64_t kMostBytes = uint64_t{1} << 52;
// Values that nested lists leave out, in a module: each takes a place in Variable::initial.
constexpr uint64_t kMostLeftOut = 65536;
constexpr size_t kMostDimensions = 16;

constexpr std::pair<Space, const char*> kSpaces[] = {{Space::kGlobal, "global"},
                                                     {Space::kShared, "shared"},
                                                     {Space::kLocal, "local"},
                                                     {Space::kConst, "const"},
                                                     {Space::kParam, "param"}};

std::optional<Space> SpaceNamed(absl::string_view name) {
  for (const auto& [space, known] : kSpaces) {
    if (name == known) return space;
  }
  return std::nullopt;
}

std::string NameOf(Space space) {
  for (const auto& [known, name] : kSpaces) {
    if (space == known) return absl::StrCat(".", name);
  }
  return "generic";
}

// Of the dimensions from `level` on.
uint64_t Product(const std::vector<uint64_t>& dimensions, size_t level) {
  uint64_t product = 1;
  for (size_t i = level; i < dimensions.size(); ++i) product *= dimensions[i];
  return product;
}

// Of a float of either width, as PTX converts it.
uint64_t F64BitsOf(const Constant& constant) {
  if (constant.kind == Constant::kF64) return constant.bits;
  const uint32_t narrow = static_cast<uint32_t>(constant.bits);
  float value = 0;
  std::memcpy(&value, &narrow, sizeof value);
  const double wide = value;
  uint64_t bits = 0;
  std::memcpy(&bits, &wide, sizeof bits);
  return bits;
}

uint64_t F32BitsOf(const Constant& constant) {
  if (constant.kind == Constant::kF32) return constant.bits;
  double wide = 0;
  std::memcpy(&wide, &constant.bits, sizeof wide);
  // C++ leaves open what the conversion gives where no float is near.
  constexpr double kLargest = std::numeric_limits<float>::max();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float value = wide > kLargest    ? kInfinity
                      : wide < -kLargest ? -kInfinity
                                         : static_cast<float>(wide);
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

}  // namespace

// [linkage] .space [.align n] [.v4] .type name [= values], name, ...;
void Parser::VariableDeclarations(const Linkage& linkage) {
  const Variable common = VariableType(linkage);
  do {
    Variable variable = common;
    const absl::string_view name = cursor_.token().text;
    Dimensions dimensions = Declarator(&variable);
    if (cursor_.Accept("=")) InitialValues(&variable, &dimensions);
    if (variable.count == 0 && !variable.external) {
      cursor_.Fail(variable.position, absl::StrCat("the size of ", Quoted(name), " is not known"));
    }
    if (!cursor_.status().ok()) return;
    if (function_ == nullptr) {
      DeclareInModule(std::move(variable), name);
    } else {
      DeclareInFunction(std::move(variable), name);
    }
  } while (cursor_.Accept(","));
  cursor_.Expect(";");
}

// .space [.attribute(.managed)] [.align n] [.v4] .type
Variable Parser::VariableType(const Linkage& linkage) {
  Variable variable;
  variable.external = linkage.external;
  variable.visibility = linkage.visibility;
  variable.alignment = 0;
  const Token space = cursor_.token();
  const std::optional<Space> known =
      space.kind == Token::kDotted ? SpaceNamed(space.text) : std::nullopt;
  if (!known) {
    cursor_.FailExpected("a directive");
    return variable;
  }
  cursor_.Next();
  variable.space = *known;
  while (cursor_.token().kind == Token::kDotted) {
    const Token word = cursor_.token();
    if (const std::optional<Type> type = TypeNamed(word.text)) {
      variable.type = *type;
      break;
    }
    if (word.text == "texref" || word.text == "surfref") return ReferenceTo(variable);
    if (word.text == "samplerref") {
      NoSampler(word.position);
    } else if (word.text == "v2" || word.text == "v4" || word.text == "v8") {
      variable.vector = word.text[1] - '0';
    } else if (word.text != "align" && word.text != "attribute") {
      break;
    }
    cursor_.Next();
    if (word.text == "align") variable.alignment = Alignment();
    if (word.text == "attribute") Attributes(&variable);
  }
  const Token type = cursor_.token();
  if (type.kind != Token::kDotted || !TypeNamed(type.text)) cursor_.FailExpected("a type");
  cursor_.Next();
  if (type.text == "pred") cursor_.Fail(type.position, "a predicate has no place in memory");
  if (variable.alignment == 0) {
    variable.alignment = BytesOf(variable.type) * static_cast<uint64_t>(variable.vector);
  }
  return variable;
}

// .texref, .surfref: 8 bytes, whose address is what kernels know.
// No call of the driver says how a sampler of a module's own samples: it takes none.
void Parser::NoSampler(const Position& where) {
  if (!module_.separate_samplers) {
    return cursor_.Fail(where, ".samplerref needs the target texmode_independent");
  }
  cursor_.FailWith(absl::StatusCode::kNotFound, where, "no driver binds a .samplerref");
}

Variable Parser::ReferenceTo(Variable variable) {
  const Token kind = cursor_.Next();
  if (variable.space != Space::kGlobal) {
    cursor_.Fail(kind.position, absl::StrCat("a .", kind.text, " is in .global"));
  }
  variable.reference = kind.text == "texref" ? Reference::kTexture : Reference::kSurface;
  variable.type = Type::kB64;
  variable.vector = 1;
  variable.alignment = BytesOf(variable.type);
  return variable;
}

// (.managed)
void Parser::Attributes(Variable* variable) {
  cursor_.Expect("(");
  const Token name = cursor_.token();
  if (name.Is(Token::kDotted, "unified")) {
    return cursor_.FailUnsupported(name.position, ".attribute(.unified) is not supported");
  }
  if (!cursor_.AcceptDotted("managed"))
    return cursor_.FailExpected("an attribute, such as .managed");
  if (variable->space != Space::kGlobal) {
    return cursor_.Fail(name.position, "only variables in .global are .managed");
  }
  variable->managed = true;
  cursor_.Expect(")");
}

uint64_t Parser::Alignment() {
  const Position place = cursor_.token().position;
  const uint64_t alignment = cursor_.ExpectKind(Token::kInteger, "an alignment").bits;
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > kLargestAlignment) {
    cursor_.Fail(place, absl::StrCat("an alignment is ", alignment, ", not a power of 2 up to ",
                                     kLargestAlignment));
  }
  return alignment;
}

// (.param .b32 a, .param .align 8 .b8 b[16])
std::vector<Variable> Parser::Parameters() {
  std::vector<Variable> parameters;
  cursor_.Expect("(");
  if (cursor_.Accept(")")) return parameters;
  do {
    const Token space = cursor_.token();
    if (space.Is(Token::kDotted, "reg")) {
      cursor_.FailUnsupported(space.position, "a parameter in .reg is not supported");
    }
    if (!space.Is(Token::kDotted, "param")) cursor_.FailExpected(".param");
    Variable parameter = VariableType({});
    PointerAttributes();
    Declarator(&parameter);
    parameters.push_back(std::move(parameter));
  } while (cursor_.Accept(","));
  cursor_.Expect(")");
  return parameters;
}

// .ptr .global .align 4: what a kernel may assume of a pointer. Nothing uses it.
void Parser::PointerAttributes() {
  if (!cursor_.AcceptDotted("ptr")) return;
  if (cursor_.token().kind == Token::kDotted && SpaceNamed(cursor_.token().text)) cursor_.Next();
  if (cursor_.AcceptDotted("align")) Alignment();
}

// name, x[2][3]; x[] has no size yet.
Parser::Dimensions Parser::Declarator(Variable* variable) {
  const Token name = cursor_.ExpectKind(Token::kName, "a name");
  variable->position = name.position;
  variable->name = std::string(name.text);
  Dimensions dimensions;
  while (cursor_.token().IsPunctuation("[")) {
    const Position where = cursor_.Next().position;
    if (dimensions.size() == kMostDimensions) {
      cursor_.Fail(where, absl::StrCat("an array has more than ", kMostDimensions, " dimensions"));
    }
    if (dimensions.empty() && cursor_.Accept("]")) {
      dimensions.push_back(0);
      variable->count = 0;
      continue;
    }
    const uint64_t length = ParseInteger(&cursor_, "the length of an array");
    cursor_.Expect("]");
    uint64_t bytes = BytesOf(variable->type) * static_cast<uint64_t>(variable->vector);
    for (const uint64_t outer : dimensions) bytes *= outer == 0 ? 1 : outer;
    if (length == 0 || length > kLargestVariable / bytes) {
      cursor_.Fail(where, absl::StrCat("the length of ", Quoted(name.text), " is ", length,
                                       "; it is from 1 on, and an array takes up to 2^48 bytes"));
      break;
    }
    dimensions.push_back(length);
    variable->count *= length;
  }
  bytes_ += variable->size() + variable->alignment;
  if (bytes_ > kMostBytes) cursor_.Fail(name.position, "all variables take more than 2^52 bytes");
  return dimensions;
}

void Parser::InitialValues(Variable* variable, Dimensions* dimensions) {
  const Position where = cursor_.token().position;
  if (variable->space != Space::kGlobal && variable->space != Space::kConst) {
    return cursor_.Fail(
        where, absl::StrCat("a variable in ", NameOf(variable->space), " has no initial value"));
  }
  if (variable->external) return cursor_.Fail(where, "an .extern variable has no initial value");
  const uint64_t vector = static_cast<uint64_t>(variable->vector);
  if (vector > 1) dimensions->push_back(vector);
  if (dimensions->empty()) {
    variable->initial.push_back(InitialValue(*variable));
    return;
  }
  InitialList(variable, *dimensions, 0);
  if (variable->count != 0) return;
  // x[] = {...}: the list says how long it is.
  const uint64_t inner = Product(*dimensions, 1);
  const uint64_t length = (variable->initial.size() + inner - 1) / inner;
  variable->count = length * (inner / vector);
}

// {1, 2, 3} or {{1, 2}, {3}}: the values of dimensions[level...], from the end of `initial` on.
void Parser::InitialList(Variable* variable, const Dimensions& dimensions, size_t level) {
  const uint64_t inner = Product(dimensions, level + 1);
  const uint64_t begin = variable->initial.size();
  cursor_.Expect("{");
  if (cursor_.Accept("}")) return;
  uint64_t i = 0;
  do {
    if (dimensions[level] != 0 && i == dimensions[level]) {
      return cursor_.Fail(cursor_.token().position,
                          absl::StrCat("there are more than ", i, " values"));
    }
    LeaveOut(begin + i * inner - variable->initial.size(), variable);
    if (level + 1 < dimensions.size()) {
      InitialList(variable, dimensions, level + 1);
    } else {
      variable->initial.push_back(InitialValue(*variable));
    }
    ++i;
  } while (cursor_.Accept(","));
  cursor_.Expect("}");
}

// The values that a list had not, before the next list.
void Parser::LeaveOut(uint64_t values, Variable* variable) {
  if (values > kMostLeftOut - left_out_) {
    return cursor_.FailUnsupported(
        cursor_.token().position,
        absl::StrCat("initial values leave out more than ", kMostLeftOut, " values"));
  }
  left_out_ += values;
  variable->initial.resize(variable->initial.size() + static_cast<size_t>(values));
}

Initializer Parser::InitialValue(const Variable& variable) {
  const Token& token = cursor_.token();
  if (token.kind == Token::kName && token.text != "WARP_SZ") return InitialAddress(variable);
  return InitialConstant(variable);
}

// name, name + 4, generic(name) + 4
Initializer Parser::InitialAddress(const Variable& variable) {
  Initializer value;
  if (cursor_.token().text == "generic" && cursor_.following().IsPunctuation("(")) {
    value.generic = true;
    cursor_.Next();
    cursor_.Next();
  }
  const Token name = cursor_.ExpectKind(Token::kName, "a name");
  const std::optional<Symbol> symbol = names_.Find(name.text, nullptr);
  if (!symbol || (symbol->kind != Operand::kVariable && symbol->kind != Operand::kFunction)) {
    cursor_.Fail(name.position,
                 absl::StrCat("there is no variable or function ", Quoted(name.text)));
  }
  if (value.generic) cursor_.Expect(")");
  if (BytesOf(variable.type) != 8 || IsFloating(variable.type)) {
    cursor_.FailUnsupported(name.position, absl::StrCat("an address takes .u64 or .b64, not .",
                                                        ptx::NameOf(variable.type)));
  }
  value.address_of = std::string(name.text);
  Offset(&value.bits);
  return value;
}

Initializer Parser::InitialConstant(const Variable& variable) {
  const Position where = cursor_.token().position;
  const Constant constant = ParseConstant(&cursor_);
  if (cursor_.token().IsPunctuation("(")) {
    cursor_.FailUnsupported(where, "a part of an address, as 0xFF(name), is not supported");
  }
  Initializer value;
  const uint64_t bytes = BytesOf(variable.type);
  if (constant.kind == Constant::kInteger && !IsFloating(variable.type) && bytes <= 8) {
    value.bits = bytes == 8 ? constant.bits : constant.bits & ((uint64_t{1} << 8 * bytes) - 1);
  } else if (constant.kind != Constant::kInteger && variable.type == Type::kF32) {
    value.bits = F32BitsOf(constant);
  } else if (constant.kind != Constant::kInteger && variable.type == Type::kF64) {
    value.bits = F64BitsOf(constant);
  } else {
    cursor_.Fail(where, absl::StrCat("the value is not of the type .", ptx::NameOf(variable.type)));
  }
  return value;
}

// Gives a variable of the module its place in it. Where it was declared .extern, this defines it.
void Parser::DeclareInModule(Variable variable, absl::string_view name) {
  const Position where = variable.position;
  if (variable.space == Space::kLocal || variable.space == Space::kParam) {
    return cursor_.Fail(
        where, absl::StrCat("a variable of the module is not in ", NameOf(variable.space)));
  }
  const std::optional<Symbol> known = names_.Find(name, nullptr);
  if (!known) {
    names_.Add(name, {Operand::kVariable, static_cast<int>(module_.variables.size())});
    return module_.variables.push_back(std::move(variable));
  }
  Variable* earlier = known->kind == Operand::kVariable
                          ? &module_.variables[static_cast<size_t>(known->index)]
                          : nullptr;
  if (earlier == nullptr || !(earlier->external || variable.external)) {
    return cursor_.Fail(where, absl::StrCat(Quoted(name), " is declared twice"));
  }
  if (earlier->space != variable.space || earlier->type != variable.type) {
    return cursor_.Fail(where, absl::StrCat(Quoted(name), " was declared in another way at line ",
                                            earlier->position.line));
  }
  if (earlier->external) *earlier = std::move(variable);
}

void Parser::DeclareInFunction(Variable variable, absl::string_view name) {
  const Position where = variable.position;
  if (variable.space == Space::kGlobal || variable.space == Space::kConst) {
    return cursor_.FailUnsupported(
        where,
        absl::StrCat("a variable of a function in ", NameOf(variable.space), " is not supported"));
  }
  const int index = static_cast<int>(function_->variables.size());
  if (!names_.Add(name, {Operand::kLocalVariable, index})) {
    return cursor_.Fail(where, absl::StrCat(Quoted(name), " is declared twice"));
  }
  function_->variables.push_back(std::move(variable));
}

}  // namespace twinmmu::ptx
