#include "tools/command_line/option_groups.h"

#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace twinmmu {
namespace {

constexpr char kMachine[] = "The machine";
constexpr char kOutput[] = "Output";
constexpr char kSuite[] = "The suite";
constexpr char kViews[] = "Views of memory";

// The last one counts, as a script that appends to a common command line expects.
template <typename Set>
CLI::Option* AddValue(CLI::App& app, const char* name, const char* value, const char* description,
                      const Set& set) {
  return app
      .add_option_function<std::string>(
          name, [set](const std::string& text) { set(text); }, description)
      ->type_name(value)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

CLI::Option* AddText(CLI::App& app, const char* name, const char* value, const char* description,
                     std::string& text) {
  return AddValue(app, name, value, description,
                  [&text](const std::string& given) { text = given; });
}

bool Parse(const std::string& text, uint64_t& number) { return absl::SimpleAtoi(text, &number); }
bool Parse(const std::string& text, int& number) { return absl::SimpleAtoi(text, &number); }
bool Parse(const std::string& text, double& number) { return absl::SimpleAtod(text, &number); }

// `rule`: what it must be.
template <typename Number>
CLI::Option* AddNumber(CLI::App& app, const char* name, const char* description, Number& number,
                       const char* rule) {
  return AddValue(app, name, "N", description, [&number, name, rule](const std::string& text) {
    if (Parse(text, number)) return;
    throw CLI::ValidationError(absl::StrCat(name, "=", text, ": it is ", rule, "."));
  });
}

constexpr char kWholeNumber[] = "a whole number, 0 or more";

}  // namespace

void AddBackends(CLI::App& app, MachineOptions& options) {
  AddValue(app, "--backend", "LIST",
           "sim, cuda, or both as sim,cuda; conformance, soak and litmus also run on cuda_on_sim, "
           "the backend for GPUs on the simulated driver. Default: cuda for info, sim for the "
           "others",
           [&options](const std::string& list) {
             options.backends = absl::StrSplit(list, ',', absl::SkipEmpty());
           })
      ->group(kMachine);
}

void AddDriver(CLI::App& app, MachineOptions& options) {
  AddText(app, "--driver", "LIBRARY",
          "the driver library of --backend=cuda: a name that the dynamic linker finds, or a path. "
          "Default: libcuda.so.1",
          options.driver)
      ->group(kMachine);
}

void AddProfile(CLI::App& app, MachineOptions& options) {
  AddText(app, "--profile", "NAME|FILE",
          "the simulated machine: the name of a profile, or a file that ends in .json. Default: "
          "reference",
          options.profile)
      ->group(kMachine);
  AddNumber(app, "--sim-devices", "how many devices it has. Default: those of its profile",
            options.sim_devices, "a number of devices")
      ->group(kMachine);
  AddText(app, "--stream-policy", "POLICY",
          "when it runs the work of streams: eager, deferred, seeded or seeded:NUMBER. Default: "
          "that of its profile",
          options.stream_policy)
      ->group(kMachine);
  AddText(app, "--alias-policy", "POLICY",
          "what is read through one of several addresses if an alias fence is missing: coherent, "
          "stale, l1, random or random:NUMBER. Default: that of its profile",
          options.alias_policy)
      ->group(kMachine);
  app.add_flag("--race-check", options.race_check,
               "diagnose races of all memory, with one address, too, and of shared memory")
      ->group(kMachine);
  app.add_flag("--init-check", options.init_check,
               "diagnose reads of memory that nothing has written")
      ->group(kMachine);
}

void AddSharedDevices(CLI::App& app, MachineOptions& options) {
  app.add_flag("--shared-devices", options.shared_devices,
               "others use the devices too: what only free memory can show is not tested")
      ->group(kMachine);
}

void AddQuiet(CLI::App& app, OutputOptions& options) {
  app.add_flag("--quiet", options.quiet, "print only what is not as expected, and no progress")
      ->group(kOutput);
}

void AddJson(CLI::App& app, OutputOptions& options) {
  AddValue(app, "--json", "FILE",
           "the results as JSON: on stdout in place of the text, or beside it into FILE",
           [&options](const std::string& file) { options.json = file == "-" ? "" : file; })
      ->expected(0, 1)
      ->default_str("-")
      ->group(kOutput);
}

void AddSuite(CLI::App& app, SuiteOptions& options) {
  AddText(app, "--filter", "PATTERN",
          "only tests that match, as in GoogleTest: 'sim/cuMemMap.*:*.DATA_*'", options.filter)
      ->group(kSuite);
  app.add_flag("--require-hardware", options.require_hardware,
               "missing hardware (no driver, no second device) is a failure")
      ->group(kSuite);
  app.add_flag("--strict-reference", options.strict_reference,
               "on a machine that was never recorded, a difference from the reference is also a "
               "failure")
      ->group(kSuite);
  AddText(app, "--baseline", "FILE", "the verdicts must be those of this file, whatever they are",
          options.baseline)
      ->group(kSuite);
  AddText(app, "--write-baseline", "FILE", "write the verdicts to this file",
          options.write_baseline)
      ->group(kSuite);
  AddText(app, "--xml", "FILE", "also write a JUnit report", options.xml)->group(kOutput);
  AddText(app, "--markdown", "FILE", "also write the table as Markdown", options.markdown)
      ->group(kOutput);
}

void AddAllowMulticast(CLI::App& app, SuiteOptions& options) {
  app.add_flag("--allow-multicast", options.allow_multicast,
               "with --backend=cuda, also test multicast objects. On hardware, failed calls can "
               "put GPUs out of service for everybody on the machine")
      ->group(kSuite);
}

void AddSeeds(CLI::App& app, SeedOptions& options) {
  AddText(app, "--seeds", "FIRST-LAST",
          "the seeds, or one of them; each is a sequence of calls. Default: 1-100", options.seeds);
  AddNumber(app, "--calls", "how many calls each sequence makes. Default: 1000", options.calls,
            kWholeNumber);
}

void AddSoak(CLI::App& app, SoakOptions& options) {
  AddNumber(app, "--seed", "the seed of the first program. Default: 1", options.seed, kWholeNumber);
  AddNumber(app, "--minutes", "for how long to begin new programs. Default: 1", options.minutes,
            "a number of minutes");
  AddNumber(app, "--steps", "how many steps to make. Default: 0, as many as --minutes allow",
            options.steps, kWholeNumber);
}

void AddLitmus(CLI::App& app, LitmusOptions& options, MachineOptions& machine) {
  app.add_flag("--play", options.play,
               "play each test with --backend=sim too, as kernels on the simulated machine");
  AddNumber(app, "--rounds",
            "how often a machine plays each test. Default: 0, which is 1000000 times on a GPU and "
            "2048 times on the simulator",
            options.rounds, kWholeNumber);
  app.add_flag("--strict-multicast", machine.strict_multicast,
               "a multicast address and those under it are aliases like any other");
  app.add_flag("--ptx-boundaries", options.ptx_boundaries,
               "the start of a grid is a boundary for anything later, as PTX 8.9.4 can be read");
}

void AddRecord(CLI::App& app, RecordOptions& options) {
  AddText(app, "--out", "FILE", "the recording to write; compressed if its name ends in .zst",
          options.out);
  AddText(app, "--program", "WHAT",
          "what to run: suite, random (see --seeds and --calls), or a file of calls, such as a "
          "recording. Default: suite",
          options.program);
}

void AddProgram(CLI::App& app, ProgramOptions& options) {
  AddText(app, "--report", "FILE", "also write the report to this file, as JSON Lines",
          options.report)
      ->group(kOutput);
  AddNumber(app, "--report-limit",
            "how many errors, warnings and leaks of one kind the report shows; 0: all. The others "
            "are counted. Default: 10",
            options.report_limit, kWholeNumber)
      ->group(kOutput);
  AddValue(app, "--error-exitcode", "CODE",
           "the exit code if the program succeeds but the report has errors or leaks; 99 if none "
           "is given",
           [&options](const std::string& text) {
             int code = 0;
             if (!absl::SimpleAtoi(text, &code) || code < 1 || code > 255) {
               throw CLI::ValidationError(
                   absl::StrCat("--error-exitcode=", text, ": must be a number from 1 to 255."));
             }
             options.error_exit_code = code;
           })
      ->expected(0, 1)
      ->default_str("99");
  app.add_flag("--strict", options.strict, "the driver follows its documentation, without quirks")
      ->group(kMachine);
  AddText(app, "--memory", "SIZE",
          "how much memory is free on each device at the start, such as 512MiB", options.memory)
      ->group(kMachine);
  app.add_option("--fail", options.failures,
                 "calls that fail, such as cuMemMap:3:OUT_OF_MEMORY; may be given several times")
      ->type_name("CALL:WHEN:CODE")
      ->allow_extra_args(false);
}

void AddEvents(CLI::App& app, ViewPaths& views, EventOptions& options) {
  AddText(app, "--record", "FILE",
          "write what happens to memory, event by event, to this file, for `twinmmu view`",
          views.record)
      ->group(kViews);
  AddNumber(app, "--stack-depth",
            "how many frames of its call stack each event has, up to 64. Default: 16; 1 is the "
            "place of the call alone, and much faster",
            options.stack_depth, "a number from 0 to 64")
      ->group(kViews);
}

void AddViews(CLI::App& app, ViewPaths& views) {
  AddText(app, "--html", "FILE", "write a page that shows the memory over time, for any browser",
          views.html)
      ->group(kViews);
  AddText(app, "--svg", "FILE", "write the same as a drawing, for documents", views.svg)
      ->group(kViews);
  AddText(app, "--trace", "FILE", "write a trace that Perfetto and chrome://tracing open",
          views.trace)
      ->group(kViews);
  AddText(app, "--snapshot", "FILE",
          "write a snapshot that the memory viewer of PyTorch opens, as a pickle", views.snapshot)
      ->group(kViews);
  AddText(app, "--flamegraph", "FILE",
          "write the bytes that are left, and those at the peak, by call stack, for viewers of "
          "flame graphs",
          views.flame_graph)
      ->group(kViews);
}

void AddCiReports(CLI::App& app, CiReports& reports) {
  AddText(app, "--sarif", "FILE", "write misuse and leaks for code review, as SARIF", reports.sarif)
      ->group(kViews);
  AddText(app, "--junit", "FILE", "write misuse and leaks as a JUnit report", reports.junit)
      ->group(kViews);
  app.add_flag("--annotations", reports.annotations,
               "print misuse and leaks for the log of a job of GitHub Actions")
      ->group(kViews);
}

void AddAnnotate(CLI::App& app, AnnotateOptions& options) {
  AddText(
      app, "--format", "FORMAT",
      "github: workflow commands, for the log of a job; gitlab: a Code Quality report; junit: a "
      "test case for each finding; sarif: for code review",
      options.format);
  AddText(app, "--source-root", "DIR",
          "the folder below which the CI system has the sources. Default: the current one",
          options.source_root);
}

void AddNewTest(CLI::App& app, NewTestOptions& options) {
  app.add_option("--build", options.build, "what builds the test: bazel or cmake. Default: bazel")
      ->type_name("SYSTEM")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  AddText(app, "--source", "DIR",
          "the source tree of TwinMMU to build against. Default: the one that `bazel run` was "
          "started in; for CMake, the installed one",
          options.source);
}

}  // namespace twinmmu
