// What nodes decide by. Codes are those of an H100 with driver 580.159.

#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/graphs/graph_calls.h"

namespace twinmmu::libcuda {

extern "C" CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* handle, CUgraph graph,
                                                   CUcontext context, unsigned int value,
                                                   unsigned int flags) {
  const CallSite site = TWINMMU_HERE;
  return EnterGraph(site, graph, {handle},
                    [&](DriverState& driver, Graphs&, Graph& found) -> CUresult {
                      if (context == nullptr) return ToResult(DriverCode::kInvalidContext);
                      Context* of = nullptr;
                      const DriverCode known = FindAlive(site, driver, context, &of);
                      if (known != DriverCode::kSuccess) return ToResult(known);
                      if ((flags & ~CU_GRAPH_COND_ASSIGN_DEFAULT) != 0) return kInvalidValue;
                      const CUresult fault = FaultOf(site, driver);
                      if (fault != CUDA_SUCCESS) return fault;
                      const auto made = std::make_shared<const Condition>(
                          driver.simulator->kernels().conditions(), of, value, flags != 0);
                      found.Add(made);
                      *handle = made->handle;
                      return CUDA_SUCCESS;
                    });
}

}  // namespace twinmmu::libcuda
