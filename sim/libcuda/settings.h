// Settings: what the environment says about the simulated driver. docs/guide/libcuda.md has the
// list.

#ifndef TWINMMU_SIM_LIBCUDA_SETTINGS_H_
#define TWINMMU_SIM_LIBCUDA_SETTINGS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/driver_error.h"
#include "sim/profile/profile.h"

namespace twinmmu::libcuda {

// A variable that has a meaning.
struct Variable {
  const char* name;     // "TWINMMU_DEVICES"
  const char* what;     // it sets, in a sentence
  const char* example;  // a value
};
std::vector<Variable> AllVariables();

struct Settings {
  Profile profile;                         // valid; with the budget of memory, and all else, in it
  DriverCode init = DriverCode::kSuccess;  // what cuInit answers, if that is an error
  std::string failures;                    // rules for Injector; empty: none
  std::string report_file;                 // written when the process ends; empty: no report
  std::string run_folder;             // of `twinmmu run`, which reads the report; empty: no tool
  std::string record_folder;          // where events are written as they happen; empty: nowhere
  size_t stack_depth = 1;             // of events
  std::vector<std::string> warnings;  // in words: variables TWINMMU_... that have no meaning
};

// `environment`: as the variable environ of the C library. `machine`: where no variable names one.
// InvalidArgument: a value is wrong; the message names the variable and the value, and says what it
// can be. Rules for failures are not looked at here.
absl::StatusOr<Settings> ReadSettings(const char* const* environment,
                                      const Profile& machine = Profile::ReferenceH200(2));

// The value of one variable, "" if it is not there: for what must be known whatever the others say.
std::string ValueOf(const char* const* environment, absl::string_view variable);
inline constexpr char kRunFolderVariable[] = "TWINMMU_RUN_FOLDER";

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_SETTINGS_H_
