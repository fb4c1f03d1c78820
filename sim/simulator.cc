#include "sim/simulator.h"

#include <mutex>
#include <new>
#include <shared_mutex>
#include <utility>

#include "api/record/diagnostic_event.h"
#include "sim/calls/arrays/box_copies.h"
#include "sim/calls/arrays/simulated_sparse_arrays.h"
#include "sim/calls/arrays/texture_calls.h"
#include "sim/calls/endpoints/endpoint_calls.h"
#include "sim/calls/executor/graph_memory.h"
#include "sim/calls/executor/host_functions.h"
#include "sim/calls/executor/kernel_calls.h"
#include "sim/calls/executor/memory_operations.h"
#include "sim/calls/executor/simulated_executor.h"
#include "sim/calls/linear/linear_calls.h"
#include "sim/calls/linear/managed_calls.h"
#include "sim/calls/multicast/multicast_calls.h"
#include "sim/calls/pools/pool_calls.h"
#include "sim/calls/vmm/simulated_vmm.h"
#include "sim/diagnostics/explain.h"
#include "sim/diagnostics/leaks.h"
#include "sim/host/window.h"
#include "sim/memory/linear_memory.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {

struct Simulator::Parts {
  Parts(const Profile& profile, Window window, SimulatorOptions how)
      : options(std::move(how)),
        state(profile, std::move(window), options.calls_remembered, options.diagnostics_kept,
              ObserverOf(options)),
        vmm(&state),
        executor(&state),
        multicast(&state),
        endpoints(&state, &vmm, &multicast),
        linear(&state, &executor.copies()),
        managed(&state, &executor.streams()),
        host_functions(&state, &executor.streams()),
        kernels(&state.mmu, &executor.modules()),
        memory_operations(&state, &executor.streams()),
        pools(&state, &executor.streams()),
        sparse_arrays(&state, &executor.streams(), &executor.copies()),
        boxes(&state, &executor.copies(), &sparse_arrays),
        graph_memory(&state),
        textures(&state, &sparse_arrays, &executor.modules().textures()) {
    state.events = options.events;
  }

  // Who is told of diagnostics, with the record of the run.
  static DiagnosticObserver ObserverOf(const SimulatorOptions& options) {
    if (options.events == nullptr) return options.at_once;
    return [&options](DiagnosticKind kind, const Diagnostic* diagnostic) {
      record::AddDiagnostic(*options.events, kind, diagnostic);
      if (options.at_once) options.at_once(kind, diagnostic);
    };
  }

  const SimulatorOptions options;
  SimulatorState state;
  SimulatedVmm vmm;
  SimulatedExecutor executor;
  MulticastCalls multicast;
  EndpointCalls endpoints;
  LinearCalls linear;
  ManagedCalls managed;
  HostFunctions host_functions;
  KernelCalls kernels;
  MemoryOperations memory_operations;
  PoolCalls pools;
  SimulatedSparseArrays sparse_arrays;
  BoxCopies boxes;
  GraphMemory graph_memory;
  TextureCalls textures;
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
                                                 LinearMemory::AddressesFor(profile));
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

absl::StatusOr<Bytes> Simulator::MemoryNeededBy(Array array) {
  return parts_->sparse_arrays.GetMemoryNeeded(array);
}

absl::StatusOr<Bytes> Simulator::MemoryNeededBy(MipmappedArray mipmap) {
  return parts_->sparse_arrays.GetMemoryNeeded(mipmap);
}

std::optional<DeviceOrdinal> Simulator::DeviceOfArray(uint64_t array) const {
  return parts_->sparse_arrays.DeviceOfArray(array);
}

std::optional<DeviceOrdinal> Simulator::DeviceOfMipmappedArray(uint64_t mipmap) const {
  return parts_->sparse_arrays.DeviceOfMipmappedArray(mipmap);
}

bool Simulator::IsMulticastObject(AllocationHandle handle) const {
  const std::shared_lock lock(parts_->state.mmu.mutex);
  const AllocationRecord* const found = parts_->state.mmu.memory.Find(handle);
  return found != nullptr && found->is_multicast();
}

LinearCalls& Simulator::linear() { return parts_->linear; }
ManagedCalls& Simulator::managed() { return parts_->managed; }
BoxCopies& Simulator::boxes() { return parts_->boxes; }
EndpointCalls& Simulator::endpoints() { return parts_->endpoints; }
GraphMemory& Simulator::graph_memory() { return parts_->graph_memory; }
HostFunctions& Simulator::host_functions() { return parts_->host_functions; }
KernelCalls& Simulator::kernels() { return parts_->kernels; }
MemoryOperations& Simulator::memory_operations() { return parts_->memory_operations; }
PoolCalls& Simulator::pools() { return parts_->pools; }
TextureCalls& Simulator::textures() { return parts_->textures; }

bool Simulator::IsBypassingStreams() const { return parts_->state.IsBypassed(); }

void Simulator::PlaceNextReservation(DeviceAddress base) {
  const std::unique_lock lock(parts_->state.mmu.mutex);
  parts_->state.mmu.space.PlaceNext(base);
}

std::vector<Diagnostic> Simulator::diagnostics() const { return parts_->state.log.Kept(); }

uint64_t Simulator::CountOf(DiagnosticKind kind) const { return parts_->state.log.CountOf(kind); }

std::vector<Diagnostic> Simulator::leaks() const {
  std::vector<Diagnostic> leaks = parts_->executor.streams().Leaks();
  for (Diagnostic& leak : parts_->sparse_arrays.Leaks()) leaks.push_back(std::move(leak));
  for (Diagnostic& leak : parts_->pools.Leaks()) leaks.push_back(std::move(leak));
  for (Diagnostic& leak : parts_->kernels.HeapLeaks()) leaks.push_back(std::move(leak));
  const std::unique_lock lock(parts_->state.mmu.mutex);
  for (Diagnostic& leak : LeaksOf(parts_->state)) leaks.push_back(std::move(leak));
  return leaks;
}

std::vector<HistoryEntry> Simulator::HistoryOf(DeviceAddress address) const {
  const std::shared_lock lock(parts_->state.mmu.mutex);
  return twinmmu::HistoryOf(parts_->state, address);
}

std::optional<AddressRange> Simulator::ReservationAt(DeviceAddress address) const {
  const std::shared_lock lock(parts_->state.mmu.mutex);
  const std::optional<uint32_t> reserved = parts_->state.mmu.space.Find(address);
  if (!reserved.has_value()) return std::nullopt;
  return parts_->state.mmu.space[*reserved];
}

const Profile& Simulator::profile() const { return parts_->state.mmu.profile; }
const AddressRange& Simulator::window() const { return parts_->state.mmu.window.range(); }

}  // namespace twinmmu
