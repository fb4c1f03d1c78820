// All that textures of each format give for some thousand coordinates, and what formatted stores
// leave in surfaces, is what an H200 gave. h200_texture_values.inc has the hashes; a test that
// fails says what it should have, so a run on a GPU records them again.

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "conformance/abi/textures/texture_fixture.h"

namespace twinmmu::abi {
namespace {

const std::map<std::string, uint64_t>& Recorded() {
  static const auto* const recorded = new std::map<std::string, uint64_t>{
#define TWINMMU_TEXTURE_VALUES(name, hash) {name, hash},
#include "conformance/abi/textures/h200_texture_values.inc"
#undef TWINMMU_TEXTURE_VALUES
  };
  return *recorded;
}

struct Elements {
  int format;  // CUarray_format
  unsigned int channels;
  size_t bytes;  // of a channel
};
constexpr int kHalf = 0x10;
constexpr int kFloat = 0x20;
constexpr int kPacked = 0x50;  // UNORM_INT_101010_2
constexpr int kUnorm8x1 = 0xc0;
constexpr int kSnorm16x4 = 0xcb;

std::vector<Elements> AllElements() {
  std::vector<Elements> all;
  for (const auto& [format, bytes] : std::map<int, size_t>{
           {1, 1}, {2, 2}, {3, 4}, {8, 1}, {9, 2}, {10, 4}, {kHalf, 2}, {kFloat, 4}}) {
    for (const unsigned int channels : {1u, 2u, 4u}) all.push_back({format, channels, bytes});
  }
  for (int format = kUnorm8x1; format <= kSnorm16x4; ++format) {
    const int index = format - kUnorm8x1;
    all.push_back({format, 1u << index % 3, index / 3 % 2 == 0 ? size_t{1} : 2});
  }
  all.push_back({kPacked, 4, 1});
  return all;
}

class Numbers {
 public:
  explicit Numbers(uint32_t seed) : last_(seed) {}
  uint32_t Next() {
    last_ = last_ * 1664525 + 1013904223;
    return last_ >> 8;
  }

