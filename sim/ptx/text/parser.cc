#include "sim/ptx/text/parser.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "sim/ptx/text/isa.h"

namespace twinmmu::ptx {
namespace {

constexpr int kNewestVersion = 94;  // of what came after 9.0, the halves of the alias fence
// Of Module::files, which has a place for each number.
constexpr uint64_t kMostFiles = 65535;
// So that an int holds each line, column and index.
constexpr size_t kLongestText = size_t{1} << 30;

}  // namespace

absl::StatusOr<Module> Parse(absl::string_view text) {
  if (text.size() > kLongestText) {
    return absl::InvalidArgumentError(absl::StrCat("line 1, column 1: the text has ", text.size(),
                                                   " bytes, more than ", kLongestText));
  }
  return Parser(text).Run();
}

absl::StatusOr<Module> Parser::Run() {
  Header();
  while (!cursor_.AtEnd()) ModuleDirective();
  if (!cursor_.status().ok()) return cursor_.status();
  inlined_calls_.Finish();
  return std::move(module_);
}

void Parser::Header() {
  module_.files.emplace_back();
  Version();
  Target();
  if (cursor_.token().Is(Token::kDotted, "address_size")) AddressSize();
}

void Parser::Version() {
  if (!cursor_.AcceptDotted("version")) return cursor_.FailExpected(".version");
  const Token number = cursor_.ExpectKind(Token::kF64, "a version, such as 8.0");
  const size_t dot = number.text.find('.');
  int major = 0;
  int minor = 0;
  if (dot == absl::string_view::npos || !absl::SimpleAtoi(number.text.substr(0, dot), &major) ||
      !absl::SimpleAtoi(number.text.substr(dot + 1), &minor) || major < 1 || major > 99 ||
      minor > 9) {
    return cursor_.Fail(number.position, absl::StrCat("found ", Describe(number),
                                                      ", expected a version, such as 8.0"));
  }
  module_.version = major * 10 + minor;
  if (module_.version > kNewestVersion) {
    cursor_.FailWith(absl::StatusCode::kOutOfRange, number.position,
                     absl::StrCat("the version of this PTX is ", number.text,
                                  ", the newest one that is known is ", kNewestVersion / 10, ".",
                                  kNewestVersion % 10));
  }
}

void Parser::Target() {
  if (!cursor_.AcceptDotted("target")) return cursor_.FailExpected(".target");
  do {
    const Token name = cursor_.ExpectKind(Token::kName, "a target, such as sm_90");
    if (name.text == "debug" || name.text == "texmode_unified" ||
        name.text == "texmode_independent" || name.text == "map_f64_to_f32") {
      module_.debug |= name.text == "debug";
      module_.separate_samplers |= name.text == "texmode_independent";
      continue;
    }
    absl::string_view digits = name.text;
    const bool of_family = absl::ConsumeSuffix(&digits, "f");
    const bool of_one = absl::ConsumeSuffix(&digits, "a") || of_family;
    int target = 0;
    const bool is_target =
        absl::ConsumePrefix(&digits, "sm_") || absl::ConsumePrefix(&digits, "compute_");
    if (!is_target || !absl::SimpleAtoi(digits, &target)) {
      return cursor_.Fail(name.position, absl::StrCat("found ", Describe(name),
                                                      ", expected a target, such as sm_90"));
    }
    const int version = FirstVersionOf(target, of_family ? 'f' : of_one ? 'a' : ' ');
    if (version == 0) {
      return cursor_.Fail(name.position, absl::StrCat("the target of this PTX is ", name.text,
                                                      ", which is not known; the newest one that "
                                                      "is known is sm_121a"));
    }
    if (IsOlderThan(version, name.text, name.position)) return;
    module_.target = target;
    module_.of_one_target = of_one;
  } while (cursor_.Accept(","));
  if (module_.target == 0) cursor_.FailExpected("a target, such as sm_90");
}

bool Parser::IsOlderThan(int version, absl::string_view what, const Position& where) {
  if (module_.version >= version) return false;
  cursor_.Fail(where, absl::StrCat("there is ", what, " from PTX ", version / 10, ".", version % 10,
                                   " on, and this is older"));
  return true;
}

void Parser::AddressSize() {
  constexpr int kFirstVersion = 23;
  if (IsOlderThan(kFirstVersion, ".address_size", cursor_.token().position)) return;
  cursor_.AcceptDotted("address_size");
  const Token size = cursor_.ExpectKind(Token::kInteger, "64");
  if (size.bits != 64) {
    cursor_.Fail(size.position, absl::StrCat("the address size is ", size.text, ", not 64"));
  }
}

void Parser::ModuleDirective() {
  if (cursor_.token().kind != Token::kDotted) return cursor_.FailExpected("a directive");
  if (cursor_.AcceptDotted("file")) return File();
  if (cursor_.AcceptDotted("section")) return Section();
  if (cursor_.AcceptDotted("pragma")) return Pragma();
  if (cursor_.token().Is(Token::kDotted, "alias")) {
    return cursor_.FailUnsupported(cursor_.token().position, ".alias is not supported");
  }
  const Linkage linkage = ParseLinkage();
  if (cursor_.AcceptDotted("entry")) return FunctionDeclaration(linkage, true);
  if (cursor_.AcceptDotted("func")) return FunctionDeclaration(linkage, false);
  VariableDeclarations(linkage);
}

Parser::Linkage Parser::ParseLinkage() {
  Linkage linkage;
  linkage.position = cursor_.token().position;
  if (cursor_.AcceptDotted("extern")) {
    linkage.external = true;
  } else if (cursor_.AcceptDotted("visible")) {
    linkage.visibility = Visibility::kVisible;
  } else if (cursor_.AcceptDotted("weak")) {
    linkage.visibility = Visibility::kWeak;
  } else if (cursor_.AcceptDotted("common")) {
    linkage.visibility = Visibility::kCommon;
  }
  return linkage;
}

// .file 1 "a.cu", 1700000000, 1234
void Parser::File() {
  const Token number = cursor_.ExpectKind(Token::kInteger, "the number of a file");
  const Token name = cursor_.ExpectKind(Token::kString, "the name of a file");
  while (cursor_.Accept(",")) cursor_.ExpectKind(Token::kInteger, "a number");
  if (number.bits > kMostFiles) {
    return cursor_.Fail(number.position, absl::StrCat("the number of a file is ", number.text,
                                                      ", more than ", kMostFiles));
  }
  const size_t index = static_cast<size_t>(number.bits);
  if (module_.files.size() <= index) module_.files.resize(index + 1);
  module_.files[index] = std::string(name.text);
}

// Of debug information, of which names are kept: .section .debug_str { name: .b8 65, 0 ... }
void Parser::Section() {
  const Token name = cursor_.ExpectKind(Token::kDotted, "the name of a section");
  const bool has_names = name.text == "debug_str";
  cursor_.Expect("{");
  while (!cursor_.AtEnd() && !cursor_.token().IsPunctuation("}")) {
    const Token token = cursor_.Next();
    if (!has_names) continue;
    if (token.kind == Token::kName) inlined_calls_.AddLabel(token.text);
    if (token.kind == Token::kInteger) inlined_calls_.AddByte(token.bits);
  }
  cursor_.Expect("}");
}

// .pragma "nounroll";
void Parser::Pragma() {
  do {
    cursor_.ExpectKind(Token::kString, "a string");
  } while (cursor_.Accept(","));
  cursor_.Expect(";");
}

}  // namespace twinmmu::ptx
