// twinmmu: the command line tool.

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "backend/cuda_driver.h"
#include "backend/loader.h"
#include "conformance/instances/cuda_on_sim_target.h"
#include "conformance/instances/cuda_target.h"
#include "conformance/instances/random/random_cuda.h"
#include "conformance/instances/random/random_sim.h"
#include "conformance/instances/sim_target.h"
#include "conformance/litmus/litmus_counts.h"
#include "conformance/litmus/litmus_timing.h"
#include "conformance/runner.h"
#include "sim/profile/profile_json.h"
#include "sim/simulator.h"
#include "tools/command_line.h"
#include "tools/commands.h"
#include "tools/driver_library.h"
#include "tools/failure.h"
#include "tools/litmus_command.h"
#include "tools/run_command.h"

ABSL_FLAG(std::vector<std::string>, backend, {},
          "the backends to run on: sim, cuda, or both as sim,cuda; for conformance and soak also "
          "cuda_on_sim, the backend on the simulated driver. Default: cuda for info, sim for the "
          "others");
ABSL_FLAG(std::string, driver, "libcuda.so.1",
          "the driver library: a name that the dynamic linker finds, or a path");
ABSL_FLAG(
    bool, allow_multicast, false,
    "conformance, --backend=cuda: also test multicast objects, on hardware; failed calls can put "
    "GPUs out of service for everybody on the machine");
ABSL_FLAG(std::string, profile, "",
          "the simulated machine: the name of a profile, or a file that ends in .json "
          "(sim/profile/profile_json.h); default: reference");
ABSL_FLAG(int, sim_devices, -1, "how many devices it has; -1: those of its profile");
ABSL_FLAG(std::string, stream_policy, "",
          "when it runs the work of streams: eager, deferred, seeded or seeded:NUMBER; default: "
          "that of its profile");
ABSL_FLAG(std::string, alias_policy, "",
          "what its kernels and copies read through one of several addresses if an alias fence is "
          "missing: coherent, stale, l1, random or random:NUMBER; default: that of its profile");
ABSL_DECLARE_FLAG(bool, strict_multicast);
ABSL_FLAG(bool, require_hardware, false,
          "conformance: missing hardware (no driver, no second device) is a failure");
ABSL_FLAG(bool, shared_devices, false,
          "others use the devices too; what only free memory can show is not tested");
ABSL_FLAG(bool, strict_reference, false,
          "conformance: on a machine that was never recorded, a difference from the reference is "
          "also a failure");
ABSL_FLAG(std::string, baseline, "",
          "conformance: the verdicts must be those of this file, whatever they are");
ABSL_FLAG(std::string, write_baseline, "", "conformance: write the verdicts to this file");
ABSL_FLAG(std::string, filter, "",
          "conformance: only tests that match, as in GoogleTest: 'sim/cuMemMap.*:*.DATA_*'");
ABSL_FLAG(std::string, xml, "", "conformance: write a JUnit report to this file");
ABSL_FLAG(bool, play, false,
          "litmus: play each test with --backend=sim too, as kernels on the simulated machine");
ABSL_FLAG(bool, strict, false, "run: the driver follows its documentation, without quirks");
ABSL_FLAG(std::string, memory, "",
          "run: how much memory is free on each device at the start: 512MiB");
ABSL_FLAG(std::string, fail, "",
          "run: calls that fail, CALL:WHEN:CODE, such as cuMemMap:3:OUT_OF_MEMORY "
          "(docs/guide/libcuda.md); may be repeated");
ABSL_FLAG(std::string, report, "", "run: write the report to this file, as JSON Lines");
ABSL_FLAG(std::string, error_exitcode, "",
          "run: the exit code if the program succeeds but the report has errors; without a value: "
          "99");
ABSL_FLAG(std::string, markdown, "", "conformance: write the table as Markdown to this file");

