#include "conformance/small_scope/search.h"

#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "conformance/random/checker.h"
#include "conformance/random/print_sequence.h"
#include "conformance/random/random_call.h"
#include "conformance/small_scope/alphabet.h"
#include "conformance/small_scope/breadth_first.h"
#include "conformance/small_scope/words.h"

namespace twinmmu::conformance::small_scope {
namespace {

using random::Call;
using random::Checker;
using random::Difference;
using random::Step;

// An implementation with its model, and what both were told.
class Player {
 public:
  explicit Player(OpenSide open) : open_(std::move(open)) {}

  absl::Status Open() {
    checker_.reset();
    side_ = Side();
    absl::StatusOr<Side> side = open_();
    if (!side.ok()) return side.status();
    side_ = *std::move(side);
    noticed_by_this_ = 0;
    Renew();
    return absl::OkStatus();
  }

  const Checker& checker() const { return *checker_; }
  const std::string& name() const { return side_.name; }
  uint64_t noticed() const { return noticed_; }

  // Undoes everything, and begins with the anchor.
  std::optional<Difference> StartAnew() {
    std::optional<Difference> difference;
    if (!made_.empty()) difference = checker_->CleanUp();
    if (difference.has_value()) return difference;
    made_.clear();
    if (noticed_by_this_ < kNoticedByOne) {
      Renew();
    } else if (const absl::Status opened = Open(); !opened.ok()) {
      return Difference{std::string(opened.message()), {}};
    }
    return Do(ReserveAnchor());
  }
  std::optional<Difference> Do(const Call& call) {
    made_.push_back(call);
    Step step = checker_->Do(call);
    refused_ = step.expected.code != DriverCode::kSuccess;
    if (step.difference.empty()) return std::nullopt;
    return Difference{std::move(step.difference), {}};
  }
  std::optional<Difference> CheckState() { return checker_->CheckState(); }
  bool refused() const { return refused_; }

  // What it diagnosed since the last time, in full or only of what kind.
  std::vector<std::string> Noticed(bool in_full) {
    std::vector<std::string> words;
    for (const Diagnostic& diagnostic : side_.noticed()) {
      words.push_back(in_full ? WordsOf(diagnostic, OriginOf(*checker_)) : KindOf(diagnostic));
    }
    noticed_ += words.size();
    noticed_by_this_ += words.size();
    return words;
  }
  bool has_diagnostics() const { return side_.noticed != nullptr; }

  // A test that makes all calls since the start, as far as a new machine shows it.
  std::string Explain(const Difference& difference) {
    std::vector<Call> calls = made_;
    calls.insert(calls.end(), difference.questions.begin(), difference.questions.end());
    checker_->CleanUp();
    Renew();
    return absl::StrCat("  // ", name(), ": ", difference.what, "\n",
                        random::PrintTest(calls, *checker_));
  }

 private:
  void Renew() { checker_.emplace(side_.vmm, side_.executor, side_.parameters, false); }

  OpenSide open_;
  Side side_;
  std::optional<Checker> checker_;
  std::vector<Call> made_;
  bool refused_ = false;
  uint64_t noticed_ = 0;
  size_t noticed_by_this_ = 0;
};

// All implementations, side by side.
class Searcher {
 public:
  Searcher(const std::vector<OpenSide>& sides, const Limits& limits)
      : limits_(limits), alphabet_(Alphabet()) {
    for (const OpenSide& side : sides) players_.emplace_back(side);
  }

  absl::StatusOr<Figures> Run() {
    for (Player& player : players_) {
      const absl::Status opened = player.Open();
      if (!opened.ok()) return opened;
    }
    SearchBreadthFirst(*this, static_cast<size_t>(limits_.length));
    figures_.diagnostics = players_[0].noticed();
    return figures_;
  }

  // --- Of a machine in breadth_first.h
  size_t calls() const { return alphabet_.size(); }
  bool Replay(const Path& path) {
    for (Player& player : players_) {
      if (!Passes(player, player.StartAnew())) return false;
      for (const uint8_t number : path) {
        if (!Passes(player, player.Do(alphabet_[number]))) return false;
      }
      if (player.has_diagnostics()) player.Noticed(false);
    }
    return true;
  }

  bool IsOffered(size_t call) const {
    return small_scope::IsOffered(alphabet_[call], players_[0].checker());
  }
  bool Make(size_t call) {
    ++figures_.transitions;
    if (!MakeAndCompare(alphabet_[call])) return false;
    if (players_[0].refused()) ++figures_.refused;
    return true;
  }
  std::string Shape() const { return ShapeOf(players_[0].checker()); }
  void Reached(uint64_t states) {
    figures_.states.push_back(states);
    figures_.diagnostics = players_[0].noticed();
    if (limits_.reached != nullptr) limits_.reached(figures_);
  }

 private:
  bool MakeAndCompare(const Call& call) {
    for (Player& player : players_) {
      if (!Passes(player, player.Do(call))) return false;
    }
    if (!SameNoticed(true)) return false;
    for (Player& player : players_) {
      if (!Passes(player, player.CheckState())) return false;
    }
    return SameNoticed(false);
  }

  bool SameNoticed(bool in_full) {
    std::optional<std::vector<std::string>> first;
    for (Player& player : players_) {
      if (!player.has_diagnostics()) continue;
      std::vector<std::string> noticed = player.Noticed(in_full);
      if (!first.has_value()) {
        first = std::move(noticed);
      } else if (noticed != *first) {
        return Passes(player, Difference{Compared(*first, noticed), {}});
      }
    }
    return true;
  }

  bool Passes(Player& player, const std::optional<Difference>& difference) {
    if (difference.has_value()) figures_.difference = player.Explain(*difference);
    return !difference.has_value();
  }

  const Limits& limits_;
  const std::vector<Call> alphabet_;
  std::vector<Player> players_;
  Figures figures_;
};

}  // namespace

uint64_t Figures::all_states() const {
  return std::accumulate(states.begin(), states.end(), uint64_t{0});
}

absl::StatusOr<Figures> Search(const std::vector<OpenSide>& sides, const Limits& limits) {
  return Searcher(sides, limits).Run();
}

}  // namespace twinmmu::conformance::small_scope
