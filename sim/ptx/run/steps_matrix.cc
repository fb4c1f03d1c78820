// Products of matrices, and what brings matrices into registers and back.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sim/ptx/matrices/matrix_fragments.h"
#include "sim/ptx/run/matrix_registers.h"
#include "sim/ptx/run/steps.h"
#include "sim/ptx/run/warp.h"

namespace twinmmu::ptx {
namespace {

template <typename T>
void TakeElements(Warp& warp, const Fragment& fragment, const std::vector<uint32_t>& slots,
                  uint64_t* elements) {
  const uint64_t mask = fragment.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << fragment.bits) - 1;
  // Of an element that several registers hold, the first counts.
  for (int reg = fragment.registers - 1; reg >= 0; --reg) {
    const T* const values = warp.Slot<T>(slots[static_cast<size_t>(reg)]);
    for (int place = 0; place < fragment.per_register; ++place) {
      const uint16_t* const to = fragment.ElementsOf(reg, place);
      const int shift = place * fragment.bits;
      for (int lane = 0; lane < kLanes; ++lane) elements[to[lane]] = values[lane] >> shift & mask;
    }
  }
}

template <typename T>
void PutElements(Warp& warp, const Fragment& fragment, const std::vector<uint32_t>& slots,
                 const uint64_t* elements) {
  for (int reg = 0; reg < fragment.registers; ++reg) {
    T* const values = warp.Slot<T>(slots[static_cast<size_t>(reg)]);
    for (int lane = 0; lane < kLanes; ++lane) values[lane] = 0;
    for (int place = 0; place < fragment.per_register; ++place) {
      const uint16_t* const from = fragment.ElementsOf(reg, place);
      const int shift = place * fragment.bits;
      for (int lane = 0; lane < kLanes; ++lane) {
        values[lane] |= static_cast<T>(elements[from[lane]] << shift);
      }
    }
  }
}

}  // namespace

Flow GatherWarp(Warp& warp, Lanes lanes) {
  if (lanes == kAllLanes || lanes == 0) return Flow::kNext;
  if (lanes == warp.live()) {
    return warp.Fault(GridFault::kIllegalInstruction, lanes,
                      absl::StrCat("all 32 threads of a warp do it together; lane ",
                                   __builtin_ctz(~lanes), " has ended or was never there"));
  }
  warp.KeepOnly(lanes, warp.running().pc + 1);
  std::array<uint32_t, kLanes> masks;
  masks.fill(kAllLanes);
  warp.WaitForMasks(Group::kGathering, masks.data());
  return Flow::kMoved;
}

void TakeMatrix(Warp& warp, const MatrixCode& matrix, MatrixOperand operand, uint64_t* elements) {
  const Fragment& fragment = matrix.form->fragments[operand];
  const std::vector<uint32_t>& slots = matrix.slots[operand];
  if (fragment.register_bytes == 8) {
    TakeElements<uint64_t>(warp, fragment, slots, elements);
  } else {
    TakeElements<uint32_t>(warp, fragment, slots, elements);
  }
}

void PutMatrix(Warp& warp, const MatrixCode& matrix, const uint64_t* elements) {
  const Fragment& fragment = matrix.form->fragments[kMatrixD];
  if (fragment.register_bytes == 8) {
    PutElements<uint64_t>(warp, fragment, matrix.slots[kMatrixD], elements);
  } else {
    PutElements<uint32_t>(warp, fragment, matrix.slots[kMatrixD], elements);
  }
}

Flow PerformMatrixProduct(Warp& warp, const Step& step, Lanes lanes) {
  const Flow here = GatherWarp(warp, lanes);
  if (here != Flow::kNext || lanes == 0) return here;
  const MatrixCode& matrix = warp.frame().function->matrices[step.target];
  const MatrixForm& form = *matrix.form;
  const MatrixProduct& product = form.product;
  const size_t m = static_cast<size_t>(product.m);
  const size_t n = static_cast<size_t>(product.n);
  const size_t k = static_cast<size_t>(product.k);
  const size_t products = static_cast<size_t>(form.products);
  MatrixElements a(products * m * k);
  MatrixElements b(products * n * k);
  MatrixElements c(products * m * n);
  MatrixElements d(products * m * n);
  TakeMatrix(warp, matrix, kMatrixA, a.data());
  TakeMatrix(warp, matrix, kMatrixB, b.data());
  TakeMatrix(warp, matrix, kMatrixC, c.data());
  if (form.sparse) {
    MultiplySparse(form, a.data(), warp.Slot<uint32_t>(matrix.metadata), matrix.selector, b.data(),
                   c.data(), d.data());
  }
  for (size_t i = 0; i < products && !form.sparse; ++i) {
    Multiply(product, &a[i * m * k], &b[i * n * k], &c[i * m * n], &d[i * m * n]);
  }
  PutMatrix(warp, matrix, d.data());
  return Flow::kNext;
}

