#include "sim/base/word_copies.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <thread>

#include "gtest/gtest.h"

namespace twinmmu {
namespace {

constexpr uint64_t kSize = 64;
using Memory = std::array<char, kSize>;

Memory Numbered() {
  Memory memory;
  for (uint64_t i = 0; i < kSize; ++i) memory[i] = static_cast<char>(i + 1);
  return memory;
}

// From any place to any other, the bytes asked for change, and no others.
TEST(WordCopiesTest, CopiesBytesWhereverTheyLie) {
  const Memory source = Numbered();
  for (uint64_t to = 0; to < 9; ++to) {
    for (uint64_t from = 0; from < 9; ++from) {
      for (uint64_t size = 0; size < 40; ++size) {
        alignas(8) Memory copied = {};
        Memory expected = {};
        std::memcpy(expected.data() + to, source.data() + from, size);
        CopyByWords(copied.data() + to, source.data() + from, size);
        ASSERT_EQ(copied, expected) << size << " bytes from " << from << " to " << to;
      }
    }
  }
}

// From any place on, the pattern is repeated, and no other byte changes.
TEST(WordCopiesTest, FillsWithEachWidth) {
  constexpr uint32_t kValue = 0x89ab'cdef;
  for (const uint64_t width : {1, 2, 4}) {
    for (uint64_t to = 0; to < 9; to += width) {
      for (uint64_t size = 0; size < 40; size += width) {
        alignas(8) Memory filled = {};
        Memory expected = {};
        for (uint64_t i = 0; i < size; i += width) {
          std::memcpy(expected.data() + to + i, &kValue, width);
        }
        FillByWords(filled.data() + to, size, kValue, width);
        ASSERT_EQ(filled, expected) << size << " bytes of width " << width << " to " << to;
      }
    }
  }
}

// Writes what changes all bits of an aligned word, while this thread looks at it.
template <typename Word, typename Write>
void ExpectWhole(const Write& write) {
  alignas(8) Word word = 0;
  std::thread writer([&] {
    for (int i = 0; i < 2000; ++i) write(&word, static_cast<Word>(i % 2 == 0 ? ~Word{0} : 0));
  });
  bool whole = true;
  for (int i = 0; i < 2000; ++i) {
    const Word seen = __atomic_load_n(&word, __ATOMIC_RELAXED);
    whole = whole && (seen == 0 || seen == static_cast<Word>(~Word{0}));
  }
  writer.join();
  EXPECT_TRUE(whole) << sizeof(Word) << " bytes";
}

template <typename Word>
void CopyTo(Word* word, Word value) {
  CopyByWords(reinterpret_cast<char*>(word), reinterpret_cast<const char*>(&value), sizeof value);
}

// Another thread may poll a word that a copy writes: no data race, and never a half of it.
TEST(WordCopiesTest, CopiesWordsWholeForThoseWhoPoll) {
  ExpectWhole<uint16_t>(CopyTo<uint16_t>);
  ExpectWhole<uint32_t>(CopyTo<uint32_t>);
  ExpectWhole<uint64_t>(CopyTo<uint64_t>);
}

// Another thread may poll a word that is filled.
TEST(WordCopiesTest, FillsWordsWholeForThoseWhoPoll) {
  ExpectWhole<uint32_t>([](uint32_t* word, uint32_t value) {
    FillByWords(reinterpret_cast<char*>(word), sizeof *word, value, 4);
  });
  ExpectWhole<uint64_t>([](uint64_t* word, uint64_t value) {
    FillByWords(reinterpret_cast<char*>(word), sizeof *word, static_cast<uint8_t>(value), 1);
  });
}

}  // namespace
}  // namespace twinmmu
