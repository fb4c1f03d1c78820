// The bytes that a copy by a tensor map moves are those that an H200 moved.

#include "sim/ptx/tensors/tensor_box.h"

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/ptx/tensors/tensor_map.h"

namespace twinmmu::ptx {
namespace {

constexpr uint64_t kPiece = 16;

struct Copy {
  TensorMap map;
  TensorPlace place;
  bool loads = true;
};

const std::map<std::string, TensorElement> kElements = {
    {"u8", TensorElement::kU8},   {"u16", TensorElement::kU16}, {"u32", TensorElement::kU32},
    {"s32", TensorElement::kS32}, {"u64", TensorElement::kU64}, {"f16", TensorElement::kF16},
    {"f32", TensorElement::kF32}, {"f64", TensorElement::kF64}, {"bf16", TensorElement::kBf16}};

// "load tiles u32 interleave 16 swizzle 0 dims 16 5 6 strides 60 3e0 box 4 2 2 ..."
Copy Read(const std::string& line) {
  std::istringstream words(line);
  std::string form, mode, element, word;
  words >> form >> mode >> element;
  std::map<std::string, std::vector<int64_t>> numbers;
  std::string key;
  while (words >> word) {
    const bool is_number = word.find_first_not_of("-0123456789abcdef") == std::string::npos;
    if (is_number && !numbers.empty()) {
      numbers[key].push_back(std::stoll(word, nullptr, key == "strides" ? 16 : 10));
    } else {
      numbers[key = word];
    }
  }
  Copy copy;
  TensorMap& map = copy.map;
  copy.loads = form == "load";
  map.im2col = mode == "im2col";
  map.element = kElements.at(element);
  map.interleave = static_cast<TensorInterleave>(numbers["interleave"][0] / 16);
  for (int64_t span = numbers["swizzle"][0]; span >= 32; span /= 2) {
    map.swizzle = static_cast<TensorSwizzle>(static_cast<int>(map.swizzle) + 1);
  }
  map.fills_with_nan = numbers.count("nan") != 0;
  map.rank = static_cast<uint32_t>(numbers["dims"].size());
  for (uint32_t i = 0; i < map.rank; ++i) {
    map.dims[i] = static_cast<uint64_t>(numbers["dims"][i]);
    map.steps[i] = static_cast<uint32_t>(numbers["steps"][i]);
    copy.place.coordinates[i] = static_cast<int32_t>(numbers["at"][i]);
    if (i > 0) map.strides[i - 1] = static_cast<uint64_t>(numbers["strides"][i - 1]);
    if (!map.im2col) map.box[i] = static_cast<uint32_t>(numbers["box"][i]);
    if (!map.im2col || i + 2 >= map.rank) continue;
    map.lower[i] = static_cast<int32_t>(numbers["lower"][i]);
    map.upper[i] = static_cast<int32_t>(numbers["upper"][i]);
    copy.place.offsets[i] = static_cast<uint16_t>(numbers["offsets"][i]);
  }
  if (map.im2col) map.box[0] = static_cast<uint32_t>(numbers["channels"][0]);
  if (map.im2col) map.pixels = static_cast<uint32_t>(numbers["pixels"][0]);
  return copy;
}

// What the file says of each 16 bytes of shared memory.
std::vector<std::string> Pieces(const Copy& copy, size_t count) {
  if (WhyNoBox(copy.map, copy.place, copy.loads) != nullptr) return {"illegal"};
  const TensorBox box = BoxOf(copy.map, copy.place, copy.loads);
  std::vector<std::string> pieces(count, "-");
  for (const TensorRun& run : box.runs) {
    for (uint64_t at = 0; at < run.size; at += kPiece) {
      const uint64_t piece = (run.shared + at) / kPiece;
      if (piece >= pieces.size()) pieces.resize(piece + 1, "beyond");
      std::ostringstream address;
      address << std::hex << run.global + at;
      pieces[piece] = run.inside ? address.str() : copy.map.fills_with_nan ? "nan" : "0";
    }
  }
  return pieces;
}

// Each copy of the recording moves the same bytes, or is as illegal.
TEST(TensorBoxTest, MovesWhatAnH200Moved) {
  std::ifstream file("sim/ptx/tensors/testdata/h200_tensor_copies.txt");
  int copies = 0;
  for (std::string line; std::getline(file, line);) {
    if (line[0] == '#') continue;
    ++copies;
    const size_t equals = line.find(" = ");
    std::istringstream moved(line.substr(equals + 3));
    std::vector<std::string> expected;
    for (std::string piece; moved >> piece;) expected.push_back(piece);
    const Copy copy = Read(line.substr(0, equals));
    EXPECT_EQ(Pieces(copy, expected.size()), expected) << line;
  }
  EXPECT_GT(copies, 500);
}

}  // namespace
}  // namespace twinmmu::ptx
