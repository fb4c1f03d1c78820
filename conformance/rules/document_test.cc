#include "conformance/rules/document.h"

#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

using ::testing::HasSubstr;

constexpr char kDocument[] =
    "Before.\n<!-- begin: a -->\nold\n<!-- end: a -->\nAfter.\n"
    "<!-- begin: b -->\n<!-- end: b -->\n";

TEST(DocumentTest, ReplacesASectionAndNothingElse) {
  EXPECT_THAT(ReplaceSection(kDocument, "a", "new\nlines\n"),
              IsOkAndHolds("Before.\n<!-- begin: a -->\nnew\nlines\n<!-- end: a -->\nAfter.\n"
                           "<!-- begin: b -->\n<!-- end: b -->\n"));
}

TEST(DocumentTest, FillsAnEmptySection) {
  EXPECT_THAT(ReplaceSection("<!-- begin: b -->\n<!-- end: b -->\n", "b", "text\n"),
              IsOkAndHolds("<!-- begin: b -->\ntext\n<!-- end: b -->\n"));
}

TEST(DocumentTest, RefusesMarksThatAreNotThereOnceInOrder) {
  const std::string begin = "<!-- begin: a -->\n";
  const std::string end = "<!-- end: a -->\n";
  for (const std::string& document :
       {std::string(), begin, end, end + begin, begin + begin + end, begin + end + end}) {
    const absl::Status status = ReplaceSection(document, "a", "text\n").status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument)) << document;
    EXPECT_THAT(std::string(status.message()), HasSubstr("one line \"<!-- begin: a -->\""));
  }
}

TEST(DocumentTest, BreaksLinesBetweenWordsAndIndentsThem) {
  const std::string fifty(50, 'x');
  EXPECT_EQ(Paragraph("10. ", "short"), "10. short\n");
  EXPECT_EQ(Paragraph("* ", fifty + " " + fifty), "* " + fifty + "\n  " + fifty + "\n");
  EXPECT_EQ(Paragraph("", std::string(99, 'x') + " y"), std::string(99, 'x') + "\ny\n");
  EXPECT_EQ(Paragraph("", std::string(98, 'x') + " y"), std::string(98, 'x') + " y\n");
  EXPECT_EQ(Paragraph("* ", std::string(200, 'x')), "* " + std::string(200, 'x') + "\n");
}

}  // namespace
}  // namespace twinmmu::conformance
