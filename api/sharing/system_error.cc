#include "api/sharing/system_error.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"

namespace twinmmu {

absl::Status SystemError(absl::string_view what, int error) {
  char words[128];
  std::string text = absl::StrCat(what, ": ", strerror_r(error, words, sizeof(words)));
  switch (error) {
    case EMFILE: {
      rlimit limit = {};
      getrlimit(RLIMIT_NOFILE, &limit);
      absl::StrAppend(&text, ". This process may have ", limit.rlim_cur, " (RLIMIT_NOFILE)");
      return absl::ResourceExhaustedError(text);
    }
    case ETOOMANYREFS:
      absl::StrAppend(&text, ". This user has too many descriptors under way in sockets");
      return absl::ResourceExhaustedError(text);
    case ENFILE:
    case ENOMEM:
    case ENOBUFS:
      return absl::ResourceExhaustedError(text);
    default:
      return absl::InternalError(text);
  }
}

}  // namespace twinmmu
