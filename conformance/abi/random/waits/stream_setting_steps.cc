// What is set of streams, and what they say of themselves.

#include <algorithm>
#include <cstring>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/kernels/launch_world.h"
#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {
namespace {

// CUstreamAttrID
enum Attribute : int { kWindow = 1, kPolicy = 3, kPriority = 8, kDomainMap = 9, kDomain = 10 };

union Value {
  unsigned char bytes[64];
  int number;
  struct {
    void* base;
    size_t bytes;
    float hit_ratio;
    int hit;
    int miss;
  } window;
};

inline constexpr Function<CUresult(CUstream, int, Value*)> get("cuStreamGetAttribute");
inline constexpr Function<CUresult(CUstream, int, const Value*)> set("cuStreamSetAttribute");
inline constexpr Function<CUresult(CUstream, CUstream)> copy("cuStreamCopyAttributes");
inline constexpr Function<CUresult(CUstream, CUdevice*)> get_device("cuStreamGetDevice");

void Get(ProgramWorld& world) {
  std::string name;
  const CUstream stream = StreamFor(world, &name);
  const int attribute = world.Of<int>(
      {kWindow, kPolicy, kPriority, kPriority, kDomainMap, kDomain, kDomain, 2, 13, -1});
  Value value = {};
  if (!world.Say(get(stream, attribute, &value), "cuStreamGetAttribute", name, attribute)) return;
  if (attribute == kWindow) {
    world.Gave(value.window.base != nullptr, value.window.bytes, value.window.hit_ratio);
  } else if (attribute == kDomainMap) {
    world.Gave(int{value.bytes[0]}, int{value.bytes[1]});
  } else {
    world.Gave(value.number);
  }
}

void Set(ProgramWorld& world) {
  std::string name;
  const CUstream stream = StreamFor(world, &name);
  const int attribute = world.Of<int>(
      {kWindow, kPolicy, kPolicy, kPriority, kPriority, kDomainMap, kDomain, kDomain, 6});
  Value value = {};
  switch (attribute) {
    case kPolicy:
      value.number = world.Of({1, 2, 3, 4, 1, 4, 0, 5});
      break;
    case kPriority:
      value.number = world.Of({0, -1, -3, -5, -8, 3});
      break;
    case kDomainMap:
      value.number = world.Of({0x0100, 0x0203, 0x0001, 0x0401, 0x0104});
      break;
    case kDomain:
      value.number = world.Of({0, 1, 1, 2});
      break;
    case kWindow:  // of nothing: memory may be freed before the stream is
      value.window.hit_ratio = world.Of({0.0f, 0.5f, 1.0f, 1.5f, -1.0f});
      value.window.hit = world.Of({0, 2});
      value.window.miss = world.Of({0, 1, 2});
      world.Say(set(stream, kWindow, &value), "cuStreamSetAttribute", name, kWindow,
                value.window.hit_ratio, value.window.hit, value.window.miss);
      return;
    default:
      break;
  }
  world.Say(set(stream, attribute, &value), "cuStreamSetAttribute", name, attribute, value.number);
}

void Copy(ProgramWorld& world) {
  std::string name;
  std::string other_name;
  const CUstream stream = StreamFor(world, &name);
  const CUstream other = StreamFor(world, &other_name);
  world.Say(copy(stream, other), "cuStreamCopyAttributes", name, other_name);
}

void Ask(ProgramWorld& world) {
  std::string name;
  const CUstream stream = StreamFor(world, &name);
  unsigned long long id = 0;
  unsigned long long of_default = 0;
  unsigned flags = 0;
  int priority = 0;
  CUdevice device = -1;
  CUcontext context = nullptr;
  CUstreamCaptureStatus status = {};
  switch (world.Below(7)) {
    case 0: {
      const CUresult result = cuStreamGetId(stream, &id);
      cuStreamGetId(nullptr, &of_default);
      if (world.Say(result, "cuStreamGetId", name)) world.Gave(id == of_default);
      return;
    }
    case 1:
      if (world.Say(get_device(stream, &device), "cuStreamGetDevice", name)) world.Gave(device);
      return;
    case 2:
      if (world.Say(cuStreamGetFlags(stream, &flags), "cuStreamGetFlags", name)) world.Gave(flags);
      return;
    case 3:
      if (world.Say(cuStreamGetPriority(stream, &priority), "cuStreamGetPriority", name)) {
        world.Gave(priority);
      }
      return;
    case 4:
      if (world.Say(cuStreamGetCtx(stream, &context), "cuStreamGetCtx", name)) {
        world.Gave(context == world.context);
      }
      return;
    case 5:
      if (world.Say(cuStreamIsCapturing(stream, &status), "cuStreamIsCapturing", name)) {
        world.Gave(int(status));
      }
      return;
    default:
      world.Say(cuStreamQuery(stream), "cuStreamQuery", name);
  }
}

}  // namespace

RandomSteps StreamSettingSteps() { return {{8, Get}, {10, Set}, {3, Copy}, {8, Ask}}; }

}  // namespace twinmmu::abi
