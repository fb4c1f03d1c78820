// What the body of a function consists of.

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sim/ptx/text/parser.h"

namespace twinmmu::ptx {
namespace {

// Of blocks { } in a function. Each takes a few frames of the stack, and a name is looked up in
// all of them.
constexpr size_t kDeepestBlock = 64;
// Of .loc; as many as Module::files can have.
constexpr uint64_t kMostFiles = 65535;
constexpr uint64_t kMostLines = 1 << 30;

}  // namespace

void Parser::Block() {
  if (names_.depth() > kDeepestBlock) {
    return cursor_.Fail(cursor_.token().position,
                        absl::StrCat("blocks are nested more than ", kDeepestBlock, " deep"));
  }
  const size_t first = function_->variables.size();
  names_.Enter();
  BlockInScope();
  names_.Leave();
  const size_t end = function_->variables.size();
  for (size_t i = first; i < end; ++i) {
    size_t& known = function_->variables[i].block_end;
    known = std::min(known, end);
  }
}

// { statements }, whose names go to the innermost scope there is.
void Parser::BlockInScope() {
  labels_.Enter();
  cursor_.Expect("{");
  while (!cursor_.AtEnd() && !cursor_.token().IsPunctuation("}")) Statement();
  cursor_.Expect("}");
  labels_.Leave(function_, &cursor_);
}

void Parser::Statement() {
  const Token& token = cursor_.token();
  if (token.IsPunctuation("{")) return Block();
  if (token.kind == Token::kDotted) return StatementDirective();
  if (token.kind == Token::kName && cursor_.following().IsPunctuation(":")) return Label();
  ParseInstruction();
}

void Parser::StatementDirective() {
  if (cursor_.AcceptDotted("reg")) return RegisterDeclarations();
  if (cursor_.AcceptDotted("loc")) return Location();
  if (cursor_.AcceptDotted("pragma")) return Pragma();
  VariableDeclarations(ParseLinkage());
}

// name: what follows may be a list of targets, whose name it is.
void Parser::Label() {
  const Token name = cursor_.Next();
  cursor_.Expect(":");
  if (cursor_.AcceptDotted("branchtargets")) return BranchTargets(name);
  if (cursor_.AcceptDotted("calltargets")) return CallTargets(name);
  if (cursor_.AcceptDotted("callprototype")) return CallPrototype(name);
  if (!labels_.Add(name.text, static_cast<int>(function_->body.size()))) {
    cursor_.Fail(name.position, absl::StrCat("there are two labels ", Quoted(name.text)));
  }
}

// .reg .b32 %r<10>, %x; .reg .v4 .u32 %v;
void Parser::RegisterDeclarations() {
  const int elements = cursor_.AcceptDotted("v2") ? 2 : cursor_.AcceptDotted("v4") ? 4 : 1;
  const Token type_name = cursor_.ExpectKind(Token::kDotted, "a type");
  const std::optional<Type> type = TypeNamed(type_name.text);
  if (!type) {
    return cursor_.Fail(type_name.position,
                        absl::StrCat("found ", Describe(type_name), ", expected a type"));
  }
  do {
    const Token name = cursor_.ExpectKind(Token::kName, "the name of a register");
    bool added = false;
    if (elements > 1) {
      added = AddVector(name.text, *type, elements);
    } else if (cursor_.Accept("<")) {
      const uint64_t count = cursor_.ExpectKind(Token::kInteger, "a number of registers").bits;
      added = names_.AddRange(name.text, *type, count);
      cursor_.Expect(">");
    } else {
      added = names_.Add(name.text,
                         {Operand::kRegister, static_cast<int>(function_->registers.size())});
      function_->registers.push_back({std::string(name.text), *type});
    }
    if (!added) cursor_.Fail(name.position, absl::StrCat(Quoted(name.text), " is declared twice"));
  } while (cursor_.Accept(","));
  cursor_.Expect(";");
}

// A register for each element.
bool Parser::AddVector(absl::string_view name, Type type, int count) {
  const bool added =
      names_.Add(name, {Operand::kVector, static_cast<int>(function_->registers.size()), count});
  for (int i = 0; i < count; ++i) {
    function_->registers.push_back(
        {absl::StrCat(name, ".", kElements.substr(static_cast<size_t>(i), 1)), type});
  }
  return added;
}

// A file, a line and a column, of .loc.
std::optional<SourcePlace> Parser::Place() {
  const Position where = cursor_.token().position;
  const uint64_t file = cursor_.ExpectKind(Token::kInteger, "the number of a file").bits;
  const uint64_t line = cursor_.ExpectKind(Token::kInteger, "a line").bits;
  const uint64_t column = cursor_.ExpectKind(Token::kInteger, "a column").bits;
  if (file > kMostFiles || line > kMostLines || column > kMostLines) {
    cursor_.Fail(where, absl::StrCat("the number of a file is at most ", kMostFiles,
                                     ", of a line or column at most ", kMostLines));
    return std::nullopt;
  }
  // The .file may come later, or never.
  if (module_.files.size() <= file) module_.files.resize(static_cast<size_t>(file) + 1);
  return SourcePlace(static_cast<int>(file), static_cast<int>(line), static_cast<int>(column));
}

// .loc 1 10 5, function_name $L__info_string0, inlined_at 1 20 3
void Parser::Location() {
  const std::optional<SourcePlace> place = Place();
  absl::string_view function;
  uint64_t offset = 0;
  std::optional<SourcePlace> call;
  while (cursor_.Accept(",")) {
    const Token word = cursor_.ExpectKind(Token::kName, "function_name or inlined_at");
    if (word.text == "function_name") {
      function = cursor_.ExpectKind(Token::kName, "the label of a name").text;
      if (cursor_.Accept("+")) offset = cursor_.ExpectKind(Token::kInteger, "an offset").bits;
    } else if (word.text == "inlined_at") {
      call = Place();
    } else {
      cursor_.Fail(word.position, absl::StrCat("found ", Describe(word),
                                               ", expected function_name or inlined_at"));
    }
  }
  if (!place.has_value()) return;
  source_ = {std::get<0>(*place), std::get<1>(*place), -1};
  if (call.has_value()) {
    source_.inlined = inlined_calls_.Add(*place, function, offset, *call);
  } else {
    inlined_calls_.AddPlace(*place);
  }
}

// name: .branchtargets L1, L2;
void Parser::BranchTargets(const Token& label) {
  std::vector<int> targets;
  do {
    const Token name = cursor_.ExpectKind(Token::kName, "a label");
    labels_.Refer({name.text, name.position, true, function_->target_lists.size(), targets.size()});
    targets.push_back(-1);
  } while (cursor_.Accept(","));
  DeclareTargets(label, std::move(targets));
}

// name: .calltargets f, g;
void Parser::CallTargets(const Token& label) {
  std::vector<int> targets;
  do {
    const Token name = cursor_.ExpectKind(Token::kName, "a function");
    const std::optional<Symbol> symbol = Find(name);
    if (symbol && symbol->kind != Operand::kFunction) {
      cursor_.Fail(name.position, absl::StrCat(Quoted(name.text), " is not a function"));
    }
    targets.push_back(symbol ? symbol->index : -1);
  } while (cursor_.Accept(","));
  DeclareTargets(label, std::move(targets));
}

// name: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _);
void Parser::CallPrototype(const Token& label) {
  if (cursor_.token().IsPunctuation("(")) Parameters();
  cursor_.ExpectKind(Token::kName, "_");
  if (cursor_.token().IsPunctuation("(")) Parameters();
  cursor_.AcceptDotted("noreturn");
  DeclareTargets(label, {});
}

void Parser::DeclareTargets(const Token& label, std::vector<int> targets) {
  cursor_.Expect(";");
  const int index = static_cast<int>(function_->target_lists.size());
  function_->target_lists.push_back(std::move(targets));
  if (!names_.Add(label.text, {Operand::kTargets, index})) {
    cursor_.Fail(label.position, absl::StrCat(Quoted(label.text), " is declared twice"));
  }
}

// @!%p1 ld.global.v2.u32 {%r1, %r2}, [%rd1+8];
void Parser::ParseInstruction() {
  Instruction instruction;
  instruction.source = source_;
  Guard(&instruction);
  const Token opcode = cursor_.ExpectKind(Token::kName, "an instruction, a directive, or a label");
  instruction.position = opcode.position;
  instruction.opcode = std::string(opcode.text);
  while (cursor_.token().kind == Token::kDotted) {
    instruction.modifiers.emplace_back(cursor_.Next().text);
  }
  if (!cursor_.token().IsPunctuation(";")) {
    do {
      instruction.operands.push_back(ParseOperand(&instruction));
    } while (cursor_.Accept(","));
  }
  if (!cursor_.Accept(";")) cursor_.FailExpected("',' or ';'");
  function_->body.push_back(std::move(instruction));
}

void Parser::Guard(Instruction* instruction) {
  if (!cursor_.Accept("@")) return;
  instruction->guard_negated = cursor_.Accept("!");
  const Token name = cursor_.ExpectKind(Token::kName, "a predicate");
  const std::optional<Symbol> symbol = Find(name);
  if (!symbol) return;
  if (symbol->kind != Operand::kRegister ||
      function_->registers[static_cast<size_t>(symbol->index)].type != Type::kPred) {
    return cursor_.Fail(name.position, absl::StrCat(Quoted(name.text), " is not a predicate"));
  }
  instruction->guard = symbol->index;
}

}  // namespace twinmmu::ptx
