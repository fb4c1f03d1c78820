#include "sim/calls/arrays/array_limits.h"

#include "sim/base/errors.h"
#include "sim/calls/arrays/array_layout.h"

namespace twinmmu {
namespace {

// The device attributes that limit arrays: CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE... and
// ..._SURFACE...
struct Limits {
  int x;
  int y;
  int z;
};
// Those of one kind of array.
struct LimitsOfKind {
  Limits plain;
  Limits mipmapped;
  Limits surface;
};
constexpr LimitsOfKind kOneDimension{{21, 0, 0}, {77, 0, 0}, {55, 0, 0}};
constexpr LimitsOfKind kTwoDimensions{{22, 23, 0}, {73, 74, 0}, {56, 57, 0}};
constexpr LimitsOfKind kThreeDimensions{{24, 25, 26}, {24, 25, 26}, {58, 59, 60}};
constexpr Limits kThreeDimensionsElsewise{47, 48, 49};  // another set, either of which will do
constexpr LimitsOfKind kRows{{42, 0, 43}, {42, 0, 43}, {61, 0, 62}};
constexpr LimitsOfKind kLayers{{27, 28, 29}, {27, 28, 29}, {63, 64, 65}};
constexpr LimitsOfKind kCube{{52, 52, 0}, {52, 52, 0}, {66, 66, 0}};
constexpr LimitsOfKind kCubes{{53, 53, 54}, {53, 53, 54}, {67, 67, 68}};
constexpr Limits kGathered{45, 46, 0};

// Whether a device allows that many; attribute 0 limits nothing.
bool IsWithin(const DeviceProfile& device, const Limits& limits, const ArrayExtent& extent) {
  const auto allows = [&](int attribute, uint64_t wanted) {
    const auto found = device.attributes.find(static_cast<DeviceAttribute>(attribute));
    return attribute == 0 || (found != device.attributes.end() && found->second >= 0 &&
                              wanted <= static_cast<uint64_t>(found->second));
  };
  return allows(limits.x, extent.x) && allows(limits.y, extent.y) && allows(limits.z, extent.z);
}

const LimitsOfKind& LimitsOf(const ArrayDescriptor& descriptor) {
  const bool layered = (descriptor.flags & kArrayLayered) != 0;
  if ((descriptor.flags & kArrayCubemap) != 0) return layered ? kCubes : kCube;
  if (layered) return descriptor.extent.y == 0 ? kRows : kLayers;
  if (descriptor.extent.z != 0) return kThreeDimensions;
  return descriptor.extent.y == 0 ? kOneDimension : kTwoDimensions;
}

}  // namespace

absl::Status CheckArrayShape(const char* call, const ArrayDescriptor& descriptor) {
  const ArrayExtent& extent = descriptor.extent;
  const bool cube = (descriptor.flags & kArrayCubemap) != 0;
  const bool layered = (descriptor.flags & kArrayLayered) != 0;
  if (cube &&
      (extent.x != extent.y || extent.z == 0 || extent.z % 6 != 0 || (!layered && extent.z != 6))) {
    return InvalidValue(call, extent.x, " x ", extent.y, " x ", extent.z,
                        " elements are not the faces of cubes");
  }
  const bool flat = extent.y != 0 && extent.z == 0 && !cube;
  if ((descriptor.flags & kArrayGather) != 0 && !flat) {
    return InvalidValue(call, "gathers are of arrays with two dimensions and no layers");
  }
  return absl::OkStatus();
}

bool IsWithinLimits(const DeviceProfile& device, const ArrayDescriptor& descriptor,
                    bool mipmapped) {
  const LimitsOfKind& limits = LimitsOf(descriptor);
  const ArrayExtent& extent = descriptor.extent;
  const bool surface = (descriptor.flags & kArraySurface) != 0;
  const bool gathered = (descriptor.flags & kArrayGather) != 0;
  const Limits& of_textures = mipmapped ? limits.mipmapped : limits.plain;
  const bool fits =
      IsWithin(device, of_textures, extent) ||
      (&limits == &kThreeDimensions && IsWithin(device, kThreeDimensionsElsewise, extent));
  return fits && (!surface || IsWithin(device, limits.surface, extent)) &&
         (!gathered || IsWithin(device, kGathered, extent));
}

}  // namespace twinmmu
