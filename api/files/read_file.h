// Reading files that somebody else has written: of any kind, of any size, damaged or made to harm.

#ifndef TWINMMU_API_FILES_READ_FILE_H_
#define TWINMMU_API_FILES_READ_FILE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/address.h"

namespace twinmmu {

// A descriptor to read it from, the caller's to close. A pipe to which nobody writes is empty; it
// is not waited for. NotFound: there is none that can be read, or it is a folder, a socket or a
// disk; the message says which file and why.
absl::StatusOr<int> OpenToRead(const std::string& path);

// All of it. As above; InvalidArgument: there is more than `most` of it.
absl::StatusOr<std::string> ReadFile(const std::string& path, Bytes most);

// The lines of a file, read and unpacked as they are needed. Messages begin with the file.
class LineReader {
 public:
  // Packed with Zstandard where the name ends in ".zst". NotFound: as OpenToRead.
  static absl::StatusOr<std::unique_ptr<LineReader>> Open(const std::string& path);
  // As if a file of that name held `content`.
  static std::unique_ptr<LineReader> Of(std::string name, std::string content);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // nullopt: that was the last one. InvalidArgument: the file is damaged, or more than limits.h
  // allows.
  absl::StatusOr<std::optional<std::string>> Next();
  // Of the line that was read last, from 1.
  uint64_t number() const { return number_; }
  const std::string& name() const { return name_; }

 private:
  class Unpacker;
  LineReader(std::string name, int file);
  absl::StatusOr<bool> Fill();
  absl::Status Wrong(absl::string_view what) const;

  const std::string name_;
  const int file_;                      // -1: all of it is in block_ from the start
  std::unique_ptr<Unpacker> unpacker_;  // null: it is not packed
  std::string block_;                   // as it stands in the file, not yet used
  std::string text_;
  size_t at_ = 0;        // where the next line begins
  size_t searched_ = 0;  // there is no end of line before it
  uint64_t number_ = 0;
  Bytes total_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_FILES_READ_FILE_H_