namespace twinmmu {
namespace {

constexpr char kUsage[] =
    "tests and describes GPU virtual memory management: the CUDA driver's, and a software MMU's.\n"
    "\n"
    "  twinmmu conformance [--backend=sim,cuda]   run the conformance suite, print the verdicts\n"
    "  twinmmu info [--backend=cuda]              driver, devices, capabilities, functions found\n"
    "  twinmmu random [--seeds=1-100]             random calls, compared with a model\n"
    "  twinmmu soak [--minutes=1 --seed=1]        random programs over the allocators of api/\n"
    "  twinmmu deviations [--backend=sim,cuda]    the programs of docs/reference/observations.md\n"
    "  twinmmu litmus FILE... [--play]            litmus tests of alias coherence: what the model\n"
    "                                             allows, and what a machine shows\n"
    "  twinmmu record --out=FILE                  record calls with their results: the suite's,\n"
    "                                             random ones, or those of a file (--program)\n"
    "  twinmmu replay FILE...                     play recordings on the simulator, compare\n"
    "  twinmmu compare FILE FILE                  what two machines do differently\n"
    "  twinmmu run [--report=FILE] -- PROGRAM     run a program on the simulated driver, report\n"
    "                                             its misuse\n"
    "\n"
    "--profile=strict, or your own profile.json, chooses the simulated machine.\n"
    "\n"
    "twinmmu --helpfull lists all flags.";

CudaDriverOptions CudaOptions() {
  CudaDriverOptions options;
  options.library = absl::GetFlag(FLAGS_driver);
  return options;
}

std::vector<std::string> Backends(const char* by_default) {
  std::vector<std::string> backends = absl::GetFlag(FLAGS_backend);
  if (backends.empty()) backends.push_back(by_default);
  return backends;
}

int UnknownBackend(const std::string& name) {
  return UsageError(absl::StrCat("there is no backend \"", name, "\"; there are sim and cuda."));
}

// GoogleTest aborts at the end of the run when it cannot write its report: better said before.
bool CanWrite(const std::string& path) {
  if (path.empty() || std::ofstream(path, std::ios::app)) return true;
  Fail(absl::StrCat("cannot write ", path, ": ", std::strerror(errno)));
  return false;
}

absl::StatusOr<Profile> ChosenProfile() {
  const std::string name = absl::GetFlag(FLAGS_profile);
  absl::StatusOr<Profile> profile = LoadProfile(name.empty() ? "reference" : name);
  if (!profile.ok()) return profile;
  const int devices = absl::GetFlag(FLAGS_sim_devices);
  if (devices >= 0) profile->SetDeviceCount(devices);
  const std::string stream_policy = absl::GetFlag(FLAGS_stream_policy);
  const std::string alias_policy = absl::GetFlag(FLAGS_alias_policy);
  const auto wrong = [](absl::string_view flag, const std::string& policy,
                        const absl::Status& status) {
    return absl::InvalidArgumentError(absl::StrCat(flag, "=", policy, ": ", status.message(), "."));
  };
  absl::Status known = absl::OkStatus();
  if (!stream_policy.empty()) known = profile->SetStreamPolicy(stream_policy);
  if (!known.ok()) return wrong("--stream-policy", stream_policy, known);
  if (!alias_policy.empty()) known = profile->SetAliasPolicy(alias_policy);
  if (absl::GetFlag(FLAGS_strict_multicast)) {
    profile->alias_multicast = coherence::MulticastMode::kStrict;
  }
  if (!known.ok()) return wrong("--alias-policy", alias_policy, known);
  return profile;
}

// The same machine for the simulated driver; a flag that is not given leaves the environment as it
// is.
std::vector<std::pair<std::string, std::string>> ProfileVariables() {
  std::vector<std::pair<std::string, std::string>> variables;
  const auto set = [&](const char* variable, const std::string& value) {
    if (!value.empty()) variables.emplace_back(variable, value);
  };
  const int devices = absl::GetFlag(FLAGS_sim_devices);
  set("TWINMMU_PROFILE", absl::GetFlag(FLAGS_profile));
  set("TWINMMU_DEVICES", devices < 0 ? "" : absl::StrCat(devices));
  set("TWINMMU_STREAM_POLICY", absl::GetFlag(FLAGS_stream_policy));
  set("TWINMMU_ALIAS_POLICY", absl::GetFlag(FLAGS_alias_policy));
  return variables;
}

// The same on devices that others use too.
conformance::TargetFactory Shared(conformance::TargetFactory factory) {
  factory.open = [open = factory.open]() -> absl::StatusOr<conformance::Target> {
    absl::StatusOr<conformance::Target> target = open();
    if (target.ok()) target->traits.sole_user = false;
    return target;
  };
  return factory;
}

conformance::RunOptions SuiteOptions() {
  conformance::RunOptions options;
  options.require_hardware = absl::GetFlag(FLAGS_require_hardware);
  options.strict_reference = absl::GetFlag(FLAGS_strict_reference);
  options.baseline_path = absl::GetFlag(FLAGS_baseline);
  options.write_baseline_path = absl::GetFlag(FLAGS_write_baseline);
  options.filter = absl::GetFlag(FLAGS_filter);
  options.xml_path = absl::GetFlag(FLAGS_xml);
  options.markdown_path = absl::GetFlag(FLAGS_markdown);
  return options;
}

// The simulated driver takes its machine from the environment.
absl::StatusOr<conformance::TargetFactory> CudaOnSim() {
  const absl::StatusOr<Profile> profile = ChosenProfile();
  if (!profile.ok()) return profile.status();
  for (const auto& [variable, value] : ProfileVariables()) {
    setenv(variable.c_str(), value.c_str(), 1);
  }
  const absl::StatusOr<std::string> library = LoadableDriverLibrary();
  if (!library.ok()) return library.status();
  return conformance::CudaOnSimTarget(*library, *profile);
}

// The driver of this machine, beside the simulated one in the same process: the dynamic linker
// takes a library that is loaded for any of its name, so the genuine one must come first.
conformance::TargetFactory CudaBesideSimulated() {
  conformance::TargetFactory cuda = conformance::CudaTarget(CudaOptions());
  const absl::Status loaded = LoadDriver(CudaOptions().library).status();
  if (!loaded.ok()) {
    cuda.open = [loaded]() -> absl::StatusOr<conformance::Target> { return loaded; };
  }
  return cuda;
}

absl::StatusOr<conformance::TargetFactory> TargetNamed(const std::string& name) {
  if (name == "cuda") {
    CudaDriverOptions options = CudaOptions();
    options.allow_multicast_on_hardware = absl::GetFlag(FLAGS_allow_multicast);
    return conformance::CudaTarget(options);
  }
  if (name == "cuda_on_sim") return CudaOnSim();
  if (name != "sim") {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no backend \"", name, "\"; there are sim, cuda_on_sim and cuda."));
  }
  const absl::StatusOr<Profile> profile = ChosenProfile();
  if (!profile.ok()) return profile.status();
  return conformance::SimTarget(name, *profile);
}

