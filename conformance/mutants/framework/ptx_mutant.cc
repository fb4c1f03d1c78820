#include "conformance/mutants/framework/ptx_mutant.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/substitute.h"

namespace twinmmu::conformance {
namespace {

// True: `line` has the form, and `stars` are what its stars stand for.
bool HasForm(absl::string_view line, const std::vector<absl::string_view>& form,
             std::vector<absl::string_view>* stars) {
  if (!absl::StartsWith(line, form[0])) return false;
  stars->clear();
  line.remove_prefix(form[0].size());
  for (size_t i = 1; i < form.size(); ++i) {
    const size_t end = line.find(form[i]);
    if (end == absl::string_view::npos) return false;
    stars->push_back(line.substr(0, end));
    line.remove_prefix(end + form[i].size());
  }
  return line.empty();
}

}  // namespace

std::string WithInstead(absl::string_view ptx, absl::string_view instruction,
                        absl::string_view instead) {
  const std::vector<absl::string_view> form = absl::StrSplit(instruction, '*');
  std::vector<absl::string_view> stars;
  std::vector<std::string> lines = absl::StrSplit(ptx, '\n');
  for (std::string& line : lines) {
    line = absl::StrJoin(absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty()), " ");
    if (!HasForm(line, form, &stars)) continue;
    stars.resize(4);
    line = absl::Substitute(instead, stars[0], stars[1], stars[2], stars[3]);
  }
  return absl::StrJoin(lines, "\n");
}

CALL_OF(PtxMutant, LoadModule) {
  const auto mutated = Real::LoadModule(device, WithInstead(ptx, instruction_, instead_));
  return mutated.ok() ? mutated : Real::LoadModule(device, ptx);
}

}  // namespace twinmmu::conformance