 private:
  uint32_t last_;
};

uint64_t HashOf(const void* data, size_t size, uint64_t hash = 0xcbf29ce484222325) {
  const auto* const bytes = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}

// Numbers of ordinary size where they are floats.
std::vector<uint8_t> RandomElements(const Elements& elements, size_t count) {
  Numbers numbers(77 + static_cast<uint32_t>(elements.format));
  std::vector<uint8_t> bytes(count * elements.channels * elements.bytes);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(numbers.Next());
  for (size_t at = 0; elements.format == kHalf && at < bytes.size(); at += 2) {
    const auto half = static_cast<uint16_t>(numbers.Next() & 0xbfff);
    std::memcpy(&bytes[at], &half, sizeof(half));
  }
  for (size_t at = 0; elements.format == kFloat && at < bytes.size(); at += 4) {
    const float value = (static_cast<float>(numbers.Next()) - 8000000) / 1024;
    std::memcpy(&bytes[at], &value, sizeof(value));
  }
  return bytes;
}

class TextureValuesTest : public TextureTest, public testing::WithParamInterface<Elements> {
 protected:
  std::string Name(const std::string& what) const {
    char text[64];
    std::snprintf(text, sizeof(text), "%s %02x/%u", what.c_str(), GetParam().format,
                  GetParam().channels);
    return text;
  }
  static void ExpectRecorded(const std::string& name, uint64_t hash) {
    char line[128];
    std::snprintf(line, sizeof(line), "TWINMMU_TEXTURE_VALUES(\"%s\", 0x%016" PRIx64 ")",
                  name.c_str(), hash);
    const auto found = Recorded().find(name);
    EXPECT_TRUE(found != Recorded().end() && found->second == hash) << line;
  }
  CUarray MakeRandom(size_t width, size_t height, unsigned int flags) {
    const std::vector<uint8_t> bytes =
        RandomElements(GetParam(), width * std::max<size_t>(height, 1));
    return MakeFilled<uint8_t>(bytes, width, height, 0,
                               static_cast<CUarray_format>(GetParam().format), GetParam().channels,
                               flags);
  }
  uint64_t Filtered(CUarray array, CUaddress_mode mode, unsigned int flags, uint64_t hash);
  // At places from 0 to `side` in each dimension.
  uint64_t HashOfReads(const std::string& read, CUtexObject texture, unsigned int side) {
    Numbers numbers(5);
    std::vector<Words> at(1024);
    const auto place = [&] { return static_cast<float>(numbers.Next() % (side * 1024)) / 1024; };
    for (Words& words : at) {
      const float x = place();
      const float y = place();
      words = Floats(x, y, place());
    }
    uint64_t hash = HashOf(nullptr, 0);
    for (const Words& words : Run(read, texture, at)) hash = HashOf(&words, sizeof(words), hash);
    return hash;
  }
};

// At places in and around the image.
uint64_t TextureValuesTest::Filtered(CUarray array, CUaddress_mode mode, unsigned int flags,
                                     uint64_t hash) {
  CUDA_TEXTURE_DESC sampling = Sampling(mode, CU_TR_FILTER_MODE_LINEAR, flags);
  const float border[] = {0.3f, -0.7f, 0.6f, 3.0f};
  std::memcpy(sampling.borderColor, border, sizeof(border));
  const CUtexObject texture = MakeTexture(ResourceOf(array), sampling);
  CUDA_ARRAY3D_DESCRIPTOR shape = {};
  EXPECT_EQ(cuArray3DGetDescriptor(&shape, array), CUDA_SUCCESS);
  Numbers numbers(5);
  std::vector<Words> at(1024);
  const auto place = [&] {
    const auto steps = static_cast<uint32_t>((shape.Width + 2) * 1024);
    return static_cast<float>(numbers.Next() % steps) / 1024 - 1;
  };
  for (Words& words : at) {
    const float x = place();
    words = Floats(x, place());
  }
  const char* const read = shape.Height == 0
                               ? "tex.1d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0}];"
                               : "tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1}];";
  for (const Words& words : Run(read, texture, at)) hash = HashOf(&words, sizeof(words), hash);
  return hash;
}

TEST_P(TextureValuesTest, FiltersAreThoseOfAnH200) {
  for (const unsigned int flags : {0, CU_TRSF_READ_AS_INTEGER, CU_TRSF_SRGB}) {
    uint64_t hash = HashOf(nullptr, 0);
    for (const size_t height : {0, 16}) {
      const CUarray array = MakeRandom(height == 0 ? 64 : 16, height, 0);
      hash = Filtered(array, CU_TR_ADDRESS_MODE_CLAMP, flags, hash);
      hash = Filtered(array, CU_TR_ADDRESS_MODE_BORDER, flags, hash);
    }
    ExpectRecorded(Name("filter flags " + std::to_string(flags)), hash);
  }
}

// Eight texels of two slices, and of two levels. Not of halves and sRGB, of which the simulator
// rounds some in another way.
class TextureSumsTest : public TextureValuesTest {};

std::vector<Elements> AllButHalves() {
  std::vector<Elements> elements = AllElements();
  elements.erase(std::remove_if(elements.begin(), elements.end(),
                                [](const Elements& one) { return one.format == kHalf; }),
                 elements.end());
  return elements;
}

constexpr unsigned int kReadings[] = {0, CU_TRSF_READ_AS_INTEGER};

TEST_P(TextureSumsTest, OfSlicesAreThoseOfAnH200) {
  constexpr size_t kSide = 8;
  const std::vector<uint8_t> bytes = RandomElements(GetParam(), kSide * kSide * kSide);
  const CUarray array =
      MakeFilled<uint8_t>(bytes, kSide, kSide, kSide,
                          static_cast<CUarray_format>(GetParam().format), GetParam().channels);
  for (const unsigned int flags : kReadings) {
    const CUtexObject texture = MakeTexture(
        ResourceOf(array), Sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, flags));
    ExpectRecorded(
        Name("slices flags " + std::to_string(flags)),
        HashOfReads("tex.3d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1, %f2, %f2}];", texture,
                    kSide));
  }
}

TEST_P(TextureSumsTest, OfLevelsAreThoseOfAnH200) {
  constexpr unsigned int kSide = 8;
  CUDA_ARRAY3D_DESCRIPTOR shape = {};
  shape.Width = shape.Height = kSide;
  shape.Format = static_cast<CUarray_format>(GetParam().format);
  shape.NumChannels = GetParam().channels;
  CUmipmappedArray mipmap = nullptr;
  ASSERT_EQ(cuMipmappedArrayCreate(&mipmap, &shape, 2), CUDA_SUCCESS);
  const std::vector<uint8_t> bytes = RandomElements(GetParam(), kSide * kSide);
  for (unsigned int level = 0; level < 2; ++level) {
    CUarray array = nullptr;
    ASSERT_EQ(cuMipmappedArrayGetLevel(&array, mipmap, level), CUDA_SUCCESS);
    Write(array, bytes.data(), (bytes.size() / kSide) >> level, kSide >> level);
  }
  for (const unsigned int flags : kReadings) {
    for (const CUfilter_mode filter : {CU_TR_FILTER_MODE_POINT, CU_TR_FILTER_MODE_LINEAR}) {
      CUDA_TEXTURE_DESC sampling =
          Sampling(CU_TR_ADDRESS_MODE_CLAMP, filter, flags | CU_TRSF_NORMALIZED_COORDINATES);
      sampling.mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR;
      sampling.maxMipmapLevelClamp = 1;
      ExpectRecorded(Name("levels flags " + std::to_string(flags) + " filter " +
                          std::to_string(static_cast<int>(filter))),
                     HashOfReads("tex.level.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%t, {%f0, %f1}], "
                                 "%f2;",
                                 MakeTexture(ResourceOf(mipmap), sampling), 1));
    }
  }
  EXPECT_EQ(cuMipmappedArrayDestroy(mipmap), CUDA_SUCCESS);
}

// Numbers around those where a store of fewer bits rounds or ends.
std::vector<Words> StoredWords() {
  constexpr float kFloats[] = {0,      -0.0f,  1,        -1,       0.5f,     -0.5f,    2,
                               -2,     1e-30f, 1e30f,    -1e30f,   1.5f,     65504,    65520,
                               65519,  1e-7f,  6e-8f,    3e-8f,    0.1f,     100,      127.5f,
                               -127.5, 255,    3.9999f,  -3.5f,    1e-5f,    1e-4f,    0.999999f,
                               0.1875, 0.8125, 0.00196f, 0.00197f, 0.49804f, 0.49806f, -0.49804f};
  constexpr uint32_t kWords[] = {
      1,          127,        128,        255,        256,        32767,      32768,
      65535,      65536,      0x7fffffff, 0x80000000, 0xffffffff, 0xffffff80, 0xffffff7f,
      0xffff8000, 0xffff7fff, 0x7f800000, 0x7fc00000, 0xff800000, 0x7f800001, 0xff801fff};
  std::vector<uint32_t> all(std::begin(kWords), std::end(kWords));
  for (const float value : kFloats) all.push_back(BitsOf(value));
  std::vector<Words> words(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t k = 0; k < 4; ++k) words[i][k] = all[(i + 5 * k) % all.size()];
  }
  return words;
}

