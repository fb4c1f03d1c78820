#include "tools/command_line/command_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tools/command_line/option_groups.h"

namespace twinmmu {
namespace {

void AddMachine(CLI::App& app, Options& options) {
  AddBackends(app, options.machine);
  AddDriver(app, options.machine);
  AddProfile(app, options.machine);
}

void AddOutput(CLI::App& app, Options& options) {
  AddQuiet(app, options.output);
  AddJson(app, options.output);
}

CommandInfo Conformance() {
  return {"conformance",
          "",
          "run the suite, and print a verdict for each rule",
          "Runs the conformance suite on one or several backends, and prints one row per rule with "
          "its verdict on each, the deviations that it saw, and above the table the messages of "
          "what failed or differs. A recorded deviation that does not show is a failure.",
          [](CLI::App& app, Options& options) {
            AddSuite(app, options.suite);
            AddAllowMulticast(app, options.suite);
            AddMachine(app, options);
            AddSharedDevices(app, options.machine);
            AddOutput(app, options);
          },
          {{"twinmmu conformance", "the suite on the simulator"},
           {"twinmmu conformance --filter='*/cuMemMap.*'", "only the rules of cuMemMap"},
           {"twinmmu conformance --backend=sim,cuda --require-hardware",
            "simulator and GPU side by side"},
           {"twinmmu conformance --backend=cuda --baseline=my_gpu.txt --xml=report.xml",
            "on a GPU runner, against verdicts that were reviewed once"}},
          {{"0", "nothing failed, and something ran"},
           {"1", "a verdict is not as expected, or nothing ran"},
           {"2", "the command line is wrong"}}};
}

CommandInfo Info() {
  return {"info",
          "",
          "describe a driver, its devices and its functions",
          "Prints the version of the driver, each device with its memory, granularities and "
          "attributes of virtual memory, and whether each function that TwinMMU uses was found, is "
          "too old or is missing.",
          [](CLI::App& app, Options& options) {
            AddMachine(app, options);
            AddJson(app, options.output);
          },
          {{"twinmmu info", "the driver of this machine"},
           {"twinmmu info --backend=sim --profile=strict", "a simulated machine"}},
          {}};
}

CommandInfo Doctor() {
  return {"doctor",
          "",
          "say what this machine has, what that means, and what to do",
          "Looks at driver, devices, permissions, limits and toolkit, and says for each command "
          "whether it works here, and what to do about what is missing. It changes nothing.",
          [](CLI::App& app, Options& options) {
            AddDriver(app, options.machine);
            AddOutput(app, options);
          },
          {{"twinmmu doctor", "this machine"}, {"twinmmu doctor --json", "the same for a program"}},
          {{"0", "the simulator has all that it needs"},
           {"1", "something that the simulator needs is missing"},
           {"2", "the command line is wrong"}}};
}

CommandInfo Run() {
  return {"run",
          "-- PROGRAM [ARGUMENT...]",
          "run a program on the simulated driver, and report its misuse",
          "Puts the simulated libcuda.so.1, and our CUDA runtime and NVML, in front of those that "
          "the program would find (by LD_LIBRARY_PATH and LD_AUDIT), runs it with its usual input, "
          "output and signals, and when it has ended prints on stderr what it did wrong, what it "
          "left and which calls it made.\n\n"
          "A flag that is not given leaves its environment variable (TWINMMU_PROFILE, "
          "TWINMMU_DEVICES, TWINMMU_FAIL, ...) as it is.",
          [](CLI::App& app, Options& options) {
            AddProgram(app, options.program);
            AddEvents(app, options.views, options.events);
            AddViews(app, options.views);
            AddCiReports(app, options.ci);
            AddProfile(app, options.machine);
            AddQuiet(app, options.output);
          },
          {{"twinmmu run -- ./my_allocator_test --some-flag", "a test of yours"},
           {"twinmmu run --error-exitcode --report=report.jsonl -- python3 test_pool.py",
            "in CI: exit code 99 if there are errors or leaks"},
           {"twinmmu run --fail=cuMemMap:3:OUT_OF_MEMORY -- ./my_allocator_test",
            "the third cuMemMap fails"},
           {"twinmmu run --profile=eight-devices --memory=512MiB -- ./my_allocator_test",
            "another machine"},
           {"twinmmu run --trace=trace.json -- ./my_allocator_test",
            "what happens to memory, for Perfetto"}},
          {{"N", "that of the program; if a signal ended it, 128 plus the signal's number"},
           {"99", "with --error-exitcode: the program ended with 0, but there are errors or leaks"},
           {"126", "the program cannot be run"},
           {"127", "there is no such program"},
           {"1", "nobody can read the report: stderr is closed or full"},
           {"2", "the command line is wrong"}}};
}

CommandInfo Annotate() {
  return {"annotate",
          "REPORT",
          "show the report of a run as a CI system does",
          "Reads a report of `twinmmu run --report=FILE`, and prints its misuse and leaks in a "
          "format that a CI system shows beside the sources.",
          [](CLI::App& app, Options& options) { AddAnnotate(app, options.annotate); },
          {{"twinmmu annotate --format=github report.jsonl", "in a job of GitHub Actions"},
           {"twinmmu annotate --format=gitlab report.jsonl > gl-code-quality-report.json",
            "in a job of GitLab"}},
          {{"0", "the report was read, whatever it complains of"},
           {"2", "the command line is wrong, or the report cannot be read"}}};
}

CommandInfo View() {
  return {"view",
          "RECORD [RECORD]",
          "show what happened to memory in a run, or what grew between two",
          "Reads a record of `twinmmu run --record=FILE`, and writes views of it that other tools "
          "open. Without a view, prints which places of the program made how much memory: the most "
          "that was alive at once, and what was left. With two records, what grew from the first "
          "to the second.\n\n"
          "A folder is the records that processes wrote there (TWINMMU_RECORD).",
          [](CLI::App& app, Options& options) {
            AddViews(app, options.views);
            AddCiReports(app, options.ci);
            AddOutput(app, options);
          },
          {{"twinmmu view run.events --trace=trace.json", "for Perfetto"},
           {"twinmmu view before.events after.events", "what grew"}},
          {{"0", "the records were read, and the views are written"},
           {"2", "the command line is wrong, or a file cannot be read or written"}}};
}

CommandInfo Random() {
  return {
      "random",
      "",
      "compare random calls with a model",
      "Each seed is a sequence of calls, plausible and wrong. A simple model of the contract "
      "runs beside the backend; after each call the code, the result and everything that can "
      "be queried must match. The first difference is shrunk to a few calls and printed as the "
      "body of a test.\n\n"
      "On a GPU it leaves out undefined calls, ranges beyond its own reservation, and copies of "
      "host memory that would end the process.",
      [](CLI::App& app, Options& options) {
        AddSeeds(app, options.random);
        AddMachine(app, options);
        AddSharedDevices(app, options.machine);
        AddOutput(app, options);
      },
      {{"twinmmu random --seeds=1-1000", "more sequences than usual"},
       {"twinmmu random --backend=cuda --shared-devices", "on a GPU that others use too"}},
      {}};
}

CommandInfo Soak() {
  return {"soak",
          "",
          "run random programs over the allocators",
          "Runs random programs over pools and buffers of all kinds at once. A difference from the "
          "model is printed with its seed, and ends the run; --seed=N --steps=1000 shows it again.",
          [](CLI::App& app, Options& options) {
            AddSoak(app, options.soak);
            AddMachine(app, options);
            AddSharedDevices(app, options.machine);
            AddOutput(app, options);
          },
          {{"twinmmu soak --backend=sim,cuda_on_sim --minutes=5", "after a change"},
           {"twinmmu soak --seed=17 --steps=1000", "one program again"}},
          {}};
}

CommandInfo Deviations() {
  return {"deviations",
          "",
          "run the program of each deviation",
          "Runs, in child processes, the programs that show where a driver departs from its "
          "documentation, and says of each whether it deviates, and whether that is on record.",
          [](CLI::App& app, Options& options) {
            AddMachine(app, options);
            AddOutput(app, options);
          },
          {{"twinmmu deviations --backend=sim,cuda", "simulator and GPU, one after the other"}},
          {}};
}

CommandInfo Litmus() {
  return {
      "litmus",
      "FILE...",
      "show what the memory model allows, and what a machine does",
      "Reads litmus tests of alias coherence, as JSON Lines, and prints for each the outcomes "
      "that the model allows, the verdict, and the races with what would mend them; if it is "
      "played, also how often a machine showed each outcome.",
      [](CLI::App& app, Options& options) {
        AddLitmus(app, options.litmus, options.machine);
        AddMachine(app, options);
        AddOutput(app, options);
      },
      {{"twinmmu litmus tests.jsonl", "what the model allows"},
       {"twinmmu litmus tests.jsonl --play --profile=strict", "played on the simulated machine"},
       {"twinmmu litmus tests.jsonl --backend=cuda --rounds=1000000 --json=counts.json",
        "played on devices 0 and 1"}},
      {{"0", "as the files say"},
       {"1",
        "a verdict or a hazard is not as the file says, a test cannot be read, or a machine "
        "showed what the model forbids"},
       {"2", "the command line is wrong, or a file cannot be read"}}};
}

CommandInfo Ptx() {
  return {"ptx",
          "FILE...",
          "say what device code needs, and which of its kernels run",
          "Reads modules, as PTX or fat binaries with PTX for sm_90, and prints for each which of "
          "its kernels the simulator runs, and the instructions that it does not cover, with their "
          "lines. A kernel that has none of these, and calls no function that has, runs whatever "
          "else is in its module.",
          [](CLI::App& app, Options& options) { AddOutput(app, options); },
          {{"twinmmu ptx kernels.ptx", "what it needs"},
           {"twinmmu ptx --json module.fatbin", "the same, for a program"}},
          {{"0", "all kernels run"},
           {"1", "a kernel does not run, or a file is no PTX"},
           {"2", "the command line is wrong, or a file cannot be read"}}};
}

CommandInfo Record() {
  return {
      "record",
      "",
      "record calls with their results",
      "Records what a driver answers: to the suite, to random calls, or to the calls of a file "
      "(--program). Recordings are played on the simulator by `twinmmu replay`, and compared "
      "by `twinmmu compare`.",
      [](CLI::App& app, Options& options) {
        AddRecord(app, options.record);
        AddSeeds(app, options.random);
        AddSuite(app, options.suite);
        AddMachine(app, options);
        AddSharedDevices(app, options.machine);
        AddQuiet(app, options.output);
      },
      {{"twinmmu record --backend=cuda --out=suite.jsonl.zst", "the suite"},
       {"twinmmu record --backend=cuda --program=random --out=random.jsonl.zst", "random calls"},
       {"twinmmu record --backend=cuda --program=calls.jsonl --out=answers.jsonl",
        "calls of your own"}},
      {}};
}

CommandInfo Replay() {
  return {"replay",
          "FILE...",
          "play recordings on the simulator",
          "Plays recordings on the simulator, and shows each line that comes out otherwise.",
          [](CLI::App& app, Options& options) { AddOutput(app, options); },
          {{"twinmmu replay suite.jsonl.zst random.jsonl.zst", "two recordings"}},
          {{"0", "there is no difference"},
           {"1", "there is a difference, or a recording cannot be played"},
           {"2", "the command line is wrong"}}};
}

CommandInfo Compare() {
  return {"compare",
          "FILE FILE",
          "show what two machines do differently",
          "Compares two recordings, and lists by rule how the second differs from the first.",
          [](CLI::App& app, Options& options) { AddOutput(app, options); },
          {{"twinmmu compare before.jsonl.zst after.jsonl.zst", "before and after an upgrade"}},
          {{"0", "there is no difference"},
           {"1", "there is a difference"},
           {"2", "the command line is wrong, or a file cannot be read"}}};
}

CommandInfo NewTest() {
  return {"new-test",
          "DIR",
          "lay out a small allocator test of your own",
          "Writes a small allocator and its test into a new folder, with what Bazel or CMake need "
          "to build it. The folder must not exist, or be empty.",
          [](CLI::App& app, Options& options) { AddNewTest(app, options.new_test); },
          {{"twinmmu new-test my_test --source=$HOME/twinmmu", "for Bazel"},
           {"twinmmu new-test my_test --build=cmake", "for CMake, with the installed TwinMMU"}},
          {{"0", "the files are written"},
           {"1", "they cannot be written"},
           {"2", "the command line is wrong"}}};
}

CommandInfo Completion() {
  return {"completion",
          "bash|zsh|fish",
          "print the completion script of a shell",
          "Prints a script that makes the shell complete commands, flags and their values.",
          [](CLI::App&, Options&) {},
          {{"source <(twinmmu completion bash)", "in this shell"},
           {"twinmmu completion fish > ~/.config/fish/completions/twinmmu.fish", "for fish"}},
          {}};
}

CommandInfo Manual() {
  return {"manual",
          "",
          "print the manual page",
          "Prints the manual page, in the format of man(7).",
          [](CLI::App&, Options&) {},
          {{"twinmmu manual | man -l -", "reads it"}},
          {}};
}

const std::vector<ExitCode>& UsualExitCodes() {
  static const auto* const codes = new std::vector<ExitCode>{
      {"0", "as expected"}, {"1", "not as expected"}, {"2", "the command line is wrong"}};
  return *codes;
}

std::vector<std::string> Choices(const std::string& option) {
  if (option == "backend") return {"sim", "cuda", "cuda_on_sim"};
  if (option == "stream-policy") return {"eager", "deferred", "seeded"};
  if (option == "alias-policy") return {"coherent", "stale", "l1", "random"};
  if (option == "format") return {"github", "gitlab", "junit", "sarif"};
  if (option == "build") return {"bazel", "cmake"};
  if (option == "program") return {"suite", "random"};
  return {};
}

}  // namespace

const std::vector<CommandInfo>& AllCommands() {
  static const auto* const commands = new std::vector<CommandInfo>{
      Conformance(), Info(),    Doctor(),     Run(),        View(),  Annotate(),
      Random(),      Soak(),    Deviations(), Litmus(),     Ptx(),   Record(),
      Replay(),      Compare(), NewTest(),    Completion(), Manual()};
  return *commands;
}

const CommandInfo* FindCommand(absl::string_view name) {
  const std::vector<CommandInfo>& all = AllCommands();
  const auto found = std::find_if(
      all.begin(), all.end(), [name](const CommandInfo& command) { return command.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> CommandNames() {
  std::vector<std::string> names;
  for (const CommandInfo& command : AllCommands()) names.push_back(command.name);
  return names;
}

const std::vector<ExitCode>& ExitCodesOf(const CommandInfo& command) {
  return command.exit_codes.empty() ? UsualExitCodes() : command.exit_codes;
}

// The first, where none was said; CLI11 has a name for that, which changes with its versions.
std::string GroupOf(const CLI::Option& option) {
  const std::string group = option.get_group();
  const bool is_ours =
      std::find(std::begin(kGroups), std::end(kGroups), group) != std::end(kGroups);
  return is_ours ? group : kGroups[0];
}

std::vector<OptionInfo> OptionsOf(const CommandInfo& command) {
  CLI::App app;
  Options options;
  command.add_options(app, options);
  std::vector<OptionInfo> infos;
  for (const CLI::Option* const option : app.get_options()) {
    if (option == app.get_help_ptr()) continue;
    OptionInfo info;
    info.name = option->get_lnames().front();
    const bool has_value = option->get_items_expected_max() > 0;
    if (has_value) info.value = option->get_type_name();
    info.value_may_be_absent = has_value && option->get_expected_min() == 0;
    info.description = option->get_description();
    info.group = GroupOf(*option);
    info.choices = Choices(info.name);
    infos.push_back(std::move(info));
  }
  return infos;
}

std::string Spelling(const OptionInfo& option) {
  if (option.value.empty()) return absl::StrCat("--", option.name);
  return option.value_may_be_absent ? absl::StrCat("--", option.name, "[=", option.value, "]")
                                    : absl::StrCat("--", option.name, "=", option.value);
}

}  // namespace twinmmu
