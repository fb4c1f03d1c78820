// The suite on a machine that nobody recorded: it keeps to the documentation, and is held to what
// the reference driver does. With --strict a difference is a failure.

#include <string>

#include "conformance/instances/sim_target.h"
#include "conformance/runner.h"

int main(int argc, char** argv) {
  using twinmmu::conformance::Target;
  twinmmu::conformance::TargetFactory factory =
      twinmmu::conformance::SimTarget("new", *twinmmu::Profile::Named("strict"));
  factory.open = [open = factory.open]() -> absl::StatusOr<Target> {
    absl::StatusOr<Target> target = open();
    if (!target.ok()) return target.status();
    target->traits.deviations = twinmmu::conformance::ReferenceDeviations();
    target->traits.recorded = false;
    return target;
  };
  twinmmu::conformance::RunOptions options;
  options.filter = "*UNMAP_1_*:*UNMAP_8_*:*UNMAP_9_*";
  options.strict_reference = argc > 1 && argv[1] == std::string("--strict");
  return twinmmu::conformance::RunConformance(argc, argv, {factory}, options);
}
