#include "sim/libcuda/graphs/graph_launch.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sim/calls/executor/host_functions.h"
#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/calls/boxes.h"
#include "sim/libcuda/calls/launches.h"
#include "sim/libcuda/graphs/batch_nodes.h"
#include "sim/libcuda/graphs/changes/exec_changes.h"
#include "sim/libcuda/graphs/conditional_nodes.h"
#include "sim/libcuda/graphs/graph_nodes.h"
#include "sim/libcuda/graphs/memory_nodes.h"
#include "sim/libcuda/graphs/semaphore_nodes.h"
#include "sim/libcuda/modules.h"
#include "sim/libcuda/sharing/shared_events.h"
#include "sim/ptx/program/program.h"

namespace twinmmu::libcuda {
namespace {

// One launch. What one node after the other can do goes to one stream, a lane; a node that waits
// for nobody at the end of a lane gets a lane of its own.
class GraphLaunch {
 public:
  // `spare`: streams that it may take, and gives back.
  GraphLaunch(const CallSite& site, DriverState& driver, const Graph& graph, Stream stream,
              std::vector<Stream>* spare)
      : site_(site), driver_(driver), graph_(graph), spare_(*spare), lanes_{{stream, 0}} {}
  ~GraphLaunch() {
    for (const Event event : events_) driver_.executor.DestroyEvent(event).IgnoreError();
    for (size_t i = 1; i < lanes_.size(); ++i) spare_.push_back(lanes_[i].stream);
  }
  GraphLaunch(const GraphLaunch&) = delete;
  GraphLaunch& operator=(const GraphLaunch&) = delete;

  CUresult Run() {
    const bool is_chain = IsChain();
    if (!is_chain) {
      const absl::StatusOr<Event> start = RecordOn(lanes_[0].stream);
      if (!start.ok()) return ToResult(start.status());
      start_ = *start;
    }
    for (const GraphId id : graph_.Order()) {
      const GraphNode& node = *graph_.Find(id);
      size_t lane = 0;
      absl::Status ready = is_chain ? absl::OkStatus() : FindLane(node, &lane);
      if (!ready.ok()) return ToResult(ready);
      if (HasLostStack(driver_, node)) return Fail(node, lanes_[lane].stream);
      const CUresult given = node.enabled ? Give(node, lanes_[lane].stream) : CUDA_SUCCESS;
      // What faulted was launched: whoever waits for it is told.
      if (given != CUDA_SUCCESS) return HaveFault() ? CUDA_SUCCESS : given;
      lanes_[lane].last = id;
      if (is_chain) continue;
      const absl::StatusOr<Event> done = RecordOn(lanes_[lane].stream);
      if (!done.ok()) return ToResult(done.status());
      done_.insert_or_assign(id, *done);
    }
    const CUresult joined = ToResult(Join());
    return HaveFault() ? CUDA_SUCCESS : joined;
  }

 private:
  struct Lane {
    Stream stream;
    GraphId last;  // the node that it was given last; 0: none yet
  };

  // Whether all nodes are on one device, each behind the one before.
  bool IsChain() const {
    size_t roots = 0;
    for (const auto& [id, node] : graph_.nodes()) {
      if (node.dependencies.empty()) ++roots;
      const std::optional<DeviceOrdinal> device = DeviceOf(driver_, node.work);
      const bool elsewhere = device.has_value() && *device != lanes_[0].stream.device();
      if (node.dependencies.size() > 1 || node.dependents.size() > 1 || elsewhere) return false;
    }
    return roots <= 1;
  }

  absl::StatusOr<Event> RecordOn(Stream stream) {
    const absl::StatusOr<Event> event = driver_.executor.CreateEvent(stream.device());
    if (!event.ok()) return event;
    events_.push_back(*event);
    const absl::Status recorded = driver_.executor.RecordEvent(*event, stream);
    if (!recorded.ok()) return recorded;
    return event;
  }

  absl::StatusOr<Stream> TakeLane(DeviceOrdinal device) {
    const auto found = std::find_if(spare_.begin(), spare_.end(),
                                    [&](Stream lane) { return lane.device() == device; });
    if (found == spare_.end()) return driver_.executor.CreateStream(device);
    const Stream lane = *found;
    spare_.erase(found);
    return lane;
  }

