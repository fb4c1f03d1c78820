// An operator new that fails when a test says so. For a test of one thread that is linked with
// failing_new.cc.

#ifndef TWINMMU_SIM_TESTING_FAILING_NEW_H_
#define TWINMMU_SIM_TESTING_FAILING_NEW_H_

#include <cstddef>

namespace twinmmu {

// Whether operator new of this program fails.
extern bool no_memory;
// What it has given, and has not back.
extern size_t live_bytes;

}  // namespace twinmmu

#endif  // TWINMMU_SIM_TESTING_FAILING_NEW_H_
