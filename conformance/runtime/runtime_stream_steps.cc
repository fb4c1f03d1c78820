// Streams.

#include <atomic>

#include "conformance/runtime/runtime_kernels.h"
#include "conformance/runtime/runtime_world.h"

namespace random_runtime {

cudaStream_t StreamFor(RuntimeWorld& world, std::string* name) {
  switch (world.Below(10)) {
    case 0:
      *name = "legacy";
      return cudaStreamLegacy;
    case 1:
      *name = "thread";
      return cudaStreamPerThread;
    default: {
      const cudaStream_t stream = world.AnyStream();
      *name = world.streams.NameOf(stream);
      return stream;
    }
  }
}

namespace {

std::atomic<int> calls{0};

void CUDART_CB Count(void* by) { calls += static_cast<int>(reinterpret_cast<size_t>(by)); }
void CUDART_CB Told(cudaStream_t, cudaError_t error, void* by) {
  calls += static_cast<int>(reinterpret_cast<size_t>(by)) + 1000 * static_cast<int>(error);
}

void MakeStream(RuntimeWorld& world) {
  if (world.streams.size() >= 6) return;
  cudaStream_t stream = nullptr;
  bool made = false;
  const unsigned flags = world.Of({0u, 1u, 1u, 1u, 2u, 77u});
  switch (world.Below(4)) {
    case 0: {
      const bool null = world.OneIn(6);
      made = world.Say(cudaStreamCreate(null ? nullptr : &stream), "cudaStreamCreate", null);
    } break;
    case 1:
      made =
          world.Say(cudaStreamCreateWithFlags(&stream, flags), "cudaStreamCreateWithFlags", flags);
      break;
    default: {
      const int priority = world.Of({0, -1, -3, -5, -6, -100, 1, 1000});
      made = world.Say(cudaStreamCreateWithPriority(&stream, flags, priority),
                       "cudaStreamCreateWithPriority", flags, priority);
    }
  }
  if (made) world.Gave(world.streams.Add(stream));
}

void DestroyStream(RuntimeWorld& world) {
  if (world.OneIn(4)) {
    const int which = world.Of({0, 1, 2});
    const cudaStream_t stream = which == 0   ? nullptr
                                : which == 1 ? cudaStreamLegacy
                                             : cudaStreamPerThread;
    world.Say(cudaStreamDestroy(stream), "cudaStreamDestroy", "default", which);
    return;
  }
  if (world.streams.empty()) return;
  const Object<cudaStream_t> stream = world.One(world.streams);
  if (world.Say(cudaStreamDestroy(stream.handle), "cudaStreamDestroy", stream.name)) {
    world.streams.Remove(stream.name);
  }
}

void AskStream(RuntimeWorld& world) {
  std::string name;
  const cudaStream_t stream = StreamFor(world, &name);
  const bool null = world.OneIn(8);
  unsigned flags = 0;
  int number = 0;
  unsigned long long id = 0;
  unsigned long long other_id = 0;
  switch (world.Below(6)) {
    case 0:
      if (world.Say(cudaStreamGetFlags(stream, null ? nullptr : &flags), "cudaStreamGetFlags", name,
                    null)) {
        world.Gave(flags);
      }
      return;
    case 1:
      if (world.Say(cudaStreamGetPriority(stream, null ? nullptr : &number),
                    "cudaStreamGetPriority", name, null)) {
        world.Gave(number);
      }
      return;
    case 2: {
      std::string other;
      const cudaStream_t second = StreamFor(world, &other);
      if (world.Say(cudaStreamGetId(stream, null ? nullptr : &id), "cudaStreamGetId", name, null) &&
          world.Say(cudaStreamGetId(second, &other_id), "cudaStreamGetId", other)) {
        world.Gave(id == other_id);
      }
      return;
    }
    case 3:
      if (world.Say(cudaStreamGetDevice(stream, &number), "cudaStreamGetDevice", name)) {
        world.Gave(number);
      }
      return;
    case 4:
      world.Say(cudaStreamQuery(stream), "cudaStreamQuery", name);
      return;
    default:
      world.Say(cudaStreamSynchronize(stream), "cudaStreamSynchronize", name);
  }
}

void GetAttribute(RuntimeWorld& world) {
  std::string name;
  const cudaStream_t stream = StreamFor(world, &name);
  const int attribute = world.Of({1, 3, 3, 8, 8, 9, 10, 10, 2, 100});
  cudaStreamAttrValue value = {};
  if (!world.Say(cudaStreamGetAttribute(stream, static_cast<cudaStreamAttrID>(attribute), &value),
                 "cudaStreamGetAttribute", name, attribute)) {
    return;
  }
  if (attribute == 1) {
    world.Gave(value.accessPolicyWindow.base_ptr != nullptr, value.accessPolicyWindow.num_bytes,
               value.accessPolicyWindow.hitRatio);
  } else if (attribute == 9) {
    world.Gave(int{value.memSyncDomainMap.default_}, int{value.memSyncDomainMap.remote});
  } else {
    world.Gave(value.priority);
  }
}

void SetAttribute(RuntimeWorld& world) {
  std::string name;
  std::string other;
  const cudaStream_t stream = StreamFor(world, &name);
  if (world.OneIn(4)) {
    const cudaStream_t from = StreamFor(world, &other);
    world.Say(cudaStreamCopyAttributes(stream, from), "cudaStreamCopyAttributes", name, other);
    return;
  }
  const int attribute = world.Of({1, 3, 3, 8, 8, 10, 10, 100});
  cudaStreamAttrValue value = {};
  switch (attribute) {
    case 1:  // of nothing: memory may be freed before the stream is
      value.accessPolicyWindow.hitRatio = world.Of({0.0f, 0.5f, 1.0f, 1.5f, -1.0f});
      value.accessPolicyWindow.hitProp =
          world.Of({cudaAccessPropertyNormal, cudaAccessPropertyPersisting});
      world.Say(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value),
                "cudaStreamSetAttribute", name, "window", value.accessPolicyWindow.hitRatio,
                int(value.accessPolicyWindow.hitProp));
      return;
    case 3:
      value.priority = world.Of({1, 2, 3, 4, 1, 4, 0, 5});
      break;
    case 8:
      value.priority = world.Of({0, -1, -3, -5, -8, 3});
      break;
    default:
      value.priority = world.Of({0, 1, 1, 2});
  }
  world.Say(cudaStreamSetAttribute(stream, static_cast<cudaStreamAttrID>(attribute), &value),
            "cudaStreamSetAttribute", name, attribute, value.priority);
}

void CallHost(RuntimeWorld& world) {
  std::string name;
  const cudaStream_t stream = StreamFor(world, &name);
  const size_t by = 1 + world.Below(9);
  const bool null = world.OneIn(6);
  void* const with = reinterpret_cast<void*>(by);
  if (world.OneIn(2)) {
    world.Say(cudaLaunchHostFunc(stream, null ? nullptr : Count, with), "cudaLaunchHostFunc", name,
              by, null);
  } else {
    const unsigned flags = world.OneIn(6) ? 1 : 0;
    world.Say(cudaStreamAddCallback(stream, null ? nullptr : Told, with, flags),
              "cudaStreamAddCallback", name, by, null, flags);
  }
  cudaDeviceSynchronize();
  world.Gave(calls.load());
}

}  // namespace

Steps StreamSteps() {
  return {{8, MakeStream},   {3, DestroyStream}, {12, AskStream},
          {6, GetAttribute}, {6, SetAttribute},  {5, CallHost}};
}

}  // namespace random_runtime
