// Options of calls that compile, and files of images.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/driver_under_test.h"
#include "gtest/gtest.h"

namespace twinmmu::abi {
namespace {

using LoadModule = Function<CUresult(void**, const void*, unsigned int, int*, void**)>;
using LoadLibrary =
    Function<CUresult(void**, const void*, int*, void**, unsigned int, int*, void**, unsigned int)>;
using CreateLink = Function<CUresult(unsigned int, int*, void**, void**)>;
using AddToLink =
    Function<CUresult(void*, int, const void*, size_t, const char*, unsigned int, int*, void**)>;
using AddFile = Function<CUresult(void*, int, const char*, unsigned int, int*, void**)>;
using Complete = Function<CUresult(void*, void**, size_t*)>;
using OfOne = Function<CUresult(void*)>;

constexpr char kCode[] = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry k() { ret; }
)";
constexpr char kNoImage[64] = "";
constexpr int kPtx = 1;
constexpr int kMachineCode = 0;

// CUjit_option.
constexpr int kMostRegisters = 0;
constexpr int kLog = 3;
constexpr int kLogBytes = 4;
constexpr int kErrorLogBytes = 6;
constexpr int kOptimization = 7;
constexpr int kTarget = 9;
constexpr int kFallback = 10;
constexpr int kCacheMode = 14;
constexpr int kForKepler = 15;
constexpr int kHostNames = 17;
constexpr int kUnusedVariables = 29;

class JitOptionsTest : public ContextTest {
 protected:
  using Options = std::vector<int>;
  using Values = std::vector<uintptr_t>;

  CUresult Load(Options options, Values values, const char* code = kCode) {
    std::vector<void*> given = Pointers(values);
    void* module = nullptr;
    const CUresult result = LoadModule("cuModuleLoadDataEx")(
        &module, code, static_cast<unsigned int>(options.size()), options.data(), given.data());
    if (result == CUDA_SUCCESS) {
      EXPECT_EQ(OfOne("cuModuleUnload")(module), CUDA_SUCCESS);
    }
    return result;
  }
  CUresult LoadFile(const char* name, Options options, Values values) {
    std::vector<void*> given = Pointers(values);
    void* library = nullptr;
    const CUresult result = LoadLibrary("cuLibraryLoadFromFile")(
        &library, name, options.data(), given.data(), static_cast<unsigned int>(options.size()),
        nullptr, nullptr, 0);
    if (result == CUDA_SUCCESS) {
      EXPECT_EQ(OfOne("cuLibraryUnload")(library), CUDA_SUCCESS);
    }
    return result;
  }
  // Of the link, or of what is added to it.
  CUresult Link(Options options, Values values) {
    std::vector<void*> given = Pointers(values);
    void* link = nullptr;
    const CUresult result = CreateLink("cuLinkCreate_v2")(static_cast<unsigned int>(options.size()),
                                                          options.data(), given.data(), &link);
    if (result == CUDA_SUCCESS) {
      EXPECT_EQ(OfOne("cuLinkDestroy")(link), CUDA_SUCCESS);
    }
    return result;
  }
  CUresult Add(Options options, Values values) {
    std::vector<void*> given = Pointers(values);
    void* const link = MakeLink();
    const CUresult result = AddToLink("cuLinkAddData_v2")(link, kPtx, kCode, sizeof(kCode), "code",
                                                          static_cast<unsigned int>(options.size()),
                                                          options.data(), given.data());
    EXPECT_EQ(OfOne("cuLinkDestroy")(link), CUDA_SUCCESS);
    return result;
  }
  static void* MakeLink() {
    void* link = nullptr;
    EXPECT_EQ(CreateLink("cuLinkCreate_v2")(0, nullptr, nullptr, &link), CUDA_SUCCESS);
    return link;
  }

