#include "tools/views/event_findings.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "api/diagnostics.h"
#include "tools/views/event_words.h"

namespace twinmmu {
namespace {

DiagnosticKind LeakOf(LiveKind kind) {
  switch (kind) {
    case LiveKind::kReservation:
      return DiagnosticKind::kLeakedReservation;
    case LiveKind::kAllocation:
      return DiagnosticKind::kLeakedAllocation;
    case LiveKind::kMapping:
      return DiagnosticKind::kLeakedMapping;
    case LiveKind::kBlock:
      return DiagnosticKind::kLeakedMemory;
  }
  return DiagnosticKind::kLeakedMemory;
}

}  // namespace

EventFindings::Finding* EventFindings::FindingAt(const std::string& kind,
                                                 const record::Stack& stack) {
  Annotation annotation;
  annotation.kind = kind;
  if (!stack.empty()) {
    absl::string_view file = stack.front().file;
    absl::ConsumePrefix(&file, absl::StrCat(absl::StripSuffix(source_root_, "/"), "/"));
    annotation.file = std::string(file);
    annotation.line = stack.front().line;
  }
  const std::string where = stack.empty() ? "" : InWords(stack.front());
  const std::string place = absl::StrCat(annotation.file, ":", annotation.line, " ", where);
  const auto known = findings_.find({kind, place});
  if (known == findings_.end() && findings_.size() == kMostFindings) {
    ++left_out_;
    return nullptr;
  }
  Finding& finding = known == findings_.end() ? findings_[{kind, place}] : known->second;
  if (finding.count++ == 0) {
    finding.annotation = std::move(annotation);
    if (!where.empty()) finding.annotation.message = absl::StrCat("\nIn ", where, ".");
  }
  return &finding;
}

std::string EventFindings::LeftOut() const {
  if (left_out_ == 0) return memory_.LeftOut();
  return absl::StrCat(left_out_, " findings: the first ", kMostFindings, " are shown");
}

void EventFindings::Add(const record::Event& event, const record::Stack& stack) {
  memory_.Apply(event, stack);
  if (event.kind != record::EventKind::kDiagnostic) return;
  Finding* const finding = FindingAt(std::string(event.code), stack);
  if (finding == nullptr || finding->count > 1) return;
  finding->annotation.is_error = event.severity == record::Severity::kError;
  finding->annotation.message = absl::StrCat(std::string(event.text), finding->annotation.message);
}

std::vector<Annotation> EventFindings::Finish() {
  memory_.ForEach([this](const LiveObject& object) {
    // Who imported memory or maps it holds it, too; the mapping is told, also of blocks in it.
    if (object.kind == LiveKind::kAllocation && object.released) return;
    if (object.mapped) return;
    Finding* const finding = FindingAt(InfoOf(LeakOf(object.kind)).name, *object.stack);
    if (finding != nullptr) finding->bytes += object.bytes;
  });
  std::vector<Annotation> annotations;
  for (auto& [key, finding] : findings_) {
    Annotation& annotation = finding.annotation;
    for (const DiagnosticInfo& info : AllDiagnostics()) {
      if (finding.bytes == 0 || key.first != info.name) continue;
      annotation.message =
          absl::StrCat(info.what, " ", finding.count, " left, ", SizeInWords(finding.bytes), ".\n",
                       info.advice, annotation.message);
    }
    annotations.push_back(annotation);
  }
  return annotations;
}

}  // namespace twinmmu
