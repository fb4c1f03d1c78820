// Many copies at once. As an H200 with driver 580.159 has it: orders, flags and the shapes of boxes
// are looked at before anything is done; what comes before a copy of other faults is done.

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/libcuda/calls/boxes.h"
#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/of_thread.h"

namespace twinmmu::libcuda {
namespace {

// More copies than that are no batch, whatever lies there.
constexpr size_t kMaxCopies = size_t{1} << 20;

// The form of CUDA 12.8 tells which copy failed, or that none in particular did.
void Tell(size_t* fail_index, size_t failed) {
  if (fail_index != nullptr) *fail_index = failed;
}

// Whether copies go to the legacy stream.
enum class Legacy { kRefused, kAllowed };

constexpr char kIsLegacy[] = "the stream is the legacy default stream";

bool IsRefused(CUstream stream, Legacy legacy) {
  return legacy == Legacy::kRefused && ToNumber(stream) <= kLegacyStream;
}

// What is wrong with how a copy of a batch is to be made; null: nothing.
const char* WhatIsWrong(CUmemcpySrcAccessOrder order, unsigned int flags) {
  if (order < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM || order > CU_MEMCPY_SRC_ACCESS_ORDER_ANY) {
    return "there is no such order of access to the source";
  }
  return (flags & ~CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE) == 0 ? nullptr
                                                                    : "there are no such flags";
}

// Where memory may be is a hint, but not of a device or a kind of place that does not exist.
bool IsHint(DriverState& driver, const cuda_abi::CUmemLocation& given) {
  const Location location = FromAbi(given);
  return location.type == LocationType::kDevice
             ? driver.simulator->profile().HasDevice(location.id)
             : location.type >= LocationType::kInvalid &&
                   location.type <= LocationType::kHostNumaCurrent;
}

// Whether those before one that cannot be made are copied.
enum class Before { kIsCopied, kIsNot };

// Boxes of a batch; or the status that the call gives.
template <typename MakeBox>
CUresult CopyBatch(const CallSite& site, DriverState& driver, Context& context, CUstream stream,
                   size_t count, Before before, size_t* fail_index, const MakeBox& make_box) {
  BoxCopies& boxes = driver.simulator->boxes();
  std::vector<BoxCopy> batch(count);
  const char* wrong = nullptr;
  size_t made = 0;
  while (made < count) {
    wrong = make_box(made, &batch[made]);
    if (wrong != nullptr) break;
    ++made;
  }
  if (wrong != nullptr && before == Before::kIsNot) {
    const CUresult fault = FaultOf(site, driver);
    if (fault != CUDA_SUCCESS) return fault;
    Tell(fail_index, made);
    return ToResult(boxes.Refuse(site.name(), wrong));
  }
  const Captured refused = RefuseCaptured(driver, context, stream, /*invalidates=*/false);
  if (refused.has_value()) return *refused;
  batch.resize(made);
  size_t failed = SIZE_MAX;
  absl::Status done = boxes.Copy(AskedOf(site, driver, context, stream), batch, &failed);
  if (done.ok() && wrong != nullptr) {
    failed = made;
    done = boxes.Refuse(site.name(), wrong);
  }
  if (!done.ok()) Tell(fail_index, failed);
  return ToResult(done);
}

// In one dimension.
struct Batch {
  const CUdeviceptr* to;
  const CUdeviceptr* from;
  const size_t* sizes;
  size_t count;
  const CUmemcpyAttributes* attributes;
  const size_t* first;  // copies that the attributes are for
  size_t attribute_count;
};

// Of a batch as a whole: none of it is done then.
const char* WhatIsWrong(DriverState& driver, const Batch& batch) {
  if (batch.count == 0 || batch.count > kMaxCopies) return "there is no such number of copies";
  if (batch.attribute_count == 0 || batch.attribute_count > batch.count) {
    return "there is no such number of attributes";
  }
  for (size_t i = 0; i < batch.attribute_count; ++i) {
    const size_t first = batch.first[i];
    const bool in_order = i == 0 ? first == 0 : first > batch.first[i - 1];
    if (!in_order || first >= batch.count) {
      return "the first copies of attributes do not begin with 0, rise, and end within the batch";
    }
    const CUmemcpyAttributes& how = batch.attributes[i];
    const char* const wrong = WhatIsWrong(how.srcAccessOrder, how.flags);
    if (wrong != nullptr) return wrong;
    if (!IsHint(driver, how.srcLocHint) || !IsHint(driver, how.dstLocHint)) {
      return "there is no such place";
    }
  }
  return nullptr;
}

// Whatever the context. Source: an H200 with driver 580.159.
CUresult RefuseLegacy(const CallSite& site, Needed needed, size_t* fail_index) {
  return Enter(site, needed, [&](DriverState& driver) {
    Tell(fail_index, SIZE_MAX);
    return driver.simulator->boxes().Refuse(site.name(), kIsLegacy);
  });
}

CUresult Copy(const CallSite& site, Legacy legacy, const Batch& batch, size_t* fail_index,
              CUstream stream) {
  const Needed needed = {batch.to, batch.from, batch.sizes, batch.attributes, batch.first};
  if (IsRefused(stream, legacy)) return RefuseLegacy(site, needed, fail_index);
  if (legacy == Legacy::kRefused && ContextStack().empty()) {  // as on an H200
    return Enter(site, needed, [&](DriverState&) {
      return Misused(site, DiagnosticKind::kNoCurrentContext, DriverCode::kInvalidValue);
    });
  }
  return EnterInAnyContext(site, {}, [&](DriverState& driver, Context& context) {
    const CUresult fault = FaultOf(site, driver);
    const DriverCode there =
        fault == CUDA_SUCCESS ? CheckNeeded(site, needed) : DriverCode::kSuccess;
    if (there != DriverCode::kSuccess) return ToResult(there);
    Tell(fail_index, SIZE_MAX);
    if (fault != CUDA_SUCCESS) return fault;
    const char* const wrong = WhatIsWrong(driver, batch);
    if (wrong != nullptr) return ToResult(driver.simulator->boxes().Refuse(site.name(), wrong));
    size_t of = 0;  // the attributes of copy i
    return CopyBatch(site, driver, context, stream, batch.count, Before::kIsCopied, fail_index,
                     [&](size_t i, BoxCopy* box) {
                       if (of + 1 < batch.attribute_count && batch.first[of + 1] == i) ++of;
                       const CUmemcpyAttributes& how = batch.attributes[of];
                       box->to.memory = box->from.memory = BoxEnd::kAnywhere;
                       box->to.device = box->from.device = context.device;
                       box->to.base = DeviceAddress(batch.to[i]);
                       box->from.base = DeviceAddress(batch.from[i]);
                       box->shape.width = batch.sizes[i];
                       box->reads_at_call =
                           how.srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
                       if (batch.to[i] == 0 || batch.from[i] == 0) return "the memory is null";
                       return batch.sizes[i] == 0 ? "a copy has no bytes" : nullptr;
                     });
  });
}

// In three dimensions: all is counted in elements, which without an array are bytes.

std::optional<size_t> ElementOf(DriverState& driver, const Context& context,
                                const CUmemcpy3DOperand& operand) {
  if (operand.type != CU_MEMCPY_OPERAND_TYPE_ARRAY) return std::nullopt;
  const absl::StatusOr<ArrayDescriptor> found =
      driver.simulator->DescriptorOf(ArrayOf(driver, context, operand.op.array.array));
  if (!found.ok()) return std::nullopt;
  return ElementSize(*found).value();
}

// What is wrong with it; null: nothing. `box`: what it is.
const char* ToBoxEnd(DriverState& driver, const Context& context, const CUmemcpy3DOperand& operand,
                     const CUextent3D& extent, size_t element, BoxEnd* box) {
  box->device = context.device;
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
    const CUoffset3D& offset = operand.op.array.offset;
    box->memory = BoxEnd::kArray;
    box->array = ArrayOf(driver, context, operand.op.array.array);
    box->offset = {offset.x, offset.y, offset.z};
    return __builtin_mul_overflow(offset.x, element, &box->offset.x)
               ? "an offset lies beyond all arrays"
               : nullptr;
  }
  if (operand.type != CU_MEMCPY_OPERAND_TYPE_POINTER) return "there is no such type of operand";
  const auto& memory = operand.op.ptr;
  const size_t row = memory.rowLength == 0 ? extent.width : memory.rowLength;
  if (row < extent.width) return "a row is shorter than the box";
  box->memory = BoxEnd::kAnywhere;
  box->base = DeviceAddress(memory.ptr);
  box->height = memory.layerHeight == 0 ? extent.height : memory.layerHeight;
  return __builtin_mul_overflow(row, element, &box->pitch) ? "a row ends beyond all addresses"
                                                           : nullptr;
}

const char* ToBox(DriverState& driver, const Context& context, const CUDA_MEMCPY3D_BATCH_OP& copy,
                  BoxCopy* box) {
  const CUextent3D& extent = copy.extent;
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return "an extent is 0";
  const std::optional<size_t> from = ElementOf(driver, context, copy.src);
  const size_t element = from.value_or(ElementOf(driver, context, copy.dst).value_or(1));
  box->shape = {0, extent.height, extent.depth};
  if (__builtin_mul_overflow(extent.width, element, &box->shape.width)) {
    return "a row ends beyond all addresses";
  }
  box->reads_at_call = copy.srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
  const char* wrong = WhatIsWrong(copy.srcAccessOrder, copy.flags);
  if (wrong == nullptr) wrong = ToBoxEnd(driver, context, copy.dst, extent, element, &box->to);
  if (wrong == nullptr) wrong = ToBoxEnd(driver, context, copy.src, extent, element, &box->from);
  return wrong;
}

CUresult Copy3D(const CallSite& site, Legacy legacy, size_t count,
                const CUDA_MEMCPY3D_BATCH_OP* copies, size_t* fail_index, unsigned long long flags,
                CUstream stream) {
  if (IsRefused(stream, legacy)) return RefuseLegacy(site, {copies}, fail_index);
  const NamedObject named = NamedObject::OfCopy(stream);
  return EnterInContext(site, named, {copies}, [&](DriverState& driver, Context& context) {
    Tell(fail_index, SIZE_MAX);
    const char* const wrong = count == 0 || count > kMaxCopies ? "there is no such number of copies"
                              : flags != 0                     ? "there are no such flags"
                                                               : nullptr;
    if (wrong != nullptr) return ToResult(driver.simulator->boxes().Refuse(site.name(), wrong));
    return CopyBatch(
        site, driver, context, stream, count, Before::kIsNot, fail_index,
        [&](size_t i, BoxCopy* box) { return ToBox(driver, context, copies[i], box); });
  });
}

}  // namespace

