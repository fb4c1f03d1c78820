// The shapes and types that matrix instructions have.

#ifndef TWINMMU_SIM_PTX_DECODE_MATRIX_SHAPES_H_
#define TWINMMU_SIM_PTX_DECODE_MATRIX_SHAPES_H_

#include "absl/strings/string_view.h"
#include "sim/ptx/matrices/matrix_product.h"

namespace twinmmu::ptx {

// "m16n8k16"; false: it is none.
bool ReadMatrixShape(absl::string_view text, MatrixProduct* product);

// The element that stands for those that have the same shapes.
Element KindOfElement(Element element);

// The first target that has this shape of mma or wmma; 0: there is no such shape.
int FirstTargetOfMma(const MatrixProduct& product, bool sparse);
int FirstTargetOfWmma(const MatrixProduct& product);

// Whether c and d may be what they are. `mixed`: they may differ.
bool SumsFit(const MatrixProduct& product, bool mixed);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_DECODE_MATRIX_SHAPES_H_
