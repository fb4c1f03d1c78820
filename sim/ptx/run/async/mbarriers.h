// Mbarriers: the mbarrier objects in the shared memory of a block.

#ifndef TWINMMU_SIM_PTX_RUN_ASYNC_MBARRIERS_H_
#define TWINMMU_SIM_PTX_RUN_ASYNC_MBARRIERS_H_

#include <cstdint>
#include <map>
#include <string>

#include "sim/coherence/monitor/alias_monitor.h"

namespace twinmmu::ptx {

// What the 64 bits of an mbarrier object and of a state are.
struct MbarrierState {
  uint32_t expected = 0;  // arrivals of a phase
  uint32_t pending = 0;   // of them, that have not come in this one
  int32_t bytes = 0;      // of transactions, that are expected in this phase and have not come
  bool odd = false;       // the parity of the phase

  uint64_t bits() const;
  static MbarrierState Of(uint64_t bits);
};

// An object is known from its init to its inval, and its 64 bits are those that the last operation
// left: so the use of memory that holds none, or that was overwritten, is noticed. For one thread.
class Mbarriers {
 public:
  static constexpr int32_t kMost = (1 << 20) - 1;  // arrivals; bytes of transactions

  struct Object {
    uint64_t bits = 0;
    uint32_t failed_waits = 0;  // in this phase
    // What came before the arrivals of this phase, and of the one before it.
    coherence::AliasMonitor::Meeting meeting;
    coherence::AliasMonitor::Meeting completed;
  };

  // What is wrong, in words, or null; then nothing was done. `at`: an address in shared memory;
  // `memory`: its 8 bytes.
  const char* Init(uint32_t at, char* memory, uint32_t count);
  const char* Invalidate(uint32_t at, char* memory);
  // The object at an address. Null: there is none, and *wrong says why.
  Object* Find(uint32_t at, const char* memory, const char** wrong);

  // Of an object that was found. Each may complete the phase.
  struct Arrival {
    uint32_t count = 1;
    uint32_t bytes = 0;        // expected before it
    bool drops = false;        // and is not expected in later phases
    bool may_complete = true;  // else it is wrong if it does
  };
  static const char* Arrive(Object* object, char* memory, const Arrival& arrival);
  static const char* ExpectBytes(Object* object, char* memory, uint32_t bytes);
  static const char* CompleteBytes(Object* object, char* memory, uint32_t bytes);
  // cp.async.mbarrier.arrive: one more arrival is to come in this phase.
  static const char* AddPending(Object* object, char* memory);

  // "an even phase of the mbarrier at shared address 0x400, which has 3 of 4 arrivals to come"
  std::string InWords(uint32_t at) const;
  void Clear() { objects_.clear(); }

 private:
  static const char* Finish(MbarrierState state, Object* object, char* memory);

  std::map<uint32_t, Object> objects_;
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_ASYNC_MBARRIERS_H_
