#include "tools/views/event_words.h"

#include "absl/strings/str_cat.h"
#include "api/address.h"

namespace twinmmu {

std::string InWords(const record::Frame& frame) {
  const std::string function = frame.function.empty() ? "?" : frame.function;
  if (frame.file.empty()) return function;
  const std::string file = frame.file.substr(frame.file.rfind('/') + 1);
  return absl::StrCat(function, " (", file, ":", frame.line, ")");
}

std::string InWords(int32_t device) {
  return device == record::kHost ? "host" : absl::StrCat("device ", device);
}

const char* WordOf(LiveKind kind) {
  switch (kind) {
    case LiveKind::kReservation:
      return "reservation";
    case LiveKind::kAllocation:
      return "allocation";
    case LiveKind::kMapping:
      return "mapping";
    case LiveKind::kBlock:
      return "block";
  }
  return "";
}

std::string SizeInWords(uint64_t bytes) { return ToString(Bytes(bytes)); }

std::string TitleOf(const record::Event& event) {
  if (event.kind == record::EventKind::kLaunch && !event.text.empty())
    return std::string(event.text);
  return std::string(record::Word(event.kind));
}

}  // namespace twinmmu
