// WrappedLines: a stream buffer that breaks long lines between words.

#ifndef TWINMMU_TOOLS_TERMINAL_WRAPPED_LINES_H_
#define TWINMMU_TOOLS_TERMINAL_WRAPPED_LINES_H_

#include <cstddef>
#include <streambuf>
#include <string>

#include "absl/strings/string_view.h"

namespace twinmmu {

// Passes each line on when it ends: lines of at most `width` columns as they are, of longer ones
// the rest below, indented by four more. A word is never broken, so that paths and test names can
// be copied. Colours take no columns.
class WrappedLines : public std::streambuf {
 public:
  // `out` must outlive it. `width` 0: lines of any length.
  WrappedLines(std::streambuf& out, size_t width) : out_(out), width_(width) {}
  ~WrappedLines() override;  // passes on what has not ended
  WrappedLines(const WrappedLines&) = delete;
  WrappedLines& operator=(const WrappedLines&) = delete;

 protected:
  int_type overflow(int_type character) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override { return out_.pubsync(); }

 private:
  bool Put(absl::string_view text);
  bool PutLine();

  std::streambuf& out_;
  const size_t width_;
  std::string line_;
};

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_TERMINAL_WRAPPED_LINES_H_
