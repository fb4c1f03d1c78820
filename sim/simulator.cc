#include "sim/simulator.h"

#include <mutex>
#include <new>
#include <shared_mutex>
#include <utility>

#include "sim/explain.h"
#include "sim/guarded_executor.h"
#include "sim/guarded_vmm.h"
#include "sim/leaks.h"
#include "sim/mmu.h"
#include "sim/multicast_calls.h"
#include "sim/plain_memory.h"
#include "sim/sparse_arrays.h"
#include "sim/window.h"

namespace twinmmu {

struct Simulator::Parts {
  Parts(const Profile& profile, Window window, SimulatorOptions how)
      : options(std::move(how)),
        mmu(profile, std::move(window), options.calls_remembered, options.diagnostics_kept,
            options.at_once),
        vmm(&mmu),
        executor(&mmu),
        multicast(&mmu),
        plain(&mmu, &executor.unguarded()),
        kernels(&mmu, &executor.unguarded()),
        sparse_arrays(&mmu, &executor.unguarded()) {}

  const SimulatorOptions options;
  Mmu mmu;
  GuardedVmm vmm;
  GuardedExecutor executor;
  MulticastCalls multicast;
  PlainCalls plain;
  KernelCalls kernels;
  SimulatedSparseArrays sparse_arrays;
};

namespace {

absl::Status NoMemory() {
  try {
    return absl::ResourceExhaustedError("the program has no memory left for a simulator");
  } catch (const std::bad_alloc&) {
    return absl::Status(absl::StatusCode::kResourceExhausted, "");  // nor for a message
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Simulator>> Simulator::Create(const Profile& profile,
                                                             SimulatorOptions options) {
  try {
    const absl::Status valid = profile.Validate();
    if (!valid.ok()) return valid;
    absl::StatusOr<Window> window = Window::Make(profile.window, profile.default_alignment(),
                                                 PlainMemory::AddressesFor(profile));
    if (!window.ok()) return window.status();
    // Not make_unique: the constructor is private.
    return std::unique_ptr<Simulator>(
        new Simulator(std::make_unique<Parts>(profile, *std::move(window), std::move(options))));
  } catch (const std::bad_alloc&) {
    return NoMemory();
  }
}

Simulator::Simulator(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Simulator::~Simulator() {
  if (!parts_->options.at_end) return;
  std::vector<Diagnostic> all;
  try {
    all = diagnostics();
    for (Diagnostic& leak : leaks()) all.push_back(std::move(leak));
  } catch (const std::bad_alloc&) {
    // Those for which there is memory.
  }
  parts_->options.at_end(all);
}

absl::StatusOr<Vmm*> Simulator::vmm() { return &parts_->vmm; }
absl::StatusOr<Executor*> Simulator::executor() { return &parts_->executor; }
absl::StatusOr<Multicast*> Simulator::multicast() { return &parts_->multicast; }
absl::StatusOr<SparseArrays*> Simulator::sparse_arrays() { return &parts_->sparse_arrays; }

absl::StatusOr<ArrayDescriptor> Simulator::DescriptorOf(Array array) {
  return parts_->sparse_arrays.GetDescriptor(array);
}
absl::Status Simulator::CopyArrayBytes(Stream stream, Array array, const ArrayExtent& offset,
                                       const ArrayExtent& extent, char* host, bool to_array) {
  return parts_->sparse_arrays.CopyBytes(stream, array, offset, extent, host, to_array);
}

bool Simulator::IsMulticastObject(AllocationHandle handle) const {
  const std::shared_lock lock(parts_->mmu.mutex);
  const AllocationRecord* const found = parts_->mmu.memory.Find(handle);
  return found != nullptr && found->is_multicast();
}

PlainCalls& Simulator::plain() { return parts_->plain; }
KernelCalls& Simulator::kernels() { return parts_->kernels; }

bool Simulator::IsBypassingStreams() const { return parts_->mmu.IsBypassed(); }

void Simulator::PlaceNextReservation(DeviceAddress base) {
  const std::unique_lock lock(parts_->mmu.mutex);
  parts_->mmu.space.PlaceNext(base);
}

std::vector<Diagnostic> Simulator::diagnostics() const { return parts_->mmu.log.Kept(); }

uint64_t Simulator::CountOf(DiagnosticKind kind) const { return parts_->mmu.log.CountOf(kind); }

std::vector<Diagnostic> Simulator::leaks() const {
  std::vector<Diagnostic> leaks = parts_->executor.Leaks();
  for (Diagnostic& leak : parts_->sparse_arrays.Leaks()) leaks.push_back(std::move(leak));
  const std::unique_lock lock(parts_->mmu.mutex);
  for (Diagnostic& leak : LeaksOf(parts_->mmu)) leaks.push_back(std::move(leak));
  return leaks;
}

std::vector<HistoryEntry> Simulator::HistoryOf(DeviceAddress address) const {
  const std::shared_lock lock(parts_->mmu.mutex);
  return twinmmu::HistoryOf(parts_->mmu, address);
}

std::optional<AddressRange> Simulator::ReservationAt(DeviceAddress address) const {
  const std::shared_lock lock(parts_->mmu.mutex);
  const std::optional<uint32_t> reserved = parts_->mmu.space.Find(address);
  if (!reserved.has_value()) return std::nullopt;
  return parts_->mmu.space[*reserved];
}

const Profile& Simulator::profile() const { return parts_->mmu.profile; }
const AddressRange& Simulator::window() const { return parts_->mmu.window.range(); }

}  // namespace twinmmu
