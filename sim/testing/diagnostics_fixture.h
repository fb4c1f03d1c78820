// DiagnosticsTest: the fixture of tests of what the simulator says of misuse.

#ifndef TWINMMU_SIM_TESTING_DIAGNOSTICS_FIXTURE_H_
#define TWINMMU_SIM_TESTING_DIAGNOSTICS_FIXTURE_H_

#include <string>
#include <vector>

#include "api/diagnostics.h"
#include "api/testing/diagnostic_matchers.h"
#include "sim/testing/test_machine.h"

namespace twinmmu {

class DiagnosticsTest : public MachineTest {
 protected:
  using MachineTest::MachineTest;

  std::vector<Diagnostic> Noticed() const { return simulator_->diagnostics(); }
  // The only diagnostic so far.
  Diagnostic Only() const {
    const std::vector<Diagnostic> all = Noticed();
    EXPECT_THAT(all, ::testing::SizeIs(1));
    return all.size() == 1 ? all[0] : Diagnostic();
  }
  AddressRange Granule(const AddressRange& range, uint64_t index) const {
    return At(range.base + index * kGranule, kGranule);
  }
};

// Keeps to the documentation: what the driver lets pass is refused.
class StrictDiagnosticsTest : public DiagnosticsTest {
 protected:
  StrictDiagnosticsTest() : DiagnosticsTest(*Profile::Named("strict")) {}
};

// Matchers of diagnostics, in few words.
template <typename Entries>
auto History(const Entries& entries) {
  return DiagnosticHistoryIs(entries);
}
template <typename Number>
auto Entry(Number number, const std::string& words) {
  return HistoryEntryIs(number, ::testing::HasSubstr(words));
}
inline auto Says(const std::string& words) {
  return DiagnosticMessageIs(::testing::HasSubstr(words));
}

}  // namespace twinmmu

#endif  // TWINMMU_SIM_TESTING_DIAGNOSTICS_FIXTURE_H_