 private:
  static std::vector<void*> Pointers(const Values& values) {
    std::vector<void*> pointers;
    for (const uintptr_t value : values) pointers.push_back(reinterpret_cast<void*>(value));
    return pointers;
  }
};

TEST_F(JitOptionsTest, ValuesThatCannotBeAreRefusedBeforeTheImageCounts) {
  for (const char* const code : {kCode, kNoImage}) {
    EXPECT_EQ(Load({kMostRegisters}, {0}, code), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(Load({kCacheMode}, {3}, code), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(Load({kTarget}, {1000}, code), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(Load({kMostRegisters}, {32}), CUDA_SUCCESS);
  EXPECT_EQ(Load({kCacheMode}, {2}), CUDA_SUCCESS);
  EXPECT_EQ(Load({kMostRegisters}, {32}, kNoImage), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(LoadFile("/no/such/file", {kMostRegisters}, {0}), CUDA_ERROR_FILE_NOT_FOUND);
}

TEST_F(JitOptionsTest, ListsThatAreNotWholeAreRefusedBeforeAFileIsRead) {
  std::string log(100, ' ');
  const auto at = reinterpret_cast<uintptr_t>(log.data());
  EXPECT_EQ(Load({kLog, kLogBytes}, {at, log.size()}), CUDA_SUCCESS);
  EXPECT_EQ(Load({kLog}, {at}), CUDA_ERROR_INVALID_VALUE) << "no size";
  EXPECT_EQ(Load({kLogBytes, kLog}, {log.size(), 0}), CUDA_ERROR_INVALID_VALUE) << "no log";
  for (const int alone : {kErrorLogBytes, kHostNames}) {
    EXPECT_EQ(Load({alone}, {0}), CUDA_ERROR_INVALID_VALUE) << alone;
    EXPECT_EQ(LoadFile("/no/such/file", {alone}, {0}), CUDA_ERROR_INVALID_VALUE) << alone;
    EXPECT_EQ(Link({alone}, {0}), CUDA_ERROR_INVALID_VALUE) << alone;
  }
  void* module = nullptr;
  EXPECT_EQ(LoadModule("cuModuleLoadDataEx")(&module, kCode, 1, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(JitOptionsTest, SomeMakePtxInvalid) {
  constexpr uintptr_t kNegative = uintptr_t{1} << 31;
  EXPECT_EQ(Load({kOptimization}, {1000}), CUDA_SUCCESS);
  EXPECT_EQ(Load({kOptimization}, {kNegative}), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(Load({kForKepler}, {0}), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(Load({kForKepler, kOptimization}, {0, 1}), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(Load({kTarget}, {0}), CUDA_ERROR_INVALID_IMAGE) << "no image is for that";
  EXPECT_EQ(Add({kOptimization}, {kNegative}), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(Add({kForKepler}, {0}), CUDA_SUCCESS);
}

TEST_F(JitOptionsTest, LinksAndTheirInputsDoNotTakeAll) {
  EXPECT_EQ(Load({kFallback}, {0}), CUDA_SUCCESS);
  EXPECT_EQ(Link({kFallback}, {0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Link({kTarget}, {0}), CUDA_SUCCESS);
  EXPECT_EQ(Link({kUnusedVariables}, {1}), CUDA_SUCCESS);
  for (const int of_link : {kFallback, kTarget, kUnusedVariables}) {
    EXPECT_EQ(Add({of_link}, {1}), CUDA_ERROR_INVALID_VALUE) << of_link;
  }
}

TEST_F(JitOptionsTest, MachineCodeThatIsNoneSpoilsALink) {
  void* const link = MakeLink();
  const AddToLink add("cuLinkAddData_v2");
  EXPECT_EQ(add(link, kMachineCode, kNoImage, sizeof(kNoImage), "none", 0, nullptr, nullptr),
            CUDA_ERROR_INVALID_IMAGE);
  void* image = nullptr;
  size_t size = 0;
  EXPECT_EQ(Complete("cuLinkComplete")(link, &image, &size), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(OfOne("cuLinkDestroy")(link), CUDA_SUCCESS);
}

// A driver takes the size of a directory for that of an image.
TEST_F(JitOptionsTest, FilesWithoutAName) {
  void* const link = MakeLink();
  const AddFile add("cuLinkAddFile_v2");
  EXPECT_EQ(add(link, kPtx, "", 0, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add(link, kPtx, "/", 0, nullptr, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(add(link, kPtx, "/no/such/file", 0, nullptr, nullptr), CUDA_ERROR_FILE_NOT_FOUND);
  EXPECT_EQ(OfOne("cuLinkDestroy")(link), CUDA_SUCCESS);
  EXPECT_EQ(LoadFile("", {}, {}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(LoadFile("/", {}, {}), CUDA_ERROR_OUT_OF_MEMORY);
}

}  // namespace
}  // namespace twinmmu::abi
