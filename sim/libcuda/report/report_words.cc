#include "sim/libcuda/report/report_words.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "api/files/json_text.h"
#include "api/version.h"
#include "nlohmann/json.hpp"

namespace twinmmu::libcuda {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxFailuresShown = 10;

// "1 error", "2 errors".
std::string Counted(uint64_t count, absl::string_view noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

absl::string_view Basename(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

std::string Ended(const ProcessReport& report, absl::string_view ended) {
  if (!ended.empty()) return std::string(ended);
  return report.finished ? "ended by itself" : "was killed, or left without its exit handlers";
}

// Under a heading, what is apart has a line between.
std::string Section(absl::string_view heading, const std::vector<std::string>& parts) {
  if (parts.empty()) return "";
  return absl::StrCat("\n", heading, "\n", std::string(heading.size(), '-'), "\n",
                      absl::StrJoin(parts, "\n"));
}

// "cuMemMap at pool.cc:42"; what the program called, and not what that calls.
std::string InWords(const CallPlace& place) {
  const std::string call = !place.site.function.empty() ? place.site.function
                           : place.call.empty()         ? "a call"
                                                        : place.call;
  return absl::StrCat(call, " at ", InWords(place.site));
}

// "pool.cc:42 (pool+0x20), by cudaMalloc"
std::string WithFunction(const Site& site) {
  return absl::StrCat(InWords(site), site.function.empty() ? "" : ", by ", site.function);
}

// The call of a line of the history, "  call 12: ..."; 0: it is another line.
uint64_t CallOfLine(absl::string_view line) {
  uint64_t call = 0;
  if (!absl::ConsumePrefix(&line, "  call ")) return 0;
  return absl::SimpleAtoi(line.substr(0, line.find(':')), &call) ? call : 0;
}

// Those of other places than the diagnostic's own, which stands above.
std::string WithPlaces(absl::string_view lines, const ReportedDiagnostic& diagnostic) {
  std::string text;
  for (const absl::string_view line : absl::StrSplit(lines, '\n')) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", line);
    const auto found = diagnostic.history.find(CallOfLine(line));
    if (found == diagnostic.history.end()) continue;
    const Site& site = found->second;
    const Site& own = diagnostic.place.site;
    if (site.address != 0 && (site.address != own.address || site.function != own.function)) {
      absl::StrAppend(&text, ", at ", WithFunction(site));
    }
  }
  return text;
}

// The place comes behind the headline.
std::string InWords(const ReportedDiagnostic& diagnostic) {
  const size_t line = std::min(diagnostic.words.find('\n'), diagnostic.words.size() - 1) + 1;
  std::string text = absl::StrCat(diagnostic.words.substr(0, line),
                                  "  called at: ", WithFunction(diagnostic.place.site), "\n",
                                  WithPlaces(diagnostic.words.substr(line), diagnostic));
  if (diagnostic.count > 1) {
    absl::StrAppend(&text, "  and ", diagnostic.count - 1, " more of this kind from there\n");
  }
  return text;
}

// NVIDIA's own runtime asks for tables that only its own driver has. Whatever else is wrong follows
// from that.
constexpr DiagnosticKind kOwnRuntime = DiagnosticKind::kRuntimeNeedsGenuineDriver;

// Ours did not take its place: it is a part of other files, or was loaded as one of its own.
std::string OwnRuntime(const ProcessReport& report) {
  if (report.counts.count(kOwnRuntime) == 0) return "";
  std::set<absl::string_view> linked;
  std::set<absl::string_view> loaded;
  for (const ReportedDiagnostic& diagnostic : report.diagnostics) {
    if (diagnostic.kind != kOwnRuntime) continue;
    const absl::string_view file = Basename(diagnostic.place.site.module);
    (absl::StartsWith(file, "libcudart") ? loaded : linked)
        .insert(file.empty() ? "the program" : file);
  }
  if (loaded.empty() && linked.empty()) linked.insert("the program");
  std::string text = absl::StrCat("error: ", ToString(kOwnRuntime),
                                  ": NVIDIA's own CUDA runtime was started, which accepts no "
                                  "simulated driver. Ours does.\n");
  if (!linked.empty()) {
    absl::StrAppend(
        &text, "  It is in ", absl::StrJoin(linked, ", "),
        ". Link to the shared one, by its own name (nvcc -cudart shared): `twinmmu run` puts "
        "ours in its place; or to\n"
        "  none (nvcc -cudart none) and our -l:libtwinmmu_cudart13.a, or the like "
        "(docs/guide/runtime.md).\n");
  }
  if (!loaded.empty()) {
    absl::StrAppend(
        &text, "  It was loaded as ", absl::StrJoin(loaded, ", "),
        ". `twinmmu run` puts ours in the place of libcudart.so.11.0, .12 and .13, from\n"
        "  wherever they are loaded, if the program keeps LD_AUDIT as it is "
        "(docs/guide/runtime.md).\n");
  }
  return text;
}

// Of each kind the first ones; then how many more there are.
class Limit {
 public:
  explicit Limit(size_t limit) : limit_(limit) {}
  // Whether one more, which stands for `count`, is shown.
  bool Shows(DiagnosticKind kind, uint64_t count) {
    if (limit_ == 0 || shown_[kind] < limit_) {
      ++shown_[kind];
      return true;
    }
    hidden_[kind] += count;
    return false;
  }
  void AddTo(std::vector<std::string>& parts) const {
    for (const auto& [kind, count] : hidden_) {
      parts.push_back(absl::StrCat(ToString(kind), ": ", count,
                                   " more, from other places. --report-limit=0 shows all.\n"));
    }
  }

 private:
  const size_t limit_;
  std::map<DiagnosticKind, size_t> shown_;
  std::map<DiagnosticKind, uint64_t> hidden_;
};

// Errors come before warnings, and these before leaks; otherwise what was first comes first.
std::string Misuse(const ProcessReport& report, size_t limit) {
  std::vector<const ReportedDiagnostic*> ordered;
  for (const ReportedDiagnostic& diagnostic : report.diagnostics) ordered.push_back(&diagnostic);
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto* a, const auto* b) { return a->severity < b->severity; });
  Limit shown(limit);
  std::vector<std::string> parts;
  std::map<DiagnosticKind, uint64_t> told = {{kOwnRuntime, ~uint64_t{0}}};
  for (const ReportedDiagnostic* const diagnostic : ordered) {
    if (diagnostic->kind == kOwnRuntime) continue;
    told[diagnostic->kind] += diagnostic->count;
    if (shown.Shows(diagnostic->kind, diagnostic->count)) parts.push_back(InWords(*diagnostic));
  }
  shown.AddTo(parts);
  for (const auto& [kind, count] : report.counts) {
    if (count <= told[kind]) continue;
    parts.push_back(absl::StrCat(ToString(kind), ": ", count - told[kind],
                                 " more were noticed, which are not kept.\n"));
  }
  for (const std::string& warning : report.warnings) parts.push_back(warning + "\n");
  return Section("What is wrong", parts);
}

