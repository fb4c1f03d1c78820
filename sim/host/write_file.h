// Text into files, without memory of the host.

#ifndef TWINMMU_SIM_HOST_WRITE_FILE_H_
#define TWINMMU_SIM_HOST_WRITE_FILE_H_

#include <csignal>

#include "absl/strings/string_view.h"

namespace twinmmu {

// While it lives, a file that may not grow and a pipe that nobody reads are errors of this thread's
// writes, and do not end the program.
class WritesWithoutSignals {
 public:
  WritesWithoutSignals();
  ~WritesWithoutSignals();
  WritesWithoutSignals(const WritesWithoutSignals&) = delete;
  WritesWithoutSignals& operator=(const WritesWithoutSignals&) = delete;

 private:
  sigset_t signals_;
  sigset_t mask_;
};

// By one call as far as the host allows, so that the lines of several processes do not mix. False:
// not all is written, and errno says why.
bool WriteAll(int file, absl::string_view text);

// In place of what stands there, without signals. False: as WriteAll; where the file cannot be
// opened, it is as it was.
bool WriteFile(const char* path, absl::string_view text);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_HOST_WRITE_FILE_H_
