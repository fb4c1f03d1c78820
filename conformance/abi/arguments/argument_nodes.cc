// A node of each type.

#include <cstring>

#include "conformance/abi/arguments/argument_values.h"

namespace twinmmu::abi {
namespace {

// CUgraphNodeParams.
struct NodeParameters {
  uint32_t type;
  uint32_t reserved[3];
  uint64_t words[29];
  uint64_t reserved2;
};

constexpr uint64_t kOnes = 1 | uint64_t{1} << 32;

uint32_t TypeOf(CallState state) {
  switch (state) {
    case CallState::kKernelNode:
      return CU_GRAPH_NODE_TYPE_KERNEL;
    case CallState::kCopyNode:
      return CU_GRAPH_NODE_TYPE_MEMCPY;
    case CallState::kFillNode:
      return CU_GRAPH_NODE_TYPE_MEMSET;
    case CallState::kHostNode:
      return CU_GRAPH_NODE_TYPE_HOST;
    case CallState::kChildGraphNode:
      return CU_GRAPH_NODE_TYPE_GRAPH;
    case CallState::kWaitNode:
      return CU_GRAPH_NODE_TYPE_WAIT_EVENT;
    case CallState::kRecordNode:
      return CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    case CallState::kAllocationNode:
      return CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    case CallState::kFreeNode:
      return CU_GRAPH_NODE_TYPE_MEM_FREE;
    case CallState::kBatchNode:
      return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    case CallState::kConditionalNode:
      return CU_GRAPH_NODE_TYPE_CONDITIONAL;
    default:
      return CU_GRAPH_NODE_TYPE_EMPTY;
  }
}

CUDA_MEMCPY3D CopyWithin(uint64_t memory) {
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = memory;
  copy.dstDevice = memory + 4096;
  copy.WidthInBytes = 16;
  copy.Height = copy.Depth = 1;
  return copy;
}

}  // namespace

void Arguments::MakeNode() {
  NodeParameters node = {};
  auto& words = node.words;
  const uint64_t batch[6] = {CU_STREAM_MEM_OP_WRITE_VALUE_32, handles_['D'], 1};
  const CUDA_MEMCPY3D copy = CopyWithin(handles_['D']);
  uint64_t made = 0;
  node.type = TypeOf(state_);
  switch (node.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      words[0] = handles_['F'];
      words[1] = words[2] = words[3] = kOnes;  // extents
      break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      words[1] = handles_['X'];
      std::memcpy(&words[2], &copy, sizeof(copy));
      break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
      words[0] = handles_['D'];
      words[2] = kOnes;  // the value, and bytes of an element
      words[3] = words[4] = 1;
      words[5] = handles_['X'];
      break;
    case CU_GRAPH_NODE_TYPE_HOST:
      words[0] = FunctionToCall();
      break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
      Need("cuGraphCreate", {At(&words[0]), 0});
      break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      words[0] = handles_['E'];
      break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      MakeAllocationNode(&words[0], &made);
      return Need("cuGraphAddNode_v2", {ResultOf('N'), handles_['G'], At(&made), 0, 1, At(&node)});
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return MakeAllocationNode(&made, &handles_['N']);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      words[0] = handles_['X'];
      words[1] = 1;
      words[2] = At(batch);
      break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      Need("cuGraphConditionalHandleCreate", {At(&words[0]), handles_['G'], handles_['X'], 0, 0});
      words[1] = uint64_t{1} << 32;  // if, of one graph
      words[3] = handles_['X'];
      break;
    default:
      break;
  }
  Need("cuGraphAddNode_v2", {ResultOf('N'), handles_['G'], 0, 0, 0, At(&node)});
}

void Arguments::MakeAllocationNode(uint64_t* memory, uint64_t* made) {
  NodeParameters node = {};
  node.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  node.words[0] = CU_MEM_ALLOCATION_TYPE_PINNED;
  node.words[1] = CU_MEM_LOCATION_TYPE_DEVICE;
  node.words[13] = 4096;  // bytes
  Need("cuGraphAddNode_v2", {At(made), handles_['G'], 0, 0, 0, At(&node)});
  *memory = node.words[14];
}

}  // namespace twinmmu::abi
