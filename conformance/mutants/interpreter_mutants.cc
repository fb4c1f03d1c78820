// Mutants of the interpreter: the tests of kernels notice what it does wrong.

#include <string>

#include "conformance/mutants/framework/ptx_mutant.h"
#include "conformance/mutants/kernel_mutant.h"

namespace twinmmu::conformance {
namespace {

// --- Threads, blocks and parameters

PTX_MUTANT(KERNEL_1, "mov.u32 *, %tid.x;", "mov.u32 $0, %laneid;",
           "The index of a thread begins anew in each warp.")
PTX_MUTANT(KERNEL_1, "mov.u32 *, %ctaid.x;", "mov.u32 $0, 0;", "Each block is the first.")
PTX_MUTANT(KERNEL_8, "mov.u32 *, %nctaid.x;", "mov.u32 $0, %nctaid.x; add.u32 $0, $0, 1;",
           "A kernel is told of one block more than there are.")
PTX_MUTANT(KERNEL_1, "ld.param.u64 *, [*_param_2];", "ld.param.u64 $0, [$1_param_1];",
           "The third parameter is the second.")
PTX_MUTANT(KERNEL_2, "ld.param.u32 *, [*_param_1];", "ld.param.u32 $0, [$1_param_0];",
           "A parameter of 4 bytes is the one before it.")
PTX_MUTANT(KERNEL_14, "atom.global.sys.add.u32 *, [*], 1;",
           "{ .reg .pred last; setp.eq.u32 last, %r5, 255; "
           "@!last atom.global.sys.add.u32 $0, [$1], 1; }",
           "The last thread of a block does nothing.")

class LeavesOutTheLastBlock : public Real {
 public:
  using Real::Real;
  CALL(Launch) override {
    LaunchConfig changed = config;
    if (changed.grid.x > 1) --changed.grid.x;
    return Real::Launch(stream, kernel, changed, arguments);
  }
};
INTERPRETER_MUTANT(KERNEL_14, LeavesOutTheLastBlock, "The last block is left out.")

// --- Loads, stores and additions

PTX_MUTANT(KERNEL_1, "st.global.v4.u32 [*], {*, *, *, *};",
           "st.global.v2.u32 [$0], {$1, $2}; st.global.u32 [$0+8], $3;",
           "Of a vector of four only three are stored.")
PTX_MUTANT(KERNEL_2, "ld.global.u32 *, [*];",
           "{ .reg .b16 half; ld.global.u16 half, [$1]; cvt.u32.u16 $0, half; }",
           "A load gives the lower half of the word.")
PTX_MUTANT(KERNEL_2, "st.global.u32 [*], *;",
           "{ .reg .b16 half; cvt.u16.u32 half, $1; st.global.u16 [$0], half; }",
           "A store leaves the upper half of the word.")
PTX_MUTANT(KERNEL_2, "st.global.u32 [*], *;", "st.global.u32 [$0], $1; st.global.u32 [$0+4], $1;",
           "A store takes 8 bytes.")
PTX_MUTANT(KERNEL_2, "atom.global.add.u32 *, [*], *;", "ld.global.u32 $0, [$1];",
           "An atomic add adds nothing.")
PTX_MUTANT(KERNEL_2, "atom.global.add.u32 *, [*], *;",
           "atom.global.add.u32 $0, [$1], $2; add.u32 $0, $0, $2;", "An atomic add gives the sum.")
PTX_MUTANT(KERNEL_2, "atom.global.add.u32 *, [*], *;", "atom.global.exch.b32 $0, [$1], $2;",
           "An atomic add stores what it should add.")

// For all atomic additions of many threads.
#define NOT_ATOMIC(rule_id)                                                        \
  PTX_MUTANT(rule_id, "atom.global.sys.add.u32 *, [*], 1;",                        \
             "ld.global.u32 $0, [$1]; add.u32 $0, $0, 1; st.global.u32 [$1], $0;", \
             "An addition is a load and a store, between which others come.")
NOT_ATOMIC(KERNEL_14)
NOT_ATOMIC(ALIAS_10)
NOT_ATOMIC(PEER_16)

// --- Which accesses fault

#define LOADS_UNCHECKED(rule_id)                                 \
  PTX_MUTANT(rule_id, "ld.global.u32 *, [*];", "mov.u32 $0, 0;", \
             "A load that may not be gives 0, and does not fault.")
LOADS_UNCHECKED(FAULT_3)
LOADS_UNCHECKED(FAULT_8)
LOADS_UNCHECKED(FAULT_10)
LOADS_UNCHECKED(PEER_13)

#define DROPS_STORES(rule_id) \
  PTX_MUTANT(rule_id, "st.global.u32 [*], *;", "", "A store that may not be is dropped.")
DROPS_STORES(FAULT_1)
DROPS_STORES(FAULT_2)
DROPS_STORES(FAULT_4)
DROPS_STORES(FAULT_7)
DROPS_STORES(FAULT_10)
DROPS_STORES(PEER_7)

#define DROPS_ADDITIONS(rule_id)                                          \
  PTX_MUTANT(rule_id, "atom.global.add.u32 *, [*], *;", "mov.u32 $0, 0;", \
             "An addition that may not be is dropped.")
DROPS_ADDITIONS(FAULT_7)
DROPS_ADDITIONS(FAULT_8)
DROPS_ADDITIONS(FAULT_10)
DROPS_ADDITIONS(PEER_13)

PTX_MUTANT(FAULT_7, "ld.global.u32 *, [*];",
           "{ .reg .pred null; setp.eq.u64 null, $1, 0; @!null ld.global.u32 $0, [$1]; }",
           "A load at null does not fault.")
PTX_MUTANT(FAULT_2, "atom.global.add.u32 *, [*], *;", "ld.global.u32 $0, [$1];",
           "An addition needs read access only.")

#define LOADS_AS_IF_TO_WRITE(rule_id)                                             \
  PTX_MUTANT(rule_id, "ld.global.u32 *, [*];", "atom.global.or.b32 $0, [$1], 0;", \
             "A load needs write access.")
LOADS_AS_IF_TO_WRITE(FAULT_2)
LOADS_AS_IF_TO_WRITE(PEER_13)

// What may be done with halves of words may not be done with words.
PTX_MUTANT(FAULT_9, "ld.global.u32 *, [*];",
           "{ .reg .b16 low, high; ld.global.u16 low, [$1]; ld.global.u16 high, [$1+2]; "
           "mov.b32 $0, {low, high}; }",
           "A load at an even address does not fault.")
PTX_MUTANT(FAULT_9, "st.global.u32 [*], *;",
           "{ .reg .b16 low, high; mov.b32 {low, high}, $1; st.global.u16 [$0], low; "
           "st.global.u16 [$0+2], high; }",
           "A store at an even address does not fault.")
PTX_MUTANT(FAULT_9, "atom.global.add.u32 *, [*], *;",
           "{ .reg .b64 word; and.b64 word, $1, -4; atom.global.add.u32 $0, [word], $2; }",
           "An addition is done in the word around the address.")

INTERPRETER_MUTANT(FAULT_1, StoresWithoutAccess, "A kernel stores without access.")
INTERPRETER_MUTANT(FAULT_2, StoresWithoutAccess, "A kernel stores to read-only memory.")
INTERPRETER_MUTANT(FAULT_2, AddsWithoutAccess, "A kernel adds to read-only memory.")
INTERPRETER_MUTANT(FAULT_8, LoadsWithoutAccess, "A kernel loads without access.")
INTERPRETER_MUTANT(FAULT_8, AddsWithoutAccess, "A kernel adds without access.")
INTERPRETER_MUTANT(PEER_7, StoresWithoutAccess, "A kernel stores to a peer's memory.")

// A translation is good for ever.
class NeverForgets : public Real {
 public:
  using Real::Real;
  CALL(Unmap) override { return Ok(); }
  CALL(Map) override {
    return IsMapped(range.base) ? Ok() : Real::Map(range, handle, offset, flags);
  }
};
INTERPRETER_MUTANT(FAULT_10, NeverForgets, "A translation outlives its mapping.")
INTERPRETER_MUTANT(KERNEL_10, NeverForgets, "A translation outlives its mapping.")
INTERPRETER_MUTANT(RUN_3, NeverForgets, "A translation outlives its mapping.")
INTERPRETER_MUTANT(RUN_8, NeverForgets, "A translation outlives its mapping.")

// Access stays for ever, and none is ever granted.
class KeepsAccess : public Real {
 public:
  using Real::Real;
  CALL(Launch) override {
    launched_ = true;
    return Real::Launch(stream, kernel, config, arguments);
  }
  CALL(SetAccess) override { return launched_ ? Ok() : Real::SetAccess(range, grants); }

