#include "sim/libcuda/calls/references/references.h"

#include <utility>

#include "sim/calls/arrays/texture_calls.h"
#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/calls/references/textures.h"
#include "sim/libcuda/modules.h"
#include "sim/ptx/program/program.h"

namespace twinmmu::libcuda {
namespace {

SparseArrays& ArraysOf(DriverState& driver) { return **driver.simulator->sparse_arrays(); }

// As texture objects have it: linear memory with a format, and modes that exist.
CUDA_RESOURCE_DESC ResourceOf(const ReferenceRecord& record) {
  CUDA_RESOURCE_DESC resource = record.resource;
  if (resource.resType == CU_RESOURCE_TYPE_LINEAR) {
    resource.res.linear.format = record.format;
    resource.res.linear.numChannels = static_cast<unsigned int>(record.channels);
  } else if (resource.resType == CU_RESOURCE_TYPE_PITCH2D) {
    resource.res.pitch2D.format = record.format;
    resource.res.pitch2D.numChannels = static_cast<unsigned int>(record.channels);
  }
  return resource;
}

CUDA_TEXTURE_DESC TextureOf(const ReferenceRecord& record) {
  CUDA_TEXTURE_DESC texture = record.texture;
  if (texture.filterMode != CU_TR_FILTER_MODE_LINEAR) texture.filterMode = CU_TR_FILTER_MODE_POINT;
  return texture;
}

// What cannot be shown, such as elements of no channels, is nothing. OUT_OF_MEMORY, and
// NOT_SUPPORTED of what is not simulated: all is as it was.
DriverCode Bind(const CallSite& site, DriverState& driver, const ReferenceRecord& record) {
  const DeviceOrdinal device = record.context->device;
  const std::optional<TextureResource> resource = FromAbi(ResourceOf(record), device);
  std::optional<ptx::Sampling> sampling;
  if (!record.surface) sampling = FromAbi(TextureOf(record));
  DriverCode bound = DriverCode::kInvalidValue;
  if (resource.has_value() && (record.surface || sampling.has_value())) {
    bound = GetDriverCode(driver.simulator->textures().Bind(
        site.name(), DeviceAddress(record.variable), device, *resource, sampling));
  }
  if (bound == DriverCode::kOutOfMemory || bound == DriverCode::kNotSupported) return bound;
  if (bound != DriverCode::kSuccess) {
    driver.simulator->textures().Unbind(DeviceAddress(record.variable));
  }
  return DriverCode::kSuccess;
}

// A reference that the program asked for before, of the variable at `address`.
std::optional<uint64_t> FindReference(DriverState& driver, uint64_t address) {
  std::optional<uint64_t> known;
  driver.arrays.references.ForEach([&](uint64_t id, const ReferenceRecord& record) {
    if (record.variable == address) known = id;
  });
  return known;
}

CUresult GetReference(const CallSite& site, void** reference, CUmodule module, const char* name,
                      ptx::Reference kind) {
  return EnterWithHandle(site, module, {}, [&](DriverState& driver, Context& context) {
    const Module named = ModuleOf(driver, context, module);
    const auto found = driver.simulator->kernels().Find(site.name(), named);
    if (!found.ok()) return ToResult(found.status());
    if (reference == nullptr || name == nullptr) return ToResult(NullPointer(site));
    if (*name == '\0') return ToResult(DriverCode::kInvalidValue);
    const ptx::GlobalInfo* const variable = found->program->FindGlobal(name);
    if (variable == nullptr || variable->reference != kind) return ToResult(DriverCode::kNotFound);
    const auto range = driver.simulator->kernels().FindGlobal(site.name(), named, name);
    if (!range.ok()) return ToResult(range.status());
    std::optional<uint64_t> known = FindReference(driver, range->base.value());
    if (!known.has_value()) {
      ReferenceRecord record;
      record.context = &OwnerOf(driver, module, context);
      record.module = named.value();
      record.variable = range->base.value();
      record.surface = kind == ptx::Reference::kSurface;
      known = AddReference(driver, record);
    }
    *reference = ToPointer<void*>(*known);
    return CUDA_SUCCESS;
  });
}

}  // namespace

uint64_t AddReference(DriverState& driver, const ReferenceRecord& record) {
  Records<ReferenceRecord>::Prepared prepared(record);
  for (CUaddress_mode& mode : prepared->texture.addressMode) mode = CU_TR_ADDRESS_MODE_CLAMP;
  const uint64_t id = ++driver.arrays.last_reference;
  driver.arrays.references.Add(id, std::move(prepared));
  return id;
}

// Kernels that were launched before have it as it was: they are waited for.
DriverCode Keep(const CallSite& site, DriverState& driver, uint64_t reference,
                const ReferenceRecord& record) {
  if (record.variable != 0 && record.bound) {
    const absl::Status waited = driver.executor.SynchronizeDevice(record.context->device);
    if (GetDriverCode(waited) == DriverCode::kOutOfMemory) return DriverCode::kOutOfMemory;
    const DriverCode shown = Bind(site, driver, record);
    if (shown != DriverCode::kSuccess) return shown;
  }
  driver.arrays.references.Edit(reference, [&](ReferenceRecord& kept) { kept = record; });
  return DriverCode::kSuccess;
}

void Unbind(DriverState& driver, const ReferenceRecord& record) {
  driver.simulator->textures().Unbind(DeviceAddress(record.variable));
}

DriverCode WhyNoArray(const absl::Status& status, DriverCode usual) {
  const DriverCode code = GetDriverCode(status);
  return code == DriverCode::kOutOfMemory ? code : usual;
}

absl::StatusOr<ArrayDescriptor> DescriptorOf(DriverState& driver, const ReferenceRecord& record,
                                             CUarray array) {
  return driver.simulator->DescriptorOf(Array(record.context->device, ToNumber(array)));
}

absl::StatusOr<ArrayDescriptor> DescriptorOf(DriverState& driver, const ReferenceRecord& record,
                                             CUmipmappedArray mipmap) {
  const absl::StatusOr<Array> level =
      ArraysOf(driver).GetLevel(MipmappedArray(record.context->device, ToNumber(mipmap)), 0);
  if (!level.ok()) return level.status();
  return driver.simulator->DescriptorOf(*level);
}

CUresult GetArray(const CallSite& site, const void* reference, bool surface, CUarray* array) {
  return EnterReference(
      site, reference, surface, [&](DriverState& driver, const ReferenceRecord& record) {
        const bool shown = record.bound && record.resource.resType == CU_RESOURCE_TYPE_ARRAY;
        if (!shown || array == nullptr) return DriverCode::kInvalidValue;
        const CUarray found = record.resource.res.array.hArray;
        const absl::Status exists = DescriptorOf(driver, record, found).status();
        if (!exists.ok()) return WhyNoArray(exists, DriverCode::kInvalidValue);
        *array = found;
        return DriverCode::kSuccess;
      });
}

void ForgetReferences(DriverState& driver, uint64_t module) {
  driver.arrays.references.RemoveIf(
      [&](const ReferenceRecord& record) {
        if (record.module != module) return false;
        Unbind(driver, record);
        return true;
      },
      [](uint64_t) {});
}

void ForgetReferences(DriverState& driver, const Context& context) {
  driver.arrays.references.RemoveIf(
      [&](const ReferenceRecord& record) {
        if (record.context != &context) return false;
        Unbind(driver, record);
        return true;
      },
      [](uint64_t) {});
}

extern "C" CUresult cuModuleGetTexRef(CUtexref* reference, CUmodule module, const char* name) {
  return GetReference(TWINMMU_HERE, reinterpret_cast<void**>(reference), module, name,
                      ptx::Reference::kTexture);
}

extern "C" CUresult cuModuleGetSurfRef(CUsurfref* reference, CUmodule module, const char* name) {
  return GetReference(TWINMMU_HERE, reinterpret_cast<void**>(reference), module, name,
                      ptx::Reference::kSurface);
}

// Since textures are those of a module, no driver of today takes one that a function is given.
extern "C" CUresult cuParamSetTexRef(CUfunction function, int /*unit*/, CUtexref reference) {
  return EnterInContext(TWINMMU_HERE, [&](DriverState& driver, Context& context) {
    const std::optional<ReferenceRecord> found = driver.arrays.references.Find(ToNumber(reference));
    const bool is_texture = found.has_value() && !found->surface;
    const bool is_function = function != nullptr && !IsOfOther(driver, context, function);
    return is_texture && is_function ? DriverCode::kInvalidValue : DriverCode::kInvalidHandle;
  });
}

// --- Surface references --------------------------------------------------------------------------

extern "C" CUresult cuSurfRefSetArray(CUsurfref reference, CUarray array, unsigned int flags) {
  const CallSite site = TWINMMU_HERE;
  constexpr uint32_t kIsSurface = 2;  // CUDA_ARRAY3D_SURFACE_LDST
  return EnterReference(
      site, reference, /*surface=*/true, [&](DriverState& driver, ReferenceRecord record) {
        const absl::StatusOr<ArrayDescriptor> shown = DescriptorOf(driver, record, array);
        if (!shown.ok()) return WhyNoArray(shown.status(), DriverCode::kInvalidHandle);
        if (flags != 0 || (shown->flags & kIsSurface) == 0) return DriverCode::kInvalidValue;
        record.resource = {};
        record.resource.resType = CU_RESOURCE_TYPE_ARRAY;
        record.resource.res.array.hArray = array;
        record.bound = true;
        return Keep(site, driver, ToNumber(reference), record);
      });
}

extern "C" CUresult cuSurfRefGetArray(CUarray* array, CUsurfref reference) {
  return GetArray(TWINMMU_HERE, reference, /*surface=*/true, array);
}

}  // namespace twinmmu::libcuda
