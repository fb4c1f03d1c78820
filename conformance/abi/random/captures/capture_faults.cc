// Calls that captures forbid, or that are wrong beside them.

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/captures/capture.h"

namespace twinmmu::abi {
namespace {

constexpr CUdeviceptr kNowhere = 0x123450000;
TWINMMU_ANY_TYPES void CallBack(CUstream, CUresult, void*) {}

}  // namespace

void Capture::Fail(const Lane& lane) {
  if (StatusOf(lane) == CU_STREAM_CAPTURE_STATUS_NONE) return;
  const CUstream stream = lane.stream;
  CUdeviceptr to = lane.memory;
  unsigned int value = 1;
  void* arguments[] = {&to, &value};
  const CUfunction add = shared_.add;
  switch (world_.Below(9)) {
    case 0:
      Say(cuLaunchKernel(add, 0, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr), "cuLaunchKernel",
          lane.name, "no grid");
      return;
    case 1:
      Say(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr), "cuLaunchKernel",
          lane.name, "no function");
      return;
    case 2:
      Say(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr), "cuLaunchKernel",
          lane.name, "no arguments");
      return;
    case 3:
      Say(cuMemcpyDtoDAsync(to, kNowhere, 64, stream), "cuMemcpyDtoDAsync", lane.name, "nowhere");
      return;
    case 4:
      is_possible_ = false;  // it is captured
      Say(cuMemsetD32Async(kNowhere, 1, 16, stream), "cuMemsetD32Async", lane.name, "nowhere");
      return;
    case 5:
      Say(cuMemsetD32Async(to + 1, 1, 4, stream), "cuMemsetD32Async", lane.name, "misaligned");
      return;
    case 6:
      Say(cuMemcpyHtoDAsync(to, nullptr, 4, stream), "cuMemcpyHtoDAsync", lane.name, "null");
      return;
    case 7:
      Say(cuEventRecord(nullptr, stream), "cuEventRecord", lane.name, "null");
      return;
    default:
      Say(cuStreamWaitEvent(stream, nullptr, 0), "cuStreamWaitEvent", lane.name, "null");
  }
}

void Capture::Forbid(Lane& lane) {
  CUdeviceptr memory = 0;
  void* pinned = nullptr;
  CUevent event = nullptr;
  CUstream stream = nullptr;
  CUmemGenericAllocationHandle handle = 0;
  CUgraphExec executable = nullptr;
  switch (world_.Below(11)) {
    case 0:
      if (Say(cuMemAlloc(&memory, 256), "cuMemAlloc", 256)) Say(cuMemFree(memory), "cuMemFree");
      return;
    case 1:
      Say(cuMemFree(0), "cuMemFree", 0);
      return;
    case 2:
      if (Say(cuMemHostAlloc(&pinned, 64, 0), "cuMemHostAlloc", 64)) {
        Say(cuMemFreeHost(pinned), "cuMemFreeHost");
      }
      return;
    case 3:
      if (Say(cuEventCreate(&event, 0), "cuEventCreate", 0)) {
        Say(cuEventDestroy(event), "cuEventDestroy", "new");
      }
      return;
    case 4:
      if (Say(cuStreamCreate(&stream, 1), "cuStreamCreate", 1)) {
        Say(cuStreamDestroy(stream), "cuStreamDestroy", "new");
      }
      return;
    case 5: {
      const CUmemAllocationProp props = PinnedOn(0);
      if (Say(cuMemCreate(&handle, kChunk, &props, 0), "cuMemCreate", kChunk)) {
        Say(cuMemRelease(handle), "cuMemRelease");
      }
      return;
    }
    case 6:
      Say(cuStreamAddCallback(lane.stream, CallBack, nullptr, 0), "cuStreamAddCallback", lane.name);
      return;
    case 7:
      Say(cuMemcpyPeerAsync(lane.memory + 128, world_.context, lane.memory, world_.context, 4,
                            lane.stream),
          "cuMemcpyPeerAsync", lane.name);
      return;
    case 8:
      Say(cuGraphLaunch(executable_, lane.stream), "cuGraphLaunch", lane.name);
      return;
    case 9:
      if (is_to_other_) return;
      if (Say(cuGraphInstantiateWithFlags(&executable, other_, 0), "cuGraphInstantiateWithFlags")) {
        Say(cuGraphExecDestroy(executable), "cuGraphExecDestroy");
      }
      return;
    default:
      Undo(lane);
  }
}

