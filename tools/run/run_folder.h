// RunFolders: what `twinmmu run` puts on the host for a program, and finds there when it has ended.

#ifndef TWINMMU_TOOLS_RUN_RUN_FOLDER_H_
#define TWINMMU_TOOLS_RUN_RUN_FOLDER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/host/owned_folder.h"
#include "sim/libcuda/report/report_reader.h"

namespace twinmmu {

// Two folders of its own, removed by the destructor: one with the driver's library, on a file
// system that allows code, and one for reports, in memory where there is such.
class RunFolders {
 public:
  // Removes what earlier runs left that were killed. ResourceExhausted: the host has no place for
  // the folders.
  static absl::StatusOr<std::unique_ptr<RunFolders>> Make();
  RunFolders(const RunFolders&) = delete;
  RunFolders& operator=(const RunFolders&) = delete;

  // The folder with libcuda.so.1 and libcuda.so.
  const std::string& library() const { return library_->path(); }
  const std::string& reports() const { return reports_; }
  // For what processes write as it happens; a folder on a disk, as far as there is one.
  const std::string& events() const { return events_; }
  // Of all processes that called the driver, by their numbers.
  std::vector<libcuda::ProcessReport> Read() const;

 private:
  RunFolders() = default;

  std::unique_ptr<OwnedFolder> library_;
  std::unique_ptr<OwnedFolder> shared_memory_;  // null: the reports are beside the library
  std::string reports_;
  std::string events_;
};

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_RUN_RUN_FOLDER_H_
