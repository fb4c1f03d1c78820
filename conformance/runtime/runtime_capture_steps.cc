// Captures of streams, each whole within its step.

#include <sstream>

#include "conformance/runtime/runtime_graphs.h"

namespace random_runtime {
namespace {

class Capture {
 public:
  explicit Capture(RuntimeWorld& world) : world_(world) {
    for (cudaStream_t& stream : streams_) {
      cudaStreamCreateWithFlags(&stream, world.OneIn(2) ? cudaStreamNonBlocking : 0);
    }
    for (cudaEvent_t& event : events_) cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  }
  ~Capture() {
    for (const cudaStream_t stream : streams_) cudaStreamDestroy(stream);
    for (const cudaEvent_t event : events_) cudaEventDestroy(event);
  }

  void Run() {
    if (!Begin()) return;
    const size_t works = world_.Below(7);
    for (size_t i = 0; i < works; ++i) Call();
    if (is_forked_ && !world_.OneIn(8)) Join();
    cudaGraph_t graph = nullptr;
    const bool ended =
        world_.Say(cudaStreamEndCapture(streams_[0], &graph), "cudaStreamEndCapture");
    if (ended) {
      Use(graph);
    } else {
      world_.Say(cudaPeekAtLastError(), "cudaPeekAtLastError");
    }
    if (into_ != nullptr) graph = into_;
    if (graph != nullptr) cudaGraphDestroy(graph);
  }

 private:
  bool Begin() {
    const int mode = world_.OneIn(12) ? 77 : int(world_.Below(3));
    const auto how = static_cast<cudaStreamCaptureMode>(mode);
    if (world_.OneIn(8)) {
      world_.Say(cudaStreamBeginCapture(nullptr, how), "cudaStreamBeginCapture", "none", mode);
      return false;
    }
    if (world_.OneIn(4)) {
      cudaGraphCreate(&into_, 0);
      const bool begun =
          world_.Say(cudaStreamBeginCaptureToGraph(streams_[0], into_, nullptr, nullptr, 0, how),
                     "cudaStreamBeginCaptureToGraph", mode);
      if (!begun) cudaGraphDestroy(into_);
      return begun;
    }
    return world_.Say(cudaStreamBeginCapture(streams_[0], how), "cudaStreamBeginCapture", mode);
  }

  void Call() {
    if (world_.OneIn(14)) return Forbid();
    const size_t lane = is_forked_ ? world_.Below(2) : 0;
    const cudaStream_t stream = streams_[lane];
    const size_t which = world_.Below(8);
    char* const to = NextSlot();
    switch (which) {
      case 0:
      case 1: {
        const KernelWork work(world_, to);
        void** const pointers = const_cast<void**>(work.params.kernelParams);
        world_.Say(cudaLaunchKernel(work.params.func, work.params.gridDim, work.params.blockDim,
                                    pointers, work.params.sharedMemBytes, stream),
                   "captured", "cudaLaunchKernel", lane, work.words);
        return;
      }
      case 2: {
        const size_t size = world_.Of<size_t>({1, 16, 64, 0});
        world_.Say(cudaMemsetAsync(to, int(world_.Below(100)), size, stream), "captured",
                   "cudaMemsetAsync", lane, size);
        return;
      }
      case 3: {
        const size_t size = world_.Of<size_t>({1, 16, 64, 0});
        const cudaMemcpyKind kind = AnyKind(world_);
        world_.Say(cudaMemcpyAsync(to, ReadOnlySlot(), size, kind, stream), "captured",
                   "cudaMemcpyAsync", lane, size, int(kind));
        return;
      }
      case 4: {
        const bool null = world_.OneIn(6);
        world_.Say(cudaLaunchHostFunc(stream, null ? nullptr : CountCall,
                                      reinterpret_cast<void*>(size_t{3})),
                   "captured", "cudaLaunchHostFunc", lane, null);
        return;
      }
      case 5:
        return Ask(lane);
      case 6:
        return UseOutsideEvent(lane);
      default:
        return Fork();
    }
  }

  // The second stream goes with the first.
  void Fork() {
    world_.Say(cudaEventRecord(events_[0], streams_[0]), "captured", "cudaEventRecord", 0);
    is_forked_ |= world_.Say(cudaStreamWaitEvent(streams_[1], events_[0], 0), "captured",
                             "cudaStreamWaitEvent", 1);
  }
  void Join() {
    world_.Say(cudaEventRecord(events_[1], streams_[1]), "captured", "cudaEventRecord", 1);
    world_.Say(cudaStreamWaitEvent(streams_[0], events_[1], 0), "captured", "cudaStreamWaitEvent",
               0);
  }

