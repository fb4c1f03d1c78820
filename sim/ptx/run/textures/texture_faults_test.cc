// What kernels may do with objects, and where they fault. What textures give is tested on drivers,
// in conformance/abi/textures.

#include <memory>

#include "absl/strings/str_cat.h"
#include "sim/testing/test_grid.h"

namespace twinmmu::ptx {
namespace {

using ::testing::HasSubstr;

// Elements that are gone, as an array's are.
class GoneElements : public TexelMemory {
 public:
  bool gone() const override { return true; }
  char* ElementAt(uint32_t, uint64_t, const ArrayExtent&) const override { return nullptr; }
};

class TexturesTest : public GridTest {
 protected:
  // 8 floats in linear memory, `offset` bytes behind the first.
  static Image LinearAt(DeviceAddress address) {
    Image image;
    image.format = ArrayFormat::kFloat;
    image.dimensions = 1;
    image.extent = {8, 1, 1};
    image.address = address;
    return image;
  }
  uint64_t Add(const Image& image, bool surface = false) {
    const auto texture = std::make_shared<Texture>();
    texture->surface = surface;
    texture->image = image;
    texture->sampling.modes.fill(AddressMode::kClamp);
    return textures_->Add(texture);
  }
  static std::string ReadBy(uint64_t handle) {
    return absl::StrCat("mov.u64 %rd3, ", handle,
                        "; tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd3, {%r1}];\n"
                        "st.global.f32 [%rd2], %f1;");
  }
};

TEST_F(TexturesTest, EachLaneReadsItsTexel) {
  for (uint64_t i = 0; i < 8; ++i) Write<float>(64 + i, static_cast<float>(i) + 0.5f);
  RunKernel(ReadBy(Add(LinearAt(memory() + Bytes(256)))), 8);
  EXPECT_EQ(Read<float>(0), 0.5f);
  EXPECT_EQ(Read<float>(7), 7.5f);
}

TEST_F(TexturesTest, LinearMemoryThatIsNotMappedFaults) {
  EXPECT_EQ(FaultOf(ReadBy(Add(LinearAt(memory() + kGranule)))), GridFault::kIllegalAddress);
  EXPECT_EQ(fault_.address, memory() + kGranule);
  EXPECT_EQ(fault_.size, Bytes(4));
}

TEST_F(TexturesTest, AHandleOfNothingFaults) {
  FaultOf(ReadBy(77));
  EXPECT_THAT(fault_.words, HasSubstr("77 is no texture object"));
}

// Programs remove an object as soon as they have launched what reads it.
TEST_F(TexturesTest, OneThatIsRemovedBehindALaunchIsThereForIt) {
  for (uint64_t i = 0; i < 8; ++i) Write<float>(64 + i, static_cast<float>(i) + 0.5f);
  const uint64_t handle = Add(LinearAt(memory() + Bytes(256)));
  const std::shared_ptr<const Program> program = Load(Module(Kernel(ReadBy(handle))));
  ASSERT_NE(program, nullptr);
  const auto launched = [&] {
    return MakeGrid(program, Dim3{1, 1, 1}, Dim3{8, 1, 1}, {memory().value()});
  };
  const std::unique_ptr<Grid> before = launched();
  EXPECT_TRUE(textures_->Remove(handle));
  const std::unique_ptr<Grid> behind = launched();
  EXPECT_TRUE(textures_->Remove(Add(LinearAt(memory()))));
  EXPECT_EQ(before->Run(kEnough), Grid::State::kDone);
  EXPECT_EQ(Read<float>(7), 7.5f);
  EXPECT_EQ(behind->Run(kEnough), Grid::State::kFaulted);
}

TEST_F(TexturesTest, ASurfaceIsNoTexture) {
  const uint64_t handle = Add(LinearAt(memory()), /*surface=*/true);
  FaultOf(ReadBy(handle));
  EXPECT_THAT(fault_.words, HasSubstr("is no texture object"));
}

TEST_F(TexturesTest, AnArrayThatWasDestroyedFaults) {
  Image image = LinearAt(DeviceAddress(0));
  image.elements = std::make_shared<GoneElements>();
  FaultOf(ReadBy(Add(image)));
  EXPECT_THAT(fault_.words, HasSubstr("was destroyed"));
}

}  // namespace
}  // namespace twinmmu::ptx