  // The lane of a node, which then waits for all that the node depends on.
  absl::Status FindLane(const GraphNode& node, size_t* lane) {
    const DeviceOrdinal device = DeviceOf(driver_, node.work).value_or(lanes_[0].stream.device());
    bool found = false;
    for (size_t i = 0; i < lanes_.size() && !found; ++i) {
      if (lanes_[i].stream.device() != device) continue;
      for (const GraphLink& link : node.dependencies) found |= link.node == lanes_[i].last;
      if (lanes_[i].last == 0) found = true;  // the first lane
      if (found) *lane = i;
    }
    if (!found) {
      const absl::StatusOr<Stream> made = TakeLane(device);
      if (!made.ok()) return made.status();
      *lane = lanes_.size();
      spare_.reserve(spare_.size() + lanes_.size());  // so that all can be given back
      lanes_.push_back({*made, 0});
      const absl::Status begun = driver_.executor.WaitEvent(*made, *start_);
      if (!begun.ok()) return begun;
    }
    for (const GraphLink& link : node.dependencies) {
      if (link.node == lanes_[*lane].last) continue;
      const absl::Status waits =
          driver_.executor.WaitEvent(lanes_[*lane].stream, done_.at(link.node));
      if (!waits.ok()) return waits;
    }
    return absl::OkStatus();
  }

  // The stream of the launch goes on when all lanes are done.
  absl::Status Join() {
    for (size_t i = 1; i < lanes_.size(); ++i) {
      const absl::StatusOr<Event> end = RecordOn(lanes_[i].stream);
      if (!end.ok()) return end.status();
      const absl::Status joined = driver_.executor.WaitEvent(lanes_[0].stream, *end);
      if (!joined.ok()) return joined;
    }
    return absl::OkStatus();
  }

  bool HaveFault() const { return driver_.simulator->kernels().HaveFault(); }

  // Nothing behind it runs.
  CUresult Fail(const GraphNode& node, Stream stream) {
    const std::string words = absl::StrCat(
        NameOf(site_, driver_, node.work), " was set when CU_LIMIT_STACK_SIZE was ",
        node.stack_bytes, " bytes, and it is less now: instantiate the graph, or set the ",
        "parameters of the node again, after cuCtxSetLimit");
    return ToResult(driver_.simulator->kernels().LaunchFault(stream, words));
  }

  CUresult Give(const GraphNode& node, Stream stream) {
    return std::visit([&](const auto& work) { return ToResult(GiveWork(work, stream)); },
                      node.work);
  }

  CUresult GiveWork(const KernelWork& work, Stream stream) {
    const absl::StatusOr<Kernel> kernel = KernelOf(driver_, *work.context, work.function);
    if (!kernel.ok()) return ToResult(kernel.status());
    const absl::StatusOr<LoadedKernel> loaded =
        driver_.simulator->kernels().Find(site_.name(), *kernel);
    if (!loaded.ok()) return ToResult(loaded.status());
    const CUresult launched = LaunchOn(driver_, stream, *kernel, *loaded, work.config,
                                       FormOf(work.attributes), work.arguments->pointers);
    if (launched == CUDA_SUCCESS && loaded->info->uses_heap) work.context->uses_heap = true;
    return launched;
  }

  absl::Status GiveWork(const CopyWork& work, Stream stream) {
    const Context& to = work.to != nullptr ? *work.to : *work.context;
    const Context& from = work.from != nullptr ? *work.from : *work.context;
    const BoxCopy box = BoxCopyOf(driver_, to, from, work.copy);
    return driver_.simulator->boxes().Copy(AskedOn(stream), {&box, 1});
  }

  absl::Status GiveWork(const FillWork& work, Stream stream) {
    const CUDA_MEMSET_NODE_PARAMS& fill = work.fill;
    const uint32_t element = fill.value & ~0u >> (32 - 8 * fill.elementSize);
    if (WordOf(fill.value, fill.elementSize) != WordOf(element, fill.elementSize)) {
      return FillByWords(fill, stream);
    }
    return driver_.simulator->boxes().Fill(AskedOn(stream), DeviceAddress(fill.dst), fill.pitch,
                                           {fill.value, Bytes(fill.elementSize)}, fill.width,
                                           fill.height);
  }

