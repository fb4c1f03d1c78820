// One range of addresses whose memory lies on two devices in turn, and which both may use.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tools/examples/check.h"

namespace {

class StripedBuffer {
 public:
  // `stripes` of a granule each. The devices must be able to access each other.
  StripedBuffer(const std::vector<CUdevice>& devices, size_t stripes) {
    for (const CUdevice device : devices) stripe_ = std::max(stripe_, granularity_of(device));
    size_ = stripes * stripe_;
    CHECK(cuMemAddressReserve(&base_, size_, 0, 0, 0));
    std::vector<CUmemAccessDesc> grants;
    for (const CUdevice device : devices) {
      grants.push_back(grant_to(device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    }
    for (size_t i = 0; i < stripes; ++i) {
      const CUmemAllocationProp properties = memory_of(devices[i % devices.size()]);
      CUmemGenericAllocationHandle handle;
      CHECK(cuMemCreate(&handle, stripe_, &properties, 0));
      CHECK(cuMemMap(base_ + i * stripe_, stripe_, 0, handle, 0));
      CHECK(cuMemRelease(handle));
#ifdef PLANTED_BUG
      // Wrong: the memory's own device is granted the stripe, its peer is not.
      // Reported:
      CHECK(cuMemSetAccess(base_ + i * stripe_, stripe_, &grants[i % devices.size()], 1));
#endif
    }
#ifndef PLANTED_BUG
    CHECK(cuMemSetAccess(base_, size_, grants.data(), grants.size()));
#endif
  }
  ~StripedBuffer() {
    CHECK(cuMemUnmap(base_, size_));
    CHECK(cuMemAddressFree(base_, size_));
  }
  StripedBuffer(const StripedBuffer&) = delete;
  StripedBuffer& operator=(const StripedBuffer&) = delete;

  CUdeviceptr base() const { return base_; }
  size_t size() const { return size_; }
  size_t stripe() const { return stripe_; }

 private:
  CUdeviceptr base_ = 0;
  size_t size_ = 0;
  size_t stripe_ = 0;
};

void RequirePeers() {
  int count = 0;
  int forth = 0;
  int back = 0;
  CHECK(cuDeviceGetCount(&count));
  EXPECT(count >= 2, "this needs two devices");
  CHECK(cuDeviceCanAccessPeer(&forth, 0, 1));
  CHECK(cuDeviceCanAccessPeer(&back, 1, 0));
  EXPECT(forth && back, "the devices cannot access each other");
}

void WriteAndRead(const StripedBuffer& buffer, CUcontext first, CUcontext second) {
  std::vector<unsigned char> written(buffer.size());
  for (size_t i = 0; i < written.size(); ++i) written[i] = static_cast<unsigned char>(i % 251);
  CHECK(cuCtxSetCurrent(first));
  // Reported:
  CHECK(cuMemcpyHtoD(buffer.base(), written.data(), written.size()));
  CHECK(cuCtxSetCurrent(second));
  std::vector<unsigned char> read(buffer.size());
  CHECK(cuMemcpyDtoH(read.data(), buffer.base(), read.size()));
  EXPECT(read == written, "the second device reads something else");
  std::printf("written by the first device, read by the second: the same\n");

  // From the first two stripes to the last two: both devices are read, and both are written.
  const size_t half = 2 * buffer.stripe();
  const CUdeviceptr end = buffer.base() + buffer.size() - half;
  CHECK(cuMemcpyDtoD(end, buffer.base(), half));
  CHECK(cuCtxSynchronize());
  CHECK(cuCtxSetCurrent(first));
  CHECK(cuMemcpyDtoH(read.data(), end, half));
  EXPECT(std::memcmp(read.data(), written.data(), half) == 0, "a copy across stripes is wrong");
  std::printf("copied across stripes: the same\n");
}

void PrintOwners(const StripedBuffer& buffer) {
  for (CUdeviceptr at = buffer.base(); at < buffer.base() + buffer.size(); at += buffer.stripe()) {
    int owner = -1;
    CHECK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at));
    std::printf("stripe %zu is on device %d\n",
                static_cast<size_t>((at - buffer.base()) / buffer.stripe()), owner);
  }
}

}  // namespace

int main() {
  CHECK(cuInit(0));
  RequirePeers();
  std::vector<CUdevice> devices;
  std::vector<CUcontext> contexts(2);
  for (size_t i = 0; i < contexts.size(); ++i) {
    devices.push_back(use_device(static_cast<int>(i)));
    CHECK(cuCtxGetCurrent(&contexts[i]));
  }
  {
    const StripedBuffer buffer(devices, 6);
    PrintOwners(buffer);
    WriteAndRead(buffer, contexts[0], contexts[1]);
  }
  for (const CUdevice device : devices) CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}
