#include "kernels/kernels.h"

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace twinmmu {
namespace {

// The build wraps each .ptx file in a raw string literal.
constexpr char kFillVerifyPtx[] =
#include "kernels/fill_verify.inc"
    ;
constexpr char kAccessPtx[] =
#include "kernels/access.inc"
    ;
constexpr char kAliasPtx[] =
#include "kernels/alias.inc"
    ;
constexpr char kAliasPairPtx[] =
#include "kernels/alias_pair.inc"
    ;
constexpr char kOrdersPtx[] =
#include "kernels/orders.inc"
    ;

constexpr absl::string_view kPtxTexts[] = {kFillVerifyPtx, kAccessPtx, kAliasPtx, kAliasPairPtx,
                                           kOrdersPtx};

struct EntryPoint {
  std::size_t module;  // index in kPtxTexts
  absl::string_view name;
};

// In the order of Kernels::Entry.
constexpr EntryPoint kEntryPoints[] = {
    {0, "twinmmu_fill"},        {0, "twinmmu_verify_reset"},   {0, "twinmmu_verify"},
    {1, "twinmmu_load32"},      {1, "twinmmu_store32"},        {1, "twinmmu_atomic_add32"},
    {1, "twinmmu_count"},       {2, "twinmmu_alias_unfenced"}, {2, "twinmmu_alias_fenced"},
    {3, "twinmmu_alias_block"}, {3, "twinmmu_alias_pair"},     {4, "twinmmu_obey"},
};

constexpr uint64_t kWordBytes = 4;
constexpr uint64_t kWordsPerThread = 4;  // one 16-byte vector
// Enough to fill the largest GPUs several times over (an H200 holds 8 such blocks on each of 132
// multiprocessors), so that the last wave does not leave many of them idle; beyond it, each thread
// takes more vectors. The Executor does not tell the number of multiprocessors.
constexpr uint64_t kMaxBlocks = 132 * 32;

constexpr LaunchConfig OneThread() { return LaunchConfig{}; }

LaunchConfig Grid(uint32_t blocks, uint32_t threads) {
  LaunchConfig config;
  config.grid.x = blocks;
  config.block.x = threads;
  return config;
}

// For a range of `words` > 0: a thread per vector, as long as the grid is not too large.
LaunchConfig GridFor(uint64_t words) {
  constexpr uint64_t kWordsPerBlock = kWordsPerThread * Kernels::kThreadsPerBlock;
  const uint64_t blocks = words / kWordsPerBlock + (words % kWordsPerBlock != 0 ? 1 : 0);
  return Grid(static_cast<uint32_t>(std::min(blocks, kMaxBlocks)), Kernels::kThreadsPerBlock);
}

absl::Status RequireMultiple(absl::string_view call, absl::string_view argument, uint64_t value,
                             uint64_t multiple) {
  if (value % multiple == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(call, ": ", argument, " is ", value, " (0x",
                                                 absl::Hex(value), "), not a multiple of ",
                                                 multiple, " bytes"));
}

absl::Status RequireWords(absl::string_view call, const AddressRange& range) {
  absl::Status base = RequireMultiple(call, "range.base", range.base.value(), kWordBytes);
  if (!base.ok()) return base;
  return RequireMultiple(call, "range.size", range.size.value(), kWordBytes);
}

absl::Status RequireAliases(absl::string_view call, DeviceAddress a, DeviceAddress b,
                            DeviceAddress result) {
  absl::Status valid = RequireMultiple(call, "a", a.value(), kWordBytes);
  valid.Update(RequireMultiple(call, "b", b.value(), kWordBytes));
  valid.Update(RequireMultiple(call, "result", result.value(), alignof(AliasResult)));
  return valid;
}

}  // namespace

absl::StatusOr<Kernels> Kernels::Load(Executor* executor, DeviceOrdinal device) {
  if (executor == nullptr) {
    return absl::InvalidArgumentError("Kernels::Load: executor is null");
  }
  Kernels kernels(executor, device);
  absl::Status status = kernels.LoadAll();
  if (!status.ok()) return status;  // the destructor unloads what was loaded so far
  return kernels;
}

absl::Status Kernels::LoadAll() {
  static_assert(std::size(kEntryPoints) == kEntryCount, "one entry point for each Entry");
  for (absl::string_view ptx : kPtxTexts) {
    absl::StatusOr<Module> module = executor_->LoadModule(device_, ptx);
    if (!module.ok()) return module.status();
    modules_.push_back(*module);
  }
  for (std::size_t i = 0; i < kEntryCount; ++i) {
    const EntryPoint& entry = kEntryPoints[i];
    absl::StatusOr<Kernel> kernel = executor_->GetKernel(modules_[entry.module], entry.name);
    if (!kernel.ok()) return kernel.status();
    kernels_[i] = *kernel;
  }
  return absl::OkStatus();
}

Kernels::Kernels(Kernels&& other) noexcept
    : executor_(std::exchange(other.executor_, nullptr)),
      device_(other.device_),
      modules_(std::exchange(other.modules_, {})),
      kernels_(other.kernels_) {}

Kernels& Kernels::operator=(Kernels&& other) noexcept {
  if (this == &other) return *this;
  Close().IgnoreError();
  executor_ = std::exchange(other.executor_, nullptr);
  device_ = other.device_;
  modules_ = std::exchange(other.modules_, {});
  kernels_ = other.kernels_;
  return *this;
}

Kernels::~Kernels() { Close().IgnoreError(); }

absl::Status Kernels::Close() {
  absl::Status first;
  Executor* const executor = std::exchange(executor_, nullptr);
  for (Module module : std::exchange(modules_, {})) first.Update(executor->UnloadModule(module));
  return first;
}

template <typename... Arguments>
absl::Status Kernels::Launch(Entry entry, Stream stream, const LaunchConfig& config,
                             const Arguments&... arguments) const {
  // A bool or an int would be read as more bytes than it has.
  static_assert(((std::is_same_v<Arguments, uint64_t> || std::is_same_v<Arguments, uint32_t>)&&...),
                "kernel parameters are 32 or 64 bits, unsigned");
  if (executor_ == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("Kernels: closed; cannot launch ", kEntryPoints[entry].name));
  }
  const void* const pointers[] = {&arguments...};
  return executor_->Launch(stream, kernels_[entry], config, pointers);
}

