// Events by legacy IPC: one process waits for what another one records.
// Source: an H100 with driver 580.159.

#include <array>
#include <atomic>
#include <cstdint>

#include "conformance/abi/sharing/peer_process.h"

namespace twinmmu::abi {
namespace {

using EventHandle = std::array<char, 64>;

const Function<CUresult(EventHandle*, CUevent)> get_handle("cuIpcGetEventHandle");
const Function<CUresult(CUevent*, EventHandle)> open_handle("cuIpcOpenEventHandle");

const Function<CUresult(CUstream, int)> begin_capture("cuStreamBeginCapture_v2");
const Function<CUresult(CUstream, CUgraph*)> end_capture("cuStreamEndCapture");
const Function<CUresult(CUgraph)> destroy_graph("cuGraphDestroy");

constexpr auto kMapFailed = static_cast<CUresult>(205);  // CUDA_ERROR_MAP_FAILED
constexpr unsigned int kShared = CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

CUevent MakeEvent(unsigned int flags = kShared) {
  CUevent event = nullptr;
  EXPECT_EQ(cuEventCreate(&event, flags), CUDA_SUCCESS);
  return event;
}

EventHandle HandleOf(CUevent event) {
  EventHandle handle = {};
  EXPECT_EQ(get_handle(&handle, event), CUDA_SUCCESS);
  return handle;
}

CUevent Open(const EventHandle& handle) {
  CUevent event = nullptr;
  EXPECT_EQ(open_handle(&event, handle), CUDA_SUCCESS);
  return event;
}

// A stream that stands still, behind its first work, until it is let go.
class HeldStream {
 public:
  HeldStream() {
    void* memory = nullptr;
    EXPECT_EQ(cuMemAllocHost(&memory, sizeof(*gate_)), CUDA_SUCCESS);
    gate_ = new (memory) std::atomic<uint32_t>(0);
    EXPECT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  }
  ~HeldStream() {
    LetGo();
    EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamDestroy(stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFreeHost(gate_), CUDA_SUCCESS);
  }
  HeldStream(const HeldStream&) = delete;
  HeldStream& operator=(const HeldStream&) = delete;

  CUstream stream() const { return stream_; }
  void Hold() {
    *gate_ = 0;
    EXPECT_EQ(cuStreamWaitValue32(stream_, AddressOf(gate_), 1, CU_STREAM_WAIT_VALUE_EQ),
              CUDA_SUCCESS);
  }
  void LetGo() { *gate_ = 1; }

