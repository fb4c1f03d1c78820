// ReportMemory: where a report stands, a file that others can read or memory of the process.

#ifndef TWINMMU_SIM_LIBCUDA_REPORT_REPORT_MEMORY_H_
#define TWINMMU_SIM_LIBCUDA_REPORT_REPORT_MEMORY_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "sim/libcuda/report/report_layout.h"

namespace twinmmu::libcuda {

// Zeros at first. It costs the host what is made ready of it. Nothing here fails loudly: a host
// that refuses memory is a chunk that does not become ready. Thread-safe, but for Start.
class ReportMemory {
 public:
  ReportMemory() = default;
  ~ReportMemory();
  ReportMemory(const ReportMemory&) = delete;
  ReportMemory& operator=(const ReportMemory&) = delete;

  // A new file in `folder`, or memory of this process if that is empty or cannot be written. False:
  // not that either; then this may not be used.
  bool Start(const std::string& folder, const ReportShape& shape);

  const ReportLayout& layout() const { return layout_; }
  const char* data() const { return data_; }
  ReportHeader* header() const { return At<ReportHeader>(0); }
  template <typename T>
  T* At(uint64_t offset) const {
    return reinterpret_cast<T*>(data_ + offset);
  }

  // Whether there is memory for what begins there and does not cross the border of a chunk.
  bool IsReady(uint64_t offset) const {
    return StateOf(offset >> kChunkShift)->load(std::memory_order_acquire) == ChunkState::kReady;
  }
  // The same, and asks the host for it if need be.
  bool MakeReady(uint64_t offset) { return IsReady(offset) || TakeChunk(offset >> kChunkShift); }
  bool MakeReady(uint64_t offset, uint64_t size);

 private:
  std::atomic<ChunkState>* StateOf(uint64_t chunk) const {
    return At<std::atomic<ChunkState>>(ReportLayout::chunks() + chunk);
  }
  [[gnu::cold]] bool TakeChunk(uint64_t chunk);
  bool MakeFile(const std::string& folder);
  bool Allocate(uint64_t offset, uint64_t size) const;

  ReportLayout layout_;
  char* data_ = nullptr;
  std::string path_;  // of the file; empty: there is none
};

// How the files of a folder are called: "report.PID.NUMBER".
inline constexpr char kReportPrefix[] = "report.";

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_REPORT_REPORT_MEMORY_H_
