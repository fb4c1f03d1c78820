// The linker: texts that name what others define, as one image.

#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "conformance/abi/abi_fixtures.h"
#include "gmock/gmock.h"

namespace twinmmu::abi {
namespace {

using ::testing::AnyOf;

constexpr CUresult kInvalidImage = CUDA_ERROR_INVALID_IMAGE;
constexpr int kPtx = 1;  // CU_JIT_INPUT_PTX
constexpr int kErrorLog = 5;
constexpr int kErrorLogBytes = 6;

const std::string kHeader = ".version 7.0\n.target sm_70\n.address_size 64\n";

// Writes helper(value), neither of which is in it.
const std::string kKernel = kHeader + R"(
.extern .func (.param .b32 result) helper(.param .b32 x);
.extern .global .align 4 .u32 value;
.visible .entry kernel(.param .u64 out) {
  .reg .b64 %d<2>;
  .reg .b32 %r<3>;
  ld.param.u64 %d1, [out];
  ld.global.u32 %r1, [value];
  { .param .b32 in; .param .b32 got;
    st.param.b32 [in], %r1;
    call.uni (got), helper, (in);
    ld.param.b32 %r2, [got]; }
  st.global.u32 [%d1], %r2;
  ret;
}
)";
const std::string kHelper = R"(
.visible .func (.param .b32 result) helper(.param .b32 x) {
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [x];
  mad.lo.s32 %r2, %r1, 100, 7;
  st.param.b32 [result], %r2;
  ret;
}
)";
const std::string kValue = ".visible .global .align 4 .u32 value = 5;\n";
const std::string kDefinitions = kHeader + kValue + kHelper;

using Create = Function<CUresult(unsigned, int*, void**, void**)>;
using AddData = Function<CUresult(void*, int, void*, size_t, const char*, unsigned, int*, void**)>;
using AddFile = Function<CUresult(void*, int, const char*, unsigned, int*, void**)>;
using Complete = Function<CUresult(void*, void**, size_t*)>;
using Destroy = Function<CUresult(void*)>;
using Load = Function<CUresult(void**, const void*)>;
using Unload = Function<CUresult(void*)>;
using GetFunction = Function<CUresult(void**, void*, const char*)>;
using Launch = Function<CUresult(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, CUstream, void**, void**)>;

class LinkingTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    int options[] = {kErrorLog, kErrorLogBytes};
    values_[0] = log_;
    values_[1] = reinterpret_cast<void*>(sizeof(log_));
    ASSERT_EQ(Create("cuLinkCreate_v2")(2, options, values_, &link_), CUDA_SUCCESS);
  }
  void TearDown() override {
    if (link_ != nullptr) {
      EXPECT_EQ(Destroy("cuLinkDestroy")(link_), CUDA_SUCCESS);
    }
    ContextTest::TearDown();
  }

  CUresult Add(std::string text, const char* name = "text") {
    return AddData("cuLinkAddData_v2")(link_, kPtx, &text[0], text.size() + 1, name, 0, nullptr,
                                       nullptr);
  }
  CUresult Link() {
    void* image = nullptr;
    size_t size = 0;
    const CUresult linked = Complete("cuLinkComplete")(link_, &image, &size);
    if (linked == CUDA_SUCCESS) {
      image_.assign(static_cast<char*>(image), static_cast<char*>(image) + size);
    }
    return linked;
  }
  // What the kernel of the image writes.
  unsigned int Run() {
    const Buffer word(4);
    CUdeviceptr at = word.address();
    void* arguments[] = {&at};
    void* module = nullptr;
    void* kernel = nullptr;
    unsigned int written = 0;
    EXPECT_EQ(Load("cuModuleLoadData")(&module, image_.data()), CUDA_SUCCESS);
    EXPECT_EQ(GetFunction("cuModuleGetFunction")(&kernel, module, "kernel"), CUDA_SUCCESS);
    EXPECT_EQ(Launch("cuLaunchKernel")(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr),
              CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyDtoH(&written, at, sizeof(written)), CUDA_SUCCESS);
    EXPECT_EQ(Unload("cuModuleUnload")(module), CUDA_SUCCESS);
    return written;
  }
  std::string Log() const { return log_; }

  void* link_ = nullptr;
  std::vector<char> image_;

 private:
  char log_[4096] = "";
  void* values_[2] = {};
};

