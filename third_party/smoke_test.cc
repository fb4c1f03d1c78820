#include <lz4.h>
#include <zstd.h>

#include <string>

#include "CLI/CLI.hpp"
#include "absl/container/flat_hash_map.h"
#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

ABSL_FLAG(int, answer, 42, "A flag, to see that flags link.");

namespace {

using ::testing::HasSubstr;

TEST(ThirdParty, AbslStatusOr) {
  const absl::StatusOr<int> error = absl::NotFoundError(absl::StrCat("device ", 7));
  ASSERT_FALSE(error.ok());
  EXPECT_EQ(error.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(error.status().ToString(), HasSubstr("device 7"));
}

TEST(ThirdParty, AbslContainersStringsTimeFlags) {
  absl::flat_hash_map<std::string, int> map;
  map["a"] = absl::GetFlag(FLAGS_answer);
  EXPECT_EQ(absl::StrFormat("%#x", map.at("a")), "0x2a");
  EXPECT_EQ(absl::FormatDuration(absl::Milliseconds(1500)), "1.5s");
}

TEST(ThirdParty, Json) { EXPECT_EQ(nlohmann::json::parse(R"({"a": [1, 2]})")["a"][1], 2); }

TEST(ThirdParty, CommandLines) {
  int devices = 0;
  CLI::App app;
  app.add_option("--devices", devices);
  app.parse("--devices=3");
  EXPECT_EQ(devices, 3);
}

TEST(ThirdParty, Compressors) {
  EXPECT_GT(LZ4_versionNumber(), 0);
  EXPECT_GT(ZSTD_versionNumber(), 0u);
}

}  // namespace
