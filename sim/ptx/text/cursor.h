// Cursor: a place among the tokens of a PTX text, and the first error.

#ifndef TWINMMU_SIM_PTX_TEXT_CURSOR_H_
#define TWINMMU_SIM_PTX_TEXT_CURSOR_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sim/ptx/text/lexer.h"
#include "sim/ptx/text/module.h"

namespace twinmmu::ptx {

// An error is kept, not returned: from the first one on, the cursor stands at the end of the text,
// where nothing is accepted. So parsing needs no check after each step; its loops end at the end.
class Cursor {
 public:
  // `text` must outlive this object and its tokens.
  explicit Cursor(absl::string_view text);

  const Token& token() const { return tokens_[0]; }
  const Token& following() const { return tokens_[1]; }
  bool AtEnd() const { return token().kind == Token::kEnd; }

  // The token, which is left behind.
  Token Next();
  // The text from that token to the last one left behind.
  absl::string_view TextFrom(const Token& first) const;
  // If the token is that one, leaves it behind.
  bool Accept(absl::string_view punctuation);
  bool AcceptDotted(absl::string_view name);

  // As Next, where the token must be of the kind; `expected` names it in the error: "a name".
  void Expect(absl::string_view punctuation);
  Token ExpectKind(Token::Kind kind, absl::string_view expected);

  // The first error is the one that counts. "line 3, column 7: words".
  void Fail(const Position& where, absl::string_view words);
  // ": found 'x', expected y".
  void FailExpected(absl::string_view expected);
  // As Fail, for what is PTX, but has no place in a Module.
  void FailUnsupported(const Position& where, absl::string_view words);
  // As Fail, with the code of the caller's choice.
  void FailWith(absl::StatusCode code, const Position& where, absl::string_view words);

  const absl::Status& status() const { return status_; }

 private:
  void Check();

  Lexer lexer_;
  Token tokens_[2];
  absl::string_view last_;  // the text of the token last left behind
  absl::Status status_;
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_TEXT_CURSOR_H_
