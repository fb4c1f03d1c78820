#include "sim/host/write_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace twinmmu {

bool WriteAll(int file, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

bool WriteFile(const char* path, absl::string_view text) {
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return false;
  const bool written = WriteAll(file, text);
  return close(file) == 0 && written;
}

}  // namespace twinmmu
