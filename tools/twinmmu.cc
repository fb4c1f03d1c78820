// twinmmu: the command line tool.

#include <algorithm>
#include <cerrno>
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
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "backend/cuda_driver.h"
#include "backend/loader.h"
#include "conformance/instances/cuda.h"
#include "conformance/instances/random_cuda.h"
#include "conformance/instances/random_sim.h"
#include "conformance/instances/sim.h"
#include "conformance/runner.h"
#include "sim/profile_json.h"
#include "sim/simulator.h"
#include "tools/compare.h"
#include "tools/deviations.h"
#include "tools/info.h"
#include "tools/random.h"
#include "tools/record.h"

ABSL_FLAG(std::vector<std::string>, backend, {},
          "what to look at: sim, cuda, or both as sim,cuda. Default: cuda for info, sim for the "
          "others");
ABSL_FLAG(std::string, driver, "libcuda.so.1",
          "the driver's library: a name that the dynamic linker finds, or a path");
ABSL_FLAG(std::string, profile, "reference",
          "the simulated machine: the name of a profile, or a file that ends in .json "
          "(sim/profile_json.h)");
ABSL_FLAG(int, sim_devices, -1, "how many devices it has; -1: as its profile says");
ABSL_FLAG(std::string, stream_policy, "",
          "when it runs the work of streams: eager, deferred, seeded or seeded:NUMBER; default: as "
          "its profile says");
ABSL_FLAG(bool, require_hardware, false,
          "conformance: hardware that is absent (no driver, no second device) is a failure");
ABSL_FLAG(bool, shared_devices, false,
          "others use the devices too; what only free memory can show is not tested");
ABSL_FLAG(bool, strict_reference, false,
          "conformance: on a machine that nobody recorded, a difference from the reference is a "
          "failure too");
ABSL_FLAG(std::string, baseline, "",
          "conformance: the verdicts must be those of this file, whatever they are");
ABSL_FLAG(std::string, write_baseline, "", "conformance: write the verdicts to such a file");
ABSL_FLAG(std::string, filter, "",
          "conformance: only tests that match, as in GoogleTest: 'sim/cuMemMap.*:*.DATA_*'");
ABSL_FLAG(std::string, xml, "", "conformance: write a JUnit report to this file");
ABSL_FLAG(std::string, markdown, "", "conformance: write the table as Markdown to this file");

