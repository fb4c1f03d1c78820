// Lexer: PTX text as tokens.

#ifndef TWINMMU_SIM_PTX_TEXT_LEXER_H_
#define TWINMMU_SIM_PTX_TEXT_LEXER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "sim/ptx/text/module.h"

namespace twinmmu::ptx {

struct Token {
  enum Kind : uint8_t {
    kEnd,          // of the text
    kName,         // foo, %r1, $L__BB0_2, _
    kDotted,       // .visible, .u32, .shared::cta; in `text` without the first dot
    kInteger,      // bits
    kF32,          // bits: 0f3F800000
    kF64,          // bits: 0d3FF0000000000000, 1.0
    kString,       // `text` without the quotes
    kPunctuation,  // one of the operators and brackets
    kBad,          // none of these; bad_because says why
  };
  Kind kind = kEnd;
  bool is_unsigned = false;           // of an integer: 1U, or more than 2^63 - 1
  const char* bad_because = nullptr;  // "an integer is less than 2^64"
  absl::string_view text;             // of the text given to the lexer
  Position position;
  uint64_t bits = 0;

  bool Is(Kind of_kind, absl::string_view of_text) const {
    return kind == of_kind && text == of_text;
  }
  // Of one or two characters, as all are.
  bool IsPunctuation(absl::string_view of_text) const {
    return kind == kPunctuation && text.size() == of_text.size() &&
           text.front() == of_text.front() && text.back() == of_text.back();
  }
};

// "'foo'": text in a message, cut if it is long.
std::string Quoted(absl::string_view text);
// "'foo'", "the end of the text": how a message names a token.
std::string Describe(const Token& token);

// `text` must outlive this object and its tokens.
class Lexer {
 public:
  explicit Lexer(absl::string_view text) : text_(text) {}

  // The next token; at the end, and after kBad, that one again.
  Token Next();

 private:
  char At(size_t offset) const {  // from the place; 0 beyond the end
    return offset < text_.size() - place_ ? text_[place_ + offset] : '\0';
  }
  size_t EndOfName(size_t offset) const;
  void Advance(size_t count);
  bool SkipBlank(Token* bad);
  Token Take(Token::Kind kind, size_t length);
  Token Bad(size_t length, const char* because);
  Token String();
  Token Dotted();
  Token Punctuation();
  Token Number();
  Token HexFloat(size_t digits);
  Token Decimal(size_t length);
  Token Integer();

  absl::string_view text_;
  size_t place_ = 0;
  Position position_{1, 1};
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_TEXT_LEXER_H_
