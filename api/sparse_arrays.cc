#include "api/sparse_arrays.h"

namespace twinmmu {
namespace {

// UNORM_INT8X1, X2 and X4, UNORM_INT16X1 and so on; then the same for SNORM.
constexpr int kFirstNormalised = 0xc0;
constexpr int kLastNormalised = 0xcb;

}  // namespace

Bytes ElementSize(const ArrayDescriptor& descriptor) {
  switch (descriptor.format) {
    case ArrayFormat::kUint8:
    case ArrayFormat::kInt8:
      return Bytes(descriptor.channels);
    case ArrayFormat::kUint16:
    case ArrayFormat::kInt16:
    case ArrayFormat::kHalf:
      return Bytes(2) * descriptor.channels;
    case ArrayFormat::kUint32:
    case ArrayFormat::kInt32:
    case ArrayFormat::kFloat:
      return Bytes(4) * descriptor.channels;
    case ArrayFormat::kPacked:
      return Bytes(descriptor.channels == 4 ? 4 : 0);
  }
  if (!IsNormalised(descriptor.format)) return Bytes(0);
  const auto [stored, channels] = NormalisedElementOf(descriptor.format);
  return descriptor.channels == channels ? ElementSize({{}, stored, channels, 0}) : Bytes(0);
}

bool IsNormalised(ArrayFormat format) {
  const int number = static_cast<int>(format);
  return format == ArrayFormat::kPacked ||
         (number >= kFirstNormalised && number <= kLastNormalised);
}

NormalisedElement NormalisedElementOf(ArrayFormat format) {
  constexpr ArrayFormat kStored[] = {ArrayFormat::kUint8, ArrayFormat::kUint16, ArrayFormat::kInt8,
                                     ArrayFormat::kInt16};
  const int index = static_cast<int>(format) - kFirstNormalised;
  return {kStored[index / 3], 1u << (index % 3)};
}

}  // namespace twinmmu