namespace twinmmu {
namespace {

constexpr char kUsage[] =
    "tests and describes GPU virtual memory management: the CUDA driver's, and a software MMU's.\n"
    "\n"
    "  twinmmu conformance [--backend=sim,cuda]   run the conformance suite, print the verdicts\n"
    "  twinmmu info [--backend=cuda]              driver, devices, capabilities, functions found\n"
    "  twinmmu random [--seeds=1-100]             random calls, compared with a model\n"
    "  twinmmu deviations [--backend=sim,cuda]    the programs of docs/observations.md\n"
    "  twinmmu record --out=FILE                  record calls with their results: the suite's,\n"
    "                                             random ones, or those of a file (--program)\n"
    "  twinmmu replay FILE...                     play recordings on the simulator, compare\n"
    "  twinmmu compare FILE FILE                  what two machines do differently\n"
    "\n"
    "--profile=strict, or your own profile.json, chooses the simulated machine.\n"
    "\n"
    "twinmmu --helpfull lists all flags.";

// 1: not as expected. 2: asked for what does not exist.
constexpr int kUsageError = 2;

// The page table of the simulator has room for the rights of that many, and of the host.
constexpr int kMaxSimDevices = 15;

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
  std::cerr << "twinmmu: there is no backend \"" << name << "\"; there are sim and cuda.\n";
  return kUsageError;
}

// GoogleTest aborts at the end of the run when it cannot write its report: better said before.
bool CanWrite(const std::string& path) {
  if (path.empty() || std::ofstream(path, std::ios::app)) return true;
  std::cerr << "twinmmu: cannot write " << path << ": " << std::strerror(errno) << "\n";
  return false;
}

// "deferred", "seeded:7".
absl::Status SetStreamPolicy(const std::string& policy, Profile& profile) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(policy, absl::MaxSplits(':', 1));
  const bool seeded = parts.first.size() != policy.size();
  for (const StreamPolicyInfo& known : AllStreamPolicies()) {
    if (parts.first != known.name || (seeded && known.policy != StreamPolicy::kSeeded)) continue;
    profile.stream_policy = known.policy;
    if (!seeded || absl::SimpleAtoi(parts.second, &profile.stream_seed)) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--stream-policy=", policy, ": it is eager, deferred, seeded or seeded:NUMBER."));
}

absl::StatusOr<Profile> SimulatedMachine() {
  absl::StatusOr<Profile> profile = LoadProfile(absl::GetFlag(FLAGS_profile));
  if (!profile.ok()) return profile;
  const int devices = absl::GetFlag(FLAGS_sim_devices);
  if (devices >= 0) profile->SetDeviceCount(devices);
  const std::string policy = absl::GetFlag(FLAGS_stream_policy);
  const absl::Status known = policy.empty() ? absl::OkStatus() : SetStreamPolicy(policy, *profile);
  if (!known.ok()) return known;
  return profile;
}

int WrongProfile(const absl::Status& status) {
  std::cerr << "twinmmu: " << status.message() << "\n";
  return kUsageError;
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

int Conformance(int argc, char** argv) {
  if (!CanWrite(absl::GetFlag(FLAGS_xml))) return kUsageError;
  const std::vector<std::string> backends = Backends("sim");
  if (std::set<std::string>(backends.begin(), backends.end()).size() != backends.size()) {
    std::cerr << "twinmmu: --backend names one backend twice.\n";
    return kUsageError;
  }
  std::vector<conformance::TargetFactory> targets;
  for (const std::string& name : backends) {
    if (name == "sim") {
      const absl::StatusOr<Profile> profile = SimulatedMachine();
      if (!profile.ok()) return WrongProfile(profile.status());
      targets.push_back(conformance::SimTarget("sim", *profile));
    } else if (name == "cuda") {
      targets.push_back(conformance::CudaTarget(CudaOptions()));
    } else {
      return UnknownBackend(name);
    }
  }
  if (absl::GetFlag(FLAGS_shared_devices)) {
    for (conformance::TargetFactory& target : targets) target = Shared(std::move(target));
  }
  return conformance::RunConformance(argc, argv, std::move(targets), SuiteOptions());
}

int InfoOfSimulator() {
  const absl::StatusOr<Profile> profile = SimulatedMachine();
  if (!profile.ok()) return WrongProfile(profile.status());
  absl::StatusOr<std::unique_ptr<Simulator>> simulator = Simulator::Create(*profile);
  if (!simulator.ok()) {
    std::cerr << "twinmmu: " << simulator.status().message() << "\n";
    return 1;
  }
  std::cout << "backend: sim\n";
  PrintDriver(**simulator, std::cout);
  return 0;
}

int InfoOfCuda() {
  // The library by itself first: where it cannot be initialised, what it holds is still of use.
  const absl::StatusOr<DriverTable> table = LoadDriver(CudaOptions().library);
  if (!table.ok()) {
    std::cerr << "twinmmu: " << table.status().message() << "\n";
    return 1;
  }
  std::cout << "backend: cuda, " << table->library << "\n";
  absl::StatusOr<std::unique_ptr<Driver>> driver = MakeCudaDriver(*table);
  if (driver.ok()) {
    PrintDriver(**driver, std::cout);
  } else {
    std::cerr << "twinmmu: " << driver.status().message() << "\n";
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
      const absl::StatusOr<Profile> profile = SimulatedMachine();
      if (!profile.ok()) return WrongProfile(profile.status());
      if (!profile->HasVmm()) {
        std::cerr << "twinmmu: --profile=" << absl::GetFlag(FLAGS_profile)
                  << " has no virtual memory management.\n";
        return kUsageError;
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

// One after the other, each in child processes: this one opens no driver.
int Deviations() {
  int exit_code = 0;
  for (const std::string& name : Backends("sim")) {
    if (name == "sim") {
      const absl::StatusOr<Profile> profile = SimulatedMachine();
      if (!profile.ok()) return WrongProfile(profile.status());
      exit_code |= RunDeviations(conformance::SimTarget(name, *profile), std::cout);
    } else if (name == "cuda") {
      exit_code |= RunDeviations(conformance::CudaTarget(CudaOptions()), std::cout);
    } else {
      return UnknownBackend(name);
    }
  }
  return exit_code;
}

int RecordBackend(int argc, char** argv) {
  const std::vector<std::string> backends = Backends("sim");
  if (backends.size() != 1) {
    std::cerr << "twinmmu: record takes one --backend.\n";
    return kUsageError;
  }
  if (!CanWrite(absl::GetFlag(FLAGS_xml))) return kUsageError;
  const std::string& name = backends.front();
  if (name != "sim" && name != "cuda") return UnknownBackend(name);
  const absl::StatusOr<Profile> profile = SimulatedMachine();
  if (!profile.ok()) return WrongProfile(profile.status());
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

// The tool's own arguments: without those of GoogleTest, with which it starts this program anew for
// a test that may end the process. Flags may be written with hyphens, "--require-hardware"; Abseil
// knows them with underscores.
std::vector<std::string> OwnArguments(int argc, char** argv) {
  std::vector<std::string> own;
  for (int i = 0; i < argc; ++i) {
    std::string argument = argv[i];
    if (absl::StartsWith(argument, "--gtest_")) continue;
    if (absl::StartsWith(argument, "--")) {
      std::replace(argument.begin() + 2,
                   argument.begin() + std::min(argument.find('='), argument.size()), '-', '_');
    }
    own.push_back(std::move(argument));
  }
  return own;
}

int Run(int argc, char** argv) {
  std::vector<std::string> arguments = OwnArguments(argc, argv);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  absl::SetProgramUsageMessage(kUsage);
  const std::vector<char*> words =
      absl::ParseCommandLine(static_cast<int>(pointers.size()), pointers.data());
  const std::string command = words.size() >= 2 ? words[1] : "";
  const std::vector<std::string> operands(words.begin() + (words.size() < 2 ? 1 : 2), words.end());
  const int devices = absl::GetFlag(FLAGS_sim_devices);
  if (devices < -1 || devices > kMaxSimDevices) {
    std::cerr << "twinmmu: --sim-devices=" << devices << ": a simulated machine has from 0 to "
              << kMaxSimDevices << " devices.\n";
    return kUsageError;
  }
  if (command == "replay") return ReplayFiles(operands, std::cout);
  if (command == "compare") return CompareFiles(operands, std::cout);
  if (!operands.empty()) {
    std::cerr << "twinmmu: " << command << " does not know what \"" << operands.front()
              << "\" is.\n";
    return kUsageError;
  }
  if (command == "record") return RecordBackend(argc, argv);
  if (command == "conformance") return Conformance(argc, argv);
  if (command == "info") return Info();
  if (command == "random") return Random();
  if (command == "deviations") return Deviations();
  std::cerr << "twinmmu " << kUsage << "\n";
  return kUsageError;
}

}  // namespace
}  // namespace twinmmu

int main(int argc, char** argv) {
  const int exit_code = twinmmu::Run(argc, argv);
  if (std::cout.flush()) return exit_code;
  std::cerr << "twinmmu: could not write all output.\n";
  return 1;
}
