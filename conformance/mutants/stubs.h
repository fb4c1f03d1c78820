// Three implementations that are little more than their signatures. Nearly every test must reject
// each of them.

#ifndef TWINMMU_CONFORMANCE_MUTANTS_STUBS_H_
#define TWINMMU_CONFORMANCE_MUTANTS_STUBS_H_

#include <atomic>

#include "conformance/mutants/framework/real.h"
#include "conformance/mutants/framework/signatures.h"

namespace twinmmu::conformance {

// Every call succeeds and does nothing.
class AllOk : public Real {
 public:
  using Real::Real;

  CALL_GetDriverVersion() override { return 13000; }
  CALL_GetDeviceCount() override { return 2; }
  CALL_GetDeviceName() override { return std::string("GPU"); }
  CALL_GetDeviceAttribute() override { return 1; }
  CALL_CanAccessPeer() override { return true; }
  CALL_GetMemoryInfo() override { return MemoryInfo{GiB(64), GiB(80)}; }
  CALL_AddressReserve() override {
    return AddressRange{DeviceAddress(end_ += size.value()) - size, size, Bytes(0)};
  }
  CALL_AddressFree() override { return Ok(); }
  CALL_GetAllocationGranularity() override { return MiB(2); }
  CALL_Create() override { return AllocationHandle(++last_); }
  CALL_Release() override { return Ok(); }
  CALL_RetainAllocationHandle() override { return AllocationHandle(last_); }
  CALL_GetAllocationProperties() override { return AllocationProperties(); }
  CALL_Map() override { return Ok(); }
  CALL_Unmap() override { return Ok(); }
  CALL_SetAccess() override { return Ok(); }
  CALL_GetAccess() override { return Access::kReadWrite; }
  CALL_ExportShareableHandle() override { return ShareableHandle::FileDescriptor(-1); }
  CALL_ImportShareableHandle() override { return AllocationHandle(++last_); }
  CALL_GetPointerAttribute() override { return 0; }
  CALL_GetAddressRange() override { return AddressRange{address, MiB(2), Bytes(0)}; }
  CALL_GetHandleForAddressRange() override { return 1 << 20; }

  CALL_Write() override { return Ok(); }
  CALL_Read() override { return Ok(); }
  CALL_Move() override { return Ok(); }
  CALL_Set() override { return Ok(); }
  CALL_CreateStream() override { return Stream(device, ++last_); }
  CALL_DestroyStream() override { return Ok(); }
  CALL_QueryStream() override { return true; }
  CALL_SynchronizeStream() override { return Ok(); }
  CALL_CreateEvent() override { return Event(device, ++last_); }
  CALL_DestroyEvent() override { return Ok(); }
  CALL_RecordEvent() override { return Ok(); }
  CALL_WaitEvent() override { return Ok(); }
  CALL_QueryEvent() override { return true; }
  CALL_SynchronizeEvent() override { return Ok(); }
  CALL_SynchronizeDevice() override { return Ok(); }
  CALL_LoadModule() override { return Module(device, ++last_); }
  CALL_UnloadModule() override { return Ok(); }
  CALL_GetKernel() override { return Kernel(module.device(), ++last_); }
  CALL_Launch() override { return Ok(); }
  CALL_GetMulticastGranularity() override { return MiB(2); }
  CALL_CreateMulticast() override { return AllocationHandle(++last_); }
  CALL_AddDevice() override { return Ok(); }
  CALL_BindMemory() override { return Ok(); }
  CALL_BindAddress() override { return Ok(); }
  CALL_Unbind() override { return Ok(); }

  CALL_CreateArray() override { return Array(device, ++last_); }
  CALL_DestroyArray() override { return Ok(); }
  CALL_CreateMipmappedArray() override { return MipmappedArray(device, ++last_); }
  CALL_DestroyMipmappedArray() override { return Ok(); }
  CALL_GetLevel() override { return Array(mipmap.device(), ++last_); }
  CALL_GetArraySparseProperties() override { return SparseProperties{{128, 128, 1}, 4, KiB(64)}; }
  CALL_GetMipmappedArraySparseProperties() override {
    return SparseProperties{{128, 128, 1}, 4, KiB(64)};
  }
  CALL_MapTiles() override { return Ok(); }
  CALL_CopyHostToArray() override { return Ok(); }
  CALL_CopyArrayToHost() override { return Ok(); }

 private:
  std::atomic<uint64_t> end_ = TiB(1).value();
  std::atomic<uint64_t> last_ = 0;
};

// Bookkeeping without memory: states and codes are right, and all data reads as zeros.
class WithoutMemory : public Real {
 public:
  using Real::Real;
  CALL_Read() override;
};

// Memory without rights: they can be set, and everything that is mapped can be read and written.
class WithoutRights : public Real {
 public:
  using Real::Real;
  CALL_Map() override;
  CALL_SetAccess() override;

 private:
  void Open(const AddressRange& range);
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_MUTANTS_STUBS_H_
