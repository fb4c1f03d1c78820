// CallGraph: which functions a kernel may reach.

#ifndef TWINMMU_SIM_PTX_DECODE_CALL_GRAPH_H_
#define TWINMMU_SIM_PTX_DECODE_CALL_GRAPH_H_

#include <vector>

#include "sim/ptx/program/code.h"

namespace twinmmu::ptx {

// A call by address may reach every function whose address is taken.
class CallGraph {
 public:
  // Which of these matter: that it has shared variables, or an instruction that is not covered. The
  // functions must outlive this object.
  explicit CallGraph(const std::vector<FunctionCode>& functions);

  // Those that matter, of `kernel` and what it may reach; the nearest first.
  std::vector<int> Reached(int kernel);

 private:
  // Calls visit(other) for each function that `node` calls or names. The node behind the last
  // function stands for a call by address.
  template <typename Visit>
  void ForEachCallee(size_t node, const Visit& visit) const;

  const std::vector<FunctionCode>& functions_;
  std::vector<int> by_address_;  // functions whose address is taken
  std::vector<bool> matters_;
  std::vector<bool> leads_there_;  // to one that matters; nothing else has to be looked at
  std::vector<int> seen_;          // the last kernel for which it was
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_DECODE_CALL_GRAPH_H_
