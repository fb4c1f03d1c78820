// Captures of stream-ordered memory, and of operations on words of memory.

#include <utility>

#include "sim/libcuda/graphs/batch_nodes.h"
#include "sim/libcuda/graphs/captures/capture_rules.h"
#include "sim/libcuda/graphs/captures/captured_work.h"
#include "sim/libcuda/graphs/memory_nodes.h"

namespace twinmmu::libcuda {

Captured CaptureAllocation(const CallSite& site, DriverState& driver, Context& context, size_t size,
                           std::optional<CUmemoryPool> pool, CUstream stream,
                           CUdeviceptr* address) {
  return CaptureWork(
      site, driver, context, stream, nullptr, [&](std::optional<GraphWork>* work) -> CUresult {
        *address = 0;
        if (pool.has_value() && *pool == nullptr) return ToResult(DriverCode::kInvalidValue);
        if (size == 0) return CUDA_SUCCESS;
        Graph& graph = *driver.captures.Find(NameOf(context, stream))->capture->graph;
        const NewNode node = {nullptr, HandleOf<CUgraph>(graph.id()), nullptr, nullptr, 0};
        CUDA_MEM_ALLOC_NODE_PARAMS params = {};
        params.poolProps.allocType = static_cast<int>(AllocationType::kPinned);
        params.poolProps.location = {static_cast<int>(LocationType::kDevice),
                                     OwnerOf(driver, stream, context).device.value()};
        params.bytesize = size;
        AllocWork made;
        const CUresult possible = MakeAlloc(site, driver, graph, node, params, &made);
        if (possible != CUDA_SUCCESS) return possible;
        *address = made.params.dptr;
        *work = std::move(made);
        return CUDA_SUCCESS;
      });
}

Captured CaptureFree(const CallSite& site, DriverState& driver, Context& context,
                     CUdeviceptr address, CUstream stream) {
  return CaptureWork(
      site, driver, context, stream, nullptr, [&](std::optional<GraphWork>* work) -> CUresult {
        if (address == 0) return CUDA_SUCCESS;  // and there is no node
        const Graph& graph = *driver.captures.Find(NameOf(context, stream))->capture->graph;
        const NewNode node = {nullptr, HandleOf<CUgraph>(graph.id()), nullptr, nullptr, 0};
        FreeWork made;
        const CUresult possible = MakeFree(driver, graph, node, address, &made);
        if (possible == CUDA_SUCCESS) *work = made;
        return possible;
      });
}

Captured CaptureBatch(const CallSite& site, DriverState& driver, Context& context,
                      BatchVersion version, absl::Span<const CUstreamBatchMemOpParams> operations,
                      CUstream stream) {
  return CaptureWork(
      site, driver, context, stream, nullptr, [&](std::optional<GraphWork>* work) -> CUresult {
        BatchWork made;
        const CUresult possible = MakeBatch(driver, context, version, operations, &made);
        if (possible == CUDA_SUCCESS) *work = std::move(made);
        return possible;
      });
}

}  // namespace twinmmu::libcuda