TEST_F(LinkingTest, AKernelUsesWhatAnotherTextDefines) {
  ASSERT_EQ(Add(kKernel), CUDA_SUCCESS);
  ASSERT_EQ(Add(kDefinitions), CUDA_SUCCESS);
  ASSERT_EQ(Link(), CUDA_SUCCESS);
  EXPECT_EQ(Run(), 507u);
}
TEST_F(LinkingTest, TheOrderOfTheTextsDoesNotMatter) {
  ASSERT_EQ(Add(kDefinitions), CUDA_SUCCESS);
  ASSERT_EQ(Add(kKernel), CUDA_SUCCESS);
  ASSERT_EQ(Link(), CUDA_SUCCESS);
  EXPECT_EQ(Run(), 507u);
}

TEST_F(LinkingTest, ATextEndsAtItsEndWhateverItsSizeIsSaidToBe) {
  std::string text = kKernel;
  EXPECT_EQ(
      AddData("cuLinkAddData_v2")(link_, kPtx, &text[0], ~size_t{0}, "text", 0, nullptr, nullptr),
      CUDA_SUCCESS);
  ASSERT_EQ(Add(kDefinitions), CUDA_SUCCESS);
  ASSERT_EQ(Link(), CUDA_SUCCESS);
  EXPECT_EQ(Run(), 507u);
}

TEST_F(LinkingTest, ACopyOfTheImageOutlivesTheLink) {
  ASSERT_EQ(Add(kKernel), CUDA_SUCCESS);
  ASSERT_EQ(Add(kDefinitions), CUDA_SUCCESS);
  ASSERT_EQ(Link(), CUDA_SUCCESS);
  ASSERT_EQ(Destroy("cuLinkDestroy")(link_), CUDA_SUCCESS);
  link_ = nullptr;
  EXPECT_EQ(Run(), 507u);
}

TEST_F(LinkingTest, WhatIsPrivateToATextStaysApart) {
  const std::string own = ".global .align 4 .u32 own = ";
  std::string helper = kHelper;
  helper.replace(helper.find("100, 7"), 6, "100, %r3");
  helper.replace(helper.find("mad"), 0, "ld.global.u32 %r3, [own];\n");
  helper.replace(helper.find("%r<3>"), 5, "%r<4>");
  ASSERT_EQ(Add(kKernel + own + "1;\n"), CUDA_SUCCESS);
  ASSERT_EQ(Add(kHeader + own + "9;\n" + kValue + helper), CUDA_SUCCESS);
  ASSERT_EQ(Link(), CUDA_SUCCESS);
  EXPECT_EQ(Run(), 509u);
}

// What stands for a symbol that is missing, or there twice; after certain other failures in the
// process, UNKNOWN.
auto IsLinkFailure() { return AnyOf(static_cast<CUresult>(300), CUDA_ERROR_UNKNOWN); }

