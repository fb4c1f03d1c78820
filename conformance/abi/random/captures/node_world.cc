#include "conformance/abi/random/captures/node_world.h"

#include <cstring>
#include <memory>
#include <sstream>

#include "conformance/abi/streams/batch_operations.h"

namespace twinmmu::abi {
namespace {

constexpr char kKernels[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry add(.param .u64 to, .param .u32 value) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [to];
  ld.param.u32 %r1, [value];
  cvta.to.global.u64 %rd2, %rd1;
  red.global.add.u32 [%rd2], %r1;
  ret;
}
.visible .entry set(.param .u64 to, .param .u32 value) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [to];
  ld.param.u32 %r1, [value];
  cvta.to.global.u64 %rd2, %rd1;
  st.global.u32 [%rd2], %r1;
  ret;
}
)";

void CountCall(void* calls) { ++*static_cast<std::atomic<int>*>(calls); }
void CountTwo(void* calls) { *static_cast<std::atomic<int>*>(calls) += 2; }

void RollKernel(ProgramWorld& world, NodeWork* work, std::ostream& text) {
  const NodeWorld& nodes = NodesOf(world);
  const size_t offset = 4 * world.Below(256);
  const bool adds = world.OneIn(2);
  work->to = nodes.memory + offset;
  work->value = static_cast<unsigned>(world.Below(1000));
  CUDA_KERNEL_NODE_PARAMS& kernel = work->kernel;
  kernel.func = adds ? nodes.add : nodes.set;
  kernel.gridDimX = world.OneIn(30) ? 0 : 1 + unsigned(world.Below(4));
  kernel.gridDimY = world.OneIn(30) ? 70000 : 1;
  kernel.gridDimZ = 1;
  kernel.blockDimX = world.OneIn(30) ? 1025 : 1 + unsigned(world.Below(64));
  kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.sharedMemBytes = world.OneIn(25) ? 1u << 20 : world.Of({0u, 0u, 96u, 1024u});
  kernel.kernelParams = world.OneIn(25) ? nullptr : work->arguments;
  text << (adds ? "add " : "set ") << offset << ' ' << work->value << ' ' << kernel.gridDimX << ' '
       << kernel.gridDimY << ' ' << kernel.blockDimX << ' ' << kernel.sharedMemBytes << ' '
       << (kernel.kernelParams != nullptr);
}

void RollFill(ProgramWorld& world, NodeWork* work, std::ostream& text) {
  CUDA_MEMSET_NODE_PARAMS& fill = work->fill;
  const size_t offset = 4 * world.Below(256) + (world.OneIn(30) ? 1 : 0);
  fill.dst = world.OneIn(25) ? 0 : NodesOf(world).memory + offset;
  fill.value = static_cast<unsigned>(world.Below(1000));
  fill.elementSize = world.OneIn(20) ? world.Of({3u, 8u}) : world.Of({1u, 2u, 4u, 4u});
  fill.width = world.OneIn(20) ? 0 : 1 + world.Below(32);
  fill.height = world.OneIn(25) ? 0 : world.Of<size_t>({1, 1, 1, 1, 2});
  fill.pitch = world.Of<size_t>({256, 256, 256, 256, 0, 8});
  // What a driver makes of the other bits of the value depends on how it divides the rows.
  if (fill.height > 1 && fill.elementSize == 1) fill.value &= 0xff;
  text << (fill.dst != 0) << ' ' << offset << ' ' << fill.value << ' ' << fill.elementSize << ' '
       << fill.width << ' ' << fill.height << ' ' << fill.pitch;
}

void RollCopy(ProgramWorld& world, NodeWork* work, std::ostream& text) {
  CUDA_MEMCPY3D& copy = work->copy;
  const CUdeviceptr memory = NodesOf(world).memory;
  const size_t from = world.Below(1024);
  const size_t to = 2048 + world.Below(1024);
  const int type = world.OneIn(20) ? 9 : CU_MEMORYTYPE_DEVICE;
  copy.srcMemoryType = static_cast<CUmemorytype>(type);
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = memory + from;
  copy.dstDevice = world.OneIn(20) ? 0 : memory + to;
  copy.WidthInBytes =
      world.OneIn(16) ? world.Of<size_t>({0, size_t{1} << 34}) : 1 + world.Below(256);
  copy.Height = world.OneIn(20) ? 0 : 1;
  copy.Depth = 1;
  text << from << ' ' << to << ' ' << type << ' ' << (copy.dstDevice != 0) << ' '
       << copy.WidthInBytes << ' ' << copy.Height;
}

void RollBatch(ProgramWorld& world, NodeWork* work, std::ostream& text) {
  const size_t offset = 3584 + 8 * world.Below(32) + (world.OneIn(12) ? 2 : 0);
  const CUdeviceptr word = NodesOf(world).memory + offset;
  const uint64_t value = world.Below(1000);
  const unsigned int flags = world.OneIn(16) ? 0x80 : 0;
  work->operations[0] = Operation(CU_STREAM_MEM_OP_WRITE_VALUE_32, word, value, flags);
  // It waits for what was just written, and so not at all.
  const int second = world.Of<int>({CU_STREAM_MEM_OP_WAIT_VALUE_32, CU_STREAM_MEM_OP_WRITE_VALUE_64,
                                    CU_STREAM_MEM_OP_WRITE_VALUE_32});
  const bool waits = second == CU_STREAM_MEM_OP_WAIT_VALUE_32;
  work->operations[1] =
      Operation(second, waits ? word : word + 256, value, waits ? CU_STREAM_WAIT_VALUE_EQ : 0);
  work->batch = {world.OneIn(16) ? nullptr : world.context,
                 static_cast<unsigned>(world.Of({2, 2, 2, 2, 1, 0})), work->operations,
                 world.OneIn(16) ? 1u : 0u};
  text << offset << ' ' << value << ' ' << flags << ' ' << second << ' ' << work->batch.count << ' '
       << (work->batch.context != nullptr) << ' ' << work->batch.flags;
}

}  // namespace