int Conformance(int argc, char** argv) {
  if (!CanWrite(absl::GetFlag(FLAGS_xml))) return kUsageError;
  const std::vector<std::string> backends = Backends("sim");
  if (std::set<std::string>(backends.begin(), backends.end()).size() != backends.size()) {
    return UsageError("--backend names one backend twice.");
  }
  std::vector<conformance::TargetFactory> targets;
  for (const std::string& name : backends) {
    if (name == "cuda" && std::count(backends.begin(), backends.end(), "cuda_on_sim") != 0) {
      targets.push_back(CudaBesideSimulated());
      continue;
    }
    const absl::StatusOr<conformance::TargetFactory> target = TargetNamed(name);
    if (!target.ok()) return UsageError(target.status());
    targets.push_back(*target);
  }
  if (absl::GetFlag(FLAGS_shared_devices)) {
    for (conformance::TargetFactory& target : targets) target = Shared(std::move(target));
  }
  return conformance::RunConformance(argc, argv, std::move(targets), SuiteOptions());
}

int InfoOfSimulator() {
  const absl::StatusOr<Profile> profile = ChosenProfile();
  if (!profile.ok()) return UsageError(profile.status());
  absl::StatusOr<std::unique_ptr<Simulator>> simulator = Simulator::Create(*profile);
  if (!simulator.ok()) return Fail(simulator.status());
  std::cout << "backend: sim\n";
  PrintDriver(**simulator, std::cout);
  return 0;
}

