#include "sim/libcuda/settings.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "api/address.h"
#include "sim/profile/profile_json.h"

namespace twinmmu::libcuda {
namespace {

constexpr absl::string_view kPrefix = "TWINMMU_";
constexpr auto kPciBusId = static_cast<DeviceAttribute>(33);

absl::Status NotThat(absl::string_view rule) { return absl::InvalidArgumentError(rule); }

// --- What each variable does. The message of an error says what the value can be.

absl::Status SetProfile(const std::string& value, Settings& settings) {
  absl::StatusOr<Profile> profile = LoadProfile(value);
  if (!profile.ok()) return profile.status();
  settings.profile = *std::move(profile);
  return absl::OkStatus();
}

absl::Status SetFlag(const std::string& value, bool& flag) {
  if (value != "0" && value != "1") return NotThat("it is 0 or 1");
  flag = flag || value == "1";
  return absl::OkStatus();
}

absl::Status SetStrict(const std::string& value, Settings& settings) {
  if (value != "0" && value != "1") return NotThat("it is 0 or 1");
  if (value == "0") return absl::OkStatus();
  for (const QuirkInfo& quirk : AllQuirks()) settings.profile.quirks.*quirk.field = false;
  return absl::OkStatus();
}

absl::Status SetDevices(const std::string& value, Settings& settings) {
  int count = -1;
  if (!absl::SimpleAtoi(value, &count) || count < 0 || count > Profile::kMaxDevices) {
    return NotThat(absl::StrCat("it is a number from 0 to ", Profile::kMaxDevices));
  }
  settings.profile.SetDeviceCount(count);
  return absl::OkStatus();
}

// As the driver reads it: up to the first entry that is no device; a device twice is an error.
absl::Status SetVisibleDevices(const std::string& value, Settings& settings) {
  const Profile all = settings.profile;
  std::vector<size_t> visible;
  for (const absl::string_view entry : absl::StrSplit(value, ',')) {
    int device = -1;
    const bool exists = absl::SimpleAtoi(entry, &device) && all.HasDevice(device);
    if (!exists) break;
    const auto number = static_cast<size_t>(device);
    if (std::find(visible.begin(), visible.end(), number) != visible.end()) {
      settings.init = DriverCode::kInvalidDevice;
      return absl::OkStatus();
    }
    visible.push_back(number);
  }
  settings.profile.devices.clear();
  settings.profile.peers.assign(visible.size(), {});
  for (size_t i = 0; i < visible.size(); ++i) {
    settings.profile.devices.push_back(all.devices[visible[i]]);
    // It stays in its place: the bus of a profile is that of ordinal 0.
    auto& attributes = settings.profile.devices.back().attributes;
    const auto bus = attributes.find(kPciBusId);
    if (bus != attributes.end()) bus->second += static_cast<int>(visible[i]) - static_cast<int>(i);
    for (const size_t peer : visible) {
      settings.profile.peers[i].push_back(all.peers[visible[i]][peer]);
    }
  }
  return absl::OkStatus();
}

absl::Status SetPolicy(const std::string& value, Settings& settings) {
  return settings.profile.SetStreamPolicy(value);
}

absl::Status SetAliasPolicy(const std::string& value, Settings& settings) {
  return settings.profile.SetAliasPolicy(value);
}

absl::Status SetRaceCheck(const std::string& value, Settings& settings) {
  return SetFlag(value, settings.profile.race_check);
}
absl::Status SetInitCheck(const std::string& value, Settings& settings) {
  return SetFlag(value, settings.profile.init_check);
}

// "512MiB", "512 MiB", "536870912".
std::optional<Bytes> ParseSize(absl::string_view text) {
  constexpr std::pair<absl::string_view, int> kUnits[] = {{"TiB", 40}, {"GiB", 30}, {"MiB", 20},
                                                          {"KiB", 10}, {"B", 0},    {"", 0}};
  for (const auto& [unit, shift] : kUnits) {
    if (!absl::EndsWith(text, unit)) continue;
    uint64_t number = 0;
    const bool fits = absl::SimpleAtoi(text.substr(0, text.size() - unit.size()), &number) &&
                      number <= std::numeric_limits<uint64_t>::max() >> shift;
    return fits ? std::optional(Bytes(number << shift)) : std::nullopt;
  }
  return std::nullopt;
}

// What is free at the start is less what is kept back, which a program cannot get.
absl::Status SetMemory(const std::string& value, Settings& settings) {
  const std::optional<Bytes> size = ParseSize(value);
  if (!size.has_value()) return NotThat("it is a size, as 512MiB or 80GiB");
  for (DeviceProfile& device : settings.profile.devices) {
    device.memory_kept_back = Bytes(0);
    if (device.memory < *size) device.memory = *size;
    device.memory_in_use = device.memory - *size;
  }
  return absl::OkStatus();
}

absl::Status SetFailures(const std::string& value, Settings& settings) {
  settings.failures = value;
  return absl::OkStatus();
}
absl::Status SetReport(const std::string& value, Settings& settings) {
  settings.report_file = value;
  return absl::OkStatus();
}
absl::Status SetRunFolder(const std::string& value, Settings& settings) {
  settings.run_folder = value;
  return absl::OkStatus();
}

absl::Status SetRecord(const std::string& value, Settings& settings) {
  settings.record_folder = value;
  return absl::OkStatus();
}
absl::Status SetStackDepth(const std::string& value, Settings& settings) {
  constexpr size_t kMost = 64;
  if (!absl::SimpleAtoi(value, &settings.stack_depth) || settings.stack_depth > kMost) {
    return NotThat(absl::StrCat("it is a number from 0 to ", kMost));
  }
  return absl::OkStatus();
}

// In the order in which they take effect: each changes the machine that those before it made.
struct Setter {
  Variable variable;
  absl::Status (*set)(const std::string& value, Settings& settings);
  bool may_be_empty = false;  // an empty value says something
};
constexpr Setter kSetters[] = {
    {{"TWINMMU_PROFILE", "The simulated machine: the name of a profile, or a .json file.",
      "strict"},
     SetProfile},
    {{"TWINMMU_STRICT", "1: no quirks, the driver follows its documentation.", "1"}, SetStrict},
    {{"TWINMMU_DEVICES", "How many devices the machine has.", "4"}, SetDevices},
    {{"CUDA_VISIBLE_DEVICES", "Which of them the program sees, as with the driver.", "1,0"},
     SetVisibleDevices,
     /*may_be_empty=*/true},
    {{"TWINMMU_STREAM_POLICY",
      "When work on streams runs: eager, deferred, seeded or seeded:NUMBER.", "deferred"},
     SetPolicy},
    {{"TWINMMU_ALIAS_POLICY",
      "What is read if an alias fence is missing: coherent, stale, l1, random or random:NUMBER.",
      "stale"},
     SetAliasPolicy},
    {{"TWINMMU_RACE_CHECK", "1: races are diagnosed of all memory.", "1"}, SetRaceCheck},
    {{"TWINMMU_INIT_CHECK", "1: reads of memory that nothing has written are diagnosed.", "1"},
     SetInitCheck},
    {{"TWINMMU_MEMORY", "How much memory is free on each device at the start.", "512MiB"},
     SetMemory},
    {{"TWINMMU_FAIL", "Which calls fail: CALL:WHEN:CODE, several separated by semicolons.",
      "cuMemMap:3:OUT_OF_MEMORY"},
     SetFailures},
    {{"TWINMMU_REPORT",
      "When the process ends, the report is printed on stderr, and appended to this file as JSON "
      "Lines.",
      "report.jsonl"},
     SetReport},
    {{"TWINMMU_RECORD",
      "The folder into which each process writes what happens to memory, for `twinmmu view`.",
      "/tmp/events"},
     SetRecord},
    {{"TWINMMU_STACK_DEPTH",
      "How many frames of the call stack such a record has for each event. Default: 1, the call.",
      "16"},
     SetStackDepth},
    {{kRunFolderVariable, "Set by `twinmmu run`: where it finds the report.", "/dev/shm/twinmmu-x"},
     SetRunFolder},
};

// A program may have cleared its environment: then there is none.
std::vector<absl::string_view> LinesOf(const char* const* environment) {
  std::vector<absl::string_view> lines;
  while (environment != nullptr && *environment != nullptr) lines.emplace_back(*environment++);
  return lines;
}

absl::string_view NameIn(absl::string_view line) { return line.substr(0, line.find('=')); }

bool IsSet(const char* const* environment, absl::string_view variable) {
  const std::vector<absl::string_view> lines = LinesOf(environment);
  return std::any_of(lines.begin(), lines.end(), [&](absl::string_view line) {
    return NameIn(line) == variable && line != variable;
  });
}

bool IsKnown(absl::string_view name) {
  for (const Setter& setter : kSetters) {
    if (name == setter.variable.name) return true;
  }
  return false;
}

}  // namespace

std::vector<Variable> AllVariables() {
  std::vector<Variable> all;
  for (const Setter& setter : kSetters) all.push_back(setter.variable);
  return all;
}

absl::StatusOr<Settings> ReadSettings(const char* const* environment, const Profile& machine) {
  Settings settings;
  settings.profile = machine;
  for (const Setter& setter : kSetters) {
    const std::string value = ValueOf(environment, setter.variable.name);
    if (value.empty() && !(setter.may_be_empty && IsSet(environment, setter.variable.name))) {
      continue;
    }
    absl::Status set = setter.set(value, settings);
    if (set.ok()) set = settings.profile.Validate();
    if (set.ok()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(setter.variable.name, "=", value, ": ", set.message()));
  }
  for (const absl::string_view line : LinesOf(environment)) {
    const absl::string_view name = NameIn(line);
    if (!absl::StartsWith(name, kPrefix) || IsKnown(name)) continue;
    settings.warnings.push_back(
        absl::StrCat("The variable ", name, " has no meaning for the simulated driver."));
  }
  return settings;
}

std::string ValueOf(const char* const* environment, absl::string_view variable) {
  for (const absl::string_view line : LinesOf(environment)) {
    if (NameIn(line) == variable && line != variable) {
      return std::string(line.substr(variable.size() + 1));
    }
  }
  return "";
}

}  // namespace twinmmu::libcuda
