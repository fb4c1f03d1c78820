// Ties the rule catalogue to its tests at link time.

#ifndef TWINMMU_CONFORMANCE_CATALOGUE_H_
#define TWINMMU_CONFORMANCE_CATALOGUE_H_

namespace twinmmu::conformance {

// The number of rules that have a test: all of them, or the program would not have linked.
int CountTestedRules();

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_CATALOGUE_H_
