// Instructions on matrices: mma, ldmatrix, stmatrix, movmatrix.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/ptx/decode/decode.h"
#include "sim/ptx/decode/matrix_shapes.h"
#include "sim/ptx/matrices/matrix_fragments.h"
#include "sim/ptx/run/moves.h"
#include "sim/ptx/run/steps.h"

namespace twinmmu::ptx {
bool Decoder::TakeShape(MatrixProduct* product) {
  for (size_t i = 0; i < modifiers_.size(); ++i) {
    MatrixProduct read = *product;
    if (!ReadMatrixShape(modifiers_[i], &read)) continue;
    *product = read;
    modifiers_.erase(modifiers_.begin() + static_cast<ptrdiff_t>(i));
    return true;
  }
  FailInvalid("the shape is missing");
  return false;
}

// The next one; or "".
absl::string_view Decoder::TakeLayout() {
  for (const absl::string_view modifier : modifiers_) {
    if (modifier == "row") return TakeName({"row"});
    if (modifier == "col") return TakeName({"col"});
  }
  return "";
}

// Those that are left are elements: d, a, b and c.
bool Decoder::TakeElements(std::initializer_list<Element*> elements) {
  if (modifiers_.size() != elements.size()) {
    FailInvalid("it names ", modifiers_.size(), " types or modifiers more, not ", elements.size());
    return false;
  }
  size_t next = 0;
  for (Element* const element : elements) {
    const std::optional<Element> named = ElementNamed(modifiers_[next++]);
    if (!named.has_value()) {
      FailInvalid("'.", modifiers_[next - 1], "' is no type of a matrix");
      return false;
    }
    *element = *named;
  }
  modifiers_.clear();
  return true;
}

// Whether a, b, c, d are types that go together.
bool Decoder::CheckProduct(const MatrixProduct& product, bool mixed_sums) {
  if (KindOfElement(product.a) != KindOfElement(product.b)) {
    FailInvalid("its matrices have elements of different kinds");
  } else if (!SumsFit(product, mixed_sums)) {
    FailInvalid("there is no such product with these types of c and d");
  } else if (product.saturates && (!IsInteger(product.a) || product.a == Element::kB1)) {
    FailInvalid(".satfinite is for integers");
  }
  return status_.ok();
}

bool Decoder::CheckTarget(int first) {
  if (first == 0) {
    FailInvalid("there is no such shape of these types");
  } else if (module_.target < first) {
    FailInvalid("it is there from sm_", first, " on");
  }
  return status_.ok();
}

// The registers of a matrix, whose slots come out. Of any type of their width.
std::vector<uint32_t> Decoder::FragmentAt(const Operand& operand, const Fragment& fragment,
                                          bool written) {
  std::vector<uint32_t> slots;
  const bool single = operand.kind != Operand::kVector;
  const size_t count = single ? 1 : operand.parts.size();
  if (count != static_cast<size_t>(fragment.registers)) {
    FailInvalid("a matrix has ", count, " registers, not ", fragment.registers);
    return slots;
  }
  const Type bits = BitsOfWidth(fragment.register_bytes);
  for (size_t i = 0; i < count; ++i) {
    const Operand& part = single ? operand : operand.parts[i];
    slots.push_back(written ? Destination(part, bits) : Source(part, bits));
  }
  return slots;
}

// And the selector behind them.
void Decoder::TakeMetadata(size_t index, const MatrixForm& form, MatrixCode* matrix) {
  matrix->metadata = Source(At(index), Type::kB32);
  const Operand& selector = At(index + 1);
  if (selector.kind != Operand::kInteger ||
      selector.bits >= static_cast<uint64_t>(SelectorsOf(form))) {
    FailInvalid("the selector is a constant below ", SelectorsOf(form));
  }
  matrix->selector = static_cast<int>(selector.bits);
}

void Decoder::EmitProduct(MatrixForm form, size_t operands) {
  ExpectOperands(operands, operands);
  if (!status_.ok()) return;
  MatrixCode matrix;
  for (size_t i = 0; i < 4; ++i) {
    matrix.slots[i] = FragmentAt(At(i), form.fragments[i], i == kMatrixD);
  }
  if (form.sparse) TakeMetadata(4, form, &matrix);
  if (!status_.ok()) return;
  matrix.form = std::make_shared<const MatrixForm>(std::move(form));
  Step& step = Emit(PerformMatrixProduct);
  step.target = static_cast<uint32_t>(code_.matrices.size());
  code_.matrices.push_back(std::move(matrix));
}

// mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a, b, c; mma.sp ... d, a, b, c, e, selector
void Decoder::Mma() {
  const bool ordered = Take("sp::ordered_metadata");
  const bool sparse = Take("sp") || ordered;
  if (!Take("sync") || !Take("aligned")) return FailInvalid(".sync.aligned is missing");
  for (const absl::string_view modifier : modifiers_) {
    if (modifier == "block_scale" || modifier == "kind::f8f6f4" || modifier == "kind::mxf4" ||
        modifier == "kind::mxf8f6f4" || modifier == "kind::mxf4nvf4") {
      return FailUnimplemented("it needs sm_120a, which is not supported");
    }
  }
  MatrixProduct product;
  if (!TakeShape(&product)) return;
  const absl::string_view layout_a = TakeLayout();
  const absl::string_view layout_b = TakeLayout();
  product.saturates = Take("satfinite");
  const int rounding = TakeOneOf({"rn", "rz", "rm", "rp"});
  const bool exclusive = Take("xor");
  const bool both = Take("and");
  const bool counts = Take("popc");
  if (!TakeElements({&product.d, &product.a, &product.b, &product.c})) return;
  if (!CheckProduct(product, product.m == 8)) return;
  if (!CheckTarget(FirstTargetOfMma(product, sparse))) return;
  const bool any_layout = product.a == Element::kF16 && product.m == 8;
  if (layout_b.empty() || (!any_layout && (layout_a != "row" || layout_b != "col"))) {
    return FailInvalid("the layouts are .row.col");
  }
  if (any_layout && product.d == Element::kF16 && product.c != Element::kF16) {
    return FailInvalid("c is of .f16 if d is");
  }
  if (sparse && KindOfElement(product.a) == Element::kE4m3 && product.d == Element::kF16) {
    return FailUnimplemented("sums of .f16 need sm_120, which is not supported");
  }
  if (rounding >= 0 && product.a != Element::kF64) return FailInvalid("it rounds .f64 only");
  if ((product.a == Element::kB1) != counts || (exclusive || both) != counts) {
    return FailInvalid(".and.popc or .xor.popc is for .b1");
  }
  constexpr Round kRoundings[] = {Round::kNearest, Round::kZero, Round::kDown, Round::kUp};
  if (rounding >= 0) product.rounding = kRoundings[rounding];
  product.exclusive_or = exclusive;
  if (product.a == Element::kB1) product.k /= 32;
  EmitProduct(FormOfMma(product, sparse, layout_a == "col", layout_b == "row"), sparse ? 6 : 4);
}

// --- ldmatrix, stmatrix, movmatrix ---------------------------------------------------------------

// ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {a, b, c, d}, [p]; stmatrix with [p] first.
void Decoder::LoadMatrix() { LoadOrStoreMatrix(/*stores=*/false); }
void Decoder::StoreMatrix() { LoadOrStoreMatrix(/*stores=*/true); }

void Decoder::LoadOrStoreMatrix(bool stores) {
  if (!Take("sync") || !Take("aligned")) return FailInvalid(".sync.aligned is missing");
  const int least = stores ? 90 : 75;
  if (module_.target < least) return FailInvalid("it is there from sm_", least, " on");
  if (TakeOneOf({"m16n16", "m8n16", "m16n8"}) >= 0) {
    return FailUnimplemented("elements of less than 16 bits need sm_100a, which is not supported");
  }
  constexpr int kCounts[] = {1, 2, 4};
  const int said = TakeOneOf({"x1", "x2", "x4"});
  const bool transposes = Take("trans");
  const Space space = TakeSpace();
  if (!Take("m8n8") || !Take("b16") || said < 0) {
    return FailInvalid("the forms are .m8n8, .x1 or .x2 or .x4, .b16");
  }
  if (space != Space::kShared && space != Space::kGeneric) {
    return FailInvalid("it is for .shared memory");
  }
  ExpectOperands(2, 2);
  if (!status_.ok()) return;
  const int count = kCounts[said];
  Step rows;
  rows.perform = PerformMatrixRows;
  rows.memory.bytes = 16;
  rows.memory.access = stores ? Access::kReadWrite : Access::kRead;
  rows.detail = static_cast<uint8_t>(count | (transposes ? kTransposes : 0));
  rows.operands[0] = Address(At(stores ? 0 : 1), space, &rows);
  Fragment fragment;
  fragment.registers = count;
  const std::vector<uint32_t> slots = FragmentAt(At(stores ? 1 : 0), fragment, !stores);
  if (!status_.ok()) return;
  const int parts = transposes ? 2 : 1;
  uint32_t place = ScratchSlots(count * parts);
  rows.operands[1] = place;
  Step access;
  access.memory.space = rows.memory.space;
  access.memory.access = rows.memory.access;
  access.memory.bytes = static_cast<uint8_t>(4 / parts);
  const Type type = transposes ? Type::kB16 : Type::kB32;
  access.perform = stores ? FindStore(type, 4 / parts) : FindLoad(type, 4 / parts);
  std::array<uint32_t, 2> halves = {};
  if (transposes) halves = {NewSlot(2), NewSlot(2)};
  Emit(rows);
  for (const uint32_t slot : slots) {
    if (transposes && stores) EmitCompute(FindUnpack(4, 2), {halves[0], halves[1], slot});
    for (int part = 0; part < parts; ++part, place += 8 * kLanes) {
      access.operands = {place, transposes ? halves[static_cast<size_t>(part)] : slot};
      Emit(access);
    }
    if (transposes && !stores) EmitCompute(FindPack(4, 2), {slot, halves[0], halves[1]});
  }
}

// movmatrix.sync.aligned.m8n8.trans.b16 d, a
void Decoder::MoveMatrix() {
  if (!Take("sync") || !Take("aligned") || !Take("m8n8") || !Take("trans") || !Take("b16")) {
    return FailInvalid("the form is .sync.aligned.m8n8.trans.b16");
  }
  if (module_.target < 75) return FailInvalid("it is there from sm_75 on");
  ExpectOperands(2, 2);
  const uint32_t from = Source(At(1), Type::kB32);
  const uint32_t to = Destination(At(0), Type::kB32);
  Step& step = Emit(PerformTranspose);
  step.operands[0] = to;
  step.operands[1] = from;
}

}  // namespace twinmmu::ptx
