// Host: the machine that `twinmmu doctor` examines, as far as it asks. Tests make one of their own.

#ifndef TWINMMU_TOOLS_DOCTOR_HOST_H_
#define TWINMMU_TOOLS_DOCTOR_HOST_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace twinmmu {

// What a driver says of itself.
struct DriverFacts {
  std::string library;
  int version = 0;  // 13000
  int functions = 0;
  int functions_found = 0;  // of those that TwinMMU uses
  absl::Status usable;      // whether it can be initialised
  std::vector<std::string> devices;
};

struct Host {
  std::string root;  // before each path; empty: the machine itself
  std::function<std::string(const char* name)> variable;
  // Limits of this process; none: unlimited.
  std::optional<uint64_t> address_space;
  std::optional<uint64_t> locked_memory;
  // Of the file system that holds a path.
  std::function<uint64_t(const std::string& path)> free_bytes;
  std::function<bool(const std::string& path)> allows_code;
  // Each tries what TwinMMU will do.
  std::function<absl::Status()> simulate;         // make a simulated machine
  std::function<absl::Status()> load_library;     // place the simulated driver in memory
  std::function<absl::Status()> take_descriptor;  // from another process, by pidfd_getfd
  // FailedPrecondition: there is no such library.
  std::function<absl::StatusOr<DriverFacts>()> driver;

  std::string Path(const std::string& path) const { return root + path; }
  bool Exists(const std::string& path) const;
  bool CanReadAndWrite(const std::string& path) const;
  // The names in a folder, in order; none where it cannot be read.
  std::vector<std::string> List(const std::string& folder) const;
  std::string FirstLine(const std::string& path) const;
  // Where a program is in $PATH or in one of `folders`; empty: nowhere.
  std::string FindProgram(const std::string& name, const std::vector<std::string>& folders) const;
};

// This machine. `driver_library`: as of --driver.
Host ThisHost(const std::string& driver_library);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_DOCTOR_HOST_H_
