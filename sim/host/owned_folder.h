// OwnedFolder: a temporary folder that does not outlive its owner for long, however that one ends.

#ifndef TWINMMU_SIM_HOST_OWNED_FOLDER_H_
#define TWINMMU_SIM_HOST_OWNED_FOLDER_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace twinmmu {

// The destructor removes it with all that is in it, in the process that made it. Where there was no
// time for that, RemoveAbandonedFolders does it, for whoever comes next: a lock of the kernel on
// the folder tells whether its owner is there, because it goes with the process, is no number that
// another process may get, and holds in all containers that see the folder.
class OwnedFolder {
 public:
  // In the folder `place`. ResourceExhausted: the host does not give one; the message says why.
  static absl::StatusOr<std::unique_ptr<OwnedFolder>> Make(absl::string_view place);
  ~OwnedFolder();
  OwnedFolder(const OwnedFolder&) = delete;
  OwnedFolder& operator=(const OwnedFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  OwnedFolder(std::string path, int lock);

  const std::string path_;
  const int lock_;
  const pid_t owner_;
};

// Removes the folders of Make in `place` that are this user's and whose owner is gone. What cannot
// be removed stays.
void RemoveAbandonedFolders(const std::string& place);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_HOST_OWNED_FOLDER_H_
