#include "tools/annotations/annotations.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "api/files/json_text.h"
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

struct Place {
  std::string file;  // empty: not known
  int line = 0;
};

// "/src/pool/grow.cc:42" is line 42 of pool/grow.cc, with the root "/src".
Place SourceOf(const Json& site, const std::string& source_root) {
  const std::string source = Text(site, "source");
  const size_t colon = source.rfind(':');
  Place place;
  if (colon == std::string::npos || !absl::SimpleAtoi(source.substr(colon + 1), &place.line)) {
    return Place();
  }
  absl::string_view file = absl::string_view(source).substr(0, colon);
  // Bazel compiles with paths below this folder.
  for (const std::string& root : {std::string("/proc/self/cwd"), source_root, std::string(".")}) {
    if (absl::ConsumePrefix(&file, absl::StrCat(absl::StripSuffix(root, "/"), "/"))) break;
  }
  place.file = std::string(file);
  return place;
}

std::vector<EarlierCall> EarlierCalls(const Json& line, const std::string& source_root) {
  std::vector<EarlierCall> calls;
  const auto history = line.find("history");
  if (history == line.end() || !history->is_array()) return calls;
  for (const Json& entry : *history) {
    const Place place = SourceOf(Object(entry, "site"), source_root);
    const bool is_itself = Number(entry, "call") == Number(line, "number");
    if (place.file.empty() || is_itself) continue;
    calls.push_back({Text(entry, "sentence"), place.file, place.line});
  }
  return calls;
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

std::string PlaceOf(const Annotation& annotation) {
  return annotation.file.empty() ? annotation.program
                                 : absl::StrCat(annotation.file, ":", annotation.line);
}

}  // namespace

absl::StatusOr<std::vector<Annotation>> ReadAnnotations(LineReader& report,
                                                        const std::string& source_root) {
  std::vector<Annotation> annotations;
  std::map<int64_t, std::string> programs;
  std::set<std::pair<std::string, std::string>> known;
  for (;;) {
    const absl::StatusOr<std::optional<std::string>> text = report.Next();
    if (!text.ok()) return text.status();
    if (!text->has_value()) break;
    if ((*text)->empty()) continue;
    const absl::StatusOr<Json> parsed = ParseJson<Json>(**text);
    if (!parsed.ok() || !parsed->is_object() || Text(*parsed, "type").empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(report.name(), ": line ", report.number(),
                       " is none of a report of `twinmmu run --report=FILE`."));
    }
    const Json& line = *parsed;
    const std::string type = Text(line, "type");
    if (type == "process") programs[Number(line, "pid")] = Text(line, "program");
    if (type != "diagnostic" && type != "leak") continue;
    Annotation annotation;
    annotation.is_error = Text(line, "severity") != "warning";
    annotation.kind = Text(line, "kind");
    annotation.message = Message(line);
    annotation.program = programs[Number(line, "pid")];
    const Place place = SourceOf(Object(line, "site"), source_root);
    annotation.file = place.file;
    annotation.line = place.line;
    annotation.earlier = EarlierCalls(line, source_root);
    // Many processes of one program would all say the same.
    if (known.emplace(annotation.kind, PlaceOf(annotation)).second)
      annotations.push_back(annotation);
  }
  if (report.number() != 0) return annotations;
  return absl::InvalidArgumentError(
      absl::StrCat(report.name(),
                   ": the report is empty: the run of the program has not ended, or "
                   "was killed."));
}

std::string ForGitHub(const std::vector<Annotation>& annotations) {
  const auto escaped = [](absl::string_view text) {
    return absl::StrReplaceAll(text, {{"%", "%25"}, {"\r", "%0D"}, {"\n", "%0A"}});
  };
  const auto property = [&escaped](absl::string_view text) {
    return absl::StrReplaceAll(escaped(text), {{":", "%3A"}, {",", "%2C"}});
  };
  std::string commands;
  for (const Annotation& annotation : annotations) {
    absl::StrAppend(&commands, annotation.is_error ? "::error " : "::warning ");
    if (!annotation.file.empty()) {
      absl::StrAppend(&commands, "file=", property(annotation.file), ",line=", annotation.line,
                      ",");
    }
    absl::StrAppend(&commands, "title=", property(annotation.kind),
                    "::", escaped(annotation.message), "\n");
  }
  return commands;
}

std::string ForGitLab(const std::vector<Annotation>& annotations) {
  Json list = Json::array();
  for (const Annotation& annotation : annotations) {
    const std::string path = annotation.file.empty() ? annotation.program : annotation.file;
    list.push_back({{"description", annotation.message},
                    {"check_name", annotation.kind},
                    // The same in the next run: so GitLab knows what is new.
                    {"fingerprint", absl::StrCat(annotation.kind, " ", PlaceOf(annotation))},
                    {"severity", annotation.is_error ? "major" : "minor"},
                    {"location", {{"path", path}, {"lines", {{"begin", annotation.line}}}}}});
  }
  return list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string ForJUnit(const std::vector<Annotation>& annotations) {
  const auto escaped = [](absl::string_view text) {
    return absl::StrReplaceAll(
        text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"\n", "&#10;"}});
  };
  std::string cases;
  size_t failures = 0;
  for (const Annotation& annotation : annotations) {
    failures += annotation.is_error ? 1 : 0;
    const std::string name = absl::StrCat(annotation.kind, " at ", PlaceOf(annotation));
    absl::StrAppend(&cases, "  <testcase classname=\"twinmmu\" name=\"", escaped(name), "\">\n");
    absl::StrAppend(
        &cases,
        annotation.is_error
            ? absl::StrCat("    <failure message=\"", escaped(annotation.message), "\"/>\n")
            : absl::StrCat("    <system-out>", escaped(annotation.message), "</system-out>\n"),
        "  </testcase>\n");
  }
  if (annotations.empty()) {
    cases = "  <testcase classname=\"twinmmu\" name=\"no misuse, nothing left\"/>\n";
  }
  return absl::StrCat("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"twinmmu run\"",
                      " tests=\"", annotations.empty() ? 1 : annotations.size(), "\" failures=\"",
                      failures, "\">\n", cases, "</testsuite>\n");
}

}  // namespace twinmmu
