// Code: the functions of a program as arrays of steps, which is what warps run.
//
// Every value has a slot in the register memory of a frame, at a byte offset that is known here: a
// register, a constant, a special register alike. See sim/ptx/operations/operation.h for what a
// slot is.

#ifndef TWINMMU_SIM_PTX_PROGRAM_CODE_H_
#define TWINMMU_SIM_PTX_PROGRAM_CODE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/allocation.h"
#include "sim/coherence/model/ordering.h"
#include "sim/ptx/matrices/matrix_fragments.h"
#include "sim/ptx/operations/operation.h"
#include "sim/ptx/program/program.h"
#include "sim/ptx/program/texture_code.h"
#include "sim/ptx/text/module.h"

namespace twinmmu::ptx {

class Warp;
struct Step;

inline constexpr uint32_t kNoSlot = ~uint32_t{0};
inline constexpr uint32_t kSlotAlignment = 64;

// Generic addresses. Those of device memory are themselves; the windows lie where no device has
// memory, and their low 32 bits are the address in the space.
inline constexpr uint64_t kSharedWindow = uint64_t{0x41} << 56;
inline constexpr uint64_t kLocalWindow = uint64_t{0x42} << 56;
inline constexpr uint64_t kParamWindow = uint64_t{0x43} << 56;  // of a kernel
inline constexpr uint64_t kFunctionWindow = uint64_t{0x44} << 56;
inline constexpr uint64_t kWindowSize = uint64_t{1} << 32;
// Of an address in shared memory: its place in that of a block; above them is the rank of the block
// in its cluster.
inline constexpr int kSharedOfBlockBits = 24;

constexpr uint64_t AddressOfFunction(int index) {
  return kFunctionWindow + 16 * (static_cast<uint64_t>(index) + 1);
}

// How a warp goes on after a step.
enum class Flow : uint8_t {
  kNext,   // with the step behind it
  kMoved,  // where its groups of lanes now are
  kYield,  // the same, after other warps had their turn
  kFault,
};

// Does the step for `lanes`, which are in the running group of `warp`, and whose guard holds; may
// be none.
using Perform = Flow (*)(Warp& warp, const Step& step, Lanes lanes);

// How the host orders an access with others.
enum class Order : uint8_t { kWeak, kRelaxed, kAcquire, kRelease, kAcquireRelease, kSequential };

// The most bytes that one access has.
inline constexpr uint32_t kMaxAccess = 16;

// Where an access goes: the value of operands[address] plus `offset`, in `space`.
struct MemoryAccess {
  Space space = Space::kGeneric;
  bool own_block = false;  // .shared::cta: shared memory of no other block of the cluster
  bool wide = true;        // the address has 64 bits
  uint8_t bytes = 0;       // of an element
  uint8_t count = 1;       // elements, one behind the other
  Order order = Order::kWeak;
  coherence::Strength strength;  // to threads of the device, as PTX has it
  Access access = Access::kRead;
  uint64_t offset = 0;

