#include "api/testing/recording/replay.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace twinmmu {
namespace {

// A reservation is where the machine has room, and who calls is no result.
bool IsCompared(const std::string& key) { return key != "base" && key != "thread"; }

// The mask that covers every result that differs; null: one is left.
const Mask* CoverAll(absl::Span<const Mask> masks, const Section& section, const Json& recorded,
                     const Json& seen) {
  const Mask* cover = nullptr;
  for (const std::string& key : DifferingKeys(recorded, seen)) {
    const auto found = std::find_if(masks.begin(), masks.end(), [&](const Mask& mask) {
      return mask.covers(section, recorded, seen, key);
    });
    if (found == masks.end()) return nullptr;
    if (cover == nullptr || found->ends_section) cover = &*found;
  }
  return cover;
}

// A call that cannot be made at all, as its own answer.
Json Impossible(const Json& line, const absl::Status& status) {
  Json seen = line;
  seen["code"] = absl::StrCat("cannot be made: ", std::string(status.message()));
  return seen;
}

absl::Status PlaySection(const Section& section, const ReplayOptions& options, PlayerTarget target,
                         ReplayReport& report) {
  Player player(std::move(target), options.known_content);
  player.Begin();
  ++report.sections;
  for (size_t i = 0; i < section.lines.size(); ++i) {
    const Json& recorded = section.lines[i];
    const absl::StatusOr<Json> played = player.Play(recorded);
    if (absl::IsInvalidArgument(played.status()) && report.differences.empty()) {
      return played.status();
    }
    const Json seen = played.ok() ? *played : Impossible(recorded, played.status());
    if (seen.is_null()) continue;  // not a call
    ++report.calls;
    if (DifferingKeys(recorded, seen).empty()) continue;
    const Mask* mask = CoverAll(options.masks, section, recorded, seen);
    if (mask == nullptr) report.differences.push_back({section.name(), i + 1, recorded, seen});
    if (mask != nullptr) ++report.masked[mask->name];
    if (mask != nullptr && !mask->ends_section) continue;
    report.not_played += section.lines.size() - i - 1;
    break;
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> DifferingKeys(const Json& recorded, const Json& seen) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : recorded.items()) {
    const auto other = seen.find(key);
    if (IsCompared(key) && (other == seen.end() || *other != value)) keys.push_back(key);
  }
  for (const auto& [key, value] : seen.items()) {
    if (IsCompared(key) && !recorded.contains(key)) keys.push_back(key);
  }
  return keys;
}

std::string Shortened(Json line) {
  constexpr size_t kMost = 120;
  for (auto& [key, value] : line.items()) {
    if (!value.is_string() || value.get_ref<std::string&>().size() <= kMost) continue;
    value.get_ref<std::string&>().resize(kMost);
    value.get_ref<std::string&>() += "...";
  }
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void Print(const LineDifference& difference, std::ostream& out) {
  out << difference.section << ", line " << difference.line << ": "
      << absl::StrJoin(DifferingKeys(difference.recorded, difference.seen), ", ")
      << " differs\n  recorded: " << Shortened(difference.recorded)
      << "\n  here:     " << Shortened(difference.seen) << "\n";
}

absl::StatusOr<ReplayReport> Replay(const std::string& path, const ReplayOptions& options) {
  absl::StatusOr<std::unique_ptr<RecordingReader>> reader = RecordingReader::Open(path);
  if (!reader.ok()) return reader.status();
  ReplayReport report;
  for (;;) {
    const absl::StatusOr<std::optional<Section>> section = (*reader)->Next();
    if (!section.ok()) return section.status();
    if (!section->has_value()) return report;
    absl::StatusOr<PlayerTarget> target = options.open((*reader)->header());
    if (!target.ok()) return target.status();
    const absl::Status played = PlaySection(**section, options, *std::move(target), report);
    if (!played.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": ", (*section)->name(), ": ", std::string(played.message())));
    }
  }
}

}  // namespace twinmmu
