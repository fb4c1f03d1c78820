// External memory. Without an API for graphics there is one kind: what this driver has exported as
// a descriptor. The codes are those of an H100 with driver 580.159.

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "sim/host/memory_label.h"
#include "sim/host/pool_file.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/sharing/external_buffers.h"

namespace twinmmu::libcuda {
namespace {

// CUexternalMemoryHandleType.
constexpr int kOpaqueDescriptor = 1;
constexpr int kFirstDedicated = 5;  // of Windows, as those before and behind it
constexpr int kNvSciBuf = 8;
constexpr int kDmaBuf = 9;

constexpr unsigned int kDedicated = 1;  // CUDA_EXTERNAL_MEMORY_DEDICATED

DriverCode WhyNotOfType(const CUDA_EXTERNAL_MEMORY_HANDLE_DESC& description) {
  const int type = description.type;
  if (type == kDmaBuf) return DriverCode::kNotSupported;
  const bool dedicated = description.flags == kDedicated;
  const bool known = type > kOpaqueDescriptor && type <= kNvSciBuf &&
                     (dedicated || type < kFirstDedicated || type == kNvSciBuf);
  return known && description.handle.win32.handle != nullptr ? DriverCode::kNotSupported
                                                             : DriverCode::kInvalidValue;
}

bool IsZero(const unsigned int (&reserved)[16]) {
  return std::all_of(std::begin(reserved), std::end(reserved),
                     [](unsigned int word) { return word == 0; });
}

// A descriptor that is no memory: the driver takes it all the same.
DriverCode RefuseDescriptor(const CallSite& site, int descriptor) {
  if (absl::IsInvalidArgument(PoolFile::Open(descriptor).status())) {
    if (descriptor > 0) close(descriptor);
    return DriverCode::kUnknown;
  }
  return NotSimulated(site, "a pool as external memory");
}

// A place for all of the allocation, with access for the device.
absl::StatusOr<AddressRange> MapAll(DriverState& driver, DeviceOrdinal device,
                                    const ExternalMemory& memory) {
  const absl::StatusOr<AddressRange> range = driver.vmm.AddressReserve(memory.all, {});
  if (!range.ok()) return range;
  absl::Cleanup free = [&] { driver.vmm.AddressFree(*range).IgnoreError(); };
  absl::Status done = driver.vmm.Map(*range, memory.allocation, Bytes(0), 0);
  if (!done.ok()) return done;
  const AccessGrant grant{Location::Device(device), Access::kReadWrite};
  done = driver.vmm.SetAccess(*range, {&grant, 1});
  if (!done.ok()) {
    driver.vmm.Unmap(*range).IgnoreError();
    return done;
  }
  std::move(free).Cancel();
  return range;
}

}  // namespace

extern "C" CUresult cuImportExternalMemory(CUexternalMemory* memory,
                                           const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* description) {
  const CallSite site = TWINMMU_HERE;
  return EnterInContext(site, {memory, description}, [&](DriverState& driver, Context&) {
    const Bytes size(description->size);
    if ((description->flags & ~kDedicated) != 0 || !IsZero(description->reserved)) {
      return ToResult(DriverCode::kInvalidValue);
    }
    if (description->type != kOpaqueDescriptor) return ToResult(WhyNotOfType(*description));
    if (size == Bytes(0)) return ToResult(DriverCode::kInvalidValue);
    const int descriptor = description->handle.fd;
    const absl::StatusOr<MemoryLabel> label = ReadLabel(descriptor);
    if (!label.ok() || label->team_devices != 0) {
      return ToResult(RefuseDescriptor(site, descriptor));
    }
    Records<ExternalMemory>::Prepared record(ExternalMemory{{}, label->size, size});
    ShareableHandle shareable;
    shareable.type = HandleType::kPosixFileDescriptor;
    shareable.file_descriptor = descriptor;
    const absl::StatusOr<AllocationHandle> made = driver.vmm.ImportShareableHandle(shareable);
    if (!made.ok()) return ToResult(made.status());
    record->allocation = *made;
    const uint64_t id = ++driver.external.last_id << 4;
    driver.external.memories.Add(id, std::move(record));
    driver.report.AddAllocation(*made, label->size);
    close(descriptor);  // it is the driver's now
    *memory = ToPointer<CUexternalMemory>(id);
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuDestroyExternalMemory(CUexternalMemory memory) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    const std::optional<ExternalMemory> found = driver.external.memories.Find(ToNumber(memory));
    if (!found.has_value() || !driver.external.memories.Remove(ToNumber(memory))) {
      return ToResult(DriverCode::kInvalidValue);
    }
    const absl::Status released = driver.vmm.Release(found->allocation);
    if (released.ok()) driver.report.RemoveReference(found->allocation);
    return ToResult(released);
  });
}

extern "C" CUresult cuExternalMemoryGetMappedBuffer(
    CUdeviceptr* ptr, CUexternalMemory memory,
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* description) {
  return EnterInContext(
      TWINMMU_HERE, {ptr, description}, [&](DriverState& driver, Context& context) {
        const auto found = driver.external.memories.Find(ToNumber(memory));
        if (!found.has_value()) return ToResult(DriverCode::kInvalidValue);
        const Bytes offset(description->offset);
        const Bytes size(description->size);
        const Bytes end = std::min(found->size, found->all);
        if (description->flags != 0 || !IsZero(description->reserved) || size == Bytes(0) ||
            offset > end || size > end - offset) {
          return ToResult(DriverCode::kInvalidValue);
        }
        Records<ExternalBuffer>::Prepared record(ExternalBuffer{});
        const absl::StatusOr<AddressRange> mapped = MapAll(driver, context.device, *found);
        if (!mapped.ok()) return ToResult(mapped.status());
        const DeviceAddress address = mapped->base + offset;
        record->mapped = *mapped;
        driver.external.buffers.Add(address.value(), std::move(record));
        driver.report.AddObject(ObjectKind::kMemory, address.value(), size, context.device.value());
        *ptr = address.value();
        return CUDA_SUCCESS;
      });
}

std::optional<absl::Status> FreeExternalBuffer(DriverState& driver, DeviceAddress address) {
  const auto found = driver.external.buffers.Find(address.value());
  if (!found.has_value() || !driver.external.buffers.Remove(address.value())) return std::nullopt;
  absl::Status freed = driver.vmm.Unmap(found->mapped);
  if (freed.ok()) freed = driver.vmm.AddressFree(found->mapped);
  return freed;
}

std::optional<uint64_t> ExternalBufferAt(const DriverState& driver, DeviceAddress address) {
  std::optional<uint64_t> found;
  driver.external.buffers.ForEach([&](uint64_t key, const ExternalBuffer& buffer) {
    if (buffer.mapped.contains(address)) found = key;
  });
  return found;
}

}  // namespace twinmmu::libcuda
