// Recording files: lines of JSON, packed with Zstandard where the name ends in ".zst".

#ifndef TWINMMU_API_TESTING_RECORDING_FILE_H_
#define TWINMMU_API_TESTING_RECORDING_FILE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/driver.h"
#include "api/files/read_file.h"
#include "api/testing/recording/codec.h"

namespace twinmmu {

// A part that stands by itself: it begins and ends with nothing allocated.
struct Section {
  Json begin;               // {"section": name, ...}
  std::vector<Json> lines;  // calls, and closed descriptors
  Json end;                 // {"end": name, ...}; null: the process ended in it

  std::string name() const { return TextOr(begin, "section"); }
};

// The first line of a recording: the machine that it was made on. `date`: "2026-11-21". `driver`
// is asked; what it does not answer is left out.
Json DescribeOrigin(Driver& driver, const std::string& backend, const std::string& date);

// The same in words: "2 x NVIDIA H200, driver 580.159.04 (CUDA 13.0)".
std::string OriginOf(const Json& header);

// For one thread.
class RecordingWriter {
 public:
  // What is at `path` stays until Close: nothing is lost where a recording fails half-way.
  static absl::StatusOr<std::unique_ptr<RecordingWriter>> Create(const std::string& path);
  virtual ~RecordingWriter() = default;

  virtual absl::Status Write(const Json& line) = 0;
  absl::Status Write(const Section& section);
  // Without it nothing was written.
  virtual absl::Status Close() = 0;
};

// Reads one section at a time, as a recording may be large.
class RecordingReader {
 public:
  // NotFound: no such file. InvalidArgument: it does not begin as a recording does.
  static absl::StatusOr<std::unique_ptr<RecordingReader>> Open(const std::string& path);
  static absl::StatusOr<std::unique_ptr<RecordingReader>> Of(std::unique_ptr<LineReader> lines);

  const Json& header() const { return header_; }
  // nullopt: that was the last one. InvalidArgument: not a recording, and the number of the line.
  absl::StatusOr<std::optional<Section>> Next();

 private:
  explicit RecordingReader(std::unique_ptr<LineReader> lines) : lines_(std::move(lines)) {}
  absl::Status WrongLine(absl::string_view what) const;
  absl::StatusOr<std::optional<Json>> NextLine();

  const std::unique_ptr<LineReader> lines_;
  Bytes section_size_;
  Json header_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_RECORDING_FILE_H_
