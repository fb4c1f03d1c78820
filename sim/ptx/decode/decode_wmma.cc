// wmma: fragments of matrices from memory and back, and their products.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sim/ptx/decode/decode.h"
#include "sim/ptx/decode/matrix_shapes.h"
#include "sim/ptx/matrices/matrix_fragments.h"
#include "sim/ptx/run/moves.h"
#include "sim/ptx/run/steps.h"

namespace twinmmu::ptx {
namespace {

// The type of c and d that goes with elements a.
Element SumOf(Element a) {
  if (a == Element::kF64) return Element::kF64;
  return IsInteger(a) ? Element::kS32 : Element::kF32;
}

// Of an element of c or d: one of the elements that a may have then.
Element FactorOf(Element sum, const MatrixProduct& product) {
  if (sum == Element::kF64) return Element::kF64;
  if (sum == Element::kS32) {
    return product.k == 128 ? Element::kB1 : product.k == 32 ? Element::kS4 : Element::kS8;
  }
  return product.k == 8 && sum == Element::kF32 ? Element::kTf32 : Element::kF16;
}

// In memory.
int MemoryBits(Element element) { return element == Element::kB1 ? 1 : BitsOf(element); }

// `line`: elements of one, as the fragment counts; `crosses`: memory has columns where that has
// rows; `stride_bits`: of what a stride counts; `together`: elements of an access.
void SetPlaces(const Fragment& fragment, int line, bool crosses, int stride_bits, int together,
               MatrixCode* matrix) {
  for (size_t i = 0; i < fragment.elements.size(); ++i) {
    if (i / kLanes % static_cast<size_t>(together) != 0) continue;
    int across = fragment.elements[i] / line;
    int along = fragment.elements[i] % line;
    if (crosses) std::swap(across, along);
    matrix->across.push_back(static_cast<uint32_t>(across * stride_bits));
    matrix->along.push_back(static_cast<uint32_t>(along * fragment.bits));
  }
}

}  // namespace

void Decoder::Wmma() {
  const int form = TakeOneOf({"load", "store", "mma"});
  if (form < 0) return FailInvalid("load, store or mma is missing");
  if (!Take("sync") || !Take("aligned")) return FailInvalid(".sync.aligned is missing");
  if (form == 2) return WmmaProduct();
  WmmaAccess(/*stores=*/form == 1);
}

// wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 d, a, b, c; with d, a, b, c but for f16.
void Decoder::WmmaProduct() {
  MatrixProduct product;
  if (!TakeShape(&product)) return;
  const absl::string_view layout_a = TakeLayout();
  const absl::string_view layout_b = TakeLayout();
  product.saturates = Take("satfinite");
  const int rounding = TakeOneOf({"rn", "rz", "rm", "rp"});
  product.exclusive_or = Take("xor");
  const bool counts = Take("popc");
  const bool both = Take("and");
  if (modifiers_.size() == 2) {
    product.b = product.a;
    if (!TakeElements({&product.d, &product.c})) return;
  } else if (!TakeElements({&product.d, &product.a, &product.b, &product.c})) {
    return;
  }
  if (!CheckProduct(product, /*mixed_sums=*/true)) return;
  if (!CheckTarget(FirstTargetOfWmma(product))) return;
  if (layout_a.empty() || layout_b.empty()) return FailInvalid("the layouts are missing");
  const bool narrow = KindOfElement(product.a) == Element::kS4 || product.a == Element::kB1;
  if (product.a != product.b || (narrow && (layout_a != "row" || layout_b != "col"))) {
    return FailInvalid("there is no such product of these types and layouts");
  }
  if (rounding >= 0 && product.a != Element::kF64) return FailInvalid("it rounds .f64 only");
  if ((product.a == Element::kB1) != counts || (product.exclusive_or || both) != counts) {
    return FailInvalid(".and.popc or .xor.popc is for .b1");
  }
  constexpr Round kRoundings[] = {Round::kNearest, Round::kZero, Round::kDown, Round::kUp};
  if (rounding >= 0) product.rounding = kRoundings[rounding];
  if (product.a == Element::kB1) product.k /= 32;
  EmitProduct(FormOfWmma(product), 4);
}

// wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {...}, [p], stride; wmma.store.d with [p]
// first.
void Decoder::WmmaAccess(bool stores) {
  const int which = TakeOneOf({"d", "a", "b", "c"});
  if (which < 0 || stores != (which == kMatrixD)) return FailInvalid("a, b, c or d is missing");
  MatrixProduct product;
  if (!TakeShape(&product)) return;
  const absl::string_view layout = TakeLayout();
  const Space space = TakeSpace();
  Element element = Element::kF16;
  if (!TakeElements({&element})) return;
  const bool factor = which == kMatrixA || which == kMatrixB;
  product.a = factor ? element : FactorOf(element, product);
  product.b = product.a;
  product.c = factor ? SumOf(element) : element;
  product.d = product.c;
  if (!SumsFit(product, true)) return FailInvalid("a matrix has no such elements");
  if (!CheckTarget(FirstTargetOfWmma(product))) return;
  const bool narrow = MemoryBits(element) < 8;
  if (layout.empty() || (narrow && layout != (which == kMatrixA ? "row" : "col"))) {
    return FailInvalid("it has no such layout");
  }
  if (space != Space::kGeneric && space != Space::kGlobal && space != Space::kShared) {
    return FailInvalid("it is for .global and .shared memory");
  }
  ExpectOperands(2, 3);
  if (product.a == Element::kB1) product.k /= 32;
  MatrixCode matrix;
  matrix.form = std::make_shared<const MatrixForm>(FormOfWmma(product));
  matrix.operand = static_cast<MatrixOperand>(which);
  const Fragment& fragment = matrix.form->fragments[static_cast<size_t>(which)];
  const int line = factor ? product.k : product.n;
  const bool crosses = (layout == "row") == (which == kMatrixB);
  const int together = narrow ? fragment.per_register : 1;
  SetPlaces(fragment, line, crosses, MemoryBits(element), together, &matrix);
  matrix.slots[static_cast<size_t>(which)] = FragmentAt(At(stores ? 1 : 0), fragment, !stores);
  const int rows = which == kMatrixB ? product.n : product.m;
  const int contiguous = (crosses ? rows : line) * (product.a == Element::kB1 && factor ? 32 : 1);
  Step places;
  places.perform = PerformMatrixPlaces;
  places.operands[0] = Address(At(stores ? 0 : 1), space, &places);
  places.operands[2] = instruction_->operands.size() > 2
                           ? Source(At(2), Type::kB32)
                           : Fixed(FixedSlot::kZero, 0, static_cast<uint64_t>(contiguous), 4);
  if (!status_.ok()) return;
  EmitFragment(matrix, places, together, stores);
}

// An access for each element, or for each register where a byte holds several.
void Decoder::EmitFragment(const MatrixCode& matrix, const Step& places, int together,
                           bool stores) {
  const Fragment& fragment = matrix.form->fragments[matrix.operand];
  const int parts = fragment.per_register / together;
  const int bytes = fragment.register_bytes / parts;
  const int width = std::max(bytes, 2);
  const int total = fragment.registers * parts;
  uint32_t place = ScratchSlots(total);
  Step& first = Emit(places);
  first.operands[1] = place;
  first.target = static_cast<uint32_t>(code_.matrices.size());
  Step access;
  access.memory.space = places.memory.space;
  access.memory.access = stores ? Access::kReadWrite : Access::kRead;
  access.memory.bytes = static_cast<uint8_t>(bytes);
  const Type type = bytes == 1   ? Type::kB8
                    : bytes == 2 ? Type::kB16
                    : bytes == 4 ? Type::kB32
                                 : Type::kB64;
  access.perform = stores ? FindStore(type, width) : FindLoad(type, width);
  std::array<uint32_t, kMaxOperands> halves = {};
  for (int i = 0; parts > 1 && i < parts; ++i) halves[static_cast<size_t>(i)] = NewSlot(width);
  for (const uint32_t slot : matrix.slots[matrix.operand]) {
    std::array<uint32_t, kMaxOperands> unpacked = halves;
    unpacked[static_cast<size_t>(parts)] = slot;
    if (parts > 1 && stores) EmitCompute(FindUnpack(4, parts), unpacked);
    for (int part = 0; part < parts; ++part, place += 8 * kLanes) {
      access.operands = {place, parts > 1 ? halves[static_cast<size_t>(part)] : slot};
      Emit(access);
    }
    std::array<uint32_t, kMaxOperands> packed = {slot};
    std::copy_n(halves.begin(), parts, packed.begin() + 1);
    if (parts > 1 && !stores) EmitCompute(FindPack(4, parts), packed);
  }
  code_.matrices.push_back(matrix);
}

}  // namespace twinmmu::ptx
