#include "sim/calls/arrays/texture_calls.h"

#include <memory>
#include <utility>

#include "sim/base/errors.h"
#include "sim/calls/arrays/array_layout.h"
#include "sim/calls/arrays/simulated_sparse_arrays.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {
namespace {

constexpr char kCreateTexture[] = "cuTexObjectCreate";
constexpr char kCreateSurface[] = "cuSurfObjectCreate";
constexpr char kDestroyTexture[] = "cuTexObjectDestroy";
constexpr char kDestroySurface[] = "cuSurfObjectDestroy";

// The device attributes that limit linear memory: CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT and others.
constexpr int kAlignment = 14;
constexpr int kPitchAlignment = 51;
constexpr int kLinearWidth = 69;
constexpr int kPitchedWidth = 70;
constexpr int kPitchedHeight = 71;
constexpr int kPitch = 72;

uint64_t AttributeOf(const DeviceProfile& device, int attribute) {
  const auto found = device.attributes.find(static_cast<DeviceAttribute>(attribute));
  return found == device.attributes.end() || found->second < 0
             ? 0
             : static_cast<uint64_t>(found->second);
}

}  // namespace

absl::StatusOr<ptx::Image> TextureCalls::LinearImage(const char* call, DeviceOrdinal device,
                                                     const TextureResource& resource) {
  const DeviceProfile& profile = state_.mmu.profile.devices[static_cast<size_t>(device.value())];
  ptx::Image image;
  image.format = resource.format;
  image.channels = resource.channels;
  const uint64_t element = image.element();
  const bool channels = resource.channels == 1 || resource.channels == 2 || resource.channels == 4;
  if (element == 0 || !channels) {
    return InvalidValue(call, "there are no elements of ", resource.channels,
                        " channels of format ", static_cast<int>(resource.format));
  }
  const bool pitched = resource.kind == TextureResource::kPitched;
  const ArrayExtent extent = pitched ? ArrayExtent{resource.width, resource.height, 1}
                                     : ArrayExtent{resource.bytes / element, 1, 1};
  const uint64_t alignment = AttributeOf(profile, kAlignment);
  if (resource.address == DeviceAddress(0) ||
      (alignment != 0 && resource.address.value() % alignment != 0)) {
    return InvalidValue(call, "address ", ToString(resource.address), " is not a multiple of ",
                        alignment);
  }
  if (extent.x == 0 || extent.y == 0 ||
      extent.x > AttributeOf(profile, pitched ? kPitchedWidth : kLinearWidth) ||
      (pitched && extent.y > AttributeOf(profile, kPitchedHeight))) {
    return InvalidValue(call, extent.x, " x ", extent.y, " elements are more than ",
                        ToString(device), " allows, or none");
  }
  const uint64_t pitch_alignment = AttributeOf(profile, kPitchAlignment);
  if (pitched &&
      (resource.pitch > AttributeOf(profile, kPitch) || resource.pitch / element < resource.width ||
       (pitch_alignment != 0 && resource.pitch % pitch_alignment != 0))) {
    return InvalidValue(call, "pitch ", resource.pitch, " is smaller than a row of ",
                        resource.width, " elements, or not a multiple of ", pitch_alignment);
  }
  image.dimensions = pitched ? 2 : 1;
  image.extent = extent;
  image.address = resource.address;
  image.pitch = resource.pitch;
  return image;
}

absl::StatusOr<ptx::Image> TextureCalls::ImageOf(const char* call, DeviceOrdinal device,
                                                 const TextureResource& resource) {
  if (resource.kind == TextureResource::kArray) return arrays_.ImageOf(call, resource.array);
  if (resource.kind == TextureResource::kMipmappedArray) {
    return arrays_.ImageOf(call, resource.mipmap);
  }
  return LinearImage(call, device, resource);
}

// What is shown of an image from now on.
absl::Status TextureCalls::Show(const char* call, const TextureView& view, ptx::Image* image) {
  const uint64_t element = image->element();
  image->format = view.format;
  image->channels = view.channels;
  if (image->element() != element) {
    return InvalidValue(call, "elements of ", image->element(), " bytes do not show those of ",
                        element);
  }
  if (view.last_level < view.first_level || view.last_level >= image->levels) {
    return InvalidValue(call, "levels ", view.first_level, " to ", view.last_level, " of ",
                        image->levels, " do not exist");
  }
  const bool layers = image->layered || image->cube;
  if (layers && (view.last_layer < view.first_layer || view.last_layer >= image->layers)) {
    return InvalidValue(call, "layers ", view.first_layer, " to ", view.last_layer, " of ",
                        image->layers, " do not exist");
  }
  image->extent = image->ExtentOf(view.first_level);
  image->first_level += view.first_level;
  image->levels = view.last_level - view.first_level + 1;
  if (!layers) return absl::OkStatus();
  image->first_layer = view.first_layer;
  image->layers = view.last_layer - view.first_layer + 1;
  return absl::OkStatus();
}

absl::Status TextureCalls::CheckSampling(const char* call, const ptx::Image& image,
                                         const ptx::Sampling& sampling) {
  const bool fractions = image.format == ArrayFormat::kUint8 ||
                         image.format == ArrayFormat::kUint16 ||
                         image.format == ArrayFormat::kInt8 || image.format == ArrayFormat::kInt16;
  const bool floats = image.format == ArrayFormat::kHalf || image.format == ArrayFormat::kFloat;
  if (sampling.linear && !floats && (!fractions || sampling.as_integers)) {
    return InvalidValue(call, "integers are not filtered");
  }
  return absl::OkStatus();
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
    if (view.has_value()) {
      const absl::Status shown = Show(kCreateTexture, *view, &*image);
      if (!shown.ok()) return shown;
    }
    const absl::Status valid = CheckSampling(kCreateTexture, *image, sampling);
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

absl::Status TextureCalls::Destroy(const char* call, uint64_t handle, bool surface) {
  return guard_.Guard(call, [&] {
    const std::shared_ptr<const ptx::Texture> found = table_.Find(handle);
    if (found == nullptr || found->surface != surface || !table_.Remove(handle)) {
      return InvalidValue(call, "there is no ", surface ? "surface" : "texture", " object ",
                          handle);
    }
    return absl::OkStatus();
  });
}

absl::Status TextureCalls::DestroyTexture(uint64_t handle) {
  return Destroy(kDestroyTexture, handle, /*surface=*/false);
}
absl::Status TextureCalls::DestroySurface(uint64_t handle) {
  return Destroy(kDestroySurface, handle, /*surface=*/true);
}

}  // namespace twinmmu
