#include "api/testing/matchers.h"

#include <optional>
#include <sstream>
#include <string>

namespace twinmmu::testing_internal {

std::string Describe(const absl::Status& status) {
  if (status.ok()) return "OK";
  std::ostringstream text;
  text << status.ToString();  // without the places that newer Abseil adds
  const std::optional<DriverError> error = GetDriverError(status);
  if (error.has_value()) {
    text << " {" << error->origin << ": " << error->call << " gave " << error->code << "}";
  }
  return text.str();
}

}  // namespace twinmmu::testing_internal
