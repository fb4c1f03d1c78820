// Program: a small concurrent program over memory with aliases, and what its accesses are.
//
// A program is a list of threads, each with instructions of PTX. At the level of the host, each
// task of a stream (a launch, a copy, a fill) is a thread of its own whose start waits for the end
// of other threads.

#ifndef TWINMMU_SIM_COHERENCE_MODEL_LITMUS_PROGRAM_H_
#define TWINMMU_SIM_COHERENCE_MODEL_LITMUS_PROGRAM_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace twinmmu::coherence {

// Whether a multicast address and the unicast addresses under it count as one for strong operations
// of sufficient scope (the guide's example needs it), or as any two aliases (the formal model).
enum class MulticastMode { kGuide, kStrict };
// Whether the start of a grid is a boundary for that grid alone (the programming guide), or its
// edge counts like an alias fence for whoever comes later (PTX 8.9.4 read literally).
enum class BoundaryMode { kGuide, kPtx };

struct Modes {
  MulticastMode multicast = MulticastMode::kGuide;
  BoundaryMode boundary = BoundaryMode::kGuide;
};

// What a race is about: one address or two; kCrossDevice: two that are the mappings of different
// devices, which those in the field rarely fence. kProxy: two proxies, and no proxy fence between.
enum class Hazard { kData, kAlias, kCrossDevice, kProxy };
const char* NameOf(Hazard hazard);

// By which way an access goes to memory.
enum class Proxy : uint8_t { kGeneric, kAsync, kTexture, kSurface };

enum class Scope : uint8_t { kCta, kCluster, kGpu, kSys };

// What an operation does for the order of others. kWeak and kRelaxed: nothing.
enum class Semantics : uint8_t { kWeak, kRelaxed, kAcquire, kRelease, kAcquireRelease };

inline bool Acquires(Semantics s) {
  return s == Semantics::kAcquire || s == Semantics::kAcquireRelease;
}
inline bool Releases(Semantics s) {
  return s == Semantics::kRelease || s == Semantics::kAcquireRelease;
}

// Where a thread runs. `cta` and `cluster` are numbers within the GPU.
struct Place {
  int gpu = 0;
  int cluster = 0;
  int cta = 0;
};

// Whether `scope` of an operation at `from` includes a thread at `to`.
bool Includes(Scope scope, const Place& from, const Place& to);

enum class Arithmetic : uint8_t {
  kAdd,
  kExchange,
  kCompareAndSwap,
  kMin,
  kMax,
  kAnd,
  kOr,
  kXor,
  kIncrement,
  kDecrement
};

// What `operation` makes of `old`; of 32-bit values. `compare`: of kCompareAndSwap.
uint64_t Apply(Arithmetic operation, uint64_t old, uint64_t value, uint64_t compare);

// A constant, or a register of the thread.
struct Value {
  uint64_t constant = 0;
  int reg = -1;  // -1: the constant
};

enum class Comparison : uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };
bool Compare(uint64_t a, Comparison comparison, uint64_t b);

// "spin ld.acquire.gpu r0, flag until 1": the load is repeated until the value is so.
struct Until {
  Comparison comparison = Comparison::kEqual;
  uint64_t value = 0;
};

struct Instruction {
  enum Kind : uint8_t {
    kLoad,    // also multimem.ld_reduce: of an address with several locations
    kStore,   // also multimem.st
    kAtomic,  // also red, multimem.red
    kFence,
    kAliasFence,         // fence.proxy.alias
    kAliasReleaseFence,  // fence.proxy.alias.release.sys: half of one, and a release fence
    kAliasAcquireFence,
    kBarrier,        // bar.sync
    kBarrierArrive,  // bar.arrive
    kBarrierWait,    // mbarrier.try_wait, barrier.cluster.wait, the wait for an asynchronous copy
    kTrigger,        // griddepcontrol.launch_dependents
    kGridWait,       // griddepcontrol.wait
    kAsyncFence,     // fence.proxy.async
  };
  // Which threads meet at a barrier: those of the CTA or of the cluster, each time again; or
  // whichever arrive, once: an mbarrier.
  enum Meeting : uint8_t { kOfCta, kOfCluster, kOnce };
  Kind kind = kLoad;
  Semantics semantics = Semantics::kWeak;
  bool sequential = false;  // fence.sc
  Scope scope = Scope::kSys;
  int address = -1;  // Program::addresses
  int result = -1;   // a register; -1: none
  Value value;
  Value compare;
  Arithmetic operation = Arithmetic::kAdd;
  std::optional<Until> until;
  int barrier = 0;
  Meeting meeting = kOfCta;
  bool completes = false;  // the arrival of an asynchronous operation that is done: for all
  std::string text;        // as written

