// Random sequences through CheckedVmm on the simulator: after each call both have noticed the same.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "api/testing/checked_vmm.h"
#include "api/testing/matchers.h"
#include "conformance/instances/checked_words.h"
#include "conformance/instances/random/random_sim.h"
#include "conformance/random/checker.h"
#include "conformance/random/generator.h"
#include "conformance/random/print_sequence.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/simulator.h"

namespace twinmmu::conformance::random {
namespace {

using Kind = DiagnosticKind;

// What CheckedVmm cannot know.
bool IsOfVmm(const Diagnostic& diagnostic) {
  const Kind kind = diagnostic.kind;
  // It does not see who uses memory, and what can be created where is the machine's to know.
  const bool unseen = kind >= Kind::kUseAfterUnmap && kind < Kind::kLeakedReservation;
  // Where types that do not exist are refused, other arguments may be the reason.
  const bool refused_types =
      kind == Kind::kUnknownHandleTypes && diagnostic.severity == Severity::kError;
  return !unseen && !refused_types && kind != Kind::kGranularityOfImpossible;
}

// What a message cannot say: the size of what was imported, and the node that a wish for memory of
// the host became.
bool HasOtherWords(const Diagnostic& leak) {
  return leak.kind == Kind::kLeakedAllocation || leak.kind == Kind::kLeakedDescriptor;
}

class CheckedRandomTest : public testing::TestWithParam<const char*> {
 protected:
  CheckedRandomTest() : profile_(*Profile::Named(GetParam())) {}

  // A new machine, under a CheckedVmm.
  void Open() {
    checked_.reset();
    SimulatorOptions simulated;
    simulated.diagnostics_kept = kKept;
    simulated.calls_remembered = kRemembered;
    simulated.at_once = [this](Kind, const Diagnostic* diagnostic) {
      if (IsOfVmm(*diagnostic)) expected_.push_back(*diagnostic);
    };
    simulator_ = *Simulator::Create(profile_, simulated);
    CheckedVmmOptions checked;
    checked.diagnostics_kept = kKept;
    checked.calls_remembered = kRemembered;
    checked.refuse_undefined = false;  // so that both see all calls
    checked.at_once = [this](Kind, const Diagnostic* diagnostic) { found_.push_back(*diagnostic); };
    checked_ = std::make_unique<CheckedVmm>(*simulator_->vmm(), checked);
  }

  // Whether both have noticed the same since the last time.
  void Compare() {
    std::vector<std::string> expected;
    std::vector<std::string> found;
    for (const Diagnostic& diagnostic : expected_)
      expected.push_back(TextWithoutNumbers(diagnostic));
    for (const Diagnostic& diagnostic : found_) found.push_back(TextWithoutNumbers(diagnostic));
    EXPECT_EQ(found, expected);
    for (size_t i = 0; i < std::min(expected_.size(), found_.size()) && !HasFailure(); ++i) {
      CompareHistory(found_[i], expected_[i]);
    }
    noticed_ += found_.size();
    expected_.clear();
    found_.clear();
  }
  // A history has 16 entries, and what made the present state: up to two. The simulator needs some
  // of the 16 for what only it sees.
  static void CompareHistory(const Diagnostic& found, const Diagnostic& expected) {
    std::vector<std::string> ours = SentencesOf(found);
    std::vector<std::string> theirs = SentencesOf(expected);
    if (found.history.size() < 16 && expected.history.size() < 16) {
      EXPECT_EQ(CauseIn(found), CauseIn(expected));
    } else {
      const size_t both = std::min(ours.size(), theirs.size()) - 2;
      ours.erase(ours.begin(), ours.end() - static_cast<ptrdiff_t>(both));
      theirs.erase(theirs.begin(), theirs.end() - static_cast<ptrdiff_t>(both));
    }
    EXPECT_EQ(ours, theirs) << ToString(expected);
  }
  void CompareLeaks() const {
    const auto words = [](const std::vector<Diagnostic>& leaks) {
      std::vector<std::string> all;
      for (Diagnostic leak : leaks) {
        if (HasOtherWords(leak)) leak.message.clear();
        all.push_back(TextWithoutNumbers(leak));
      }
      return all;
    };
    EXPECT_THAT(words(checked_->leaks()),
                testing::UnorderedElementsAreArray(words(simulator_->leaks())));
  }
  // What is told of access is what the machine answers.
  void CompareAccess() {
    for (const CheckedMapping& mapping : checked_->mappings()) {
      for (int device = 0; device < profile_.device_count(); ++device) {
        const Location location = Location::Device(DeviceOrdinal(device));
        const auto found =
            std::find_if(mapping.grants.begin(), mapping.grants.end(),
                         [&](const AccessGrant& grant) { return grant.location == location; });
        EXPECT_THAT((*simulator_->vmm())->GetAccess(location, mapping.range().base),
                    IsOkAndHolds(found == mapping.grants.end() ? Access::kNone : found->access))
            << mapping;
      }
    }
  }

  // More than there are.
  static constexpr size_t kKept = 20000;
  static constexpr size_t kRemembered = 16384;
  const Profile profile_;
  std::vector<Diagnostic> expected_;
  std::vector<Diagnostic> found_;
  size_t noticed_ = 0;
  std::unique_ptr<Simulator> simulator_;
  std::unique_ptr<CheckedVmm> checked_;
};

TEST_P(CheckedRandomTest, NoticesWhatTheSimulatorDoes) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    Open();
    Checker checker(checked_.get(), *simulator_->executor(), ParametersOf(profile_), false);
    SeededChoices choices(seed);
    Generator generator(&choices, &checker);
    std::vector<Call> made;
    for (int i = 0; i < 150 && !HasFailure(); ++i) {
      made.push_back(generator.Next());
      const std::optional<Difference> difference = checker.DoAndCheck(made.back());
      ASSERT_FALSE(difference.has_value()) << difference->what;
      Compare();
      if (i % 10 == 0) CompareAccess();
      if (i % 10 == 0) CompareLeaks();
    }
    ASSERT_FALSE(HasFailure()) << "seed " << seed << ", call " << made.size() << "\n"
                               << PrintTest({made.back()}, checker);
    ASSERT_FALSE(checker.CleanUp().has_value());
    Compare();
    EXPECT_THAT(checked_->leaks(), testing::IsEmpty());
    EXPECT_THAT(checked_->mappings(), testing::IsEmpty());
  }
  EXPECT_GT(noticed_, 100u);
}

INSTANTIATE_TEST_SUITE_P(Profiles, CheckedRandomTest,
                         testing::Values("reference", "strict", "small-address-space",
                                         "granularities", "one-device", "no-peers"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace twinmmu::conformance::random
