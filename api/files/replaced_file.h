// ReplacedFile: a file that takes the place of another one only when it is whole.

#ifndef TWINMMU_API_FILES_REPLACED_FILE_H_
#define TWINMMU_API_FILES_REPLACED_FILE_H_

#include <memory>
#include <ostream>
#include <string>

#include "absl/status/status.h"

namespace twinmmu {

// Until Finish, what is written stands beside it, in a file of its own: a name that ends in
// ".part". Devices and pipes are written to at once, and so is a file whose folder takes no other.
//
//   ReplacedFile file("run.html");
//   file.stream() << page;
//   return file.Finish();
class ReplacedFile {
 public:
  explicit ReplacedFile(const std::string& path);
  // Without Finish, what was there stays.
  ~ReplacedFile();
  ReplacedFile(const ReplacedFile&) = delete;
  ReplacedFile& operator=(const ReplacedFile&) = delete;

  std::ostream& stream() { return stream_; }
  // ResourceExhausted: it cannot be written, so far; the message says which file, and why.
  absl::Status Check() const;
  absl::Status Finish();

 private:
  class Buffer;
  void Open();

  const std::string path_;
  std::string target_;  // what path_ leads to
  std::string part_;    // empty: it is written at once
  std::unique_ptr<Buffer> buffer_;
  std::ostream stream_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_FILES_REPLACED_FILE_H_