NodeWorld& NodesOf(ProgramWorld& world) {
  if (world.nodes_that_run != nullptr) return *world.nodes_that_run;
  world.nodes_that_run = std::make_shared<NodeWorld>();
  NodeWorld& nodes = *world.nodes_that_run;
  world.Say(cuMemAlloc(&nodes.memory, 2 * NodeWorld::kBytes), "cuMemAlloc", "for nodes");
  cuMemsetD8(nodes.memory, 0, 2 * NodeWorld::kBytes);
  nodes.captured = nodes.memory + NodeWorld::kBytes;
  world.Say(cuModuleLoadData(&nodes.module, kKernels), "cuModuleLoadData", "for nodes");
  cuModuleGetFunction(&nodes.add, nodes.module, "add");
  cuModuleGetFunction(&nodes.set, nodes.module, "set");
  for (CUevent& event : nodes.events) cuEventCreate(&event, 0);
  // Loads what a driver loads when it is first used.
  unsigned int value = 0;
  void* arguments[] = {&nodes.memory, &value};
  for (const CUfunction function : {nodes.add, nodes.set}) {
    cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr);
  }
  cuCtxSynchronize();
  return nodes;
}

NodeGraph* AnyGraph(ProgramWorld& world) {
  NodeWorld& nodes = NodesOf(world);
  return nodes.graphs.empty() ? nullptr : &nodes.graphs[world.Below(nodes.graphs.size())];
}

const NodeOfGraph* AnyNodeOf(ProgramWorld& world, const NodeGraph* graph) {
  if (graph == nullptr || graph->nodes.empty()) return nullptr;
  return &graph->nodes[world.Below(graph->nodes.size())];
}

uint64_t HashOf(CUdeviceptr memory, size_t bytes) {
  std::vector<unsigned char> found(bytes);
  cuMemcpyDtoH(found.data(), memory, bytes);
  return HashOfBytes(found.data(), found.size());
}

void RollWork(ProgramWorld& world, int type, NodeWork* work) {
  NodeWorld& nodes = NodesOf(world);
  std::ostringstream text;
  work->type = type;
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      RollKernel(world, work, text);
      break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      RollCopy(world, work, text);
      break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
      RollFill(world, work, text);
      break;
    case CU_GRAPH_NODE_TYPE_HOST:
      work->call.fn = world.Of<CUhostFn>({CountCall, CountCall, CountTwo, CountTwo, nullptr});
      work->call.userData = &nodes.calls;
      text << (work->call.fn == nullptr ? 0 : work->call.fn == CountTwo ? 2 : 1);
      break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: {
      const size_t which = world.Below(nodes.events.size());
      const bool none = world.OneIn(8);
      work->event = none ? nullptr : nodes.events[which];
      text << (none ? "none" : "event ") << which;
      break;
    }
    default:
      RollBatch(world, work, text);
  }
  work->words = text.str();
}

const char* NameOfWork(int type) {
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return "KernelNode";
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return "MemcpyNode";
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return "MemsetNode";
    case CU_GRAPH_NODE_TYPE_HOST:
      return "HostNode";
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return "EventWaitNode";
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return "EventRecordNode";
    default:
      return "BatchMemOpNode";
  }
}

bool HasNull(const NodeWork& work) {
  switch (work.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return work.kernel.kernelParams == nullptr;
    case CU_GRAPH_NODE_TYPE_HOST:
      return work.call.fn == nullptr;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return work.event == nullptr;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return work.batch.context == nullptr;
    default:
      return false;
  }
}

GenericParams AsAnyNode(const NodeWork& work, CUcontext context) {
  GenericParams any;
  any.type = work.type;
  const auto copy = [&](const auto& params) {
    static_assert(sizeof(params) <= sizeof(any.of_type));
    std::memcpy(any.of_type, &params, sizeof(params));
  };
  switch (work.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      copy(work.kernel);
      break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:  // flags, a context, and the copy
      any.of_type[1] = reinterpret_cast<long long>(context);
      std::memcpy(any.of_type + 2, &work.copy, sizeof(work.copy));
      static_assert(sizeof(work.copy) + 16 <= sizeof(any.of_type));
      break;
    case CU_GRAPH_NODE_TYPE_MEMSET:  // the fill, and a context
      copy(work.fill);
      static_assert(sizeof(work.fill) == 40);
      any.of_type[5] = reinterpret_cast<long long>(context);
      break;
    case CU_GRAPH_NODE_TYPE_HOST:
      copy(work.call);
      break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      copy(work.event);
      break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      copy(work.batch);
      break;
    default:
      break;  // nothing
  }
  return any;
}

}  // namespace twinmmu::abi
