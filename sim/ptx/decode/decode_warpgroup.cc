// wgmma: products of matrices in shared memory.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "sim/ptx/decode/decode.h"
#include "sim/ptx/decode/matrix_shapes.h"
#include "sim/ptx/matrices/matrix_fragments.h"
#include "sim/ptx/run/steps.h"

namespace twinmmu::ptx {
namespace {

// Of one instruction: 32 bytes of each line.
int DepthOf(Element element) { return element == Element::kB1 ? 256 : 256 / BitsOf(element); }

bool HasWidth(const MatrixProduct& product) {
  if (product.n % 8 != 0 || product.n > 256) return false;
  // Integers come in fewer widths.
  return !IsInteger(product.a) || product.n <= 24 || product.n % 16 == 0;
}

}  // namespace

void Decoder::Warpgroup() {
  if (module_.target != 90 || !module_.of_one_target)
    return FailInvalid("it is there for sm_90a only");
  const int form = TakeOneOf({"mma_async", "fence", "commit_group", "wait_group"});
  if (form < 0) return FailInvalid("mma_async, fence, commit_group or wait_group is missing");
  const bool sparse = form == 0 && Take("sp");
  if (!Take("sync") || !Take("aligned")) return FailInvalid(".sync.aligned is missing");
  if (form == 0) return WarpgroupProduct(sparse);
  const size_t operands = form == 3 ? 1 : 0;
  ExpectOperands(operands, operands);
  if (form == 3 && At(0).kind != Operand::kInteger) return FailInvalid("the number is a constant");
  Step step;
  step.perform = form == 1   ? PerformNothing
                 : form == 2 ? PerformCommitProducts
                             : PerformWaitForProducts;
  if (form == 3) step.target = SmallConstant(At(0));
  Emit(step);
}

// An operand that is a constant: one of two.
bool Decoder::ConstantAt(size_t index, int64_t first, int64_t second) {
  const int64_t value = static_cast<int64_t>(At(index).bits);
  if (At(index).kind != Operand::kInteger || (value != first && value != second)) {
    FailInvalid("operand ", index + 1, " is ", first, " or ", second);
  }
  return value == second;
}

// d, a, b{, metadata, selector}, p{, scale of a, scale of b{, transposes a}, transposes b}
void Decoder::WarpgroupProduct(bool sparse) {
  MatrixProduct product;
  if (!TakeShape(&product)) return;
  product.of_warpgroup = true;
  product.saturates = Take("satfinite");
  const bool counts = Take("popc");
  if (Take("and") != counts) return FailInvalid(".and.popc is for .b1");
  if (!TakeElements({&product.d, &product.a, &product.b})) return;
  product.c = product.d;
  if (!CheckProduct(product, false)) return;
  const Element kind = KindOfElement(product.a);
  const bool small = kind == Element::kE4m3 || kind == Element::kS8;
  const int depth = DepthOf(product.a) * (sparse ? 2 : 1);
  if (product.m != 64 || product.k != depth || !HasWidth(product) || (sparse && counts) ||
      (product.a != product.b && !small) || kind == Element::kF64 || kind == Element::kS4 ||
      (product.a == Element::kB1) != counts) {
    return FailInvalid("there is no such shape of these types");
  }
  const bool halves = kind == Element::kF16 || kind == Element::kBf16;
  const bool floats = !IsInteger(product.a);
  const bool from_registers = At(1).kind == Operand::kVector;
  const size_t predicate = sparse ? 5 : 3;
  const size_t operands = predicate + (!floats ? 1 : !halves ? 3 : from_registers ? 4 : 5);
  ExpectOperands(operands, operands);
  if (!status_.ok()) return;
  Step step;
  step.perform = PerformWarpgroupProduct;
  if (floats) {
    product.negates_a = ConstantAt(predicate + 1, 1, -1);
    product.negates_b = ConstantAt(predicate + 2, 1, -1);
  }
  if (halves && !from_registers && ConstantAt(predicate + 3, 0, 1)) step.detail |= kTransposesA;
  if (halves && ConstantAt(operands - 1, 0, 1)) step.detail |= kTransposesB;
  product.m = 16;  // of each warp
  if (product.a == Element::kB1) product.k /= 32;
  MatrixCode matrix;
  const MatrixForm form = FormOfMma(product, sparse, false, false);
  matrix.slots[kMatrixD] = FragmentAt(At(0), form.fragments[kMatrixD], true);
  matrix.slots[kMatrixC] = matrix.slots[kMatrixD];
  step.operands[0] = kNoSlot;
  if (from_registers) {
    matrix.slots[kMatrixA] = FragmentAt(At(1), form.fragments[kMatrixA], false);
  } else {
    step.operands[0] = Source(At(1), Type::kB64);
  }
  step.operands[1] = Source(At(2), Type::kB64);
  if (sparse) TakeMetadata(3, form, &matrix);
  step.operands[2] = Source(At(predicate), Type::kPred);
  if (!status_.ok()) return;
  matrix.form = std::make_shared<const MatrixForm>(form);
  step.target = static_cast<uint32_t>(code_.matrices.size());
  code_.matrices.push_back(matrix);
  Emit(step);
}

}  // namespace twinmmu::ptx