extern "C" CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes,
                                          size_t count, CUmemcpyAttributes* attributes,
                                          size_t* first, size_t attribute_count, CUstream stream) {
  return Copy(TWINMMU_HERE, Legacy::kRefused,
              {to, from, sizes, count, attributes, first, attribute_count}, nullptr, stream);
}
// Null is the legacy stream in either form, and so no stream for a batch. Source: an H200 with
// driver 580.159.
TWINMMU_ALIAS(cuMemcpyBatchAsync_v2_ptsz, cuMemcpyBatchAsync_v2);

extern "C" CUresult cuMemcpyBatchAsync(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes,
                                       size_t count, CUmemcpyAttributes* attributes, size_t* first,
                                       size_t attribute_count, size_t* fail_index,
                                       CUstream stream) {
  return Copy(TWINMMU_HERE, Legacy::kRefused,
              {to, from, sizes, count, attributes, first, attribute_count}, fail_index, stream);
}
TWINMMU_ALIAS(cuMemcpyBatchAsync_ptsz, cuMemcpyBatchAsync);

extern "C" CUresult cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP* copies,
                                            unsigned long long flags, CUstream stream) {
  return Copy3D(TWINMMU_HERE, Legacy::kRefused, count, copies, nullptr, flags, stream);
}
TWINMMU_ALIAS(cuMemcpy3DBatchAsync_v2_ptsz, cuMemcpy3DBatchAsync_v2);

