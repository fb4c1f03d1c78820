// Events.

#include "conformance/runtime/runtime_kernels.h"
#include "conformance/runtime/runtime_world.h"

namespace random_runtime {
namespace {

void MakeEvent(RuntimeWorld& world) {
  if (world.events.size() >= 6) return;
  cudaEvent_t event = nullptr;
  bool made = false;
  if (world.OneIn(3)) {
    const bool null = world.OneIn(6);
    made = world.Say(cudaEventCreate(null ? nullptr : &event), "cudaEventCreate", null);
  } else {
    const unsigned flags = world.Of({0u, 0u, 1u, 1u, 2u, 3u, 4u, 100u});
    made = world.Say(cudaEventCreateWithFlags(&event, flags), "cudaEventCreateWithFlags", flags);
  }
  if (made) world.Gave(world.events.Add(event));
}

void DestroyEvent(RuntimeWorld& world) {
  if (world.events.empty()) return;
  if (world.OneIn(6)) {
    world.Say(cudaEventDestroy(nullptr), "cudaEventDestroy", "none");
    return;
  }
  const Object<cudaEvent_t> event = world.One(world.events);
  if (world.Say(cudaEventDestroy(event.handle), "cudaEventDestroy", event.name)) {
    world.events.Remove(event.name);
  }
}

// One of those made, or none.
cudaEvent_t AnyEvent(RuntimeWorld& world, std::string* name) {
  const cudaEvent_t event =
      world.events.empty() || world.OneIn(10) ? nullptr : world.One(world.events).handle;
  *name = world.events.NameOf(event);
  return event;
}

void UseEvent(RuntimeWorld& world) {
  if (world.events.empty() && !world.OneIn(10)) return;
  std::string name;
  std::string other;
  std::string stream_name;
  const cudaEvent_t event = AnyEvent(world, &name);
  const cudaStream_t stream = StreamFor(world, &stream_name);
  const unsigned flags = world.Of({0u, 0u, 0u, 1u, 77u});
  float milliseconds = 0;
  switch (world.Below(8)) {
    case 0:
    case 1:
      world.Say(cudaEventRecord(event, stream), "cudaEventRecord", name, stream_name);
      return;
    case 2:
      world.Say(cudaEventRecordWithFlags(event, stream, flags), "cudaEventRecordWithFlags", name,
                stream_name, flags);
      return;
    case 3:
      world.Say(cudaEventQuery(event), "cudaEventQuery", name);
      return;
    case 4:
      world.Say(cudaEventSynchronize(event), "cudaEventSynchronize", name);
      return;
    case 5:
      world.Say(cudaStreamWaitEvent(stream, event, flags), "cudaStreamWaitEvent", stream_name, name,
                flags);
      return;
    default: {
      const cudaEvent_t end = AnyEvent(world, &other);
      const bool null = world.OneIn(10);
      world.Say(cudaEventElapsedTime(null ? nullptr : &milliseconds, event, end),
                "cudaEventElapsedTime", name, other, null);
    }
  }
}

}  // namespace

Steps EventSteps() { return {{6, MakeEvent}, {2, DestroyEvent}, {16, UseEvent}}; }

}  // namespace random_runtime
