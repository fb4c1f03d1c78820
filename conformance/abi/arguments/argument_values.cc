#include "conformance/abi/arguments/argument_values.h"

#include <algorithm>
#include <thread>

namespace twinmmu::abi {
namespace {

constexpr char kCode[] = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .b32 v;
.visible .entry k() { ret; }
.visible .entry stop() { trap; }
)";

constexpr uint64_t kNoDevice = 99;
constexpr uint64_t kBytes = 1 << 16;
constexpr uint64_t kLinear = 2;           // CUresourcetype
constexpr uint64_t kMultiprocessors = 1;  // CUdevResourceType
constexpr uint64_t kLegacy = 1;           // CUstream
constexpr uint64_t kOfThread = 2;
constexpr uint64_t kNotCapturing = 0;  // CUstreamCaptureStatus
constexpr uint64_t kSpoilt = 2;

void CallNothing(void* /*data*/) {}

CUDA_ARRAY3D_DESCRIPTOR Shape(unsigned int flags) {
  CUDA_ARRAY3D_DESCRIPTOR shape = {};
  shape.Width = shape.Height = 16;
  shape.Format = CU_AD_FORMAT_FLOAT;
  shape.NumChannels = 1;
  shape.Flags = flags;
  return shape;
}

}  // namespace

TWINMMU_ANY_TYPES CUresult Call(const char* symbol, const AnyArguments& arguments) {
  using Any =
      CUresult (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                   uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
  const auto function = reinterpret_cast<Any>(FindSymbol(symbol));
  if (function == nullptr) return CUDA_ERROR_NOT_FOUND;
  const AnyArguments& a = arguments;
  return function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12],
                  a[13], a[14], a[15]);
}

Arguments::Arguments(CallState state) : state_(state) {
  Need("cuInit", {0});
  Need("cuDevicePrimaryCtxRetain", {ResultOf('X'), 0});
  Need("cuCtxSetCurrent", {handles_['X']});
  Make();
  MakeTextures();
  MakeGraphs();
  Enter();
}

void Arguments::Need(const char* symbol, std::initializer_list<uint64_t> arguments) {
  AnyArguments all = {};
  std::copy(arguments.begin(), arguments.end(), all.begin());
  are_whole_ = are_whole_ && Call(symbol, all) == CUDA_SUCCESS;
}

void Arguments::Make() {
  Need("cuMemAlloc_v2", {ResultOf('D'), kBytes});
  Need("cuMemsetD32_v2", {handles_['D'], 1, kBytes / 4});  // what streams wait for
  Need("cuStreamCreate", {ResultOf('S'), CU_STREAM_NON_BLOCKING});
  Need("cuDeviceGetDefaultMemPool", {ResultOf('P'), 0});
  Need("cuModuleLoadData", {ResultOf('M'), At(kCode)});
  Need("cuModuleGetFunction", {ResultOf('F'), handles_['M'], At("k")});
  Need("cuLibraryLoadData", {ResultOf('L'), At(kCode)});
  Need("cuLibraryGetKernel", {ResultOf('K'), handles_['L'], At("k")});
  Need("cuEventCreate", {ResultOf('E'), 0});
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  Need("cuMemCreate", {ResultOf('H'), uint64_t{2} << 20, At(&properties), 0});
  Need("cuLinkCreate_v2", {0, 0, 0, ResultOf('J')});
  Need("cuDeviceGetDevResource", {0, At(&places_[0]), kMultiprocessors});
  Need("cuDevResourceGenerateDesc", {ResultOf('V'), At(&places_[0]), 1});
  Need("cuGreenCtxCreate", {ResultOf('W'), handles_['V'], 0, 1});
}

void Arguments::MakeTextures() {
  const CUDA_ARRAY3D_DESCRIPTOR surface_shape = Shape(CUDA_ARRAY3D_SURFACE_LDST);
  Need("cuArray3DCreate_v2", {ResultOf('A'), At(&surface_shape)});
  const CUDA_ARRAY3D_DESCRIPTOR shape = Shape(0);
  Need("cuMipmappedArrayCreate", {ResultOf('Y'), At(&shape), 2});
  // CUDA_RESOURCE_DESC, as far as these use it.
  struct Resource {
    uint32_t type;
    uint64_t memory;
    uint32_t format;
    uint32_t channels;
    uint64_t bytes;
    uint64_t rest[16];
  };
  const Resource linear = {kLinear, handles_['D'], CU_AD_FORMAT_FLOAT, 1, 1024, {}};
  const std::array<uint64_t, 16> sampling = {};
  Need("cuTexObjectCreate", {ResultOf('O'), At(&linear), At(&sampling), 0});
  const Resource array = {0, handles_['A'], 0, 0, 0, {}};
  Need("cuSurfObjectCreate", {ResultOf('Q'), At(&array)});
  Need("cuTexRefCreate", {ResultOf('T')});
}

