// Video instructions on parts of words: vadd2, vabsdiff4 and their like, without selectors.

#include <cstdint>

#include "sim/ptx/decode/decode.h"
#include "sim/ptx/operations/video_operations.h"

namespace twinmmu::ptx {

// vadd4.s32.u32.s32.sat d, a, b, c; vset4.s32.u32.lt.add d, a, b, c
void Decoder::Video() {
  absl::string_view name = instruction_->opcode;
  VideoForm form;
  form.parts = name.back() - '0';
  name.remove_suffix(1);
  form.accumulates = Take("add");
  form.saturates = Take("sat");
  const bool compares = name == "vset";
  if (compares) {
    const int test = TakeOneOf({"eq", "ne", "lt", "le", "gt", "ge"});
    if (test < 0 || form.saturates) return FailInvalid("there is no such comparison");
    form.kind = static_cast<VideoForm::Kind>(VideoForm::kEqual + test);
  } else {
    constexpr absl::string_view kNames[] = {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"};
    while (kNames[form.kind] != name) form.kind = static_cast<VideoForm::Kind>(form.kind + 1);
  }
  bool* const signs[] = {&form.signed_d, &form.signed_a, &form.signed_b};
  for (int i = compares ? 1 : 0; i < 3; ++i) {
    if (modifiers_.empty() || (modifiers_.front() != "s32" && modifiers_.front() != "u32")) {
      return FailInvalid("the types are .s32 and .u32");
    }
    *signs[i] = modifiers_.front() == "s32";
    modifiers_.erase(modifiers_.begin());
  }
  ExpectOperands(4, 4);
  if (!status_.ok()) return;
  const uint32_t a = Source(At(1), Type::kB32);
  const uint32_t b = Source(At(2), Type::kB32);
  const uint32_t c = Source(At(3), Type::kB32);
  const uint32_t to = Destination(At(0), Type::kB32);
  EmitCompute(FindVideo(), {to, a, b, c, Fixed(FixedSlot::kZero, 0, Encode(form), 4)});
}

}  // namespace twinmmu::ptx