  bool IsAccess() const { return kind <= kAtomic; }
  bool IsFence() const {
    return kind == kFence || kind == kAliasReleaseFence || kind == kAliasAcquireFence;
  }
  bool Reads() const { return kind == kLoad || kind == kAtomic; }
  bool Writes() const { return kind == kStore || kind == kAtomic; }
  // Of an access: others may synchronise with it.
  bool IsStrong() const { return semantics != Semantics::kWeak; }
  bool IsBarrier() const { return kBarrier <= kind && kind <= kBarrierWait; }
  bool Arrives() const { return kind == kBarrier || kind == kBarrierArrive; }
};

struct Thread {
  enum Kind : uint8_t { kResident, kLaunch, kCopy, kFill };
  std::string name;       // "P0", "P0.2": the task of index 2 there, "P0.n1": a node of a graph
  int process = 0;        // the k of Pk
  Kind kind = kResident;  // kResident: of a PTX test, all such threads are there from the start
  int stream = 0;         // of a task
  Place place;
  std::vector<Instruction> instructions;
  std::vector<std::string> registers;
  // What it is if it is an asynchronous operation: the thread and the instruction that asked for
  // it.
  int issuer = -1;
  int issuer_index = -1;
  // What must be before this thread starts: the end of threads (a boundary), the start of others,
  // the trigger of others (no edges of the memory model).
  std::vector<int> after;
  std::vector<int> after_start;
  std::vector<int> after_trigger;
  bool host_waits = false;  // the host synchronised with `after` before it queued this task
};

// A virtual address, as one proxy uses it. One of a multicast object stands for several locations.
struct Address {
  std::string name;
  std::vector<int> locations;
  int device = -1;  // the device whose mapping it is, where that was said
  bool multicast = false;
  Proxy proxy = Proxy::kGeneric;
  int generic = -1;  // of another proxy: the address that it has in the generic one
};

struct MemoryLocation {
  std::string name;
  uint64_t initial = 0;
};

struct Program {
  std::vector<Address> addresses;
  std::vector<MemoryLocation> locations;
  std::vector<Thread> threads;
};

// The most events and threads that the exhaustive parts take.
constexpr int kMaxThreads = 16;

// One access of one location, or a fence, or the like. In program order within a thread; a store to
// a multicast address is one event per location, and an atomic operation is a read and a write.
struct Event {
  enum Kind : uint8_t { kStart, kEnd, kRead, kWrite, kOther, kArrive, kDepart };
  Kind kind = kOther;
  int thread = 0;
  int index = -1;  // of the instruction; of kStart -1, of kEnd the number of instructions
  int location = -1;
  int address = -1;
  int partner = -1;                          // the other half of an atomic operation
  const Instruction* instruction = nullptr;  // null: kStart, kEnd
};

// Where threads meet at that barrier: equal for those that do. `turn`: how often they have met
// there.
std::tuple<int, int, int, int> MeetingOf(const Place& place, const Instruction& barrier, int turn);
// Whether the one that leaves comes after what the one that arrives has done before.
bool Orders(const Instruction& arrival, const Place& from, const Instruction& departure,
            const Place& to);

// The instruction that was written: of an asynchronous operation, the one that asked for it.
std::pair<int, int> WrittenAt(const Program& program, int thread, int index);

// "P1 instruction 2 (ld.weak r1, y)": counted from 1.
std::string Describe(const Program& program, int thread, int index);

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_MODEL_LITMUS_PROGRAM_H_
