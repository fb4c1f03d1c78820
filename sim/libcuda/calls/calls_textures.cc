// Texture and surface objects.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <optional>

#include "sim/calls/arrays/texture_calls.h"
#include "sim/libcuda/calls/boxes.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/references/textures.h"
#include "third_party/cuda_abi/texture_abi.h"

namespace twinmmu::libcuda {
namespace {

// Two more are accepted, which the documentation does not have.
constexpr unsigned int kTextureFlags =
    0x0c | CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |
    CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP;

constexpr CUresourceViewFormat kLastViewFormat = 0x22;

bool IsAddressMode(CUaddress_mode mode) {
  return mode >= CU_TR_ADDRESS_MODE_WRAP && mode <= CU_TR_ADDRESS_MODE_BORDER;
}

bool IsOfArray(const CUDA_RESOURCE_DESC& resource) {
  return resource.resType == CU_RESOURCE_TYPE_ARRAY ||
         resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
}

// The device on which the resource of an object of `context` lies.
DeviceOrdinal HolderOf(DriverState& driver, const Context& context,
                       const CUDA_RESOURCE_DESC& resource) {
  switch (resource.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
      return ArrayOf(driver, context, resource.res.array.hArray).device();
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      return MipmapOf(driver, context, resource.res.mipmap.hMipmappedArray).device();
    default:
      return context.device;
  }
}

// Whether it is an array of another context of the same device. Source: an H200 with driver
// 580.159.
bool IsOutOfReach(DriverState& driver, const Context& context, const CUDA_RESOURCE_DESC& resource) {
  const bool is_mipmap = resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  const NamedObject array = is_mipmap ? NamedObject(resource.res.mipmap.hMipmappedArray)
                                      : NamedObject(resource.res.array.hArray);
  const Context* const owner = IsOfArray(resource) ? array.FindContext(driver) : nullptr;
  return owner != nullptr && owner != &context && owner->device == context.device;
}

}  // namespace

std::optional<TextureResource> FromAbi(const CUDA_RESOURCE_DESC& from, DeviceOrdinal device) {
  TextureResource resource;
  if (from.flags != 0) return std::nullopt;
  switch (from.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
      resource.kind = TextureResource::kArray;
      resource.array = Array(device, ToNumber(from.res.array.hArray));
      return resource;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      resource.kind = TextureResource::kMipmappedArray;
      resource.mipmap = MipmappedArray(device, ToNumber(from.res.mipmap.hMipmappedArray));
      return resource;
    case CU_RESOURCE_TYPE_LINEAR:
      resource.kind = TextureResource::kLinear;
      resource.address = DeviceAddress(from.res.linear.devPtr);
      resource.format = static_cast<ArrayFormat>(from.res.linear.format);
      resource.channels = from.res.linear.numChannels;
      resource.bytes = from.res.linear.sizeInBytes;
      return resource;
    case CU_RESOURCE_TYPE_PITCH2D:
      resource.kind = TextureResource::kPitched;
      resource.address = DeviceAddress(from.res.pitch2D.devPtr);
      resource.format = static_cast<ArrayFormat>(from.res.pitch2D.format);
      resource.channels = from.res.pitch2D.numChannels;
      resource.width = from.res.pitch2D.width;
      resource.height = from.res.pitch2D.height;
      resource.pitch = from.res.pitch2D.pitchInBytes;
      return resource;
    default:
      return std::nullopt;
  }
}

std::optional<ptx::Sampling> FromAbi(const CUDA_TEXTURE_DESC& from) {
  ptx::Sampling sampling;
  const auto is_filter = [](CUfilter_mode mode) {
    return mode == CU_TR_FILTER_MODE_POINT || mode == CU_TR_FILTER_MODE_LINEAR;
  };
  if (!is_filter(from.filterMode) || !is_filter(from.mipmapFilterMode) ||
      (from.flags & ~kTextureFlags) != 0 || !AreZero(from.reserved)) {
    return std::nullopt;
  }
  // A mode that does not exist may be of a dimension that is not there.
  sampling.dimensions = 0;
  for (size_t i = 0; i < sampling.modes.size() && IsAddressMode(from.addressMode[i]); ++i) {
    sampling.modes[i] = static_cast<ptx::AddressMode>(from.addressMode[i]);
    sampling.dimensions = static_cast<int>(i) + 1;
  }
  sampling.linear = from.filterMode == CU_TR_FILTER_MODE_LINEAR;
  sampling.linear_levels = from.mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR;
  sampling.normalized_coordinates = (from.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
  sampling.as_integers = (from.flags & CU_TRSF_READ_AS_INTEGER) != 0;
  sampling.srgb = (from.flags & CU_TRSF_SRGB) != 0;
  sampling.seamless = (from.flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0;
  sampling.level_bias = from.mipmapLevelBias;
  sampling.least_level = from.minMipmapLevelClamp;
  sampling.greatest_level = from.maxMipmapLevelClamp;
  std::copy(std::begin(from.borderColor), std::end(from.borderColor), sampling.border.begin());
  return sampling;
}

namespace {

TextureView FromAbi(const CUDA_RESOURCE_VIEW_DESC& from) {
  constexpr ArrayFormat kFormats[] = {
      ArrayFormat::kUint8,  ArrayFormat::kInt8,  ArrayFormat::kUint16, ArrayFormat::kInt16,
      ArrayFormat::kUint32, ArrayFormat::kInt32, ArrayFormat::kHalf,   ArrayFormat::kFloat};
  constexpr uint32_t kChannels[] = {1, 2, 4};
  TextureView view;
  view.format = kFormats[(from.format - 1) / 3];
  view.channels = kChannels[(from.format - 1) % 3];
  view.extent = {from.width, from.height, from.depth};
  view.first_level = from.firstMipmapLevel;
  view.last_level = from.lastMipmapLevel;
  view.first_layer = from.firstLayer;
  view.last_layer = from.lastLayer;
  return view;
}

// Whether elements of the array have the size of blocks of the format, in words of 32 bits.
bool HoldsBlocks(DriverState& driver, const TextureResource& resource,
                 CUresourceViewFormat format) {
  absl::StatusOr<Array> array = resource.array;
  if (resource.kind == TextureResource::kMipmappedArray) {
    array = (*driver.simulator->sparse_arrays())->GetLevel(resource.mipmap, 0);
  }
  if (!array.ok()) return false;
  const absl::StatusOr<ArrayDescriptor> shape = driver.simulator->DescriptorOf(*array);
  const bool is_small = format == CU_RES_VIEW_FORMAT_UNSIGNED_BC1 ||
                        format == CU_RES_VIEW_FORMAT_UNSIGNED_BC4 ||
                        format == CU_RES_VIEW_FORMAT_SIGNED_BC4;
  return shape.ok() && shape->format == ArrayFormat::kUint32 &&
         shape->channels == (is_small ? 2 : 4);
}

DriverCode CheckView(const CallSite& site, DriverState& driver, const TextureResource& resource,
                     const CUDA_RESOURCE_VIEW_DESC& view) {
  if (view.format <= CU_RES_VIEW_FORMAT_NONE || view.format > kLastViewFormat ||
      !AreZero(view.reserved)) {
    return DriverCode::kInvalidValue;
  }
  if (view.format <= CU_RES_VIEW_FORMAT_FLOAT_4X32) return DriverCode::kSuccess;
  return HoldsBlocks(driver, resource, view.format)
             ? NotSimulated(site, "views of compressed blocks")
             : DriverCode::kInvalidValue;
}

// What a driver tells otherwise than it was given. One row has no pitch, and a mode that does not
// exist, of a dimension that is not there, is the one of a new reference. Source: an H200 with
// driver 580.159.
void Normalize(TextureRecord* made_of) {
  auto& rows = made_of->resource.res.pitch2D;
  const bool is_row = made_of->resource.resType == CU_RESOURCE_TYPE_PITCH2D && rows.height == 1;
  if (is_row) rows.pitchInBytes = 0;
  for (CUaddress_mode& mode : made_of->texture.addressMode) {
    if (!IsAddressMode(mode)) mode = CU_TR_ADDRESS_MODE_CLAMP;
  }
  CUDA_TEXTURE_DESC& texture = made_of->texture;
  for (float* const level :
       {&texture.mipmapLevelBias, &texture.minMipmapLevelClamp, &texture.maxMipmapLevelClamp}) {
    *level += 0.0F;  // which makes 0 of -0
  }
}

// Either kind of object, and even what is none.
CUresult Destroy(const CallSite& site, unsigned long long object) {
  return EnterInContext(site, [&](DriverState& driver, Context&) {
    driver.simulator->textures().Destroy(object);
    driver.arrays.textures.Remove(object);
    return DriverCode::kSuccess;
  });
}

// Takes a part of what an object was made of.
template <typename Take>
CUresult LookAt(const CallSite& site, const void* result, unsigned long long object, bool surface,
                const Take& take) {
  return EnterInContext(site, {result}, [&](DriverState& driver, Context& context) {
    const std::optional<TextureRecord> found = driver.arrays.textures.Find(object);
    const bool is_there =
        found.has_value() && found->surface == surface && found->context == &context;
    return is_there ? take(*found) : DriverCode::kInvalidValue;
  });
}

}  // namespace

extern "C" CUresult cuTexObjectCreate(CUtexObject* object, const CUDA_RESOURCE_DESC* resource,
                                      const CUDA_TEXTURE_DESC* texture,
                                      const CUDA_RESOURCE_VIEW_DESC* view) {
  const CallSite site = TWINMMU_HERE;
  return EnterInContext(
      site, {object, resource, texture}, [&](DriverState& driver, Context& context) {
        const std::optional<TextureResource> shown =
            FromAbi(*resource, HolderOf(driver, context, *resource));
        const std::optional<ptx::Sampling> sampling = FromAbi(*texture);
        if (!shown.has_value() || !sampling.has_value()) return ToResult(DriverCode::kInvalidValue);
        if (IsOutOfReach(driver, context, *resource)) {
          return ToResult(DriverCode::kPeerAccessNotEnabled);
        }
        std::optional<TextureView> part;
        if (view != nullptr && IsOfArray(*resource)) {
          const DriverCode valid = CheckView(site, driver, *shown, *view);
          if (valid != DriverCode::kSuccess) return ToResult(valid);
          part = FromAbi(*view);
        }
        TextureRecord made_of;
        made_of.context = &context;
        made_of.resource = *resource;
        made_of.texture = *texture;
        Normalize(&made_of);
        if (view != nullptr) made_of.view = part.has_value() ? *view : CUDA_RESOURCE_VIEW_DESC();
        Records<TextureRecord>::Prepared record(made_of);
        const absl::StatusOr<uint64_t> made =
            driver.simulator->textures().CreateTexture(context.device, *shown, *sampling, part);
        if (made.ok()) driver.arrays.textures.Add(*made, std::move(record));
        return Give(made, object);
      });
}

extern "C" CUresult cuTexObjectDestroy(CUtexObject object) { return Destroy(TWINMMU_HERE, object); }

extern "C" CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* resource, CUtexObject object) {
  return LookAt(TWINMMU_HERE, resource, object, /*surface=*/false, [&](const TextureRecord& found) {
    *resource = found.resource;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* texture, CUtexObject object) {
  return LookAt(TWINMMU_HERE, texture, object, /*surface=*/false, [&](const TextureRecord& found) {
    // The border is not given back, and the reserved words stay as they are.
    std::memcpy(texture, &found.texture, offsetof(CUDA_TEXTURE_DESC, borderColor));
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* view,
                                                   CUtexObject object) {
  return LookAt(TWINMMU_HERE, view, object, /*surface=*/false, [&](const TextureRecord& found) {
    if (found.view.has_value()) *view = *found.view;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuSurfObjectCreate(CUsurfObject* object, const CUDA_RESOURCE_DESC* resource) {
  return EnterInContext(TWINMMU_HERE, {object, resource},
                        [&](DriverState& driver, Context& context) {
                          const std::optional<TextureResource> shown =
                              FromAbi(*resource, HolderOf(driver, context, *resource));
                          if (!shown.has_value()) return ToResult(DriverCode::kInvalidValue);
                          if (IsOutOfReach(driver, context, *resource)) {
                            return ToResult(DriverCode::kPeerAccessNotEnabled);
                          }
                          TextureRecord made_of;
                          made_of.context = &context;
                          made_of.surface = true;
                          made_of.resource = *resource;
                          Records<TextureRecord>::Prepared record(made_of);
                          const absl::StatusOr<uint64_t> made =
                              driver.simulator->textures().CreateSurface(context.device, *shown);
                          if (made.ok()) driver.arrays.textures.Add(*made, std::move(record));
                          return Give(made, object);
                        });
}

extern "C" CUresult cuSurfObjectDestroy(CUsurfObject object) {
  return Destroy(TWINMMU_HERE, object);
}

extern "C" CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* resource, CUsurfObject object) {
  return LookAt(TWINMMU_HERE, resource, object, /*surface=*/true, [&](const TextureRecord& found) {
    *resource = found.resource;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t* elements, CUarray_format format,
                                                       unsigned int channels, CUdevice device) {
  return Enter(TWINMMU_HERE, {elements}, [&](DriverState& driver) {
    return Give(driver.simulator->textures().MostLinearElements(
                    DeviceOrdinal(device), static_cast<ArrayFormat>(format), channels),
                elements);
  });
}

}  // namespace twinmmu::libcuda
