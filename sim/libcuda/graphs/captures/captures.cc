#include "sim/libcuda/graphs/captures/captures.h"

#include <algorithm>
#include <set>
#include <utility>

#include "sim/libcuda/graphs/graph.h"

namespace twinmmu::libcuda {
namespace {

uint64_t KeyOf(cuda_abi::CUevent event) { return reinterpret_cast<uintptr_t>(event); }

// `nodes`, and all that they depend on.
std::set<GraphId> WithAncestors(const Graph& graph, const std::vector<GraphLink>& nodes) {
  std::set<GraphId> found;
  std::vector<GraphId> open;
  for (const GraphLink& link : nodes) open.push_back(link.node);
  while (!open.empty()) {
    const GraphId id = open.back();
    open.pop_back();
    const GraphNode* const node = graph.Find(id);
    if (node == nullptr || !found.insert(id).second) continue;
    for (const GraphLink& link : node->dependencies) open.push_back(link.node);
  }
  return found;
}

// How much of a node an edge from it waits for: of two that a stream was made to wait for, the more
// counts. Source: an H200 with driver 580.159.
int WaitsFor(const cuda_abi::CUgraphEdgeData& data) {
  if (data.type == cuda_abi::CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC) return 1;
  return data.from_port == cuda_abi::CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER ? 0 : 2;
}

}  // namespace

CapturedStream* Captures::Find(const StreamName& stream) {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? nullptr : &found->second;
}

CapturedEvent* Captures::Find(cuda_abi::CUevent event) {
  const auto found = events_.find(KeyOf(event));
  return found == events_.end() ? nullptr : &found->second;
}

void Captures::Begin(const StreamName& stream, CapturedStream captured) {
  streams_[stream] = std::move(captured);
  Notice();
}

void Captures::Join(const StreamName& stream, CapturedStream joining) {
  CapturedStream* const captured = Find(stream);
  if (captured == nullptr) return Begin(stream, std::move(joining));
  captured->dependencies.reserve(captured->dependencies.size() + joining.dependencies.size());
  for (const GraphLink& link : joining.dependencies) {
    const auto known =
        std::find_if(captured->dependencies.begin(), captured->dependencies.end(),
                     [&](const GraphLink& other) { return other.node == link.node; });
    if (known == captured->dependencies.end()) {
      captured->dependencies.push_back(link);
    } else if (WaitsFor(link.data) > WaitsFor(known->data)) {
      known->data = link.data;
    }
  }
}

void Captures::Record(cuda_abi::CUevent event, CapturedEvent captured) {
  events_[KeyOf(event)] = std::move(captured);
  Notice();
}

void Captures::Forget(cuda_abi::CUevent event) {
  events_.erase(KeyOf(event));
  Notice();
}

std::shared_ptr<Capture> Captures::Forget(const StreamName& stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return nullptr;
  const std::shared_ptr<Capture> capture = found->second.capture;
  if (capture->origin == stream) {
    End(capture);
    return capture;
  }
  destroyed_.push_back(std::move(found->second));
  streams_.erase(found);
  Notice();
  return nullptr;
}

std::set<std::shared_ptr<Capture>> Captures::Of(const Context& context) const {
  std::set<std::shared_ptr<Capture>> captures;
  for (const auto& [name, stream] : streams_) {
    if (stream.context == &context) captures.insert(stream.capture);
  }
  return captures;
}

void Captures::End(const std::shared_ptr<Capture>& capture) {
  capture->ended = true;
  ended_.clear();
  for (auto at = streams_.begin(); at != streams_.end();) {
    const auto stream = at++;
    if (stream->second.capture != capture) continue;
    stream->second.capture.reset();
    ended_.insert(streams_.extract(stream));
  }
  destroyed_.erase(
      std::remove_if(destroyed_.begin(), destroyed_.end(),
                     [&](const CapturedStream& stream) { return stream.capture == capture; }),
      destroyed_.end());
  Notice();
}

bool Captures::IsJoined(const Capture& capture) const {
  const auto origin = streams_.find(capture.origin);
  if (origin == streams_.end()) return false;
  const std::set<GraphId> joined = WithAncestors(*capture.graph, origin->second.dependencies);
  const auto is_joined = [&](const CapturedStream& stream) {
    if (stream.capture.get() != &capture || !stream.has_work) return true;
    return std::all_of(stream.dependencies.begin(), stream.dependencies.end(),
                       [&](const GraphLink& link) { return joined.count(link.node) != 0; });
  };
  for (const auto& [name, stream] : streams_) {
    if (!is_joined(stream)) return false;
  }
  return std::all_of(destroyed_.begin(), destroyed_.end(), is_joined);
}

}  // namespace twinmmu::libcuda
