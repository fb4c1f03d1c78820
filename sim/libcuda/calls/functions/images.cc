#include "sim/libcuda/calls/functions/images.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/ptx/text/isa.h"

namespace twinmmu::libcuda {
namespace {

using namespace cuda_abi;  // NOLINT(build/namespaces)

// Whether the image is to blame.
bool IsAboutImage(const absl::Status& status) {
  if (status.ok()) return false;
  switch (GetDriverCode(status)) {
    case DriverCode::kInvalidImage:
    case DriverCode::kNoBinaryForGpu:
    case DriverCode::kInvalidPtx:
    case DriverCode::kUnsupportedPtxVersion:
    case DriverCode::kNotSupported:
      return true;
    default:
      return false;
  }
}

void ReportRefusal(const CallSite& site, const absl::Status& status) {
  Diagnostic diagnostic;
  diagnostic.kind = DiagnosticKind::kModuleRefused;
  diagnostic.severity = InfoOf(diagnostic.kind).severity;
  diagnostic.call = site.name();
  diagnostic.message = std::string(status.message());
  Process::Get().report().Add(diagnostic);
}

// CUjit_option, as numbers that a compiler gets.
constexpr int kMostRegisters = 0;
constexpr int kOptimization = 7;
constexpr int kTarget = 9;
constexpr int kCacheMode = 14;
constexpr int kForKepler = 15;
constexpr int kReferencedKernels = 25;
constexpr int kLeastBlocks = 31;
constexpr int kSplitCompile = 34;
constexpr int kOptions = 35;

constexpr int kCacheModes = 3;
constexpr char kListWords[] =
    "an option is not known, has no value, or lacks another: a log its size, a list of the host's "
    "variables the others";
// Of the targets, these are taken for one, and no image is for them.
constexpr uint64_t kOldTargets = 6;

bool TakesValue(CUjit_option option, const void* value) {
  const uint64_t number = ToNumber(value) & 0xffffffff;
  switch (option) {
    case kMostRegisters:
      return number != 0;
    case kTarget:
      return number < kOldTargets || ptx::FirstVersionOf(static_cast<int>(number)) != 0;
    case kCacheMode:
      return number < kCacheModes;
    case kReferencedKernels:
      return value != nullptr;
    default:
      return true;
  }
}

// The error that PTX gets for an option, if any.
DriverCode ErrorOfPtxWith(CUjit_option option, const void* value) {
  const uint64_t number = ToNumber(value) & 0xffffffff;
  const bool is_negative = number >> 31 != 0;
  switch (option) {
    case kTarget:
      return number < kOldTargets ? DriverCode::kInvalidImage : DriverCode::kSuccess;
    case kOptimization:
    case kLeastBlocks:
    case kSplitCompile:
      return is_negative ? DriverCode::kInvalidPtx : DriverCode::kSuccess;
    default:
      return DriverCode::kSuccess;
  }
}

}  // namespace

JitOptions::JitOptions(unsigned int count, const CUjit_option* options, void** values) {
  if (count == 0) return;
  is_list_taken_ = options != nullptr && values != nullptr;
  if (!is_list_taken_) return;
  void** lists[3] = {};  // of the host's variables: names, addresses, and how many there are
  bool has_log[2] = {};
  for (unsigned int i = 0; i < count; ++i) {
    const CUjit_option option = options[i];
    if (option < 0 || option >= kOptions) is_list_taken_ = false;
    are_values_taken_ = are_values_taken_ && TakesValue(option, values[i]);
    if (error_of_ptx_ == DriverCode::kSuccess) error_of_ptx_ = ErrorOfPtxWith(option, values[i]);
    is_for_kepler_ = is_for_kepler_ || option == kForKepler;
    const int list = option - CU_JIT_GLOBAL_SYMBOL_NAMES;
    if (list >= 0 && list < 3) lists[list] = &values[i];
    const bool of_errors = option >= CU_JIT_ERROR_LOG_BUFFER;
    Log& log = of_errors ? errors_ : infos_;
    if (option == CU_JIT_INFO_LOG_BUFFER || option == CU_JIT_ERROR_LOG_BUFFER) {
      log.text = static_cast<char*>(values[i]);
      has_log[of_errors ? 1 : 0] = true;
    }
    if (option == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES ||
        option == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
      log.size = &values[i];
      log.capacity = ToNumber(values[i]);
    }
  }
  CheckLog(infos_, has_log[0]);
  CheckLog(errors_, has_log[1]);
  NoteHostVariables(lists);
}

void JitOptions::CheckLog(const Log& log, bool is_said) {
  const bool has_nowhere = log.text == nullptr && log.capacity != 0;
  if (is_said != (log.size != nullptr) || has_nowhere) is_list_taken_ = false;
}

void JitOptions::NoteHostVariables(void** const (&lists)[3]) {
  const auto is_said = [](void** value) { return value != nullptr; };
  if (std::none_of(std::begin(lists), std::end(lists), is_said)) return;
  const bool are_whole = std::all_of(std::begin(lists), std::end(lists), is_said) &&
                         *lists[0] != nullptr && *lists[1] != nullptr;
  if (!are_whole) {
    is_list_taken_ = false;
    return;
  }
  host_variables_ = static_cast<const char* const*>(*lists[0]);
  host_variable_count_ = ToNumber(*lists[2]) & 0xffffffff;
}

bool JitOptions::HasHostVariable(const std::string& name) const {
  return std::any_of(host_variables_, host_variables_ + host_variable_count_,
                     [&](const char* known) { return known != nullptr && name == known; });
}

absl::Status JitOptions::Check(const CallSite& site, DriverState& driver, DeviceOrdinal device,
                               const absl::StatusOr<std::string>& ptx) const {
  const auto refuse = [&](absl::string_view words) {
    return MakeDriverStatus({DriverCode::kInvalidValue, ErrorOrigin::kSimulator, site.name()},
                            words);
  };
  if (!is_list_taken_) return refuse(kListWords);
  if (!are_values_taken_) return refuse("an option has a value that it cannot have");
  if (!ptx.ok()) return ptx.status();
  const DriverCode error = is_for_kepler_ ? DriverCode::kInvalidPtx : error_of_ptx_;
  if (error != DriverCode::kSuccess) {
    return MakeDriverStatus({error, ErrorOrigin::kSimulator, site.name()},
                            "no PTX is compiled with these options");
  }
  if (host_variable_count_ == 0) return absl::OkStatus();
  const absl::StatusOr<ptx::Module> module =
      driver.simulator->kernels().Parse(site.name(), device, ptx->substr(0, ptx->find('\0')));
  if (!module.ok()) return module.status();
  for (const ptx::Variable& variable : module->variables) {
    if (!HasHostVariable(variable.name)) continue;
    return refuse(absl::StrCat("'", variable.name, "' of the PTX cannot be one of the host's"));
  }
  return absl::OkStatus();
}

void JitOptions::Log::Write(absl::string_view message) const {
  size_t written = 0;
  if (HasRoom()) {
    written = std::min<size_t>(capacity - 1, message.size());
    std::copy_n(message.data(), written, text);
    text[written] = '\0';
  }
  if (size != nullptr) *size = ToPointer<void*>(written);
}

void JitOptions::Tell(const CallSite& site, const absl::Status& status) const {
  const bool unsaid = IsAboutImage(status) && !errors_.HasRoom();
  infos_.Write("");
  errors_.Write(status.message());
  if (unsaid) ReportRefusal(site, status);
}

// Of a pipe or a device nobody knows whether it ends. Of a directory a driver asks for its size,
// and for so much memory.
DriverCode ReadImage(const char* name, std::string* content) {
  if (*name == '\0') return DriverCode::kInvalidValue;
  const int file = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return DriverCode::kFileNotFound;
  const auto close_it = absl::MakeCleanup([file] { close(file); });
  struct stat found = {};
  if (fstat(file, &found) != 0) return DriverCode::kFileNotFound;
  if (S_ISDIR(found.st_mode)) return DriverCode::kOutOfMemory;
  if (!S_ISREG(found.st_mode)) return DriverCode::kFileNotFound;
  content->resize(static_cast<size_t>(found.st_size));
  size_t done = 0;
  while (done < content->size()) {
    const ssize_t read_now = read(file, content->data() + done, content->size() - done);
    if (read_now < 0 && errno == EINTR) continue;
    if (read_now < 0) return DriverCode::kFileNotFound;
    if (read_now == 0) break;
    done += static_cast<size_t>(read_now);
  }
  content->resize(done);
  return DriverCode::kSuccess;
}

}  // namespace twinmmu::libcuda
