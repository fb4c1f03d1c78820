// What an event costs. The goal: 100 ns, with the place of its call.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>

#include "api/record/event.h"
#include "api/record/event_writer.h"

namespace twinmmu::record {
namespace {

const void* Here() { return __builtin_return_address(0); }

void BM_Add(benchmark::State& state) {
  EventWriterOptions options;
  options.stack_depth = static_cast<size_t>(state.range(0));
  options.caller = options.stack_depth < 2 ? Here : nullptr;
  options.limit = uint64_t{64} << 20;
  auto writer = EventWriter::Create("/dev/shm/event_benchmark.events", options);
  if (!writer.ok()) return state.SkipWithError("no file");
  Event event;
  event.kind = EventKind::kMap;
  event.bytes = 2 << 20;
  event.allocation = 1;
  uint64_t added = 0;
  for (auto unused : state) {
    // A full file would make it look faster than it is.
    if (++added % 500'000 == 0) {
      state.PauseTiming();
      writer->reset();
      writer = EventWriter::Create("/dev/shm/event_benchmark.events", options);
      state.ResumeTiming();
    }
    event.address = added << 21;
    (*writer)->Add(event);
  }
  writer->reset();
}
BENCHMARK(BM_Add)->ArgName("frames")->Arg(0)->Arg(1)->Arg(4)->Arg(16);

}  // namespace
}  // namespace twinmmu::record

BENCHMARK_MAIN();
