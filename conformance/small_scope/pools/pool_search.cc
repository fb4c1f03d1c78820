#include "conformance/small_scope/pools/pool_search.h"

#include <cstddef>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "conformance/small_scope/breadth_first.h"

namespace twinmmu::conformance::small_scope {
namespace {

std::string InWords(const PoolAnswer& answer) {
  const auto code = static_cast<int>(answer.code);
  return answer.cell < 0 ? absl::StrCat("code ", code)
                         : absl::StrCat("code ", code, ", cell ", answer.cell);
}

class PoolSearcher {
 public:
  PoolSearcher(PoolMachine* machine, const PoolRules& rules,
               const std::function<void(const PoolFigures&)>& reached)
      : machine_(*machine), rules_(rules), reached_(reached), steps_(PoolSteps()), model_(rules) {}

  PoolFigures Run(int length) {
    figures_.complete = SearchBreadthFirst(*this, static_cast<size_t>(length));
    End();
    return figures_;
  }

  // --- Of a machine in breadth_first.h
  size_t calls() const { return steps_.size(); }
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

  bool IsOffered(size_t step) {
    if (model_.IsInView()) return model_.IsOffered(steps_[step]);
    figures_.out_of_view += step == 0;  // once in each state
    return false;
  }
  bool Make(size_t step) {
    ++figures_.transitions;
    return Make(steps_[step]) && Passes(machine_.Compare(model_));
  }
  std::string Shape() const { return model_.Shape(); }
  void Reached(uint64_t states) {
    figures_.states.push_back(states);
    if (reached_ != nullptr) reached_(figures_);
  }

 private:
  bool differs() const { return !figures_.difference.empty(); }

  bool End() { return !begun_ || Passes(machine_.End()); }

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
  const std::function<void(const PoolFigures&)>& reached_;
  const std::vector<PoolStep> steps_;
  PoolModel model_;
  bool begun_ = false;
  std::vector<std::string> made_;
  PoolFigures figures_;
};

}  // namespace

uint64_t PoolFigures::all_states() const {
  return std::accumulate(states.begin(), states.end(), uint64_t{0});
}

PoolFigures SearchPools(PoolMachine* machine, const PoolRules& rules, int length,
                        const std::function<void(const PoolFigures&)>& reached) {
  return PoolSearcher(machine, rules, reached).Run(length);
}

}  // namespace twinmmu::conformance::small_scope
