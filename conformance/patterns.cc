#include "conformance/patterns.h"

#include "kernels/common.h"

namespace twinmmu::conformance {

std::vector<uint32_t> Pattern(uint32_t seed, Bytes size) {
  std::vector<uint32_t> words(RoundUp(size, Bytes(4)) / Bytes(4));
  const FillKey key = MakeFillKey(seed);
  uint64_t index = 0;
  for (uint32_t& word : words) word = FillWord(key, index++);
  return words;
}

uint64_t FirstDifference(const std::vector<uint32_t>& words,
                         const std::vector<uint32_t>& expected) {
  uint64_t index = 0;
  while (index < words.size() && words[index] == expected[index]) ++index;
  return index;
}

uint64_t FirstOtherThan(const std::vector<uint8_t>& bytes, uint8_t expected) {
  uint64_t index = 0;
  while (index < bytes.size() && bytes[index] == expected) ++index;
  return index;
}

}  // namespace twinmmu::conformance