  void UseOutsideEvent(size_t lane) {
    const cudaEvent_t event = Graphs().events[0];
    const unsigned flags = world_.Of({1u, 1u, 1u, 77u});
    if (world_.OneIn(2)) {
      world_.Say(cudaEventRecordWithFlags(event, streams_[lane], flags), "captured",
                 "cudaEventRecordWithFlags", lane, flags);
    } else {
      world_.Say(cudaStreamWaitEvent(streams_[lane], event, flags), "captured",
                 "cudaStreamWaitEvent", lane, "outside", flags);
    }
  }

  void Ask(size_t lane) {
    cudaStreamCaptureStatus status = {};
    unsigned long long id = 0;
    const cudaGraphNode_t* before = nullptr;
    size_t count = 0;
    if (world_.OneIn(2)) {
      const bool null = world_.OneIn(8);
      if (world_.Say(cudaStreamIsCapturing(streams_[lane], null ? nullptr : &status),
                     "cudaStreamIsCapturing", lane, null)) {
        world_.Gave(int(status));
      }
    } else if (world_.Say(cudaStreamGetCaptureInfo(streams_[lane], &status, &id, nullptr, &before,
                                                   nullptr, &count),
                          "cudaStreamGetCaptureInfo", lane)) {
      world_.Gave(int(status));
      if (status == cudaStreamCaptureStatusActive) world_.Gave(count);
    }
  }

  // What ends a capture, or is refused while there is one.
  void Forbid() {
    void* memory = nullptr;
    cudaError_t error = cudaSuccess;
    const int which = int(world_.Below(8));
    switch (which) {
      case 0:
        error = cudaStreamSynchronize(streams_[0]);
        break;
      case 1:
        error = cudaStreamQuery(streams_[0]);
        break;
      case 2:
        error = cudaDeviceSynchronize();
        break;
      case 3:
        error = cudaMemset(Graphs().memory, 0, 1);
        break;
      case 4:
        error = cudaMalloc(&memory, 100);
        break;
      case 5:
        error = cudaStreamBeginCapture(streams_[0], cudaStreamCaptureModeGlobal);
        break;
      case 6:
        error = cudaEventQuery(events_[0]);
        break;
      default:
        error = cudaStreamUpdateCaptureDependencies(streams_[0], nullptr, nullptr, 0, 77);
    }
    world_.Say(error, "forbidden", which);
    world_.Say(cudaPeekAtLastError(), "cudaPeekAtLastError");
  }

  void Use(cudaGraph_t graph) {
    size_t nodes = 0;
    size_t roots = 0;
    size_t edges = 0;
    cudaGraphGetNodes(graph, nullptr, &nodes);
    cudaGraphGetRootNodes(graph, nullptr, &roots);
    cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges);
    world_.Gave(nodes, roots, edges);
    cudaGraphExec_t executable = nullptr;
    if (!world_.Say(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate",
                    "captured")) {
      return;
    }
    std::string name;
    const cudaStream_t stream = StreamFor(world_, &name);
    if (world_.Say(cudaGraphLaunch(executable, stream), "cudaGraphLaunch", "captured", name)) {
      cudaDeviceSynchronize();
      world_.Gave(Graphs().calls.load(), HashOfSlots());
    }
    world_.Say(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy", "captured");
  }

  RuntimeWorld& world_;
  cudaStream_t streams_[2] = {};
  cudaEvent_t events_[2] = {};
  cudaGraph_t into_ = nullptr;
  bool is_forked_ = false;
};

void RunCapture(RuntimeWorld& world) {
  Graphs();
  Capture(world).Run();
}

// While nothing is captured.
void EndWithout(RuntimeWorld& world) {
  std::string name;
  const cudaStream_t stream = StreamFor(world, &name);
  cudaGraph_t graph = nullptr;
  cudaStreamCaptureStatus status = {};
  if (world.OneIn(2)) {
    world.Say(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture", name);
  } else if (world.Say(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing", name)) {
    world.Gave(int(status));
  }
}

}  // namespace

Steps CaptureSteps() { return {{9, RunCapture}, {2, EndWithout}}; }

}  // namespace random_runtime
