// Copies of bytes, rows and boxes, in memory and arrays.

#include "conformance/abi/values/cases/all_cases.h"
#include "conformance/abi/values/cases/case_objects.h"
#include "conformance/abi/values/cases/copy_fields.h"

namespace twinmmu::abi {
namespace {

void DeviceToDevice(Trial& trial) {
  CUdeviceptr to = Memory();
  CUdeviceptr from = OtherMemory();
  size_t size = 64;
  trial.Offset(kBytes, FIELD(to));
  trial.Offset(kBytes, FIELD(from));
  trial.Size(FIELD(size));
  trial.Answer(Call("cuMemcpyDtoD_v2", to, from, size));
}
void HostToDevice(Trial& trial) {
  CUdeviceptr to = Memory();
  size_t size = 64;
  trial.OneOf({0, 1, 4095, 4096, 65536, kBytes - 64}, FIELD(size));
  trial.Answer(Call("cuMemcpy", to, HostMemory(), size));
}
void Peer(Trial& trial) {
  CUdeviceptr to = Memory();
  size_t size = 64;
  trial.Offset(kBytes, FIELD(to));
  trial.Size(FIELD(size));
  trial.Answer(Call("cuMemcpyPeer", to, PrimaryContext(), OtherMemory(), PrimaryContext(), size));
}

struct ArrayPart {
  size_t offset = 0;
  size_t size = 64;
  CUdeviceptr address = Memory();
};
ArrayPart PartIn(Trial& trial) {
  ArrayPart part;
  auto& [offset, size, address] = part;
  trial.Size(FIELD(offset));
  trial.Size(FIELD(size));
  trial.Offset(kBytes, FIELD(address));
  return part;
}
void ArrayToDevice(Trial& trial) {
  const ArrayPart part = PartIn(trial);
  trial.Answer(Call("cuMemcpyAtoD_v2", part.address, Row(), part.offset, part.size));
}
void DeviceToArray(Trial& trial) {
  const ArrayPart part = PartIn(trial);
  trial.Answer(Call("cuMemcpyDtoA_v2", Row(), part.offset, part.address, part.size));
}
void ArrayToArray(Trial& trial, CUarray to) {
  size_t to_offset = 0;
  size_t from_offset = 0;
  size_t size = 64;
  trial.Size(FIELD(to_offset));
  trial.Size(FIELD(from_offset));
  trial.Size(FIELD(size));
  trial.Answer(Call("cuMemcpyAtoA_v2", to, to_offset, Row(), from_offset, size));
}
void RowToRow(Trial& trial) { ArrayToArray(trial, Row()); }
void RowToPlane(Trial& trial) { ArrayToArray(trial, Plane()); }
void HostToArray(Trial& trial) {
  size_t offset = 0;
  size_t size = 64;
  trial.Size(FIELD(offset));
  trial.UpTo(kBytes, FIELD(size));
  trial.Answer(Call("cuMemcpyHtoA_v2", Row(), offset, HostMemory(), size));
}

constexpr CUmemorytype kArray = CU_MEMORYTYPE_ARRAY;
constexpr CUmemorytype kDevice = CU_MEMORYTYPE_DEVICE;
constexpr CUmemorytype kUnified = CU_MEMORYTYPE_UNIFIED;

CUDA_MEMCPY2D RowsFromTo(CUmemorytype from, CUmemorytype to) {
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = from;
  copy.dstMemoryType = to;
  copy.srcDevice = from == kArray ? 0 : Memory();
  copy.dstDevice = to == kArray ? 0 : OtherMemory();
  copy.srcArray = from == kArray ? Plane() : nullptr;
  copy.dstArray = to == kArray ? Plane() : nullptr;
  copy.srcPitch = copy.dstPitch = 512;
  copy.WidthInBytes = 100;
  copy.Height = 4;
  return copy;
}
void VaryRows(Trial& trial, CUDA_MEMCPY2D& copy) {
  trial.Size(FIELD(copy.srcXInBytes));
  trial.Size(FIELD(copy.srcY));
  trial.OneOf(MemoryTypes(), FIELD(copy.srcMemoryType));
  trial.Size(FIELD(copy.srcPitch));
  trial.Size(FIELD(copy.dstXInBytes));
  trial.Size(FIELD(copy.dstY));
  trial.OneOf(MemoryTypes(), FIELD(copy.dstMemoryType));
  trial.Size(FIELD(copy.dstPitch));
  trial.Size(FIELD(copy.WidthInBytes));
  trial.Size(FIELD(copy.Height));
}
void CopyRows(Trial& trial, CUDA_MEMCPY2D copy) {
  VaryRows(trial, copy);
  trial.Answer(Call("cuMemcpy2D_v2", &copy));
}
void CopyRowsOnStream(Trial& trial, CUDA_MEMCPY2D copy) {
  VaryRows(trial, copy);
  trial.Answer(Call("cuMemcpy2DAsync_v2", &copy, Stream()));
}
void Rows(Trial& trial) { CopyRows(trial, RowsFromTo(kDevice, kDevice)); }
void UnifiedRows(Trial& trial) { CopyRowsOnStream(trial, RowsFromTo(kUnified, kUnified)); }
void ArrayToRows(Trial& trial) { CopyRows(trial, RowsFromTo(kArray, kDevice)); }
void RowsToArray(Trial& trial) { CopyRowsOnStream(trial, RowsFromTo(kDevice, kArray)); }
void RowsInArray(Trial& trial) {
  CUDA_MEMCPY2D copy = RowsFromTo(kArray, kArray);
  copy.dstY = 8;
  CopyRows(trial, copy);
}
void UnalignedRow(Trial& trial) {
  CUDA_MEMCPY2D copy = RowsFromTo(kDevice, kDevice);
  copy.srcPitch = copy.dstPitch = 500;
  copy.Height = 1;
  VaryRows(trial, copy);
  trial.Answer(Call("cuMemcpy2DUnaligned_v2", &copy));
}
void OneRowOfArray(Trial& trial) {
  CUDA_MEMCPY2D copy = RowsFromTo(kArray, kDevice);
  copy.srcArray = Row();
  copy.srcPitch = copy.dstPitch = 0;
  copy.Height = 1;
  CopyRows(trial, copy);
}

// CUDA_MEMCPY3D or CUDA_MEMCPY3D_PEER.
template <typename Copy>
Copy BoxFromTo(CUmemorytype from, CUmemorytype to) {
  Copy copy = {};
  copy.srcMemoryType = from;
  copy.dstMemoryType = to;
  copy.srcDevice = from == kArray ? 0 : Memory();
  copy.dstDevice = to == kArray ? 0 : OtherMemory();
  copy.srcArray = from == kArray ? Volume() : nullptr;
  copy.dstArray = to == kArray ? Volume() : nullptr;
  copy.srcPitch = copy.dstPitch = 512;
  copy.srcHeight = copy.dstHeight = 8;
  copy.WidthInBytes = 100;
  copy.Height = 4;
  copy.Depth = 2;
  return copy;
}
void CopyBox(Trial& trial, CUDA_MEMCPY3D copy) {
  VaryBox(trial, copy);
  trial.Answer(Call("cuMemcpy3D_v2", &copy));
}
void Box(Trial& trial) {
  auto copy = BoxFromTo<CUDA_MEMCPY3D>(kDevice, kDevice);
  trial.Word(&copy.reserved0, "copy.reserved0");
  trial.Word(&copy.reserved1, "copy.reserved1");
  CopyBox(trial, copy);
}
void UnifiedBox(Trial& trial) { CopyBox(trial, BoxFromTo<CUDA_MEMCPY3D>(kUnified, kUnified)); }
void BoxToLayers(Trial& trial) {
  auto copy = BoxFromTo<CUDA_MEMCPY3D>(kDevice, kArray);
  copy.dstArray = Layers();
  CopyBox(trial, copy);
}
void PlaneToVolume(Trial& trial) {
  auto copy = BoxFromTo<CUDA_MEMCPY3D>(kArray, kArray);
  copy.srcArray = Plane();
  copy.Depth = 1;
  CopyBox(trial, copy);
}
void ArrayToBox(Trial& trial) {
  auto copy = BoxFromTo<CUDA_MEMCPY3D>(kArray, kDevice);
  VaryBox(trial, copy);
  trial.Answer(Call("cuMemcpy3DAsync_v2", &copy, Stream()));
}
void PeerBox(Trial& trial) {
  auto copy = BoxFromTo<CUDA_MEMCPY3D_PEER>(kDevice, kDevice);
  copy.srcContext = copy.dstContext = PrimaryContext();
  VaryBox(trial, copy);
  trial.Answer(Call("cuMemcpy3DPeer", &copy));
}
void PeerArrayToBox(Trial& trial) {
  auto copy = BoxFromTo<CUDA_MEMCPY3D_PEER>(kArray, kDevice);
  copy.srcContext = copy.dstContext = PrimaryContext();
  VaryBox(trial, copy);
  trial.Answer(Call("cuMemcpy3DPeerAsync", &copy, Stream()));
}

}  // namespace

std::vector<Case> CopyCases() {
  return {{"cuMemcpyDtoD", DeviceToDevice},
          {"cuMemcpy/host-device", HostToDevice},
          {"cuMemcpyPeer", Peer},
          {"cuMemcpyAtoD", ArrayToDevice},
          {"cuMemcpyDtoA", DeviceToArray},
          {"cuMemcpyAtoA/row-row", RowToRow},
          {"cuMemcpyAtoA/row-plane", RowToPlane},
          {"cuMemcpyHtoA", HostToArray},
          {"cuMemcpy2D/device-device", Rows},
          {"cuMemcpy2DAsync/unified", UnifiedRows},
          {"cuMemcpy2D/array-device", ArrayToRows},
          {"cuMemcpy2DAsync/device-array", RowsToArray},
          {"cuMemcpy2D/array-array", RowsInArray},
          {"cuMemcpy2DUnaligned", UnalignedRow},
          {"cuMemcpy2D/row-device", OneRowOfArray},
          {"cuMemcpy3D/device-device", Box},
          {"cuMemcpy3D/unified", UnifiedBox},
          {"cuMemcpy3D/device-layers", BoxToLayers},
          {"cuMemcpy3D/plane-volume", PlaneToVolume},
          {"cuMemcpy3DAsync/array-device", ArrayToBox},
          {"cuMemcpy3DPeer/device-device", PeerBox},
          {"cuMemcpy3DPeerAsync/array-device", PeerArrayToBox}};
}

}  // namespace twinmmu::abi
