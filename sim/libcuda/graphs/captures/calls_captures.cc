// Stream capture: begun, ended, asked.

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/calls/of_thread.h"
#include "sim/libcuda/graphs/captures/capture_rules.h"
#include "sim/libcuda/graphs/graph_edges.h"
#include "sim/libcuda/graphs/graphs.h"

namespace twinmmu::libcuda {
namespace {

bool IsMode(CUstreamCaptureMode mode) {
  return mode >= CU_STREAM_CAPTURE_MODE_GLOBAL && mode <= CU_STREAM_CAPTURE_MODE_RELAXED;
}

// With body(driver, graphs, name), for calls that name a stream. `is_possible`: of the other
// arguments, what is looked at first after a fault.
template <typename Body>
CUresult EnterStream(const CallSite& site, CUstream stream, Needed needed, const Body& body,
                     bool is_possible = true) {
  const auto in_context = [&](DriverState& driver, Context& context) -> CUresult {
    const CUresult fault = FaultOn(site, driver, stream);
    if (fault != CUDA_SUCCESS) return is_possible ? fault : kInvalidValue;
    CUresult result = CUDA_SUCCESS;
    Destructions due;
    {
      const std::lock_guard lock(driver.graphs->mutex);
      if (!IsStream(driver, stream)) return ToResult(DriverCode::kInvalidHandle);
      result = ToResult(body(driver, *driver.graphs, context, NameOf(context, stream)));
      due = driver.graphs->TakeDestructions();
    }
    return Destroy(site, due, result);
  };
  return EnterInAnyContext(site, stream, needed, in_context);
}

// `graph`: null, a new one.
CUresult Begin(const CallSite& site, CUstream stream, CUstreamCaptureMode mode,
               const CUgraph* graph, const CUgraphNode* dependencies, const CUgraphEdgeData* data,
               size_t count) {
  if (graph != nullptr && *graph == nullptr) {  // without a context, too
    return Enter(site, [](DriverState&) { return NoSuchGraph(); });
  }
  const bool is_possible = IsMode(mode);
  return EnterStream(
      site, stream, {},
      [&](DriverState& driver, Graphs& graphs, Context& context,
          const StreamName& name) -> CUresult {
        if (IsLegacy(stream)) {
          return RefuseLegacy(driver, context, stream)
              .value_or(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        }
        if (!IsMode(mode)) return kInvalidValue;
        if (driver.captures.Find(name) != nullptr) return ToResult(DriverCode::kIllegalState);
        const std::shared_ptr<Graph> found = graph == nullptr ? graphs.Make() : graphs.Find(*graph);
        if (found == nullptr) return NoSuchGraph();
        absl::Cleanup undo = [&] {
          if (graph == nullptr) graphs.Remove(found);
        };
        CapturedStream captured;
        const CUresult known = FindDependencies(*found, KernelWork(), dependencies, data, count,
                                                &captured.dependencies);
        if (known != CUDA_SUCCESS) return known;
        captured.capture = std::make_shared<Capture>(Capture{
            graphs.NextId(), found, graph != nullptr, mode, std::this_thread::get_id(), name});
        captured.context = &MadeIn(driver, context, stream);
        captured.blocking = IsBlocking(driver, stream);
        driver.captures.Begin(name, std::move(captured));
        std::move(undo).Cancel();
        return CUDA_SUCCESS;
      },
      is_possible);
}

CUresult WhyNotEnded(DriverState& driver, const CapturedStream& stream, const StreamName& name) {
  Capture& capture = *stream.capture;
  if (!(capture.origin == name)) {
    capture.valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  if (!capture.valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!driver.captures.IsJoined(capture)) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  const bool own = capture.thread == std::this_thread::get_id();
  return own || capture.mode == CU_STREAM_CAPTURE_MODE_RELAXED
             ? CUDA_SUCCESS
             : CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

// What the program may be told of a capture; each may be null.
struct Told {
  CUstreamCaptureStatus* status;
  uint64_t* id;
  CUgraph* graph = nullptr;
  const CUgraphNode** dependencies = nullptr;
  const CUgraphEdgeData** data = nullptr;
  size_t* count = nullptr;
};

// What goes with a dependency would be lost.
bool LosesData(const CapturedStream& stream, const Told& told) {
  if (told.dependencies == nullptr || told.data != nullptr) return false;
  return std::any_of(stream.dependencies.begin(), stream.dependencies.end(),
                     [](const GraphLink& link) { return !IsSameData(link.data, {}); });
}

void TellDependencies(CapturedStream& stream, const Told& told) {
  std::vector<CUgraphNode> nodes;
  std::vector<CUgraphEdgeData> data;
  for (const GraphLink& link : stream.dependencies) {
    nodes.push_back(HandleOf<CUgraphNode>(link.node));
    data.push_back(link.data);
  }
  stream.told = std::move(nodes);
  stream.told_data = std::move(data);
  const bool none = stream.told.empty();
  if (told.dependencies != nullptr) *told.dependencies = none ? nullptr : stream.told.data();
  if (told.data != nullptr) *told.data = none ? nullptr : stream.told_data.data();
  if (told.count != nullptr) *told.count = stream.told.size();
}

CUresult TellCapture(const CallSite& site, CUstream stream, const Told& told) {
  return EnterStream(
      site, stream, {told.status},
      [&](DriverState& driver, Graphs&, Context& context, const StreamName& name) -> CUresult {
        CapturedStream* const captured = driver.captures.Find(name);
        if (captured == nullptr) {
          if (IsLegacy(stream) && HasBlocking(driver, context)) {
            return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
          }
          *told.status = CU_STREAM_CAPTURE_STATUS_NONE;
          return CUDA_SUCCESS;
        }
        *told.status = captured->capture->valid ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
        if (!captured->capture->valid) return CUDA_SUCCESS;
        if (told.data != nullptr && told.dependencies == nullptr) {
          return ToResult(DriverCode::kInvalidValue);
        }
        if (LosesData(*captured, told)) return CUDA_ERROR_LOSSY_QUERY;
        if (told.id != nullptr) *told.id = captured->capture->id;
        if (told.graph != nullptr) *told.graph = HandleOf<CUgraph>(captured->capture->graph->id());
        TellDependencies(*captured, told);
        return CUDA_SUCCESS;
      });
}

CUresult Update(const CallSite& site, CUstream stream, const CUgraphNode* dependencies,
                const CUgraphEdgeData* data, size_t count, unsigned int flags) {
  return EnterStream(
      site, stream, {},
      [&](DriverState& driver, Graphs&, Context& context, const StreamName& name) -> CUresult {
        CapturedStream* const captured = driver.captures.Find(name);
        if (captured == nullptr) {
          return RefuseLegacy(driver, context, stream)
              .value_or(ToResult(DriverCode::kIllegalState));
        }
        if (!captured->capture->valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES) return kInvalidValue;
        CapturedStream changed;
        std::vector<GraphLink> one;
        // Given twice, one is one all the same.
        for (size_t i = 0; i < count; ++i) {
          if (dependencies == nullptr) return kInvalidValue;
          const CUresult known =
              FindDependencies(*captured->capture->graph, KernelWork(), dependencies + i,
                               data == nullptr ? data : data + i, 1, &one);
          if (known != CUDA_SUCCESS) return known;
          changed.dependencies.insert(changed.dependencies.end(), one.begin(), one.end());
          one.clear();
        }
        if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
          captured->dependencies.reserve(changed.dependencies.size());
          captured->dependencies.clear();
          captured->has_work = false;  // as an H200 with driver 580.159 ends such a capture
        }
        driver.captures.Join(name, std::move(changed));
        return CUDA_SUCCESS;
      });
}

}  // namespace

// --- Begin and end -------------------------------------------------------------------------------

extern "C" CUresult cuStreamBeginCapture(CUstream stream) {
  return Begin(TWINMMU_HERE, stream, CU_STREAM_CAPTURE_MODE_GLOBAL, nullptr, nullptr, nullptr, 0);
}
TWINMMU_OF_THREAD(cuStreamBeginCapture_ptsz, cuStreamBeginCapture, (CUstream stream),
                  OfThread(stream))

extern "C" CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return Begin(TWINMMU_HERE, stream, mode, nullptr, nullptr, nullptr, 0);
}
TWINMMU_OF_THREAD(cuStreamBeginCapture_v2_ptsz, cuStreamBeginCapture_v2,
                  (CUstream stream, CUstreamCaptureMode mode), OfThread(stream), mode)

extern "C" CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
                                                const CUgraphNode* dependencies,
                                                const CUgraphEdgeData* data, size_t count,
                                                CUstreamCaptureMode mode) {
  return Begin(TWINMMU_HERE, stream, mode, &graph, dependencies, data, count);
}
TWINMMU_OF_THREAD(cuStreamBeginCaptureToGraph_ptsz, cuStreamBeginCaptureToGraph,
                  (CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                   const CUgraphEdgeData* data, size_t count, CUstreamCaptureMode mode),
                  OfThread(stream), graph, dependencies, data, count, mode)

// However it ends, unless by the wrong stream, all is as before it began.
extern "C" CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return EnterStream(TWINMMU_HERE, stream, {},
                     [&](DriverState& driver, Graphs& graphs, Context& context,
                         const StreamName& name) -> CUresult {
                       const CapturedStream* const captured = driver.captures.Find(name);
                       if (captured == nullptr) {
                         return RefuseLegacy(driver, context, stream)
                             .value_or(ToResult(DriverCode::kIllegalState));
                       }
                       const CUresult ended = WhyNotEnded(driver, *captured, name);
                       if (ended == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED) return ended;
                       const std::shared_ptr<Capture> capture = captured->capture;
                       driver.captures.End(capture);
                       // Even a graph that the program had is gone, as an H200 does it, if the
                       // capture is invalid.
                       const bool wanted = graph != nullptr || capture->to_graph;
                       if (ended != CUDA_SUCCESS || !wanted) graphs.Remove(capture->graph);
                       if (graph != nullptr) {
                         *graph = ended == CUDA_SUCCESS ? HandleOf<CUgraph>(capture->graph->id())
                                                        : nullptr;
                       }
                       return ended;
                     });
}
TWINMMU_OF_THREAD(cuStreamEndCapture_ptsz, cuStreamEndCapture, (CUstream stream, CUgraph* graph),
                  OfThread(stream), graph)

