// Files that another process has open, and has no name for.

#ifndef TWINMMU_SIM_HOST_FOREIGN_FILE_H_
#define TWINMMU_SIM_HOST_FOREIGN_FILE_H_

#include <sys/types.h>

#include <array>
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

// Names a file that a process has open for others of this host, with two words that its maker adds.
// It is checked for damage and not for truth, and keeps nothing.
using FileName = std::array<char, 64>;
// `mark`: what kind of file it is.
FileName NameFile(uint64_t mark, const FileIdentity& identity, int descriptor,
                  const std::array<uint64_t, 2>& words = {});

struct NamedFile {
  OwnedDescriptor file;
  FileIdentity identity;
  std::array<uint64_t, 2> words;
};
// The file may still be any: whoever made the name up may have named it. FailedPrecondition: it is
// of this process. NotFound, ResourceExhausted: as above. InvalidArgument: it is no such name.
absl::StatusOr<NamedFile> OpenNamedFile(uint64_t mark, const FileName& name);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_HOST_FOREIGN_FILE_H_
