// Profiles as JSON.
//
//   {"base": "reference", "devices": 4, "peers": false, "quirks": {"unmap_passes_over_holes":
//   false}}
//
// The keys are the fields of Profile and of its parts. What is left out is as in "base", the name
// of a profile (by default "reference"). Sizes are bytes or "64 KiB", addresses "0x1000000000".
// "devices" is a number of devices alike, or a list whose members say what differs from the base's;
// "peers" is true or false for all, or the matrix; device attributes go by the driver's name or
// number, and null takes one away.

#ifndef TWINMMU_SIM_PROFILE_PROFILE_JSON_H_
#define TWINMMU_SIM_PROFILE_PROFILE_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sim/profile/profile.h"

namespace twinmmu {

// A valid profile. InvalidArgument: no JSON, an unknown key, a value of the wrong type or an
// impossible one; the message has the path of the value ("devices[1].memory") and the reason.
absl::StatusOr<Profile> ParseProfile(absl::string_view json);

// JSON from which ParseProfile makes the same profile.
std::string ToJson(const Profile& profile);

// The profile of that name, or the one in that file, if it ends in ".json".
absl::StatusOr<Profile> LoadProfile(const std::string& name_or_file);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_PROFILE_PROFILE_JSON_H_
