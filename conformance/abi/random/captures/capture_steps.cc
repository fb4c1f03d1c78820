// Captures of streams: a whole one in each step, as the program waits for its context between
// steps.

#include <algorithm>
#include <thread>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/captures/capture.h"

namespace twinmmu::abi {
namespace {

constexpr Function<CUresult(CUstream, int)> begin_capture("cuStreamBeginCapture_v2");
constexpr Function<CUresult(CUstream, CUgraph, const CUgraphNode*, const EdgeData*, size_t,
                            CUstreamCaptureMode)>
    begin_to_graph("cuStreamBeginCaptureToGraph");
constexpr Function<CUresult(CUstream, CUstreamCaptureStatus*, uint64_t*, CUgraph*,
                            const CUgraphNode**, const EdgeData**, size_t*)>
    capture_info("cuStreamGetCaptureInfo_v3");
constexpr Function<CUresult(int*)> exchange_mode("cuThreadExchangeStreamCaptureMode");

constexpr size_t kLane = 256;  // bytes of a stream

}  // namespace

void Capture::Run() {
  SetUp();
  for (int i = 0; i < (world_.OneIn(8) ? 2 : 1); ++i) Begin(lanes_[size_t(i)]);
  const size_t count = 3 + world_.Below(12);
  const bool is_tame = !world_.OneIn(3);
  for (size_t i = 0; i < count; ++i) {
    elsewhere_ = world_.OneIn(8) && !is_thread_;
    if (elsewhere_) {
      std::thread([&] {
        cuCtxSetCurrent(world_.context);
        Call(is_tame);
      }).join();
    } else {
      Call(is_tame);
    }
  }
  elsewhere_ = false;
  if (!world_.OneIn(6)) JoinAll();
  for (Lane& lane : lanes_) {
    if (lane.began) End(lane);
  }
  int mode = 0;
  exchange_mode(&mode);
  cuCtxSynchronize();
  for (const CUgraph graph : graphs_) UseGraph(graph);
  TearDown();
}

CUstreamCaptureStatus Capture::StatusOf(const Lane& lane) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuStreamIsCapturing(lane.stream, &status);
  return status;
}

std::vector<CUgraphNode> Capture::NodesIn(CUgraph graph) {
  size_t count = 0;
  cuGraphGetNodes(graph, nullptr, &count);
  std::vector<CUgraphNode> nodes(count);
  if (count != 0) cuGraphGetNodes(graph, nodes.data(), &count);
  return nodes;
}

std::vector<CUgraphNode> Capture::Dependencies(const Lane& lane, CUgraph* graph) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUgraphNode* nodes = nullptr;
  const EdgeData* data = nullptr;
  size_t count = 0;
  capture_info(lane.stream, &status, nullptr, graph, &nodes, &data, &count);
  return std::vector<CUgraphNode>(nodes, nodes + count);
}

std::string Capture::NumbersOf(const std::vector<CUgraphNode>& some, CUgraph graph) {
  const std::vector<CUgraphNode> all = NodesIn(graph);
  std::vector<long> numbers;
  for (const CUgraphNode node : some) {
    numbers.push_back(std::find(all.begin(), all.end(), node) - all.begin());
  }
  std::sort(numbers.begin(), numbers.end());
  std::string text = "of " + std::to_string(all.size()) + ":";
  for (const long number : numbers) text += " " + std::to_string(number);
  return text;
}

