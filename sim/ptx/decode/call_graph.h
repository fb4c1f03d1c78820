// CallGraph: which functions a kernel may reach.

#ifndef TWINMMU_SIM_PTX_DECODE_CALL_GRAPH_H_
#define TWINMMU_SIM_PTX_DECODE_CALL_GRAPH_H_

#include <cstddef>
#include <vector>

#include "sim/ptx/program/code.h"

namespace twinmmu::ptx {

// A call by address may reach every function whose address is taken.
class CallGraph {
 public:
  // What matters of these is that one has shared variables, uses the heap, names a texture or
  // surface by a variable, or has an instruction that is not covered.
  explicit CallGraph(const std::vector<FunctionCode>& functions);

  // Those that matter, of `kernel` and what it may reach; the nearest first.
  std::vector<int> Reached(int kernel);

 private:
  std::vector<int> From(size_t start, bool through_addresses);

  const size_t by_address_;  // the node that stands for a call by address, behind the functions
  std::vector<bool> matters_;
  std::vector<std::vector<size_t>> callees_;  // those that matter, or lead to one that does
  std::vector<size_t> seen_;                  // from which node it was last
  std::vector<int> reached_by_address_;
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_DECODE_CALL_GRAPH_H_
