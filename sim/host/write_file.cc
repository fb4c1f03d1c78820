#include "sim/host/write_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace twinmmu {

WritesWithoutSignals::WritesWithoutSignals() {
  sigemptyset(&signals_);
  sigset_t earlier;
  sigpending(&earlier);
  for (const int signal : {SIGXFSZ, SIGPIPE}) {
    if (sigismember(&earlier, signal) == 0) sigaddset(&signals_, signal);
  }
  pthread_sigmask(SIG_BLOCK, &signals_, &mask_);
}

WritesWithoutSignals::~WritesWithoutSignals() {
  const int why = errno;
  const timespec at_once = {};
  while (sigtimedwait(&signals_, nullptr, &at_once) > 0) {
  }
  pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  errno = why;
}

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
  const WritesWithoutSignals without_signals;
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return false;
  const bool written = WriteAll(file, text);
  return close(file) == 0 && written;
}

}  // namespace twinmmu