 private:
  bool launched_ = false;
};
INTERPRETER_MUTANT(RUN_1, KeepsAccess, "A kernel keeps the access that it began with.")
INTERPRETER_MUTANT(RUN_4, KeepsAccess, "A kernel keeps the access that it began with.")
INTERPRETER_MUTANT(KERNEL_9, KeepsAccess, "The access of the first launch is that of all.")

// --- Kernels that go on

#define LOADS_PAST_THE_CACHE_UNCHECKED(rule_id)                                               \
  PTX_MUTANT(rule_id, "ld.relaxed.sys.global.u32 *, [%rd6];", "ld.global.ca.u32 $0, [%rd7];", \
             "A load past the cache is done elsewhere.")
LOADS_PAST_THE_CACHE_UNCHECKED(RUN_1)
LOADS_PAST_THE_CACHE_UNCHECKED(RUN_6)
LOADS_PAST_THE_CACHE_UNCHECKED(RUN_9)
LOADS_PAST_THE_CACHE_UNCHECKED(RUN_10)
PTX_MUTANT(RUN_2, "st.relaxed.sys.global.u32 [%rd6], *;", "",
           "A kernel that stores goes on without its memory.")
PTX_MUTANT(RUN_5, "st.relaxed.sys.global.u32 [%rd6], *;", "",
           "A kernel that stores goes on with read access.")
PTX_MUTANT(RUN_7, "atom.relaxed.sys.global.add.u32 *, [*], *;", "ld.global.u32 $0, [$1];",
           "A kernel that runs adds nothing.")

// --- Kernels that start early, and shared memory

PTX_MUTANT(KERNEL_15, "griddepcontrol.wait;", "", "A kernel does not wait for the one ahead.")
PTX_MUTANT(KERNEL_15, "griddepcontrol.wait;", "trap;", "A wait for the kernel ahead is a fault.")
PTX_MUTANT(KERNEL_16, "griddepcontrol.wait;", "trap;",
           "A wait where no kernel ahead is to be waited for is a fault.")

MUTANT_ON(kInterpreter, KERNEL_15, Launch, "No kernel may start early.") {
  if (config.programmatic_stream_serialization) return Refuse(DriverCode::kNotSupported);
  return Real::Launch(stream, kernel, config, arguments);
}

MUTANT_ON(kInterpreter, KERNEL_16, Launch, "Each kernel may start early.") {
  LaunchConfig changed = config;
  changed.programmatic_stream_serialization = true;
  return Real::Launch(stream, kernel, changed, arguments);
}

// Global memory, of which all blocks have the same.
MUTANT_ON(kInterpreter, KERNEL_17, LoadModule, "All blocks share their shared memory.") {
  std::string text = WithInstead(ptx, ".shared *;", ".global $0;");
  text = WithInstead(text, "st.shared.u32 *;", "st.global.u32 $0;");
  return Real::LoadModule(device, WithInstead(text, "ld.shared.u32 *;", "ld.global.u32 $0;"));
}

PTX_MUTANT(KERNEL_17, "ld.shared.u32 *, [*];",
           "{ .reg .pred first; setp.eq.u32 first, %r1, 0; mov.u32 $0, 0; "
           "@first ld.shared.u32 $0, [$1]; }",
           "Only the first thread finds what is in shared memory.")

// --- Barriers, branches and aliases

#define BARRIER_OF_A_WARP(rule_id)                                \
  PTX_MUTANT(rule_id, "bar.sync 0;", "bar.warp.sync 0xffffffff;", \
             "At a barrier a warp waits for itself alone.")
BARRIER_OF_A_WARP(ALIAS_4)
BARRIER_OF_A_WARP(ALIAS_5)
BARRIER_OF_A_WARP(ALIAS_11)
PTX_MUTANT(ALIAS_4, "@%p6 bra *;",
           "{ .reg .b32 all; .reg .pred any; activemask.b32 all; "
           "vote.sync.any.pred any, %p6, all; @any bra $0; }",
           "Where one thread of a warp jumps, all do.")

#define STALE(rule_id, load, before, sentence) \
  PTX_MUTANT(rule_id, "ld.global.ca.u32 " load ";", "mov.u32 " before ";", sentence)
STALE(ALIAS_1, "%r10, [%rd12]", "%r10, %r12", "In a thread the fence does nothing.")
STALE(ALIAS_4, "%r19, [%rd14]", "%r19, %r22", "In a block the fence does nothing.")
STALE(ALIAS_6, "%r32, [%rd17]", "%r32, %r36", "Between blocks the fence does nothing.")
STALE(ALIAS_11, "%r32, [%rd17]", "%r32, %r36", "Between blocks the fence does nothing.")
STALE(PEER_14, "%r32, [%rd17]", "%r32, %r36", "Between devices the fence does nothing.")

#define HALF_OF_A_WORD(rule_id)                                                     \
  PTX_MUTANT(rule_id, "ld.global.ca.u32 *, [*];",                                   \
             "{ .reg .b16 half; ld.global.u16 half, [$1]; cvt.u32.u16 $0, half; }", \
             "A load through the cache gives the lower half of the word.")
HALF_OF_A_WORD(ALIAS_2)
HALF_OF_A_WORD(ALIAS_7)
HALF_OF_A_WORD(PEER_15)
HALF_OF_A_WORD(RUN_8)

INTERPRETER_MUTANT(ALIAS_3, CachesLoads, "A load is cached from one kernel to the next.")
INTERPRETER_MUTANT(ALIAS_8, CachesLoads, "A load is cached from one stream to the other.")
INTERPRETER_MUTANT(PEER_17, CachesLoads, "A load of one device does not see the other's stores.")
INTERPRETER_MUTANT(ALIAS_7, LeavesOutTheLastBlock, "The second block does not run.")

INTERPRETER_MUTANT(KERNEL_11, FillsLate, "A kernel is overtaken by the copies behind it.")
INTERPRETER_MUTANT(KERNEL_12, FillsLate, "An event does not stand for the kernels before it.")
INTERPRETER_MUTANT(KERNEL_13, FillsLate, "A copy without a stream does not wait for kernels.")

}  // namespace
}  // namespace twinmmu::conformance
