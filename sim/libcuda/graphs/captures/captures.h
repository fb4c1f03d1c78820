// Captures: the streams whose work becomes nodes of graphs, and the events that stand for nodes.

#ifndef TWINMMU_SIM_LIBCUDA_GRAPHS_CAPTURES_CAPTURES_H_
#define TWINMMU_SIM_LIBCUDA_GRAPHS_CAPTURES_CAPTURES_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <tuple>
#include <vector>

#include "sim/libcuda/contexts.h"
#include "sim/libcuda/graphs/graph_link.h"
#include "third_party/cuda_abi/cuda_abi.h"
#include "third_party/cuda_abi/graph_abi.h"

namespace twinmmu::libcuda {

class Graph;

// A stream; that of a thread is another in each context and thread.
struct StreamName {
  uint64_t stream = 0;
  const Context* context = nullptr;
  std::thread::id thread = {};

  friend bool operator<(const StreamName& a, const StreamName& b) {
    return std::tie(a.stream, a.context, a.thread) < std::tie(b.stream, b.context, b.thread);
  }
  friend bool operator==(const StreamName& a, const StreamName& b) {
    return a.stream == b.stream && a.context == b.context && a.thread == b.thread;
  }
};

// What one cuStreamBeginCapture began.
struct Capture {
  uint64_t id = 0;
  std::shared_ptr<Graph> graph;
  bool to_graph = false;  // that the program had before
  cuda_abi::CUstreamCaptureMode mode = 0;
  std::thread::id thread;
  StreamName origin;
  bool valid = true;
  bool ended = false;
};

struct CapturedStream {
  std::shared_ptr<Capture> capture;
  const Context* context = nullptr;     // that the stream was made in
  bool blocking = false;                // it and the legacy stream wait for each other
  std::vector<GraphLink> dependencies;  // of its next node
  bool has_work = false;                // a node of its own
  // The same, as the program asked for them last.
  std::vector<cuda_abi::CUgraphNode> told;
  std::vector<cuda_abi::CUgraphEdgeData> told_data;
};

// Of a capture that is ended, it stands for nothing.
struct CapturedEvent {
  std::shared_ptr<Capture> capture;
  std::vector<GraphLink> dependencies;
};

// For who holds Graphs::mutex, but for MayMatter.
class Captures {
 public:
  // False: nothing is captured, nor does any event stand for a node.
  bool MayMatter() const { return may_matter_.load(std::memory_order_relaxed); }

  // Null: it is not captured.
  CapturedStream* Find(const StreamName& stream);
  CapturedEvent* Find(cuda_abi::CUevent event);

  void Begin(const StreamName& stream, CapturedStream captured);
  // The stream waits for nodes of a capture, and is captured from now on, if it was not.
  void Join(const StreamName& stream, CapturedStream joining);
  void Record(cuda_abi::CUevent event, CapturedEvent captured);
  void Forget(cuda_abi::CUevent event);
  // The stream is destroyed. Its nodes stay in the capture, unless that began with it: then it is
  // the one that ended.
  std::shared_ptr<Capture> Forget(const StreamName& stream);
  // Those that have streams of a context.
  std::set<std::shared_ptr<Capture>> Of(const Context& context) const;
  // All its streams are as before. Its events stand for nothing. What the program was told of its
  // streams stays until another one ends, as clients read it then, and a driver lets them.
  void End(const std::shared_ptr<Capture>& capture);

  // Whether `origin` would wait for all streams of the capture that were given work.
  bool IsJoined(const Capture& capture) const;

  template <typename Matches>
  bool Any(const Matches& matches) const {
    for (const auto& [name, stream] : streams_) {
      if (matches(stream)) return true;
    }
    return false;
  }
  // Makes the captures of those streams invalid for which matches(stream); whether there was one.
  template <typename Matches>
  bool Invalidate(const Matches& matches) {
    bool any = false;
    for (auto& [name, stream] : streams_) {
      if (!matches(stream)) continue;
      any = true;
      stream.capture->valid = false;
    }
    return any;
  }

 private:
  void Notice() { may_matter_ = !streams_.empty() || !events_.empty(); }

  std::atomic<bool> may_matter_{false};
  std::map<StreamName, CapturedStream> streams_;
  std::map<uint64_t, CapturedEvent> events_;
  std::vector<CapturedStream> destroyed_;       // streams
  std::map<StreamName, CapturedStream> ended_;  // of the capture that ended last
};

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_GRAPHS_CAPTURES_CAPTURES_H_
