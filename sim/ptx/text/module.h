// Module: PTX text as data: what is declared, and the instructions, with every name resolved.

#ifndef TWINMMU_SIM_PTX_TEXT_MODULE_H_
#define TWINMMU_SIM_PTX_TEXT_MODULE_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sim/ptx/text/type.h"

namespace twinmmu::ptx {

// From 1; 0 where there is none.
struct Position {
  int line = 0;
  int column = 0;
};

// A line of the program that the PTX was made of, by .loc.
struct SourceLine {
  int file = 0;  // an index into Module::files, by the number that .file gives; 0: not known
  int line = 0;
  int inlined = -1;  // an index into Module::inlined_calls: where its function was inlined
};

// A call in whose place the code of the function stands, by .loc.
struct InlinedCall {
  int function = 0;  // an index into Module::inlined_functions
  SourceLine at;     // `inlined`, if it is, is the index of an earlier call
};

enum class Space : uint8_t { kGeneric, kGlobal, kShared, kLocal, kConst, kParam };

// Who sees what a module defines: the module alone, or those that it is linked with too. A weak
// definition gives way to another one; of common ones the largest is taken.
enum class Visibility : uint8_t { kPrivate, kVisible, kWeak, kCommon };

// A value of an initialiser: `address_of` names a variable or a function whose address it is (with
// `bits` added), else it is empty.
struct Initializer {
  uint64_t bits = 0;  // of the width of the variable's type
  std::string address_of;
  bool generic = false;  // generic(name): the address as a generic one
};

// A variable that stands for a texture or a surface: what that is, the driver's functions say.
enum class Reference : uint8_t { kNone, kTexture, kSurface };

// A variable of any space, a parameter of a function or kernel included.
struct Variable {
  Position position;
  std::string name;
  Space space = Space::kGlobal;
  Type type = Type::kB8;
  int vector = 1;      // .v2, .v4
  uint64_t count = 1;  // elements of an array; 0: of unknown size, `extern .shared x[]`
  uint64_t alignment = 1;
  bool external = false;
  Visibility visibility = Visibility::kPrivate;
  bool managed = false;  // .attribute(.managed): the CPU sees it too
  Reference reference = Reference::kNone;
  std::vector<Initializer> initial;  // element by element; the rest is 0
  // Of a function: the first of its variables that is declared behind the block of this one.
  size_t block_end = SIZE_MAX;

  uint64_t size() const { return BytesOf(type) * static_cast<uint64_t>(vector) * count; }
};

struct Register {
  std::string name;
  Type type = Type::kB32;
};

// What an operand names by number: the index of a register or a local variable in its function, of
// a variable or a function in its module.
struct Operand {
  enum Kind : uint8_t {
    kRegister,         // index: Function::registers; `negated`: !p
    kSpecialRegister,  // name: "%tid.x"
    kInteger,          // bits
    kF32,              // bits: 0f3F800000
    kF64,              // bits: 0d3FF0000000000000, or 1.0
    kLocalVariable,    // its address: Function::variables (.local, .shared, .param of a call) +
                       // offset
    kParameter,        // its address: Function::parameters + offset
    kResult,           // its address: Function::results + offset
    kVariable,         // its address: Module::variables + offset
    kFunction,         // index: Module::functions
    kLabel,            // index: of an instruction in Function::body (its size: the end)
    kTargets,          // of brx.idx, call: index into Function::target_lists
    kDiscard,          // _
    kVector,           // {a, b, ...}: parts
    kPair,             // d|p: parts
    kAddress,          // [a], [a+4]: parts[0] is a, which may be any of the above; bits: offset
    kArguments,        // (a, b) of a call: parts
  };
  Kind kind = kDiscard;
  bool negated = false;
  int index = -1;
  uint64_t bits = 0;
  std::string name;  // as written, for messages
  std::vector<Operand> parts;
};

// "@!%p1 ld.global.v2.u32 {%r1, %r2}, [%rd1+8];"
struct Instruction {
  Position position;
  SourceLine source;
  int guard = -1;  // a register; -1: none
  bool guard_negated = false;
  std::string opcode;                  // "ld"
  std::vector<std::string> modifiers;  // "global", "v2", "u32"
  std::vector<Operand> operands;
};

// What is PTX but is not covered here.
struct Unsupported {
  Position position;
  std::string words;  // ".blocksareclusters: the grid cannot be one of clusters"
};

struct Function {
  Position position;
  std::string name;
  bool entry = false;     // a kernel
  bool external = false;  // declared without a body
  Visibility visibility = Visibility::kPrivate;
  std::vector<Variable> parameters;
  std::vector<Variable> results;
  std::vector<Register> registers;  // those that are used
  std::vector<Variable> variables;
  std::vector<Instruction> body;
  // .branchtargets: indices of instructions; .calltargets: indices of functions; .callprototype:
  // empty, any function may be called.
  std::vector<std::vector<int>> target_lists;
  // .maxntid, .reqntid: 0 where not said; .minnctapersm.
  std::array<uint32_t, 3> max_threads = {0, 0, 0};
  std::array<uint32_t, 3> required_threads = {0, 0, 0};
  uint32_t minimum_blocks = 0;
  // .reqnctapercluster: 0 where not said; .maxclusterrank; .explicitcluster.
  std::array<uint32_t, 3> cluster = {0, 0, 0};
  uint32_t max_cluster_blocks = 0;
  bool explicit_cluster = false;
  std::vector<Unsupported> unsupported;  // its directives that are not covered
};

struct Module {
  int version = 0;                 // 75 for 7.5
  int target = 0;                  // 90 for sm_90, sm_90a
  bool of_one_target = false;      // sm_90a: may use what other targets lack; sm_100f alike
  bool debug = false;              // what the driver does not optimise
  bool separate_samplers = false;  // texmode_independent
  std::vector<std::string> files;  // by the number of .file; [0] is empty
  std::vector<InlinedCall> inlined_calls;
  std::vector<std::string> inlined_functions;  // as a linker knows them; empty: not known
  std::vector<Variable> variables;
  std::vector<Function> functions;
};

// InvalidArgument: the first thing that is wrong, with line and column, what stands there, and what
// was expected. Unimplemented: it is PTX, but has no place in a Module. OutOfRange: the PTX is of a
// newer version than is known. Any text gets an answer: no input makes it crash, hang, or take
// memory out of proportion to the text. All indices of the result are of something that is there,
// and the sizes of all its variables together are less than 2^53.
absl::StatusOr<Module> Parse(absl::string_view text);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_TEXT_MODULE_H_
