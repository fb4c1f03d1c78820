// The work of nodes, out of what the program describes, and back.

#ifndef TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPH_NODES_H_
#define TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPH_NODES_H_

#include <optional>
#include <string>
#include <vector>

#include "sim/calls/executor/loaded_module.h"
#include "sim/libcuda/graphs/graph_calls.h"

namespace twinmmu::libcuda {

// Each checks what the driver does when a node is made or changed. Nothing of it is done. `form`:
// of the launch that is captured.
CUresult MakeKernel(const CallSite& site, DriverState& driver, const CUDA_KERNEL_NODE_PARAMS& given,
                    KernelWork* made, const std::optional<LaunchForm>& form = std::nullopt);
// The same for a node that is there, which keeps its attributes.
CUresult RemakeKernel(const CallSite& site, DriverState& driver,
                      const CUDA_KERNEL_NODE_PARAMS& given, KernelWork* work);
CUresult MakeCopy(const CallSite& site, DriverState& driver, const CUDA_MEMCPY3D& given,
                  CUcontext context, CopyWork* made);
CUresult MakeFill(const CallSite& site, DriverState& driver, const CUDA_MEMSET_NODE_PARAMS& given,
                  CUcontext context, FillWork* made);
CUresult MakeHost(const CUDA_HOST_NODE_PARAMS& given, HostWork* made);
CUresult CheckEvent(const CallSite& site, DriverState& driver, CUevent event);

// How a kernel with these attributes is launched by a node.
LaunchForm FormOf(const LaunchAttributes& attributes);
// Whether the kernel can be launched with these attributes, in the shape that it has.
CUresult CheckAttributes(const CallSite& site, DriverState& driver, const KernelWork& work,
                         const LaunchAttributes& attributes);

// Check it as the functions above do; the second one asks nothing of the memory.
CUresult CheckCopy(const CallSite& site, DriverState& driver, const CopyWork& work);
CUresult CheckFillShape(const CallSite& site, DriverState& driver, const FillWork& work);
CUresult CheckFill(const CallSite& site, DriverState& driver, const FillWork& work);

// Whether the kernel may read or write what variables of its module stand for.
bool UsesReferences(const CallSite& site, DriverState& driver, const KernelWork& work);

// What it uses of memory, as that is now.
std::vector<RememberedMemory> MemoryOf(const CallSite& site, DriverState& driver,
                                       const GraphWork& work);

// The device on which it runs; none for the host's, which run anywhere.
std::optional<DeviceOrdinal> DeviceOf(DriverState& driver, const GraphWork& work);

// The context for whose kernels a driver makes room, which then stays: that of a kernel, of a copy
// from device to device and of a fill of rows, which are kernels too, and where devices decide what
// runs. Null: none.
Context* ContextOfKernels(DriverState& driver, const GraphWork& work);

// "the kernel node add", "the memset node".
std::string NameOf(const CallSite& site, DriverState& driver, const GraphWork& work);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPH_NODES_H_
