// Matrix forms: the shapes and types of matrix instructions, and where the registers of a warp hold
// the elements.

#ifndef TWINMMU_SIM_PTX_MATRICES_MATRIX_FRAGMENTS_H_
#define TWINMMU_SIM_PTX_MATRICES_MATRIX_FRAGMENTS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "sim/ptx/matrices/matrix_product.h"
#include "sim/ptx/operations/operation.h"

namespace twinmmu::ptx {

// What the registers of a warp hold of a matrix.
struct Fragment {
  int registers = 0;
  int bits = 32;         // of an element
  int per_register = 1;  // elements
  int register_bytes = 4;
  // By register, place in it (from the lowest bits on) and lane: the element, as Multiply counts.
  std::vector<uint16_t> elements;

  const uint16_t* ElementsOf(int reg, int place) const {
    return &elements[static_cast<size_t>((reg * per_register + place) * kLanes)];
  }
};

// Of d, a, b, c.
enum MatrixOperand : uint8_t { kMatrixD, kMatrixA, kMatrixB, kMatrixC };

struct MatrixForm {
  MatrixProduct product;
  int products = 1;     // that the warp makes, one behind the other in the fragments
  bool sparse = false;  // a has half of the elements, and metadata say which
  std::array<Fragment, 4> fragments;
};

std::optional<Element> ElementNamed(absl::string_view name);

// Of mma.sync. `columns_a`, `rows_b`: the layouts .col of a and .row of b, which m8n8k4 of f16 has.
// Of a sparse product, a is the matrix without what is left out.
MatrixForm FormOfMma(const MatrixProduct& product, bool sparse, bool columns_a, bool rows_b);
// Of wmma.
MatrixForm FormOfWmma(const MatrixProduct& product);

// How many lanes of four hold metadata, by turns.
int SelectorsOf(const MatrixForm& form);
// Multiply for a sparse product. `metadata`: of each lane; `selector`: which lanes' counts.
void MultiplySparse(const MatrixForm& form, const uint64_t* a, const uint32_t* metadata,
                    int selector, const uint64_t* b, const uint64_t* c, uint64_t* d);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_MATRICES_MATRIX_FRAGMENTS_H_
