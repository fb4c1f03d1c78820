// Streams and events.

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {
namespace {

void Create(ProgramWorld& world) {
  if (world.streams.size() > 5) return;
  const unsigned flags = world.Of({0u, 1u, 1u, 2u, 5u});
  const int priority = world.Of({0, -1, -5, -9, 3});
  CUstream stream = nullptr;
  const bool plain = world.OneIn(2);
  const bool made = plain ? world.Say(cuStreamCreate(&stream, flags), "cuStreamCreate", flags)
                          : world.Say(cuStreamCreateWithPriority(&stream, flags, priority),
                                      "cuStreamCreateWithPriority", flags, priority);
  if (made) world.Gave(world.streams.Add(stream));
}

void Destroy(ProgramWorld& world) {
  if (world.streams.empty()) return;
  const auto stream = world.One(world.streams);
  if (world.Say(cuStreamDestroy(stream.handle), "cuStreamDestroy", stream.name)) {
    world.streams.Remove(stream.name);
  }
}

void Ask(ProgramWorld& world) {
  const CUstream stream = world.AnyStream();
  const std::string name = world.streams.NameOf(stream);
  unsigned flags = 0;
  int priority = 0;
  CUcontext context = nullptr;
  switch (world.Below(5)) {
    case 0:
      if (world.Say(cuStreamGetFlags(stream, &flags), "cuStreamGetFlags", name)) world.Gave(flags);
      return;
    case 1:
      if (world.Say(cuStreamGetPriority(stream, &priority), "cuStreamGetPriority", name)) {
        world.Gave(priority);
      }
      return;
    case 2:
      if (world.Say(cuStreamGetCtx(stream, &context), "cuStreamGetCtx", name)) {
        world.Gave(context == world.context);
      }
      return;
    case 3:
      world.Say(cuStreamSynchronize(stream), "cuStreamSynchronize", name);
      return;
    default:
      world.Say(cuStreamQuery(stream), "cuStreamQuery", name);
  }
}

void CreateEvent(ProgramWorld& world) {
  if (world.events.size() > 5) return;
  const unsigned flags = world.Of({0u, 1u, 2u, 3u, 4u, 6u, 8u});
  CUevent event = nullptr;
  if (world.Say(cuEventCreate(&event, flags), "cuEventCreate", flags)) {
    world.Gave(world.events.Add(event, (flags & CU_EVENT_INTERPROCESS) != 0 ? kShared : ""));
  }
}

void DestroyEvent(ProgramWorld& world) {
  if (world.events.empty()) return;
  const auto event = world.One(world.events);
  if (world.Say(cuEventDestroy(event.handle), "cuEventDestroy", event.name)) {
    world.events.Remove(event.name);
  }
}

void UseEvent(ProgramWorld& world) {
  if (world.events.empty()) return;
  const auto& event = world.One(world.events);
  const auto& other = world.One(world.events);
  const CUstream stream = world.AnyStream();
  const std::string name = world.streams.NameOf(stream);
  float elapsed = 0;
  switch (world.Below(5)) {
    case 0:
    case 1:
      world.Say(cuEventRecord(event.handle, stream), "cuEventRecord", event.name, name);
      return;
    case 2:
      world.Say(cuStreamWaitEvent(stream, event.handle, world.Of({0u, 0u, 1u, 2u})),
                "cuStreamWaitEvent", name, event.name);
      return;
    case 3:
      world.Say(cuEventQuery(event.handle), "cuEventQuery", event.name);
      return;
    default:
      world.Say(cuEventElapsedTime(&elapsed, event.handle, other.handle), "cuEventElapsedTime",
                event.name, other.name);
  }
}

}  // namespace

RandomSteps StreamSteps() {
  return {{5, Create}, {3, Destroy}, {8, Ask}, {4, CreateEvent}, {2, DestroyEvent}, {10, UseEvent}};
}

}  // namespace twinmmu::abi
