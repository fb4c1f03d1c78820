// Files that another process has open, and has no name for.

#ifndef TWINMMU_SIM_HOST_FOREIGN_FILE_H_
#define TWINMMU_SIM_HOST_FOREIGN_FILE_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "api/sharing/owned_descriptor.h"
#include "sim/host/backing.h"

namespace twinmmu {

// Where the number of this process is good: its namespace; 0 if the host does not say.
uint64_t ProcessNamespace();

// A descriptor of the file `identity`, which that process had open under that number. What the
// number leads to by now may be anything: it is opened only once it is known to be that file.
// NotFound: it is not, or the host does not allow it. ResourceExhausted: the host refused.
absl::StatusOr<OwnedDescriptor> OpenForeignFile(pid_t process, int descriptor,
                                                const FileIdentity& identity);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_HOST_FOREIGN_FILE_H_
