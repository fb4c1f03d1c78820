#include "tools/terminal/wrapped_lines.h"

#include <algorithm>

namespace twinmmu {
namespace {

constexpr size_t kHangingIndent = 4;
constexpr char kEscape = '\x1b';

// Where to break: at the last space before the first word that goes over `width`; npos: nowhere.
size_t BreakOf(absl::string_view line, size_t width) {
  const size_t start = line.find_first_not_of(' ');
  size_t column = start;
  size_t last_space = absl::string_view::npos;
  bool in_escape = false;
  for (size_t i = start; i < line.size(); ++i) {
    if (in_escape || line[i] == kEscape) {
      in_escape = line[i] != 'm';
      continue;
    }
    const bool continues_a_character = (line[i] & 0xc0) == 0x80;  // of UTF-8
    if (!continues_a_character) ++column;
    if (line[i] == ' ') {
      if (column > width + 1 && last_space != absl::string_view::npos) return last_space;
      last_space = i;
    }
  }
  return start < line.size() && column > width ? last_space : absl::string_view::npos;
}

}  // namespace

WrappedLines::~WrappedLines() { Put(line_); }

WrappedLines::int_type WrappedLines::overflow(int_type character) {
  if (traits_type::eq_int_type(character, traits_type::eof()))
    return traits_type::not_eof(character);
  const char text = traits_type::to_char_type(character);
  return xsputn(&text, 1) == 1 ? character : traits_type::eof();
}

std::streamsize WrappedLines::xsputn(const char* text, std::streamsize size) {
  if (width_ == 0) return out_.sputn(text, size);
  absl::string_view rest(text, static_cast<size_t>(size));
  for (;;) {
    const size_t end = rest.find('\n');
    line_.append(rest.substr(0, end).data(), std::min(end, rest.size()));
    if (end == absl::string_view::npos) return size;
    if (!PutLine()) return 0;
    rest.remove_prefix(end + 1);
  }
}

bool WrappedLines::Put(absl::string_view text) {
  const auto size = static_cast<std::streamsize>(text.size());
  return out_.sputn(text.data(), size) == size;
}

bool WrappedLines::PutLine() {
  const size_t indent = std::min(line_.find_first_not_of(' '), width_ / 2) + kHangingIndent;
  for (;;) {
    const size_t end = BreakOf(line_, width_);
    if (end == std::string::npos) break;
    if (!Put(absl::string_view(line_).substr(0, end)) || !Put("\n")) return false;
    line_.replace(0, end + 1, indent, ' ');
  }
  const bool good = Put(line_) && Put("\n");
  line_.clear();
  return good;
}

}  // namespace twinmmu
