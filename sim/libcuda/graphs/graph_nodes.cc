#include "sim/libcuda/graphs/graph_nodes.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/calls/boxes.h"
#include "sim/libcuda/calls/launches.h"
#include "sim/libcuda/graphs/memory_nodes.h"
#include "sim/libcuda/modules.h"
#include "sim/ptx/program/program.h"

namespace twinmmu::libcuda {
namespace {

SimulatedCopies::Asked CheckOn(const CallSite& site, DeviceOrdinal device) {
  return {site.name(), Stream(device), SimulatedCopies::Returns::kWhenQueued,
          SimulatedCopies::Part::kCheck};
}

// Unlike the calls that fill at once, and unlike captured ones, nodes of two H100s fill the linear
// memory of either device without access to it.
DeviceOrdinal FillerOf(DriverState& driver, const Context& context, DeviceAddress address) {
  const auto memory = driver.simulator->linear().Find(address);
  return memory.ok() && memory->kind == LinearKind::kDevice ? memory->device : context.device;
}

const Context& ToOf(const CopyWork& work) { return work.to != nullptr ? *work.to : *work.context; }
const Context& FromOf(const CopyWork& work) {
  return work.from != nullptr ? *work.from : *work.context;
}

std::shared_ptr<KernelArguments> Keep(const ptx::KernelInfo& kernel,
                                      const std::vector<const void*>& arguments, bool as_buffer) {
  auto kept = std::make_shared<KernelArguments>();
  kept->bytes.resize(kernel.parameter_bytes);
  for (size_t i = 0; i < arguments.size(); ++i) {
    char* const to = kept->bytes.data() + kernel.parameters[i].offset;
    std::memcpy(to, arguments[i], kernel.parameters[i].size);
    kept->pointers.push_back(to);
  }
  kept->as_buffer = as_buffer;
  return kept;
}

absl::StatusOr<LoadedKernel> LoadedKernelOf(const CallSite& site, DriverState& driver,
                                            const KernelWork& work) {
  const absl::StatusOr<Kernel> kernel = KernelOf(driver, *work.context, work.function);
  if (!kernel.ok()) return kernel.status();
  return driver.simulator->kernels().Find(site.name(), *kernel);
}

// The function, and the context in which it runs.
CUresult FindFunction(const CallSite& site, DriverState& driver,
                      const CUDA_KERNEL_NODE_PARAMS& given, KernelWork* made) {
  const auto is_of_library = [&](uint64_t id) {
    return driver.modules.kernels.Find(id).has_value();
  };
  if (is_of_library(ToNumber(given.func))) return ToResult(DriverCode::kInvalidHandle);
  const uint64_t named = given.func != nullptr ? ToNumber(given.func) : ToNumber(given.kern);
  if (named == 0) return ToResult(DriverCode::kInvalidHandle);
  if (is_of_library(named)) {
    const DriverCode known = FindAlive(site, driver, given.ctx, &made->context);
    if (known != DriverCode::kSuccess) return ToResult(known);
    made->kernel = given.kern;
    return Give(KernelOf(driver, *made->context, ToPointer<CUfunction>(named)), &made->function);
  }
  made->function = ToPointer<CUfunction>(named);
  const auto record = driver.modules.functions.Find(named);
  if (!record.has_value()) return ToResult(FindAlive(site, driver, nullptr, &made->context));
  made->context = record->context;
  made->kernel = ToPointer<cuda_abi::CUkernel>(ToNumber(record->kernel));
  return CUDA_SUCCESS;
}

absl::StatusOr<CopyOperation> DescriptionOf(const CallSite& site, DriverState& driver,
                                            const FillWork& work) {
  const CUDA_MEMSET_NODE_PARAMS& fill = work.fill;
  return driver.simulator->boxes().DescribeFill(site.name(), work.device, DeviceAddress(fill.dst),
                                                fill.pitch, {fill.value, Bytes(fill.elementSize)},
                                                fill.width, fill.height);
}

// The ends of a copy or a fill.
std::vector<AddressRange> RangesOf(const CopyOperation& operation) {
  std::vector<AddressRange> ranges;
  for (const CopySide* side : {&operation.written, &operation.read}) {
    const bool has_addresses = side->kind == CopySide::kMemory || side->kind == CopySide::kAnywhere;
    if (has_addresses) ranges.push_back(side->All(operation.shape));
  }
  return ranges;
}

bool UsesNodes(DriverState& driver, const CopyOperation& operation) {
  const std::vector<AddressRange> ranges = RangesOf(operation);
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const AddressRange& range) { return IsOfNode(driver, range.base); });
}

