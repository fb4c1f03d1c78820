// Parser: how Parse of sim/ptx/text/module.h does it.

#ifndef TWINMMU_SIM_PTX_TEXT_PARSER_H_
#define TWINMMU_SIM_PTX_TEXT_PARSER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sim/ptx/text/cursor.h"
#include "sim/ptx/text/expression.h"
#include "sim/ptx/text/inlined_calls.h"
#include "sim/ptx/text/labels.h"
#include "sim/ptx/text/module.h"
#include "sim/ptx/text/name_scopes.h"

namespace twinmmu::ptx {

// By recursive descent. Each function parses what its name says, from the cursor on; after an
// error it returns anything.
class Parser {
 public:
  explicit Parser(absl::string_view text) : cursor_(text), inlined_calls_(&module_, text.size()) {}

  // Once.
  absl::StatusOr<Module> Run();

 private:
  // What may stand before a declaration.
  struct Linkage {
    bool external = false;
    Visibility visibility = Visibility::kPrivate;
    Position position;
  };
  // Of a vector, in order.
  static constexpr absl::string_view kElements = "xyzw";
  // The dimensions of an array, from the outermost; with the vector as the last one.
  using Dimensions = std::vector<uint64_t>;

  // parser.cc: the module.
  void Header();
  void Version();
  void Target();
  // Whether this PTX is older than `version`, from which on there is `what`: it fails then.
  bool IsOlderThan(int version, absl::string_view what, const Position& where);
  void AddressSize();
  void ModuleDirective();
  void File();
  void Section();
  void Pragma();
  Linkage ParseLinkage();

  // parser_declarations.cc: variables, parameters, initial values.
  void VariableDeclarations(const Linkage& linkage);
  Variable VariableType(const Linkage& linkage);
  uint64_t Alignment();
  Variable ReferenceTo(Variable variable);
  void NoSampler(const Position& where);
  void Attributes(Variable* variable);
  std::vector<Variable> Parameters();
  void PointerAttributes();
  Dimensions Declarator(Variable* variable);
  void InitialValues(Variable* variable, Dimensions* dimensions);
  void InitialList(Variable* variable, const Dimensions& dimensions, size_t level);
  void LeaveOut(uint64_t values, Variable* variable);
  Initializer InitialValue(const Variable& variable);
  Initializer InitialAddress(const Variable& variable);
  Initializer InitialConstant(const Variable& variable);
  void DeclareInModule(Variable variable, absl::string_view name);
  void DeclareInFunction(Variable variable, absl::string_view name);

  // parser_functions.cc: functions and kernels.
  void FunctionDeclaration(const Linkage& linkage, bool entry);
  void PerformanceDirectives(Function* function);
  uint32_t Limit();
  std::array<uint32_t, 3> Limits();
  int DeclareFunction(const Function& function, absl::string_view name);
  void Body(Function* function);
  void DeclareParameters(const std::vector<Variable>& parameters, Operand::Kind kind);

  // parser_statements.cc: what a body consists of.
  void Block();
  void BlockInScope();
  void Statement();
  void StatementDirective();
  void Label();
  void RegisterDeclarations();
  bool AddVector(absl::string_view name, Type type, int count);
  void Location();
  std::optional<SourcePlace> Place();
  void BranchTargets(const Token& label);
  void CallTargets(const Token& label);
  void CallPrototype(const Token& label);
  void DeclareTargets(const Token& label, std::vector<int> targets);
  void ParseInstruction();
  void Guard(Instruction* instruction);

  // parser_operands.cc
  Operand ParseOperand(Instruction* instruction);
  Operand VideoOperand();
  Operand Simple();
  Operand Bracketed();
  Operand NamedOperand();
  Operand VectorRegister(const Symbol& vector, absl::string_view name);
  Operand Special(const Token& name);
  Operand ConstantOperand();
  Operand Address();
  Operand List(Operand::Kind kind, absl::string_view close);
  void Element(Operand* operand);
  void Offset(uint64_t* bits);
  std::optional<Symbol> Find(const Token& name);

  Cursor cursor_;
  Names names_;
  Labels labels_;
  Module module_;
  Function* function_ = nullptr;  // whose body this is; null outside
  SourceLine source_;
  InlinedCalls inlined_calls_;
  int bracket_depth_ = 0;
  uint64_t bytes_ = 0;     // of all variables so far
  uint64_t left_out_ = 0;  // values that lists of initial values had not
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_TEXT_PARSER_H_
