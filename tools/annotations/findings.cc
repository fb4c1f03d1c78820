#include "tools/annotations/findings.h"

#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "nlohmann/json.hpp"

namespace twinmmu {
namespace {

using Json = nlohmann::ordered_json;

std::string Text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Json Object(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : Json::object();
}

int64_t Number(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

// "/src/pool/grow.cc:42" is line 42 of pool/grow.cc, with the root "/src".
void SetPlace(const Json& site, const std::string& source_root, Finding& finding) {
  const std::string source = Text(site, "source");
  const size_t colon = source.rfind(':');
  if (colon == std::string::npos) return;
  if (!absl::SimpleAtoi(source.substr(colon + 1), &finding.line)) return;
  absl::string_view file = absl::string_view(source).substr(0, colon);
  // Bazel compiles with paths below this folder.
  for (const std::string& root : {std::string("/proc/self/cwd"), source_root, std::string(".")}) {
    if (absl::ConsumePrefix(&file, absl::StrCat(absl::StripSuffix(root, "/"), "/"))) break;
  }
  finding.file = std::string(file);
}

// What a person reads: the message, and what to do.
std::string Message(const Json& line) {
  const std::string message = Text(line, "message");
  std::string text = message.empty() ? Text(line, "what") : message;
  const int64_t count = Number(line, "count");
  if (count > 1) absl::StrAppend(&text, " (", count, " times)");
  const std::string advice = Text(line, "advice");
  if (!advice.empty()) absl::StrAppend(&text, "\n", advice);
  const std::string symbol = Text(Object(line, "site"), "symbol");
  if (!symbol.empty()) absl::StrAppend(&text, "\nIn ", symbol, ".");
  return text;
}

std::string PlaceOf(const Finding& finding) {
  return finding.file.empty() ? finding.program : absl::StrCat(finding.file, ":", finding.line);
}

}  // namespace

absl::StatusOr<std::vector<Finding>> ReadFindings(std::istream& report,
                                                  const std::string& source_root) {
  std::vector<Finding> findings;
  std::map<int64_t, std::string> programs;
  bool has_lines = false;
  std::set<std::pair<std::string, std::string>> known;
  std::string text;
  for (int number = 1; std::getline(report, text); ++number) {
    if (text.empty()) continue;
    const Json line = Json::parse(text, nullptr, false);
    if (!line.is_object() || Text(line, "type").empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, " is none of a report of `twinmmu run --report=FILE`."));
    }
    has_lines = true;
    const std::string type = Text(line, "type");
    if (type == "process") programs[Number(line, "pid")] = Text(line, "program");
    if (type != "diagnostic" && type != "leak") continue;
    Finding finding;
    finding.is_error = Text(line, "severity") != "warning";
    finding.kind = Text(line, "kind");
    finding.message = Message(line);
    finding.program = programs[Number(line, "pid")];
    SetPlace(Object(line, "site"), source_root, finding);
    // Many processes of one program would all say the same.
    if (known.emplace(finding.kind, PlaceOf(finding)).second) findings.push_back(finding);
  }
  if (has_lines) return findings;
  return absl::InvalidArgumentError(
      "the report is empty: the run of the program has not ended, or was killed.");
}

std::string ForGitHub(const std::vector<Finding>& findings) {
  const auto escaped = [](absl::string_view text) {
    return absl::StrReplaceAll(text, {{"%", "%25"}, {"\r", "%0D"}, {"\n", "%0A"}});
  };
  const auto property = [&escaped](absl::string_view text) {
    return absl::StrReplaceAll(escaped(text), {{":", "%3A"}, {",", "%2C"}});
  };
  std::string commands;
  for (const Finding& finding : findings) {
    absl::StrAppend(&commands, finding.is_error ? "::error " : "::warning ");
    if (!finding.file.empty()) {
      absl::StrAppend(&commands, "file=", property(finding.file), ",line=", finding.line, ",");
    }
    absl::StrAppend(&commands, "title=", property(finding.kind), "::", escaped(finding.message),
                    "\n");
  }
  return commands;
}

std::string ForGitLab(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    const std::string path = finding.file.empty() ? finding.program : finding.file;
    list.push_back({{"description", finding.message},
                    {"check_name", finding.kind},
                    // The same in the next run: so GitLab knows what is new.
                    {"fingerprint", absl::StrCat(finding.kind, " ", PlaceOf(finding))},
                    {"severity", finding.is_error ? "major" : "minor"},
                    {"location", {{"path", path}, {"lines", {{"begin", finding.line}}}}}});
  }
  return list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string ForJUnit(const std::vector<Finding>& findings) {
  const auto escaped = [](absl::string_view text) {
    return absl::StrReplaceAll(
        text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"\n", "&#10;"}});
  };
  std::string cases;
  size_t failures = 0;
  for (const Finding& finding : findings) {
    failures += finding.is_error ? 1 : 0;
    const std::string name = absl::StrCat(finding.kind, " at ", PlaceOf(finding));
    absl::StrAppend(&cases, "  <testcase classname=\"twinmmu\" name=\"", escaped(name), "\">\n");
    absl::StrAppend(
        &cases,
        finding.is_error
            ? absl::StrCat("    <failure message=\"", escaped(finding.message), "\"/>\n")
            : absl::StrCat("    <system-out>", escaped(finding.message), "</system-out>\n"),
        "  </testcase>\n");
  }
  if (findings.empty()) {
    cases = "  <testcase classname=\"twinmmu\" name=\"no misuse, nothing left\"/>\n";
  }
  return absl::StrCat("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"twinmmu run\"",
                      " tests=\"", findings.empty() ? 1 : findings.size(), "\" failures=\"",
                      failures, "\">\n", cases, "</testsuite>\n");
}

}  // namespace twinmmu
