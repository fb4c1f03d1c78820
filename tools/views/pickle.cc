#include "tools/views/pickle.h"

#include <cstring>
#include <limits>

namespace twinmmu {
namespace {

// The number of bytes of the character that begins there, or 0: it is none.
size_t CharacterAt(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if (byte(i) >> 6 != 2) return 0;
  }
  // What could be written shorter, half of a pair, and what is beyond the last character.
  const unsigned char second = byte(1);
  const bool is_bad = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return is_bad ? 0 : size;
}

std::string AsUtf8(std::string_view text) {
  std::string good;
  while (!text.empty()) {
    const size_t size = CharacterAt(text);
    if (size == 0) good += '?';
    good += text.substr(0, size);
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return good;
}

}  // namespace

void Pickle::Integer(int64_t value) {
  const bool is_small =
      value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max();
  char bytes[sizeof(value)];
  std::memcpy(bytes, &value, sizeof(value));  // little-endian, in both forms
  if (is_small) {
    bytes_ += 'J';
    bytes_.append(bytes, sizeof(int32_t));
  } else {
    bytes_ += '\x8a';
    bytes_ += static_cast<char>(sizeof(value));
    bytes_.append(bytes, sizeof(value));
  }
}

void Pickle::Numbered(char operation, uint32_t number) {
  bytes_ += operation;
  bytes_.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

void Pickle::Text(std::string_view text) {
  const std::string good = AsUtf8(text);
  const auto size = static_cast<uint32_t>(good.size());
  bytes_ += 'X';
  bytes_.append(reinterpret_cast<const char*>(&size), sizeof(size));
  bytes_ += good;
}

}  // namespace twinmmu