// What a node allocates is there when the work is, or that fails.
CUresult CheckInNodes(DriverState& driver, const CopyOperation& operation) {
  const std::vector<AddressRange> ranges = RangesOf(operation);
  const bool inside = std::all_of(ranges.begin(), ranges.end(), [&](const AddressRange& range) {
    return IsInsideNode(driver, range);
  });
  return inside ? CUDA_SUCCESS : kInvalidValue;
}

// Neither of the host nor an array.
bool IsOfDevice(DriverState& driver, CUmemorytype type, CUdeviceptr address) {
  if (type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED) return false;
  const auto memory = driver.simulator->linear().Find(DeviceAddress(address));
  return !memory.ok() ||
         (memory->kind != LinearKind::kPinned && memory->kind != LinearKind::kRegistered);
}

}  // namespace

CUresult MakeKernel(const CallSite& site, DriverState& driver, const CUDA_KERNEL_NODE_PARAMS& given,
                    KernelWork* made, const std::optional<LaunchForm>& form) {
  const CUresult known = FindFunction(site, driver, given, made);
  if (known != CUDA_SUCCESS) return known;
  made->config = {{given.gridDimX, given.gridDimY, given.gridDimZ},
                  {given.blockDimX, given.blockDimY, given.blockDimZ},
                  given.sharedMemBytes};
  const CUresult fault = FaultOf(site, driver);
  if (fault != CUDA_SUCCESS) return fault;
  const absl::StatusOr<LoadedKernel> loaded = LoadedKernelOf(site, driver, *made);
  if (!loaded.ok()) return ToResult(loaded.status());
  std::vector<char> whole;
  std::vector<const void*> arguments;
  const DriverCode there =
      FindArguments(*loaded->info, given.kernelParams, given.extra, &whole, &arguments);
  if (there != DriverCode::kSuccess) return ToResult(there);
  const bool missing = std::any_of(arguments.begin(), arguments.end(),
                                   [](const void* argument) { return argument == nullptr; });
  if (missing) return ToResult(NullPointer(site));
  made->arguments = Keep(*loaded->info, arguments, given.kernelParams == nullptr);
  const absl::StatusOr<Dim3> shape = driver.simulator->kernels().CheckShape(
      *loaded, made->config, form.value_or(FormOf(made->attributes)));
  if (!shape.ok()) return ToResult(shape.status());
  return ToResult(driver.simulator->kernels().CheckLaunch(*loaded, made->config));
}

CUresult RemakeKernel(const CallSite& site, DriverState& driver,
                      const CUDA_KERNEL_NODE_PARAMS& given, KernelWork* work) {
  KernelWork made;
  made.attributes = work->attributes;
  const CUresult possible = MakeKernel(site, driver, given, &made);
  if (possible == CUDA_SUCCESS) *work = std::move(made);
  return possible;
}

