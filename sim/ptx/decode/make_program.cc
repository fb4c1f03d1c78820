#include "sim/ptx/decode/make_program.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sim/ptx/decode/call_graph.h"
#include "sim/ptx/decode/decode.h"
#include "sim/ptx/program/code.h"

namespace twinmmu::ptx {
namespace {

// What hardware has room for, or this host.
constexpr uint64_t kMaxImage = uint64_t{1} << 30;
constexpr uint64_t kMaxStaticShared = 227 << 10;
constexpr uint64_t kMaxKernelParameters = 32764;
constexpr uint64_t kMaxLocal = 512 << 10;
constexpr uint64_t kMaxPassed = 64 << 10;
constexpr uint32_t kMaxThreads = 1024;
constexpr uint32_t kMaxRegisters = 255;
// Of shared variables in the layouts of all kernels: their number can be the square of the text's.
constexpr size_t kMaxPlaces = size_t{4} << 20;

// Where a variable of .global begins, so that arrays of words can be read as vectors. Measured on
// an H200; those of .const lie close together there.
constexpr uint64_t kGlobalAlignment = 256;

uint64_t AlignmentOf(const Variable& variable) {
  const uint64_t natural = BytesOf(variable.type) * static_cast<uint64_t>(variable.vector);
  return std::max<uint64_t>({variable.alignment, natural, 1});
}

// Variables one behind the other.
class Layout {
 public:
  Layout(const char* what, uint64_t limit) : what_(what), limit_(limit) {}

  absl::StatusOr<uint64_t> Add(const Variable& variable, uint64_t alignment = 1) {
    alignment = std::max(alignment, AlignmentOf(variable));
    // An array takes up to 2^48 bytes: nothing overflows.
    const uint64_t begin = RoundUp(Bytes(size_), Bytes(alignment)).value();
    const uint64_t end = begin + variable.size();
    if (end > limit_) {
      return absl::InvalidArgumentError(absl::StrCat("line ", variable.position.line, ": '",
                                                     variable.name, "' does not fit into the ",
                                                     limit_, " bytes of ", what_));
    }
    size_ = end;
    largest_ = std::max(largest_, end);
    return begin;
  }

  // Variable `index` of a function, whose room is that of others once its block has ended.
  absl::StatusOr<uint64_t> AddOfBlock(size_t index, const Variable& variable) {
    while (!open_.empty() && open_.back().block_end <= index) {
      size_ = open_.back().size_before;
      open_.pop_back();
    }
    open_.push_back({variable.block_end, size_});
    return Add(variable);
  }
  uint64_t size() const { return largest_; }
  void set_limit(uint64_t limit) { limit_ = limit; }

 private:
  const char* const what_;
  uint64_t limit_;
  uint64_t size_ = 0;
  uint64_t largest_ = 0;
  struct Open {
    size_t block_end;
    uint64_t size_before;
  };
  std::vector<Open> open_;  // the innermost block last
};

}  // namespace

class ProgramBuilder {
 public:
  ProgramBuilder(Module parsed, bool fuses)
      : fuses_(fuses && !parsed.debug), program_(new Program), code_(new Code) {
    code_->module = std::move(parsed);
    for (const Variable& variable : module().variables) names_.insert(variable.name);
    for (size_t i = 0; i < module().functions.size(); ++i) {
      function_names_.emplace(module().functions[i].name, i);
    }
  }

  absl::StatusOr<std::shared_ptr<const Program>> Build() {
    code_->functions.resize(module().functions.size());
    absl::Status status = PlaceVariables();
    if (!status.ok()) return status;
    for (size_t i = 0; i < module().functions.size(); ++i) {
      status = PlaceInFunction(i);
      if (!status.ok()) return status;
    }
    for (size_t i = 0; i < module().functions.size(); ++i) {
      if (!code_->functions[i].defined) continue;
      status =
          Decoder(module(), static_cast<int>(i), placement_, fuses_, &code_->functions).Decode();
      if (!status.ok()) return status;
    }
    for (size_t i = 0; i < module().functions.size(); ++i) {
      code_->functions[i].first_site = code_->sites;
      code_->sites += static_cast<uint32_t>(module().functions[i].body.size()) + 1;
    }
    CallGraph graph(code_->functions);
    for (size_t i = 0; i < module().functions.size(); ++i) {
      if (!module().functions[i].entry || !code_->functions[i].defined) continue;
      status = AddKernel(static_cast<int>(i), graph.Reached(static_cast<int>(i)));
      if (!status.ok()) return status;
    }
    program_->code_ = std::move(code_);
    return std::shared_ptr<const Program>(std::move(program_));
  }

