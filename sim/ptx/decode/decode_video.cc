// Video instructions, with the selectors of their operands.

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "sim/ptx/decode/decode.h"
#include "sim/ptx/operations/video_operations.h"

namespace twinmmu::ptx {
namespace {

// "b0" of "%r1.b0".
absl::string_view SelectorOf(const Operand& operand) {
  const absl::string_view name = operand.name;
  const size_t dot = name.find('.');
  return operand.kind != Operand::kRegister || dot == name.npos ? "" : name.substr(dot + 1);
}

}  // namespace

// The part of a word; 0: all of it.
uint64_t Decoder::VideoPart(const Operand& operand) {
  constexpr absl::string_view kParts[] = {"", "b0", "b1", "b2", "b3", "h0", "h1"};
  const auto found = std::find(std::begin(kParts), std::end(kParts), SelectorOf(operand));
  if (found == std::end(kParts)) FailInvalid("'", operand.name, "' names no part of a word");
  return static_cast<uint64_t>(found - std::begin(kParts)) % std::size(kParts);
}

// ".b3210" of four parts, ".h10" of two: for each part three bits, the last one first. Operands
// that name none are whole: those from `first` on.
uint64_t Decoder::VideoLanes(const Operand& operand, int parts, int first) {
  uint64_t lanes = 0;
  const absl::string_view selector = SelectorOf(operand);
  if (selector.empty()) {
    for (int i = 0; i < parts; ++i) lanes |= static_cast<uint64_t>(first + i) << (3 * i);
    return lanes;
  }
  bool valid =
      static_cast<int>(selector.size()) == parts + 1 && selector[0] == (parts == 2 ? 'h' : 'b');
  for (size_t i = 1; valid && i < selector.size(); ++i) {
    const int lane = selector[i] - '0';
    valid = lane >= 0 && lane < 2 * parts;
    lanes = lanes << 3 | static_cast<uint64_t>(lane & 7);
  }
  if (!valid) FailInvalid("'", operand.name, "' does not select ", parts, " parts");
  return lanes;
}

// ".b20": parts 0 and 2; all that are not named are kept.
uint64_t Decoder::VideoMask(const Operand& operand, int parts) {
  const absl::string_view selector = SelectorOf(operand);
  if (selector.empty()) return (1u << parts) - 1;
  uint64_t mask = 0;
  int last = parts;
  bool valid = selector.size() > 1 && selector[0] == (parts == 2 ? 'h' : 'b');
  for (size_t i = 1; valid && i < selector.size(); ++i) {
    const int part = selector[i] - '0';
    valid = part >= 0 && part < last;
    last = part;
    if (valid) mask |= uint64_t{1} << part;
  }
  if (!valid) FailInvalid("'", operand.name, "' is no mask of ", parts, " parts");
  return mask;
}

// What the modifiers say: vadd.s32.u32.s32.sat.min, vset4.s32.u32.lt.add, vmad.u32.u32.u32.po.shr7
VideoForm Decoder::TakeVideoForm() {
  VideoForm form = {};
  absl::string_view name = instruction_->opcode;
  form.parts = name.back() == '2' ? 2 : name.back() == '4' ? 4 : 1;
  if (form.parts != 1) name.remove_suffix(1);
  constexpr absl::string_view kNames[] = {"vadd", "vsub", "vavrg", "vabsdiff", "vmin",
                                          "vmax", "vshl", "vshr",  "vmad"};
  const bool compares = name == "vset";
  const bool shifts = name == "vshl" || name == "vshr";
  uint64_t kind = static_cast<uint64_t>(std::find(std::begin(kNames), std::end(kNames), name) -
                                        std::begin(kNames));
  if (compares) {
    const int test = TakeOneOf({"eq", "ne", "lt", "le", "gt", "ge"});
    if (test < 0) FailInvalid("the comparison is missing");
    kind = VideoForm::kEqual + static_cast<uint64_t>(std::max(test, 0));
  }
  form.kind = kind & 15;
  form.saturates = !compares && Take("sat");
  bool is_signed[3] = {};
  for (int i = compares ? 1 : 0; i < 3; ++i) {
    if (modifiers_.empty() || (modifiers_.front() != "s32" && modifiers_.front() != "u32")) {
      FailInvalid("the types are .s32 and .u32");
      return form;
    }
    is_signed[i] = modifiers_.front() == "s32";
    modifiers_.erase(modifiers_.begin());
  }
  if (compares) is_signed[0] = is_signed[1];  // min and max, as an H100 does it
  if (shifts && is_signed[2]) FailInvalid("what it shifts by is .u32");
  form.signed_d = is_signed[0];
  form.signed_a = is_signed[1];
  form.signed_b = is_signed[2];
  if (shifts) {
    const int mode = TakeOneOf({"clamp", "wrap"});
    if (mode < 0) FailInvalid("it needs .clamp or .wrap");
    form.wraps = mode == 1;
  }
  if (name == "vmad") {
    form.adds_one = Take("po");
    form.scale = Take("shr7") ? 7 : Take("shr15") ? 15 : 0;
    return form;
  }
  const int second = form.parts == 1 ? TakeOneOf({"add", "min", "max"}) : Take("add") ? 0 : -1;
  form.second = static_cast<uint64_t>(second + 1) & 3;
  if (form.parts != 1 && form.saturates && second == 0) FailInvalid("a sum does not saturate");
  return form;
}

void Decoder::Video() {
  VideoForm form = TakeVideoForm();
  const bool multiplies = form.kind == VideoForm::kMultiplyAdd;
  form.negates_product = At(1).negated != At(2).negated;
  form.negates_c = At(3).negated;
  const bool negates = At(1).negated || At(2).negated || At(3).negated;
  if (negates && (!multiplies || form.adds_one)) return FailInvalid("it negates nothing");
  if (form.negates_product && form.negates_c) return FailInvalid("it negates the product or c");
  bool takes_c = true;
  if (form.parts == 1) {
    form.part_a = VideoPart(At(1)) & 7;
    form.part_b = VideoPart(At(2)) & 7;
    form.part_d = VideoPart(At(0)) & 7;
    const bool merges = form.part_d != VideoForm::kWord;
    if (merges && (multiplies || form.second != VideoForm::kNone)) {
      return FailInvalid("it writes the whole result");
    }
    takes_c = multiplies || merges || form.second != VideoForm::kNone;
  } else {
    const int parts = static_cast<int>(form.parts);
    form.mask = VideoMask(At(0), parts) & 15;
    form.lanes_a = VideoLanes(At(1), parts, 0) & 0xfff;
    form.lanes_b = VideoLanes(At(2), parts, parts) & 0xfff;
  }
  ExpectOperands(takes_c ? 4 : 3, 4);
  if (!SelectorOf(At(3)).empty()) FailInvalid("'", At(3).name, "' is taken whole");
  if (!status_.ok()) return;
  const uint32_t a = Source(At(1), Type::kB32);
  const uint32_t b = Source(At(2), Type::kB32);
  const uint32_t c = takes_c ? Source(At(3), Type::kB32) : Fixed(FixedSlot::kZero, 0, 0, 4);
  const uint32_t to = Destination(At(0), Type::kB32);
  const std::array<uint32_t, 2> words = Encode(form);
  EmitCompute(FindVideo(), {to, a, b, c, Fixed(FixedSlot::kZero, 0, words[0], 4),
                            Fixed(FixedSlot::kZero, 0, words[1], 4)});
}

}  // namespace twinmmu::ptx
