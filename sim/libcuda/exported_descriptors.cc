#include "sim/libcuda/exported_descriptors.h"

#include <sys/stat.h>

namespace twinmmu::libcuda {
namespace {

// No descriptor of memory has this file.
constexpr std::pair<dev_t, ino_t> kNone{0, 0};

std::pair<dev_t, ino_t> FileOf(int descriptor) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) return kNone;
  return {status.st_dev, status.st_ino};
}

}  // namespace

bool ExportedDescriptors::Add(int descriptor) {
  const std::lock_guard lock(mutex_);
  return !files_.insert_or_assign(descriptor, FileOf(descriptor)).second;
}

void ExportedDescriptors::ForEachClosed(const std::function<void(int)>& visit) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [descriptor, file] : files_) {
    if (FileOf(descriptor) != file) visit(descriptor);
  }
}

}  // namespace twinmmu::libcuda