TEST_P(TextureValuesTest, FormattedStoresAreThoseOfAnH200) {
  const std::vector<Words> words = StoredWords();
  const CUarray array = MakeRandom(words.size(), 0, CUDA_ARRAY3D_SURFACE_LDST);
  const CUsurfObject surface = MakeSurface(array);
  const size_t bytes = words.size() * GetParam().channels * GetParam().bytes;
  uint64_t hash = HashOf(nullptr, 0);
  for (const char* const store :
       {"sust.p.1d.b32.trap [%t, {%o0}], %x0;", "sust.p.1d.v2.b32.trap [%t, {%o0}], {%x0, %x1};",
        "sust.p.1d.v4.b32.trap [%t, {%o0}], {%x0, %x1, %x2, %x3};"}) {
    Run(std::string("mov.u32 %o0, %tid.x;\n") + store, surface, words);
    std::vector<uint8_t> stored(bytes);
    Read(array, stored.data(), bytes);
    hash = HashOf(stored.data(), bytes, hash);
  }
  ExpectRecorded(Name("store"), hash);
}

std::string NameOf(const testing::TestParamInfo<Elements>& elements) {
  return std::to_string(elements.param.format) + "x" + std::to_string(elements.param.channels);
}

INSTANTIATE_TEST_SUITE_P(Formats, TextureValuesTest, testing::ValuesIn(AllElements()), NameOf);
INSTANTIATE_TEST_SUITE_P(Formats, TextureSumsTest, testing::ValuesIn(AllButHalves()), NameOf);

}  // namespace
}  // namespace twinmmu::abi
