#include "tools/run/host_error.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace twinmmu {
namespace {

const char* LimitBehind(int error) {
  switch (error) {
    case EAGAIN:
      return " (ulimit -u: too many processes)";
    case EFBIG:
      return " (ulimit -f)";
    case EMFILE:
      return " (ulimit -n)";
    case ENOMEM:
      return " (ulimit -v, or the host has none left)";
    default:
      return "";
  }
}

}  // namespace

std::string HostErrorInWords(int error) {
  return absl::StrCat(std::strerror(error), LimitBehind(error));
}

}  // namespace twinmmu
