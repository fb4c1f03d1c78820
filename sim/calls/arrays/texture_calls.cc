#include "sim/calls/arrays/texture_calls.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sim/base/errors.h"
#include "sim/calls/arrays/simulated_sparse_arrays.h"
#include "sim/diagnostics/call_record.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {
namespace {

constexpr char kCreateTexture[] = "cuTexObjectCreate";
constexpr char kCreateSurface[] = "cuSurfObjectCreate";
constexpr char kMostElements[] = "cuDeviceGetTexture1DLinearMaxWidth";

// The device attributes that limit linear memory: CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT and others.
constexpr int kAlignment = 14;
constexpr int kPitchAlignment = 51;
constexpr int kPitchedWidth = 70;
constexpr int kPitchedHeight = 71;
constexpr int kPitch = 72;

uint64_t AttributeOf(const DeviceProfile& device, int attribute) {
  const auto found = device.attributes.find(static_cast<DeviceAttribute>(attribute));
  return found == device.attributes.end() || found->second < 0
             ? 0
             : static_cast<uint64_t>(found->second);
}

bool IsMultiple(uint64_t value, uint64_t step) { return step == 0 || value % step == 0; }

// 0: there are no such elements. Those that are normalised lie in arrays only, but packed ones.
uint64_t ElementOf(ArrayFormat format, uint32_t channels) {
  if (channels != 1 && channels != 2 && channels != 4) return 0;
  if (IsNormalised(format) && format != ArrayFormat::kPacked) return 0;
  return ElementSize(ArrayDescriptor{ArrayExtent(), format, channels, 0}).value();
}

// The attribute says less.
uint64_t MostElementsOf(uint64_t element) {
  return std::min(uint64_t{1} << 30, (uint64_t{1} << 32) / element);
}

// What is shown of an image from now on. Levels and layers that a view names may go beyond those
// that there are, but only a mipmapped array has levels, and only a layered one layers. Source: 530
// views on an H200 with driver 580.159.
absl::Status Show(const char* call, const TextureView& view, bool mipmapped, ptx::Image* image) {
  const uint64_t element = image->element();
  const bool layers = image->layered || image->cube;
  ArrayExtent whole{image->extent.x, 0, 0};
  if (image->dimensions > 1) whole.y = image->extent.y;
  if (image->dimensions > 2) whole.z = image->extent.z;
  if (layers) whole.z = image->layers;
  if (!(view.extent == whole)) {
    return InvalidValue(call, "a view of ", view.extent.x, " x ", view.extent.y, " x ",
                        view.extent.z, " elements is not as large as the array of ", whole.x, " x ",
                        whole.y, " x ", whole.z);
  }
  image->format = view.format;
  image->channels = view.channels;
  if (image->element() != element) {
    return InvalidValue(call, "elements of ", image->element(), " bytes do not show those of ",
                        element);
  }
  if (view.last_level < view.first_level || (!mipmapped && view.last_level != 0)) {
    return InvalidValue(call, "levels ", view.first_level, " to ", view.last_level,
                        mipmapped ? " are none" : " of an array that has no levels");
  }
  if (view.last_layer < view.first_layer || (!image->layered && view.last_layer != 0)) {
    return InvalidValue(call, "layers ", view.first_layer, " to ", view.last_layer,
                        image->layered ? " are none" : " of an array that has no layers");
  }
  const uint32_t first_level = std::min(view.first_level, image->levels - 1);
  image->extent = image->ExtentOf(first_level);
  image->first_level += first_level;
  image->levels = std::min(view.last_level, image->levels - 1) - first_level + 1;
  if (!image->layered) return absl::OkStatus();
  const uint64_t last_layer = image->layers - 1;
  image->first_layer = std::min<uint64_t>(view.first_layer, last_layer);
  image->layers = std::min<uint64_t>(view.last_layer, last_layer) - image->first_layer + 1;
  return absl::OkStatus();
}

absl::Status CheckSampling(const char* call, const ptx::Image& image,
                           const ptx::Sampling& sampling) {
  if (sampling.dimensions < image.dimensions) {
    return InvalidValue(call, "dimension ", sampling.dimensions,
                        " has an address mode that is none");
  }
  if (sampling.seamless && !image.cube) return InvalidValue(call, "only cubes can be seamless");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ptx::Image> TextureCalls::LinearImage(const char* call, DeviceOrdinal device,
                                                     const TextureResource& resource) {
  const DeviceProfile& profile = state_.mmu.profile.devices[static_cast<size_t>(device.value())];
  const uint64_t element = ElementOf(resource.format, resource.channels);
  if (element == 0) {
    return InvalidValue(call, "there are no elements of ", resource.channels,
                        " channels of format ", static_cast<int>(resource.format));
  }
  const uint64_t alignment = AttributeOf(profile, kAlignment);
  if (resource.address == DeviceAddress(0) || !IsMultiple(resource.address.value(), alignment)) {
    return InvalidValue(call, "address ", ToString(resource.address), " is not a multiple of ",
                        alignment);
  }
  const bool pitched = resource.kind == TextureResource::kPitched;
  ptx::Image image;
  image.format = resource.format;
  image.channels = resource.channels;
  image.dimensions = pitched ? 2 : 1;
  image.extent = pitched ? ArrayExtent{resource.width, resource.height, 1}
                         : ArrayExtent{resource.bytes / element, 1, 1};
  image.address = resource.address;
  image.pitch = resource.pitch;
  if (image.extent.x > (pitched ? AttributeOf(profile, kPitchedWidth) : MostElementsOf(element)) ||
      (pitched && image.extent.y > AttributeOf(profile, kPitchedHeight))) {
    return InvalidValue(call, image.extent.x, " x ", image.extent.y, " elements are more than ",
                        ToString(device), " allows");
  }
  // Rows may overlap.
  if (pitched && (resource.pitch > AttributeOf(profile, kPitch) ||
                  !IsMultiple(resource.pitch, AttributeOf(profile, kPitchAlignment)))) {
    return InvalidValue(call, "pitch ", resource.pitch, " is too large, or not a multiple of ",
                        AttributeOf(profile, kPitchAlignment));
  }
  return image;
}

absl::StatusOr<ptx::Image> TextureCalls::ImageOf(const char* call, DeviceOrdinal device,
                                                 const TextureResource& resource) {
  const bool mipmapped = resource.kind == TextureResource::kMipmappedArray;
  if (mipmapped || resource.kind == TextureResource::kArray) {
    const DeviceOrdinal holder = mipmapped ? resource.mipmap.device() : resource.array.device();
    const std::shared_lock lock(state_.mmu.mutex);
    if (holder != device && !state_.mmu.linear.HasPeerAccess(device, holder)) {
      return Fail(DriverCode::kPeerAccessNotEnabled, call,
                  absl::StrCat("the array is of ", ToString(holder)));
    }
  }
  if (resource.kind == TextureResource::kArray) return arrays_.ImageOf(call, resource.array);
  if (mipmapped) return arrays_.ImageOf(call, resource.mipmap);
  return LinearImage(call, device, resource);
}

absl::Status TextureCalls::CheckIsCovered(const char* call, DeviceOrdinal device,
                                          const ptx::Sampling& sampling) {
  if (!sampling.seamless || !sampling.linear) return absl::OkStatus();
  return RefuseUncovered(state_, call, device, "filters across the edges of cubes");
}

absl::StatusOr<uint64_t> TextureCalls::CreateTexture(DeviceOrdinal device,
                                                     const TextureResource& resource,
                                                     const ptx::Sampling& sampling,
                                                     const std::optional<TextureView>& view) {
  return guard_.Guard(kCreateTexture, [&]() -> absl::StatusOr<uint64_t> {
    const absl::Status usable = state_.CheckContext(kCreateTexture, device);
    if (!usable.ok()) return usable;
    absl::StatusOr<ptx::Image> image = ImageOf(kCreateTexture, device, resource);
    if (!image.ok()) return image.status();
    absl::Status valid = CheckSampling(kCreateTexture, *image, sampling);
    if (valid.ok()) valid = CheckIsCovered(kCreateTexture, device, sampling);
    const bool mipmapped = resource.kind == TextureResource::kMipmappedArray;
    if (valid.ok() && view.has_value()) valid = Show(kCreateTexture, *view, mipmapped, &*image);
    if (!valid.ok()) return valid;
    const auto texture = std::make_shared<ptx::Texture>();
    texture->device = device;
    texture->image = *std::move(image);
    texture->sampling = sampling;
    return table_.Add(texture);
  });
}

absl::StatusOr<uint64_t> TextureCalls::CreateSurface(DeviceOrdinal device,
                                                     const TextureResource& resource) {
  return guard_.Guard(kCreateSurface, [&]() -> absl::StatusOr<uint64_t> {
    const absl::Status usable = state_.CheckContext(kCreateSurface, device);
    if (!usable.ok()) return usable;
    if (resource.kind != TextureResource::kArray) {
      return InvalidValue(kCreateSurface, "surfaces are of arrays");
    }
    absl::StatusOr<ptx::Image> image = ImageOf(kCreateSurface, device, resource);
    if (!image.ok()) return image.status();
    const auto surface = std::make_shared<ptx::Texture>();
    surface->device = device;
    surface->surface = true;
    surface->image = *std::move(image);
    return table_.Add(surface);
  });
}

absl::Status TextureCalls::Bind(const char* call, DeviceAddress variable, DeviceOrdinal device,
                                const TextureResource& resource,
                                const std::optional<ptx::Sampling>& sampling) {
  return guard_.Guard(call, [&]() -> absl::Status {
    const absl::Status usable = state_.CheckContext(call, device);
    if (!usable.ok()) return usable;
    absl::StatusOr<ptx::Image> image = ImageOf(call, device, resource);
    if (!image.ok()) return image.status();
    if (sampling.has_value()) {
      const absl::Status valid = CheckIsCovered(call, device, *sampling);
      if (!valid.ok()) return valid;
    }
    const auto texture = std::make_shared<ptx::Texture>();
    texture->device = device;
    texture->surface = !sampling.has_value();
    texture->image = *std::move(image);
    if (sampling.has_value()) texture->sampling = *sampling;
    table_.Put(variable.value(), texture);
    return absl::OkStatus();
  });
}

absl::StatusOr<uint64_t> TextureCalls::MostLinearElements(DeviceOrdinal device, ArrayFormat format,
                                                          uint32_t channels) const {
  return guard_.Guard(kMostElements, [&]() -> absl::StatusOr<uint64_t> {
    const uint64_t element = ElementOf(format, channels);
    if (element == 0) return InvalidValue(kMostElements, "there are no such elements");
    const absl::Status exists = state_.CheckDevice(kMostElements, device);
    if (!exists.ok()) return exists;
    return MostElementsOf(element);
  });
}

}  // namespace twinmmu
