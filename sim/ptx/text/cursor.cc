#include "sim/ptx/text/cursor.h"

#include "absl/strings/str_cat.h"

namespace twinmmu::ptx {

Cursor::Cursor(absl::string_view text) : lexer_(text) {
  tokens_[0] = lexer_.Next();
  tokens_[1] = lexer_.Next();
  Check();
}

void Cursor::Check() {
  if (token().kind != Token::kBad) return;
  Fail(token().position, absl::StrCat("found ", Describe(token()), "; ", token().bad_because));
}

absl::string_view Cursor::TextFrom(const Token& first) const {
  const char* begin = first.text.data();
  const char* end = last_.data() + last_.size();
  return status_.ok() ? absl::string_view(begin, static_cast<size_t>(end - begin)) : first.text;
}

Token Cursor::Next() {
  const Token taken = tokens_[0];
  if (!status_.ok()) return taken;
  last_ = taken.text;
  tokens_[0] = tokens_[1];
  tokens_[1] = lexer_.Next();
  Check();
  return taken;
}

bool Cursor::Accept(absl::string_view punctuation) {
  if (!token().IsPunctuation(punctuation)) return false;
  Next();
  return true;
}

bool Cursor::AcceptDotted(absl::string_view name) {
  if (!token().Is(Token::kDotted, name)) return false;
  Next();
  return true;
}

void Cursor::Expect(absl::string_view punctuation) {
  if (!Accept(punctuation)) FailExpected(absl::StrCat("'", punctuation, "'"));
}

Token Cursor::ExpectKind(Token::Kind kind, absl::string_view expected) {
  if (token().kind != kind) FailExpected(expected);
  return Next();
}

void Cursor::Fail(const Position& where, absl::string_view words) {
  FailWith(absl::StatusCode::kInvalidArgument, where, words);
}

void Cursor::FailExpected(absl::string_view expected) {
  Fail(token().position, absl::StrCat("found ", Describe(token()), ", expected ", expected));
}

void Cursor::FailUnsupported(const Position& where, absl::string_view words) {
  FailWith(absl::StatusCode::kUnimplemented, where, words);
}

void Cursor::FailWith(absl::StatusCode code, const Position& where, absl::string_view words) {
  if (!status_.ok()) return;
  status_ =
      absl::Status(code, absl::StrCat("line ", where.line, ", column ", where.column, ": ", words));
  Token end;
  end.position = where;
  tokens_[0] = tokens_[1] = end;
}

}  // namespace twinmmu::ptx