// --- Questions -----------------------------------------------------------------------------------

extern "C" CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return TellCapture(TWINMMU_HERE, stream, {status, nullptr});
}
TWINMMU_OF_THREAD(cuStreamIsCapturing_ptsz, cuStreamIsCapturing,
                  (CUstream stream, CUstreamCaptureStatus* status), OfThread(stream), status)

extern "C" CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status,
                                           uint64_t* id) {
  return TellCapture(TWINMMU_HERE, stream, {status, id});
}
TWINMMU_OF_THREAD(cuStreamGetCaptureInfo_ptsz, cuStreamGetCaptureInfo,
                  (CUstream stream, CUstreamCaptureStatus* status, uint64_t* id), OfThread(stream),
                  status, id)

extern "C" CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status,
                                              uint64_t* id, CUgraph* graph,
                                              const CUgraphNode** dependencies, size_t* count) {
  return TellCapture(TWINMMU_HERE, stream, {status, id, graph, dependencies, nullptr, count});
}
TWINMMU_OF_THREAD(cuStreamGetCaptureInfo_v2_ptsz, cuStreamGetCaptureInfo_v2,
                  (CUstream stream, CUstreamCaptureStatus* status, uint64_t* id, CUgraph* graph,
                   const CUgraphNode** dependencies, size_t* count),
                  OfThread(stream), status, id, graph, dependencies, count)

