#include "sim/ptx/operations/video_operations.h"

#include <algorithm>
#include <cstdlib>

#include "sim/ptx/operations/operation_table.h"

namespace twinmmu::ptx {
namespace {

VideoForm Decoded(uint32_t word) {
  VideoForm form;
  form.kind = static_cast<VideoForm::Kind>(word & 0xff);
  form.parts = (word >> 8 & 1) != 0 ? 2 : 4;
  form.signed_d = (word >> 9 & 1) != 0;
  form.signed_a = (word >> 10 & 1) != 0;
  form.signed_b = (word >> 11 & 1) != 0;
  form.saturates = (word >> 12 & 1) != 0;
  form.accumulates = (word >> 13 & 1) != 0;
  return form;
}

int32_t Extend(uint32_t part, int bits, bool is_signed) {
  const uint32_t mask = (1u << bits) - 1;
  const int32_t value = static_cast<int32_t>(part & mask);
  return is_signed && (value >> (bits - 1)) != 0 ? value - (1 << bits) : value;
}

int32_t Part(VideoForm::Kind kind, int32_t a, int32_t b) {
  switch (kind) {
    case VideoForm::kAdd:
      return a + b;
    case VideoForm::kSubtract:
      return a - b;
    case VideoForm::kAverage:
      return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
    case VideoForm::kDistance:
      return std::abs(a - b);
    case VideoForm::kMinimum:
      return std::min(a, b);
    case VideoForm::kMaximum:
      return std::max(a, b);
    case VideoForm::kEqual:
      return a == b ? 1 : 0;
    case VideoForm::kUnequal:
      return a != b ? 1 : 0;
    case VideoForm::kLess:
      return a < b ? 1 : 0;
    case VideoForm::kLessOrEqual:
      return a <= b ? 1 : 0;
    case VideoForm::kGreater:
      return a > b ? 1 : 0;
    case VideoForm::kGreaterOrEqual:
      return a >= b ? 1 : 0;
  }
  return 0;
}

uint32_t OfWord(const VideoForm& form, uint32_t a, uint32_t b, uint32_t c) {
  const int bits = 32 / form.parts;
  const int32_t most = form.signed_d ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  const int32_t least = form.signed_d ? -(1 << (bits - 1)) : 0;
  uint32_t parts = 0;
  for (int at = 0; at < 32; at += bits) {
    int32_t part =
        Part(form.kind, Extend(a >> at, bits, form.signed_a), Extend(b >> at, bits, form.signed_b));
    if (form.saturates) part = std::min(std::max(part, least), most);
    // What is accumulated is not cut to a part before.
    if (form.accumulates) {
      c += static_cast<uint32_t>(part);
    } else {
      parts |= (static_cast<uint32_t>(part) & ((1u << bits) - 1)) << at;
    }
  }
  return form.accumulates ? c : parts;
}

void OfLanes(const uint32_t* operands, char* registers, Lanes lanes) {
  const Source<uint32_t> a(registers, operands[1]);
  const Source<uint32_t> b(registers, operands[2]);
  const Source<uint32_t> c(registers, operands[3]);
  const VideoForm form = Decoded(Source<uint32_t>(registers, operands[4])[0]);
  uint32_t* const results = reinterpret_cast<uint32_t*>(registers + operands[0]);
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(lanes);
    results[lane] = OfWord(form, a[lane], b[lane], c[lane]);
  }
}

}  // namespace

uint32_t Encode(const VideoForm& form) {
  const auto flag = [](bool set, int bit) { return set ? 1u << bit : 0u; };
  return form.kind | flag(form.parts == 2, 8) | flag(form.signed_d, 9) | flag(form.signed_a, 10) |
         flag(form.signed_b, 11) | flag(form.saturates, 12) | flag(form.accumulates, 13);
}

Compute FindVideo() { return OfLanes; }

}  // namespace twinmmu::ptx