TEST_F(LinkingTest, AFunctionThatIsNowhereDefinedIsNamed) {
  ASSERT_EQ(Add(kKernel, "first"), CUDA_SUCCESS);
  EXPECT_THAT(Link(), IsLinkFailure());
  EXPECT_NE(Log().find("helper"), std::string::npos) << Log();
  EXPECT_NE(Log().find("value"), std::string::npos) << Log();
  EXPECT_EQ(Add(kDefinitions), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(Link(), IsLinkFailure());
}

TEST_F(LinkingTest, AVariableThatIsNotUsedMustBeDefined) {
  ASSERT_EQ(Add(kHeader + ".extern .global .align 4 .u32 nowhere;\n"
                          ".visible .entry kernel(.param .u64 out) { ret; }\n"),
            CUDA_SUCCESS);
  EXPECT_THAT(Link(), IsLinkFailure());
  EXPECT_NE(Log().find("nowhere"), std::string::npos) << Log();
}

TEST_F(LinkingTest, ASymbolThatIsThereTwiceIsNamedWhenItIsAdded) {
  ASSERT_EQ(Add(kDefinitions, "first"), CUDA_SUCCESS);
  EXPECT_THAT(Add(kDefinitions, "second"), IsLinkFailure());
  EXPECT_NE(Log().find("helper"), std::string::npos) << Log();
  EXPECT_NE(Log().find("second"), std::string::npos) << Log();
  EXPECT_THAT(Link(), IsLinkFailure());
}

TEST_F(LinkingTest, AVariableHasOneSizeAndOneSpace) {
  for (const char* other : {".visible .global .align 8 .u64 value = 5;\n",
                            ".visible .const .align 4 .u32 value = 5;\n"}) {
    TearDown();
    SetUp();
    ASSERT_EQ(Add(kKernel), CUDA_SUCCESS);
    EXPECT_THAT(Add(kHeader + other + kHelper), IsLinkFailure());
    EXPECT_NE(Log().find("value"), std::string::npos) << Log();
  }
}

TEST_F(LinkingTest, AWeakVariableGivesWay) {
  std::string kernel = kKernel;
  const std::string declaration = ".extern .global .align 4 .u32 value;";
  kernel.replace(kernel.find(declaration), declaration.size(),
                 ".weak .global .align 4 .u32 value = 9;");
  ASSERT_EQ(Add(kernel), CUDA_SUCCESS);
  ASSERT_EQ(Add(kDefinitions), CUDA_SUCCESS);
  ASSERT_EQ(Link(), CUDA_SUCCESS);
  EXPECT_EQ(Run(), 507u);
}

TEST_F(LinkingTest, ATextThatIsRefusedChangesNothing) {
  EXPECT_EQ(Add(kHeader + "nonsense"), CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(Log().find("nonsense"), std::string::npos) << Log();
  EXPECT_EQ(Add("hello"), kInvalidImage);
  EXPECT_EQ(Add(".version 99.0\n.target sm_70\n.address_size 64\n"),
            CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  ASSERT_EQ(Add(kKernel), CUDA_SUCCESS);
  ASSERT_EQ(Add(kDefinitions), CUDA_SUCCESS);
  ASSERT_EQ(Link(), CUDA_SUCCESS);
  EXPECT_EQ(Run(), 507u);
  EXPECT_NE(Log().find("nonsense"), std::string::npos) << Log();
}

TEST_F(LinkingTest, ALinkIsCompletedOnce) {
  ASSERT_EQ(Add(kKernel), CUDA_SUCCESS);
  ASSERT_EQ(Add(kDefinitions), CUDA_SUCCESS);
  ASSERT_EQ(Link(), CUDA_SUCCESS);
  EXPECT_EQ(Link(), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Add(kHeader), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Run(), 507u);
}

TEST_F(LinkingTest, WhatIsLinkedIsNotLinkedAgain) {
  constexpr int kMachineCode = 0;
  constexpr auto kNoBinaryForGpu = static_cast<CUresult>(209);
  ASSERT_EQ(Add(kKernel), CUDA_SUCCESS);
  ASSERT_EQ(Add(kDefinitions), CUDA_SUCCESS);
  ASSERT_EQ(Link(), CUDA_SUCCESS);
  std::vector<char> image = image_;
  TearDown();
  SetUp();
  EXPECT_EQ(AddData("cuLinkAddData_v2")(link_, kMachineCode, image.data(), image.size(), "n", 0,
                                        nullptr, nullptr),
            kNoBinaryForGpu);
  EXPECT_EQ(Link(), kNoBinaryForGpu);
}

TEST_F(LinkingTest, ObjectFilesAndLibrariesHaveTheirFormats) {
  constexpr int kObject = 3;
  constexpr int kLibrary = 4;
  std::string text = kDefinitions;
  for (const int type : {kObject, kLibrary}) {
    EXPECT_EQ(AddData("cuLinkAddData_v2")(link_, type, &text[0], text.size() + 1, "n", 0, nullptr,
                                          nullptr),
              CUDA_ERROR_UNKNOWN);
  }
  EXPECT_EQ(Link(), CUDA_SUCCESS);
}

TEST_F(LinkingTest, ALinkOfNothingIsAnImage) {
  size_t size = 0;
  EXPECT_EQ(Complete("cuLinkComplete")(link_, nullptr, &size), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Link(), CUDA_SUCCESS);
  EXPECT_FALSE(image_.empty());
}

TEST_F(LinkingTest, WhatIsNoInputIsRefused) {
  const AddData add("cuLinkAddData_v2");
  char text[] = "text";
  EXPECT_EQ(add(link_, kPtx, nullptr, 4, "n", 0, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add(link_, kPtx, text, 0, "n", 0, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add(link_, -1, text, 4, "n", 0, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add(link_, 99, text, 4, "n", 0, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add(link_, kPtx, text, 4, "n", 1, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LinkingTest, AFileIsAddedByItsName) {
  const AddFile add("cuLinkAddFile_v2");
  EXPECT_EQ(add(link_, kPtx, "/nonexistent", 0, nullptr, nullptr), CUDA_ERROR_FILE_NOT_FOUND);
  EXPECT_EQ(add(link_, kPtx, nullptr, 0, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  const std::string path = testing::TempDir() + "linked_" + std::to_string(getpid()) + ".ptx";
  std::ofstream(path) << kDefinitions;
  EXPECT_EQ(add(link_, kPtx, path.c_str(), 0, nullptr, nullptr), CUDA_SUCCESS);
  unlink(path.c_str());
  ASSERT_EQ(Add(kKernel), CUDA_SUCCESS);
  ASSERT_EQ(Link(), CUDA_SUCCESS);
  EXPECT_EQ(Run(), 507u);
}

TEST_F(LinkingTest, OnlyTheFirstCallNeedsAContext) {
  void* other = nullptr;
  EmptyStack();
  EXPECT_EQ(Create("cuLinkCreate_v2")(0, nullptr, nullptr, &other), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(Add(kKernel), CUDA_SUCCESS);
  EXPECT_EQ(Add(kDefinitions), CUDA_SUCCESS);
  EXPECT_EQ(Link(), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxPushCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(Run(), 507u);
}

TEST_F(LinkingTest, ThereIsNoLinkThatIsNull) {
  void* image = nullptr;
  size_t size = 0;
  char text[] = "text";
  EXPECT_EQ(AddData("cuLinkAddData_v2")(nullptr, kPtx, text, 4, "n", 0, nullptr, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(AddFile("cuLinkAddFile_v2")(nullptr, kPtx, "/dev/null", 0, nullptr, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Complete("cuLinkComplete")(nullptr, &image, &size), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Destroy("cuLinkDestroy")(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Create("cuLinkCreate_v2")(0, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LinkingTest, OptionsAreThoseThatThereAre) {
  void* other = nullptr;
  int option = 999;
  void* value = nullptr;
  EXPECT_EQ(Create("cuLinkCreate_v2")(1, &option, &value, &other), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Create("cuLinkCreate_v2")(1, nullptr, nullptr, &other), CUDA_ERROR_INVALID_VALUE);
  option = kErrorLog;  // without its size
  EXPECT_EQ(Create("cuLinkCreate_v2")(1, &option, &value, &other), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace twinmmu::abi
