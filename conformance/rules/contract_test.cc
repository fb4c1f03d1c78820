// docs/reference/contract.md and the rules say the same.

#include "conformance/rules/contract.h"

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "api/testing/matchers.h"
#include "conformance/rules/rules.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

using ::testing::HasSubstr;

std::string CommittedContract() {
  std::stringstream document;
  document << std::ifstream("docs/reference/contract.md").rdbuf();
  return document.str();
}

// The committed document has every rule as it is.
TEST(ContractTest, TheDocumentIsUpToDate) {
  const absl::StatusOr<std::string> updated = UpdateContract(CommittedContract());
  ASSERT_THAT(updated, IsOk());
  EXPECT_TRUE(*updated == CommittedContract())
      << "the rules have changed since docs/reference/contract.md was written: run\n"
         "    tools/bazel run //conformance/rules:update_contract";
}

// Whatever stood between the marks is replaced; the words around them stay.
TEST(ContractTest, ReplacesRulesAndLeavesWords) {
  const std::string document = CommittedContract();
  const std::string stale =
      absl::StrReplaceAll(document, {{GetRule(Rule::MAP_1).sentence, "Something else."}});
  ASSERT_NE(stale, document);
  const absl::StatusOr<std::string> updated = UpdateContract(stale);
  ASSERT_THAT(updated, IsOk());
  EXPECT_TRUE(*updated == document);
}

// Each rule stands there with its sentence; an undefined one, and what the driver does instead,
// too.
TEST(ContractTest, SaysWhatIsUndefinedAndWhatIsSeen) {
  const absl::StatusOr<std::string> updated = UpdateContract(CommittedContract());
  ASSERT_THAT(updated, IsOk());
  const std::string document = absl::StrReplaceAll(*updated, {{"\n ", ""}});  // no line breaks
  for (const RuleInfo& info : AllRules()) {
    EXPECT_THAT(document, HasSubstr(absl::StrCat("* **", info.id, "** ")));
    EXPECT_THAT(document, HasSubstr(info.sentence));
  }
  EXPECT_THAT(document, HasSubstr("**REL-4** (undefined) "));
  for (const DeviationInfo& info : AllDeviations()) {
    EXPECT_THAT(document, HasSubstr("**The reference driver:** " + info.sentence));
  }
}

// Marks that a person got wrong are said, and not guessed.
TEST(ContractTest, SaysWhichMarkIsWrong) {
  const auto message = [](const std::string& document) {
    return std::string(UpdateContract(document).status().message());
  };
  const std::string block = "<!-- rules: cuMemMap -->\n<!-- end of rules -->\n";
  EXPECT_THAT(message("words\n"), HasSubstr("stand nowhere: add \"<!-- rules: "));
  EXPECT_THAT(message("<!-- rules: cuMemNap -->\n"), HasSubstr("no rules of \"cuMemNap\""));
  EXPECT_THAT(message(block + block), HasSubstr("\"cuMemMap\", or they stand there twice"));
  EXPECT_THAT(message("<!-- end of rules -->\n"), HasSubstr("is not where it can be"));
  EXPECT_THAT(message("<!-- rules: cuMemMap -->\n<!-- rules: cuMemUnmap -->\n"),
              HasSubstr("\"<!-- rules: cuMemUnmap -->\" is not where it can be"));
  EXPECT_THAT(message("<!-- rules: cuMemMap -->\n"), HasSubstr("no \"<!-- end of rules -->\""));
}

}  // namespace
}  // namespace twinmmu::conformance
