#include "conformance/framework/target.h"

namespace twinmmu::conformance {

std::set<Deviation> ReferenceDeviations() {
  std::set<Deviation> all;
  for (const DeviationInfo& info : AllDeviations()) all.insert(info.deviation);
  return all;
}

}  // namespace twinmmu::conformance
