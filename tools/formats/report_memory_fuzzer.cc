// Any words in the memory of a report, as a process may have left them.

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "sim/libcuda/report/report_layout.h"
#include "sim/libcuda/report/report_reader.h"
#include "sim/libcuda/report/report_words.h"

namespace {

using namespace twinmmu::libcuda;

// What the input changes: a word of one of the parts.
struct Change {
  uint8_t part;
  uint8_t unused;
  uint16_t word;
  uint32_t high;
  uint64_t value;
};

ReportShape Shape() {
  ReportShape shape;
  shape.calls = 4;
  shape.reservations = {1024, 21};
  shape.mappings = {1024, 21};
  return shape;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ReportShape shape = Shape();
  const ReportLayout layout(shape);
  const uint64_t parts[] = {0,
                            layout.row(0),
                            layout.log(),
                            layout.object(0),
                            layout.allocation(0),
                            layout.reservation(0),
                            layout.mapping(0),
                            ReportLayout::chunks()};
  void* const mapped = mmap(nullptr, layout.size(), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) std::abort();
  char* const memory = static_cast<char*>(mapped);
  auto& header = *reinterpret_cast<ReportHeader*>(memory);
  header.magic = kReportMagic;
  header.shape = shape;
  for (const uint64_t part : parts) {
    memory[ReportLayout::chunks() + (part >> kChunkShift)] = static_cast<char>(ChunkState::kReady);
  }
  for (; size >= sizeof(Change); data += sizeof(Change), size -= sizeof(Change)) {
    Change change;
    std::memcpy(&change, data, sizeof(change));
    const uint64_t place = parts[change.part % 8] + change.word % 4096 * sizeof(uint64_t);
    std::memcpy(memory + std::min(place, layout.size() - 8), &change.value, sizeof(uint64_t));
  }
  const auto report = ReadReport(memory, layout.size());
  if (report.ok()) {
    InWords(*report, "");
    ToJsonLines(*report, "ended");
  }
  munmap(mapped, layout.size());
  return 0;
}
