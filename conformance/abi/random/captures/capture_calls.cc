// Calls while streams are captured.

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/captures/capture.h"
#include "conformance/abi/streams/batch_operations.h"

namespace twinmmu::abi {
namespace {

constexpr Function<CUresult(CUstream, CUstreamCaptureStatus*, uint64_t*, CUgraph*,
                            const CUgraphNode**, const EdgeData**, size_t*)>
    capture_info("cuStreamGetCaptureInfo_v3");
constexpr Function<CUresult(CUstream, const CUgraphNode*, const EdgeData*, size_t, unsigned)>
    update_dependencies("cuStreamUpdateCaptureDependencies_v2");
constexpr Function<CUresult(int*)> exchange_mode("cuThreadExchangeStreamCaptureMode");

unsigned int pageable[16] = {1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987, 1597};

void CountCall(void* calls) { ++*static_cast<std::atomic<int>*>(calls); }

}  // namespace

void Capture::Call(bool is_tame) {
  Lane& lane = AnyLane();
  if (StatusOf(lane) == CU_STREAM_CAPTURE_STATUS_NONE) has_work_ = true;
  if (!is_tame && world_.OneIn(4)) {
    switch (world_.Below(10)) {
      case 0:
      case 1:
        return Fail(lane);
      case 2:
      case 3:
      case 4:
        return Forbid(lane);
      case 5:
      case 6:
        return Wait(lane);
      case 7:
      case 8:
        return UseLegacyStream();
      default:
        return EndWrongly();
    }
  }
  switch (world_.Below(18)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return Work(lane);
    case 4:
    case 5:
      return Move(lane);
    case 6:
      return Allocate(lane);
    case 7:
      return WriteWords(lane);
    case 8:
    case 9:
    case 10:
    case 11:
      return UseEvents(lane);
    case 12:
    case 13:
    case 14:
    case 15:
    case 16:
      return Ask(lane);
    default:
      return UpdateDependencies(lane);
  }
}

void Capture::Work(const Lane& lane) {
  const size_t word = world_.Below(16);
  CUdeviceptr to = lane.memory + 4 * word;
  unsigned int value = static_cast<unsigned>(world_.Below(1000));
  if (world_.OneIn(5)) {
    Say(cuLaunchHostFunc(lane.stream, CountCall, &shared_.calls), "cuLaunchHostFunc", lane.name);
    return;
  }
  const unsigned int grid = 1 + unsigned(world_.Below(4));
  const unsigned int block = 1 + unsigned(world_.Below(64));
  const bool adds = world_.OneIn(2);
  void* arguments[] = {&to, &value};
  Say(cuLaunchKernel(adds ? shared_.add : shared_.set, grid, 1, 1, block, 1, 1, 0, lane.stream,
                     arguments, nullptr),
      "cuLaunchKernel", adds ? "add" : "set", lane.name, word, value, grid, block);
}

// Fills and copies: no byte of which is also that of another lane.
void Capture::Move(const Lane& lane) {
  const size_t word = world_.Below(16);
  const CUdeviceptr to = lane.memory + 4 * word;
  const size_t count = world_.OneIn(8) ? 0 : 1 + world_.Below(16 - word);
  switch (world_.Below(5)) {
    case 0:
      Say(cuMemsetD32Async(to, 7, count, lane.stream), "cuMemsetD32Async", lane.name, word, count);
      return;
    case 1:
      Say(cuMemsetD8Async(to, 7, count, lane.stream), "cuMemsetD8Async", lane.name, word, count);
      return;
    case 2:
      Say(cuMemsetD2D8Async(lane.memory, 16, 3, count, 4, lane.stream), "cuMemsetD2D8Async",
          lane.name, count);
      return;
    case 3:
      Say(cuMemcpyHtoDAsync(to + 64, pageable, 4 * count, lane.stream), "cuMemcpyHtoDAsync",
          lane.name, word, count);
      return;
    default:
      Say(cuMemcpyDtoDAsync(to + 128, to, 4 * count, lane.stream), "cuMemcpyDtoDAsync", lane.name,
          word, count);
  }
}

void Capture::Allocate(const Lane& lane) {
  if (StatusOf(lane) == CU_STREAM_CAPTURE_STATUS_NONE) return;
  const size_t size = world_.Of<size_t>({64, 64, 4096, 100000, 0});
  CUdeviceptr address = 0;
  if (!Say(allocate_async(&address, size, lane.stream), "cuMemAllocAsync", size, lane.name)) return;
  if (size == 0) return;
  Say(cuMemsetD32Async(address, 5, 16, lane.stream), "cuMemsetD32Async", "allocated", lane.name);
  Say(cuMemcpyDtoDAsync(lane.memory + 192, address, 64, lane.stream), "cuMemcpyDtoDAsync",
      lane.name, "allocated");
  if (world_.OneIn(8)) Say(free_async(lane.memory, lane.stream), "cuMemFreeAsync", "no allocation");
  // Where two graphs are captured it would not be known whose memory stays.
  if (begun_ == 1 && world_.OneIn(4)) return left_.push_back(address);
  Say(free_async(address, lane.stream), "cuMemFreeAsync", "allocated", lane.name);
}

// A wait only behind the write for which it waits.
void Capture::WriteWords(const Lane& lane) {
  const size_t word = 2 * world_.Below(7);
  const CUdeviceptr at = lane.memory + 4 * word;
  const unsigned int value = 1 + unsigned(world_.Below(1000));
  switch (world_.Below(4)) {
    case 0:
      if (!Say(cuStreamWriteValue32(lane.stream, at, value, 0), "cuStreamWriteValue32", lane.name,
               word, value)) {
        return;
      }
      Say(cuStreamWaitValue32(lane.stream, at, value, CU_STREAM_WAIT_VALUE_GEQ),
          "cuStreamWaitValue32", lane.name, word, value);
      return;
    case 1:
      Say(cuStreamWriteValue64(lane.stream, at, value, 0), "cuStreamWriteValue64", lane.name, word,
          value);
      return;
    case 2:
      Say(cuStreamWriteValue32(lane.stream, at + 1, value, 0), "cuStreamWriteValue32", lane.name,
          "misaligned");
      return;
    default: {
      CUstreamBatchMemOpParams two[] = {
          Operation(CU_STREAM_MEM_OP_WRITE_VALUE_32, at, value),
          Operation(CU_STREAM_MEM_OP_WRITE_VALUE_32, at + 4, value + 1)};
      Say(cuStreamBatchMemOp(lane.stream, 2, two, 0), "cuStreamBatchMemOp", lane.name, word, value);
    }
  }
}

void Capture::UseEvents(const Lane& lane) {
  const size_t which = world_.Below(2);
  const std::string event = "event " + std::to_string(which);
  if (world_.OneIn(6)) {
    if (!IsActive(lane) && !world_.OneIn(6)) return;
    if (world_.OneIn(2)) {
      Say(cuEventRecordWithFlags(events_[2], lane.stream, 1), "cuEventRecordWithFlags", lane.name,
          "outside");
    } else {
      Say(cuStreamWaitEvent(lane.stream, events_[2], CU_EVENT_WAIT_EXTERNAL), "cuStreamWaitEvent",
          lane.name, "outside");
    }
    return;
  }
  // Mostly a fork of a stream that is captured.
  const bool forks = !world_.OneIn(8);
  if (forks && !IsActive(lane)) return;
  const Lane& other = AnyLane();
  if (!Say(cuEventRecord(events_[which], lane.stream), "cuEventRecord", event, lane.name)) return;
  if (!forks && world_.OneIn(2)) return;
  Say(cuStreamWaitEvent(other.stream, events_[which], 0), "cuStreamWaitEvent", other.name, event);
}

void Capture::Ask(const Lane& lane) {
  CUstreamCaptureStatus status = {};
  switch (world_.Below(4)) {
    case 0:
      if (Say(cuStreamIsCapturing(lane.stream, &status), "cuStreamIsCapturing", lane.name)) {
        world_.Gave(int(status));
      }
      return;
    case 1: {
      int mode = world_.Of({0, 1, 2});
      Say(exchange_mode(&mode), "cuThreadExchangeStreamCaptureMode", mode);
      world_.Gave(mode);
      return;
    }
    default: {
      uint64_t id = 0;
      uint64_t first = 0;
      if (!Say(capture_info(lane.stream, &status, &id, nullptr, nullptr, nullptr, nullptr),
               "cuStreamGetCaptureInfo", lane.name)) {
        return;
      }
      world_.Gave(int(status));
      if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return;
      capture_info(lanes_[0].stream, &status, &first, nullptr, nullptr, nullptr, nullptr);
      CUgraph graph = nullptr;
      const std::vector<CUgraphNode> nodes = Dependencies(lane, &graph);
      world_.Gave(first == id, NumbersOf(nodes, graph));
    }
  }
}

void Capture::UpdateDependencies(const Lane& lane) {
  CUgraph graph = nullptr;
  if (!IsActive(lane)) {
    if (!world_.OneIn(6)) return;
    Say(update_dependencies(lane.stream, others_.data(), nullptr, 1, 0),
        "cuStreamUpdateCaptureDependencies", lane.name);
    return;
  }
  Dependencies(lane, &graph);
  std::vector<CUgraphNode> some;
  for (const CUgraphNode node : NodesIn(graph)) {
    if (world_.OneIn(3)) some.push_back(node);
  }
  const std::string numbers = NumbersOf(some, graph);
  const unsigned int flags = world_.Of({0u, 0u, 0u, 1u, 1u, 2u});
  const bool is_missing = world_.OneIn(8);
  // To wait for more leaves work in its order.
  is_ordered_ &= flags == 0;
  Say(update_dependencies(lane.stream, is_missing ? nullptr : some.data(), nullptr,
                          is_missing ? 1 : some.size(), flags),
      "cuStreamUpdateCaptureDependencies", lane.name, numbers, flags, is_missing);
}

}  // namespace twinmmu::abi
