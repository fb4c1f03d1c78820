#include "tools/terminal/progress_line.h"

namespace twinmmu {
namespace {

constexpr std::chrono::milliseconds kBetween(100);
constexpr char kEraseLine[] = "\r\x1b[K";

}  // namespace

void ProgressLine::Show(absl::string_view text) {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_.is_terminal() || now < next_) return;
  next_ = now + kBetween;
  shown_ = true;
  out_ << kEraseLine << text.substr(0, terminal_.width - 1) << std::flush;
}

void ProgressLine::Clear() {
  if (shown_) out_ << kEraseLine << std::flush;
  shown_ = false;
}

}  // namespace twinmmu
