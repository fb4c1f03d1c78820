#include "conformance/small_scope/pools/pool_search.h"

#include <cstddef>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace twinmmu::conformance::small_scope {
namespace {

using Path = std::vector<uint8_t>;  // numbers of steps

std::string InWords(const PoolAnswer& answer) {
  const auto code = static_cast<int>(answer.code);
  return answer.cell < 0 ? absl::StrCat("code ", code)
                         : absl::StrCat("code ", code, ", cell ", answer.cell);
}

class PoolSearcher {
 public:
  PoolSearcher(PoolMachine* machine, const PoolRules& rules)
      : machine_(*machine), rules_(rules), steps_(PoolSteps()), model_(rules) {}

  PoolFigures Run(int length, const std::function<void(const PoolFigures&)>& reached) {
    seen_.insert(model_.Shape());
    std::vector<Path> border = {{}};
    for (int made = 0; !border.empty() && !differs(); ++made) {
      figures_.states.push_back(border.size());
      next_.clear();
      for (const Path& path : border) {
        if (made == length || !Expand(path)) break;
      }
      if (reached != nullptr) reached(figures_);
      if (made == length) break;
      border.swap(next_);
    }
    figures_.complete = border.empty() && !differs();
    End();
    return figures_;
  }

 private:
  bool differs() const { return !figures_.difference.empty(); }

  bool End() { return !begun_ || Passes(machine_.End()); }

  // Brings the machine to a state.
  bool Replay(const Path& path) {
    if (!End()) return false;
    begun_ = true;
    made_.clear();
    model_ = PoolModel(rules_);
    machine_.Begin(rules_);
    for (const uint8_t number : path) {
      if (!Make(steps_[number])) return false;
    }
    return true;
  }

  // Makes every step in the state at the end of `path`. What changes nothing leaves the machine
  // there for the next step.
  bool Expand(const Path& path) {
    if (!Replay(path)) return false;
    if (!model_.IsInView()) {
      ++figures_.out_of_view;
      return true;
    }
    const std::string before = model_.Shape();
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (!model_.IsOffered(steps_[i])) continue;
      ++figures_.transitions;
      if (!Make(steps_[i]) || !Passes(machine_.Compare(model_))) return false;
      std::string after = model_.Shape();
      if (after == before) continue;
      if (seen_.insert(std::move(after)).second) {
        next_.push_back(path);
        next_.back().push_back(static_cast<uint8_t>(i));
      }
      if (!Replay(path)) return false;
    }
    return true;
  }

  bool Make(const PoolStep& step) {
    made_.push_back(Print(step));
    const PoolAnswer expected = model_.Do(step);
    const PoolAnswer answer = machine_.Do(step);
    if (answer.code != DriverCode::kSuccess) ++figures_.refused;
    if (answer == expected) return true;
    return Passes(absl::StrCat(InWords(expected), " expected, but it is ", InWords(answer), "\n"));
  }

  bool Passes(const std::string& wrong) {
    if (wrong.empty()) return true;
    if (!differs()) figures_.difference = absl::StrCat(absl::StrJoin(made_, "\n"), ":\n", wrong);
    return false;
  }

  PoolMachine& machine_;
  const PoolRules rules_;
  const std::vector<PoolStep> steps_;
  PoolModel model_;
  bool begun_ = false;
  std::vector<std::string> made_;
  std::unordered_set<std::string> seen_;
  std::vector<Path> next_;
  PoolFigures figures_;
};

}  // namespace

uint64_t PoolFigures::all_states() const {
  return std::accumulate(states.begin(), states.end(), uint64_t{0});
}

PoolFigures SearchPools(PoolMachine* machine, const PoolRules& rules, int length,
                        const std::function<void(const PoolFigures&)>& reached) {
  return PoolSearcher(machine, rules).Run(length, reached);
}

}  // namespace twinmmu::conformance::small_scope
