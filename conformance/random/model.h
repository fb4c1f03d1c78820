// Model: what a machine answers to each call, and what is then true; written only to be read.
//
// It stands beside an implementation in a random sequence: both get every call, and must agree on
// the code and on all that can be asked afterwards. It shares no code with an implementation, looks
// nothing up fast, and keeps one entry per granule.

#ifndef TWINMMU_CONFORMANCE_RANDOM_MODEL_H_
#define TWINMMU_CONFORMANCE_RANDOM_MODEL_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "api/driver_error.h"
#include "api/executor.h"
#include "api/vmm.h"
#include "conformance/rules/rules.h"

namespace twinmmu::conformance::random {

// What the model must know of the machine beside it. All devices have virtual memory management.
struct ModelParameters {
  Bytes granularity = MiB(2);  // the minimum: of allocations and mappings
  Bytes recommended_granularity = MiB(2);
  Bytes reservation_granularity = MiB(2);
  int address_bits = 47;
  std::vector<MemoryInfo> devices;  // before the first call
  std::vector<std::vector<bool>> peers;
  std::vector<int> host_nodes = {0};
  bool cpu_sees_host_memory = true;               // at its device address, with the host's access
  DriverCode fabric = DriverCode::kNotPermitted;  // Create's answer to fabric handles
  DriverCode host_memory = DriverCode::kSuccess;  // the same, to memory of the host
  bool grants_compression = true;
  // Nobody else takes memory of the devices, so that what is free can be told.
  bool sole_user = true;
  std::set<Deviation> deviations;
};

using Byte = std::optional<uint8_t>;  // nullopt: not known

// What a call must answer: `code`, or where two are possible, `or_code`. The rest is compared on
// success, as far as the call has such a result.
struct Answer {
  Answer(DriverCode only = DriverCode::kSuccess) : Answer(only, only) {}  // NOLINT: converts
  Answer(DriverCode one, DriverCode other) : code(one), or_code(other) {}

  DriverCode code;
  DriverCode or_code;
  uint64_t number = 0;  // an access, a handle, a size, an attribute
  bool any_number = false;
  AddressRange range;
  MemoryInfo memory;
  AllocationProperties properties;
  std::vector<Byte> bytes;
  // Refused as some of the memory is not accessible: work that was taken before would fault.
  bool no_access = false;

  bool Allows(DriverCode actual) const { return actual == code || actual == or_code; }
};

// Each function checks what the call of that name checks, in the driver's order, and does what the
// call does. Where the implementation chooses the result (an address, a handle, a descriptor), it
// only checks, and a function named in the past tense takes the result; that one returns what is
// wrong with it, or "".
class Model {
 public:
  explicit Model(const ModelParameters& parameters) : parameters_(parameters) {}

  Answer AddressReserve(Bytes size, const ReserveOptions& options) const;
  std::string Reserved(const AddressRange& range, Bytes size, const ReserveOptions& options);
  Answer AddressFree(const AddressRange& range);

  Answer GetAllocationGranularity(const AllocationProperties& properties, Granularity option) const;
  Answer Create(Bytes size, const AllocationProperties& properties, uint64_t flags) const;
  std::string Created(AllocationHandle handle, Bytes size, const AllocationProperties& properties);
  Answer Release(AllocationHandle handle);
  Answer RetainAllocationHandle(DeviceAddress address);
  Answer GetAllocationProperties(AllocationHandle handle) const;
  Answer GetMemoryInfo(DeviceOrdinal device) const;
  Answer CanAccessPeer(DeviceOrdinal device, DeviceOrdinal peer) const;

  Answer Map(const AddressRange& range, AllocationHandle handle, Bytes offset, uint64_t flags);
  Answer Unmap(const AddressRange& range);
  Answer SetAccess(const AddressRange& range, absl::Span<const AccessGrant> grants);
  Answer GetAccess(const Location& location, DeviceAddress address) const;

  Answer Export(AllocationHandle handle, HandleType type, uint64_t flags) const;
  std::string Exported(const ShareableHandle& shareable, AllocationHandle handle);
  void Closed(int file_descriptor);
  Answer Import(const ShareableHandle& shareable) const;
  std::string Imported(AllocationHandle handle, const ShareableHandle& shareable);

  Answer GetPointerAttribute(DeviceOrdinal device, PointerAttribute attribute,
                             DeviceAddress address) const;
  Answer GetAddressRange(DeviceOrdinal device, DeviceAddress address) const;

  // The bytes written are first, first + 1, ...
  Answer CopyHostToDevice(DeviceOrdinal device, DeviceAddress destination, uint8_t first,
                          Bytes size);
  Answer CopyDeviceToHost(DeviceOrdinal device, DeviceAddress source, Bytes size) const;
  Answer CopyDeviceToDevice(DeviceOrdinal device, DeviceAddress destination, DeviceAddress source,
                            Bytes size);
  Answer Fill(DeviceOrdinal device, DeviceAddress destination, const FillPattern& pattern,
              uint64_t count);
  // A copy or fill on a stream that does not exist.
  Answer UseInventedStream(DeviceOrdinal device) const;
  // Work that was taken has faulted: from now on contexts give its code for good.
  void Fault() { faulted_ = true; }
  // Takes bytes that were not known from what was read: from now on they must stay.
  void Learn(DeviceAddress address, const std::vector<uint8_t>& read);

  // --- What is there, for those who choose the next call or clean up.

