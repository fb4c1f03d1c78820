// Grid: one launch of a kernel, run a slice at a time.

#ifndef TWINMMU_SIM_PTX_RUN_GRID_H_
#define TWINMMU_SIM_PTX_RUN_GRID_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/address.h"
#include "api/allocation.h"
#include "api/executor.h"
#include "sim/coherence/model/vector_clock.h"
#include "sim/coherence/monitor/alias_monitor.h"
#include "sim/coherence/monitor/site_table.h"
#include "sim/mmu/mmu.h"
#include "sim/ptx/program/program.h"
#include "sim/ptx/textures/texture_table.h"

namespace twinmmu::ptx {

class DeviceHeap;
class GraphConditions;
class IdleBlocks;

struct Launch {
  std::shared_ptr<const Program> program;
  const KernelInfo* kernel = nullptr;  // of the program
  DeviceOrdinal device;
  LaunchConfig config;           // no dimension 0; within the limits of the device
  std::vector<char> parameters;  // KernelInfo::parameter_bytes
  DeviceAddress image;           // where the program's variables lie, but for
  std::shared_ptr<const std::vector<AddressRange>> managed;  // those that are managed, by number
  DeviceAddress workspace;  // of a cooperative launch: for the synchronisation of its grid
  std::shared_ptr<const TextureTable> textures;  // null: there is none
  TextureTable::Moment launched;                 // those of this moment are found
  std::shared_ptr<GraphConditions> conditions;   // of a node of a graph; null: it is none
  std::shared_ptr<DeviceHeap> heap;              // of a kernel that uses it; null: it is empty
  Dim3 cluster;                   // in blocks; each dimension divides that of the grid
  bool explicit_cluster = false;  // the launch or the kernel says so
  uint64_t call_id = 0;           // in the history of the machine
};

// Why a grid ended before its end.
struct GridFault {
  enum Kind {
    kNone,
    kIllegalAddress,  // nothing is mapped there, or the device has not the access
    kMisalignedAddress,
    kMulticastAddress,    // of a multicast address, neither multimem nor a plain store
    kNoMulticastAddress,  // multimem of an address that is no multicast one
    kIllegalInstruction,  // a construct that has no meaning when it is reached
    kNoTexture,           // a texture or surface, or a place in one, that is not there
    kUndefined,           // what PTX gives no meaning, and a device cannot do
    kTrap,
    kAssert,
    kStackOverflow,  // calls nested too deeply
    kHeapMisuse,     // free of what was freed before
    kDeadlock,       // every thread waits for another
    kBudget,         // it ran for longer than the profile allows
    kOutOfMemory,    // of the host that simulates it
  };
  Kind kind = kNone;
  std::string kernel;
  CodePlace place;
  Dim3 thread;
  Dim3 block;
  DeviceAddress address;  // of an access
  Bytes size;
  Access access = Access::kNone;
  std::string words;  // what else there is to say
};

// An asynchronous copy and a thread, or another copy, access the same bytes, and nothing orders the
// one with the other.
struct AsyncHazard {
  std::string first;   // "kernel k, PTX line 12, st.shared.u32"
  std::string second;  // the same
  bool first_writes = false;
  bool second_writes = false;
  bool bulk = true;            // else it is a cp.async
  bool waits_missing = false;  // nobody has waited for the copy; else a fence is missing
  DeviceAddress address;       // where they meet
  bool shared = false;         // in shared memory
  Dim3 thread;                 // of the second
  Dim3 block;
};
using ReportAsyncHazard = std::function<void(const AsyncHazard&)>;

// Lanes of a warp wait for one barrier at different instructions, and these want them together.
struct DivergentBarrier {
  std::string first;   // "kernel k, PTX line 12, bar.sync"
  std::string second;  // the same
  Dim3 thread;         // of the second
  Dim3 block;
};
using ReportDivergentBarrier = std::function<void(const DivergentBarrier&)>;

// What a grid runs on, which must outlive it.
struct GridEnvironment {
  Mmu* mmu = nullptr;
  SiteTable* sites = nullptr;                  // that its instructions get places in
  coherence::AliasMonitor* aliases = nullptr;  // that observes its accesses
  // Called once for each pair of instructions, with mmu->mutex held, shared, by any thread; may be
  // null.
  ReportAsyncHazard on_async_hazard = nullptr;
  ReportDivergentBarrier on_divergent_barrier = nullptr;  // the same
  std::shared_ptr<IdleBlocks> idle = nullptr;             // null: blocks end with their grid
};

// For grids of one machine, which must outlive it.
std::shared_ptr<IdleBlocks> MakeIdleBlocks();
// Those of the kernels of a program, which is not used any more.
void Forget(IdleBlocks& idle, const Program* program);

// Blocks run one after another, as many at once as the device holds if some of them wait for
// others. Run may be called by one thread at a time; it uses the threads it was made with.
class Grid {
 public:
  enum class State {
    kRunning,  // there is more to do
    kWaiting,  // the same, but no thread got anywhere in this slice: all of them poll or sleep
    kDone,
    kFaulted,
  };

  // `threads`: of the host, at least 1.
  Grid(const GridEnvironment& environment, Launch launch, int threads);
  ~Grid();
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  // Before the first Run: what was complete before the grid starts, for the alias monitor.
  void StartAfter(const coherence::Clocks& before);
  // From now on griddepcontrol.wait waits, until ReleaseWaits says what it has waited for. Not
  // while Run is.
  void HoldWaits();
  void ReleaseWaits(const coherence::Clocks& ahead);

  // Runs about `instructions` thread-instructions, or to the end. Holds mmu.mutex, shared, on the
  // way, and lets go of it now and then so that calls that change memory get their turn: what they
  // take away is not there for the next access. A slice ends where LetsNextStart becomes true. Does
  // not throw.
  State Run(uint64_t instructions);

  // Whether each block has executed griddepcontrol.launch_dependents, or has ended. May be called
  // while Run is.
  bool LetsNextStart() const;

  // What its blocks that have not ended have cost the host so far: one for each instruction of a
  // warp, and one more for each of its lanes that accesses memory or does something with others.
  // Turns in which a block only polls do not count.
  uint64_t unfinished_work() const;
  // Of that, what each has cost since it last stored to memory that is there after it.
  uint64_t fruitless_work() const;
  // Of one of these blocks, or of its cluster: where its threads are, and which of them wait for
  // which. Not while Run is.
  std::string WhoWaits() const;

  // Once it is kFaulted.
  const GridFault& fault() const;
  // Once it is kDone or kFaulted: what was complete before it, and what it did itself.
  const coherence::Clocks& clocks() const;

  // Whether a thread has found something in the mapping of this id. May be called while Run is.
  bool HasUsed(uint32_t mapping) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_GRID_H_
