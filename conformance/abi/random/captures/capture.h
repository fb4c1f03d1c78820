// Capture: streams that one step captures, and all that is made for them.

#ifndef TWINMMU_CONFORMANCE_ABI_RANDOM_CAPTURES_CAPTURE_H_
#define TWINMMU_CONFORMANCE_ABI_RANDOM_CAPTURES_CAPTURE_H_

#include <string>
#include <vector>

#include "conformance/abi/random/captures/node_world.h"

namespace twinmmu::abi {

struct Lane {
  std::string name;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;  // which no other touches
  bool began = false;      // where a capture ends
};

class Capture {
 public:
  explicit Capture(ProgramWorld& world) : world_(world), shared_(NodesOf(world)) {}

  void Run();

 private:
  template <typename... Words>
  bool Say(CUresult result, const Words&... words) {
    return world_.Say(result, words..., elsewhere_ ? "elsewhere" : "here");
  }
  Lane& AnyLane() { return lanes_[world_.Below(lanes_.size())]; }
  static CUstreamCaptureStatus StatusOf(const Lane& lane);
  static bool IsActive(const Lane& lane) {
    return StatusOf(lane) == CU_STREAM_CAPTURE_STATUS_ACTIVE;
  }
  static std::vector<CUgraphNode> NodesIn(CUgraph graph);
  // What the next node of the stream would wait for, and the graph that grows.
  static std::vector<CUgraphNode> Dependencies(const Lane& lane, CUgraph* graph);
  static std::string NumbersOf(const std::vector<CUgraphNode>& some, CUgraph graph);

  void SetUp();
  void TearDown();
  void Begin(Lane& lane);
  void BeginWrongly();
  void Call(bool is_tame);
  void Work(const Lane& lane);
  void Move(const Lane& lane);
  void Allocate(const Lane& lane);
  void WriteWords(const Lane& lane);
  void UseEvents(const Lane& lane);
  void Ask(const Lane& lane);
  void UpdateDependencies(const Lane& lane);
  void Fail(const Lane& lane);
  void Forbid(Lane& lane);
  void Undo(Lane& lane);
  void Wait(const Lane& lane);
  void UseLegacyStream();
  void EndWrongly();
  void JoinAll();
  void End(Lane& lane);
  void UseGraph(CUgraph graph);

  ProgramWorld& world_;
  NodeWorld& shared_;
  std::vector<Lane> lanes_;
  CUevent events_[3] = {};  // and the last only for outside
  CUgraph other_ = nullptr;
  std::vector<CUgraphNode> others_;
  CUgraphExec executable_ = nullptr;
  std::vector<CUgraph> graphs_;
  std::vector<CUdeviceptr> left_;  // that nodes allocate and none frees
  int begun_ = 0;
  bool is_to_other_ = false;    // the first capture grows there
  bool is_other_lost_ = false;  // and did not end well: nobody says whose the graph is
  bool is_thread_ = false;      // the first lane is the stream of the thread
  bool elsewhere_ = false;      // in another thread
  bool has_work_ = false;       // outside of captures, and so it may be done or not
  bool is_ordered_ = true;      // work of a lane is one behind the other
  bool is_possible_ = true;     // it would not fault
};

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_RANDOM_CAPTURES_CAPTURE_H_