int InfoOfCuda() {
  // The library by itself first: where it cannot be initialised, what it holds is still of use.
  const absl::StatusOr<DriverTable> table = LoadDriver(CudaOptions().library);
  if (!table.ok()) return Fail(table.status());
  std::cout << "backend: cuda, " << table->library << "\n";
  absl::StatusOr<std::unique_ptr<Driver>> driver = MakeCudaDriver(*table);
  if (driver.ok()) {
    PrintDriver(**driver, std::cout);
  } else {
    Fail(driver.status());
  }
  PrintSymbols(*table, std::cout);
  return driver.ok() ? 0 : 1;
}

int Info() {
  int exit_code = 0;
  for (const std::string& name : Backends("cuda")) {
    if (name != "sim" && name != "cuda") return UnknownBackend(name);
    exit_code |= name == "sim" ? InfoOfSimulator() : InfoOfCuda();
  }
  return exit_code;
}

int Random() {
  int exit_code = 0;
  for (const std::string& name : Backends("sim")) {
    if (name == "sim") {
      const absl::StatusOr<Profile> profile = ChosenProfile();
      if (!profile.ok()) return UsageError(profile.status());
      if (!profile->HasVmm()) {
        return UsageError(absl::StrCat("--profile=", absl::GetFlag(FLAGS_profile),
                                       " has no virtual memory management."));
      }
      exit_code |= RunRandom(name, conformance::random::SimSubject(*profile), std::cout);
    } else if (name == "cuda") {
      exit_code |= RunRandom(
          name,
          conformance::random::CudaSubject(CudaOptions(), !absl::GetFlag(FLAGS_shared_devices)),
          std::cout);
    } else {
      return UnknownBackend(name);
    }
  }
  return exit_code;
}

int Soak() {
  int exit_code = 0;
  for (const std::string& name : Backends("sim")) {
    absl::StatusOr<conformance::TargetFactory> target = TargetNamed(name);
    if (!target.ok()) return UsageError(target.status());
    if (absl::GetFlag(FLAGS_shared_devices)) target = Shared(*std::move(target));
    exit_code |= RunSoak(*target, name == "sim" ? conformance::DiagnosticsOf : nullptr, std::cout);
  }
  return exit_code;
}

// One after the other, each in child processes: this one opens no driver.
int Deviations() {
  int exit_code = 0;
  for (const std::string& name : Backends("sim")) {
    if (name == "sim") {
      const absl::StatusOr<Profile> profile = ChosenProfile();
      if (!profile.ok()) return UsageError(profile.status());
      exit_code |= RunDeviations(conformance::SimTarget(name, *profile), std::cout);
    } else if (name == "cuda") {
      exit_code |= RunDeviations(conformance::CudaTarget(CudaOptions()), std::cout);
    } else {
      return UnknownBackend(name);
    }
  }
  return exit_code;
}

// Plenty for what is rare, and what the simulator does in seconds.
constexpr uint64_t kLitmusRoundsOfGpu = 1'000'000;
constexpr uint64_t kLitmusRoundsOfSimulator = 2048;

int Litmus(const std::vector<std::string>& files) {
  int exit_code = 0;
  for (const std::string& name : Backends("sim")) {
    if (name == "sim" && !absl::GetFlag(FLAGS_play)) {
      exit_code |= RunLitmus(files, nullptr, LitmusPlay(), std::cout);
      continue;
    }
    const absl::StatusOr<conformance::TargetFactory> factory = TargetNamed(name);
    if (!factory.ok()) return UsageError(factory.status());
    const absl::StatusOr<conformance::Target> target = factory->open();
    if (!target.ok()) return Fail(target.status());
    LitmusPlay play;
    play.rounds = name == "cuda" ? kLitmusRoundsOfGpu : kLitmusRoundsOfSimulator;
    play.timing = name == "cuda" ? LitmusTiming::kClocks : LitmusTiming::kGivingWay;
    exit_code |= RunLitmus(files, target->driver.get(), play, std::cout);
  }
  return exit_code;
}

