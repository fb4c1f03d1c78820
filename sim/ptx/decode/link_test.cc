#include "sim/ptx/decode/link.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::ptx {
namespace {

using ::testing::HasSubstr;

std::string Text(absl::string_view body) {
  return absl::StrCat(".version 7.0\n.target sm_70\n.address_size 64\n", body);
}

absl::StatusOr<Module> LinkTexts(const std::vector<std::string>& bodies) {
  Linker linker;
  int count = 0;
  for (const std::string& body : bodies) {
    absl::StatusOr<Module> parsed = Parse(Text(body));
    if (!parsed.ok()) return parsed.status();
    const absl::Status added = linker.Add({absl::StrCat("t", ++count), *std::move(parsed)});
    if (!added.ok()) return added;
  }
  return linker.Run();
}

std::string ErrorOf(const std::vector<std::string>& bodies) {
  const absl::StatusOr<Module> linked = LinkTexts(bodies);
  EXPECT_EQ(linked.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(linked.status().message());
}

const Variable* FindVariable(const Module& module, absl::string_view name) {
  for (const Variable& variable : module.variables) {
    if (variable.name == name) return &variable;
  }
  return nullptr;
}

constexpr char kUsesX[] =
    ".extern .global .u32 x;\n.visible .entry k() { .reg .u32 %r; ld.global.u32 %r, [x]; }\n";

TEST(LinkTest, ADeclarationStandsForTheDefinition) {
  const absl::StatusOr<Module> linked =
      LinkTexts({kUsesX, ".visible .global .u32 y;\n.visible .global .u32 x = 7;\n"});
  ASSERT_TRUE(linked.ok()) << linked.status();
  ASSERT_EQ(linked->variables.size(), 2u);
  const Operand& address = linked->functions[0].body[0].operands[1];
  const Variable& named = linked->variables[static_cast<size_t>(address.parts[0].index)];
  EXPECT_EQ(named.name, "x");
  EXPECT_FALSE(named.external);
  EXPECT_EQ(named.initial[0].bits, 7u);
}

TEST(LinkTest, WhatIsNowhereDefinedIsNamedOnce) {
  EXPECT_EQ(ErrorOf({kUsesX,
                     ".extern .global .u32 x;\n.func f() { .reg .u32 %r; "
                     "ld.global.u32 %r, [x]; }\n"}),
            "'x', of 't1', is nowhere defined");
}

TEST(LinkTest, AFunctionThatIsNowhereDefinedIsNamed) {
  EXPECT_EQ(ErrorOf({".extern .func f();\n.visible .entry k() { call f; }\n"}),
            "'f', of 't1', is nowhere defined");
}

TEST(LinkTest, WhatEveryDeviceHasNeedsNoDefinition) {
  EXPECT_TRUE(LinkTexts({".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
                         ".func f() { .param .b64 a; .param .b64 b; .param .b32 r; "
                         "call (r), vprintf, (a, b); }\n"})
                  .ok());
}

TEST(LinkTest, AFunctionThatIsNotUsedNeedsNoDefinition) {
  EXPECT_TRUE(LinkTexts({".extern .func f();\n"}).ok());
}

TEST(LinkTest, AVariableThatIsNotUsedNeedsADefinition) {
  EXPECT_EQ(ErrorOf({".extern .global .u32 x;\n"}), "'x', of 't1', is nowhere defined");
}

TEST(LinkTest, TwoDefinitionsOfANameAreRefused) {
  EXPECT_EQ(ErrorOf({".visible .global .u32 x;\n", ".visible .global .u32 x;\n"}),
            "'x' is defined in 't1' and again in 't2'");
  EXPECT_EQ(ErrorOf({".visible .entry k() { ret; }\n", ".visible .entry k() { ret; }\n"}),
            "'k' is defined in 't1' and again in 't2'");
}

TEST(LinkTest, AVariableAndAFunctionOfOneNameAreRefused) {
  EXPECT_EQ(ErrorOf({".visible .global .u32 x;\n", ".visible .func x() { ret; }\n"}),
            "'x' is in 't2' another thing than in 't1'\n"
            "'x' is defined in 't1' and again in 't2'");
}

TEST(LinkTest, ADefinitionOfAnotherShapeIsRefused) {
  const std::string expected = "'x' is in 't2' another thing than in 't1'";
  EXPECT_EQ(ErrorOf({kUsesX, ".visible .global .u64 x;\n"}), expected);
  EXPECT_EQ(ErrorOf({kUsesX, ".visible .const .u32 x;\n"}), expected);
  EXPECT_EQ(ErrorOf({kUsesX, ".visible .func x() { ret; }\n"}), expected);
}

TEST(LinkTest, AWeakDefinitionGivesWay) {
  for (const bool first : {false, true}) {
    std::vector<std::string> bodies = {".weak .global .u32 x = 1;\n",
                                       ".visible .global .u32 x = 2;\n"};
    if (first) std::swap(bodies[0], bodies[1]);
    const absl::StatusOr<Module> linked = LinkTexts(bodies);
    ASSERT_TRUE(linked.ok()) << linked.status();
    ASSERT_EQ(linked->variables.size(), 1u);
    EXPECT_EQ(linked->variables[0].initial[0].bits, 2u);
  }
}

TEST(LinkTest, OfWeakDefinitionsTheFirstStands) {
  const absl::StatusOr<Module> linked =
      LinkTexts({".weak .global .u32 x = 1;\n", ".weak .global .u32 x = 2;\n"});
  ASSERT_TRUE(linked.ok()) << linked.status();
  ASSERT_EQ(linked->variables.size(), 1u);
  EXPECT_EQ(linked->variables[0].initial[0].bits, 1u);
}

TEST(LinkTest, OfCommonDefinitionsTheLargestStands) {
  const absl::StatusOr<Module> linked =
      LinkTexts({".common .global .u32 x;\n", ".common .global .u32 x[8];\n"});
  ASSERT_TRUE(linked.ok()) << linked.status();
  ASSERT_EQ(linked->variables.size(), 1u);
  EXPECT_EQ(linked->variables[0].size(), 32u);
}

TEST(LinkTest, PrivateVariablesOfOneNameStayApart) {
  const absl::StatusOr<Module> linked = LinkTexts(
      {".global .u32 x = 1;\n.global .u64 p = x;\n", ".global .u32 x = 2;\n.global .u64 p = x;\n"});
  ASSERT_TRUE(linked.ok()) << linked.status();
  ASSERT_EQ(linked->variables.size(), 4u);
  for (const Variable& variable : linked->variables) {
    if (variable.type != Type::kU64) continue;
    const Variable* const named = FindVariable(*linked, variable.initial[0].address_of);
    ASSERT_NE(named, nullptr);
    EXPECT_EQ(named->initial[0].bits, variable.name == "p" ? 1u : 2u);
  }
}

TEST(LinkTest, InstructionsKeepTheFileThatTheyCameFrom) {
  const auto body = [](const char* file, const char* name) {
    return absl::StrCat(".file 1 \"", file, "\"\n.visible .entry ", name,
                        "() {\n.loc 1 3 0, function_name s, inlined_at 1 8 0\nret;\n}\n",
                        ".section .debug_str { s: .b8 ", static_cast<int>(name[0]), " }\n");
  };
  const absl::StatusOr<Module> linked = LinkTexts({body("a.cu", "a"), body("b.cu", "b")});
  ASSERT_TRUE(linked.ok()) << linked.status();
  for (const Function& function : linked->functions) {
    const int file = function.body[0].source.file;
    EXPECT_EQ(linked->files[static_cast<size_t>(file)], function.name + ".cu");
    const int inlined = function.body[0].source.inlined;
    const InlinedCall& call = linked->inlined_calls.at(static_cast<size_t>(inlined));
    EXPECT_EQ(call.at.file, file);
    EXPECT_EQ(linked->inlined_functions.at(static_cast<size_t>(call.function)), function.name);
  }
}

TEST(LinkTest, ListsOfCalleesNameTheFunctionsOfTheirText) {
  const std::string calls =
      ".func f() { ret; }\n.visible .entry k() { .reg .b64 %d; mov.u64 %d, f; "
      "l: .calltargets f; call %d, (), l; ret; }\n";
  const absl::StatusOr<Module> linked =
      LinkTexts({".visible .func a() { ret; }\n.visible .func b() { ret; }\n", calls});
  ASSERT_TRUE(linked.ok()) << linked.status();
  const Function& kernel = linked->functions.back();
  ASSERT_EQ(kernel.target_lists.size(), 1u);
  EXPECT_EQ(linked->functions[static_cast<size_t>(kernel.target_lists[0][0])].name, "f");
}

TEST(LinkTest, JoinedTextsAreParsedToWhatLinkMakes) {
  const std::string joined = JoinTexts({Text(kUsesX), Text(".visible .global .u32 x = 7;\n")});
  const absl::StatusOr<Module> module = ParseJoined(joined);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(module->variables.size(), 1u);
}

TEST(LinkTest, AnyOtherTextIsParsedAsItIs) {
  for (const char* line : {"//linked\n", "//linked 1\n", "//linked 4 99999999\n", "//linked x\n"}) {
    const absl::StatusOr<Module> module = ParseJoined(absl::StrCat(line, Text(kUsesX)));
    ASSERT_TRUE(module.ok()) << module.status();
    EXPECT_TRUE(module->variables[0].external);
  }
  EXPECT_THAT(std::string(ParseJoined("nothing").status().message()), HasSubstr(".version"));
}

}  // namespace
}  // namespace twinmmu::ptx
