#include "sim/ptx/text/isa.h"

#include <algorithm>
#include <iterator>

#include "absl/container/btree_set.h"

namespace twinmmu::ptx {
namespace {

constexpr absl::string_view kInstructions[] = {
    "abs",          "activemask",    "add",       "addc",       "alloca",
    "and",          "applypriority", "atom",      "bar",        "barrier",
    "bfe",          "bfi",           "bfind",     "bmsk",       "bra",
    "brev",         "brkpt",         "brx",       "call",       "clusterlaunchcontrol",
    "clz",          "cnot",          "copysign",  "cos",        "cp",
    "createpolicy", "cvt",           "cvta",      "discard",    "div",
    "dp2a",         "dp4a",          "elect",     "ex2",        "exit",
    "fence",        "fma",           "fns",       "getctarank", "griddepcontrol",
    "isspacep",     "istypep",       "ld",        "ldmatrix",   "ldu",
    "lg2",          "lop3",          "mad",       "mad24",      "madc",
    "mapa",         "match",         "max",       "mbarrier",   "membar",
    "min",          "mma",           "mov",       "movmatrix",  "mul",
    "mul24",        "multimem",      "nanosleep", "neg",        "not",
    "or",           "pmevent",       "popc",      "prefetch",   "prefetchu",
    "prmt",         "rcp",           "red",       "redux",      "rem",
    "ret",          "rsqrt",         "sad",       "selp",       "set",
    "setmaxnreg",   "setp",          "shf",       "shfl",       "shl",
    "shr",          "sin",           "slct",      "sqrt",       "st",
    "stackrestore", "stacksave",     "stmatrix",  "sub",        "subc",
    "suld",         "suq",           "sured",     "sust",       "szext",
    "tanh",         "tcgen05",       "tensormap", "testp",      "tex",
    "tld4",         "trap",          "txq",       "vabsdiff",   "vabsdiff2",
    "vabsdiff4",    "vadd",          "vadd2",     "vadd4",      "vavrg2",
    "vavrg4",       "vmad",          "vmax",      "vmax2",      "vmax4",
    "vmin",         "vmin2",         "vmin4",     "vote",       "vset",
    "vset2",        "vset4",         "vshl",      "vshr",       "vsub",
    "vsub2",        "vsub4",         "wgmma",     "wmma",       "xor"};

struct Target {
  int capability;
  int version;
};
// Up to sm_90 as an H200 takes them. It takes sm_10 to sm_13 too, which flush subnormal floats
// unasked.
constexpr Target kTargets[] = {
    {20, 20}, {21, 20}, {30, 30}, {32, 40},  {35, 30},  {37, 41},  {50, 40},  {52, 41},  {53, 42},
    {60, 50}, {61, 50}, {62, 50}, {70, 60},  {72, 61},  {75, 63},  {80, 70},  {86, 71},  {87, 74},
    {88, 90}, {89, 78}, {90, 78}, {100, 86}, {101, 86}, {103, 88}, {110, 90}, {120, 87}, {121, 88}};

}  // namespace

bool IsInstruction(absl::string_view name) {
  static const auto* const kNames =
      new absl::btree_set<absl::string_view>(std::begin(kInstructions), std::end(kInstructions));
  return kNames->contains(name);
}

int FirstVersionOf(int capability, char alone) {
  constexpr int kFirstFamilies = 88;
  if (alone == 'f' && capability < 100) return 0;
  if (alone == 'a' && capability == 90) return 80;
  for (const Target& target : kTargets) {
    if (target.capability != capability) continue;
    return alone == 'f' ? std::max(target.version, kFirstFamilies) : target.version;
  }
  return 0;
}

}  // namespace twinmmu::ptx