extern "C" CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status,
                                              uint64_t* id, CUgraph* graph,
                                              const CUgraphNode** dependencies,
                                              const CUgraphEdgeData** data, size_t* count) {
  return TellCapture(TWINMMU_HERE, stream, {status, id, graph, dependencies, data, count});
}
TWINMMU_OF_THREAD(cuStreamGetCaptureInfo_v3_ptsz, cuStreamGetCaptureInfo_v3,
                  (CUstream stream, CUstreamCaptureStatus* status, uint64_t* id, CUgraph* graph,
                   const CUgraphNode** dependencies, const CUgraphEdgeData** data, size_t* count),
                  OfThread(stream), status, id, graph, dependencies, data, count)

extern "C" CUresult cuStreamUpdateCaptureDependencies(CUstream stream,
                                                      const CUgraphNode* dependencies, size_t count,
                                                      unsigned int flags) {
  return Update(TWINMMU_HERE, stream, dependencies, nullptr, count, flags);
}
TWINMMU_OF_THREAD(cuStreamUpdateCaptureDependencies_ptsz, cuStreamUpdateCaptureDependencies,
                  (CUstream stream, const CUgraphNode* dependencies, size_t count,
                   unsigned int flags),
                  OfThread(stream), dependencies, count, flags)

extern "C" CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream,
                                                         const CUgraphNode* dependencies,
                                                         const CUgraphEdgeData* data, size_t count,
                                                         unsigned int flags) {
  return Update(TWINMMU_HERE, stream, dependencies, data, count, flags);
}
TWINMMU_OF_THREAD(cuStreamUpdateCaptureDependencies_v2_ptsz, cuStreamUpdateCaptureDependencies_v2,
                  (CUstream stream, const CUgraphNode* dependencies, const CUgraphEdgeData* data,
                   size_t count, unsigned int flags),
                  OfThread(stream), dependencies, data, count, flags)

// Any number is taken for a mode, as an H200 does.
extern "C" CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return Enter(TWINMMU_HERE, {mode}, [&](DriverState&) {
    std::swap(*mode, CaptureModeOfThread());
    return DriverCode::kSuccess;
  });
}

}  // namespace twinmmu::libcuda