 private:
  const Module& module() const { return code_->module; }

  int AddShared(const Variable& variable) {
    code_->shared.push_back(
        {variable.count == 0 ? 0 : variable.size(), AlignmentOf(variable), variable.count == 0});
    return static_cast<int>(code_->shared.size()) - 1;
  }

  // Those of .const one behind the other, then those of .global; managed ones are apart.
  absl::Status PlaceImage() {
    Layout image("the variables of a module", kMaxImage);
    code_->image_offsets.resize(module().variables.size());
    for (const bool constant : {true, false}) {
      for (size_t i = 0; i < module().variables.size(); ++i) {
        const Variable& variable = module().variables[i];
        if (variable.space == Space::kShared || variable.external) continue;
        if ((variable.space == Space::kConst) != constant) continue;
        Layout alone("a managed variable", kMaxImage);
        const absl::StatusOr<uint64_t> offset =
            (variable.managed ? alone : image).Add(variable, constant ? 1 : kGlobalAlignment);
        if (!offset.ok()) return offset.status();
        code_->image_offsets[i] = variable.managed ? program_->managed_sizes_.size() : *offset;
        if (variable.managed) program_->managed_sizes_.push_back(variable.size());
      }
      if (constant) program_->constant_bytes_ = placement_.const_bytes = image.size();
    }
    program_->image_bytes_ = image.size();
    return absl::OkStatus();
  }

