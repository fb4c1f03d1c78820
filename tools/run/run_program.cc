#include "tools/run/run_program.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "api/diagnostics.h"
#include "api/files/read_file.h"
#include "nlohmann/json.hpp"
#include "sim/libcuda/injector.h"
#include "sim/libcuda/report/report_words.h"
#include "sim/libcuda/settings.h"
#include "sim/libcuda/symbols.h"
#include "tools/annotations/annotations.h"
#include "tools/commands/failure.h"
#include "tools/run/child_program.h"
#include "tools/run/driver_library.h"
#include "tools/run/host_error.h"
#include "tools/run/run_folder.h"
#include "tools/run/symbolize.h"
#include "tools/terminal/terminal.h"
#include "tools/views/merged_events.h"
#include "tools/views/view_files.h"

namespace twinmmu {
namespace {

using libcuda::ProcessReport;
using libcuda::ReportTotals;

constexpr int kCannotRun = 126;
constexpr int kNotFound = 127;
constexpr char kStaticRoom[] = "glibc.rtld.optional_static_tls";

using Environment = std::map<std::string, std::string>;

Environment OwnEnvironment() {
  Environment variables;
  for (const char* const* line = environ; line != nullptr && *line != nullptr; ++line) {
    const std::string text = *line;
    const size_t equals = std::min(text.find('='), text.size());
    if (equals < text.size()) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::vector<std::string> LinesOf(const Environment& variables) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : variables) lines.push_back(absl::StrCat(name, "=", value));
  return lines;
}

// As the library will read them: what is wrong is better said before the program runs.
absl::Status CheckSettings(const Environment& variables) {
  const std::vector<std::string> lines = LinesOf(variables);
  std::vector<const char*> pointers;
  for (const std::string& line : lines) pointers.push_back(line.c_str());
  pointers.push_back(nullptr);
  const absl::StatusOr<libcuda::Settings> settings = libcuda::ReadSettings(pointers.data());
  if (!settings.ok()) return settings.status();
  libcuda::Injector injector(libcuda::kNamesOfCalls);
  return injector.SetRules(settings->failures);
}

// Appends to what a variable has.
void Append(const std::string& value, std::string& variable) {
  absl::StrAppend(&variable, variable.empty() ? "" : ":", value);
}

// In front of what is there, so that it is found first.
void UseLibrary(const RunFolders& folders, const RunOptions& options, Environment& variables) {
  std::string& path = variables["LD_LIBRARY_PATH"];
  path = path.empty() ? folders.library() : absl::StrCat(folders.library(), ":", path);
  // Where there are several, the last one has the last word.
  Append(absl::StrCat(folders.library(), "/", kAuditLibrary), variables["LD_AUDIT"]);
  // Where it is set, what a program is linked to takes of this room, too: jemalloc 2632 bytes.
  std::string& tunables = variables["GLIBC_TUNABLES"];
  if (!absl::StrContains(tunables, kStaticRoom))
    Append(absl::StrCat(kStaticRoom, "=4096"), tunables);
  variables[libcuda::kRunFolderVariable] = folders.reports();
  if (!AsksForAny(options.views)) return;
  variables["TWINMMU_RECORD"] = folders.events();
  variables["TWINMMU_STACK_DEPTH"] = absl::StrCat(options.stack_depth);
}

struct Outcome {
  Ending ending;
  std::vector<ProcessReport> reports;
  ReportTotals totals;
  absl::Status views;
};

ReportTotals TotalsOf(const std::vector<ProcessReport>& reports) {
  ReportTotals all;
  for (const ProcessReport& report : reports) {
    const ReportTotals totals = libcuda::TotalsOf(report);
    all.errors += totals.errors;
    all.warnings += totals.warnings;
    all.alive += totals.alive;
    all.injected += totals.injected;
  }
  return all;
}

absl::Status WriteViewsOf(const RunOptions& options, const RunFolders& folders) {
  if (!AsksForAny(options.views)) return absl::OkStatus();
  const absl::StatusOr<std::unique_ptr<MergedEvents>> events =
      MergedEvents::OpenFolder(folders.events());
  if (!events.ok()) return events.status();
  const absl::Status written = WriteViews(options.views, **events);
  for (const std::string& warning : (*events)->warnings())
    std::cerr << "twinmmu: " << warning << "\n";
  return written;
}

// Leaves nothing on the host, whatever ends this process.
absl::StatusOr<Outcome> RunAndRead(const RunOptions& options,
                                   const std::vector<std::string>& command, Environment variables) {
  Foreground foreground;
  const absl::StatusOr<std::unique_ptr<RunFolders>> folders = RunFolders::Make();
  if (!folders.ok()) return folders.status();
  UseLibrary(**folders, options, variables);
  absl::StatusOr<Ending> ending = foreground.Run(command, LinesOf(variables));
  if (!ending.ok()) return ending.status();
  Outcome outcome{*std::move(ending), (*folders)->Read(), {}, {}};
  outcome.views = WriteViewsOf(options, **folders);
  outcome.totals = TotalsOf(outcome.reports);
  return outcome;
}

int CodeOf(const absl::Status& status) {
  if (absl::IsNotFound(status)) return kNotFound;
  return absl::IsPermissionDenied(status) ? kCannotRun : kUsageError;
}

void Symbolize(Outcome& outcome) {
  std::vector<libcuda::Site*> sites;
  for (ProcessReport& report : outcome.reports) {
    for (libcuda::Site* site : libcuda::SitesOf(report)) sites.push_back(site);
  }
  twinmmu::Symbolize(sites);
}

// How a process ended, where this is known here.
std::string Ended(const Outcome& outcome, const ProcessReport& report) {
  if (report.pid == outcome.ending.pid) return outcome.ending.words;
  if (!report.finished && kill(static_cast<pid_t>(report.pid), 0) == 0) return "is still running";
  return "";
}

std::string NeverCalled(const std::string& program, const Outcome& outcome) {
  return absl::StrCat(
      "twinmmu: ", program, " ", outcome.ending.words,
      ", and none of its processes called the simulated driver.\n"
      "If one should have, possible reasons are:\n"
      "  it is linked statically, without a dynamic linker;\n"
      "  it changes LD_AUDIT, or runs with another user's privileges, which removes it;\n"
      "  it runs elsewhere: in a container, or on another machine;\n"
      "  it first looks for a GPU in another way, and found none;\n"
      "  the host had no room for its report: the disk is full, or ulimit -v or -f is low.\n");
}

std::string InWords(const std::string& program, const Outcome& outcome, size_t limit) {
  if (outcome.reports.empty()) return NeverCalled(program, outcome);
  std::string text;
  for (const ProcessReport& report : outcome.reports) {
    absl::StrAppend(&text, text.empty() ? "" : "\n",
                    libcuda::InWords(report, Ended(outcome, report), limit));
  }
  const bool of_program =
      std::any_of(outcome.reports.begin(), outcome.reports.end(),
                  [&](const ProcessReport& report) { return report.pid == outcome.ending.pid; });
  if (of_program && outcome.reports.size() == 1) return text;
  absl::StrAppend(&text, "\ntwinmmu: ", program, " ", outcome.ending.words, "; ",
                  outcome.reports.size(), " process(es) called the driver: ", outcome.totals.errors,
                  " error(s), ", outcome.totals.warnings, " warning(s), ", outcome.totals.alive,
                  " object(s) left\n");
  return text;
}

std::string ToJsonLines(const std::vector<std::string>& command, const Outcome& outcome,
                        int exit_code) {
  std::string text;
  for (const ProcessReport& report : outcome.reports) {
    text += libcuda::ToJsonLines(report, Ended(outcome, report));
  }
  const nlohmann::ordered_json run = {{"type", "run"},
                                      {"pid", outcome.ending.pid},
                                      {"command", command},
                                      {"ended", outcome.ending.words},
                                      {"exit_code", exit_code},
                                      {"processes", outcome.reports.size()},
                                      {"errors", outcome.totals.errors},
                                      {"warnings", outcome.totals.warnings},
                                      {"left", outcome.totals.alive},
                                      {"injected", outcome.totals.injected}};
  return text + run.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

absl::Status WriteCiReportsOf(const CiReports& ci, const std::string& report) {
  if (!ci.any()) return absl::OkStatus();
  const std::unique_ptr<LineReader> lines = LineReader::Of("the report", report);
  const absl::StatusOr<std::vector<Annotation>> annotations =
      ReadAnnotations(*lines, UsualSourceRoot());
  return annotations.ok() ? WriteCiReports(ci, *annotations, std::cout) : annotations.status();
}

// The first word of what is wrong.
std::string InColour(const std::string& text, const Terminal& terminal) {
  if (!terminal.colour) return text;
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (std::string& line : lines) {
    for (const absl::string_view word : {"error:", "leak:", "warning:"}) {
      if (!absl::StartsWith(line, word)) continue;
      const std::string rest = line.substr(word.size());
      line = absl::StrCat(word == "warning:" ? terminal.Yellow(word) : terminal.Red(word), rest);
      break;
    }
  }
  return absl::StrJoin(lines, "\n");
}

bool HasErrors(const Outcome& outcome) { return outcome.totals.errors + outcome.totals.alive > 0; }

// Something that a person should read.
bool IsWrong(const Outcome& outcome) {
  return HasErrors(outcome) || outcome.totals.warnings > 0 || outcome.ending.exit_code != 0 ||
         outcome.reports.empty();
}

int ExitCode(const RunOptions& options, const Outcome& outcome) {
  const bool wrong = HasErrors(outcome);
  const bool fine = outcome.ending.exit_code == 0;
  return fine && wrong ? options.error_exit_code.value_or(0) : outcome.ending.exit_code;
}

int CannotWrite(const std::string& path) {
  return UsageError(absl::StrCat("cannot write ", path, ": ", HostErrorInWords(errno)));
}

}  // namespace

int RunProgram(const RunOptions& options, const std::vector<std::string>& command) {
  Environment variables = OwnEnvironment();
  for (const auto& [name, value] : options.variables) variables[name] = value;
  const absl::Status valid = CheckSettings(variables);
  if (!valid.ok()) return UsageError(valid);
  std::ofstream file;
  if (!options.report_file.empty()) {
    file.open(options.report_file);
    if (!file) return CannotWrite(options.report_file);
  }
  const absl::Status can_write = CheckViews(options.views);
  if (!can_write.ok()) return UsageError(can_write);
  absl::StatusOr<Outcome> outcome = RunAndRead(options, command, variables);
  if (!outcome.ok()) return Fail(outcome.status(), CodeOf(outcome.status()));
  Symbolize(*outcome);
  const int exit_code = ExitCode(options, *outcome);
  if (!options.report_file.empty()) {
    file << ToJsonLines(command, *outcome, exit_code);
    file.close();
    if (!file) return CannotWrite(options.report_file);
  }
  const absl::Status ci = WriteCiReportsOf(options.ci, ToJsonLines(command, *outcome, exit_code));
  if (!ci.ok()) return UsageError(ci);
  if (!outcome->views.ok()) return UsageError(outcome->views);
  if (options.quiet && !IsWrong(*outcome)) return exit_code;
  std::cerr << InColour(InWords(command[0], *outcome, options.report_limit),
                        TerminalOf(STDERR_FILENO));
  return std::cerr.good() ? exit_code : kOutputLost;
}

}  // namespace twinmmu
