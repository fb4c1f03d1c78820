// Litmus tests as text: JSON Lines, one test a line.
//
//   {"name": "CoWR", "locations": {"x": {"init": 0, "aliases": ["x", "y"]}},
//    "threads": [["st.weak x, 1", "ld.weak r0, y"]], "layout": [{"cta": 0, "gpu": 0}],
//    "assert": {"kind": "exists", "cond": "P0:r0 == 0"}, "verdict": "allowed", "hazard": ["alias"]}
//
// docs/reference/litmus.md has the whole format.

#ifndef TWINMMU_SIM_COHERENCE_LITMUS_LITMUS_H_
#define TWINMMU_SIM_COHERENCE_LITMUS_LITMUS_H_

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/files/read_file.h"
#include "sim/coherence/litmus/condition.h"
#include "sim/coherence/model/litmus_program.h"

namespace twinmmu::coherence {

enum class Verdict { kForbidden, kAllowed };
const char* NameOf(Verdict verdict);

struct LitmusTest {
  std::string name;
  Program program;
  Condition weak;    // the outcome that is asked about: of forall, that it does not hold
  std::string text;  // of the assertion, as written
  std::vector<Observable> observables;  // of it, and every register

  std::optional<Verdict> verdict;
  std::optional<Verdict> strict_verdict;  // with MulticastMode::kStrict, where that differs
  // The verdict comes from the note ("use forbidden"), not from the field of that name.
  bool verdict_from_note = false;
  std::optional<std::set<Hazard>> hazards;
  // Exactly these races: pairs of instructions, the one of the earlier thread first, each by thread
  // and index as written.
  using Spot = std::pair<int, int>;
  std::optional<std::set<std::pair<Spot, Spot>>> races;
  std::string note;

  bool host = false;       // its threads are tasks of streams
  bool multicast = false;  // never on hardware
  bool runnable = true;    // "ptx_runnable"
};

// One line. `test`: InvalidArgument or Unimplemented says what is wrong with it.
struct LitmusLine {
  int line = 0;
  std::string name;  // as far as known
  absl::StatusOr<LitmusTest> test;
};

// The next line but empty ones and those that begin with # or //; nullopt: there is none. An error
// is that of LineReader.
absl::StatusOr<std::optional<LitmusLine>> NextLitmus(LineReader& lines);
// All of them, to the end of the file or an error.
std::vector<LitmusLine> AllLitmus(LineReader& lines);
absl::StatusOr<LitmusTest> ParseLitmus(absl::string_view json);

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_LITMUS_LITMUS_H_