void Capture::SetUp() {
  is_thread_ = world_.OneIn(8);
  std::string words;
  for (size_t i = 0; i < 3; ++i) {
    Lane lane;
    lane.name = "lane" + std::to_string(i);
    lane.memory = shared_.captured + i * kLane;
    const unsigned int flags = world_.OneIn(4) ? 0 : 1;
    if (i == 0 && is_thread_) {
      lane.stream = reinterpret_cast<CUstream>(2);
    } else {
      cuStreamCreate(&lane.stream, flags);
    }
    words += i == 0 && is_thread_ ? " thread" : " " + std::to_string(flags);
    lanes_.push_back(lane);
  }
  for (CUevent& event : events_) cuEventCreate(&event, world_.OneIn(2) ? 2 : 0);
  cuGraphCreate(&other_, 0);
  others_.resize(2);
  cuGraphAddEmptyNode(&others_[0], other_, nullptr, 0);
  NodeWork work;
  work.to = shared_.captured + 5 * kLane;
  work.kernel.func = shared_.add;
  work.kernel.gridDimX = work.kernel.gridDimY = work.kernel.gridDimZ = 1;
  work.kernel.blockDimX = work.kernel.blockDimY = work.kernel.blockDimZ = 1;
  work.kernel.kernelParams = work.arguments;
  cuGraphAddKernelNode(&others_[1], other_, others_.data(), 1, &work.kernel);
  world_.Say(cuGraphInstantiateWithFlags(&executable_, other_, 0), "cuGraphInstantiateWithFlags",
             "other, and streams", words);
}

void Capture::TearDown() {
  for (const CUgraph graph : graphs_) {
    if (graph != other_) world_.Say(cuGraphDestroy(graph), "cuGraphDestroy", "captured");
  }
  cuGraphExecDestroy(executable_);
  if (!is_other_lost_) world_.Say(cuGraphDestroy(other_), "cuGraphDestroy", "other");
  for (const CUevent event : events_) cuEventDestroy(event);
  for (const Lane& lane : lanes_) {
    if (lane.stream != reinterpret_cast<CUstream>(2)) cuStreamDestroy(lane.stream);
  }
}

void Capture::Begin(Lane& lane) {
  if (world_.OneIn(10)) BeginWrongly();
  const int mode = world_.Of({0, 0, 1, 1, 2});
  if (begun_ != 0 || !world_.OneIn(3)) {
    lane.began = Say(begin_capture(lane.stream, mode), "cuStreamBeginCapture", lane.name, mode);
  } else {
    const size_t count = world_.Below(3);
    lane.began = Say(begin_to_graph(lane.stream, other_, others_.data(), nullptr, count,
                                    static_cast<CUstreamCaptureMode>(mode)),
                     "cuStreamBeginCaptureToGraph", lane.name, count, mode);
    is_to_other_ = lane.began;
  }
  begun_ += lane.began ? 1 : 0;
}

void Capture::BeginWrongly() {
  const Lane& lane = lanes_[2];
  constexpr CUstreamCaptureMode kGlobal = CU_STREAM_CAPTURE_MODE_GLOBAL;
  switch (world_.Below(5)) {
    case 0:
      Say(begin_capture(lane.stream, world_.Of({3, -1})), "cuStreamBeginCapture", "no mode");
      return;
    case 1:
      Say(begin_capture(nullptr, 0), "cuStreamBeginCapture", "legacy");
      return;
    case 2:
      Say(begin_to_graph(lane.stream, other_, nullptr, nullptr, 1, kGlobal),
          "cuStreamBeginCaptureToGraph", "no nodes");
      return;
    case 3:
      Say(begin_to_graph(lane.stream, nullptr, nullptr, nullptr, 0, kGlobal),
          "cuStreamBeginCaptureToGraph", "no graph");
      return;
    default:
      Say(begin_to_graph(nullptr, other_, nullptr, nullptr, 0, kGlobal),
          "cuStreamBeginCaptureToGraph", "legacy");
  }
}

void Capture::EndWrongly() {
  const Lane& lane = AnyLane();
  if (lane.began) return;
  CUgraph graph = nullptr;
  Say(cuStreamEndCapture(lane.stream, &graph), "cuStreamEndCapture", lane.name, "in vain");
}

