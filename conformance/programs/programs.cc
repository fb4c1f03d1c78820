// A deviation without a program does not link: "undefined reference to
// twinmmu::conformance::programs::kSomething()" means that deviations.inc has it and no
// DEVIATION_PROGRAM does.

#include "conformance/programs/programs.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "conformance/programs/deviation_program.h"

namespace twinmmu::conformance {

namespace programs {
#define TWINMMU_DEVIATION(id, rule, quirk, sentence) ProgramBody id();
#include "api/deviations.inc"
#undef TWINMMU_DEVIATION
}  // namespace programs

namespace {

// The build wraps each file of programs in a raw string literal.
constexpr absl::string_view kSources[] = {
#include "conformance/programs/access.inc"
    ,
#include "conformance/programs/allocations.inc"
    ,
#include "conformance/programs/mappings.inc"
    ,
#include "conformance/programs/others.inc"
    ,
#include "conformance/programs/reservations.inc"
};

// What stands between the braces, without its indentation. Empty: there is no such program.
std::string TextOf(absl::string_view name) {
  const std::string head = absl::StrCat("DEVIATION_PROGRAM(", name, ",");
  for (absl::string_view source : kSources) {
    const size_t begin = source.find(head);
    if (begin == absl::string_view::npos) continue;
    source.remove_prefix(source.find(" {\n", begin) + 3);
    std::string text;
    for (absl::string_view line : absl::StrSplit(source.substr(0, source.find("\n}\n")), '\n')) {
      absl::StrAppend(&text, absl::StripPrefix(line, "  "), "\n");
    }
    return text;
  }
  return "";
}

}  // namespace

absl::Span<const DeviationProgram> AllPrograms() {
  static const auto* const all = [] {
    auto* const programs = new std::vector<DeviationProgram>;
    const auto add = [programs](Deviation deviation, const char* name, const ProgramBody& body) {
      programs->push_back({deviation, body.by_rule, body.deviating, TextOf(name), body.run});
    };
#define TWINMMU_DEVIATION(id, rule, quirk, sentence) add(Deviation::id, #id, programs::id());
#include "api/deviations.inc"
#undef TWINMMU_DEVIATION
    return programs;
  }();
  return *all;
}

absl::StatusOr<std::string> RunProgram(const DeviationProgram& program, Driver& driver) {
  const absl::StatusOr<Vmm*> vmm = driver.vmm();
  if (!vmm.ok()) return vmm.status();
  const absl::StatusOr<Executor*> executor = driver.executor();
  if (!executor.ok()) return executor.status();
  const absl::StatusOr<Bytes> granule =
      (*vmm)->GetAllocationGranularity(AllocationProperties(), Granularity::kMinimum);
  if (!granule.ok()) return granule.status();
  try {
    return program.run(**vmm, **executor, *granule);
  } catch (const absl::BadStatusOrAccess& failed) {
    return failed.status();
  }
}

}  // namespace twinmmu::conformance