// "13.0"
std::string VersionName(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

// One paragraph: to ask is how a program finds out what there is.
std::string Asked(const ProcessReport& report, size_t limit) {
  if (report.asked_count == 0) return "";
  std::vector<std::string> names;
  for (const AskedFunction& asked : report.asked) {
    if (limit != 0 && names.size() == limit) {
      names.push_back(absl::StrCat("and ", report.asked.size() - limit, " more"));
      break;
    }
    names.push_back(absl::StrCat(asked.function, " (", VersionName(asked.version),
                                 asked.later ? "; a later version has it)" : ")"));
  }
  return absl::StrCat("\nAsked for and not found, ",
                      report.asked_count == 1 ? "once" : absl::StrCat(report.asked_count, " times"),
                      ", with the version asked for: ", absl::StrJoin(names, ", "),
                      ".\nThe answer was a null pointer, as on a driver that lacks them.\n");
}

// What the first one of a group is called.
std::string Particulars(const LiveObjects& objects) {
  std::vector<std::string> parts;
  if (objects.range.has_value()) parts.push_back(twinmmu::InWords(*objects.range));
  if (objects.handle.has_value()) parts.push_back("handle " + ToString(*objects.handle));
  if (objects.references != 0) parts.push_back(Counted(objects.references, "reference"));
  if (objects.kind == DiagnosticKind::kLeakedDescriptor) {
    parts.push_back(absl::StrCat("descriptor ", objects.value));
  }
  if (parts.empty()) parts.push_back(absl::StrCat("0x", absl::Hex(objects.value)));
  if (objects.device >= 0) parts.push_back(absl::StrCat("device ", objects.device));
  return absl::StrJoin(parts, ", ");
}

std::string InWords(const LiveObjects& objects) {
  const DiagnosticInfo& info = InfoOf(objects.kind);
  std::string text = absl::StrCat("leak: ", info.name);
  if (objects.count > 1) absl::StrAppend(&text, ", ", objects.count, " times");
  if (objects.size != Bytes(0)) absl::StrAppend(&text, ", ", ToString(objects.size));
  absl::StrAppend(&text, "\n", info.what, "\n  made by: ", InWords(objects.place), "\n");
  if (!objects.retained.call.empty()) {
    absl::StrAppend(&text, "  retained by: ", InWords(objects.retained), "\n");
  }
  absl::StrAppend(&text, objects.count > 1 ? "  the first: " : "  here: ", Particulars(objects),
                  "\n  what to do: ", info.advice, "\n");
  return text;
}

std::string Alive(const ProcessReport& report, size_t limit) {
  Limit shown(limit);
  std::vector<std::string> parts;
  for (const LiveObjects& objects : report.alive) {
    if (shown.Shows(objects.kind, objects.count)) parts.push_back(InWords(objects));
  }
  shown.AddTo(parts);
  if (!parts.empty() && !report.finished) {
    parts.push_back("The process did not end normally: perhaps it had no time to clean up.\n");
  }
  if (report.lost_objects != 0) {
    parts.push_back(absl::StrCat("The report had no room for ",
                                 Counted(report.lost_objects, "object"), ", left or not.\n"));
  }
  return Section("What was left", parts);
}

std::string Running(const ProcessReport& report) {
  if (report.running.empty() || report.finished) return "";
  std::string text;
  for (const CallPlace& place : report.running) {
    absl::StrAppend(&text, InWords(place), " had not returned.\n");
  }
  return Section("What was running", {text});
}

std::string Injected(const ProcessReport& report) {
  if (report.failure_count == 0) return "";
  std::string text;
  const size_t shown = std::min(report.failures.size(), kMaxFailuresShown);
  for (size_t i = 0; i < shown; ++i) {
    const ReportedFailure& failure = report.failures[i];
    absl::StrAppend(&text, failure.place.call, ", call ", failure.number, ", gave ",
                    DriverCodeName(failure.code), " at ", InWords(failure.place.site), "\n");
  }
  if (report.failure_count > shown) {
    absl::StrAppend(&text, "and ", report.failure_count - shown, " more\n");
  }
  return Section("Failures that were injected", {text});
}

std::string Calls(const ProcessReport& report) {
  if (report.calls.empty()) return "";
  size_t width = 0;
  for (const CallTotal& total : report.calls) width = std::max(width, total.call.size());
  const auto row = [&](absl::string_view call, const std::string& calls,
                       const std::string& failures) {
    const auto padded = [](const std::string& text) {
      return std::string(text.size() < 12 ? 12 - text.size() : 1, ' ') + text;
    };
    return absl::StrCat(call, std::string(width - std::min(width, call.size()), ' '), padded(calls),
                        padded(failures), "\n");
  };
  std::string text = row("", "calls", "failures");
  for (const CallTotal& total : report.calls) {
    text += row(total.call, absl::StrCat(total.calls), absl::StrCat(total.failures));
  }
  return Section("Calls", {text});
}

// --- JSON

Json ToJson(const Site& site) {
  Json json = Json::object();
  if (!site.module.empty()) json["module"] = site.module;
  if (!site.module.empty()) json["offset"] = absl::StrCat("0x", absl::Hex(site.offset));
  if (!site.symbol.empty()) json["symbol"] = site.symbol;
  if (!site.source.empty()) json["source"] = site.source;
  if (!site.function.empty()) json["function"] = site.function;
  return json;
}

class Lines {
 public:
  explicit Lines(int64_t pid) : pid_(pid) {}
  void Add(const char* type, const Json& fields) {
    Json line = {{"type", type}, {"pid", pid_}};
    line.update(fields);
    // Text that is not UTF-8 becomes readable text, not an exception.
    text_ += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  const std::string& text() const { return text_; }

 private:
  const int64_t pid_;
  std::string text_;
};

// To the entries of the history.
void AddPlaces(const ReportedDiagnostic& diagnostic, Json& fields) {
  const auto history = fields.find("history");
  if (history == fields.end() || !history->is_array()) return;
  for (Json& entry : *history) {
    const auto call = entry.find("call");
    if (call == entry.end() || !call->is_number_unsigned()) continue;
    const auto found = diagnostic.history.find(call->get<uint64_t>());
    if (found != diagnostic.history.end()) entry["site"] = ToJson(found->second);
  }
}

void AddDiagnostics(const ProcessReport& report, Lines& lines) {
  for (const ReportedDiagnostic& diagnostic : report.diagnostics) {
    Json fields = ParseJson<Json>(diagnostic.json).value_or(Json());
    if (!fields.is_object()) fields = {{"kind", ToString(diagnostic.kind)}};
    fields["count"] = diagnostic.count;
    fields["site"] = ToJson(diagnostic.place.site);
    AddPlaces(diagnostic, fields);
    lines.Add("diagnostic", fields);
  }
  for (const auto& [kind, count] : report.counts) {
    lines.Add("count", {{"kind", ToString(kind)}, {"count", count}});
  }
  for (const AskedFunction& asked : report.asked) {
    lines.Add("asked", {{"function", asked.function},
                        {"version", asked.version},
                        {"later", asked.later},
                        {"count", asked.count}});
  }
  for (const std::string& warning : report.warnings) lines.Add("warning", {{"words", warning}});
}

void AddAlive(const ProcessReport& report, Lines& lines) {
  for (const LiveObjects& objects : report.alive) {
    const DiagnosticInfo& info = InfoOf(objects.kind);
    Json fields = {{"kind", info.name},
                   {"count", objects.count},
                   {"size", objects.size.value()},
                   {"call", objects.place.call},
                   {"site", ToJson(objects.place.site)}};
    if (!objects.retained.call.empty()) fields["retained"] = ToJson(objects.retained.site);
    if (objects.range.has_value()) fields["base"] = ToString(objects.range->base);
    if (objects.handle.has_value()) fields["handle"] = ToString(*objects.handle);
    if (objects.references != 0) fields["references"] = objects.references;
    if (objects.value != 0) fields["value"] = absl::StrCat("0x", absl::Hex(objects.value));
    if (objects.device >= 0) fields["device"] = objects.device;
    fields["what"] = info.what;
    fields["advice"] = info.advice;
    lines.Add("leak", fields);
  }
}

}  // namespace

ReportTotals TotalsOf(const ProcessReport& report) {
  ReportTotals totals;
  std::map<DiagnosticKind, Severity> severities;
  for (const ReportedDiagnostic& diagnostic : report.diagnostics) {
    severities.emplace(diagnostic.kind, diagnostic.severity);
  }
  for (const auto& [kind, count] : report.counts) {
    const auto found = severities.find(kind);
    const Severity severity = found != severities.end() ? found->second : InfoOf(kind).severity;
    (severity == Severity::kWarning ? totals.warnings
     : severity == Severity::kLeak  ? totals.alive
                                    : totals.errors) += count;
  }
  totals.warnings += report.warnings.size();
  for (const LiveObjects& objects : report.alive) totals.alive += objects.count;
  totals.injected = report.failure_count;
  return totals;
}

std::string InWords(const Site& site) {
  const std::string code = site.module.empty()
                               ? absl::StrCat("0x", absl::Hex(site.address))
                               : absl::StrCat(Basename(site.module), "+0x", absl::Hex(site.offset));
  std::vector<std::string> parts;
  if (!site.source.empty()) parts.push_back(site.source);
  if (!site.symbol.empty()) parts.push_back(site.symbol);
  if (site.address == 0) return "an unknown place";
  return parts.empty() ? code : absl::StrCat(absl::StrJoin(parts, ", "), " (", code, ")");
}

std::string InWords(const ProcessReport& report, absl::string_view ended, size_t limit) {
  const ReportTotals totals = TotalsOf(report);
  uint64_t calls = 0;
  for (const CallTotal& total : report.calls) calls += total.calls;
  std::string text = absl::StrCat("twinmmu ", kVersion, ": process ", report.pid, ", ",
                                  report.program, ", ", Ended(report, ended), "\n");
  absl::StrAppend(&text, Counted(totals.errors, "error"), ", ", Counted(totals.warnings, "warning"),
                  ", ", Counted(totals.alive, "object"), " left, ",
                  Counted(totals.injected, "injected failure"), ", ", Counted(calls, "call"), "\n");
  absl::StrAppend(&text, OwnRuntime(report), Misuse(report, limit), Alive(report, limit),
                  Running(report), Injected(report), Asked(report, limit));
  if (report.lost_records != 0) {
    absl::StrAppend(
        &text, "\nThe report had no room for ",
        report.lost_records == 1 ? "1 entry" : absl::StrCat(report.lost_records, " entries"),
        ".\n");
  }
  return text + Calls(report);
}

std::string ToJsonLines(const ProcessReport& report, absl::string_view ended) {
  const ReportTotals totals = TotalsOf(report);
  Lines lines(report.pid);
  lines.Add("process", {{"version", kVersion},
                        {"parent", report.parent},
                        {"program", report.program},
                        {"ended", Ended(report, ended)},
                        {"finished", report.finished},
                        {"errors", totals.errors},
                        {"warnings", totals.warnings},
                        {"left", totals.alive},
                        {"injected", totals.injected}});
  AddDiagnostics(report, lines);
  AddAlive(report, lines);
  for (const CallPlace& place : report.running) {
    lines.Add("running", {{"call", place.call}, {"site", ToJson(place.site)}});
  }
  for (const ReportedFailure& failure : report.failures) {
    lines.Add("injected", {{"call", failure.place.call},
                           {"number", failure.number},
                           {"code", DriverCodeName(failure.code)},
                           {"rule", failure.rule},
                           {"site", ToJson(failure.place.site)}});
  }
  for (const CallTotal& total : report.calls) {
    lines.Add("calls",
              {{"call", total.call}, {"calls", total.calls}, {"failures", total.failures}});
  }
  return lines.text();
}

}  // namespace twinmmu::libcuda
