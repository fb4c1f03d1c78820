// What pointers say of themselves: one attribute, several at once, and the one that can be set.

#include <cstring>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {
namespace {

constexpr uint64_t kUnwritten = 0x7777777777777777u;

enum class Kind { kOfDevice, kOfHost, kRegistered, kReserved, kUnknown };

struct Place {
  CUdeviceptr address;
  std::string words;
  Kind kind;
  bool has_its_own_chunks = false;  // so that where they begin is no matter of luck
};

Place At(const RandomBlock& block, size_t offset, Kind kind) {
  return {block.base + offset, block.name + "+" + std::to_string(offset), kind,
          kind == Kind::kOfDevice && block.size >= kChunk};
}

Place AnyPlace(ProgramWorld& world) {
  static int on_the_host = 0;
  const size_t which = world.Below(10);
  if (which < 4 && !world.blocks.empty()) {
    const RandomBlock& block = world.OneBlock();
    return At(block, world.OneIn(2) ? 0 : world.Below(block.size), Kind::kOfDevice);
  }
  if (which < 6 && !world.pinned.empty()) {
    const auto& pinned = world.One(world.pinned);
    if (!pinned.kind.empty()) {
      const RandomBlock block = {pinned.name, AddressOf(pinned.handle), std::stoul(pinned.kind)};
      return At(block, world.Below(block.size), Kind::kOfHost);
    }
  }
  if (which < 7 && !world.registered.empty()) {
    const RandomBlock& block = world.registered[world.Below(world.registered.size())];
    return At(block, world.Below(block.size), Kind::kRegistered);
  }
  if (which < 9 && !world.reservations.empty()) {
    const auto& range = world.One(world.reservations);
    const RandomBlock block = {range.name, range.handle, std::stoul(range.kind) * kChunk};
    const size_t chunk = world.Below(std::stoul(range.kind));
    return At(block, chunk * kChunk + (world.OneIn(2) ? 0 : world.Below(kChunk)), Kind::kReserved);
  }
  if (world.OneIn(2)) return {AddressOf(&on_the_host), "a variable", Kind::kUnknown};
  return {0, "null", Kind::kUnknown};
}

// Neither tokens nor identities that nobody could name.
CUpointer_attribute AnyAttribute(ProgramWorld& world) {
  return static_cast<CUpointer_attribute>(
      world.Of({1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}));
}

// An answer in words that are the same in each process.
std::string WordsFor(const ProgramWorld& world, CUpointer_attribute attribute, uint64_t value,
                     const Place& place) {
  if (value == kUnwritten) return "unwritten";
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return value == 0 ? "none" : value == AddressOf(world.context) ? "current" : "another";
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return value == 0 ? "none" : "some";
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      // Small pieces lie anywhere in their chunk.
      if (!place.has_its_own_chunks && place.kind != Kind::kReserved &&
          place.kind != Kind::kRegistered) {
        return "aligned " + std::to_string(value % 4096 == 0);
      }
      [[fallthrough]];
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return value == 0 ? "none" : std::to_string(static_cast<int64_t>(value - place.address));
    default:
      return std::to_string(value);
  }
}

bool IsInt(CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return true;
    default:
      return false;
  }
}

uint64_t ValueOf(CUpointer_attribute attribute, uint64_t written) {
  const bool is_int = IsInt(attribute) && written != kUnwritten;
  return is_int ? static_cast<uint32_t>(written) : written;
}

void AskOne(ProgramWorld& world) {
  const Place place = AnyPlace(world);
  CUpointer_attribute attribute = AnyAttribute(world);
  if (world.OneIn(15)) attribute = static_cast<CUpointer_attribute>(world.Of({0, 22, 99, -1}));
  uint64_t value = kUnwritten;
  if (world.Say(cuPointerGetAttribute(&value, attribute, place.address), "cuPointerGetAttribute",
                int(attribute), place.words)) {
    world.Gave(WordsFor(world, attribute, ValueOf(attribute, value), place));
  }
}

void AskSeveral(ProgramWorld& world) {
  constexpr size_t kMost = 5;
  const Place place = AnyPlace(world);
  const size_t count = world.OneIn(15) ? 0 : 1 + world.Below(kMost);
  CUpointer_attribute attributes[kMost] = {};
  uint64_t values[kMost];
  void* places[kMost];
  std::string words;
  for (size_t i = 0; i < kMost; ++i) {
    attributes[i] = AnyAttribute(world);
    if (world.OneIn(40)) attributes[i] = static_cast<CUpointer_attribute>(99);
    values[i] = kUnwritten;
    places[i] = &values[i];
    if (i < count) words += std::to_string(int(attributes[i])) + " ";
  }
  if (!world.Say(
          cuPointerGetAttributes(static_cast<unsigned>(count), attributes, places, place.address),
          "cuPointerGetAttributes", words, place.words)) {
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    world.Gave(WordsFor(world, attributes[i], ValueOf(attributes[i], values[i]), place));
  }
}

void Set(ProgramWorld& world) {
  const Place place = AnyPlace(world);
  const auto attribute =
      world.OneIn(6) ? CU_POINTER_ATTRIBUTE_MAPPED : CU_POINTER_ATTRIBUTE_SYNC_MEMOPS;
  const int value = world.Of({1, 1, 0});
  world.Say(cuPointerSetAttribute(&value, attribute, place.address), "cuPointerSetAttribute",
            int(attribute), value, place.words);
}

void AskForRange(ProgramWorld& world) {
  const Place place = AnyPlace(world);
  CUdeviceptr base = 0;
  size_t size = 0;
  const size_t wanted = world.Below(4);  // 0: not the size, 1: not the base
  if (!world.Say(cuMemGetAddressRange(wanted == 1 ? nullptr : &base, wanted == 0 ? nullptr : &size,
                                      place.address),
                 "cuMemGetAddressRange", place.words, wanted)) {
    return;
  }
  if (wanted != 1) world.Gave(place.address - base);
  if (wanted != 0) world.Gave(size);
}

}  // namespace

RandomSteps PointerSteps() { return {{24, AskOne}, {12, AskSeveral}, {4, Set}, {8, AskForRange}}; }

}  // namespace twinmmu::abi
