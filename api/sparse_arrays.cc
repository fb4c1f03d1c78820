#include "api/sparse_arrays.h"

namespace twinmmu {
namespace {

// UNORM_INT8X1, X2 and X4, UNORM_INT16X1 and so on; then the same for SNORM.
constexpr int kFirstNormalised = 0xc0;
constexpr int kLastNormalised = 0xcb;

Bytes NormalisedSize(const ArrayDescriptor& descriptor) {
  if (!IsNormalised(descriptor.format)) return Bytes(0);
  const int number = static_cast<int>(descriptor.format);
  const int index = number - kFirstNormalised;
  const uint32_t channels = 1u << (index % 3);
  const Bytes each(index / 3 % 2 == 0 ? 1 : 2);
  return descriptor.channels == channels ? each * channels : Bytes(0);
}

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
  return NormalisedSize(descriptor);
}

bool IsNormalised(ArrayFormat format) {
  const int number = static_cast<int>(format);
  return format == ArrayFormat::kPacked ||
         (number >= kFirstNormalised && number <= kLastNormalised);
}

}  // namespace twinmmu
