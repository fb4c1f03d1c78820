#include "tools/commands/each_backend.h"

#include <utility>

#include "tools/commands/failure.h"
#include "tools/commands/machines.h"

namespace twinmmu {

int OnEachBackend(const Options& options, const std::string& by_default,
                  const std::vector<std::string>& known, Screen& screen, const RunOnBackend& run) {
  const absl::StatusOr<std::vector<std::string>> backends =
      Backends(options.machine, by_default, known);
  if (!backends.ok()) return UsageError(backends.status());
  OrderedJson results = Results(options.command.c_str());
  results["backends"] = OrderedJson::array();
  int exit_code = 0;
  for (const std::string& name : *backends) {
    OrderedJson json = {{"backend", name}};
    const absl::StatusOr<int> code = run(name, json);
    if (!code.ok()) return UsageError(code.status());
    exit_code |= *code;
    results["backends"].push_back(std::move(json));
  }
  return screen.Finish(exit_code, results);
}

}  // namespace twinmmu
