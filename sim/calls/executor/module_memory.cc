// The memory of modules: their variables, and the workspace of cooperative launches.

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "api/diagnostic_words.h"
#include "sim/base/errors.h"
#include "sim/calls/executor/simulated_modules.h"
#include "sim/diagnostics/call_record.h"

namespace twinmmu {
namespace {

constexpr char kLoadCall[] = "cuModuleLoadData";
constexpr char kLaunchCall[] = "cuLaunchKernel";

// Leaves alone what is zero, so that the host commits no page for it.
void Clear(char* memory, uint64_t size) {
  constexpr uint64_t kStep = 4096;
  static constexpr char kZeros[kStep] = {};
  for (uint64_t done = 0; done < size; done += kStep) {
    const uint64_t length = std::min(kStep, size - done);
    if (std::memcmp(memory + done, kZeros, length) != 0) std::memset(memory + done, 0, length);
  }
}

}  // namespace

absl::StatusOr<AddressRange> SimulatedModules::Allocate(const char* call, uint64_t made_by,
                                                        DeviceOrdinal device, LinearKind kind,
                                                        Bytes size) {
  LinearAllocation wanted;
  wanted.kind = kind;
  wanted.device = device;
  wanted.made_by = made_by;
  wanted.buffer_id = mmu_.NextBuffer();
  wanted.sync_memops = true;
  absl::StatusOr<AddressRange> range = mmu_.linear.Allocate(size, wanted);
  if (!range.ok()) return Fail(DriverCode::kOutOfMemory, call, range.status().message());
  mmu_.buffers_made = static_cast<uint32_t>(wanted.buffer_id);
  return range;
}

// As cooperative groups have it: its size, then the barrier.
absl::StatusOr<DeviceAddress> SimulatedModules::PlaceWorkspace(DeviceOrdinal device,
                                                               uint64_t call_id) {
  constexpr uint32_t kWorkspace[] = {16, 0, 0, 0};
  const std::unique_lock lock(mmu_.mutex);
  const absl::StatusOr<AddressRange> range =
      Allocate(kLaunchCall, call_id, device, LinearKind::kModule, Bytes(sizeof(kWorkspace)));
  if (!range.ok()) return range.status();
  std::memcpy(mmu_.linear.Find(range->base)->memory, kWorkspace, sizeof(kWorkspace));
  return range->base;
}

absl::StatusOr<std::shared_ptr<ptx::DeviceHeap>> SimulatedModules::HeapOf(DeviceOrdinal device,
                                                                          uint64_t call_id) {
  // What CU_LIMIT_MALLOC_HEAP_SIZE is at first.
  constexpr Bytes kHeap = MiB(8);
  const std::lock_guard lock(heap_mutex_);
  std::shared_ptr<ptx::DeviceHeap>& heap = heaps_[device.value()];
  const Bytes size = heap_sizes_.emplace(device.value(), kHeap).first->second;
  if (heap != nullptr || size == Bytes(0)) return heap;
  const std::unique_lock mmu_lock(mmu_.mutex);
  const absl::StatusOr<AddressRange> range =
      Allocate(kLaunchCall, call_id, device, LinearKind::kModule, size);
  if (!range.ok()) return range.status();
  heap = std::make_shared<ptx::DeviceHeap>(*range);
  return heap;
}

void SimulatedModules::SetHeapSize(DeviceOrdinal device, Bytes size) {
  const std::lock_guard lock(heap_mutex_);
  heap_sizes_[device.value()] = size;
}

void SimulatedModules::ForgetHeap(DeviceOrdinal device) {
  const std::lock_guard lock(heap_mutex_);
  heap_sizes_.erase(device.value());
  const auto found = heaps_.find(device.value());
  if (found == heaps_.end()) return;
  if (found->second != nullptr) {
    const std::unique_lock mmu_lock(mmu_.mutex);
    mmu_.linear.Free(found->second->memory().base);
  }
  heaps_.erase(found);
}

std::vector<Diagnostic> SimulatedModules::HeapLeaks(std::optional<DeviceOrdinal> device) {
  std::vector<Diagnostic> leaks;
  const std::lock_guard lock(heap_mutex_);
  for (const auto& [owner, heap] : heaps_) {
    if (heap == nullptr || (device.has_value() && device->value() != owner)) continue;
    for (const ptx::DeviceHeap::Left& left : heap->WhatIsLeft()) {
      Diagnostic leak = LeakOf(DiagnosticKind::kLeakedDeviceHeap, kLaunchCall, 0);
      leak.device = DeviceOrdinal(owner);
      leak.message = absl::StrCat(state_.sites.InWords(left.site), ": ", left.blocks, " times, ",
                                  ToString(Bytes(left.bytes)), " in all");
      leaks.push_back(std::move(leak));
    }
  }
  return leaks;
}

void SimulatedModules::FreeWorkspace(DeviceAddress workspace) {
  if (workspace == DeviceAddress(0)) return;
  const std::unique_lock lock(mmu_.mutex);
  mmu_.linear.Free(workspace);
}

absl::StatusOr<AddressRange> SimulatedModules::PlaceImage(DeviceOrdinal device, LinearKind kind,
                                                          uint64_t size) {
  if (size == 0) return AddressRange();
  CallRecord call(state_, Call::kLoadModule, AddressRange{DeviceAddress(0), Bytes(size), Bytes(0)});
  const std::unique_lock lock(mmu_.mutex);
  const absl::StatusOr<AddressRange> range =
      Allocate(kLoadCall, call.id(), device, kind, Bytes(size));
  if (!range.ok()) return range.status();
  // On some hosts it takes memory even to look at zeros.
  if (LinearMemory::IsShared(Bytes(size))) Clear(mmu_.linear.Find(range->base)->memory, size);
  call.Done(*range, 0);
  return range;
}

absl::StatusOr<ManagedVariables> SimulatedModules::PlaceManaged(
    DeviceOrdinal device, const std::vector<uint64_t>& sizes) {
  const auto made = std::make_shared<std::vector<AddressRange>>(sizes.size());
  absl::Cleanup undo = [&] { Free(made); };
  for (size_t i = 0; i < sizes.size(); ++i) {
    const absl::StatusOr<AddressRange> range =
        PlaceImage(device, LinearKind::kManagedVariables, sizes[i]);
    if (!range.ok()) return range.status();
    (*made)[i] = *range;
  }
  std::move(undo).Cancel();
  return made;
}

// Managed variables that are there hold what the program wrote to them.
absl::Status SimulatedModules::PlaceVariables(LoadedModule* module) {
  const ptx::Program& program = *module->program;
  const absl::StatusOr<AddressRange> image =
      PlaceImage(module->device, LinearKind::kModule, program.image_bytes());
  if (!image.ok()) return image.status();
  module->image = *image;
  const bool fresh = module->managed == nullptr && !program.managed_sizes().empty();
  if (fresh) {
    absl::StatusOr<ManagedVariables> made = PlaceManaged(module->device, program.managed_sizes());
    if (!made.ok()) return made.status();
    module->managed = *std::move(made);
  }
  std::vector<ptx::Program::Image> managed(program.managed_sizes().size());
  for (size_t i = 0; i < managed.size(); ++i) {
    managed[i] = ImageAt((*module->managed)[i]);
    if (!fresh) managed[i].zeros = nullptr;
  }
  program.WriteImages(ImageAt(module->image), managed);  // nobody else knows of the memory yet
  return absl::OkStatus();
}

ptx::Program::Image SimulatedModules::ImageAt(const AddressRange& range) const {
  if (range.empty()) return {};
  const std::shared_lock lock(mmu_.mutex);
  const LinearAllocation* const memory = mmu_.linear.Find(range.base);
  return {range.base, memory != nullptr ? memory->memory : nullptr};
}

void SimulatedModules::Free(const ManagedVariables& managed) {
  if (managed == nullptr) return;
  for (const AddressRange& variable : *managed) FreeImage(variable);
}

void SimulatedModules::FreeImage(const AddressRange& image) {
  if (image.empty()) return;
  const std::unique_lock lock(mmu_.mutex);
  mmu_.linear.Free(image.base);
  CallRecord(state_, Call::kUnloadModule, image).Done(image, 0);
}

}  // namespace twinmmu
