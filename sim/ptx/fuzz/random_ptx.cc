#include "sim/ptx/fuzz/random_ptx.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "sim/ptx/fuzz/instruction_patterns.h"

namespace twinmmu::ptx {
namespace {

constexpr int kRegisters = 12;  // of each kind
constexpr int kLabels = 4;

constexpr absl::string_view kBegin = R"(
.address_size 64
.const .u32 constants[4] = {1, 2, 3, 4};
.extern .func (.param .b64 out) malloc (.param .b64 in);
.extern .func free (.param .b64 in);
.func helper { .reg .b32 %h; mov.u32 %h, 5; ret; }
.func (.param .b32 out) twice (.param .b32 in) {
  .reg .b32 %h; ld.param.b32 %h, [in]; add.u32 %h, %h, %h; st.param.b32 [out], %h; ret;
}
)";

constexpr absl::string_view kPrologue = R"(
  .reg .pred %p<12>; .reg .b16 %h<12>; .reg .b32 %r<12>; .reg .b64 %d<12>; .reg .b128 %q<12>;
  .reg .b32 %rs; .reg .b32 %rc; .reg .b32 %ro; .reg .b32 %rm; .reg .b64 %g; .reg .b64 %x<10>; .reg .b64 %rds; .reg .b64 %rdc;
  .reg .b64 %rdk; .reg .b64 %rdh;
  .shared .align 1024 .b8 s[8192]; .shared .align 8 .b64 m[4]; .local .align 16 .b8 l[256];
  ld.param.u64 %g, [p]; mov.u32 %rs, s; cvt.u64.u32 %rds, %rs; cvta.shared.u64 %rds, %rds;
  mov.u64 %rdk, 0; mov.u64 %rdh, 0; mov.u64 %rdc, %rds;
  mov.u32 %rc, s; mov.u32 %ro, m; mov.u32 %rm, m;
  mov.u64 %x0, 0; mov.u64 %x1, 1; mov.u64 %x2, 2; mov.u64 %x3, 3; mov.u64 %x4, 4; mov.u64 %x5, 5;
  mov.u64 %x6, 6; mov.u64 %x7, 7; mov.u64 %x8, 8; mov.u64 %x9, 9;
  mov.u32 %r0, %tid.x; mov.u32 %r1, %laneid; mov.u32 %r2, 0; mov.u32 %r3, 1; mov.u32 %r4, -1;
  mov.u32 %r5, 0x3f800000; mov.u32 %r6, 0x7fc00000; mov.u32 %r7, 0x80000000; mov.u32 %r8, 16;
  mov.u32 %r9, 0x3c003c00; mov.u32 %r10, %ctaid.x; mov.u32 %r11, 64;
  mov.u64 %d0, %g; mov.u64 %d1, 0; mov.u64 %d2, -1; mov.u64 %d3, 0x3ff0000000000000;
  mov.u64 %d4, 0x7ff8000000000000; mov.u64 %d5, %rds; mov.u64 %d6, 16; mov.u64 %d7, 1;
  mov.u64 %d8, 0x8000000000000000; mov.u64 %d9, 64; cvt.u64.u32 %d10, %r0; mov.u64 %d11, 0x4000004000010040;
  mov.b16 %h0, 0; mov.b16 %h1, 1; mov.b16 %h2, -1; mov.b16 %h3, 0x3c00; mov.b16 %h4, 3;
  mov.b16 %h5, 5; mov.b16 %h6, 6; mov.b16 %h7, 7; mov.b16 %h8, 8; mov.b16 %h9, 9;
  mov.b16 %h10, 10; mov.b16 %h11, 11;
  setp.eq.u32 %p0, %r0, 0; setp.ne.u32 %p1, %r0, 0; setp.eq.u32 %p2, %r2, 0;
  setp.ne.u32 %p3, %r2, 0; setp.lt.u32 %p4, %r0, 32; setp.lt.u32 %p5, %r1, 16;
)";

constexpr absl::string_view kBarriers = R"(
  mbarrier.init.shared.b64 [m], 1; mbarrier.init.shared.b64 [m+8], 128;
  mbarrier.init.shared.b64 [m+16], 1000; mbarrier.init.shared.b64 [m+24], 2;
  fence.proxy.async; bar.sync 0;
)";

class Writer {
 public:
  explicit Writer(Choices& choices) : choices_(choices) {}

  std::string Expand(absl::string_view pattern) {
    std::string text;
    for (size_t i = 0; i < pattern.size();) {
      if (pattern[i] == '<') {
        const size_t end = EndOf(pattern, i);
        absl::StrAppend(&text, Expand(OneOf(pattern.substr(i + 1, end - i - 1))));
        i = end + 1;
      } else if (pattern[i] == '$' && i + 1 < pattern.size()) {
        const bool counted =
            pattern[i + 1] == 'R' || pattern[i + 1] == 'H' || pattern[i + 1] == 'D';
        absl::StrAppend(&text, counted ? Vector(pattern[i + 1], pattern[i + 2] - '0')
                                       : Operand(pattern[i + 1]));
        i += counted ? 3 : 2;
      } else {
        text += pattern[i++];
      }
    }
    return text;
  }