  const ModelParameters& parameters() const { return parameters_; }
  int device_count() const { return static_cast<int>(parameters_.devices.size()); }
  // A handle that no driver leaves undefined: it has a reference, or is 0.
  bool IsDefined(AllocationHandle handle) const;
  // The size of the memory behind a handle; 0 if there is none.
  Bytes SizeOf(AllocationHandle handle) const;
  int ReferencesOf(AllocationHandle handle) const;
  // The mapping at an address; empty where there is none.
  AddressRange MappingAt(DeviceAddress address) const;
  // Null where nothing is reserved.
  const AddressRange* ReservationAt(DeviceAddress address) const;
  bool CanAccess(DeviceOrdinal device, const AddressRange& range, Access access) const;
  bool CanCopy(DeviceOrdinal device, const AddressRange& range, Access access) const;
  // Whether a copy that reads or writes there may end the process on hardware. `with_host`: what is
  // on the other side is memory of the program, or such that the CPU sees some of it.
  bool MayEndTheProcess(DeviceOrdinal device, const AddressRange& range, Access access,
                        bool with_host) const;
  // Whether the host has access to memory in `range`.
  bool CpuSeesSome(const AddressRange& range) const;
  // Whether the two, which lie in reservations, have bytes of memory in common, under whatever
  // addresses.
  bool Overlap(const AddressRange& destination, const AddressRange& source) const;
  // All mappings of which some part is in `range`.
  std::vector<AddressRange> MappingsIn(const AddressRange& range) const;
  // The state but for what memory holds, as a text: two are equal if the states differ only in the
  // names of handles and in where `origin` is.
  std::string Shape(DeviceAddress origin) const;
  // All of the state as a text: two are equal only if the states are.
  std::string State() const;

 private:
  // Of each granule of memory, the first and the last bytes are watched.
  static constexpr uint64_t kWatched = 8;
  using Content = std::array<Byte, 2 * kWatched>;

  struct Memory {
    AllocationProperties properties;  // as granted to the first handle
    Bytes size;
    bool tile_pool = false;
    std::map<uint64_t, Content> content;  // by number of the granule

    bool on_device() const { return properties.location.type == LocationType::kDevice; }
  };
  struct Allocation {
    uint64_t memory = 0;
    AllocationProperties properties;
    int references = 0;
    int mappings = 0;
    // Of memory for GPUDirect RDMA, 0 for none: the mapping that it hangs on; where there is no
    // such, another one that its device was granted since.
    DeviceAddress first;
    DeviceAddress holder;
  };
  // A granule of addresses that is mapped.
  struct Granule {
    AddressRange mapping;
    uint64_t handle = 0;
    uint64_t number = 0;         // of the granule in its memory
    std::vector<Access> access;  // of each device, and last of the host
    bool device_last = false;    // of the access of the host and device 0, the latter changed last
  };

  // Bytes [first, end) of a memory.
  struct Piece {
    uint64_t memory = 0;
    uint64_t first = 0;
    uint64_t end = 0;
  };

  bool Deviates(Deviation deviation) const { return parameters_.deviations.count(deviation) != 0; }
  bool HasDevice(DeviceOrdinal device) const {
    return device.value() >= 0 && device.value() < device_count();
  }
  DriverCode CheckContext(DeviceOrdinal device) const;
  uint64_t Floor(DeviceAddress address) const {
    return address.value() - address.value() % parameters_.granularity.value();
  }
  Answer CreateTilePool(Bytes size, bool lacks, bool near_the_end) const;
  DriverCode CheckProperties(const AllocationProperties& properties) const;
  DriverCode CheckReach(const Granule& granule, const AccessGrant& grant) const;
  bool HangsOnItsFirstMapping(const Allocation& allocation) const;
  DriverCode CheckRdma(const AddressRange& mapping, const AccessGrant& grant);
  void SetAccessOf(const AddressRange& mapping, const AccessGrant& grant);
  std::optional<size_t> IndexOf(const Location& location) const;
  const Granule* GranuleAt(DeviceAddress address) const;
  bool IsCopiedByCpu(DeviceOrdinal device, DeviceAddress first) const;
  bool CpuCanAccess(const AddressRange& range, Access access) const;
  AddressRange BehindTheFirstMapping(const AddressRange& range) const;
  bool Cuts(DeviceAddress address) const;
  void Forget(const AddressRange& mapping);
  template <typename Can>  // bool(const Granule&)
  bool EveryGranule(const AddressRange& range, const Can& can) const;
  Answer AttributeOfReserved(PointerAttribute attribute, const AddressRange* reservation) const;
  const Allocation* Usable(AllocationHandle handle) const;
  const Memory& MemoryOf(const Granule& granule) const;
  Bytes FreeOn(int device) const;
  std::string ShapeOf(const Allocation& allocation, DeviceAddress origin) const;
  static std::string StateOf(const Memory& memory);
  void AddReference(AllocationHandle handle, uint64_t memory, const AllocationProperties& granted);
  void DropUnused();

  std::vector<Piece> PiecesOf(const AddressRange& range) const;
  Byte* Watched(DeviceAddress address);
  Byte Read(DeviceAddress address) const;
  template <typename Value>  // Byte(uint64_t offset)
  void Write(const AddressRange& range, const Value& value);

  ModelParameters parameters_;
  std::map<uint64_t, AddressRange> reservations_;  // by base
  std::map<uint64_t, Allocation> allocations_;     // by handle
  std::map<uint64_t, Memory> memories_;            // by a number of our own
  std::map<uint64_t, Granule> granules_;           // by address
  std::map<int, uint64_t> descriptors_;            // the memory behind each open one
  std::map<std::array<uint8_t, 64>, uint64_t> fabric_;
  uint64_t memories_made_ = 0;
  bool faulted_ = false;
};

}  // namespace twinmmu::conformance::random

#endif  // TWINMMU_CONFORMANCE_RANDOM_MODEL_H_