 private:
  std::atomic<uint32_t>* gate_ = nullptr;
  CUstream stream_ = nullptr;
};

// --- In one process

using IpcEventTest = ContextTest;

TEST_F(IpcEventTest, HandlesAreOfEventsThatWereMadeForIt) {
  for (const unsigned int flags : {0u, 1u, 2u, 3u}) {
    const CUevent event = MakeEvent(flags);
    EventHandle handle = {7};
    EXPECT_EQ(get_handle(&handle, event), CUDA_ERROR_INVALID_HANDLE) << flags;
    EXPECT_EQ(handle, EventHandle{}) << "it is cleared";
    EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
  }
  const CUevent event = MakeEvent();
  const CUevent other = MakeEvent(kShared | CU_EVENT_BLOCKING_SYNC);
  EXPECT_EQ(HandleOf(event), HandleOf(event));
  EXPECT_NE(HandleOf(event), HandleOf(other));
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(other), CUDA_SUCCESS);
}

TEST_F(IpcEventTest, SharedEventsHaveNoTime) {
  CUevent event = nullptr;
  for (const unsigned int flags : {4u, 5u}) {
    EXPECT_EQ(cuEventCreate(&event, flags), CUDA_ERROR_INVALID_VALUE) << flags;
  }
}

TEST_F(IpcEventTest, NullPointersAreRefused) {
  const CUevent event = MakeEvent();
  EventHandle handle = {};
  EXPECT_EQ(get_handle(nullptr, event), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_handle(&handle, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(open_handle(nullptr, HandleOf(event)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
}

TEST_F(IpcEventTest, AnEventIsNotOpenedWhereItWasMade) {
  const CUevent event = MakeEvent();
  CUevent opened = reinterpret_cast<CUevent>(7);
  EXPECT_EQ(open_handle(&opened, HandleOf(event)), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(opened, reinterpret_cast<CUevent>(7));
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
}

TEST_F(IpcEventTest, WhatNoProcessGaveOpensNothing) {
  CUevent opened = nullptr;
  EventHandle handle = {};
  EXPECT_EQ(open_handle(&opened, handle), kMapFailed);
  handle.fill(0x5a);
  EXPECT_EQ(open_handle(&opened, handle), kMapFailed);
}

TEST_F(IpcEventTest, NeedsAContext) {
  const CUevent event = MakeEvent();
  EventHandle handle = {};
  CUevent opened = nullptr;
  ASSERT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(get_handle(&handle, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_handle(&handle, event), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(open_handle(&opened, handle), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
}

// And the capture goes on.
TEST_F(IpcEventTest, SharedEventsAreNotCaptured) {
  const CUevent event = MakeEvent();
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(begin_capture(stream, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(event, stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end_capture(stream, &graph), CUDA_SUCCESS);
  EXPECT_EQ(destroy_graph(graph), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
}

// --- In two

using IpcEventsTest = TwoProcessesTest;

TEST_F(IpcEventsTest, OneProcessWaitsForAnother) {
  if (RanInNewProcess()) return;
  const auto exporter = [](Peer& peer) {
    const CUevent event = MakeEvent();
    HeldStream held;
    held.Hold();
    EXPECT_EQ(cuEventRecord(event, held.stream()), CUDA_SUCCESS);
    EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    peer.Send(HandleOf(event));
    peer.Meet();  // it waits
    held.LetGo();
    peer.Meet();  // it has waited
    EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
  };
  const auto importer = [](Peer& peer) {
    const CUevent event = Open(peer.Receive<EventHandle>());
    HeldStream waiting;
    EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(cuStreamWaitEvent(waiting.stream(), event, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamQuery(waiting.stream()), CUDA_ERROR_NOT_READY);
    peer.Meet();
    EXPECT_EQ(cuEventSynchronize(event), CUDA_SUCCESS);
    EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(waiting.stream()), CUDA_SUCCESS);
    peer.Meet();
    EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
  };
  Run(exporter, importer);
}

TEST_F(IpcEventsTest, WhoOpenedAnEventRecordsItToo) {
  if (RanInNewProcess()) return;
  const auto exporter = [](Peer& peer) {
    const CUevent event = MakeEvent();
    HeldStream waiting;
    peer.Send(HandleOf(event));
    peer.Meet();  // it has recorded
    EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(cuStreamWaitEvent(waiting.stream(), event, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamQuery(waiting.stream()), CUDA_ERROR_NOT_READY);
    peer.Meet();  // it may go on
    EXPECT_EQ(cuStreamSynchronize(waiting.stream()), CUDA_SUCCESS);
    EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
    peer.Meet();
    EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
  };
  const auto importer = [](Peer& peer) {
    const CUevent event = Open(peer.Receive<EventHandle>());
    HeldStream held;
    held.Hold();
    EXPECT_EQ(cuEventRecord(event, held.stream()), CUDA_SUCCESS);
    EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    peer.Meet();
    peer.Meet();
    held.LetGo();
    peer.Meet();
    EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
    EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
  };
  Run(exporter, importer);
}

TEST_F(IpcEventsTest, WhatWasNeverRecordedIsOver) {
  if (RanInNewProcess()) return;
  const auto exporter = [](Peer& peer) {
    const CUevent event = MakeEvent();
    peer.Send(HandleOf(event));
    peer.Meet();
  };
  const auto importer = [](Peer& peer) {
    const CUevent event = Open(peer.Receive<EventHandle>());
    HeldStream waiting;
    EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
    EXPECT_EQ(cuEventSynchronize(event), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamWaitEvent(waiting.stream(), event, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(waiting.stream()), CUDA_SUCCESS);
    peer.Meet();
  };
  Run(exporter, importer);
}

TEST_F(IpcEventsTest, AnEventIsOpenedAnyNumberOfTimes) {
  if (RanInNewProcess()) return;
  const auto exporter = [](Peer& peer) {
    const CUevent event = MakeEvent();
    HeldStream held;
    held.Hold();
    EXPECT_EQ(cuEventRecord(event, held.stream()), CUDA_SUCCESS);
    peer.Send(HandleOf(event));
    peer.Meet();
  };
  const auto importer = [](Peer& peer) {
    const EventHandle handle = peer.Receive<EventHandle>();
    const CUevent event = Open(handle);
    const CUevent another = Open(handle);
    EXPECT_NE(event, another);
    EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
    EXPECT_EQ(cuEventQuery(another), CUDA_ERROR_NOT_READY);
    peer.Meet();
  };
  Run(exporter, importer);
}

TEST_F(IpcEventsTest, AnOpenedEventIsNotPassedOn) {
  if (RanInNewProcess()) return;
  const auto exporter = [](Peer& peer) {
    const CUevent event = MakeEvent();
    peer.Send(HandleOf(event));
    peer.Meet();
  };
  const auto importer = [](Peer& peer) {
    const CUevent event = Open(peer.Receive<EventHandle>());
    EventHandle handle = {};
    EXPECT_EQ(get_handle(&handle, event), CUDA_ERROR_INVALID_HANDLE);
    peer.Meet();
  };
  Run(exporter, importer);
}

TEST_F(IpcEventsTest, WhoWaitsSeesNothingOfItsDestruction) {
  if (RanInNewProcess()) return;
  const auto exporter = [](Peer& peer) {
    const CUevent event = MakeEvent();
    HeldStream held;
    held.Hold();
    EXPECT_EQ(cuEventRecord(event, held.stream()), CUDA_SUCCESS);
    peer.Send(HandleOf(event));
    peer.Meet();  // it waits
    EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
    peer.Meet();
    peer.Meet();  // it still waits
    held.LetGo();
    peer.Meet();
  };
  const auto importer = [](Peer& peer) {
    const CUevent event = Open(peer.Receive<EventHandle>());
    HeldStream waiting;
    EXPECT_EQ(cuStreamWaitEvent(waiting.stream(), event, 0), CUDA_SUCCESS);
    peer.Meet();
    peer.Meet();  // it is destroyed
    EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(cuStreamQuery(waiting.stream()), CUDA_ERROR_NOT_READY);
    peer.Meet();
    EXPECT_EQ(cuStreamSynchronize(waiting.stream()), CUDA_SUCCESS);
    EXPECT_EQ(cuEventQuery(event), CUDA_SUCCESS);
    peer.Meet();
  };
  Run(exporter, importer);
}

}  // namespace
}  // namespace twinmmu::abi