void Capture::JoinAll() {
  for (size_t i = 1; i < lanes_.size(); ++i) {
    const Lane& lane = lanes_[i];
    if (lane.began || !IsActive(lane)) continue;
    Say(cuEventRecord(events_[0], lane.stream), "cuEventRecord", "event 0", lane.name);
    Say(cuStreamWaitEvent(lanes_[0].stream, events_[0], 0), "cuStreamWaitEvent", lanes_[0].name,
        "event 0");
  }
}

void Capture::End(Lane& lane) {
  CUgraph graph = nullptr;
  CUresult result = CUDA_SUCCESS;
  elsewhere_ = world_.OneIn(12) && !is_thread_;
  if (elsewhere_) {
    std::thread([&] {
      cuCtxSetCurrent(world_.context);
      result = cuStreamEndCapture(lane.stream, &graph);
    }).join();
  } else {
    result = cuStreamEndCapture(lane.stream, &graph);
  }
  if (Say(result, "cuStreamEndCapture", lane.name)) {
    world_.Gave(graph == other_ ? "other" : "a graph");
    graphs_.push_back(graph);
  } else {
    is_other_lost_ |= is_to_other_;
  }
  elsewhere_ = false;
  std::string now;
  for (const Lane& each : lanes_) now += " " + std::to_string(int(StatusOf(each)));
  world_.Gave("then", now);
}

void Capture::UseGraph(CUgraph graph) {
  const std::vector<CUgraphNode> nodes = NodesIn(graph);
  std::string types;
  for (const CUgraphNode node : nodes) {
    CUgraphNodeType type = {};
    cuGraphNodeGetType(node, &type);
    types += " " + std::to_string(int(type));
  }
  world_.Say(CUDA_SUCCESS, "cuGraphGetNodes", "captured");
  world_.Gave(nodes.size(), types);
  size_t count = 0;
  edges_of_graph(graph, nullptr, nullptr, nullptr, &count);
  std::vector<CUgraphNode> from(count);
  std::vector<CUgraphNode> to(count);
  std::vector<EdgeData> data(count);
  if (count != 0) edges_of_graph(graph, from.data(), to.data(), data.data(), &count);
  std::vector<std::pair<long, long>> edges;
  const auto number = [&](CUgraphNode node) {
    return std::find(nodes.begin(), nodes.end(), node) - nodes.begin();
  };
  for (size_t i = 0; i < count; ++i) edges.emplace_back(number(from[i]), number(to[i]));
  std::sort(edges.begin(), edges.end());
  std::string text;
  for (const auto& [a, b] : edges) text += " " + std::to_string(a) + "-" + std::to_string(b);
  world_.Say(CUDA_SUCCESS, "cuGraphGetEdges", "captured");
  world_.Gave(count, text);
  CUgraphExec executable = nullptr;
  if (!world_.Say(cuGraphInstantiateWithFlags(&executable, graph, 0), "cuGraphInstantiateWithFlags",
                  "captured")) {
    return;
  }
  if (is_ordered_ && is_possible_) {
    cuMemsetD8(shared_.captured, 0, NodeWorld::kBytes);
    cuCtxSynchronize();
    shared_.calls = 0;
    const Lane& lane = lanes_[2];
    const bool launched =
        world_.Say(cuGraphLaunch(executable, lane.stream), "cuGraphLaunch", lane.name);
    world_.Say(cuStreamSynchronize(lane.stream), "cuStreamSynchronize", lane.name);
    if (launched) world_.Gave(HashOf(shared_.captured, NodeWorld::kBytes), shared_.calls.load());
    for (const CUdeviceptr left : left_) world_.Say(cuMemFree(left), "cuMemFree", "of a node");
  }
  world_.Say(cuGraphExecDestroy(executable), "cuGraphExecDestroy", "captured");
}

namespace {

void CaptureAll(ProgramWorld& world) { Capture(world).Run(); }

}  // namespace

RandomSteps CaptureSteps() { return {{16, CaptureAll}}; }

}  // namespace twinmmu::abi
