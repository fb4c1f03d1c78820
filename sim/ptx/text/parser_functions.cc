// Functions and kernels.

#include <array>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sim/ptx/text/parser.h"

namespace twinmmu::ptx {
namespace {

// In number, size and alignment of each.
bool SameShape(const std::vector<Variable>& a, const std::vector<Variable>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].size() != b[i].size() || a[i].alignment != b[i].alignment) return false;
  }
  return true;
}

}  // namespace

// .func [(results)] name [(parameters)] [directives] ; or { body }, and the same of .entry.
void Parser::FunctionDeclaration(const Linkage& linkage, bool entry) {
  Function function;
  function.entry = entry;
  function.visibility = linkage.visibility;
  if (!entry && cursor_.token().IsPunctuation("(")) function.results = Parameters();
  const Token name = cursor_.ExpectKind(Token::kName, "the name of a function");
  function.position = name.position;
  function.name = std::string(name.text);
  if (cursor_.token().IsPunctuation("(")) function.parameters = Parameters();
  PerformanceDirectives(&function);
  if (!cursor_.status().ok()) return;
  const bool has_body = cursor_.token().IsPunctuation("{");
  const int index = DeclareFunction(function, name.text);
  if (!has_body) return cursor_.Expect(";");
  if (!cursor_.status().ok()) return;
  if (linkage.external) {
    return cursor_.Fail(linkage.position, "a function with a body is not .extern");
  }
  Body(&function);
  module_.functions[static_cast<size_t>(index)] = std::move(function);
}

void Parser::PerformanceDirectives(Function* function) {
  while (cursor_.token().kind == Token::kDotted) {
    const Token name = cursor_.Next();
    if (name.text == "maxntid") {
      function->max_threads = Limits();
    } else if (name.text == "reqntid") {
      function->required_threads = Limits();
    } else if (name.text == "minnctapersm") {
      function->minimum_blocks = Limit();
    } else if (name.text == "maxnctapersm" || name.text == "maxnreg") {
      Limit();
    } else if (name.text == "maxclusterrank") {
      function->max_cluster_blocks = Limit();
    } else if (name.text == "reqnctapercluster") {
      function->cluster = Limits();
    } else if (name.text == "explicitcluster") {
      function->explicit_cluster = true;
    } else if (name.text == "pragma") {
      Pragma();
    } else if (name.text == "blocksareclusters") {
      function->unsupported.push_back(
          {name.position, ".blocksareclusters: a grid that counts clusters is not supported"});
    } else if (name.text != "noreturn") {
      cursor_.Fail(name.position,
                   absl::StrCat("found ", Describe(name),
                                ", expected a directive of a function, or its body"));
    }
  }
}

uint32_t Parser::Limit() {
  const Position where = cursor_.token().position;
  const uint64_t limit = cursor_.ExpectKind(Token::kInteger, "a number").bits;
  if (limit > std::numeric_limits<uint32_t>::max()) {
    cursor_.Fail(where, absl::StrCat("the limit is ", limit, ", more than 2^32 - 1"));
  }
  return static_cast<uint32_t>(limit);
}

// 128 or 16, 8 or 8, 8, 2: of those that are not said, 1.
std::array<uint32_t, 3> Parser::Limits() {
  std::array<uint32_t, 3> limits = {Limit(), 1, 1};
  for (size_t i = 1; i < 3 && cursor_.Accept(","); ++i) limits[i] = Limit();
  return limits;
}

// Its index. A function may be declared any number of times, and defined once.
int Parser::DeclareFunction(const Function& function, absl::string_view name) {
  const bool has_body = cursor_.token().IsPunctuation("{");
  const Symbol symbol{Operand::kFunction, static_cast<int>(module_.functions.size())};
  if (names_.Add(name, symbol)) {
    module_.functions.push_back(function);
    module_.functions.back().external = true;
    return symbol.index;
  }
  const Symbol known = *names_.Find(name, nullptr);  // no registers are declared in a module
  const bool is_function = known.kind == Operand::kFunction;
  Function* earlier = is_function ? &module_.functions[static_cast<size_t>(known.index)] : nullptr;
  if (earlier == nullptr || (has_body && !earlier->external)) {
    cursor_.Fail(function.position, absl::StrCat(Quoted(name), " is declared twice"));
  } else if (earlier->entry != function.entry ||
             !SameShape(earlier->parameters, function.parameters) ||
             !SameShape(earlier->results, function.results)) {
    cursor_.Fail(function.position,
                 absl::StrCat(Quoted(name), " was declared in another way at line ",
                              earlier->position.line));
  }
  return known.index;
}

void Parser::Body(Function* function) {
  function_ = function;
  source_ = {};
  inlined_calls_.BeginFunction();
  names_.Enter();
  DeclareParameters(function->parameters, Operand::kParameter);
  DeclareParameters(function->results, Operand::kResult);
  BlockInScope();
  names_.Leave();
  function_ = nullptr;
}

void Parser::DeclareParameters(const std::vector<Variable>& parameters, Operand::Kind kind) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Variable& parameter = parameters[i];
    if (parameter.name != "_" && !names_.Add(parameter.name, {kind, static_cast<int>(i)})) {
      cursor_.Fail(parameter.position, absl::StrCat(Quoted(parameter.name), " is declared twice"));
    }
  }
}

}  // namespace twinmmu::ptx
