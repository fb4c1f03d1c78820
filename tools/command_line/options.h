// Options: what a command line asks for. Each part belongs to the commands that take it.

#ifndef TWINMMU_TOOLS_COMMAND_LINE_OPTIONS_H_
#define TWINMMU_TOOLS_COMMAND_LINE_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/annotations/ci_reports.h"
#include "tools/views/view_paths.h"

namespace twinmmu {

// The machine to work on.
struct MachineOptions {
  std::vector<std::string> backends;  // empty: what the command does by itself
  std::string driver = "libcuda.so.1";
  std::string profile;
  int sim_devices = -1;  // as many as the profile has
  std::string stream_policy;
  std::string alias_policy;
  bool race_check = false;
  bool init_check = false;
  bool strict_multicast = false;
  bool shared_devices = false;
};

// How results are shown.
struct OutputOptions {
  bool quiet = false;
  // The file for JSON; empty: stdout, in place of the text.
  std::optional<std::string> json;

  bool json_to_stdout() const { return json.has_value() && json->empty(); }
};

struct SuiteOptions {
  bool require_hardware = false;
  bool strict_reference = false;
  bool allow_multicast = false;
  std::string baseline;
  std::string write_baseline;
  std::string filter;
  std::string xml;
  std::string markdown;
};

struct SeedOptions {
  std::string seeds = "1-100";
  uint64_t calls = 1000;
};

struct SoakOptions {
  uint64_t seed = 1;
  double minutes = 1;
  uint64_t steps = 0;
};

struct LitmusOptions {
  bool play = false;
  uint64_t rounds = 0;
  bool ptx_boundaries = false;
};

struct RecordOptions {
  std::string out;
  std::string program = "suite";
};

// Of `run`.
struct ProgramOptions {
  bool strict = false;
  std::string memory;
  std::vector<std::string> failures;
  std::string report;
  uint64_t report_limit = 10;
  std::optional<int> error_exit_code;
};

// Of `run`, beside the paths of its views.
struct EventOptions {
  uint64_t stack_depth = 16;
};

struct AnnotateOptions {
  std::string format;
  std::string source_root;  // empty: the current folder
};

struct NewTestOptions {
  std::string build = "bazel";
  std::string source;
};

struct Options {
  std::string command;
  std::vector<std::string> operands;  // what is no flag, and what follows "--"
  MachineOptions machine;
  OutputOptions output;
  SuiteOptions suite;
  SeedOptions random;
  SoakOptions soak;
  LitmusOptions litmus;
  RecordOptions record;
  ProgramOptions program;
  ViewPaths views;
  EventOptions events;
  CiReports ci;
  AnnotateOptions annotate;
  NewTestOptions new_test;
};

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_COMMAND_LINE_OPTIONS_H_
