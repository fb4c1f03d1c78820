#include "sim/calls/executor/host_functions.h"

#include <cstdint>
#include <utility>

#include "sim/calls/executor/simulated_streams.h"
#include "sim/diagnostics/call_record.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {
namespace {

// Calls may come with locks held that the function wants.
bool MayCallBack(const StreamScheduler& scheduler, Turn turn) {
  if (turn == Turn::kUnasked) return true;
  return !scheduler.HasThread() && (turn == Turn::kWaitedFor || turn == Turn::kShared);
}

}  // namespace

// make_run(queue): what is to run in the order of the stream, without a call too.
template <typename MakeRun>
absl::Status HostFunctions::SubmitRun(const char* call, Stream stream, const MakeRun& make_run) {
  return guard_.Guard(call, [&]() -> absl::Status {
    SimulatedStreams::Queue queue;
    const absl::Status known = streams_.CheckStream(call, stream, &queue);
    if (!known.ok()) return known;
    StreamScheduler::Work work;
    work.stream = stream;
    work.call_id = RecordCall(state_, call);
    work.kernel = true;
    work.needs_streams = [] { return false; };
    work.run = make_run(queue);
    state_.scheduler.Submit(queue->work, std::move(work));
    return absl::OkStatus();
  });
}

absl::Status HostFunctions::Submit(const char* call, Stream stream,
                                   std::function<void(DriverCode)> function, bool always) {
  return SubmitRun(call, stream, [&](const SimulatedStreams::Queue& queue) {
    return [&state = state_, order = state_.order.Submit(queue->order), call, always,
            function = std::move(function)](Turn turn) {
      const bool faulted = state.sticky_error.HasFault();
      if (faulted && !always) return Progress::kDone;
      if (!MayCallBack(state.scheduler, turn)) return Progress::kWaiting;
      const coherence::Clocks clocks = state.order.Begin(order);
      state.others.HostWaited(clocks);  // it may tell anybody
      function(faulted ? GetDriverCode(state.sticky_error.Check(call)) : DriverCode::kSuccess);
      state.order.End(order, clocks);
      return Progress::kDone;
    };
  });
}

absl::Status HostFunctions::Mark(const char* call, Stream stream, std::function<void()> task) {
  return SubmitRun(call, stream, [&](const SimulatedStreams::Queue& queue) {
    return [&state = state_, before = state_.order.Record(queue->order),
            task = std::move(task)](Turn) {
      if (state.sticky_error.HasFault()) return Progress::kDone;
      state.order.RecordedForOthers(before);
      task();
      return Progress::kDone;
    };
  });
}

absl::Status HostFunctions::Await(const char* call, Stream stream, std::function<bool()> is_over) {
  return SubmitRun(call, stream, [&](const SimulatedStreams::Queue& queue) {
    return [&state = state_, order = state_.order.Submit(queue->order), device = stream.device(),
            is_over = std::move(is_over)](Turn) {
      if (state.sticky_error.HasFault()) return Progress::kDone;
      if (!is_over()) return Progress::kWaiting;
      // As an operation, so that it is known what comes after it.
      coherence::Clocks clocks = state.order.Begin(order);
      if (state.others.enabled()) {
        const coherence::ThreadId thread =
            state.aliases.Start(1, device.value(), coherence::kNoMultiprocessor, clocks);
        state.others.Awaited(thread);
        state.aliases.End(thread, 1, &clocks);
      }
      state.order.End(order, clocks);
      return Progress::kDone;
    };
  });
}

void HostFunctions::HostAwaited() { state_.others.HostAwaited(); }
bool HostFunctions::WatchesOthers() const { return state_.others.enabled(); }

}  // namespace twinmmu
