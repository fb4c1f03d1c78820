#include "sim/ptx/decode/matrix_shapes.h"

#include <cstddef>

namespace twinmmu::ptx {
namespace {

// A shape, for which elements, and from which target on.
struct KnownShape {
  Element a;
  int m;
  int n;
  int k;
  bool sparse;
  int target;
};
constexpr KnownShape kOfMma[] = {
    {Element::kF16, 8, 8, 4, false, 70},    {Element::kF16, 16, 8, 8, false, 75},
    {Element::kF16, 16, 8, 16, false, 80},  {Element::kF16, 16, 8, 16, true, 80},
    {Element::kF16, 16, 8, 32, true, 80},   {Element::kBf16, 16, 8, 8, false, 80},
    {Element::kBf16, 16, 8, 16, false, 80}, {Element::kBf16, 16, 8, 16, true, 80},
    {Element::kBf16, 16, 8, 32, true, 80},  {Element::kTf32, 16, 8, 4, false, 80},
    {Element::kTf32, 16, 8, 8, false, 80},  {Element::kTf32, 16, 8, 8, true, 80},
    {Element::kTf32, 16, 8, 16, true, 80},  {Element::kF64, 8, 8, 4, false, 80},
    {Element::kF64, 16, 8, 4, false, 90},   {Element::kF64, 16, 8, 8, false, 90},
    {Element::kF64, 16, 8, 16, false, 90},  {Element::kS8, 8, 8, 16, false, 75},
    {Element::kS8, 16, 8, 16, false, 80},   {Element::kS8, 16, 8, 32, false, 80},
    {Element::kS8, 16, 8, 32, true, 80},    {Element::kS8, 16, 8, 64, true, 80},
    {Element::kS4, 8, 8, 32, false, 75},    {Element::kS4, 16, 8, 32, false, 80},
    {Element::kS4, 16, 8, 64, false, 80},   {Element::kS4, 16, 8, 64, true, 80},
    {Element::kS4, 16, 8, 128, true, 80},   {Element::kB1, 8, 8, 128, false, 75},
    {Element::kB1, 16, 8, 128, false, 80},  {Element::kB1, 16, 8, 256, false, 80},
    {Element::kE4m3, 16, 8, 16, false, 89}, {Element::kE4m3, 16, 8, 32, false, 89},
    {Element::kE4m3, 16, 8, 64, true, 89},
};
constexpr KnownShape kOfWmma[] = {
    {Element::kF16, 16, 16, 16, false, 70}, {Element::kF16, 32, 8, 16, false, 70},
    {Element::kF16, 8, 32, 16, false, 70},  {Element::kBf16, 16, 16, 16, false, 80},
    {Element::kBf16, 32, 8, 16, false, 80}, {Element::kBf16, 8, 32, 16, false, 80},
    {Element::kS8, 16, 16, 16, false, 72},  {Element::kS8, 32, 8, 16, false, 72},
    {Element::kS8, 8, 32, 16, false, 72},   {Element::kTf32, 16, 16, 8, false, 80},
    {Element::kF64, 8, 8, 4, false, 80},    {Element::kS4, 8, 8, 32, false, 75},
    {Element::kB1, 8, 8, 128, false, 75},
};

template <size_t kCount>
int FirstTarget(const KnownShape (&shapes)[kCount], const MatrixProduct& product, bool sparse) {
  const Element kind = KindOfElement(product.a);
  for (const KnownShape& shape : shapes) {
    if (shape.a == kind && shape.m == product.m && shape.n == product.n && shape.k == product.k &&
        shape.sparse == sparse) {
      return shape.target;
    }
  }
  return 0;
}

}  // namespace

Element KindOfElement(Element element) {
  if (element == Element::kU8) return Element::kS8;
  if (element == Element::kU4) return Element::kS4;
  if (element == Element::kE5m2) return Element::kE4m3;
  return element;
}

bool ReadMatrixShape(absl::string_view text, MatrixProduct* product) {
  int* const numbers[] = {&product->m, &product->n, &product->k};
  for (size_t i = 0; i < 3; ++i) {
    if (text.empty() || text.front() != "mnk"[i]) return false;
    text.remove_prefix(1);
    while (!text.empty() && text.front() >= '0' && text.front() <= '9' && *numbers[i] < 1000) {
      *numbers[i] = *numbers[i] * 10 + (text.front() - '0');
      text.remove_prefix(1);
    }
  }
  return text.empty();
}

bool SumsFit(const MatrixProduct& product, bool mixed) {
  switch (KindOfElement(product.a)) {
    case Element::kF64:
      return product.c == Element::kF64 && product.d == Element::kF64;
    case Element::kBf16:
    case Element::kTf32:
      return product.c == Element::kF32 && product.d == Element::kF32;
    case Element::kF16:
    case Element::kE4m3: {
      const auto fits = [](Element e) { return e == Element::kF16 || e == Element::kF32; };
      return fits(product.c) && fits(product.d) && (mixed || product.c == product.d);
    }
    default:
      return product.c == Element::kS32 && product.d == Element::kS32;
  }
}

int FirstTargetOfMma(const MatrixProduct& product, bool sparse) {
  return FirstTarget(kOfMma, product, sparse);
}
int FirstTargetOfWmma(const MatrixProduct& product) { return FirstTarget(kOfWmma, product, false); }

}  // namespace twinmmu::ptx