  uint32_t size() const { return static_cast<uint32_t>(bytes) * count; }
};

struct Step {
  Compute compute = nullptr;  // or
  Perform perform = nullptr;
  std::array<uint32_t, kMaxOperands> operands = {};
  uint32_t guard = kNoSlot;
  bool guard_negated = false;
  bool branches = false;  // to `target`, those lanes whose guard holds
  uint8_t detail = 0;     // a form of the instruction; each `perform` says what it means
  uint32_t target = 0;    // a step; or an index into a table of the function
  int instruction = 0;    // of Function::body
  MemoryAccess memory;
};

// A slot that holds the same for all lanes, but for what kSpecial says.
struct FixedSlot {
  enum Base : uint8_t {
    kZero,
    kImage,    // the variables of the program, but for
    kManaged,  // a managed one; index: its number
    kShared,   // bits: offset; index: of Code::shared; behind what the device reserves
    kLocal,    // the local memory of the frame
    kSpecial,  // index: a Special, filled by lane
  };
  Base base = kZero;
  uint8_t width = 4;  // 2, 4 or 8; 0: a predicate
  int index = 0;
  uint64_t bits = 0;
  uint32_t slot = 0;
};

enum class Special : uint8_t {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLane,
  kWarp,
  kWarps,
  kSm,
  kSms,
  kGridId,
  kLanesEqual,
  kLanesBelowOrEqual,
  kLanesBelow,
  kLanesAboveOrEqual,
  kLanesAbove,
  kDynamicShared,
  kTotalShared,
  kAggregateShared,
  kReservedEnd,
  kReservedShared,
  kWorkspaceHigh,
  kWorkspaceLow,
  kClusterX,
  kClusterY,
  kClusterZ,
  kClustersX,
  kClustersY,
  kClustersZ,
  kInClusterX,
  kInClusterY,
  kInClusterZ,
  kOfClusterX,
  kOfClusterY,
  kOfClusterZ,
  kClusterRank,
  kClusterBlocks,
  kExplicitCluster,
  kOwnShared,  // where the shared memory of the block begins, as a generic address
  kZero,
  // Those that change while a warp runs: read by a step of their own.
  kClock,
  kClockHigh,
  kClock64,
  kTimer,
  kTimerHigh,
  kTimer64,
};
inline constexpr Special kFirstChanging = Special::kClock;

// A value that one frame passes to another: bytes of its parameter memory, from `at` on, or a slot.
struct Passed {
  uint32_t at = 0;
  uint32_t size = 0;
  uint8_t slot_width = 0;  // 0: not a slot
};

enum class Builtin : uint8_t { kNone, kPrint, kAssert, kAllocate, kFree, kSetCondition };

struct CallSite {
  int function = -1;  // -1: the address is in operands[0]
  Builtin builtin = Builtin::kNone;
  // One for one with FunctionCode::parameters and results of what is called.
  std::vector<Passed> arguments;
  std::vector<Passed> results;
};

// An instruction on matrices.
struct MatrixCode {
  std::shared_ptr<const MatrixForm> form;
  std::array<std::vector<uint32_t>, 4> slots;  // by MatrixOperand: of each register
  uint32_t metadata = kNoSlot;                 // of a sparse product
  int selector = 0;
  // Of one that loads or stores a fragment:
  MatrixOperand operand = kMatrixD;
  // By access and lane: strides * across + along bits are in front of it.
  std::vector<uint32_t> across;
  std::vector<uint32_t> along;
};

// A copy by a tensor map.
struct TensorCode {
  enum Form : uint8_t { kLoad, kStore, kReduce, kPrefetch };
  Form form = kLoad;
  bool im2col = false;
  std::string reduction;              // "add"
  std::vector<uint32_t> coordinates;  // slots
  std::vector<uint32_t> offsets;      // the same; of im2col
};

// A parameter of a function, not of a kernel, whose address is taken: it lies in local memory, and
// every call copies it there.
struct AddressedParameter {
  size_t parameter = 0;
  uint32_t local = 0;
};

struct FunctionCode {
  std::string name;
  bool entry = false;
  bool defined = false;
  std::vector<Step> steps;  // the last one ends the thread
  std::vector<FixedSlot> fixed;
  uint32_t register_bytes = 0;  // of a frame
  // The parameter memory of a lane: what it is passed, what it returns, what it passes. The first
  // part is shared by all lanes if it is a kernel.
  std::vector<Passed> parameters;
  std::vector<Passed> results;
  uint32_t passed_bytes = 0;
  uint32_t parameter_bytes = 0;
  uint32_t local_bytes = 0;  // of a lane
  std::vector<AddressedParameter> addressed;
  std::vector<CallSite> calls;
  std::vector<MatrixCode> matrices;
  std::vector<TensorCode> tensors;
  std::vector<TextureCode> textures;
  std::vector<std::vector<uint32_t>> target_lists;  // of steps
  std::vector<int> shared;                          // of Code::shared, that it has or names
  std::vector<int> callees;                         // it names
  bool calls_by_address = false;
  bool bulk_copies = false;       // it has some
  bool address_taken = false;     // by an instruction or a variable of the module
  std::vector<Refusal> refusals;  // of it: then no kernel runs that may reach it
  uint32_t first_site = 0;        // of the program: the id of the first instruction
};

struct SharedVariable {
  uint64_t size = 0;
  uint64_t alignment = 1;
  bool dynamic = false;  // begins behind all that have a size
};

// Where the shared variables of kernels lie.
struct SharedLayout {
  struct Place {
    int variable = 0;  // an index of Code::shared
    uint32_t offset = 0;
  };
  std::vector<Place> places;   // of those that they may reach, in order
  uint32_t static_bytes = 0;   // up to what has no size, where they may reach any
  uint32_t dynamic_begin = 0;  // of what has no size

  // Of one that they may reach.
  uint32_t OffsetOf(int variable) const;
};

struct KernelCode {
  int function = 0;
  std::shared_ptr<const SharedLayout> shared;  // kernels that may reach the same have the same
  bool bulk_copies = false;                    // it may reach some
};

struct Code {
  std::vector<FunctionCode> functions;  // by index of Module::functions
  std::vector<SharedVariable> shared;
  std::vector<KernelCode> kernels;  // by index of Program::kernels()
  // By index of Module::variables: its place in the image, or its number among managed ones.
  std::vector<uint64_t> image_offsets;
  uint32_t sites = 0;  // instructions of all functions
  Module module;       // for what is said of a fault
};

// Of an instruction of a function; nothing of what no instruction stands for.
CodePlace PlaceOf(const Code& code, size_t function, size_t instruction);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_PROGRAM_CODE_H_