 private:
  // Of the bracket that opens at `begin`.
  static size_t EndOf(absl::string_view pattern, size_t begin) {
    int depth = 0;
    for (size_t i = begin; i < pattern.size(); ++i) {
      depth += pattern[i] == '<' ? 1 : pattern[i] == '>' ? -1 : 0;
      if (depth == 0) return i;
    }
    return pattern.size();
  }
  absl::string_view OneOf(absl::string_view alternatives) {
    std::vector<absl::string_view> all;
    int depth = 0;
    size_t begin = 0;
    for (size_t i = 0; i <= alternatives.size(); ++i) {
      if (i == alternatives.size() || (alternatives[i] == '|' && depth == 0)) {
        all.push_back(alternatives.substr(begin, i - begin));
        begin = i + 1;
      } else {
        depth += alternatives[i] == '<' ? 1 : alternatives[i] == '>' ? -1 : 0;
      }
    }
    return all[choices_.Below(all.size())];
  }
  std::string Register(char kind) {
    return absl::StrCat("%", absl::string_view(&kind, 1), choices_.Below(kRegisters));
  }
  std::string Vector(char kind, int count) {
    const char of = kind == 'R' ? 'r' : kind == 'H' ? 'h' : 'd';
    std::string text = "{";
    for (int i = 0; i < count; ++i) absl::StrAppend(&text, i == 0 ? "" : ", ", Register(of));
    return text + "}";
  }
  // Mostly well aligned and inside.
  std::string Offset(uint32_t size, uint32_t step) {
    const uint32_t choice = choices_.Byte();
    if (choice == 255) return absl::StrCat("+", choices_.Below(65536));
    return absl::StrCat("+", choice % 8 * step % size);
  }
  std::string Operand(char kind) {
    switch (kind) {
      case 'i':
        return absl::StrCat(choices_.Below(65536) * (choices_.Byte() % 2 == 0 ? 1u : 65537u));
      case 'n':
        return absl::StrCat(choices_.Below(32));
      case 'b':
        return absl::StrCat(16 * (1 + choices_.Below(16)));
      case 'g':
        if (choices_.Byte() == 255) return absl::StrCat(Register('d'), Offset(4096, 128));
        return absl::StrCat("%g", Offset(4096, 128));
      case 't':
        return absl::StrCat("%g+", kRandomPtxMaps + choices_.Below(4) * 128);
      case '1':
      case '2':
      case '3': {
        const uint32_t map = kind == '1' ? 0 : kind == '3' ? 3 : 1 + choices_.Below(2);
        return absl::StrCat("%g+", kRandomPtxMaps + map * 128);
      }
      case '4':
        return absl::StrCat(choices_.Byte() == 255 ? 3 : choices_.Below(5) * 4);
      case 's':
        return absl::StrCat("s", Offset(4096, 128));
      case 'l':
        return absl::StrCat("l", Offset(256, 16));
      case 'c':
        return absl::StrCat("%rc", Offset(4096, 128));
      case 'm':
        return absl::StrCat("m", Offset(32, 8));
      case 'o':
        return absl::StrCat("%ro", Offset(32, 8));
      case 'k': {
        static constexpr absl::string_view kMasks[] = {"0xffff", "1", "%r4", "%r3"};
        const uint32_t choice = choices_.Byte();
        return std::string(choice % 8 == 0 ? kMasks[choice / 8 % 4] : "-1");
      }
      case 'x':
      case 'y': {
        if (choices_.Byte() % 16 == 0) return absl::StrCat("%x", choices_.Below(10));
        return absl::StrCat("%x",
                            choices_.Below(kRandomPtxTextures / 2) * 2 + (kind == 'x' ? 1 : 2));
      }
      case 'w':
        return choices_.Byte() % 16 == 0 ? Register('d') : std::string("%d11");
      case 'L':
        return absl::StrCat("L", choices_.Below(kLabels));
      default:
        return Register(kind);
    }
  }

  Choices& choices_;
};

// Takes away or doubles a word between points: most often, another instruction, or none.
std::string Spoiled(std::string line, Choices& choices) {
  const size_t at = choices.Below(line.size());
  const size_t begin = line.find('.', at);
  if (begin == std::string::npos) return line;
  const size_t end = line.find_first_of(". ", begin + 1);
  if (end == std::string::npos) return line;
  if (choices.Byte() % 2 == 0) return line.erase(begin, end - begin);
  return line.insert(begin, line.substr(begin, end - begin));
}

}  // namespace

std::string RandomPtx(Choices& choices) {
  const uint32_t form = choices.Byte();
  std::string text = absl::StrCat(".version 8.6\n.target sm_90a", kBegin,
                                  ".visible .entry k(.param .u64 p, .param .u32 other) ");
  if (form % 4 == 0) absl::StrAppend(&text, ".reqnctapercluster 2 ");
  absl::StrAppend(&text, "{", kPrologue);
  if (form / 4 % 16 != 0) absl::StrAppend(&text, kBarriers);
  const absl::Span<const absl::string_view> patterns = InstructionPatterns();
  Writer writer(choices);
  int labels = 0;
  while (!choices.over()) {
    if (labels < kLabels && choices.Byte() % 8 == 0) absl::StrAppend(&text, "L", labels++, ":\n");
    const uint32_t guard = choices.Byte();
    std::string line = writer.Expand(patterns[choices.Below(patterns.size())]);
    if (guard % 4 == 0 && line[0] != '{') line = absl::StrCat("@%p", guard / 4 % 6, " ", line);
    if (choices.Byte() == 255) line = Spoiled(line, choices);
    absl::StrAppend(&text, line, "\n");
  }
  while (labels < kLabels) absl::StrAppend(&text, "L", labels++, ":\n");
  absl::StrAppend(&text, "st.global.u32 [%g], %r0;\nret;\n}\n");
  return text;
}

}  // namespace twinmmu::ptx
