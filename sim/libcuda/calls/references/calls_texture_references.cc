// Texture references: what a .texref variable of a module stands for, set by one function after the
// other, and taken by the launches that follow. Codes and defaults are those of an H100 with driver
// 580.159; for a reference that was destroyed, with which it crashes, INVALID_HANDLE.

#include <optional>

#include "sim/calls/arrays/texture_calls.h"
#include "sim/libcuda/calls/references/references.h"

namespace twinmmu::libcuda {
namespace {

constexpr unsigned int kKnownFlags = 0x3f;
constexpr int kMostChannels = 4;
constexpr int kThreeChannels = 3;
constexpr int kDimensions = 3;
constexpr size_t kLeastPitch = 32;  // and what pitches are multiples of

// cuTexRefSet...: change(record) says whether it may be.
template <typename Change>
CUresult Set(const CallSite& site, CUtexref reference, const Change& change) {
  return EnterReference(site, reference, /*surface=*/false,
                        [&](DriverState& driver, ReferenceRecord record) {
                          const DriverCode possible = change(record);
                          if (possible != DriverCode::kSuccess) return possible;
                          return Keep(site, driver, ToNumber(reference), record);
                        });
}

// cuTexRefGet...: what take(record) gives.
template <typename Take>
CUresult Get(const CallSite& site, CUtexref reference, const void* result, const Take& take) {
  return EnterReference(site, reference, /*surface=*/false,
                        [&](DriverState&, const ReferenceRecord& record) {
                          if (result == nullptr) return NullPointer(site);
                          take(record);
                          return DriverCode::kSuccess;
                        });
}

// The linear memory that it shows begins at a multiple of 512, as that of texture objects.
constexpr CUdeviceptr kAlignment = 512;

void Show(CUresourcetype kind, ReferenceRecord* record) {
  record->resource = {};
  record->resource.resType = kind;
  record->bound = true;
}

// `flags`: whether it has the format of the array from now on, or keeps its own, which nobody
// reads.
DriverCode ShowFormatOf(const absl::StatusOr<ArrayDescriptor>& array, unsigned int flags,
                        ReferenceRecord* record) {
  if (!array.ok()) return WhyNoArray(array.status(), DriverCode::kInvalidHandle);
  if ((flags & ~CU_TRSA_OVERRIDE_FORMAT) != 0) return DriverCode::kInvalidValue;
  if (flags == 0) return DriverCode::kSuccess;
  record->format = static_cast<CUarray_format>(array->format);
  record->channels = static_cast<int>(array->channels);
  return DriverCode::kSuccess;
}

// 0: linear memory has no such elements.
uint64_t SizeOf(CUarray_format format, unsigned int channels) {
  const ArrayDescriptor one{{1, 0, 0}, static_cast<ArrayFormat>(format), channels, 0};
  const bool is_of_arrays = IsNormalised(one.format) && one.format != ArrayFormat::kPacked;
  return is_of_arrays ? 0 : ElementSize(one).value();
}

// Whether so many bytes are more elements than there can be, of the format that it has now.
bool HasTooMany(DriverState& driver, const ReferenceRecord& record, size_t bytes) {
  const auto channels = static_cast<unsigned int>(record.channels);
  const uint64_t size = SizeOf(record.format, channels);
  const absl::StatusOr<uint64_t> most = driver.simulator->textures().MostLinearElements(
      record.context->device, static_cast<ArrayFormat>(record.format), channels);
  return size != 0 && most.ok() && bytes / size > *most;
}

// Elements that do not exist are bytes.
uint64_t ElementOf(const CUDA_ARRAY_DESCRIPTOR& shape) {
  const bool are_channels = shape.NumChannels <= unsigned{kMostChannels};
  const uint64_t size = are_channels ? SizeOf(shape.Format, shape.NumChannels) : 0;
  return std::max(size, uint64_t{1});
}

}  // namespace

extern "C" CUresult cuTexRefCreate(CUtexref* reference) {
  return EnterInContext(TWINMMU_HERE, {reference}, [&](DriverState& driver, Context& context) {
    ReferenceRecord record;
    record.context = &context;
    *reference = ToPointer<CUtexref>(AddReference(driver, record));
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuTexRefDestroy(CUtexref reference) {
  return EnterReference(TWINMMU_HERE, reference, /*surface=*/false,
                        [&](DriverState& driver, const ReferenceRecord& record) {
                          Unbind(driver, record);
                          driver.arrays.references.Remove(ToNumber(reference));
                          return DriverCode::kSuccess;
                        });
}

// --- What it shows -------------------------------------------------------------------------------

extern "C" CUresult cuTexRefSetArray(CUtexref reference, CUarray array, unsigned int flags) {
  const CallSite site = TWINMMU_HERE;
  return EnterReference(
      site, reference, /*surface=*/false, [&](DriverState& driver, ReferenceRecord record) {
        const DriverCode valid = ShowFormatOf(DescriptorOf(driver, record, array), flags, &record);
        if (valid != DriverCode::kSuccess) return valid;
        Show(CU_RESOURCE_TYPE_ARRAY, &record);
        record.resource.res.array.hArray = array;
        return Keep(site, driver, ToNumber(reference), record);
      });
}

extern "C" CUresult cuTexRefSetMipmappedArray(CUtexref reference, CUmipmappedArray mipmap,
                                              unsigned int flags) {
  const CallSite site = TWINMMU_HERE;
  return EnterReference(
      site, reference, /*surface=*/false, [&](DriverState& driver, ReferenceRecord record) {
        const DriverCode valid = ShowFormatOf(DescriptorOf(driver, record, mipmap), flags, &record);
        if (valid != DriverCode::kSuccess) return valid;
        Show(CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, &record);
        record.resource.res.mipmap.hMipmappedArray = mipmap;
        return Keep(site, driver, ToNumber(reference), record);
      });
}

// Nobody looks whether there is memory.
extern "C" CUresult cuTexRefSetAddress_v2(size_t* offset, CUtexref reference, CUdeviceptr address,
                                          size_t bytes) {
  const CallSite site = TWINMMU_HERE;
  return EnterReference(site, reference, /*surface=*/false,
                        [&](DriverState& driver, ReferenceRecord record) {
                          const size_t behind = address % kAlignment;
                          if (offset == nullptr && behind != 0) return DriverCode::kInvalidValue;
                          if (offset != nullptr) *offset = behind;
                          if (HasTooMany(driver, record, bytes)) return DriverCode::kInvalidValue;
                          Show(CU_RESOURCE_TYPE_LINEAR, &record);
                          record.resource.res.linear.devPtr = address - behind;
                          record.resource.res.linear.sizeInBytes = bytes + behind;
                          return Keep(site, driver, ToNumber(reference), record);
                        });
}
TWINMMU_ALIAS(cuTexRefSetAddress, cuTexRefSetAddress_v2);

extern "C" CUresult cuTexRefSetAddress2D_v3(CUtexref reference, const CUDA_ARRAY_DESCRIPTOR* shape,
                                            CUdeviceptr address, size_t pitch) {
  constexpr size_t kMostColumns = 131072;  // CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH
  constexpr size_t kMostRows = 65000;
  constexpr size_t kMostPitch = 2097120;
  const CallSite site = TWINMMU_HERE;
  return Set(site, reference, [&](ReferenceRecord& record) {
    if (shape == nullptr) return NullPointer(site);
    const bool is_nothing = shape->Width == 0 && shape->Height == 0;  // of any pitch
    const bool fits = shape->Width <= kMostColumns && shape->Height <= kMostRows &&
                      pitch <= kMostPitch && (is_nothing || pitch % kLeastPitch == 0) &&
                      shape->Width * ElementOf(*shape) <= pitch;
    if (!fits || address % kAlignment != 0) return DriverCode::kInvalidValue;
    Show(CU_RESOURCE_TYPE_PITCH2D, &record);
    record.resource.res.pitch2D = {address,      shape->Format, shape->NumChannels,
                                   shape->Width, shape->Height, pitch};
    record.format = shape->Format;
    record.channels = static_cast<int>(shape->NumChannels);
    return DriverCode::kSuccess;
  });
}
TWINMMU_ALIAS(cuTexRefSetAddress2D_v2, cuTexRefSetAddress2D_v3);
TWINMMU_ALIAS(cuTexRefSetAddress2D, cuTexRefSetAddress2D_v3);

// 0, where it shows an array or nothing.
extern "C" CUresult cuTexRefGetAddress_v2(CUdeviceptr* address, CUtexref reference) {
  return EnterReference(
      TWINMMU_HERE, reference, /*surface=*/false, [&](DriverState&, const ReferenceRecord& record) {
        const CUresourcetype kind = record.resource.resType;
        const bool linear = record.bound && kind == CU_RESOURCE_TYPE_LINEAR;
        const bool pitched = record.bound && kind == CU_RESOURCE_TYPE_PITCH2D;
        if (address != nullptr) {
          *address = linear    ? record.resource.res.linear.devPtr
                     : pitched ? record.resource.res.pitch2D.devPtr
                               : 0;
        }
        return linear || pitched ? DriverCode::kSuccess : DriverCode::kInvalidValue;
      });
}
TWINMMU_ALIAS(cuTexRefGetAddress, cuTexRefGetAddress_v2);

extern "C" CUresult cuTexRefGetArray(CUarray* array, CUtexref reference) {
  return GetArray(TWINMMU_HERE, reference, /*surface=*/false, array);
}

extern "C" CUresult cuTexRefGetMipmappedArray(CUmipmappedArray* mipmap, CUtexref reference) {
  return EnterReference(TWINMMU_HERE, reference, /*surface=*/false,
                        [&](DriverState& driver, const ReferenceRecord& record) {
                          const bool shown = record.bound && record.resource.resType ==
                                                                 CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
                          if (!shown || mipmap == nullptr) return DriverCode::kInvalidValue;
                          const CUmipmappedArray found = record.resource.res.mipmap.hMipmappedArray;
                          if (!driver.arrays.mipmaps.Find(ToNumber(found)).has_value()) {
                            return DriverCode::kInvalidValue;
                          }
                          *mipmap = found;
                          return DriverCode::kSuccess;
                        });
}

// --- How it is read ------------------------------------------------------------------------------

// Any number is a format. Without channels of it nothing is read.
extern "C" CUresult cuTexRefSetFormat(CUtexref reference, CUarray_format format, int channels) {
  return Set(TWINMMU_HERE, reference, [&](ReferenceRecord& record) {
    if (channels == kThreeChannels || channels > kMostChannels) return DriverCode::kInvalidValue;
    record.format = format;
    record.channels = channels;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuTexRefGetFormat(CUarray_format* format, int* channels, CUtexref reference) {
  return EnterReference(TWINMMU_HERE, reference, /*surface=*/false,
                        [&](DriverState&, const ReferenceRecord& record) {
                          if (format != nullptr) *format = record.format;
                          if (channels != nullptr) *channels = record.channels;
                          return DriverCode::kSuccess;
                        });
}

// A mode that does not exist is the one of a new reference.
extern "C" CUresult cuTexRefSetAddressMode(CUtexref reference, int dimension, CUaddress_mode mode) {
  return Set(TWINMMU_HERE, reference, [&](ReferenceRecord& record) {
    if (dimension < 0 || dimension >= kDimensions) return DriverCode::kInvalidValue;
    const bool known = mode >= CU_TR_ADDRESS_MODE_WRAP && mode <= CU_TR_ADDRESS_MODE_BORDER;
    record.texture.addressMode[dimension] = known ? mode : CU_TR_ADDRESS_MODE_CLAMP;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuTexRefGetAddressMode(CUaddress_mode* mode, CUtexref reference,
                                           int dimension) {
  return EnterReference(TWINMMU_HERE, reference, /*surface=*/false,
                        [&](DriverState&, const ReferenceRecord& record) {
                          if (mode == nullptr || dimension < 0 || dimension >= kDimensions) {
                            return DriverCode::kInvalidValue;
                          }
                          *mode = record.texture.addressMode[dimension];
                          return DriverCode::kSuccess;
                        });
}

extern "C" CUresult cuTexRefSetFilterMode(CUtexref reference, CUfilter_mode mode) {
  return Set(TWINMMU_HERE, reference, [&](ReferenceRecord& record) {
    record.texture.filterMode = mode;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuTexRefGetFilterMode(CUfilter_mode* mode, CUtexref reference) {
  return Get(TWINMMU_HERE, reference, mode,
             [&](const ReferenceRecord& record) { *mode = record.texture.filterMode; });
}

extern "C" CUresult cuTexRefSetMipmapFilterMode(CUtexref reference, CUfilter_mode mode) {
  return Set(TWINMMU_HERE, reference, [&](ReferenceRecord& record) {
    if (mode != CU_TR_FILTER_MODE_POINT && mode != CU_TR_FILTER_MODE_LINEAR) {
      return DriverCode::kInvalidValue;
    }
    record.texture.mipmapFilterMode = mode;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuTexRefGetMipmapFilterMode(CUfilter_mode* mode, CUtexref reference) {
  return Get(TWINMMU_HERE, reference, mode,
             [&](const ReferenceRecord& record) { *mode = record.texture.mipmapFilterMode; });
}

extern "C" CUresult cuTexRefSetMipmapLevelBias(CUtexref reference, float bias) {
  return Set(TWINMMU_HERE, reference, [&](ReferenceRecord& record) {
    record.texture.mipmapLevelBias = bias;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuTexRefGetMipmapLevelBias(float* bias, CUtexref reference) {
  return Get(TWINMMU_HERE, reference, bias,
             [&](const ReferenceRecord& record) { *bias = record.texture.mipmapLevelBias; });
}

extern "C" CUresult cuTexRefSetMipmapLevelClamp(CUtexref reference, float least, float greatest) {
  return Set(TWINMMU_HERE, reference, [&](ReferenceRecord& record) {
    record.texture.minMipmapLevelClamp = least;
    record.texture.maxMipmapLevelClamp = greatest;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuTexRefGetMipmapLevelClamp(float* least, float* greatest, CUtexref reference) {
  const float* const both = greatest == nullptr ? nullptr : least;
  return Get(TWINMMU_HERE, reference, both, [&](const ReferenceRecord& record) {
    *least = record.texture.minMipmapLevelClamp;
    *greatest = record.texture.maxMipmapLevelClamp;
  });
}

// Of anisotropy nothing is simulated, as with texture objects.
extern "C" CUresult cuTexRefSetMaxAnisotropy(CUtexref reference, unsigned int most) {
  return Set(TWINMMU_HERE, reference, [&](ReferenceRecord& record) {
    record.texture.maxAnisotropy = most;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuTexRefGetMaxAnisotropy(int* most, CUtexref reference) {
  return Get(TWINMMU_HERE, reference, most, [&](const ReferenceRecord& record) {
    *most = static_cast<int>(record.texture.maxAnisotropy);
  });
}

extern "C" CUresult cuTexRefSetBorderColor(CUtexref reference, float* color) {
  const CallSite site = TWINMMU_HERE;
  return Set(site, reference, [&](ReferenceRecord& record) {
    if (color == nullptr) return NullPointer(site);
    for (int i = 0; i < kMostChannels; ++i) record.texture.borderColor[i] = color[i];
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuTexRefGetBorderColor(float* color, CUtexref reference) {
  return Get(TWINMMU_HERE, reference, color, [&](const ReferenceRecord& record) {
    for (int i = 0; i < kMostChannels; ++i) color[i] = record.texture.borderColor[i];
  });
}

extern "C" CUresult cuTexRefSetFlags(CUtexref reference, unsigned int flags) {
  return Set(TWINMMU_HERE, reference, [&](ReferenceRecord& record) {
    if ((flags & ~kKnownFlags) != 0) return DriverCode::kInvalidValue;
    record.texture.flags = flags;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuTexRefGetFlags(unsigned int* flags, CUtexref reference) {
  return Get(TWINMMU_HERE, reference, flags,
             [&](const ReferenceRecord& record) { *flags = record.texture.flags; });
}

}  // namespace twinmmu::libcuda