  absl::Status PlaceVariables() {
    const absl::Status placed = PlaceImage();
    if (!placed.ok()) return placed;
    placement_.of_module.resize(module().variables.size());
    for (size_t i = 0; i < module().variables.size(); ++i) {
      const Variable& variable = module().variables[i];
      Placement::Place& place = placement_.of_module[i];
      if (variable.space == Space::kShared) {
        const absl::Status known = Layout("shared memory", kMaxStaticShared).Add(variable).status();
        if (!known.ok()) return known;
        place.shared = AddShared(variable);
        continue;
      }
      if (variable.external) continue;
      place.offset = variable.managed ? 0 : code_->image_offsets[i];
      if (variable.managed) place.managed = static_cast<int>(code_->image_offsets[i]);
      program_->globals_.push_back(
          {variable.name, place.offset, variable.size(), place.managed, variable.reference});
      for (const Initializer& value : variable.initial) {
        if (value.address_of.empty() || names_.count(value.address_of) != 0) continue;
        const auto function = function_names_.find(value.address_of);
        if (function != function_names_.end()) {
          code_->functions[function->second].address_taken = true;
          continue;
        }
        return absl::InvalidArgumentError(absl::StrCat(
            "line ", variable.position.line, ": '", variable.name, "' begins with the address of '",
            value.address_of, "', which is not known"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status PlaceInFunction(size_t index) {
    const Function& function = module().functions[index];
    FunctionCode& code = code_->functions[index];
    code.name = function.name;
    code.entry = function.entry;
    code.defined = !function.external;
    for (const Unsupported& directive : function.unsupported) {
      code.refusals.push_back({function.name, directive.position.line, "", directive.words});
    }
    Layout passed("the parameters of a function",
                  function.entry ? kMaxKernelParameters : kMaxPassed);
    for (const Variable& parameter : function.parameters) {
      const absl::StatusOr<uint64_t> at = passed.Add(parameter);
      if (!at.ok()) return at.status();
      code.parameters.push_back(
          {static_cast<uint32_t>(*at), static_cast<uint32_t>(parameter.size()), 0});
    }
    code.parameter_bytes = static_cast<uint32_t>(passed.size());
    // Even a kernel whose own parameters take all there is calls functions.
    passed.set_limit(passed.size() + kMaxPassed);
    for (const Variable& result : function.results) {
      const absl::StatusOr<uint64_t> at = passed.Add(result);
      if (!at.ok()) return at.status();
      code.results.push_back({static_cast<uint32_t>(*at), static_cast<uint32_t>(result.size()), 0});
    }
    Layout local("local memory", kMaxLocal);
    placement_.of_functions.emplace_back(function.variables.size());
    for (size_t i = 0; i < function.variables.size(); ++i) {
      const Variable& variable = function.variables[i];
      Placement::Place& place = placement_.of_functions[index][i];
      if (variable.space == Space::kShared) {
        const absl::Status known = Layout("shared memory", kMaxStaticShared).Add(variable).status();
        if (!known.ok()) return known;
        place.shared = AddShared(variable);
        code.shared.push_back(place.shared);  // a driver gives it room whoever names it
        continue;
      }
      if (variable.space != Space::kLocal && variable.space != Space::kParam) {
        code.refusals.push_back(
            {function.name, variable.position.line, "",
             absl::StrCat("'", variable.name, "' is not a variable of a function")});
        continue;
      }
      // What is passed to a call has room until its block ends: there may be thousands of calls.
      // Local variables keep theirs, whose addresses may be kept.
      const absl::StatusOr<uint64_t> at =
          variable.space == Space::kLocal ? local.Add(variable) : passed.AddOfBlock(i, variable);
      if (!at.ok()) return at.status();
      place.offset = *at;
    }
    const absl::Status placed = PlaceAddressed(function, &local, &code);
    if (!placed.ok()) return placed;
    // Frames lie one behind the other, and keep the alignment of what is in them.
    code.local_bytes = static_cast<uint32_t>(RoundUp(Bytes(local.size()), Bytes(256)).value());
    code.passed_bytes = static_cast<uint32_t>(RoundUp(Bytes(passed.size()), Bytes(64)).value());
    return absl::OkStatus();
  }

  // mov gives the address of a parameter of a function in local memory.
  static absl::Status PlaceAddressed(const Function& function, Layout* local, FunctionCode* code) {
    if (function.entry) return absl::OkStatus();
    std::set<size_t> parameters;
    for (const Instruction& instruction : function.body) {
      if (instruction.opcode != "mov") continue;
      for (const Operand& operand : instruction.operands) {
        if (operand.kind != Operand::kParameter) continue;
        parameters.insert(static_cast<size_t>(operand.index));
      }
    }
    for (const size_t parameter : parameters) {
      const absl::StatusOr<uint64_t> at = local->Add(function.parameters[parameter]);
      if (!at.ok()) return at.status();
      code->addressed.push_back({parameter, static_cast<uint32_t>(*at)});
    }
    return absl::OkStatus();
  }

  // Why a kernel cannot run.
  std::string RefusalOf(int kernel, const std::vector<int>& reached) const {
    for (const int index : reached) {
      const FunctionCode& function = code_->functions[static_cast<size_t>(index)];
      if (function.refusals.empty()) continue;
      const std::string where =
          index == kernel ? "" : absl::StrCat(", in function '", function.name, "'");
      return absl::StrCat(InWords(function.refusals.front()), where);
    }
    return "";
  }

  // Of the shared variables that these functions name.
  absl::StatusOr<std::shared_ptr<const SharedLayout>> LayoutOf(const Function& kernel,
                                                               const std::vector<int>& functions) {
    std::set<int> used;
    for (const int other : functions) {
      const std::vector<int>& shared = code_->functions[static_cast<size_t>(other)].shared;
      used.insert(shared.begin(), shared.end());
    }
    std::shared_ptr<const SharedLayout>& known = layouts_[{used.begin(), used.end()}];
    if (known != nullptr) return known;
    places_ += used.size();
    if (places_ > kMaxPlaces) {
      return absl::ResourceExhaustedError(
          absl::StrCat("line ", kernel.position.line, ": the kernels up to '", kernel.name,
                       "' may reach more than ", kMaxPlaces, " shared variables together"));
    }
    auto layout = std::make_shared<SharedLayout>();
    uint64_t size = 0;
    uint64_t alignment = 16;
    bool dynamic = false;
    for (const int number : used) {
      const SharedVariable& variable = code_->shared[static_cast<size_t>(number)];
      if (variable.dynamic) {
        alignment = std::max(alignment, variable.alignment);
        dynamic = true;
        layout->places.push_back({number, 0});
        continue;
      }
      size = RoundUp(Bytes(size), Bytes(variable.alignment)).value();
      layout->places.push_back({number, static_cast<uint32_t>(size)});
      size += variable.size;
    }
    if (size > kMaxStaticShared) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", kernel.position.line, ": kernel '", kernel.name, "' has ", size,
                       " bytes of shared variables, more than ", kMaxStaticShared));
    }
    layout->dynamic_begin = static_cast<uint32_t>(RoundUp(Bytes(size), Bytes(alignment)).value());
    layout->static_bytes = dynamic ? layout->dynamic_begin : static_cast<uint32_t>(size);
    for (SharedLayout::Place& place : layout->places) {
      if (code_->shared[static_cast<size_t>(place.variable)].dynamic) {
        place.offset = layout->dynamic_begin;
      }
    }
    known = std::move(layout);
    return known;
  }

  // `reached`: what matters of it and of what it calls.
  absl::Status AddKernel(int index, const std::vector<int>& reached) {
    const Function& function = module().functions[static_cast<size_t>(index)];
    const FunctionCode& code = code_->functions[static_cast<size_t>(index)];
    absl::StatusOr<std::shared_ptr<const SharedLayout>> shared = LayoutOf(function, reached);
    if (!shared.ok()) return shared.status();
    KernelInfo info;
    info.name = function.name;
    info.refusal = RefusalOf(index, reached);
    for (const Passed& parameter : code.parameters) {
      info.parameters.push_back({parameter.at, parameter.size});
    }
    info.parameter_bytes = code.parameter_bytes;
    info.shared_bytes = (*shared)->static_bytes;
    info.local_bytes = code.local_bytes;
    info.registers = RegistersOf(function);
    info.max_threads = MaxThreadsOf(function);
    info.required_threads = function.required_threads;
    info.cluster = function.cluster;
    info.max_cluster_blocks = function.max_cluster_blocks;
    info.explicit_cluster = function.explicit_cluster;
    bool bulk_copies = false;
    for (const int other : reached) {
      const FunctionCode& reachable = code_->functions[static_cast<size_t>(other)];
      bulk_copies |= reachable.bulk_copies;
      for (const TextureCode& access : reachable.textures) {
        info.uses_references |= access.of_variable;
      }
      for (const CallSite& call : reachable.calls) {
        info.uses_heap |= call.builtin == Builtin::kAllocate || call.builtin == Builtin::kFree;
      }
    }
    code_->kernels.push_back({index, *std::move(shared), bulk_copies});
    program_->kernels_.push_back(std::move(info));
    return absl::OkStatus();
  }

  static uint32_t RegistersOf(const Function& function) {
    uint64_t words = 0;
    for (const Register& each : function.registers) words += (BytesOf(each.type) + 3) / 4;
    return static_cast<uint32_t>(std::min<uint64_t>(words, kMaxRegisters));
  }

  static uint32_t MaxThreadsOf(const Function& function) {
    if (function.max_threads[0] == 0) return kMaxThreads;
    uint64_t threads = 1;
    for (const uint32_t dimension : function.max_threads) {
      threads = std::min<uint64_t>(threads * std::max(dimension, 1u), kMaxThreads);
    }
    return static_cast<uint32_t>(threads);
  }

  const bool fuses_;
  std::shared_ptr<Program> program_;
  std::unique_ptr<Code> code_;
  Placement placement_;
  std::map<std::vector<int>, std::shared_ptr<const SharedLayout>> layouts_;  // by variables
  size_t places_ = 0;                                                        // in all of these
  std::set<absl::string_view> names_;                                        // of variables
  std::map<absl::string_view, size_t> function_names_;
};

absl::StatusOr<std::shared_ptr<const Program>> MakeProgram(Module parsed, bool fuses) {
  return ProgramBuilder(std::move(parsed), fuses).Build();
}

}  // namespace twinmmu::ptx
