// Histories: what calls of several threads at once answered, and whether some order of them
// explains it.
//
// A call takes effect at one moment between its begin and its end, says api/vmm.h. So there must be
// an order, in which a call that ended before another began comes first, such that the model, given
// the calls in that order, answers each as the implementation did, and is then in its state.
//
// A copy or fill has two moments, says api/executor.h: at one it is taken or refused, at a later
// one it runs. It faults if, and only if, some of its memory is not accessible when it runs. One
// that was refused has only the first. One that ran could have been taken at that very moment, so
// that two are tried only of those that faulted.

#ifndef TWINMMU_CONFORMANCE_LINEARIZABILITY_THREAD_HISTORY_H_
#define TWINMMU_CONFORMANCE_LINEARIZABILITY_THREAD_HISTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "conformance/linearizability/tape.h"
#include "conformance/random/checker.h"
#include "conformance/random/random_call.h"

namespace twinmmu::conformance::linearizability {

// One call. Begin and end are times of one clock, which ticks at each of them.
struct Operation {
  int thread = 0;
  random::Call call;
  Tape tape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Makes the calls of each thread in their order, all threads at once, in the state where `before`
// stands. Its implementation is a TapedVmm and a TapedExecutor. Threads do not see each other's
// results: a call refers to what `before` has and to results of its own thread.
std::vector<Operation> Record(const random::Checker& before,
                              const std::vector<std::vector<random::Call>>& threads);

struct Orders {
  // Where the model is after each order that explains everything; one of each shape.
  std::vector<random::Checker> ends;
  uint64_t tried = 0;  // calls given to a model
};

// All orders of the operations that explain their answers, and the state in which the
// implementation is now.
Orders Explain(const random::Checker& before, std::vector<Operation>& operations);

// One line for each: thread, times, kind and codes.
std::string Print(const std::vector<Operation>& operations);

}  // namespace twinmmu::conformance::linearizability

#endif  // TWINMMU_CONFORMANCE_LINEARIZABILITY_THREAD_HISTORY_H_
