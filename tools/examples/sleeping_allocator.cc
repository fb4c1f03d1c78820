// An allocator that can sleep: its memory goes back to the device, for others to use, and its
// blocks keep their addresses. When it wakes the data is there again, and no pointer has changed.

#include <cstdio>
#include <map>
#include <vector>

#include "tools/examples/check.h"

namespace {

class SleepingAllocator {
 public:
  explicit SleepingAllocator(CUdevice device)
      : device_(device), granularity_(granularity_of(device)) {}
  ~SleepingAllocator() {
    while (!blocks_.empty()) Free(blocks_.begin()->first);
  }
  SleepingAllocator(const SleepingAllocator&) = delete;
  SleepingAllocator& operator=(const SleepingAllocator&) = delete;

  // Null: there is no memory.
  CUdeviceptr Allocate(size_t size) {
    Block block;
    block.size = (size + granularity_ - 1) / granularity_ * granularity_;
    CUdeviceptr address = 0;
    CHECK(cuMemAddressReserve(&address, block.size, 0, 0, 0));
    if (!Back(address, block)) {
      CHECK(cuMemAddressFree(address, block.size));
      return 0;
    }
    blocks_[address] = block;
    return address;
  }

  void Free(CUdeviceptr address) {
    CHECK(cuCtxSynchronize());  // What still uses the memory must come to its end.
    const Block& block = blocks_.at(address);
    if (awake_) TakeBack(address, block);
    CHECK(cuMemAddressFree(address, block.size));
    blocks_.erase(address);
  }

  void Sleep() {
    CHECK(cuCtxSynchronize());
    for (auto& [address, block] : blocks_) {
      block.saved.resize(block.size);
      CHECK(cuMemcpyDtoH(block.saved.data(), address, block.size));
      TakeBack(address, block);
    }
    awake_ = false;
  }

  // False: there is no memory for all blocks. Then it goes on sleeping, and can be woken later.
  bool Wake() {
    for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
      if (Back(block->first, block->second)) continue;
      for (auto done = blocks_.begin(); done != block; ++done) {
#ifdef PLANTED_BUG
        // Wrong: the handle is still held, and with it the memory; the next Wake overwrites it.
        CHECK(cuMemUnmap(done->first, done->second.size));
#else
        TakeBack(done->first, done->second);
#endif
      }
      return false;
    }
    for (auto& [address, block] : blocks_) {
      CHECK(cuMemcpyHtoD(address, block.saved.data(), block.size));
      block.saved = {};
    }
    awake_ = true;
    return true;
  }

 private:
  struct Block {
    size_t size = 0;
    CUmemGenericAllocationHandle handle = 0;
    std::vector<char> saved;  // while it sleeps
  };

  // Puts memory behind the addresses. False: there is none.
  bool Back(CUdeviceptr address, Block& block) {
    const CUmemAllocationProp properties = memory_of(device_);
    // Reported:
    const CUresult created = cuMemCreate(&block.handle, block.size, &properties, 0);
    if (created == CUDA_ERROR_OUT_OF_MEMORY) return false;
    CHECK(created);
    CHECK(cuMemMap(address, block.size, 0, block.handle, 0));
    const CUmemAccessDesc grant = grant_to(device_, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CHECK(cuMemSetAccess(address, block.size, &grant, 1));
    return true;
  }

  static void TakeBack(CUdeviceptr address, const Block& block) {
    CHECK(cuMemUnmap(address, block.size));
    CHECK(cuMemRelease(block.handle));
  }

  CUdevice device_;
  size_t granularity_;
  bool awake_ = true;
  std::map<CUdeviceptr, Block> blocks_;
};

// Somebody else, who takes all the memory of the device but `left` bytes.
class Neighbour {
 public:
  Neighbour(CUdevice device, size_t left) {
    const CUmemAllocationProp properties = memory_of(device);
    const size_t granule = granularity_of(device);
    CUmemGenericAllocationHandle kept_free;
    CHECK(cuMemCreate(&kept_free, left, &properties, 0));
    for (const size_t piece : {512 * granule, 32 * granule, granule}) {
      CUmemGenericAllocationHandle handle;
      CUresult created;
      while ((created = cuMemCreate(&handle, piece, &properties, 0)) == CUDA_SUCCESS) {
        handles_.push_back(handle);
      }
      if (created != CUDA_ERROR_OUT_OF_MEMORY) CHECK(created);
    }
    CHECK(cuMemRelease(kept_free));
  }
  ~Neighbour() {
    for (const CUmemGenericAllocationHandle handle : handles_) CHECK(cuMemRelease(handle));
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

 private:
  std::vector<CUmemGenericAllocationHandle> handles_;
};

// What a program does with three blocks of these sizes, in granules.
class Program {
 public:
  explicit Program(CUdevice device)
      : device_(device), granule_(granularity_of(device)), allocator_(device) {
    free_ = free_memory();
    for (const size_t size : {4, 12, 2}) {
      const CUdeviceptr address = allocator_.Allocate(size * granule_);
      EXPECT(address != 0, "there is no memory");
      CHECK(cuMemsetD8(address, static_cast<unsigned char>(size), size * granule_));
      blocks_[address] = size;
    }
    Say("three blocks");
  }

  void SleepAndWake() {
    allocator_.Sleep();
    Say("asleep");
    EXPECT(allocator_.Wake(), "it does not wake");
    ExpectData();
    Say("awake, all data is there");
  }

  void SleepAndWakeAmongOthers() {
    allocator_.Sleep();
    {
      // Enough for the first block and not for the second.
      const Neighbour neighbour(device_, 12 * granule_);
      const size_t before = free_memory();
      EXPECT(!allocator_.Wake(), "it wakes where there is no memory");
      std::printf("no memory to wake: took %zu granules\n", (before - free_memory()) / granule_);
    }
    EXPECT(allocator_.Wake(), "it does not wake when the memory is free again");
    ExpectData();
    Say("awake later, all data is there");
  }

  void Finish() {
    for (const auto& [address, size] : blocks_) allocator_.Free(address);
    Say("freed");
  }

 private:
  void Say(const char* what) const {
    std::printf("%s: %zu granules taken\n", what, (free_ - free_memory()) / granule_);
  }

  void ExpectData() const {
    for (const auto& [address, size] : blocks_) {
      std::vector<unsigned char> data(size * granule_);
      CHECK(cuMemcpyDtoH(data.data(), address, data.size()));
      const std::vector<unsigned char> written(data.size(), static_cast<unsigned char>(size));
      EXPECT(data == written, "data is lost");
    }
  }

  CUdevice device_;
  size_t granule_;
  size_t free_ = 0;
  SleepingAllocator allocator_;
  std::map<CUdeviceptr, size_t> blocks_;
};

}  // namespace

int main() {
  CHECK(cuInit(0));
  const CUdevice device = use_device(0);
  warm_up(device);
  {
    Program program(device);
    program.SleepAndWake();
    program.SleepAndWakeAmongOthers();
    program.Finish();
  }
  CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}
