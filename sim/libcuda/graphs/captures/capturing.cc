// Codes, and what makes a capture invalid: as an H100 with driver 580.159 was seen to do.

#include "sim/libcuda/calls/capturing.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "sim/libcuda/graphs/captures/capture_rules.h"
#include "sim/libcuda/graphs/captures/captured_work.h"
#include "sim/libcuda/graphs/graph_nodes.h"
#include "sim/libcuda/graphs/graphs.h"

namespace twinmmu::libcuda {
namespace {

using Lock = std::lock_guard<std::mutex>;

// What waits for an event of a launch waits for less than for the kernel.
CUgraphEdgeData EdgeOf(LaunchEvent::Kind event) {
  CUgraphEdgeData data = {};
  data.from_port = event == LaunchEvent::Kind::kProgrammatic
                       ? CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC
                       : CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER;
  if (event != LaunchEvent::Kind::kCompletion) data.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  return data;
}

// A node behind all that the stream was given.
void Append(const CallSite& site, DriverState& driver, CapturedStream& stream, GraphWork work,
            const CapturedLaunch* launch) {
  Graph& graph = *stream.capture->graph;
  std::vector<RememberedMemory> memory = MemoryOf(site, driver, work);
  std::vector<GraphLink> dependencies;
  for (GraphLink link : stream.dependencies) {
    const GraphNode* const before = graph.Find(link.node);
    if (before == nullptr) continue;  // the program destroyed it
    const bool of_kernels = std::holds_alternative<KernelWork>(before->work);
    if (launch != nullptr && launch->programmatic && of_kernels) {
      link.data.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
      link.data.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    }
    dependencies.push_back(link);
  }
  std::vector<GraphLink> next(1);
  const auto events = launch != nullptr ? launch->form.events : std::vector<LaunchEvent>();
  const auto name_of = [](const LaunchEvent& event) {
    return ToPointer<CUevent>(event.event.value());
  };
  for (const LaunchEvent& event : events) {
    driver.captures.Record(name_of(event), {stream.capture, {GraphLink{0, EdgeOf(event.kind)}}});
  }
  next[0].node = driver.graphs->AddNode(graph, std::move(work), std::move(memory), dependencies);
  for (const LaunchEvent& event : events) {
    driver.captures.Find(name_of(event))->dependencies[0].node = next[0].node;
  }
  stream.dependencies = std::move(next);
  stream.has_work = true;
}

}  // namespace

Captured CaptureWork(const CallSite& site, DriverState& driver, Context& context, CUstream given,
                     const CapturedLaunch* launch,
                     absl::FunctionRef<CUresult(std::optional<GraphWork>*)> make) {
  if (!driver.captures.MayMatter()) return std::nullopt;
  const Lock lock(driver.graphs->mutex);
  CapturedStream* const stream = driver.captures.Find(NameOf(context, given));
  if (stream == nullptr) return RefuseLegacy(driver, context, given);
  if (!stream->capture->valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  std::optional<GraphWork> work;
  const CUresult possible = make(&work);
  if (possible == CUDA_SUCCESS && work.has_value()) {
    Append(site, driver, *stream, *std::move(work), launch);
  }
  return possible;
}

Captured RefuseInvalid(DriverState& driver, const Context& context, CUstream given) {
  if (!driver.captures.MayMatter()) return std::nullopt;
  const Lock lock(driver.graphs->mutex);
  const CapturedStream* const stream = driver.captures.Find(NameOf(context, given));
  if (stream == nullptr || stream->capture->valid) return std::nullopt;
  return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

Captured CaptureCopy(const CallSite& site, DriverState& driver, Context& context,
                     const CUDA_MEMCPY3D& copy, CUstream stream) {
  const auto make = [&](std::optional<GraphWork>* work) -> CUresult {
    if (copy.WidthInBytes == 0 || copy.Height == 0 || copy.Depth == 0) return CUDA_SUCCESS;
    CopyWork made{copy, &OwnerOf(driver, stream, context)};
    const CUresult possible = CheckCopy(site, driver, made);
    if (possible == CUDA_SUCCESS) *work = made;
    return possible;
  };
  return CaptureWork(site, driver, context, stream, nullptr, make);
}

// Nobody looks whether the memory is there.
Captured CaptureFill(const CallSite& site, DriverState& driver, Context& context,
                     const CUDA_MEMSET_NODE_PARAMS& fill, CUstream stream) {
  const auto make = [&](std::optional<GraphWork>* work) -> CUresult {
    if (fill.width == 0 || fill.height == 0) return CUDA_SUCCESS;
    Context& owner = OwnerOf(driver, stream, context);
    const FillWork made{fill, &owner, owner.device};
    const CUresult possible = CheckFillShape(site, driver, made);
    if (possible == CUDA_SUCCESS) *work = made;
    return possible;
  };
  return CaptureWork(site, driver, context, stream, nullptr, make);
}

Captured CaptureLaunch(const CallSite& site, DriverState& driver, Context& context,
                       const CapturedLaunch& launch, CUstream stream) {
  const auto make = [&](std::optional<GraphWork>* work) -> CUresult {
    CUDA_KERNEL_NODE_PARAMS given = launch.kernel;
    if (driver.modules.kernels.Find(ToNumber(given.func)).has_value()) {
      given.ctx = OwnerOf(driver, stream, context).handle();
      given.kern = ToPointer<cuda_abi::CUkernel>(ToNumber(std::exchange(given.func, nullptr)));
    }
    KernelWork made;
    const CUresult possible = MakeKernel(site, driver, given, &made, launch.form);
    if (launch.form.cooperative) made.attributes[CU_LAUNCH_ATTRIBUTE_COOPERATIVE].cooperative = 1;
    if (launch.form.cluster.has_value()) {
      const Dim3& cluster = *launch.form.cluster;
      made.attributes[CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION].clusterDim = {cluster.x, cluster.y,
                                                                           cluster.z};
    }
    // An impossible shape makes the capture invalid; what is missing does not.
    if (possible != CUDA_SUCCESS && made.arguments != nullptr) {
      driver.captures.Find(NameOf(context, stream))->capture->valid = false;
    }
    if (possible == CUDA_SUCCESS && UsesReferences(site, driver, made)) {
      driver.captures.Find(NameOf(context, stream))->capture->valid = false;
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (possible == CUDA_SUCCESS) *work = std::move(made);
    return possible;
  };
  return CaptureWork(site, driver, context, stream, &launch, make);
}

Captured CaptureHost(const CallSite& site, DriverState& driver, Context& context,
                     const CUDA_HOST_NODE_PARAMS& call, CUstream stream) {
  const auto make = [&](std::optional<GraphWork>* work) {
    *work = HostWork{call};
    return CUDA_SUCCESS;
  };
  return CaptureWork(site, driver, context, stream, nullptr, make);
}

Captured CaptureRecord(const CallSite& site, DriverState& driver, Context& context, CUevent event,
                       CUstream given, bool external) {
  if (!driver.captures.MayMatter()) return std::nullopt;
  if (external) {
    return CaptureWork(site, driver, context, given, nullptr, [&](std::optional<GraphWork>* work) {
      const CUresult known = CheckEvent(site, driver, event);
      if (known == CUDA_SUCCESS) *work = RecordWork{event};
      return known;
    });
  }
  const Lock lock(driver.graphs->mutex);
  CapturedStream* const stream = driver.captures.Find(NameOf(context, given));
  if (stream == nullptr) {
    const Captured refused = RefuseLegacy(driver, context, given);
    if (!refused.has_value()) driver.captures.Forget(event);
    return refused;
  }
  if (!stream->capture->valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (CheckEvent(site, driver, event) != CUDA_SUCCESS) return ToResult(DriverCode::kInvalidHandle);
  driver.captures.Record(event, {stream->capture, stream->dependencies});
  return CUDA_SUCCESS;
}

Captured CaptureWait(const CallSite& site, DriverState& driver, Context& context, CUstream given,
                     CUevent event, bool external) {
  if (!driver.captures.MayMatter()) return std::nullopt;
  if (external && driver.streams.events.Find(ToNumber(event)).has_value()) {
    return CaptureWork(site, driver, context, given, nullptr, [&](std::optional<GraphWork>* work) {
      *work = WaitWork{event};
      return CUDA_SUCCESS;
    });
  }
  const Lock lock(driver.graphs->mutex);
  Captures& captures = driver.captures;
  CapturedStream* const stream = captures.Find(NameOf(context, given));
  const CapturedEvent* const captured = captures.Find(event);
  if (stream != nullptr && !stream->capture->valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (captured == nullptr) {
    if (stream == nullptr) return RefuseLegacy(driver, context, given);
    const std::optional<EventRecord> record = FindEvent(site, driver, event);
    if (!record.has_value()) {
      stream->capture->valid = false;
      return ToResult(DriverCode::kInvalidHandle);
    }
    // An event that was never recorded is nothing to wait for.
    if (!record->recorded.has_value()) return CUDA_SUCCESS;
    stream->capture->valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (const Captured refused = RefuseLegacy(driver, context, given)) return refused;
  if (captured->capture->ended || !captured->capture->valid) {
    if (stream != nullptr) stream->capture->valid = false;
    return kInvalidValue;
  }
  if (IsLegacy(given)) {
    captured->capture->valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  if (stream != nullptr && stream->capture != captured->capture) {
    stream->capture->valid = false;
    captured->capture->valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  captures.Join(NameOf(context, given), CapturedStream{captured->capture,
                                                       &MadeIn(driver, context, given),
                                                       IsBlocking(driver, given),
                                                       captured->dependencies,
                                                       false,
                                                       {},
                                                       {}});
  return CUDA_SUCCESS;
}

Captured RefuseQuestion(DriverState& driver, const Context& context, CUstream given) {
  if (!driver.captures.MayMatter()) return std::nullopt;
  const Lock lock(driver.graphs->mutex);
  const CapturedStream* const stream = driver.captures.Find(NameOf(context, given));
  if (stream == nullptr) return RefuseLegacy(driver, context, given);
  if (stream->capture->valid) return std::nullopt;
  return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

namespace {

// An unsafe call for a stream that is not captured, while others are.
Captured RefuseBeside(DriverState& driver, const Context& context, CUstream given) {
  const Captured legacy = RefuseLegacy(driver, context, given);
  return legacy.has_value() ? legacy : RefuseUnsafe(driver);
}

}  // namespace

Captured RefuseWaitFor(DriverState& driver, Context& context, CUstream given) {
  if (!driver.captures.MayMatter()) return std::nullopt;
  const Lock lock(driver.graphs->mutex);
  CapturedStream* const stream = driver.captures.Find(NameOf(context, given));
  if (stream != nullptr) {
    stream->capture->valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return RefuseBeside(driver, context, given);
}

Captured RefuseUnsafeCall(DriverState& driver) {
  if (!driver.captures.MayMatter()) return std::nullopt;
  const Lock lock(driver.graphs->mutex);
  return RefuseUnsafe(driver);
}

Captured RefuseUnsafeOn(DriverState& driver, const Context& context, CUstream given) {
  if (!driver.captures.MayMatter()) return std::nullopt;
  const Lock lock(driver.graphs->mutex);
  if (driver.captures.Find(NameOf(context, given)) != nullptr) return std::nullopt;
  return RefuseBeside(driver, context, given);
}

Captured RefuseWaitFor(DriverState& driver, CUevent event) {
  if (!driver.captures.MayMatter() || event == nullptr) return std::nullopt;
  const Lock lock(driver.graphs->mutex);
  const CapturedEvent* const captured = driver.captures.Find(event);
  if (captured == nullptr) return RefuseUnsafe(driver);
  const bool lives = std::exchange(captured->capture->valid, false) && !captured->capture->ended;
  return lives ? CUDA_ERROR_CAPTURED_EVENT : kInvalidValue;
}

Captured RefuseWaitFor(DriverState& driver, const Context& context) {
  if (!driver.captures.MayMatter()) return std::nullopt;
  const Lock lock(driver.graphs->mutex);
  const bool any = driver.captures.Invalidate(
      [&](const CapturedStream& stream) { return stream.context == &context; });
  if (any) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return std::nullopt;
}

Captured RefuseTimeOf(DriverState& driver, CUevent event) {
  if (!driver.captures.MayMatter()) return std::nullopt;
  const Lock lock(driver.graphs->mutex);
  const CapturedEvent* const captured = driver.captures.Find(event);
  if (captured == nullptr) return std::nullopt;
  const bool lives = captured->capture->valid && !captured->capture->ended;
  return lives ? CUDA_ERROR_CAPTURED_EVENT : kInvalidValue;
}

void RefuseUncaptured(DriverState& driver, const Context& context, CUstream stream) {
  const Captured refused = RefuseCaptured(driver, context, stream);
  if (refused.has_value()) throw Refusal{static_cast<DriverCode>(*refused)};
}

Captured RefuseCaptured(DriverState& driver, const Context& context, CUstream given,
                        bool invalidates) {
  if (!driver.captures.MayMatter()) return std::nullopt;
  const Lock lock(driver.graphs->mutex);
  CapturedStream* const stream = driver.captures.Find(NameOf(context, given));
  if (stream == nullptr) return RefuseLegacy(driver, context, given);
  if (!invalidates && !stream->capture->valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (invalidates) stream->capture->valid = false;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

void ForgetCaptured(DriverState& driver, CUstream stream) {
  if (!driver.captures.MayMatter()) return;
  const Lock lock(driver.graphs->mutex);
  const std::shared_ptr<Capture> ended = driver.captures.Forget(StreamName{ToNumber(stream)});
  if (ended != nullptr && !ended->to_graph) driver.graphs->Remove(ended->graph);
}

void ForgetCaptured(DriverState& driver, const Context& context) {
  if (!driver.captures.MayMatter()) return;
  const Lock lock(driver.graphs->mutex);
  for (const std::shared_ptr<Capture>& capture : driver.captures.Of(context)) {
    driver.captures.End(capture);
    if (!capture->to_graph) driver.graphs->Remove(capture->graph);
  }
}

void ForgetCaptured(DriverState& driver, CUevent event) {
  if (!driver.captures.MayMatter()) return;
  const Lock lock(driver.graphs->mutex);
  driver.captures.Forget(event);
}

}  // namespace twinmmu::libcuda
