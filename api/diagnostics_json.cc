#include "api/diagnostics_json.h"

#include "nlohmann/json.hpp"

namespace twinmmu {

std::string ToJson(const Diagnostic& diagnostic) {
  const DiagnosticInfo& info = InfoOf(diagnostic.kind);
  nlohmann::ordered_json json = {
      {"kind", info.name},
      {"severity", ToString(diagnostic.severity)},
      {"rule", info.rule},
      {"call", diagnostic.call},
      {"number", diagnostic.call_id},
  };
  if (diagnostic.range.has_value()) {
    json["base"] = ToString(diagnostic.range->base);
    json["size"] = diagnostic.range->size.value();
  }
  if (diagnostic.handle.has_value()) json["handle"] = ToString(*diagnostic.handle);
  if (diagnostic.device.has_value()) json["device"] = diagnostic.device->value();
  json["what"] = info.what;
  json["message"] = diagnostic.message;
  json["why"] = info.why;
  json["advice"] = info.advice;
  json["history"] = nlohmann::ordered_json::array();
  for (const HistoryEntry& entry : diagnostic.history) {
    json["history"].push_back({{"call", entry.call}, {"sentence", entry.sentence}});
  }
  // Text that is not UTF-8 becomes readable text, not an exception.
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace twinmmu
