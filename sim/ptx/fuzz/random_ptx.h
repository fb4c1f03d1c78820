// RandomPtx: short programs of any instructions, as bytes choose them.

#ifndef TWINMMU_SIM_PTX_FUZZ_RANDOM_PTX_H_
#define TWINMMU_SIM_PTX_FUZZ_RANDOM_PTX_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace twinmmu::ptx {

// Numbers from bytes; zeros once these are used up.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : data_(data), end_(data + size) {}

  bool over() const { return data_ == end_; }
  uint8_t Byte() { return over() ? 0 : *data_++; }
  // Below `count`, which is below 65536.
  uint32_t Below(size_t count) {
    const uint32_t low = Byte();
    const uint32_t high = count > 256 ? Byte() : 0u;
    return (high << 8 | low) % static_cast<uint32_t>(count);
  }

 private:
  const uint8_t* data_;
  const uint8_t* end_;
};

// A module whose kernel `k` has the parameters `p`, an address of kRandomPtxMemory bytes, and
// `other`, a number. Some programs are wrong.
std::string RandomPtx(Choices& choices);
constexpr uint32_t kRandomPtxMemory = 65536;
constexpr uint32_t kRandomPtxMaps = 8192;  // four tensor maps, behind zeros
constexpr int kRandomPtxTextures = 8;      // handles from 1

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_FUZZ_RANDOM_PTX_H_
