#include "sim/ptx/text/fat_binary.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::ptx {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Values;

constexpr size_t kContainerHeader = 16;
// Places in the header of an entry.
constexpr size_t kHeaderBytes = 4;
constexpr size_t kBytes = 8;
constexpr size_t kCompressedBytes = 16;
constexpr size_t kDecompressedBytes = 56;

// Compiled from testdata/image.cu.
std::string Image(const std::string& name) {
  std::ifstream file("sim/ptx/testdata/" + name, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << name;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

template <typename T>
void Write(T value, size_t place, std::string* image) {
  std::memcpy(&(*image)[place], &value, sizeof value);
}

// In memory that ends with the image, so that ASan sees what reads beyond.
absl::StatusOr<std::string> PtxAtExactly(const std::string& image, int compute_capability) {
  const std::vector<char> exact(image.begin(), image.end());
  return PtxAt(exact.data(), compute_capability);
}

std::string MessageOf(const absl::StatusOr<std::string>& result) {
  return std::string(result.status().message());
}

class Packed : public testing::TestWithParam<const char*> {};

// PTX comes out of a fat binary however nvcc compresses it.
TEST_P(Packed, GivesPtx) {
  const std::string image = Image(absl::StrCat("image_", GetParam(), ".fatbin"));
  const absl::StatusOr<std::string> ptx = PtxIn(image, 89);
  ASSERT_THAT(ptx, IsOk());
  EXPECT_THAT(*ptx, AllOf(HasSubstr(".target sm_80"), HasSubstr(".entry Scale(")));
  EXPECT_EQ(ptx->substr(ptx->find_last_not_of('\n')), "}\n\n");
  EXPECT_EQ(*PtxAtExactly(image, 89), *ptx);
}

// No damage makes anything read where nothing is.
TEST_P(Packed, WithAnyByteDamagedGivesSomeAnswer) {
  const std::string image = Image(absl::StrCat("image_", GetParam(), ".fatbin"));
  for (size_t i = 0; i < image.size(); ++i) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string damaged = image;
      damaged[i] = static_cast<char>(damaged[i] ^ change);
      const bool size_is_trusted = i < kContainerHeader;
      const absl::StatusOr<std::string> ptx =
          size_is_trusted ? PtxIn(damaged, 90) : PtxAtExactly(damaged, 90);
      EXPECT_THAT(ptx.ok() ? *ptx : ".version", HasSubstr(".version"));
    }
  }
}

