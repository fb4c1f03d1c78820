#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "api/version.h"
#include "nlohmann/json.hpp"
#include "tools/annotations/annotations.h"

namespace twinmmu {
namespace {

using Json = nlohmann::ordered_json;

// As a URI: all but what needs no escape, and the slashes.
std::string UriOf(const std::string& path) {
  std::string uri = absl::StartsWith(path, "/") ? "file://" : "";
  for (const char c : path) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') ||
                          absl::StrContains("/-._~", absl::string_view(&c, 1));
    if (is_plain) {
      uri += c;
    } else {
      absl::StrAppend(&uri, "%", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    }
  }
  return uri;
}

// `line` 0: not known.
Json LocationOf(const std::string& file, int line) {
  Json physical = {{"artifactLocation", {{"uri", UriOf(file)}}}};
  if (line > 0) physical["region"] = {{"startLine", line}};
  return {{"physicalLocation", std::move(physical)}};
}

Json ResultOf(const Annotation& annotation) {
  Json result = {{"ruleId", annotation.kind},
                 {"level", annotation.is_error ? "error" : "warning"},
                 {"message", {{"text", annotation.message}}},
                 {"locations", Json::array()}};
  if (!annotation.file.empty()) {
    result["locations"].push_back(LocationOf(annotation.file, annotation.line));
  } else if (!annotation.program.empty()) {
    result["locations"].push_back(LocationOf(annotation.program, 0));
  }
  for (const EarlierCall& call : annotation.earlier) {
    Json location = LocationOf(call.file, call.line);
    location["message"] = {{"text", call.sentence}};
    result["relatedLocations"].push_back(std::move(location));
  }
  return result;
}

}  // namespace

std::string ForSarif(const std::vector<Annotation>& annotations) {
  Json rules = Json::array();
  Json results = Json::array();
  std::set<std::string> known;
  for (const Annotation& annotation : annotations) {
    if (known.insert(annotation.kind).second) rules.push_back({{"id", annotation.kind}});
    results.push_back(ResultOf(annotation));
  }
  const Json driver = {{"name", "TwinMMU"}, {"version", kVersion}, {"rules", std::move(rules)}};
  const Json run = {{"tool", {{"driver", driver}}}, {"results", std::move(results)}};
  const Json report = {{"version", "2.1.0"},
                       {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                       {"runs", Json::array({run})}};
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace twinmmu