  static uint32_t WordOf(uint32_t value, unsigned int size) {
    if (size == 1) value |= value << 8;
    return size < 4 ? value | value << 16 : value;
  }

  // A value that is too wide for an element is or'ed into all elements of a word, and words are
  // written. Source: an H200 with driver 580.159, which has other words for some rows.
  absl::Status FillByWords(const CUDA_MEMSET_NODE_PARAMS& fill, Stream stream) {
    constexpr size_t kWord = sizeof(uint32_t);
    const uint32_t word = WordOf(fill.value, fill.elementSize);
    const size_t row_bytes = fill.width * fill.elementSize;
    for (size_t row = 0; row < fill.height; ++row) {
      const DeviceAddress start(fill.dst + row * fill.pitch);
      for (size_t i = 0; i < kWord && i < row_bytes; ++i) {
        const absl::Status filled = driver_.simulator->boxes().Fill(
            AskedOn(stream), start + Bytes(i), kWord, {word >> 8 * i, Bytes(1)}, 1,
            (row_bytes - i + kWord - 1) / kWord);
        if (!filled.ok()) return filled;
      }
    }
    return absl::OkStatus();
  }

  // As cuLaunchHostFunc does.
  CUresult GiveWork(const HostWork& work, Stream stream) {
    Context* const context = &driver_.contexts.Primary(stream.device());
    const auto call = [site = site_, context, call = work.call](DriverCode) {
      CallHostFunction(site, context, [&] { call.fn(call.userData); });
    };
    return ToResult(driver_.simulator->host_functions().Submit(site_.name(), stream, call));
  }

  CUresult GiveWork(const ChildWork& work, Stream stream) {
    return LaunchGraph(site_, driver_, *work.graph, stream, &spare_);
  }

  CUresult GiveWork(const EmptyWork&, Stream) { return CUDA_SUCCESS; }

  // The launch waits for what kernels decide.
  CUresult GiveWork(const ConditionalWork& work, Stream stream) {
    return Decide(driver_, work, stream, [&](const Graph& body) {
      return LaunchGraph(site_, driver_, body, stream, &spare_);
    });
  }

  CUresult GiveWork(const SignalWork& work, Stream) { return Submit(*work.list); }
  CUresult GiveWork(const AwaitWork& work, Stream) { return Submit(*work.list); }

  absl::Status GiveWork(const WaitWork& work, Stream stream) {
    return WaitForEvent(driver_, site_.name(), stream, EventOf(work.event, stream));
  }

  absl::Status GiveWork(const RecordWork& work, Stream stream) {
    return RecordEvent(driver_, site_.name(), EventOf(work.event, stream), stream);
  }

  absl::Status GiveWork(const AllocWork& work, Stream stream) {
    return Allocate(site_, driver_, work, stream);
  }
  absl::Status GiveWork(const FreeWork& work, Stream stream) { return Free(driver_, work, stream); }
  CUresult GiveWork(const BatchWork& work, Stream stream) {
    return Submit(site_, driver_, work, stream);
  }

  Event EventOf(CUevent event, Stream stream) const {
    const std::optional<EventRecord> record = driver_.streams.events.Find(ToNumber(event));
    return Event(record.has_value() ? record->context->device : stream.device(), ToNumber(event));
  }
  SimulatedCopies::Asked AskedOn(Stream stream) const {
    return {site_.name(), stream, SimulatedCopies::Returns::kWhenQueued,
            SimulatedCopies::Part::kWork};
  }

  const CallSite& site_;
  DriverState& driver_;
  const Graph& graph_;
  std::vector<Stream>& spare_;
  std::optional<Event> start_;     // of the launch, unless it is a chain
  std::map<GraphId, Event> done_;  // by node, the same
  std::vector<Lane> lanes_;        // the first one is the stream of the launch
  std::vector<Event> events_;
};

}  // namespace

CUresult LaunchGraph(const CallSite& site, DriverState& driver, const Graph& graph, Stream stream,
                     std::vector<Stream>* lanes) {
  return GraphLaunch(site, driver, graph, stream, lanes).Run();
}

}  // namespace twinmmu::libcuda