extern "C" CUresult cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP* copies,
                                         size_t* fail_index, unsigned long long flags,
                                         CUstream stream) {
  return Copy3D(TWINMMU_HERE, Legacy::kRefused, count, copies, fail_index, flags, stream);
}
TWINMMU_ALIAS(cuMemcpy3DBatchAsync_ptsz, cuMemcpy3DBatchAsync);

// One copy, as one of a batch is made. [CUDA 13.2] Not measured; that it goes to the legacy default
// stream, too, is so because no document says that it does not.

extern "C" CUresult cuMemcpyWithAttributesAsync(CUdeviceptr to, CUdeviceptr from, size_t size,
                                                CUmemcpyAttributes* attributes, CUstream stream) {
  const size_t first = 0;
  return Copy(TWINMMU_HERE, Legacy::kAllowed, {&to, &from, &size, 1, attributes, &first, 1},
              nullptr, stream);
}
TWINMMU_OF_THREAD(cuMemcpyWithAttributesAsync_ptsz, cuMemcpyWithAttributesAsync,
                  (CUdeviceptr to, CUdeviceptr from, size_t size, CUmemcpyAttributes* attributes,
                   CUstream stream),
                  to, from, size, attributes, OfThread(stream))

extern "C" CUresult cuMemcpy3DWithAttributesAsync(CUDA_MEMCPY3D_BATCH_OP* copy,
                                                  unsigned long long flags, CUstream stream) {
  return Copy3D(TWINMMU_HERE, Legacy::kAllowed, 1, copy, nullptr, flags, stream);
}
TWINMMU_OF_THREAD(cuMemcpy3DWithAttributesAsync_ptsz, cuMemcpy3DWithAttributesAsync,
                  (CUDA_MEMCPY3D_BATCH_OP * copy, unsigned long long flags, CUstream stream), copy,
                  flags, OfThread(stream))

