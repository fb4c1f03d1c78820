#include "api/diagnostics_json.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"

namespace twinmmu {
namespace {

// Text that is not UTF-8 becomes readable text, not an exception.
std::string Quoted(const std::string& text) {
  const nlohmann::json value = text;
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

// Put together as text: the destructor of a nested value of nlohmann::json needs memory, and ends
// the process if there is none.
std::string ToJson(const Diagnostic& diagnostic) {
  const DiagnosticInfo& info = InfoOf(diagnostic.kind);
  std::string json = absl::StrCat(
      "{\"kind\":", Quoted(info.name), ",\"severity\":", Quoted(ToString(diagnostic.severity)),
      ",\"rule\":", Quoted(info.rule), ",\"call\":", Quoted(diagnostic.call),
      ",\"number\":", diagnostic.call_id);
  if (diagnostic.range.has_value()) {
    absl::StrAppend(&json, ",\"base\":", Quoted(ToString(diagnostic.range->base)),
                    ",\"size\":", diagnostic.range->size.value());
  }
  if (diagnostic.handle.has_value()) {
    absl::StrAppend(&json, ",\"handle\":", Quoted(ToString(*diagnostic.handle)));
  }
  if (diagnostic.device.has_value()) {
    absl::StrAppend(&json, ",\"device\":", diagnostic.device->value());
  }
  const auto append_entry = [](std::string* out, const HistoryEntry& entry) {
    absl::StrAppend(out, "{\"call\":", entry.call, ",\"sentence\":", Quoted(entry.sentence), "}");
  };
  absl::StrAppend(&json, ",\"what\":", Quoted(info.what),
                  ",\"message\":", Quoted(diagnostic.message), ",\"why\":", Quoted(info.why),
                  ",\"advice\":", Quoted(info.advice), ",\"history\":[",
                  absl::StrJoin(diagnostic.history, ",", append_entry), "]}");
  return json;
}

}  // namespace twinmmu
