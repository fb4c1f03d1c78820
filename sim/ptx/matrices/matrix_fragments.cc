#include "sim/ptx/matrices/matrix_fragments.h"

#include <cstddef>
#include <utility>

namespace twinmmu::ptx {
namespace {

// Lanes of a warp come in groups of four.
int GroupOf(int lane) { return lane / 4; }
int InGroup(int lane) { return lane % 4; }

// `element(index, lane)`: of the index-th element that `lane` holds.
template <typename ElementOf>
Fragment MakeFragment(int elements_of_lane, int bits, const ElementOf& element) {
  Fragment fragment;
  fragment.bits = bits;
  fragment.register_bytes = bits == 64 ? 8 : 4;
  fragment.per_register = fragment.register_bytes * 8 / bits;
  fragment.registers = elements_of_lane / fragment.per_register;
  for (int index = 0; index < elements_of_lane; ++index) {
    for (int lane = 0; lane < kLanes; ++lane) {
      fragment.elements.push_back(static_cast<uint16_t>(element(index, lane)));
    }
  }
  return fragment;
}

// Of a, `rows` (8 or 16) times `columns`: a register has neighbours of a row; registers go down by
// 8 rows first, then on to further columns.
Fragment LeftFragment(int rows, int columns, int bits) {
  const int packed = bits == 64 ? 1 : 32 / bits;
  const int halves = rows / 8;
  return MakeFragment(rows * columns / kLanes, bits, [=](int index, int lane) {
    const int reg = index / packed;
    const int row = GroupOf(lane) + reg % halves * 8;
    const int column = reg / halves * 4 * packed + InGroup(lane) * packed + index % packed;
    return row * columns + column;
  });
}

// Of b, `rows` times a multiple of 8 columns, which Multiply counts column by column.
Fragment RightFragment(int rows, int columns, int bits) {
  const int packed = bits == 64 ? 1 : 32 / bits;
  const int of_block = rows * 8 / kLanes;
  return MakeFragment(rows * columns / kLanes, bits, [=](int index, int lane) {
    const int block = index / of_block;
    const int reg = index % of_block / packed;
    const int row = reg * 4 * packed + InGroup(lane) * packed + index % packed;
    return (block * 8 + GroupOf(lane)) * rows + row;
  });
}

// Of c and d: two neighbours of a row, down by 8 rows, then on to further columns.
Fragment SumFragment(int rows, int columns, int bits) {
  const int halves = rows / 8;
  return MakeFragment(rows * columns / kLanes, bits, [=](int index, int lane) {
    const int row = GroupOf(lane) + index / 2 % halves * 8;
    const int column = index / 2 / halves * 8 + InGroup(lane) * 2 + index % 2;
    return row * columns + column;
  });
}

// --- m8n8k4 of f16: four products, each of 8 lanes ----------------------------------------------

// Lanes 0-3 and 16-19 hold the first, and so on.
constexpr int kQuads = 4;

int QuadOf(int lane) { return lane % 16 / 4; }
int UpperHalf(int lane) { return lane / 16 * 4; }

Fragment QuadFragment(bool across) {
  return MakeFragment(4, 16, [=](int index, int lane) {
    const int line = across ? index + UpperHalf(lane) : lane % 4 + UpperHalf(lane);
    const int place = across ? lane % 4 : index;
    return QuadOf(lane) * 32 + line * 4 + place;
  });
}

Fragment QuadSums(int bits) {
  return MakeFragment(8, bits, [=](int index, int lane) {
    int row = lane % 4 + UpperHalf(lane);
    int column = index;
    if (bits == 32) {
      row = (lane & 1) + (index & 2) + UpperHalf(lane);
      column = (index & 4) + (lane & 2) + (index & 1);
    }
    return QuadOf(lane) * 64 + row * 8 + column;
  });
}

}  // namespace

std::optional<Element> ElementNamed(absl::string_view name) {
  constexpr std::pair<absl::string_view, Element> kNames[] = {
      {"f16", Element::kF16},   {"bf16", Element::kBf16}, {"tf32", Element::kTf32},
      {"e4m3", Element::kE4m3}, {"e5m2", Element::kE5m2}, {"f32", Element::kF32},
      {"f64", Element::kF64},   {"s8", Element::kS8},     {"u8", Element::kU8},
      {"s4", Element::kS4},     {"u4", Element::kU4},     {"b1", Element::kB1},
      {"s32", Element::kS32}};
  for (const auto& [known, element] : kNames) {
    if (name == known) return element;
  }
  return std::nullopt;
}

MatrixForm FormOfMma(const MatrixProduct& product, bool sparse, bool columns_a, bool rows_b) {
  MatrixForm form;
  form.product = product;
  form.sparse = sparse;
  if (product.a == Element::kF16 && product.k == 4) {
    form.products = kQuads;
    form.fragments = {QuadSums(BitsOf(product.d)), QuadFragment(columns_a), QuadFragment(rows_b),
                      QuadSums(BitsOf(product.c))};
    return form;
  }
  const int columns = sparse ? product.k / 2 : product.k;
  form.fragments = {SumFragment(product.m, product.n, BitsOf(product.d)),
                    LeftFragment(product.m, columns, BitsOf(product.a)),
                    RightFragment(product.k, product.n, BitsOf(product.b)),
                    SumFragment(product.m, product.n, BitsOf(product.c))};
  return form;
}

namespace {

// Blocks of 16 rows, one behind the other.
Fragment StackedLeft(int rows, int columns, int bits) {
  Fragment stack = LeftFragment(16, columns, bits);
  const size_t of_block = stack.elements.size();
  const int registers = stack.registers;
  for (int first = 16; first < rows; first += 16) {
    stack.registers += registers;
    for (size_t i = 0; i < of_block; ++i) {
      stack.elements.push_back(static_cast<uint16_t>(stack.elements[i] + first * columns));
    }
  }
  return stack;
}

// The same of c and d with 8 columns; `across`: with rows for columns.
Fragment StackedSums(int rows, int bits, bool across) {
  return MakeFragment(rows * 8 / kLanes, bits, [=](int index, int lane) {
    const int row = GroupOf(lane) + index / 2 * 8;
    const int column = InGroup(lane) * 2 + index % 2;
    return across ? column * rows + row : row * 8 + column;
  });
}

// The registers again and again, up to `count`.
void Repeat(int count, Fragment* fragment) {
  const size_t once = fragment->elements.size();
  const size_t times = static_cast<size_t>(count / fragment->registers);
  for (size_t i = once; i < once * times; ++i) {
    fragment->elements.push_back(fragment->elements[i - once]);
  }
  fragment->registers = count;
}

}  // namespace

// PTX does not say where the elements are; this is what an H100 does.
MatrixForm FormOfWmma(const MatrixProduct& product) {
  MatrixForm form = FormOfMma(product, false, false, false);
  form.product.of_wmma = true;
  const int bits = BitsOf(product.a);
  if (product.m == 32) {
    form.fragments = {StackedSums(32, BitsOf(product.d), false), StackedLeft(32, product.k, bits),
                      RightFragment(product.k, 8, bits), StackedSums(32, BitsOf(product.c), false)};
  } else if (product.n == 32) {
    form.fragments = {StackedSums(32, BitsOf(product.d), true), RightFragment(product.k, 8, bits),
                      StackedLeft(32, product.k, bits), StackedSums(32, BitsOf(product.c), true)};
  }
  if (product.a == Element::kF16) {
    Repeat(8, &form.fragments[kMatrixA]);
    Repeat(8, &form.fragments[kMatrixB]);
  }
  return form;
}

// --- Metadata of sparse products -----------------------------------------------------------------

namespace {

// Columns of a for which 4 bits of metadata stand.
int ColumnsOfGroup(const MatrixForm& form) {
  const int bits = BitsOf(form.product.a);
  return bits == 32 ? 2 : bits == 4 ? 8 : 4;
}

int GroupsOfRow(const MatrixForm& form) { return form.product.k / ColumnsOfGroup(form); }

uint32_t MetadataOf(const MatrixForm& form, const uint32_t* metadata, int selector, int row,
                    int group) {
  const int groups = GroupsOfRow(form);
  const int first = row % 8 * 4;  // of four lanes
  const int lower = row / 8;      // half of the rows
  if (groups == 4) return metadata[first + selector] >> (lower * 16 + group * 4) & 0xf;
  if (BitsOf(form.product.a) >= 16) {
    return metadata[first + selector * 2 + group / 4] >> (lower * 16 + group % 4 * 4) & 0xf;
  }
  if (groups == 8) return metadata[first + selector * 2 + lower] >> group * 4 & 0xf;
  return metadata[first + group / 8 * 2 + lower] >> group % 8 * 4 & 0xf;
}

}  // namespace

int SelectorsOf(const MatrixForm& form) {
  const int groups = GroupsOfRow(form);
  return groups == 4 ? 4 : groups == 8 ? 2 : 1;
}

// Each row of a meets those rows of b that its metadata name, as if there were no others.
void MultiplySparse(const MatrixForm& form, const uint64_t* a, const uint32_t* metadata,
                    int selector, const uint64_t* b, const uint64_t* c, uint64_t* d) {
  const int columns = ColumnsOfGroup(form);
  const int half = columns / 2;  // elements of a group that a has
  const int n = form.product.n;
  const int k = form.product.k;
  MatrixProduct of_row = form.product;
  of_row.m = 1;
  of_row.k = k / 2;
  std::vector<uint64_t> met(static_cast<size_t>(n * k / 2));
  for (int row = 0; row < form.product.m; ++row) {
    for (int group = 0; group < GroupsOfRow(form); ++group) {
      const uint32_t places = MetadataOf(form, metadata, selector, row, group);
      for (int i = 0; i < half; ++i) {
        // A place is one of four parts of the group.
        const uint32_t part = (half == 4 ? i / 2 : i) != 0 ? places >> 2 : places & 3;
        const int place = half == 1 ? static_cast<int>(part / 2)
                                    : static_cast<int>(part) * half / 2 + (half == 4 ? i % 2 : 0);
        for (int j = 0; j < n; ++j) {
          met[static_cast<size_t>(j * k / 2 + group * half + i)] =
              b[j * k + group * columns + place];
        }
      }
    }
    Multiply(of_row, a + row * k / 2, met.data(), c + row * n, d + row * n);
  }
}

}  // namespace twinmmu::ptx
