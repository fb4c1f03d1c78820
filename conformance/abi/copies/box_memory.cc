#include "conformance/abi/copies/box_memory.h"

namespace twinmmu::abi {

Content Numbered(size_t size) {
  Content bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(i % 251 + 1);
  return bytes;
}

void Write(CUdeviceptr address, const Content& bytes) {
  EXPECT_EQ(cuMemcpyHtoD(address, bytes.data(), bytes.size()), CUDA_SUCCESS);
}

Content Read(CUdeviceptr address, size_t size) {
  Content bytes(size);
  EXPECT_EQ(cuMemcpyDtoH(bytes.data(), address, size), CUDA_SUCCESS);
  return bytes;
}

Mappings::Mappings(const std::vector<bool>& is_mapped) : is_mapped_(is_mapped) {
  const size_t size = is_mapped_.size() * kChunk;
  EXPECT_EQ(cuMemAddressReserve(&address_, size, 0, 0, 0), CUDA_SUCCESS);
  const CUmemAllocationProp prop = PinnedOn(0);
  const CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  for (size_t i = 0; i < is_mapped_.size(); ++i) {
    if (!is_mapped_[i]) continue;
    const CUdeviceptr at = address_ + i * kChunk;
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(cuMemCreate(&handle, kChunk, &prop, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemMap(at, kChunk, 0, handle, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuMemSetAccess(at, kChunk, &access, 1), CUDA_SUCCESS);
    EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
  }
}

Mappings::~Mappings() {
  for (size_t i = 0; i < is_mapped_.size(); ++i) {
    if (is_mapped_[i]) {
      EXPECT_EQ(cuMemUnmap(address_ + i * kChunk, kChunk), CUDA_SUCCESS);
    }
  }
  EXPECT_EQ(cuMemAddressFree(address_, is_mapped_.size() * kChunk), CUDA_SUCCESS);
}

}  // namespace twinmmu::abi
