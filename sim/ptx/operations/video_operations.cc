#include "sim/ptx/operations/video_operations.h"

#include <algorithm>
#include <cstring>

#include "sim/ptx/operations/operation_table.h"

namespace twinmmu::ptx {
namespace {

__extension__ using Wide = __int128;

VideoForm Decoded(uint32_t low, uint32_t high) {
  const uint32_t words[] = {low, high};
  VideoForm form;
  std::memcpy(&form, words, sizeof(form));
  return form;
}

// The lower `bits` of `part`, which are 8, 16 or 32.
int64_t Extend(uint32_t part, int bits, bool is_signed) {
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  const auto value = static_cast<int64_t>(part & mask);
  return is_signed && (value >> (bits - 1)) != 0 ? value - (int64_t{1} << bits) : value;
}

int64_t ResultOf(VideoForm::Kind kind, int64_t a, int64_t b) {
  switch (kind) {
    case VideoForm::kAdd:
      return a + b;
    case VideoForm::kSubtract:
      return a - b;
    case VideoForm::kAverage:
      return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
    case VideoForm::kDistance:
      return a > b ? a - b : b - a;
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
    case VideoForm::kShiftLeft:
    case VideoForm::kShiftRight:
    case VideoForm::kMultiplyAdd:
      break;  // only of words
  }
  return 0;
}

Wide Clamp(Wide value, int bits, bool is_signed) {
  const Wide most = (Wide{1} << (is_signed ? bits - 1 : bits)) - 1;
  const Wide least = is_signed ? -(Wide{1} << (bits - 1)) : 0;
  return std::min(std::max(value, least), most);
}

// --- Of words

int BitsOf(VideoForm::Part part) {
  return part == VideoForm::kWord ? 32 : part <= VideoForm::kByte3 ? 8 : 16;
}
int ShiftOf(VideoForm::Part part) {
  if (part == VideoForm::kWord) return 0;
  return part <= VideoForm::kByte3 ? 8 * (part - VideoForm::kByte0)
                                   : 16 * (part - VideoForm::kHalf0);
}

int64_t Select(uint32_t word, uint64_t selector, bool is_signed) {
  const auto part = static_cast<VideoForm::Part>(selector);
  return Extend(word >> ShiftOf(part), BitsOf(part), is_signed);
}

Wide Shifted(const VideoForm& form, int64_t a, int64_t b) {
  const int64_t by = form.wraps ? b & 31 : std::min<int64_t>(b, 32);
  return form.kind == VideoForm::kShiftLeft ? Wide{a} * (Wide{1} << by) : Wide{a} >> by;
}

uint32_t MultiplyAdd(const VideoForm& form, int64_t a, int64_t b, uint32_t c) {
  const bool is_signed = form.signed_a || form.signed_b || form.negates_product || form.negates_c;
  Wide sum = Wide{a} * b;
  if (form.negates_product) sum = -sum;
  const Wide addend = Extend(c, 32, is_signed);
  sum += form.negates_c ? -addend : addend;
  if (form.adds_one) sum += 1;
  const Wide result = sum >> form.scale;
  return static_cast<uint32_t>(form.saturates ? Clamp(result, 32, is_signed) : result);
}

uint32_t OfWhole(const VideoForm& form, uint32_t first, uint32_t second, uint32_t c) {
  const int64_t a = Select(first, form.part_a, form.signed_a);
  const int64_t b = Select(second, form.part_b, form.signed_b);
  const auto kind = static_cast<VideoForm::Kind>(form.kind);
  const auto part = static_cast<VideoForm::Part>(form.part_d);
  if (kind == VideoForm::kMultiplyAdd) return MultiplyAdd(form, a, b, c);
  const bool shifts = kind == VideoForm::kShiftLeft || kind == VideoForm::kShiftRight;
  Wide result = shifts ? Shifted(form, a, b) : ResultOf(kind, a, b);
  if (form.saturates) result = Clamp(result, BitsOf(part), form.signed_d);
  const auto word = static_cast<uint32_t>(result);
  const int64_t value = Extend(word, 32, form.signed_d);
  const int64_t other = Extend(c, 32, form.signed_d);
  switch (static_cast<VideoForm::Second>(form.second)) {
    case VideoForm::kAccumulate:
      return word + c;
    case VideoForm::kSmaller:
      return static_cast<uint32_t>(std::min(value, other));
    case VideoForm::kLarger:
      return static_cast<uint32_t>(std::max(value, other));
    case VideoForm::kNone:
      break;
  }
  if (part == VideoForm::kWord) return word;
  const uint32_t mask = ((1u << BitsOf(part)) - 1) << ShiftOf(part);
  return (word << ShiftOf(part) & mask) | (c & ~mask);
}

// --- Of parts

uint32_t OfParts(const VideoForm& form, uint32_t a, uint32_t b, uint32_t c) {
  const int parts = static_cast<int>(form.parts);
  const int bits = 32 / parts;
  const auto selected = [&](uint64_t lanes, int i, bool is_signed) {
    const int lane = static_cast<int>(lanes >> (3 * i) & 7);
    const uint32_t word = lane < parts ? a : b;
    return Extend(word >> (lane % parts * bits), bits, is_signed);
  };
  const uint32_t ones = (1u << bits) - 1;
  uint32_t result = c;
  for (int i = 0; i < parts; ++i) {
    if ((form.mask >> i & 1) == 0) continue;
    int64_t part =
        ResultOf(static_cast<VideoForm::Kind>(form.kind), selected(form.lanes_a, i, form.signed_a),
                 selected(form.lanes_b, i, form.signed_b));
    if (form.saturates) part = static_cast<int64_t>(Clamp(part, bits, form.signed_d));
    // What is accumulated is not cut to a part before.
    if (form.second == VideoForm::kAccumulate) {
      result += static_cast<uint32_t>(part);
    } else {
      const int at = i * bits;
      result = (result & ~(ones << at)) | (static_cast<uint32_t>(part) & ones) << at;
    }
  }
  return result;
}

void OfLanes(const uint32_t* operands, char* registers, Lanes lanes) {
  const Source<uint32_t> a(registers, operands[1]);
  const Source<uint32_t> b(registers, operands[2]);
  const Source<uint32_t> c(registers, operands[3]);
  const VideoForm form = Decoded(Source<uint32_t>(registers, operands[4])[0],
                                 Source<uint32_t>(registers, operands[5])[0]);
  uint32_t* const results = reinterpret_cast<uint32_t*>(registers + operands[0]);
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = __builtin_ctz(lanes);
    results[lane] = form.parts == 1 ? OfWhole(form, a[lane], b[lane], c[lane])
                                    : OfParts(form, a[lane], b[lane], c[lane]);
  }
}

}  // namespace

std::array<uint32_t, 2> Encode(const VideoForm& form) {
  static_assert(sizeof(form) == sizeof(std::array<uint32_t, 2>));
  std::array<uint32_t, 2> words;
  std::memcpy(words.data(), &form, sizeof(form));
  return words;
}

Compute FindVideo() { return OfLanes; }

}  // namespace twinmmu::ptx