// An engine that the H100 does not have, nor any profile here. A machine of the program's own may
// say that it has one, which is not simulated.
extern "C" CUresult cuMemBatchDecompressAsync(void* /*pieces*/, size_t /*count*/,
                                              unsigned int /*flags*/, size_t* /*fail_index*/,
                                              CUstream stream) {
  constexpr auto kAlgorithms = static_cast<DeviceAttribute>(136);
  const CallSite site = TWINMMU_HERE;
  return EnterInContext(site, stream, {}, [&](DriverState& driver, Context& context) {
    CheckLegacyUncaptured(driver, context, stream);
    const Captured refused = RefuseCaptured(driver, context, stream);
    if (refused.has_value()) return *refused;
    const auto algorithms = driver.vmm.GetDeviceAttribute(kAlgorithms, context.device);
    const bool has_engine = algorithms.ok() && *algorithms != 0;
    return ToResult(has_engine ? NotSimulated(site, "engines that decompress")
                               : DriverCode::kNotSupported);
  });
}
TWINMMU_OF_THREAD(cuMemBatchDecompressAsync_ptsz, cuMemBatchDecompressAsync,
                  (void* pieces, size_t count, unsigned int flags, size_t* fail_index,
                   CUstream stream),
                  pieces, count, flags, fail_index, OfThread(stream))

}  // namespace twinmmu::libcuda
