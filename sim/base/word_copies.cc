#include "sim/base/word_copies.h"

namespace twinmmu {
namespace {

template <typename Word>
void CopyWord(char* to, const char* from) {
  const Word word = __atomic_load_n(reinterpret_cast<const Word*>(from), __ATOMIC_RELAXED);
  __atomic_store_n(reinterpret_cast<Word*>(to), word, __ATOMIC_RELAXED);
}

template <typename Word>
void FillWord(char* memory, uint64_t pattern) {
  __atomic_store_n(reinterpret_cast<Word*>(memory), static_cast<Word>(pattern), __ATOMIC_RELAXED);
}

// The largest power of two, up to 8, that divides `place` and is no more than `size`, which is
// not 0.
uint64_t WordAt(uint64_t place, uint64_t size) {
  uint64_t word = 8;
  while (place % word != 0 || word > size) word /= 2;
  return word;
}

}  // namespace

void CopyByWords(char* to, const char* from, uint64_t size) {
  while (size != 0) {
    const auto places = reinterpret_cast<uint64_t>(to) | reinterpret_cast<uint64_t>(from);
    const uint64_t word = WordAt(places, size);
    if (word == 8) {
      CopyWord<uint64_t>(to, from);
    } else if (word == 4) {
      CopyWord<uint32_t>(to, from);
    } else if (word == 2) {
      CopyWord<uint16_t>(to, from);
    } else {
      CopyWord<uint8_t>(to, from);
    }
    to += word;
    from += word;
    size -= word;
  }
}

void FillByWords(char* memory, uint64_t size, uint32_t value, uint64_t width) {
  // The pattern has the same bytes from any multiple of `width` on.
  uint64_t pattern = value;
  if (width == 1) pattern = (pattern & 0xff) * 0x0101;
  if (width <= 2) pattern = (pattern & 0xffff) * 0x0001'0001;
  pattern = pattern << 32 | (pattern & 0xffff'ffff);
  while (size != 0) {
    const uint64_t word = WordAt(reinterpret_cast<uint64_t>(memory), size);
    if (word == 8) {
      FillWord<uint64_t>(memory, pattern);
    } else if (word == 4) {
      FillWord<uint32_t>(memory, pattern);
    } else if (word == 2) {
      FillWord<uint16_t>(memory, pattern);
    } else {
      FillWord<uint8_t>(memory, pattern);
    }
    memory += word;
    size -= word;
  }
}

}  // namespace twinmmu
