// Points and distances of device memory: Bytes, DeviceAddress, AddressRange.
//
// A point and a distance have different types, so that an address is never added to an address and
// a size is never passed where an address belongs. All arithmetic is on 64 bits and wraps, as the
// driver's does: an interface tested with bad input must be able to carry it.
// Only AddressRange::end() saturates, because a wrapped end would make every comparison wrong.

#ifndef TWINMMU_API_ADDRESS_H_
#define TWINMMU_API_ADDRESS_H_

#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <utility>

#include "api/requirements.h"

namespace twinmmu {

// A byte count: a size, an offset, an alignment or a distance between two addresses.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(uint64_t value) : value_(value) {}

  constexpr uint64_t value() const { return value_; }

  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.value_ + b.value_); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.value_ - b.value_); }
  friend constexpr Bytes operator*(Bytes a, uint64_t n) { return Bytes(a.value_ * n); }
  friend constexpr Bytes operator*(uint64_t n, Bytes a) { return a * n; }
  friend constexpr Bytes operator/(Bytes a, uint64_t n) { return Bytes(a.value_ / n); }
  friend constexpr uint64_t operator/(Bytes a, Bytes b) { return a.value_ / b.value_; }
  friend constexpr Bytes operator%(Bytes a, Bytes b) { return Bytes(a.value_ % b.value_); }
  friend constexpr bool operator==(Bytes a, Bytes b) { return a.value_ == b.value_; }
  friend constexpr bool operator!=(Bytes a, Bytes b) { return a.value_ != b.value_; }
  friend constexpr bool operator<(Bytes a, Bytes b) { return a.value_ < b.value_; }
  friend constexpr bool operator<=(Bytes a, Bytes b) { return a.value_ <= b.value_; }
  friend constexpr bool operator>(Bytes a, Bytes b) { return a.value_ > b.value_; }
  friend constexpr bool operator>=(Bytes a, Bytes b) { return a.value_ >= b.value_; }
  template <typename H>
  friend H AbslHashValue(H h, Bytes b) {
    return H::combine(std::move(h), b.value_);
  }

 private:
  uint64_t value_ = 0;
};

constexpr Bytes KiB(uint64_t n) { return Bytes(n << 10); }
constexpr Bytes MiB(uint64_t n) { return Bytes(n << 20); }
constexpr Bytes GiB(uint64_t n) { return Bytes(n << 30); }
constexpr Bytes TiB(uint64_t n) { return Bytes(n << 40); }

// True for 1, 2, 4, ...; false for 0.
constexpr bool IsPowerOfTwo(Bytes n) {
  return n.value() != 0 && (n.value() & (n.value() - 1)) == 0;
}

// The smallest multiple of `multiple` (not 0) that is at least `n`; wraps near 2^64.
constexpr Bytes RoundUp(Bytes n, Bytes multiple) {
  return Bytes((n.value() + multiple.value() - 1) / multiple.value() * multiple.value());
}

// An address in a device's view of memory. value() is exactly the driver's CUdeviceptr.
class DeviceAddress {
 public:
  constexpr DeviceAddress() = default;
  constexpr explicit DeviceAddress(uint64_t value) : value_(value) {}

  constexpr uint64_t value() const { return value_; }
  constexpr bool IsAligned(Bytes alignment) const { return value_ % alignment.value() == 0; }

  friend constexpr DeviceAddress operator+(DeviceAddress a, Bytes n) {
    return DeviceAddress(a.value_ + n.value());
  }
  friend constexpr DeviceAddress operator-(DeviceAddress a, Bytes n) {
    return DeviceAddress(a.value_ - n.value());
  }
  friend constexpr Bytes operator-(DeviceAddress a, DeviceAddress b) {
    return Bytes(a.value_ - b.value_);
  }
  friend constexpr bool operator==(DeviceAddress a, DeviceAddress b) {
    return a.value_ == b.value_;
  }
  friend constexpr bool operator!=(DeviceAddress a, DeviceAddress b) { return !(a == b); }
  friend constexpr bool operator<(DeviceAddress a, DeviceAddress b) { return a.value_ < b.value_; }
  friend constexpr bool operator<=(DeviceAddress a, DeviceAddress b) {
    return a.value_ <= b.value_;
  }
  friend constexpr bool operator>(DeviceAddress a, DeviceAddress b) { return b < a; }
  friend constexpr bool operator>=(DeviceAddress a, DeviceAddress b) { return b <= a; }
  template <typename H>
  friend H AbslHashValue(H h, DeviceAddress a) {
    return H::combine(std::move(h), a.value_);
  }

 private:
  uint64_t value_ = 0;
};

// A span of device addresses: [base, base + size). `alignment` is what the range was reserved with
// (0: none was requested, and the implementation's own applies); equality ignores it.
struct AddressRange {
  DeviceAddress base;
  Bytes size;
  Bytes alignment;

  // One past the last address, or 2^64 - 1 if base + size does not fit in 64 bits.
  constexpr DeviceAddress end() const {
    const uint64_t room = std::numeric_limits<uint64_t>::max() - base.value();
    return size.value() <= room ? base + size : DeviceAddress(std::numeric_limits<uint64_t>::max());
  }
  constexpr bool empty() const { return size == Bytes(0); }
  constexpr bool contains(DeviceAddress address) const {
    return base <= address && address - base < size;
  }
  // An empty range is contained if its base is, or if it lies at the end.
  constexpr bool contains(const AddressRange& other) const {
    return base <= other.base && other.base - base <= size &&
           other.size <= size - (other.base - base);
  }
  constexpr bool overlaps(const AddressRange& other) const {
    return !empty() && !other.empty() && (contains(other.base) || other.contains(base));
  }
  // The part that starts at `offset`; offset + length must not exceed size.
  constexpr AddressRange subrange(Bytes offset, Bytes length) const {
    return AddressRange{base + offset, length, Bytes(0)};
  }

  friend constexpr bool operator==(const AddressRange& a, const AddressRange& b) {
    return a.base == b.base && a.size == b.size;
  }
  friend constexpr bool operator!=(const AddressRange& a, const AddressRange& b) {
    return !(a == b);
  }
  template <typename H>
  friend H AbslHashValue(H h, const AddressRange& range) {
    return H::combine(std::move(h), range.base, range.size);
  }
};

// "4 MiB", "3 KiB", "17 B": in the largest binary unit that divides the size exactly.
std::string ToString(Bytes bytes);
// "0x7f0000200000".
std::string ToString(DeviceAddress address);
// "[0x7f0000200000, +4 MiB, alignment 2 MiB]".
std::string ToString(const AddressRange& range);

std::ostream& operator<<(std::ostream& out, Bytes bytes);
std::ostream& operator<<(std::ostream& out, DeviceAddress address);
std::ostream& operator<<(std::ostream& out, const AddressRange& range);

}  // namespace twinmmu

#endif  // TWINMMU_API_ADDRESS_H_