absl::Status Kernels::Fill(Stream stream, AddressRange range, uint64_t seed) const {
  absl::Status valid = RequireWords("Kernels::Fill", range);
  if (!valid.ok()) return valid;
  const uint64_t words = range.size.value() / kWordBytes;
  if (words == 0) return absl::OkStatus();
  return Launch(kFill, stream, GridFor(words), range.base.value(), words, seed);
}

absl::Status Kernels::Verify(Stream stream, AddressRange range, uint64_t seed,
                             DeviceAddress result) const {
  absl::Status status = RequireWords("Kernels::Verify", range);
  status.Update(
      RequireMultiple("Kernels::Verify", "result", result.value(), alignof(VerifyResult)));
  if (!status.ok()) return status;
  // A launch of its own: no block of the next kernel may add to *result before it is reset.
  status = Launch(kVerifyReset, stream, OneThread(), result.value());
  const uint64_t words = range.size.value() / kWordBytes;
  if (!status.ok() || words == 0) return status;
  return Launch(kVerify, stream, GridFor(words), range.base.value(), words, seed, result.value());
}

absl::Status Kernels::Load32(Stream stream, DeviceAddress address, DeviceAddress out) const {
  return Launch(kLoad32, stream, OneThread(), address.value(), out.value());
}

absl::Status Kernels::Store32(Stream stream, DeviceAddress address, uint32_t value) const {
  return Launch(kStore32, stream, OneThread(), address.value(), value);
}

absl::Status Kernels::AtomicAdd32(Stream stream, DeviceAddress address, uint32_t value,
                                  DeviceAddress out) const {
  return Launch(kAtomicAdd32, stream, OneThread(), address.value(), value, out.value());
}

absl::Status Kernels::Count(Stream stream, DeviceAddress a, DeviceAddress b, uint32_t blocks,
                            uint32_t rounds) const {
  return Launch(kCount, stream, Grid(blocks, kThreadsPerBlock), a.value(), b.value(), rounds);
}

absl::Status Kernels::AliasWriteThenRead(Stream stream, DeviceAddress a, DeviceAddress b,
                                         uint64_t rounds, bool warm, bool fence,
                                         DeviceAddress result) const {
  const absl::Status valid = RequireAliases("Kernels::AliasWriteThenRead", a, b, result);
  if (!valid.ok()) return valid;
  return Launch(fence ? kAliasFenced : kAliasUnfenced, stream, OneThread(), a.value(), b.value(),
                rounds, static_cast<uint32_t>(warm), result.value());
}

absl::Status Kernels::AliasWriteThenReadInBlock(Stream stream, DeviceAddress a, DeviceAddress b,
                                                uint64_t rounds, bool warm, AliasFence fence,
                                                DeviceAddress result) const {
  const absl::Status valid = RequireAliases("Kernels::AliasWriteThenReadInBlock", a, b, result);
  if (!valid.ok()) return valid;
  constexpr uint32_t kTwoWarps = 64;
  return Launch(kAliasBlock, stream, Grid(1, kTwoWarps), a.value(), b.value(), rounds,
                static_cast<uint32_t>(warm), static_cast<uint32_t>(fence), result.value());
}

absl::Status Kernels::AliasWriteThenReadInTurns(Stream stream, AliasRole role, DeviceAddress a,
                                                DeviceAddress b, DeviceAddress turn,
                                                uint64_t rounds, bool warm, AliasFence fence,
                                                DeviceAddress result) const {
  constexpr absl::string_view kCall = "Kernels::AliasWriteThenReadInTurns";
  absl::Status valid = RequireAliases(kCall, a, b, result);
  valid.Update(RequireMultiple(kCall, "turn", turn.value(), kWordBytes));
  if (!valid.ok()) return valid;
  return Launch(kAliasPair, stream, Grid(role == AliasRole::kBoth ? 2 : 1, 1), a.value(), b.value(),
                turn.value(), rounds, static_cast<uint32_t>(warm), static_cast<uint32_t>(fence),
                static_cast<uint32_t>(role), result.value());
}

absl::Status Kernels::Obey(Stream stream, DeviceAddress word, DeviceAddress board,
                           uint64_t rounds) const {
  const absl::Status valid =
      RequireMultiple("Kernels::Obey", "board", board.value(), alignof(OrderBoard));
  if (!valid.ok()) return valid;
  return Launch(kObey, stream, OneThread(), word.value(), board.value(), rounds);
}

absl::Span<const absl::string_view> Kernels::PtxTexts() { return kPtxTexts; }

}  // namespace twinmmu
