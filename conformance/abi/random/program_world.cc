#include "conformance/abi/random/program_world.h"

#include <algorithm>

namespace twinmmu::abi {

RandomBlock ProgramWorld::Part(size_t most) {
  const RandomBlock& block = OneBlock();
  const size_t offset = OneIn(2) ? 0 : Below(block.size) / 4 * 4;
  const size_t size = 1 + Below(std::min(most, block.size - offset));
  return {block.name + "+" + std::to_string(offset), block.base + offset,
          size > 4 ? size / 4 * 4 : size};
}

CUstream ProgramWorld::AnyStream() {
  return streams.empty() || OneIn(3) ? nullptr : One(streams).handle;
}

std::string ProgramWorld::NameOf(CUdeviceptr address) const {
  constexpr CUdeviceptr kSmall = 1 << 16;
  if (address < kSmall) return std::to_string(address);
  for (const RandomBlock& block : blocks) {
    if (address - block.base >= block.size) continue;
    return block.name + "+" + std::to_string(address - block.base);
  }
  return "unknown";
}

std::string ProgramWorld::AddBlock(CUdeviceptr base, size_t size) {
  blocks.push_back({"b" + std::to_string(++blocks_made_), base, size});
  return blocks.back().name;
}

void ProgramWorld::RemoveBlock(const std::string& name) {
  const auto is = [&](const RandomBlock& block) { return block.name == name; };
  blocks.erase(std::remove_if(blocks.begin(), blocks.end(), is), blocks.end());
}

}  // namespace twinmmu::abi
