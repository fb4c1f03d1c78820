// Variables of the program: where they are, and copies to them and from them.

#include <algorithm>

#include "conformance/runtime/memory_parts.h"
#include "conformance/runtime/runtime_world.h"

namespace random_runtime {
namespace {

__device__ unsigned char of_device[1000];
__device__ int one_number = 5;
__constant__ unsigned char constants[256] = {1, 2, 3};
__managed__ unsigned char for_all[300];

struct Variable {
  const void* symbol;
  const char* name;
  size_t size;
};

Variable AnyVariable(RuntimeWorld& world) {
  if (world.OneIn(12)) return {"unknown", "unknown", 4};
  return world.Of<Variable>({{of_device, "of_device", sizeof(of_device)},
                             {&one_number, "one_number", sizeof(one_number)},
                             {constants, "constants", sizeof(constants)},
                             {for_all, "for_all", sizeof(for_all)}});
}

void AskWhere(RuntimeWorld& world) {
  const Variable variable = AnyVariable(world);
  void* address = nullptr;
  if (world.OneIn(2)) {
    size_t size = 0;
    if (world.Say(cudaGetSymbolSize(&size, variable.symbol), "cudaGetSymbolSize", variable.name)) {
      world.Gave(size);
    }
    return;
  }
  const bool is_none = world.OneIn(12);
  if (!world.Say(cudaGetSymbolAddress(&address, is_none ? nullptr : variable.symbol),
                 "cudaGetSymbolAddress", is_none ? "null" : variable.name)) {
    return;
  }
  world.Gave(address != nullptr);
  cudaPointerAttributes found = {};
  if (world.Say(cudaPointerGetAttributes(&found, address), "cudaPointerGetAttributes",
                variable.name)) {
    world.Gave(int(found.type), found.device, found.devicePointer == address,
               found.hostPointer == address);
  }
}

struct Span {
  size_t offset;
  size_t size;
};

// Of the variable, or past its end.
Span AnySpan(RuntimeWorld& world, const Variable& variable) {
  const size_t offset = world.OneIn(2) ? 0 : world.Below(variable.size);
  if (world.OneIn(10)) return {offset, variable.size + 1};
  return {offset, world.OneIn(12) ? 0 : 1 + world.Below(variable.size - offset)};
}

cudaMemcpyKind KindLike(RuntimeWorld& world, cudaMemcpyKind right) {
  if (world.OneIn(4)) return cudaMemcpyDefault;
  return world.OneIn(6) ? static_cast<cudaMemcpyKind>(world.Of({0, 1, 2, 3, 77})) : right;
}

void CopyTo(RuntimeWorld& world) {
  const Variable variable = AnyVariable(world);
  const Span span = AnySpan(world, variable);
  const MemoryPart from = AnyPart(world, 0);
  if (from.size < span.size) return;
  if (from.is_pageable) FillPageable(world, 0);
  const cudaMemcpyKind kind =
      KindLike(world, from.is_pageable ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToDevice);
  const cudaStream_t stream = SomeStream(world);
  const bool waits = world.OneIn(2);
  world.Say(waits ? cudaMemcpyToSymbol(variable.symbol, from.base, span.size, span.offset, kind)
                  : cudaMemcpyToSymbolAsync(variable.symbol, from.base, span.size, span.offset,
                                            kind, stream),
            waits ? "cudaMemcpyToSymbol" : "cudaMemcpyToSymbolAsync", variable.name, from.words,
            span.size, span.offset, int(kind), StreamName(world, stream));
}

void CopyFrom(RuntimeWorld& world) {
  const Variable variable = AnyVariable(world);
  const Span span = AnySpan(world, variable);
  const MemoryPart to = AnyPart(world, 1);
  if (to.size < span.size) return;
  const cudaMemcpyKind kind =
      KindLike(world, to.is_pageable ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice);
  const cudaStream_t stream = SomeStream(world);
  const bool waits = world.OneIn(2);
  world.Say(waits ? cudaMemcpyFromSymbol(to.base, variable.symbol, span.size, span.offset, kind)
                  : cudaMemcpyFromSymbolAsync(to.base, variable.symbol, span.size, span.offset,
                                              kind, stream),
            waits ? "cudaMemcpyFromSymbol" : "cudaMemcpyFromSymbolAsync", variable.name, to.words,
            span.size, span.offset, int(kind), StreamName(world, stream));
  GavePageable(world, to);
}

// Nothing runs by now, and so the CPU may read and write.
void UseFromCpu(RuntimeWorld& world) {
  if (world.OneIn(2)) {
    const size_t at = world.Below(sizeof(for_all));
    const size_t value = world.Below(256);
    for_all[at] = static_cast<unsigned char>(value);
    world.Say(cudaSuccess, "the CPU writes", "for_all", at, value);
  } else {
    world.Say(cudaSuccess, "the CPU reads", "for_all");
    world.Gave(HashOf(for_all, sizeof(for_all)));
  }
}

}  // namespace

Steps SymbolMemorySteps() { return {{4, AskWhere}, {8, CopyTo}, {8, CopyFrom}, {3, UseFromCpu}}; }

}  // namespace random_runtime
