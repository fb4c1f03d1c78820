// Nodes of graphs: how they are added, and set in graphs and executables.

#include <cstring>

#include "conformance/abi/values/cases/all_cases.h"
#include "conformance/abi/values/cases/copy_fields.h"
#include "conformance/abi/values/cases/graph_objects.h"

namespace twinmmu::abi {
namespace {

void VaryKernel(Trial& trial, CUDA_KERNEL_NODE_PARAMS& params) {
  trial.Any(FIELD(params.gridDimX));
  trial.Any(FIELD(params.gridDimY));
  trial.Any(FIELD(params.gridDimZ));
  trial.Any(FIELD(params.blockDimX));
  trial.Any(FIELD(params.blockDimY));
  trial.Any(FIELD(params.blockDimZ));
  trial.Any(FIELD(params.sharedMemBytes));
}
void AddKernel(Trial& trial) {
  const OwnGraph graph;
  CUDA_KERNEL_NODE_PARAMS params = OwnGraph::KernelParams();
  VaryKernel(trial, params);
  CUgraphNode node = nullptr;
  trial.Answer(Call("cuGraphAddKernelNode_v2", &node, graph.get(), nullptr, 0, &params));
  trial.Answer(graph.Instantiated());
}
void SetKernel(Trial& trial) {
  const OwnGraph graph;
  const CUgraphNode node = graph.AddKernel();
  const OwnExecutable executable(graph);
  CUDA_KERNEL_NODE_PARAMS params = OwnGraph::KernelParams();
  VaryKernel(trial, params);
  trial.Answer(Call("cuGraphExecKernelNodeSetParams_v2", executable.get(), node, &params));
  trial.Answer(Call("cuGraphKernelNodeSetParams_v2", node, &params));
}

using Fill = CUDA_MEMSET_NODE_PARAMS;
Fill OneRow() { return {Memory(), 0, 0, 4, 16, 1}; }
Fill FourRows(unsigned int element) { return {Memory(), 512, 0, element, 16, 4}; }
void VaryFill(Trial& trial, Fill& fill) {
  trial.Offset(kBytes, FIELD(fill.dst));
  trial.Size(FIELD(fill.pitch));
  trial.Any(FIELD(fill.value));
  trial.Any(FIELD(fill.elementSize));
  trial.Size(FIELD(fill.width));
  trial.Size(FIELD(fill.height));
}
CUgraphNode Added(const OwnGraph& graph, const Fill& fill) {
  CUgraphNode node = nullptr;
  Must("cuGraphAddMemsetNode", &node, graph.get(), nullptr, 0, &fill, PrimaryContext());
  return node;
}
void AddFill(Trial& trial, Fill fill) {
  const OwnGraph graph;
  VaryFill(trial, fill);
  CUgraphNode node = nullptr;
  const CUresult result =
      Call("cuGraphAddMemsetNode", &node, graph.get(), nullptr, 0, &fill, PrimaryContext());
  trial.Answer(result);
  if (result != CUDA_SUCCESS) return;
  trial.Answer(graph.Instantiated());
  Fill told = {};
  Must("cuGraphMemsetNodeGetParams", node, &told);
  if (std::memcmp(&told, &fill, sizeof(fill)) == 0) return;
  trial.Tell(told.pitch, told.value, told.elementSize, told.width, told.height);
}
void SetFill(Trial& trial, Fill fill) {
  const OwnGraph graph;
  const CUgraphNode node = Added(graph, fill);
  const OwnExecutable executable(graph);
  VaryFill(trial, fill);
  trial.Answer(
      Call("cuGraphExecMemsetNodeSetParams", executable.get(), node, &fill, PrimaryContext()));
  trial.Answer(Call("cuGraphMemsetNodeSetParams", node, &fill));
}
void AddRowFill(Trial& trial) { AddFill(trial, OneRow()); }
void AddRowsFill(Trial& trial) { AddFill(trial, FourRows(1)); }
void SetRowFill(Trial& trial) { SetFill(trial, OneRow()); }
void SetRowsFill(Trial& trial) { SetFill(trial, FourRows(2)); }

CUDA_MEMCPY3D BoxCopy() {
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = Memory();
  copy.dstDevice = OtherMemory();
  copy.srcPitch = copy.dstPitch = 512;
  copy.srcHeight = copy.dstHeight = 8;
  copy.WidthInBytes = 100;
  copy.Height = 4;
  copy.Depth = 1;
  return copy;
}
CUDA_MEMCPY3D RowCopy() {
  CUDA_MEMCPY3D copy = BoxCopy();
  copy.srcPitch = copy.dstPitch = 0;
  copy.srcHeight = copy.dstHeight = 0;
  copy.Height = 1;
  return copy;
}
void AddCopy(Trial& trial) {
  const OwnGraph graph;
  CUDA_MEMCPY3D copy = BoxCopy();
  VaryBox(trial, copy);
  CUgraphNode node = nullptr;
  trial.Answer(
      Call("cuGraphAddMemcpyNode", &node, graph.get(), nullptr, 0, &copy, PrimaryContext()));
  trial.Answer(graph.Instantiated());
}
void SetCopyTo(Trial& trial, CUDA_MEMCPY3D copy) {
  const OwnGraph graph;
  CUgraphNode node = nullptr;
  Must("cuGraphAddMemcpyNode", &node, graph.get(), nullptr, 0, &copy, PrimaryContext());
  const OwnExecutable executable(graph);
  VaryBox(trial, copy);
  trial.Answer(
      Call("cuGraphExecMemcpyNodeSetParams", executable.get(), node, &copy, PrimaryContext()));
  trial.Answer(Call("cuGraphMemcpyNodeSetParams", node, &copy));
}
void SetCopy(Trial& trial) { SetCopyTo(trial, BoxCopy()); }
void SetRowCopy(Trial& trial) { SetCopyTo(trial, RowCopy()); }

void AddAllocationWith(Trial& trial, size_t grants) {
  {
    const OwnGraph graph;
    CUmemAccessDesc grant = ReadWrite();
    CUDA_MEM_ALLOC_NODE_PARAMS params = {};
    params.poolProps.allocType = 1;
    params.poolProps.location = OnDevice();
    params.bytesize = 4096;
    params.accessDescs = &grant;
    params.accessDescCount = grants;
    trial.Any(FIELD(params.poolProps.allocType));
    trial.Any(FIELD(params.poolProps.handleTypes));
    trial.Any(FIELD(params.poolProps.location.type));
    trial.Any(FIELD(params.poolProps.location.id));
    trial.Any(FIELD(params.poolProps.maxSize));
    trial.Any(FIELD(params.poolProps.usage));
    trial.Memory(FIELD(params.bytesize));
    trial.UpTo(1, FIELD(params.accessDescCount));
    trial.Any(FIELD(grant.location.type));
    trial.Any(FIELD(grant.location.id));
    trial.Any(FIELD(grant.flags));
    CUgraphNode node = nullptr;
    trial.Answer(Call("cuGraphAddMemAllocNode", &node, graph.get(), nullptr, 0, &params));
  }
  Must("cuDeviceGraphMemTrim", 0);
}
void AddAllocation(Trial& trial) { AddAllocationWith(trial, 0); }
void AddGrantedAllocation(Trial& trial) { AddAllocationWith(trial, 1); }

void AddBatch(Trial& trial) {
  const OwnGraph graph;
  CUstreamBatchMemOpParams writes[2] = {};
  writes[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  writes[0].writeValue.address = Memory();
  writes[1] = writes[0];
  CUDA_BATCH_MEM_OP_NODE_PARAMS params = {PrimaryContext(), 2, writes, 0};
  trial.UpTo(2, FIELD(params.count));
  trial.Any(FIELD(params.flags));
  trial.Any(FIELD(writes[0].operation));
  trial.Offset(kBytes, FIELD(writes[0].writeValue.address));
  trial.Any(FIELD(writes[0].writeValue.flags));
  CUgraphNode node = nullptr;
  trial.Answer(Call("cuGraphAddBatchMemOpNode", &node, graph.get(), nullptr, 0, &params));
  trial.Answer(graph.Instantiated());
}

void AddNode(Trial& trial, const OwnGraph& graph, CUgraphNodeParams& params) {
  CUgraphNode node = nullptr;
  trial.Answer(Call("cuGraphAddNode_v2", &node, graph.get(), nullptr, nullptr, 0, &params));
}
// Others have pointers among their parameters.
bool HasNoPointers(uint64_t type) {
  return type == CU_GRAPH_NODE_TYPE_MEMSET || type == CU_GRAPH_NODE_TYPE_EMPTY ||
         type > CU_GRAPH_NODE_TYPE_CONDITIONAL;
}
void AddAnyNode(Trial& trial) {
  const OwnGraph graph;
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_EMPTY;
  trial.Where(HasNoPointers, FIELD(params.type));
  trial.Any(FIELD(params.reserved0[0]));
  trial.Any(FIELD(params.reserved1[0]));
  trial.Any(FIELD(params.reserved2));
  AddNode(trial, graph, params);
}
void AddFillNode(Trial& trial) {
  const OwnGraph graph;
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_MEMSET;
  params.memset = {Memory(), 0, 0, 4, 16, 1, PrimaryContext()};
  trial.Size(FIELD(params.memset.pitch));
  trial.Any(FIELD(params.memset.value));
  trial.Any(FIELD(params.memset.elementSize));
  trial.Size(FIELD(params.memset.width));
  trial.Size(FIELD(params.memset.height));
  trial.Any(FIELD(params.reserved0[1]));
  trial.Any(FIELD(params.reserved1[7]));  // behind the fill
  trial.Any(FIELD(params.reserved2));
  AddNode(trial, graph, params);
}
void AddConditional(Trial& trial) {
  const OwnGraph graph;
  CUgraphConditionalHandle handle = 0;
  Must("cuGraphConditionalHandleCreate", &handle, graph.get(), PrimaryContext(), 0, 0);
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  params.conditional = {handle, CU_GRAPH_COND_TYPE_IF, 1, nullptr, PrimaryContext()};
  trial.Any(FIELD(params.conditional.type));
  trial.UpTo(4096, FIELD(params.conditional.size));
  AddNode(trial, graph, params);
}
void SetEnabled(Trial& trial) {
  const OwnGraph graph;
  const CUgraphNode node = graph.AddKernel();
  const OwnExecutable executable(graph);
  unsigned int enabled = 0;
  trial.Any(FIELD(enabled));
  trial.Answer(Call("cuGraphNodeSetEnabled", executable.get(), node, enabled));
  unsigned int told = 77;
  Must("cuGraphNodeGetEnabled", executable.get(), node, &told);
  trial.Tell(told);
}

}  // namespace

std::vector<Case> GraphNodeCases() {
  return {{"cuGraphAddKernelNode", AddKernel},
          {"cuGraphKernelNodeSetParams", SetKernel},
          {"cuGraphAddMemsetNode/row", AddRowFill},
          {"cuGraphAddMemsetNode/rows", AddRowsFill},
          {"cuGraphMemsetNodeSetParams/row", SetRowFill},
          {"cuGraphMemsetNodeSetParams/rows", SetRowsFill},
          {"cuGraphAddMemcpyNode", AddCopy},
          {"cuGraphMemcpyNodeSetParams/box", SetCopy},
          {"cuGraphMemcpyNodeSetParams/row", SetRowCopy},
          {"cuGraphAddMemAllocNode", AddAllocation},
          {"cuGraphAddMemAllocNode/granted", AddGrantedAllocation},
          {"cuGraphAddBatchMemOpNode", AddBatch},
          {"cuGraphAddNode/any", AddAnyNode},
          {"cuGraphAddNode/fill", AddFillNode},
          {"cuGraphAddNode/conditional", AddConditional},
          {"cuGraphNodeSetEnabled", SetEnabled}};
}

}  // namespace twinmmu::abi
