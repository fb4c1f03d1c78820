// Operands of instructions.

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "sim/ptx/text/parser.h"

namespace twinmmu::ptx {
namespace {

// PTX has no more than a vector in an address.
constexpr int kDeepestBrackets = 8;

// Special registers of three parts, %tid.x.
bool IsVectorRegister(absl::string_view name) {
  static const auto* const kNames =
      new absl::btree_set<absl::string_view>({"%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid",
                                              "%nclusterid", "%cluster_ctaid", "%cluster_nctaid"});
  return kNames->contains(name);
}

// %pm3, %pm3_64, %envreg17
bool IsNumberedRegister(absl::string_view name) {
  if (absl::StartsWith(name, "%pm")) absl::ConsumeSuffix(&name, "_64");
  while (!name.empty() && absl::ascii_isdigit(name.back())) name.remove_suffix(1);
  return name == "%pm" || name == "%envreg" || name == "%reserved_smem_offset_";
}

bool IsScalarRegister(absl::string_view name) {
  static const auto* const kNames =
      new absl::btree_set<absl::string_view>({"%laneid",
                                              "%warpid",
                                              "%nwarpid",
                                              "%smid",
                                              "%nsmid",
                                              "%gridid",
                                              "%is_explicit_cluster",
                                              "%cluster_ctarank",
                                              "%cluster_nctarank",
                                              "%lanemask_eq",
                                              "%lanemask_le",
                                              "%lanemask_lt",
                                              "%lanemask_ge",
                                              "%lanemask_gt",
                                              "%clock",
                                              "%clock_hi",
                                              "%clock64",
                                              "%globaltimer",
                                              "%globaltimer_lo",
                                              "%globaltimer_hi",
                                              "%total_smem_size",
                                              "%aggr_smem_size",
                                              "%dynamic_smem_size",
                                              "%current_graph_exec",
                                              "%reserved_smem_offset_begin",
                                              "%reserved_smem_offset_end",
                                              "%reserved_smem_offset_cap"});
  return kNames->contains(name) || (absl::ascii_isdigit(name.back()) && IsNumberedRegister(name));
}

bool IsBranch(const Instruction& instruction) { return instruction.opcode == "bra"; }
bool IsCall(const Instruction& instruction) { return instruction.opcode == "call"; }

// Whether its operands may name a part of themselves: vadd.s32.s32.s32 %r1, %r2.b0, %r3.h1
bool SelectsParts(const Instruction& instruction) {
  static const auto* const kNames = new absl::btree_set<absl::string_view>(
      {"vadd",      "vsub",  "vabsdiff", "vmin",  "vmax",  "vshl",   "vshr",   "vmad",
       "vset",      "vadd2", "vadd4",    "vsub2", "vsub4", "vavrg2", "vavrg4", "vabsdiff2",
       "vabsdiff4", "vmin2", "vmin4",    "vmax2", "vmax4", "vset2",  "vset4"});
  return kNames->contains(instruction.opcode);
}

}  // namespace

// An operand, or a pair d|p.
Operand Parser::ParseOperand(Instruction* instruction) {
  const Token& token = cursor_.token();
  if (IsBranch(*instruction) && token.kind == Token::kName) {
    const Token name = cursor_.Next();
    labels_.Refer(
        {name.text, name.position, false, function_->body.size(), instruction->operands.size()});
    Operand label;
    label.kind = Operand::kLabel;
    label.name = std::string(name.text);
    return label;
  }
  if (IsCall(*instruction) && token.IsPunctuation("(")) return List(Operand::kArguments, ")");
  if (SelectsParts(*instruction)) return VideoOperand();
  Operand first = Simple();
  if (!cursor_.Accept("|")) return first;
  Operand pair;
  pair.kind = Operand::kPair;
  pair.parts.push_back(std::move(first));
  pair.parts.push_back(Simple());
  return pair;
}

// %r1, %r1.b0, -%r1
Operand Parser::VideoOperand() {
  const bool negated =
      cursor_.token().IsPunctuation("-") && cursor_.following().kind == Token::kName;
  if (negated) cursor_.Next();
  Operand operand = Simple();
  if (operand.kind != Operand::kRegister) return operand;
  operand.negated = negated;
  if (cursor_.token().kind == Token::kDotted) {
    absl::StrAppend(&operand.name, ".", cursor_.Next().text);
  }
  return operand;
}

Operand Parser::Simple() {
  const Token& token = cursor_.token();
  if (token.IsPunctuation("{") || token.IsPunctuation("[")) return Bracketed();
  if (token.IsPunctuation("!") && cursor_.following().kind == Token::kName) {
    cursor_.Next();
    const Position where = cursor_.token().position;
    Operand operand = NamedOperand();
    operand.negated = true;
    if (operand.kind != Operand::kRegister) {
      cursor_.Fail(where, "what follows ! is a predicate or a constant");
    }
    return operand;
  }
  if (StartsConstant(token)) return ConstantOperand();
  if (token.kind == Token::kName) return NamedOperand();
  cursor_.FailExpected("an operand");
  return {};
}

Operand Parser::Bracketed() {
  Operand operand;
  if (bracket_depth_ == kDeepestBrackets) {
    cursor_.Fail(cursor_.token().position,
                 absl::StrCat("operands are nested more than ", kDeepestBrackets, " deep"));
    return operand;
  }
  ++bracket_depth_;
  operand = cursor_.token().IsPunctuation("{") ? List(Operand::kVector, "}") : Address();
  --bracket_depth_;
  return operand;
}

Operand Parser::NamedOperand() {
  const Token name = cursor_.ExpectKind(Token::kName, "a name");
  Operand operand;
  operand.name = std::string(name.text);
  if (name.text == "_") return operand;
  const std::optional<Symbol> symbol = names_.Find(name.text, &function_->registers);
  if (!symbol) return Special(name);
  if (symbol->kind == Operand::kVector) return VectorRegister(*symbol, name.text);
  operand.kind = symbol->kind;
  operand.index = symbol->index;
  if (operand.kind != Operand::kRegister) {
    Element(&operand);
    Offset(&operand.bits);
  }
  return operand;
}

// v, or an element of it: v.x, v.r.
Operand Parser::VectorRegister(const Symbol& vector, absl::string_view name) {
  constexpr absl::string_view kColours = "rgba";
  const auto element = [&](int i) {
    Operand part;
    part.kind = Operand::kRegister;
    part.index = vector.index + i;
    part.name = absl::StrCat(name, ".", kElements.substr(static_cast<size_t>(i), 1));
    return part;
  };
  const auto count = static_cast<size_t>(vector.count);
  if (cursor_.token().kind == Token::kDotted && cursor_.token().text.size() == 1) {
    const Token chosen = cursor_.Next();
    const size_t i = std::min(kElements.substr(0, count).find(chosen.text),
                              kColours.substr(0, count).find(chosen.text));
    if (i == absl::string_view::npos) {
      cursor_.Fail(chosen.position,
                   absl::StrCat(Quoted(name), " has no element ", Describe(chosen)));
      return {};
    }
    return element(static_cast<int>(i));
  }
  Operand whole;
  whole.kind = Operand::kVector;
  whole.name = std::string(name);
  for (int i = 0; i < vector.count; ++i) whole.parts.push_back(element(i));
  return whole;
}

// a[5] of a variable: the address of that element.
void Parser::Element(Operand* operand) {
  const bool local = operand->kind == Operand::kLocalVariable;
  if ((!local && operand->kind != Operand::kVariable) || !cursor_.Accept("[")) return;
  const Position where = cursor_.token().position;
  const Constant element = ParseConstant(&cursor_);
  if (element.kind != Constant::kInteger) cursor_.Fail(where, "an index is an integer");
  cursor_.Expect("]");
  const std::vector<Variable>& variables = local ? function_->variables : module_.variables;
  const Variable& variable = variables[static_cast<size_t>(operand->index)];
  operand->bits += element.bits * BytesOf(variable.type) * static_cast<uint64_t>(variable.vector);
}

Operand Parser::Special(const Token& name) {
  Operand operand;
  operand.kind = Operand::kSpecialRegister;
  operand.name = std::string(name.text);
  if (IsVectorRegister(name.text) && cursor_.token().kind != Token::kDotted) {
    // All of it: three elements, and a fourth that is zero.
    Operand whole;
    whole.kind = Operand::kVector;
    whole.name = std::string(name.text);
    for (size_t i = 0; i < 3; ++i) {
      whole.parts.push_back(operand);
      absl::StrAppend(&whole.parts.back().name, ".", kElements.substr(i, 1));
    }
    whole.parts.emplace_back().kind = Operand::kInteger;
    return whole;
  }
  if (IsVectorRegister(name.text)) {
    const Token& part = cursor_.token();
    if (part.kind != Token::kDotted || (part.text != "x" && part.text != "y" && part.text != "z")) {
      cursor_.FailExpected(".x, .y or .z");
    }
    absl::StrAppend(&operand.name, ".", cursor_.Next().text);
  } else if (!IsScalarRegister(name.text)) {
    cursor_.Fail(name.position, absl::StrCat(Quoted(name.text), " is not declared"));
  }
  return operand;
}

Operand Parser::ConstantOperand() {
  const Token first = cursor_.token();
  const Constant constant = ParseConstant(&cursor_);
  Operand operand;
  operand.kind = constant.kind == Constant::kInteger ? Operand::kInteger
                 : constant.kind == Constant::kF32   ? Operand::kF32
                                                     : Operand::kF64;
  operand.bits = constant.bits;
  operand.name = std::string(cursor_.TextFrom(first));
  return operand;
}

// [a], [a+4], [16]; [a, {b, c}] of a texture.
Operand Parser::Address() {
  Operand address;
  address.kind = Operand::kAddress;
  cursor_.Expect("[");
  if (cursor_.token().kind == Token::kName && !StartsConstant(cursor_.token())) {
    address.parts.push_back(NamedOperand());
    // The offset is the address's, not the variable's.
    std::swap(address.bits, address.parts[0].bits);
    if (address.parts[0].kind == Operand::kRegister) Offset(&address.bits);
  } else {
    address.parts.push_back(ConstantOperand());
  }
  while (cursor_.Accept(",")) address.parts.push_back(Simple());
  cursor_.Expect("]");
  return address;
}

// {a, b} or (a, b)
Operand Parser::List(Operand::Kind kind, absl::string_view close) {
  Operand list;
  list.kind = kind;
  cursor_.Next();
  if (cursor_.Accept(close)) return list;
  do {
    list.parts.push_back(Simple());
  } while (cursor_.Accept(","));
  cursor_.Expect(close);
  return list;
}

// What may follow a name: + 4, +-4, + 4 * 2.
void Parser::Offset(uint64_t* bits) {
  while (cursor_.token().IsPunctuation("+")) {
    const Position where = cursor_.Next().position;
    const Constant term = ParseTerm(&cursor_);
    if (term.kind != Constant::kInteger) cursor_.Fail(where, "an offset is an integer");
    *bits += term.bits;
  }
}

std::optional<Symbol> Parser::Find(const Token& name) {
  std::optional<Symbol> symbol = names_.Find(name.text, &function_->registers);
  if (!symbol) cursor_.Fail(name.position, absl::StrCat(Quoted(name.text), " is not declared"));
  return symbol;
}

}  // namespace twinmmu::ptx