// A file that is cut off anywhere is no image.
TEST_P(Packed, CutOffAnywhereIsRefused) {
  const std::string image = Image(absl::StrCat("image_", GetParam(), ".fatbin"));
  for (size_t size = 0; size < image.size(); ++size) {
    const std::string cut = image.substr(0, size);
    const auto expected =
        size < 4 ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kDataLoss;
    ASSERT_THAT(PtxIn(cut, 90), StatusIs(expected)) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Packed, Values("plain", "lz4", "zstd", "default", "all"));

struct Choice {
  int compute_capability;
  const char* target;
};

class Chosen : public testing::TestWithParam<Choice> {};

// The best PTX for a device is that of the highest target it has; sm_90a is for 9.0 alone.
TEST_P(Chosen, IsTheBest) {
  const absl::StatusOr<std::string> ptx =
      PtxIn(Image("image_default.fatbin"), GetParam().compute_capability);
  ASSERT_THAT(ptx, IsOk());
  EXPECT_THAT(*ptx, HasSubstr(absl::StrCat(".target ", GetParam().target, "\n")));
}

INSTANTIATE_TEST_SUITE_P(All, Chosen,
                         Values(Choice{75, "sm_75"}, Choice{79, "sm_75"}, Choice{80, "sm_80"},
                                Choice{86, "sm_80"}, Choice{90, "sm_90a"}, Choice{100, "sm_80"}));

// What has machine code only is an image, but of no use here.
TEST(FatBinary, WithMachineCodeOnlyIsNotFound) {
  EXPECT_THAT(PtxIn(Image("image_machine_code.fatbin"), 90), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(PtxAtExactly(Image("image.cubin"), 90), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(PtxIn(Image("image.cubin"), 90), StatusIs(absl::StatusCode::kNotFound));
}

// The message says what there is.
TEST(FatBinary, WithPtxForNewerDevicesOnlyIsNotFound) {
  const absl::StatusOr<std::string> ptx = PtxIn(Image("image_newest.fatbin"), 90);
  EXPECT_THAT(ptx, StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(MessageOf(ptx),
              AllOf(HasSubstr("PTX for sm_100"), HasSubstr("machine code for sm_75"),
                    HasSubstr("no PTX for sm_90")));
}

// Machine code of the device is run as the PTX nearest above, which is of the same source; what the
// device does not run is no reason for that.
TEST(FatBinary, WithMachineCodeOfTheDeviceIsRunAsNewerPtx) {
  for (const int device : {80, 86, 90}) {
    const absl::StatusOr<std::string> ptx = PtxIn(Image("image_newer_ptx.fatbin"), device);
    ASSERT_THAT(ptx, IsOk()) << device;
    EXPECT_THAT(*ptx, HasSubstr(absl::StrCat(".target sm_", device, "\n")));
    EXPECT_EQ(absl::StrReplaceAll(*ptx, {{absl::StrCat("sm_", device), "sm_100"}}),
              *PtxIn(Image("image_newer_ptx.fatbin"), 100));
  }
  EXPECT_THAT(PtxIn(Image("image_newer_ptx.fatbin"), 75), StatusIs(absl::StatusCode::kNotFound));
}

// Text is taken as it is, up to its NUL, whatever comments it starts with.
TEST(PlainText, IsPtxIfItStartsWithVersion) {
  const char text[] = "\n // a\n/* .b */\t.version 7.5\n.target sm_75\n";
  EXPECT_THAT(PtxAt(text, 90), IsOkAndHolds(std::string(text)));
  EXPECT_THAT(PtxIn(absl::string_view(text, sizeof text), 90), IsOkAndHolds(std::string(text)));
  EXPECT_THAT(PtxIn(text, 90), IsOkAndHolds(std::string(text)));
}

class Rubbish : public testing::TestWithParam<const char*> {};

// Nothing is read beyond the first byte that shows that this is no image.
TEST_P(Rubbish, IsNoImage) {
  EXPECT_THAT(PtxAtExactly(std::string(GetParam()) + '\0', 90),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(PtxIn(GetParam(), 90), StatusIs(absl::StatusCode::kInvalidArgument));
}

INSTANTIATE_TEST_SUITE_P(All, Rubbish,
                         Values("", "x", "\x7f",
                                "\x7f"
                                "EL",
                                "P", "\x50\xed", "\xb1\x43\x62", "// only\n", "/* no end *", "/",
                                "  ", ".versio", ".target"));

// The wrapper of nvcc's object files points to the container.
struct Wrapper {
  uint32_t magic = 0x466243B1;
  uint32_t version = 1;
  const void* container = nullptr;
  const void* more = nullptr;
};

TEST(WrapperOfAFatBinary, LeadsToItsPtx) {
  const std::string image = Image("image_zstd.fatbin");
  const Wrapper wrapper{0x466243B1, 1, image.data(), nullptr};
  EXPECT_EQ(*PtxAt(&wrapper, 90), *PtxIn(image, 90));
}

// A null pointer, or one to something else, is not followed.
TEST(WrapperOfAFatBinary, WithoutOneIsNoImage) {
  const Wrapper empty;
  const Wrapper nested{0x466243B1, 1, &empty, nullptr};
  EXPECT_THAT(PtxAt(&empty, 90), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(PtxAt(&nested, 90), StatusIs(absl::StatusCode::kInvalidArgument));
}

// Each size in a header is held against what there is.
TEST(DamagedFatBinary, WithSizesThatDoNotFitIsDataLoss) {
  const std::string image = Image("image_zstd.fatbin");
  const auto expect_loss = [](const std::string& damaged, absl::string_view words) {
    const absl::StatusOr<std::string> ptx = PtxIn(damaged, 75);
    EXPECT_THAT(ptx, StatusIs(absl::StatusCode::kDataLoss)) << words;
    EXPECT_THAT(MessageOf(ptx), HasSubstr(std::string(words)));
  };
  std::string damaged = image;
  Write(~uint64_t{0}, 8, &damaged);
  expect_loss(damaged, "the fat binary takes 16 and 18446744073709551615 bytes");
  damaged = image;
  Write(uint16_t{15}, 6, &damaged);
  expect_loss(damaged, "the fat binary takes 15 and");
  damaged = image;
  Write(uint32_t{63}, kContainerHeader + kHeaderBytes, &damaged);
  expect_loss(damaged, "an entry of the fat binary takes 63 and");
  damaged = image;
  Write(~uint64_t{0}, kContainerHeader + kBytes, &damaged);
  expect_loss(damaged, "an entry of the fat binary takes 80 and 18446744073709551615 bytes");
  damaged = image;
  Write(~uint32_t{0}, kContainerHeader + kCompressedBytes, &damaged);
  expect_loss(damaged, "the compressed PTX takes 4294967295 bytes");
}

class Compressed : public testing::TestWithParam<const char*> {};

// What decompression says must be what the header says.
TEST_P(Compressed, ToAnotherSizeIsDataLoss) {
  const std::string image = Image(absl::StrCat("image_", GetParam(), ".fatbin"));
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{700}, uint64_t{5000}, uint64_t{1} << 27}) {
    std::string damaged = image;
    Write(bytes, kContainerHeader + kDecompressedBytes, &damaged);
    EXPECT_THAT(PtxIn(damaged, 75), StatusIs(absl::StatusCode::kDataLoss)) << bytes;
  }
}

// A header cannot ask for all memory.
TEST_P(Compressed, ToTooMuchIsResourceExhausted) {
  std::string damaged = Image(absl::StrCat("image_", GetParam(), ".fatbin"));
  Write(uint64_t{1} << 60, kContainerHeader + kDecompressedBytes, &damaged);
  EXPECT_THAT(PtxIn(damaged, 75), StatusIs(absl::StatusCode::kResourceExhausted));
}

INSTANTIATE_TEST_SUITE_P(All, Compressed, Values("lz4", "zstd"));

// PTX in a fat binary that is no PTX is damage.
TEST(DamagedFatBinary, WithOtherTextIsDataLoss) {
  std::string damaged = Image("image_plain.fatbin");
  damaged[damaged.find(".version")] = ',';
  EXPECT_THAT(PtxIn(damaged, 75), StatusIs(absl::StatusCode::kDataLoss));
}

// A container without entries is whole, but has nothing.
TEST(FatBinary, WithoutEntriesIsNotFound) {
  std::string image = Image("image_plain.fatbin");
  Write(uint64_t{0}, 8, &image);
  EXPECT_THAT(PtxIn(image, 90), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace twinmmu::ptx
