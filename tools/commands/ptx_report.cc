#include "tools/commands/ptx_report.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sim/ptx/decode/make_program.h"
#include "sim/ptx/program/program.h"
#include "sim/ptx/text/fat_binary.h"
#include "sim/ptx/text/module.h"

namespace twinmmu {
namespace {

// Of the reference device: which PTX of a fat binary counts.
constexpr int kCapability = 90;

struct LoadedPtx {
  std::string version;
  std::string target;
  std::shared_ptr<const ptx::Program> program;
};

absl::StatusOr<LoadedPtx> Load(absl::string_view image) {
  const absl::StatusOr<std::string> text = ptx::PtxIn(image, kCapability);
  if (!text.ok()) return text.status();
  absl::StatusOr<ptx::Module> module = ptx::Parse(*text);
  if (!module.ok()) return module.status();
  LoadedPtx loaded;
  loaded.version = absl::StrCat(module->version / 10, ".", module->version % 10);
  loaded.target = absl::StrCat("sm_", module->target);
  auto program = ptx::MakeProgram(*std::move(module));
  if (!program.ok()) return program.status();
  loaded.program = *std::move(program);
  return loaded;
}

// Those of one instruction in one function together.
void PrintNeeds(const std::vector<ptx::Refusal>& refusals, std::ostream& out) {
  using Need = std::tuple<std::string, std::string, std::string>;
  std::map<Need, std::vector<int>> lines;
  std::vector<Need> order;
  for (const ptx::Refusal& refusal : refusals) {
    const Need need{refusal.instruction, refusal.reason, refusal.function};
    std::vector<int>& of_need = lines[need];
    if (of_need.empty()) order.push_back(need);
    of_need.push_back(refusal.line);
  }
  for (const Need& need : order) {
    const auto& [instruction, reason, function] = need;
    const std::vector<int>& where = lines[need];
    out << "  needs    " << (instruction.empty() ? "" : absl::StrCat("`", instruction, "`: "))
        << reason << " (" << function << ", line" << (where.size() == 1 ? " " : "s ")
        << absl::StrJoin(where, ", ") << ")\n";
  }
}

}  // namespace

PtxReport ReportPtx(const std::string& name, absl::string_view image, std::ostream& out) {
  PtxReport report;
  report.record["file"] = name;
  const absl::StatusOr<LoadedPtx> loaded = Load(image);
  if (!loaded.ok()) {
    out << name << ": cannot be loaded: " << loaded.status().message() << "\n";
    report.record["error"] = loaded.status().message();
    return report;
  }
  size_t running = 0;
  const std::vector<ptx::KernelInfo>& all = loaded->program->kernels();
  nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
  for (const ptx::KernelInfo& kernel : all) {
    const bool runs = kernel.refusal.empty();
    running += runs ? 1 : 0;
    kernels.push_back({{"name", kernel.name}, {"runs", runs}});
    if (!runs) kernels.back()["refusal"] = kernel.refusal;
  }
  nlohmann::ordered_json needs = nlohmann::ordered_json::array();
  for (const ptx::Refusal& refusal : loaded->program->Refusals()) {
    needs.push_back({{"function", refusal.function},
                     {"line", refusal.line},
                     {"instruction", refusal.instruction},
                     {"reason", refusal.reason}});
  }
  report.runs = running == all.size();
  report.record["ptx"] = loaded->version;
  report.record["target"] = loaded->target;
  report.record["kernels"] = std::move(kernels);
  report.record["needs"] = std::move(needs);
  out << name << ": PTX " << loaded->version << " for " << loaded->target << ", " << running
      << " of " << all.size() << (all.size() == 1 ? " kernel runs\n" : " kernels run\n");
  for (const ptx::KernelInfo& kernel : all) {
    out << (kernel.refusal.empty() ? "  runs     " : "  refused  ") << kernel.name
        << (kernel.refusal.empty() ? "" : ": ") << kernel.refusal << "\n";
  }
  PrintNeeds(loaded->program->Refusals(), out);
  return report;
}

absl::StatusOr<PtxReport> ReportPtxFile(const std::string& path, std::ostream& out) {
  const auto cannot = [&](absl::string_view why) {
    return absl::NotFoundError(absl::StrCat("cannot read ", path, ": ", why));
  };
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (error) return cannot(error.message());
  if (!std::filesystem::is_regular_file(status)) return cannot("it is not a file");
  std::ifstream file(path, std::ios::binary);
  if (!file) return cannot(std::strerror(errno));
  const std::string image{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) return cannot("reading it failed");
  return ReportPtx(path, image, out);
}

}  // namespace twinmmu