Flow PerformMatrixRows(Warp& warp, const Step& step, Lanes lanes) {
  const Flow here = GatherWarp(warp, lanes);
  if (here != Flow::kNext || lanes == 0) return here;
  const int matrices = step.detail & ~kTransposes;
  const bool transposes = (step.detail & kTransposes) != 0;
  const Lanes with_rows = matrices == 4 ? kAllLanes : (Lanes{1} << 8 * matrices) - 1;
  LaneMemory memory;
  if (warp.Resolve(step.memory, step.operands[0], with_rows, &memory) == Found::kFault) {
    return Flow::kFault;
  }
  uint64_t rows[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    rows[lane] = step.memory.wide
                     ? warp.Slot<uint64_t>(step.operands[0])[lane] + step.memory.offset
                     : static_cast<uint32_t>(warp.Slot<uint32_t>(step.operands[0])[lane] +
                                             step.memory.offset);
  }
  uint64_t* to = warp.Slot<uint64_t>(step.operands[1]);
  for (int matrix = 0; matrix < matrices; ++matrix) {
    const uint64_t* const of_matrix = rows + 8 * matrix;
    for (int half = 0; half < (transposes ? 2 : 1); ++half, to += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane) {
        to[lane] = transposes ? of_matrix[lane % 4 * 2 + half] + static_cast<uint64_t>(lane / 4 * 2)
                              : of_matrix[lane / 4] + static_cast<uint64_t>(lane % 4 * 4);
      }
    }
  }
  return Flow::kNext;
}

Flow PerformTranspose(Warp& warp, const Step& step, Lanes lanes) {
  const Flow here = GatherWarp(warp, lanes);
  if (here != Flow::kNext || lanes == 0) return here;
  uint32_t from[kLanes];
  uint32_t* const to = warp.Slot<uint32_t>(step.operands[0]);
  for (int lane = 0; lane < kLanes; ++lane) {
    from[lane] = warp.Slot<uint32_t>(step.operands[1])[lane];
  }
  const auto element = [&](int row, int column) {
    return from[row * 4 + column / 2] >> 16 * (column % 2) & 0xffff;
  };
  for (int lane = 0; lane < kLanes; ++lane) {
    const int row = lane / 4;
    const int column = lane % 4 * 2;
    to[lane] = element(column, row) | element(column + 1, row) << 16;
  }
  return Flow::kNext;
}

Flow PerformMatrixPlaces(Warp& warp, const Step& step, Lanes lanes) {
  const Flow here = GatherWarp(warp, lanes);
  if (here != Flow::kNext || lanes == 0) return here;
  const MatrixCode& matrix = warp.frame().function->matrices[step.target];
  const uint32_t* const strides = warp.Slot<uint32_t>(step.operands[2]);
  uint64_t bases[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    bases[lane] =
        step.memory.offset + (step.memory.wide ? warp.Slot<uint64_t>(step.operands[0])[lane]
                                               : warp.Slot<uint32_t>(step.operands[0])[lane]);
  }
  uint64_t* to = warp.Slot<uint64_t>(step.operands[1]);
  for (size_t i = 0; i < matrix.across.size(); i += kLanes, to += kLanes) {
    const uint32_t* const across = &matrix.across[i];
    const uint32_t* const along = &matrix.along[i];
    for (int lane = 0; lane < kLanes; ++lane) {
      to[lane] = bases[lane] + (uint64_t{strides[lane]} * across[lane] + along[lane]) / 8;
    }
  }
  return Flow::kNext;
}

}  // namespace twinmmu::ptx