LaunchForm FormOf(const LaunchAttributes& attributes) {
  LaunchForm form;
  form.of_graph = true;
  for (const auto& [id, value] : attributes) {
    if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) form.cooperative = value.cooperative != 0;
    if (id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    const Dim3 cluster{value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
    const bool is_said = cluster.x != 0 || cluster.y != 0 || cluster.z != 0;
    if (is_said) form.cluster = cluster;
  }
  return form;
}

CUresult CheckAttributes(const CallSite& site, DriverState& driver, const KernelWork& work,
                         const LaunchAttributes& attributes) {
  const absl::StatusOr<LoadedKernel> loaded = LoadedKernelOf(site, driver, work);
  if (!loaded.ok()) return ToResult(loaded.status());
  return ToResult(
      driver.simulator->kernels().CheckShape(*loaded, work.config, FormOf(attributes)).status());
}

CUresult CheckCopy(const CallSite& site, DriverState& driver, const CopyWork& work) {
  const BoxCopy box = BoxCopyOf(driver, ToOf(work), FromOf(work), work.copy);
  const absl::StatusOr<CopyOperation> operation =
      driver.simulator->boxes().Describe(site.name(), box);
  if (operation.ok() && UsesNodes(driver, *operation)) return CheckInNodes(driver, *operation);
  return ToResult(driver.simulator->boxes().Copy(CheckOn(site, work.context->device), {&box, 1}));
}

namespace {

// The context in which memory was made; of what has none, the primary one of its device, or of the
// first one.
Context& OwnerOf(DriverState& driver, DeviceAddress memory) {
  const auto found = driver.simulator->linear().Find(memory);
  Context* const owner =
      found.ok() ? driver.contexts.Find(ToPointer<CUcontext>(found->owner)) : nullptr;
  if (owner != nullptr) return *owner;
  return driver.contexts.Primary(found.ok() ? found->device : DeviceOrdinal(0));
}

// Of what is written, or of what is read, if that is no memory of a device.
Context& OwnerOf(DriverState& driver, const CUDA_MEMCPY3D& copy) {
  const struct {
    CUmemorytype type;
    CUarray array;
    CUdeviceptr address;
  } ends[] = {{copy.dstMemoryType, copy.dstArray, copy.dstDevice},
              {copy.srcMemoryType, copy.srcArray, copy.srcDevice}};
  for (const auto& [type, array, address] : ends) {
    if (type == CU_MEMORYTYPE_ARRAY) {
      const uint64_t id = ToNumber(array);
      const auto record = driver.arrays.arrays.Find(id);
      if (record.has_value()) return *record->context;
      const std::optional<DeviceOrdinal> device = driver.simulator->DeviceOfArray(id);
      if (device.has_value()) return driver.contexts.Primary(*device);
    } else if (type != CU_MEMORYTYPE_HOST) {
      const DeviceAddress memory(address);
      if (driver.simulator->linear().Find(memory).ok()) return OwnerOf(driver, memory);
    }
  }
  return driver.contexts.Primary(DeviceOrdinal(0));
}

// The context of a copy or a fill: the one that is named, or the current one; without either,
// owner(). A fault counts at once where one is named. Source: an H200 with driver 580.159; which
// context it takes without either is not measured.
template <typename Owner>
CUresult FindContextOf(const CallSite& site, DriverState& driver, CUcontext handle,
                       const Owner& owner, Context** context) {
  if (handle == nullptr && !HasCurrentContext()) {
    *context = &owner();
    return CUDA_SUCCESS;
  }
  const DriverCode known = FindAlive(site, driver, handle, context);
  if (known != DriverCode::kSuccess) return ToResult(known);
  return handle != nullptr ? FaultOf(site, driver) : CUDA_SUCCESS;
}

}  // namespace

CUresult MakeCopy(const CallSite& site, DriverState& driver, const CUDA_MEMCPY3D& given,
                  CUcontext context, CopyWork* made) {
  const CUresult found = FindContextOf(
      site, driver, context, [&]() -> Context& { return OwnerOf(driver, given); }, &made->context);
  if (found != CUDA_SUCCESS) return found;
  made->copy = given;
  if (given.WidthInBytes == 0 || given.Height == 0 || given.Depth == 0) return kInvalidValue;
  const CUresult possible = CheckCopy(site, driver, *made);
  return possible == CUDA_SUCCESS ? FaultOf(site, driver) : possible;
}

CUresult CheckFillShape(const CallSite& site, DriverState& driver, const FillWork& work) {
  return ToResult(DescriptionOf(site, driver, work).status());
}

CUresult CheckFill(const CallSite& site, DriverState& driver, const FillWork& work) {
  const CUDA_MEMSET_NODE_PARAMS& fill = work.fill;
  const bool has_size = fill.elementSize == 1 || fill.elementSize == 2 || fill.elementSize == 4;
  if (!has_size || fill.width == 0 || fill.height == 0) return kInvalidValue;
  const absl::StatusOr<CopyOperation> operation = DescriptionOf(site, driver, work);
  if (operation.ok() && UsesNodes(driver, *operation)) return CheckInNodes(driver, *operation);
  return ToResult(driver.simulator->boxes().Fill(
      CheckOn(site, work.device), DeviceAddress(fill.dst), fill.pitch,
      {fill.value, Bytes(fill.elementSize)}, fill.width, fill.height));
}

CUresult MakeFill(const CallSite& site, DriverState& driver, const CUDA_MEMSET_NODE_PARAMS& given,
                  CUcontext context, FillWork* made) {
  const DeviceAddress memory(given.dst);
  const CUresult found = FindContextOf(
      site, driver, context, [&]() -> Context& { return OwnerOf(driver, memory); }, &made->context);
  if (found != CUDA_SUCCESS) return found;
  made->fill = given;
  made->device = FillerOf(driver, *made->context, memory);
  const CUresult possible = CheckFill(site, driver, *made);
  return possible == CUDA_SUCCESS ? FaultOf(site, driver) : possible;
}

CUresult MakeHost(const CUDA_HOST_NODE_PARAMS& given, HostWork* made) {
  if (given.fn == nullptr) return kInvalidValue;
  made->call = given;
  return CUDA_SUCCESS;
}

CUresult CheckEvent(const CallSite& site, DriverState& driver, CUevent event) {
  if (event == nullptr) return kInvalidValue;
  return FindEvent(site, driver, event).has_value() ? CUDA_SUCCESS
                                                    : ToResult(DriverCode::kInvalidHandle);
}

bool UsesReferences(const CallSite& site, DriverState& driver, const KernelWork& work) {
  const absl::StatusOr<LoadedKernel> loaded = LoadedKernelOf(site, driver, work);
  return loaded.ok() && loaded->info->uses_references;
}

std::vector<RememberedMemory> MemoryOf(const CallSite& site, DriverState& driver,
                                       const GraphWork& work) {
  std::vector<RememberedMemory> memory;
  const GraphMemory& machine = driver.simulator->graph_memory();
  if (const auto* const kernel = std::get_if<KernelWork>(&work)) {
    machine.RememberPointers(kernel->arguments->bytes, &memory);
  }
  if (const auto* const copy = std::get_if<CopyWork>(&work)) {
    const absl::StatusOr<CopyOperation> operation = driver.simulator->boxes().Describe(
        site.name(), BoxCopyOf(driver, ToOf(*copy), FromOf(*copy), copy->copy));
    if (operation.ok()) machine.Remember(*operation, &memory);
  }
  if (const auto* const filled = std::get_if<FillWork>(&work)) {
    const absl::StatusOr<CopyOperation> operation = DescriptionOf(site, driver, *filled);
    if (operation.ok()) machine.Remember(*operation, &memory);
  }
  // What nodes allocate is other memory each time.
  memory.erase(std::remove_if(memory.begin(), memory.end(),
                              [&](const RememberedMemory& found) {
                                return IsOfNode(driver, found.range.base);
                              }),
               memory.end());
  return memory;
}

std::optional<DeviceOrdinal> DeviceOf(DriverState& driver, const GraphWork& work) {
  if (const auto* const kernel = std::get_if<KernelWork>(&work)) return kernel->context->device;
  if (const auto* const copy = std::get_if<CopyWork>(&work)) return copy->context->device;
  if (const auto* const fill = std::get_if<FillWork>(&work)) return fill->device;
  if (const auto* const batch = std::get_if<BatchWork>(&work)) return batch->context->device;
  if (const auto* const decides = std::get_if<ConditionalWork>(&work)) {
    return decides->condition->context->device;
  }
  if (const auto* const alloc = std::get_if<AllocWork>(&work)) {
    return DeviceOrdinal(alloc->params.poolProps.location.id);
  }
  if (const auto* const record = std::get_if<RecordWork>(&work)) {
    const auto event = driver.streams.events.Find(ToNumber(record->event));
    if (event.has_value()) return event->context->device;
  }
  return std::nullopt;
}

Context* ContextOfKernels(DriverState& driver, const GraphWork& work) {
  if (const auto* const kernel = std::get_if<KernelWork>(&work)) return kernel->context;
  if (const auto* const decides = std::get_if<ConditionalWork>(&work)) {
    return decides->condition->context;
  }
  if (const auto* const filled = std::get_if<FillWork>(&work)) {
    return filled->fill.height > 1 ? filled->context : nullptr;
  }
  const auto* const copied = std::get_if<CopyWork>(&work);
  if (copied == nullptr) return nullptr;
  const CUDA_MEMCPY3D& copy = copied->copy;
  const bool is_kernel = IsOfDevice(driver, copy.srcMemoryType, copy.srcDevice) &&
                         IsOfDevice(driver, copy.dstMemoryType, copy.dstDevice);
  return is_kernel ? copied->context : nullptr;
}

std::string NameOf(const CallSite& site, DriverState& driver, const GraphWork& work) {
  if (const auto* const kernel = std::get_if<KernelWork>(&work)) {
    const absl::StatusOr<LoadedKernel> loaded = LoadedKernelOf(site, driver, *kernel);
    return absl::StrCat("the kernel node ",
                        loaded.ok() ? loaded->info->name : "of a dead function");
  }
  return std::holds_alternative<CopyWork>(work) ? "the memcpy node" : "the memset node";
}

}  // namespace twinmmu::libcuda
