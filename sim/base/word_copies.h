// Copies and fills of memory that kernels use at the same time.

#ifndef TWINMMU_SIM_BASE_WORD_COPIES_H_
#define TWINMMU_SIM_BASE_WORD_COPIES_H_

#include <cstdint>

namespace twinmmu {

// A kernel may poll what a copy is about to write, as one on a GPU may: no thread waits for another
// there. So these do what loads and stores of kernels do, relaxed atomic accesses, of 8 bytes, or
// as many as lie aligned on both sides. A word of up to 8 bytes that is aligned on both sides is
// seen whole, before or after; of longer ranges any part may be seen first. Several times as slow
// as memmove and memset. Thread-safe.

// The ranges may overlap; then some of what `to` gets may have been written by the copy itself.
void CopyByWords(char* to, const char* from, uint64_t size);

// Repeats the low `width` bytes of `value`: 1, 2 or 4. `memory` and `size` are multiples of it.
void FillByWords(char* memory, uint64_t size, uint32_t value, uint64_t width);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_BASE_WORD_COPIES_H_
