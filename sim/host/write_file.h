// Text into files, without memory of the host.

#ifndef TWINMMU_SIM_HOST_WRITE_FILE_H_
#define TWINMMU_SIM_HOST_WRITE_FILE_H_

#include "absl/strings/string_view.h"

namespace twinmmu {

// By one call as far as the host allows, so that the lines of several processes do not mix. False:
// not all is written, and errno says why.
bool WriteAll(int file, absl::string_view text);

// In place of what stands there. False: as WriteAll; where the file cannot be opened, it is as it
// was.
bool WriteFile(const char* path, absl::string_view text);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_HOST_WRITE_FILE_H_
