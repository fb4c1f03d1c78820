// docs/reference/profiles.md has every profile and every key of its JSON; the keys of the quirks
// stand in observations.md.

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "sim/profile/profile.h"
#include "sim/profile/profile_json.h"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;

std::string Document() {
  std::stringstream text;
  text << std::ifstream("docs/reference/profiles.md").rdbuf();
  return text.str();
}

TEST(ProfilesDocumentTest, HasEveryProfileWithItsSentence) {
  for (const NamedProfile& profile : NamedProfiles()) {
    EXPECT_THAT(Document(),
                HasSubstr(absl::StrCat("\n| `", profile.name, "` | ", profile.sentence, " |\n")));
  }
}

void ExpectKeys(const nlohmann::json& object) {
  for (const auto& [key, unused] : object.items()) {
    EXPECT_THAT(Document(), HasSubstr(absl::StrCat("`", key, "`")));
  }
}

TEST(ProfilesDocumentTest, HasEveryKeyOfTheJson) {
  const nlohmann::json profile = nlohmann::json::parse(ToJson(Profile::ReferenceH200()));
  ExpectKeys(profile);
  ExpectKeys(profile["window"]);
  ExpectKeys(profile["devices"][0]);
  ExpectKeys(profile["host_nodes"][0]);
}

}  // namespace
}  // namespace twinmmu
