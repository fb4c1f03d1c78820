// What tests of allocators run on: every implementation that an instance binds.

#ifndef TWINMMU_CONFORMANCE_ALLOCATORS_IMPLEMENTATIONS_H_
#define TWINMMU_CONFORMANCE_ALLOCATORS_IMPLEMENTATIONS_H_

#include <functional>
#include <ostream>
#include <vector>

#include "api/diagnostics.h"
#include "api/driver.h"
#include "conformance/framework/target.h"

namespace twinmmu::conformance {

struct Implementation {
  // Opened anew for each test.
  TargetFactory target;
  // What the implementation itself noticed so far: misuse, and what would be left if this were the
  // end. Gets the driver that `target` opened. Null: it notices nothing.
  std::function<std::vector<Diagnostic>(Driver&)> diagnostics;

  // How GoogleTest names it in a failure.
  friend std::ostream& operator<<(std::ostream& out, const Implementation& implementation) {
    return out << implementation.target.name;
  }
};

// All that the tests of this binary run on. Defined once in it, by a file of
// conformance/instances.
std::vector<Implementation> Implementations();

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_ALLOCATORS_IMPLEMENTATIONS_H_