int RecordBackend(int argc, char** argv) {
  const std::vector<std::string> backends = Backends("sim");
  if (backends.size() != 1) return UsageError("record takes one --backend.");
  if (!CanWrite(absl::GetFlag(FLAGS_xml))) return kUsageError;
  const std::string& name = backends.front();
  if (name != "sim" && name != "cuda") return UnknownBackend(name);
  const absl::StatusOr<Profile> profile = ChosenProfile();
  if (!profile.ok()) return UsageError(profile.status());
  const bool sole_user = !absl::GetFlag(FLAGS_shared_devices);
  RecordTarget target;
  target.backend = name;
  if (name == "sim") {
    target.suite = conformance::SimTarget("sim", *profile);
    target.random = conformance::random::SimSubject(*profile);
  } else {
    target.suite = conformance::CudaTarget(CudaOptions());
    target.random = conformance::random::CudaSubject(CudaOptions(), sole_user);
  }
  if (!sole_user) target.suite = Shared(std::move(target.suite));
  return Record(argc, argv, target, SuiteOptions(), std::cout);
}

// What follows "run", or "--"; a flag that is not given leaves the environment as it is.
int RunOnSimulator(const std::vector<std::string>& program) {
  if (program.empty()) return UsageError("run which program? twinmmu run -- PROGRAM ARGUMENT...");
  RunOptions options;
  options.variables = ProfileVariables();
  const auto set = [&](const char* variable, const std::string& value) {
    if (!value.empty()) options.variables.emplace_back(variable, value);
  };
  set("TWINMMU_STRICT", absl::GetFlag(FLAGS_strict) ? "1" : "");
  set("TWINMMU_MEMORY", absl::GetFlag(FLAGS_memory));
  set("TWINMMU_FAIL", absl::GetFlag(FLAGS_fail));
  options.report_file = absl::GetFlag(FLAGS_report);
  const std::string exit_code = absl::GetFlag(FLAGS_error_exitcode);
  int code = 0;
  if (exit_code.empty()) return RunProgram(options, program);
  if (!absl::SimpleAtoi(exit_code, &code) || code < 1 || code > 255) {
    return UsageError(
        absl::StrCat("--error-exitcode=", exit_code, ": must be a number from 1 to 255."));
  }
  options.error_exit_code = code;
  return RunProgram(options, program);
}

int Run(int argc, char** argv) {
  Arguments arguments = ReadArguments(argc, argv);
  std::vector<char*> pointers;
  for (std::string& argument : arguments.own) pointers.push_back(argument.data());
  absl::SetProgramUsageMessage(kUsage);
  const std::vector<char*> words =
      absl::ParseCommandLine(static_cast<int>(pointers.size()), pointers.data());
  const std::string command = words.size() >= 2 ? words[1] : "";
  std::vector<std::string> operands(words.begin() + (words.size() < 2 ? 1 : 2), words.end());
  operands.insert(operands.end(), arguments.program.begin(), arguments.program.end());
  const int devices = absl::GetFlag(FLAGS_sim_devices);
  if (devices < -1 || devices > Profile::kMaxDevices) {
    return UsageError(absl::StrCat("--sim-devices=", devices,
                                   ": a simulated machine has from 0 to ", Profile::kMaxDevices,
                                   " devices."));
  }
  if (command == "replay") return ReplayFiles(operands, std::cout);
  if (command == "compare") return CompareFiles(operands, std::cout);
  if (command == "run") return RunOnSimulator(operands);
  if (command == "litmus") return Litmus(operands);
  if (!operands.empty()) {
    return UsageError(absl::StrCat(command, " takes no argument \"", operands.front(), "\"."));
  }
  if (command == "record") return RecordBackend(argc, argv);
  if (command == "conformance") return Conformance(argc, argv);
  if (command == "info") return Info();
  if (command == "random") return Random();
  if (command == "soak") return Soak();
  if (command == "deviations") return Deviations();
  std::cerr << "twinmmu " << kUsage << "\n";
  return kUsageError;
}

}  // namespace
}  // namespace twinmmu

int main(int argc, char** argv) {
  const int exit_code = twinmmu::Run(argc, argv);
  if (std::cout.flush()) return exit_code;
  return twinmmu::Fail("could not write all output.");
}
