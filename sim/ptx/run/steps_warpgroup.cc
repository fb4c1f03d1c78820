// wgmma: products of matrices in shared memory, by four warps together.
//
// Each warp computes its 16 rows as soon as it comes to the instruction, so that its registers hold
// the result at once. A product is complete when all four have: a wait is for the others, so that
// what they have yet to read is not overwritten. Fences have nothing left to do.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sim/ptx/matrices/matrix_fragments.h"
#include "sim/ptx/run/block.h"
#include "sim/ptx/run/matrix_registers.h"
#include "sim/ptx/run/steps.h"
#include "sim/ptx/run/warp.h"

namespace twinmmu::ptx {
namespace {

constexpr int kRows = 16;  // of a warp
constexpr int kAtom = 16;  // bytes that stay together

// A matrix in shared memory, as 64 bits describe it.
struct Described {
  explicit Described(uint64_t bits)
      : start((bits & 0x3fff) << 4),
        leading((bits >> 16 & 0x3fff) << 4),
        stride((bits >> 32 & 0x3fff) << 4),
        base(static_cast<uint32_t>(bits >> 49 & 7)),
        swizzle(static_cast<int>(bits >> 62)) {}

  // Bytes of the pattern that repeats.
  uint64_t width() const { return swizzle == 0 ? kAtom : uint64_t{256} >> swizzle; }

  // Of byte `along` of line `line`; lines go along k, or, if it is transposed, across.
  uint64_t AddressOf(uint64_t line, uint64_t along, bool transposed) const {
    uint64_t address = start + line % 8 * width() + along % width();
    if (!transposed) {
      // With a swizzle, k lies within its width.
      address += line / 8 * stride + along / width() * (swizzle == 0 ? leading : 0);
      if (swizzle != 0) address += along / width() * width();
    } else if (swizzle == 0) {
      address += line / 8 * leading + along / width() * stride;
    } else {
      address += line / 8 * stride + along / width() * leading;
    }
    constexpr uint64_t kMasks[] = {0, 7, 3, 1};
    return address ^ (((address >> 7) - base) & kMasks[swizzle]) << 4;
  }

  uint64_t start;
  uint64_t leading;
  uint64_t stride;
  uint32_t base;
  int swizzle;
};

// Copies `lines` of `k` elements of a type from `first` on; false: *missing is not there. The
// decoder sees to it that those side by side are whole atoms.
template <typename T>
bool TakeElements(Warp& warp, const Described& matrix, bool transposed, int first, int lines, int k,
                  uint64_t* elements, uint64_t* missing) {
  const std::vector<char>& shared = warp.block().shared();
  constexpr uint64_t kBytes = sizeof(T);
  const uint64_t line = static_cast<uint64_t>(k);
  // Rows of elements that lie side by side, and how far apart these are in `elements`.
  const uint64_t begin = transposed ? static_cast<uint64_t>(first) : 0;
  const uint64_t length = transposed ? static_cast<uint64_t>(lines) : line;
  const uint64_t rows = transposed ? line : static_cast<uint64_t>(lines);
  const uint64_t apart = transposed ? line : 1;
  for (uint64_t row = 0; row < rows; ++row) {
    uint64_t* to = elements + (transposed ? row : row * line);
    const uint64_t across = transposed ? row : static_cast<uint64_t>(first) + row;
    for (uint64_t along = begin * kBytes; along < (begin + length) * kBytes; along += kAtom) {
      uint64_t address = matrix.AddressOf(across, along, transposed);
      for (const uint64_t end = address + kAtom; address < end; address += kBytes, to += apart) {
        if (address + kBytes > shared.size()) {
          *missing = address;
          return false;
        }
        T element;
        std::memcpy(&element, &shared[address], kBytes);
        *to = element;
      }
    }
  }
  return true;
}

bool TakeDescribed(Warp& warp, const Described& matrix, int bits, bool transposed, int first,
                   int lines, int k, uint64_t* elements, uint64_t* missing) {
  const auto take = bits == 8    ? TakeElements<uint8_t>
                    : bits == 16 ? TakeElements<uint16_t>
                                 : TakeElements<uint32_t>;
  return take(warp, matrix, transposed, first, lines, k, elements, missing);
}

Flow FaultAtShared(Warp& warp, Lanes lanes, uint64_t address) {
  return warp.Fault(
      GridFault::kIllegalAddress, lanes,
      absl::StrCat("a descriptor names byte ", address, " of shared memory, of which there are ",
                   warp.block().shared().size()));
}

// The lanes of a warp that are there come to commits and waits together.
Flow GatherLive(Warp& warp, Lanes lanes) {
  return lanes == warp.live() ? Flow::kNext : GatherWarp(warp, lanes);
}

}  // namespace

Flow PerformCommitProducts(Warp& warp, const Step&, Lanes lanes) {
  const Flow here = GatherLive(warp, lanes);
  if (here == Flow::kNext && lanes != 0) warp.CommitProducts();
  return here;
}

Flow PerformWaitForProducts(Warp& warp, const Step& step, Lanes lanes) {
  const Flow here = GatherLive(warp, lanes);
  if (here != Flow::kNext || lanes == 0) return here;
  warp.WaitForProducts(step.target);
  return Flow::kMoved;
}

Flow PerformWarpgroupProduct(Warp& warp, const Step& step, Lanes lanes) {
  const Flow here = GatherWarp(warp, lanes);
  if (here != Flow::kNext || lanes == 0) return here;
  const MatrixCode& matrix = warp.frame().function->matrices[step.target];
  const MatrixProduct& product = matrix.form->product;
  const int n = product.n;
  const int k = product.k;
  const int columns = matrix.form->sparse ? k / 2 : k;  // of a
  MatrixElements a(static_cast<size_t>(kRows * columns));
  MatrixElements b(static_cast<size_t>(n * k));
  MatrixElements c(static_cast<size_t>(kRows * n));
  uint64_t missing = 0;
  if (step.operands[0] == kNoSlot) {
    TakeMatrix(warp, matrix, kMatrixA, a.data());
  } else {
    const Described described(warp.Slot<uint64_t>(step.operands[0])[0]);
    const int first = warp.number() % 4 * kRows;
    if (!TakeDescribed(warp, described, BitsOf(product.a), (step.detail & kTransposesA) != 0, first,
                       kRows, columns, a.data(), &missing)) {
      return FaultAtShared(warp, lanes, missing);
    }
  }
  const Described described(warp.Slot<uint64_t>(step.operands[1])[0]);
  if (!TakeDescribed(warp, described, BitsOf(product.b), (step.detail & kTransposesB) != 0, 0, n, k,
                     b.data(), &missing)) {
    return FaultAtShared(warp, lanes, missing);
  }
  // The predicate says whether what was there before is added; it is the same for all lanes.
  const bool adds = (*warp.Slot<Lanes>(step.operands[2]) & lanes) != 0;
  if (adds) {
    TakeMatrix(warp, matrix, kMatrixC, c.data());
  } else {
    c.fill(0);
  }
  MatrixElements d(c.size());
  if (matrix.form->sparse) {
    MultiplySparse(*matrix.form, a.data(), warp.Slot<uint32_t>(matrix.metadata), matrix.selector,
                   b.data(), c.data(), d.data());
  } else {
    Multiply(product, a.data(), b.data(), c.data(), d.data());
  }
  PutMatrix(warp, matrix, d.data());
  return Flow::kNext;
}

}  // namespace twinmmu::ptx
