#include "tools/views/page/script_text.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace twinmmu {
namespace {

// How many bytes the character at the beginning of `text` has in UTF-8; 0: it is none.
size_t LengthOfCharacter(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  const size_t length = first < 0x80   ? 1
                        : first < 0xC2 ? 0
                        : first < 0xE0 ? 2
                        : first < 0xF0 ? 3
                        : first < 0xF5 ? 4
                                       : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  if (first == 0xE0 && byte(1) < 0xA0) return 0;   // longer than needed
  if (first == 0xED && byte(1) >= 0xA0) return 0;  // half of a pair
  if (first == 0xF0 && byte(1) < 0x90) return 0;   // longer than needed
  if (first == 0xF4 && byte(1) >= 0x90) return 0;  // beyond U+10FFFF
  return length;
}

}  // namespace

std::string ScriptText(std::string_view text) {
  std::string written = "\"";
  while (!text.empty()) {
    const size_t length = LengthOfCharacter(text);
    const uint8_t first = static_cast<uint8_t>(text[0]);
    if (length == 0) {
      written += "\\ufffd";
    } else if (length == 1 && (first < 0x20 || first == 0x7F || first == '"' || first == '\\' ||
                               first == '<' || first == '>' || first == '&')) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", first);
      written += escaped;
    } else {
      written += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return written + "\"";
}

}  // namespace twinmmu
