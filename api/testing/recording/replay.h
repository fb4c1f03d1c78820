// Replay: plays a recording on another driver and says what comes out differently.

#ifndef TWINMMU_API_TESTING_RECORDING_REPLAY_H_
#define TWINMMU_API_TESTING_RECORDING_REPLAY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/testing/recording/file.h"
#include "api/testing/recording/player.h"

namespace twinmmu {

// A call whose results were other ones.
struct LineDifference {
  std::string section;
  size_t line = 0;  // of the section; the call after its beginning is 1
  Json recorded;
  Json seen;
};

// The results that differ between two lines of one call, by key. Not where a reservation is, nor
// which thread called.
std::vector<std::string> DifferingKeys(const Json& recorded, const Json& seen);

// A line as it stands in the file; long texts, such as device code, are cut.
std::string Shortened(Json line);

// Both lines, and which results differ, for a person.
void Print(const LineDifference& difference, std::ostream& out);

// What no model can tell, or does not yet: differences that it covers are counted, not reported.
struct Mask {
  const char* name;
  const char* reason;
  // Whether it explains that the result `key` of this call differs.
  bool (*covers)(const Section& section, const Json& recorded, const Json& seen,
                 const std::string& key);
  // What follows in the section depends on it, and is not played.
  bool ends_section = false;
};

struct ReplayReport {
  uint64_t sections = 0;
  uint64_t calls = 0;                       // that were compared
  std::map<std::string, uint64_t> masked;   // how many calls each mask covered, by name
  uint64_t not_played = 0;                  // calls after one that ended its section
  std::vector<LineDifference> differences;  // the first one of each section that has any
};

struct ReplayOptions {
  // A target of its own for each section. `header`: the recording's first line.
  std::function<absl::StatusOr<PlayerTarget>(const Json& header)> open;
  absl::Span<const Mask> masks;
  KnownContent known_content;
};

// Errors: the file's, or of a target that does not open.
absl::StatusOr<ReplayReport> Replay(const std::string& path, const ReplayOptions& options);

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_RECORDING_REPLAY_H_
