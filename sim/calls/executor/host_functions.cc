#include "sim/calls/executor/host_functions.h"

#include <cstdint>
#include <new>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "sim/calls/executor/simulated_streams.h"
#include "sim/diagnostics/call_record.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {
namespace {

// What the function does comes after that, and so may what others do: it may tell anybody.
void TellHost(SimulatorState& state, const SimulatedStreams::Point& over) {
  state.order.HostWaited(over.moment);
  try {
    state.clocks.HostWaited(over.clock);
  } catch (const std::bad_alloc&) {
    // Then the program is told that it did not wait.
  }
}

}  // namespace

HostFunctions::HostFunctions(SimulatorState* state, SimulatedStreams* streams)
    : state_(*state),
      streams_(*streams),
      thread_(std::make_shared<HostThread>(&state->scheduler)) {}

// make_run(queue): what is to run in the order of the stream, without a call too.
template <typename MakeRun>
absl::Status HostFunctions::SubmitRun(const char* call, Stream stream, bool calls_program,
                                      const MakeRun& make_run) {
  return guard_.Guard(call, [&]() -> absl::Status {
    SimulatedStreams::Queue queue;
    const absl::Status known = streams_.CheckStream(call, stream, &queue);
    if (!known.ok()) return known;
    StreamScheduler::Work work;
    work.stream = stream;
    work.call_id = RecordCall(state_, call);
    work.kernel = true;
    work.calls_program = calls_program;
    work.needs_streams = [] { return false; };
    work.run = make_run(queue);
    state_.scheduler.Submit(queue->work, std::move(work));
    return absl::OkStatus();
  });
}

absl::Status HostFunctions::Submit(const char* call, Stream stream,
                                   std::function<void(DriverCode)> function, bool always) {
  return SubmitRun(call, stream, true, [&](const SimulatedStreams::Queue& queue) {
    const SimulatedStreams::Point before = streams_.RecordOrder(queue);
    const auto in_thread = std::make_shared<HostThread::Call>(
        [&state = state_, before, order = state_.order.Submit(queue->order), call, always,
         function = std::move(function)] {
          const bool faulted = state.sticky_error.HasFault();
          if (faulted && !always) return;
          const coherence::Clocks clocks = state.order.Begin(order);
          // The thread may end in the function.
          const absl::Cleanup end = [&] { state.order.End(order, clocks); };
          TellHost(state, before);
          function(faulted ? GetDriverCode(state.sticky_error.Check(call)) : DriverCode::kSuccess);
        });
    return
        [&state = state_, thread = thread_, in_thread, always, given = false](Turn turn) mutable {
          if (!given && !always && state.sticky_error.HasFault()) return Progress::kDone;
          if (!given) given = thread->Give(in_thread);
          if (!given && (turn == Turn::kWaitedFor || turn == Turn::kShared)) {
            given = true;
            thread->CallNow(in_thread.get());  // who waits can do nothing else meanwhile
          }
          return in_thread->is_done() ? Progress::kDone : Progress::kWaiting;
        };
  });
}

absl::Status HostFunctions::Mark(const char* call, Stream stream, std::function<void()> task) {
  return SubmitRun(call, stream, false, [&](const SimulatedStreams::Queue& queue) {
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
  return SubmitRun(call, stream, false, [&](const SimulatedStreams::Queue& queue) {
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