// What grows is not destroyed, but a stream may go.
void Capture::Undo(Lane& lane) {
  if (IsActive(lane) && !world_.OneIn(3)) {
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    Dependencies(lane, &graph);
    const std::vector<CUgraphNode> nodes = NodesIn(graph);
    if (!nodes.empty() && !is_to_other_ && world_.OneIn(3)) {
      Say(cuGraphDestroyNode(nodes[0]), "cuGraphDestroyNode", "captured");
    } else if (!is_to_other_ && world_.OneIn(2)) {
      Say(cuGraphDestroy(graph), "cuGraphDestroy", "captured");
    } else {
      Say(cuGraphAddEmptyNode(&node, graph, nodes.data(), nodes.empty() ? 0 : 1),
          "cuGraphAddEmptyNode", "captured");
    }
    return;
  }
  if (lane.stream == reinterpret_cast<CUstream>(2)) return;
  Say(cuStreamDestroy(lane.stream), "cuStreamDestroy", lane.name);
  cuStreamCreate(&lane.stream, 1);
  is_other_lost_ |= lane.began && is_to_other_;
  lane.began = false;
}

void Capture::Wait(const Lane& lane) {
  const size_t which = world_.Below(2);
  const std::string event = "event " + std::to_string(which);
  const bool is_captured = StatusOf(lane) != CU_STREAM_CAPTURE_STATUS_NONE;
  switch (world_.Below(5)) {
    case 0:
      Say(cuStreamSynchronize(lane.stream), "cuStreamSynchronize", lane.name);
      return;
    case 1:
      if (!is_captured && has_work_) return;
      Say(cuStreamQuery(lane.stream), "cuStreamQuery", lane.name);
      return;
    case 2:
      Say(cuCtxSynchronize(), "cuCtxSynchronize");
      return;
    case 3:
      if (has_work_) return;
      Say(cuEventQuery(events_[which]), "cuEventQuery", event);
      return;
    default:
      Say(cuEventSynchronize(events_[which]), "cuEventSynchronize", event);
  }
}

// Which waits for streams that do not say that they do without it.
void Capture::UseLegacyStream() {
  CUdeviceptr to = shared_.captured + 6 * 256;
  unsigned int value = 1;
  unsigned int found = 0;
  void* arguments[] = {&to, &value};
  switch (world_.Below(8)) {
    case 0:
      Say(cuLaunchKernel(shared_.add, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr),
          "cuLaunchKernel", "legacy");
      break;
    case 1:
      Say(cuMemsetD32(to, 1, 4), "cuMemsetD32", "legacy");
      break;
    case 2:
      Say(cuMemcpyDtoD(to + 64, to, 4), "cuMemcpyDtoD", "legacy");
      break;
    case 3:
      Say(cuMemcpyDtoDAsync(to + 64, to, 4, nullptr), "cuMemcpyDtoDAsync", "legacy");
      break;
    case 4:
      Say(cuMemcpyDtoH(&found, to, 4), "cuMemcpyDtoH", "legacy");
      break;
    case 5:
      Say(cuStreamWaitEvent(nullptr, events_[0], 0), "cuStreamWaitEvent", "legacy", "event 0");
      break;
    case 6:
      Say(cuEventRecord(events_[1], nullptr), "cuEventRecord", "event 1", "legacy");
      break;
    default:
      Say(cuStreamSynchronize(nullptr), "cuStreamSynchronize", "legacy");
  }
  has_work_ = true;
}

}  // namespace twinmmu::abi