void Arguments::MakeGraphs() {
  Need("cuGraphCreate", {ResultOf('G'), 0});
  MakeNode();
  Need("cuGraphInstantiateWithFlags", {ResultOf('R'), handles_['G'], 0});
  Need("cuUserObjectCreate", {ResultOf('B'), 0, At(CallNothing), 1, 1});
}

void Arguments::Enter() {
  uint64_t made = 0;
  switch (state_) {
    case CallState::kNoContext:
      return Need("cuCtxSetCurrent", {0});
    case CallState::kOtherContext:
      return Need("cuCtxCreate_v4", {At(&made), 0, 0, 0});
    case CallState::kGreenContext:
      Need("cuCtxFromGreenCtx", {At(&made), handles_['W']});
      return Need("cuCtxSetCurrent", {made});
    case CallState::kDestroyed:
      Need("cuCtxCreate_v4", {At(&made), 0, 0, 0});
      std::thread([&] { Need("cuCtxDestroy_v2", {made}); }).join();
      return;
    case CallState::kFault:
      Need("cuModuleGetFunction", {At(&made), handles_['M'], At("stop")});
      Need("cuLaunchKernel", {made, 1, 1, 1, 1, 1, 1});
      are_whole_ = are_whole_ && Call("cuCtxSynchronize", {}) != CUDA_SUCCESS;
      return;
    case CallState::kLegacyStream:
      handles_['S'] = kLegacy;
      return;
    case CallState::kThreadStream:
      handles_['S'] = kOfThread;
      return;
    case CallState::kBlockingCapture:
    case CallState::kCapture:
    case CallState::kRelaxedCapture:
    case CallState::kCapturedStream:
      return EnterCapture();
    default:
      return;
  }
}

void Arguments::EnterCapture() {
  constexpr uint64_t kNonBlocking = 1;
  const bool blocks = state_ == CallState::kBlockingCapture;
  Need("cuStreamCreate", {At(&captured_), blocks ? 0 : kNonBlocking});
  if (state_ == CallState::kCapturedStream) handles_['S'] = captured_;
}

bool Arguments::BeginCapture() {
  if (captured_ == 0) return true;
  const bool is_relaxed = state_ == CallState::kRelaxedCapture;
  return Call("cuStreamBeginCapture_v2", {captured_, is_relaxed ? uint64_t{2} : 0}) == CUDA_SUCCESS;
}

std::string Arguments::EndCapture() {
  if (captured_ == 0) return "";
  uint32_t status = 0;
  Call("cuStreamIsCapturing", {captured_, At(&status)});
  uint64_t graph = 0;
  const CUresult ended = Call("cuStreamEndCapture", {captured_, At(&graph)});
  if (ended == CUDA_SUCCESS) Call("cuGraphDestroy", {graph});
  const std::string end = ended == CUDA_SUCCESS ? "" : " end " + std::to_string(ended);
  const char* const now = status == kSpoilt         ? " spoilt"
                          : status == kNotCapturing ? " ended"
                                                    : " capturing";
  return now + end;
}

uint64_t Arguments::FunctionToCall() { return At(CallNothing); }

uint64_t Arguments::Of(char kind, bool is_there, size_t index) {
  switch (kind) {
    case 'p':
      return is_there ? At(&places_.at(index)) : 0;
    case 'i':
    case 'l':  // its type, of which 1 is that of devices, and the number 0
      return is_there ? 1 : 0;
    case 'd':
      return is_there ? 0 : kNoDevice;
    case 'c':
      return is_there ? At(CallNothing) : 0;
    case 'z':
      return 0;
    default:
      return is_there ? handles_.at(kind) : 0;
  }
}

void Arguments::ClearPlaces() {
  for (auto& place : places_) place.fill(0);
}

}  // namespace twinmmu::abi
