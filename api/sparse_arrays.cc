#include "api/sparse_arrays.h"

namespace twinmmu {

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
  }
  return Bytes(0);
}

}  // namespace twinmmu
