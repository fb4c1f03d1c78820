// Trials: runs tests of the suite on many implementations, most of them wrong, and remembers how
// each test went. A test that fails is no failure of the program: the caller judges.

#ifndef TWINMMU_CONFORMANCE_MUTANTS_FRAMEWORK_TRIALS_H_
#define TWINMMU_CONFORMANCE_MUTANTS_FRAMEWORK_TRIALS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conformance/framework/registry.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {

// How a test went.
struct Outcome {
  bool failed = false;
  // It did not test its rule here: it was skipped, or asserted only that this is not supported.
  bool not_applicable = false;
  std::string failure;  // the first one's message
};

class Trials {
 public:
  // argc and argv are those of main(), as they came; see RunConformance.
  Trials(int* argc, char** argv);

  // Each test gets a machine of its own, so that none is disturbed by what another one broke.
  // `suite` is a name for GoogleTest, of letters, digits, "_" and "/".
  void Add(const std::string& suite, const TargetFactory& factory, const std::vector<Case>& cases);

  // A child that was started for one test runs it here, and ends.
  void Run();

  // The tests of a suite that were run, by name.
  const std::map<std::string, Outcome>& Of(const std::string& suite) const;

 private:
  class Witness;

  std::map<std::string, std::unique_ptr<TargetUnderTest>> targets_;
  std::map<std::string, std::map<std::string, Outcome>> outcomes_;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_MUTANTS_FRAMEWORK_TRIALS_H_
