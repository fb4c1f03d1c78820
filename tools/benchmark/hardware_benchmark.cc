// The figures of a machine with a GPU, with those of the simulator beside them.
//
//   bazel run -c opt //tools/benchmark:hardware_benchmark -- --json=/tmp/figures.json

#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "backend/cuda_driver.h"
#include "backend/loader.h"
#include "sim/simulator.h"
#include "tools/benchmark/calls.h"
#include "tools/benchmark/sections.h"
#include "tools/benchmark/timing.h"

ABSL_FLAG(std::string, json, "", "also write the tables as JSON to this file");

namespace twinmmu {
namespace {

// What stands behind the colon in the first line of a file that begins so.
std::string ValueOf(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!absl::StartsWith(line, name)) continue;
    const std::pair<std::string, std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 1));
    return std::string(absl::StripAsciiWhitespace(parts.second));
  }
  return name + " not known";
}

std::string Describe(const Drivers& drivers) {
  std::string text = absl::StrCat(ValueOf("/proc/cpuinfo", "model name"), ", ",
                                  std::thread::hardware_concurrency(), " threads\n");
  if (drivers.cuda != nullptr) {
    Vmm& vmm = **drivers.cuda->vmm();
    absl::StrAppend(&text, vmm.GetDeviceName(kDevice).value_or("no name"), ", ",
                    ValueOf("/proc/driver/nvidia/version", "NVRM version"), ", CUDA ",
                    vmm.GetDriverVersion().value_or(0), "\n");
  }
  return text;
}

std::vector<Table> MeasureAll(const Drivers& drivers) {
  std::vector<Table> tables;
  const auto measure = [&tables](const char* what, auto measured) {
    std::cerr << what << "\n";
    const double nanoseconds = Time([&] { tables.push_back(measured()); });
    std::cerr << "  " << nanoseconds * 1e-9 << " s\n";
  };
  measure("calls", [&] { return MeasureCalls(drivers); });
  measure("growth", [&] { return MeasureGrowth(drivers); });
  measure("threads", [&] { return MeasureThreads(drivers); });
  measure("pool", [&] { return MeasurePool(drivers); });
  if (drivers.cuda == nullptr) return tables;
  measure("bandwidth", [&] { return MeasureBandwidth(*drivers.cuda); });
  measure("growth in place", [&] { return MeasureGrowthInPlace(drivers); });
  measure("sleep and wake", [&] { return MeasureWake(drivers); });
  return tables;
}

int Run() {
  const absl::StatusOr<std::unique_ptr<Simulator>> simulator =
      Simulator::Create(Profile::ReferenceH200());
  Require(simulator.status());
  Drivers drivers;
  drivers.sim = simulator->get();

  const absl::StatusOr<DriverTable> functions = LoadDriver();
  const absl::StatusOr<std::unique_ptr<Driver>> cuda =
      functions.ok() ? MakeCudaDriver(*functions) : functions.status();
  if (cuda.ok()) {
    drivers.table = &*functions;
    drivers.cuda = cuda->get();
  } else {
    std::cerr << "only the simulator is measured: " << cuda.status().message() << "\n";
  }

  const std::string machine = Describe(drivers);
  std::cout << machine;
  nlohmann::json all = {{"machine", machine}, {"tables", nlohmann::json::array()}};
  for (const Table& table : MeasureAll(drivers)) {
    std::cout << "\n" << ToMarkdown(table);
    all["tables"].push_back(ToJson(table));
  }
  if (const std::string path = absl::GetFlag(FLAGS_json); !path.empty()) {
    std::ofstream file(path);
    file << all.dump(1) << "\n";
    file.close();
    if (!file) {
      std::cerr << "could not write " << path << "\n";
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace twinmmu

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("measures the driver and the simulator side by side");
  absl::ParseCommandLine(argc, argv);
  return twinmmu::Run();
}
