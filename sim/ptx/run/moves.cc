#include "sim/ptx/run/moves.h"

#include <type_traits>

#include "sim/ptx/program/code.h"
#include "sim/ptx/run/steps.h"

namespace twinmmu::ptx {
namespace {

template <typename T>
T* At(char* registers, uint32_t offset) {
  return reinterpret_cast<T*>(registers + offset);
}

// To is unsigned; From has the sign that counts.
template <typename To, typename From>
void Resize(const uint32_t* operands, char* registers, Lanes lanes) {
  To* const to = At<To>(registers, operands[0]);
  const From* const from = At<From>(registers, operands[1]);
  ForEachLane(lanes, [&](int lane) { to[lane] = static_cast<To>(from[lane]); });
}

template <typename From>
Compute ResizeFrom(int to) {
  if (to == 2) return Resize<uint16_t, From>;
  if (to == 4) return Resize<uint32_t, From>;
  return Resize<uint64_t, From>;
}

void StorePredicate(char* registers, uint32_t slot, Lanes lanes, Lanes value) {
  Lanes* const to = At<Lanes>(registers, slot);
  *to = (*to & ~lanes) | (value & lanes);
}

void CopyPredicate(const uint32_t* operands, char* registers, Lanes lanes) {
  StorePredicate(registers, operands[0], lanes, *At<Lanes>(registers, operands[1]));
}

void Invert(const uint32_t* operands, char* registers, Lanes lanes) {
  StorePredicate(registers, operands[0], lanes, ~*At<Lanes>(registers, operands[1]));
}

// Parts of kBits, each in a slot of P.
template <typename W, typename P, int kCount, int kBits>
void Pack(const uint32_t* operands, char* registers, Lanes lanes) {
  ForEachLane(lanes, [&](int lane) {
    uint64_t whole = 0;
    for (int i = 0; i < kCount; ++i) {
      const uint64_t part = At<P>(registers, operands[1 + i])[lane];
      whole |= (part & ((uint64_t{1} << kBits) - 1)) << i * kBits;
    }
    At<W>(registers, operands[0])[lane] = static_cast<W>(whole);
  });
}

template <typename W, typename P, int kCount, int kBits>
void Unpack(const uint32_t* operands, char* registers, Lanes lanes) {
  ForEachLane(lanes, [&](int lane) {
    const uint64_t whole = At<W>(registers, operands[kCount])[lane];
    for (int i = 0; i < kCount; ++i) {
      const uint64_t part = whole >> i * kBits & ((uint64_t{1} << kBits) - 1);
      At<P>(registers, operands[i])[lane] = static_cast<P>(part);
    }
  });
}

void AddAddresses(const uint32_t* operands, char* registers, Lanes lanes) {
  uint64_t* const to = At<uint64_t>(registers, operands[0]);
  const uint64_t* const a = At<uint64_t>(registers, operands[1]);
  const uint64_t* const b = At<uint64_t>(registers, operands[2]);
  ForEachLane(lanes, [&](int lane) { to[lane] = a[lane] + b[lane]; });
}

void InWindow(const uint32_t* operands, char* registers, Lanes lanes) {
  const uint64_t* const address = At<uint64_t>(registers, operands[1]);
  const uint64_t* const window = At<uint64_t>(registers, operands[2]);
  Lanes inside = 0;
  ForEachLane(lanes, [&](int lane) {
    inside |= Lanes{address[lane] - window[lane] < kWindowSize} << lane;
  });
  StorePredicate(registers, operands[0], lanes, inside);
}

void InRange(const uint32_t* operands, char* registers, Lanes lanes) {
  const uint64_t* const address = At<uint64_t>(registers, operands[1]);
  const uint64_t* const begin = At<uint64_t>(registers, operands[2]);
  const uint64_t* const size = At<uint64_t>(registers, operands[3]);
  Lanes inside = 0;
  ForEachLane(lanes,
              [&](int lane) { inside |= Lanes{address[lane] - begin[lane] < size[lane]} << lane; });
  StorePredicate(registers, operands[0], lanes, inside);
}

void InNoWindow(const uint32_t* operands, char* registers, Lanes lanes) {
  const uint64_t* const address = At<uint64_t>(registers, operands[1]);
  const uint64_t* const begin = At<uint64_t>(registers, operands[2]);
  const uint64_t* const size = At<uint64_t>(registers, operands[3]);
  Lanes outside = 0;
  ForEachLane(lanes, [&](int lane) {
    bool inside = address[lane] - begin[lane] < size[lane];
    for (const uint64_t window : {kSharedWindow, kLocalWindow, kParamWindow}) {
      inside |= address[lane] - window < kWindowSize;
    }
    outside |= Lanes{!inside} << lane;
  });
  StorePredicate(registers, operands[0], lanes, outside);
}

}  // namespace

Compute FindCopy(int width) { return width == 0 ? CopyPredicate : FindResize(width, width, false); }

Compute FindResize(int to, int from, bool is_signed) {
  if (from == 2) return is_signed ? ResizeFrom<int16_t>(to) : ResizeFrom<uint16_t>(to);
  if (from == 4) return is_signed ? ResizeFrom<int32_t>(to) : ResizeFrom<uint32_t>(to);
  return ResizeFrom<uint64_t>(to);
}

Compute FindInversion() { return Invert; }

Compute FindPack(int whole, int count) {
  if (whole == 8 && count == 2) return Pack<uint64_t, uint32_t, 2, 32>;
  if (whole == 8 && count == 4) return Pack<uint64_t, uint16_t, 4, 16>;
  if (whole == 4 && count == 2) return Pack<uint32_t, uint16_t, 2, 16>;
  if (whole == 4 && count == 4) return Pack<uint32_t, uint16_t, 4, 8>;
  if (whole == 2 && count == 2) return Pack<uint16_t, uint16_t, 2, 8>;
  return nullptr;
}

Compute FindUnpack(int whole, int count) {
  if (whole == 8 && count == 2) return Unpack<uint64_t, uint32_t, 2, 32>;
  if (whole == 8 && count == 4) return Unpack<uint64_t, uint16_t, 4, 16>;
  if (whole == 4 && count == 2) return Unpack<uint32_t, uint16_t, 2, 16>;
  if (whole == 4 && count == 4) return Unpack<uint32_t, uint16_t, 4, 8>;
  if (whole == 2 && count == 2) return Unpack<uint16_t, uint16_t, 2, 8>;
  return nullptr;
}

Compute FindAddressAdd() { return AddAddresses; }
Compute FindInWindow() { return InWindow; }
Compute FindInRange() { return InRange; }
Compute FindInNoWindow() { return InNoWindow; }

}  // namespace twinmmu::ptx
