#include "tools/views/testing/made_runs.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/views/testing/made_process.h"

namespace twinmmu {
namespace {

using record::Event;
using record::EventKind;
using record::EventSink;
using record::Severity;
using record::Stack;

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;
constexpr uint64_t kGiB = 1024 * kMiB;

// A segment that maps at its end, and gives back anywhere.
struct Segment {
  uint64_t base;
  uint64_t end;
  std::map<uint64_t, uint64_t> pieces;  // Bytes by address.
};

}  // namespace

void MakeGrowth(EventSink& sink) {
  uint64_t clock = 0;
  MadeProcess process(sink, clock, 4102);
  const uint64_t base = 0x7f4000000000;
  process.In("vec::Buffer::Reserve(size_t)", "src/vec/buffer.cc", 41);
  process.Reserve(base, 64 * kGiB);
  const uint64_t ring = 0x7f6200000000;
  process.Reserve(ring, 32 * kMiB);
  process.In("ring::Map()", "src/ring/ring.cc", 27);
  const uint64_t memory = process.Create(16 * kMiB, 0);
  process.Map(ring, 16 * kMiB, memory);
  process.Map(ring + 16 * kMiB, 16 * kMiB, memory);
  process.SetAccess(ring, 32 * kMiB, 0, 3);
  process.SetAccess(ring, 32 * kMiB, 1, 1);
  uint64_t size = 0;
  for (int step = 0; step < 26; ++step) {
    const uint64_t more = std::max(2 * kMiB, size / 4 / (2 * kMiB) * (2 * kMiB));
    process.In("vec::Buffer::Grow(size_t)", "src/vec/buffer.cc", 77);
    process.Back(base + size, more, step < 18 ? 0 : 1);
    size += more;
    for (int launch = 0; launch < 3; ++launch) process.Launch("append_tokens", 3, 900'000);
    process.Copy(base, ring, 8 * kMiB);
    process.Wait(step * 130'000);
  }
  process.In("Logits()", "src/serve/logits.cc", 19);
  for (uint64_t i = 0; i < 6; ++i) {
    process.Linear(EventKind::kAllocate, 0x7f8000000000 + i * 24 * kMiB, 20 * kMiB, 0);
    process.Launch("softmax", 3, 600'000);
  }
  for (uint64_t i = 0; i < 4; ++i)
    process.Linear(EventKind::kFree, 0x7f8000000000 + i * 24 * kMiB, 0, 0);
  process.SetAccess(base, 8 * kMiB, 0, 1);
}

void MakeFragmentation(EventSink& sink) {
  std::mt19937 random(7);
  uint64_t clock = 0;
  MadeProcess process(sink, clock, 880);
  std::vector<Segment> segments;
  process.In("ExpandableSegment::ExpandableSegment()", "c10/segment.cc", 402);
  for (uint64_t i = 0; i < 3; ++i) {
    const uint64_t base = 0x7e0000000000 + i * 128 * kGiB;
    segments.push_back({base, base, {}});
    process.Reserve(base, 90 * kGiB);
  }
  uint64_t workspace = 0;
  for (int step = 0; step < 420; ++step) {
    Segment& segment = segments[random() % 3 % (step < 60 ? 1 : step < 150 ? 2 : 3)];
    const int32_t device = segment.base == segments[2].base ? 1 : 0;
    const bool grows = segment.pieces.size() < 8 || random() % 100 < (step < 260 ? 58 : 38);
    if (grows) {
      process.In("ExpandableSegment::map(SegmentRange)", "c10/segment.cc", 451);
      const uint64_t bytes = 20 * kMiB * (1 + random() % 3);
      // The first gap that is large enough, else the end.
      uint64_t at = segment.base;
      for (const auto& [address, size] : segment.pieces) {
        if (address - at >= bytes) break;
        at = address + size;
      }
      process.Back(at, bytes, device);
      segment.pieces[at] = bytes;
    } else {
      process.In("ExpandableSegment::unmapHandles(size_t, size_t)", "c10/segment.cc", 519);
      auto piece = segment.pieces.begin();
      std::advance(piece, random() % segment.pieces.size());
      process.Unmap(piece->first, piece->second);
      segment.pieces.erase(piece);
    }
    if (step % 9 == 0) process.Launch("flash_attention_fwd", 5, 2'000'000);
    if (step % 40 == 0) {
      process.In("at::empty_workspace()", "aten/workspace.cc", 88);
      if (workspace) process.Linear(EventKind::kPoolFree, workspace, 0, 0);
      workspace = 0x302000000 + random() % 8 * 32 * kMiB;
      process.Linear(EventKind::kPoolAllocate, workspace, 32 * kMiB, 0);
    }
    process.Wait(random() % 900'000);
  }
  process.In("ExpandableSegment::map(SegmentRange)", "c10/segment.cc", 451);
  process.Tell(EventKind::kCreate, Severity::kError, "CUDA_ERROR_OUT_OF_MEMORY",
               "cuMemCreate: 1.5 GiB are asked for, 1.2 GiB of device 0 are left, in 41 gaps of "
               "three reservations.",
               0, 1536 * kMiB);
}

void MakeSleepAndWake(EventSink& sink) {
  uint64_t clock = 0;
  MadeProcess server(sink, clock, 2001);
  MadeProcess worker(sink, clock, 2002);
  const uint64_t weights = 0x7f0000000000, cache = 0x7f1000000000, view = 0x7f2000000000;
  server.In("WeightServer::Load()", "src/weights/server.cc", 55);
  server.Reserve(weights, 8 * kGiB);
  std::vector<uint64_t> blocks(8);
  for (uint64_t i = 0; i < 8; ++i) {
    blocks[i] = server.Create(512 * kMiB, 0);
    server.Map(weights + i * 512 * kMiB, 512 * kMiB, blocks[i]);
    server.SetAccess(weights + i * 512 * kMiB, 512 * kMiB, 0, 3);
    server.Copy(weights + i * 512 * kMiB, 0x55d000000000, 512 * kMiB);
    server.Wait(2'000'000);
    server.Share(false, blocks[i], 9000 + i);
  }
  worker.In("WeightView::Attach()", "src/weights/view.cc", 33);
  worker.Reserve(view, 8 * kGiB);
  worker.Reserve(cache, 16 * kGiB);
  for (uint64_t i = 0; i < 8; ++i) {
    worker.Share(true, 100 + i, 9000 + i);
    worker.Map(view + i * 512 * kMiB, 512 * kMiB, 100 + i);
    worker.SetAccess(view + i * 512 * kMiB, 512 * kMiB, 0, 1);
  }
  for (int round = 0; round < 4; ++round) {
    worker.In("KvCache::Wake()", "src/cache/kv_cache.cc", 140);
    for (uint64_t i = 0; i < 10; ++i) {
      worker.Back(cache + i * 256 * kMiB, 256 * kMiB, 0);
      worker.Wait(300'000);
    }
    for (int i = 0; i < 12; ++i) worker.Launch("decode_step", 9, 2'500'000);
    worker.In("Sampler::Scratch()", "src/serve/sampler.cc", 71);
    // Never freed: one more in each round.
    worker.Linear(EventKind::kAllocate, 0x7f9000000000 + round * 64 * kMiB, 64 * kMiB, 0);
    worker.In("KvCache::Sleep()", "src/cache/kv_cache.cc", 171);
    worker.Unmap(cache, 10 * 256 * kMiB);
    server.In("WeightServer::Sleep()", "src/weights/server.cc", 102);
    for (uint64_t i = 4; i < 8 && round % 2 == 1; ++i)
      server.Unmap(weights + i * 512 * kMiB, 512 * kMiB);
    server.Wait(14'000'000);
    server.In("WeightServer::Wake()", "src/weights/server.cc", 121);
    for (uint64_t i = 4; i < 8 && round % 2 == 1; ++i) {
      server.Map(weights + i * 512 * kMiB, 512 * kMiB, blocks[i]);
      server.SetAccess(weights + i * 512 * kMiB, 512 * kMiB, 0, 3);
    }
  }
  worker.In("main", "src/serve/main.cc", 31);
  worker.Tell(EventKind::kDiagnostic, Severity::kWarning, "kLeak",
              "256 MiB of linear memory in 4 allocations were never freed; all are of "
              "Sampler::Scratch().",
              0x7f9000000000, 256 * kMiB);
}

void MakeCrash(EventSink& sink) {
  uint64_t clock = 0;
  MadeProcess process(sink, clock, 31337);
  const uint64_t base = 0x7fa000000000;
  process.In("Arena::Arena(size_t)", "src/arena/arena.cc", 22);
  process.Reserve(base, 256 * kMiB);
  for (uint64_t i = 0; i < 12; ++i) {
    process.In("Arena::Extend()", "src/arena/arena.cc", 48);
    process.Back(base + i * 8 * kMiB, 8 * kMiB, 0);
    process.Launch("scatter_rows", 11, 400'000);
  }
  process.In("Arena::Trim(size_t)", "src/arena/arena.cc", 83);
  process.Tell(EventKind::kDiagnostic, Severity::kError, "kUnmapUnderPendingWork",
               "cuMemUnmap of 16 MiB while kernel scatter_rows on stream 11, which may use it, has "
               "not ended.\nSynchronise the stream before you unmap.",
               base + 64 * kMiB, 16 * kMiB);
  process.Unmap(base + 64 * kMiB, 16 * kMiB);
  process.Wait(200'000);
  process.In("Stream::Synchronize()", "src/arena/stream.cc", 12);
  process.Tell(EventKind::kFault, Severity::kError, "CUDA_ERROR_ILLEGAL_ADDRESS",
               "Kernel scatter_rows wrote 4 bytes at 0x7fa004400040, where nothing is mapped since "
               "Arena::Trim (block 3,0,0, thread 16,0,0; st.global.u32 in line 41).",
               base + 68 * kMiB + 64);
  for (uint64_t i = 0; i < 3; ++i) {
    process.In("Arena::Extend()", "src/arena/arena.cc", 48);
    process.Tell(EventKind::kCreate, Severity::kError, "CUDA_ERROR_ILLEGAL_ADDRESS",
                 "cuMemCreate: the context is lost since the fault of kernel scatter_rows.", 0,
                 8 * kMiB);
    process.Wait(90'000);
  }
}

void MakeManyEvents(EventSink& sink, size_t events) {
  std::mt19937 random(11);
  uint64_t clock = 0;
  std::vector<MadeProcess> processes;
  processes.emplace_back(sink, clock, 501);
  processes.emplace_back(sink, clock, 502);
  std::vector<Segment> segments;
  for (uint64_t i = 0; i < 40; ++i) {
    const uint64_t base = 0x7c0000000000 + i * 16 * kGiB;
    segments.push_back({base, base, {}});
    processes[i % 2].In("Pool::Open()", "src/pool.cc", 20);
    processes[i % 2].Reserve(base, 12 * kGiB);
  }
  std::map<uint64_t, uint64_t> linear;
  for (size_t sent = 40; sent < events;) {
    const size_t at = random() % segments.size();
    Segment& segment = segments[at];
    MadeProcess& process = processes[at % 2];
    if (random() % 10 == 0) {
      const uint64_t address = 0x310000000 + random() % 64 * 8 * kMiB;
      process.In("Scratch()", "src/scratch.cc", 9);
      const auto found = linear.find(address);
      if (found == linear.end()) {
        processes[0].Linear(EventKind::kAllocate, address, 4 * kMiB, 0);
        linear[address] = 1;
      } else {
        processes[0].Linear(EventKind::kFree, address, 0, 0);
        linear.erase(found);
      }
      ++sent;
      continue;
    }
    const uint64_t address = segment.base + random() % 160 * 16 * kMiB;
    if (segment.pieces.erase(address) != 0) {
      process.In("Pool::Shrink()", "src/pool.cc", 61);
      process.Unmap(address, 16 * kMiB);
      ++sent;
    } else {
      process.In(absl::StrCat("Pool::Grow<", random() % 30, ">()"), "src/pool.cc", 44);
      process.Back(address, 16 * kMiB, static_cast<int32_t>(at % 4));
      segment.pieces[address] = 16 * kMiB;
      sent += 4;
    }
    if (random() % 500 == 0) {
      process.Tell(EventKind::kDiagnostic, Severity::kWarning, "kSlowGrowth",
                   "Mapped one granule at a time.", address, 16 * kMiB);
      ++sent;
    }
  }
}

void MakeHostile(EventSink& sink) {
  uint64_t clock = 0;
  MadeProcess process(sink, clock, 66);
  const std::string markup =
      "</script><script>window.broken = 1</script><img src=x onerror='broken = 1'>";
  process.In(markup, "</title>\"&amp;'<!-- \xff\xc3 \xed\xa0\x80 \xe2\x80\xa8", 1);
  process.Reserve(UINT64_MAX - 4 * kMiB, 8 * kMiB);
  process.Reserve(UINT64_MAX - 3 * kMiB, UINT64_MAX);
  process.Map(UINT64_MAX - 2 * kMiB, 2 * kMiB, 5);
  process.Map(UINT64_MAX - 2 * kMiB, UINT64_MAX, 5, UINT64_MAX);
  process.SetAccess(0, UINT64_MAX, -7, 255);
  process.Map(0, 0, 0);
  process.Unmap(0x1234, 0);
  process.Release(77);
  process.Launch(markup, UINT64_MAX, UINT64_MAX / 2);
  process.Tell(EventKind::kDiagnostic, Severity::kError, markup, markup, UINT64_MAX - kMiB, 9);
  process.Tell(static_cast<EventKind>(200), static_cast<Severity>(9), "\n\t\x01\x7f\\\"", markup,
               4);
}

void MakeRandom(EventSink& sink, uint32_t seed, size_t events) {
  std::mt19937 random(seed);
  const auto any = [&](uint64_t count) { return random() % count; };
  const uint64_t sizes[] = {0, 1, kMiB, 2 * kMiB, 64 * kMiB, 90 * kGiB, UINT64_MAX};
  const Stack stack = {{"Random()", "random.cc", 1}};
  Event event;
  for (size_t i = 0; i < events; ++i) {
    event.kind = static_cast<EventKind>(any(18));
    event.severity = any(12) == 0 ? static_cast<Severity>(any(4)) : Severity::kNone;
    event.access = static_cast<uint8_t>(any(4));
    event.device = static_cast<int32_t>(any(4)) - 1;
    event.process = static_cast<uint32_t>(any(3));
    event.time_ns += any(5) * 1000;
    event.stream = any(2);
    event.address = any(10) == 0 ? UINT64_MAX - any(2) * kMiB : any(40) * kMiB;
    event.from = any(40) * kMiB;
    event.bytes = sizes[any(10) == 0 ? any(7) : any(4)];
    event.allocation = any(6);
    event.offset = any(3) * kMiB;
    event.shared = any(3);
    event.stack = static_cast<uint32_t>(any(2));
    event.text = any(2) == 0 ? "words" : "";
    event.code = event.text;
    sink.Add(event, stack);
  }
}

bool MakeRun(std::string_view name, EventSink& sink) {
  if (name == "growth") return MakeGrowth(sink), true;
  if (name == "fragmentation") return MakeFragmentation(sink), true;
  if (name == "sleep") return MakeSleepAndWake(sink), true;
  if (name == "crash") return MakeCrash(sink), true;
  if (name == "many") return MakeManyEvents(sink, 100'000), true;
  if (name == "hostile") return MakeHostile(sink), true;
  if (name == "random") return MakeRandom(sink, 3, 3000), true;
  return name == "empty";
}

}  // namespace twinmmu
