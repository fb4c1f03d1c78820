#include "sim/libcuda/report/report_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "absl/strings/str_cat.h"

namespace twinmmu::libcuda {
namespace {

constexpr int kMaxFilesOfProcess = 1000;  // that loads the library again and again

// Beyond the limit of the process, making a file larger is a signal.
bool MayBeLarge(uint64_t size) {
  rlimit limit = {};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= size;
}

char* MapMemory(uint64_t size, int flags, int descriptor) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, descriptor, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, size, MADV_DONTDUMP);
  return static_cast<char*>(memory);
}

}  // namespace

ReportMemory::~ReportMemory() {
  if (data_ != nullptr) munmap(data_, layout_.size());
}

bool ReportMemory::Start(const std::string& folder, const ReportShape& shape) {
  layout_ = ReportLayout(shape);
  if (!layout_.fits()) return false;
  if (!folder.empty() && MakeFile(folder)) return true;
  path_.clear();
  data_ = MapMemory(layout_.size(), MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  return data_ != nullptr;
}

bool ReportMemory::MakeFile(const std::string& folder) {
  if (!MayBeLarge(layout_.size())) return false;
  int descriptor = -1;
  for (int number = 1; descriptor < 0 && number <= kMaxFilesOfProcess; ++number) {
    path_ = absl::StrCat(folder, "/", kReportPrefix, getpid(), ".", number);
    descriptor = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0 && errno != EEXIST) return false;
  }
  if (descriptor < 0) return false;
  // The header, and the states of chunks, in which they are noted.
  const bool ready = ftruncate(descriptor, static_cast<off_t>(layout_.size())) == 0 &&
                     posix_fallocate(descriptor, 0, 2 * kChunk) == 0;
  data_ = ready ? MapMemory(layout_.size(), MAP_SHARED, descriptor) : nullptr;
  close(descriptor);
  if (data_ == nullptr) {
    unlink(path_.c_str());
    return false;
  }
  return true;
}

// The file is opened anew: a program may close all descriptors that it does not know.
bool ReportMemory::Allocate(uint64_t offset, uint64_t size) const {
  if (path_.empty()) return true;
  const int descriptor = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return false;
  const int error =
      posix_fallocate(descriptor, static_cast<off_t>(offset), static_cast<off_t>(size));
  close(descriptor);
  return error == 0;
}

bool ReportMemory::TakeChunk(uint64_t chunk) {
  std::atomic<ChunkState>& state = *StateOf(chunk);
  if (state.load(std::memory_order_acquire) == ChunkState::kRefused) return false;
  const int before = errno;
  const bool taken = Allocate(chunk << kChunkShift, kChunk);
  errno = before;
  // Another thread may have been as fast; what one was given holds for both.
  ChunkState untouched = ChunkState::kUntouched;
  state.compare_exchange_strong(untouched, taken ? ChunkState::kReady : ChunkState::kRefused);
  return state.load(std::memory_order_acquire) == ChunkState::kReady;
}

bool ReportMemory::MakeReady(uint64_t offset, uint64_t size) {
  const uint64_t last = (offset + size - 1) >> kChunkShift;
  for (uint64_t chunk = offset >> kChunkShift; chunk <= last; ++chunk) {
    if (!MakeReady(chunk << kChunkShift)) return false;
  }
  return true;
}

}  // namespace twinmmu::libcuda
