#include "sim/ptx/text/lexer.h"

#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace twinmmu::ptx {
namespace {

constexpr size_t kLongestQuoted = 80;

// What may follow the first character of a name.
bool IsNameCharacter(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '$'; }

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 16;
}

}  // namespace

std::string Quoted(absl::string_view text) {
  const bool cut = text.size() > kLongestQuoted;
  return absl::StrCat("'", absl::CHexEscape(text.substr(0, kLongestQuoted)), cut ? "..." : "", "'");
}

std::string Describe(const Token& token) {
  if (token.kind == Token::kEnd) return "the end of the text";
  if (token.kind == Token::kString) return absl::StrCat("the string ", Quoted(token.text));
  // The dot stands before its name.
  const size_t dot = token.kind == Token::kDotted ? 1 : 0;
  return Quoted(absl::string_view(token.text.data() - dot, token.text.size() + dot));
}

// Of the characters from `offset` on that may belong to a name.
size_t Lexer::EndOfName(size_t offset) const {
  const char* const from = text_.data() + place_;
  const size_t left = text_.size() - place_;
  while (offset < left && IsNameCharacter(from[offset])) ++offset;
  return offset;
}

void Lexer::Advance(size_t count) {
  for (size_t i = 0; i < count; ++i, ++place_) {
    if (text_[place_] == '\n') {
      ++position_.line;
      position_.column = 1;
    } else {
      ++position_.column;
    }
  }
}

// Blanks and comments. False, with *bad set: a comment without an end.
bool Lexer::SkipBlank(Token* bad) {
  while (place_ < text_.size()) {
    if (absl::ascii_isspace(At(0))) {
      Advance(1);
    } else if (At(0) == '/' && At(1) == '/') {
      const size_t end = text_.find('\n', place_);
      Advance((end == absl::string_view::npos ? text_.size() : end) - place_);
    } else if (At(0) == '/' && At(1) == '*') {
      const size_t end = text_.find("*/", place_ + 2);
      if (end == absl::string_view::npos) {
        *bad = Bad(2, "a comment that starts with /* ends with */");
        return false;
      }
      Advance(end + 2 - place_);
    } else {
      return true;
    }
  }
  return true;
}

// No token goes on in the next line.
Token Lexer::Take(Token::Kind kind, size_t length) {
  Token token;
  token.kind = kind;
  token.text = text_.substr(place_, length);
  token.position = position_;
  place_ += length;
  position_.column += static_cast<int>(length);
  return token;
}

// Does not move.
Token Lexer::Bad(size_t length, const char* because) {
  Token token;
  token.kind = Token::kBad;
  token.text = text_.substr(place_, length);
  token.position = position_;
  token.bad_because = because;
  return token;
}

Token Lexer::Next() {
  Token bad;
  if (!SkipBlank(&bad)) return bad;
  const char c = At(0);
  if (place_ == text_.size()) return Take(Token::kEnd, 0);
  if (absl::ascii_isdigit(c)) return Number();
  if (c == '"') return String();
  if (c == '.') return Dotted();
  const size_t length = EndOfName(1);
  if (absl::ascii_isalpha(c) || c == '_') return Take(Token::kName, length);
  if ((c == '$' || c == '%') && length > 1) return Take(Token::kName, length);
  return Punctuation();
}

Token Lexer::String() {
  const size_t end = text_.find_first_of("\"\n", place_ + 1);
  if (end == absl::string_view::npos || text_[end] == '\n') {
    return Bad(1, "a string ends with \" on the same line");
  }
  Token token = Take(Token::kString, end + 1 - place_);
  token.text = token.text.substr(1, token.text.size() - 2);
  return token;
}

Token Lexer::Dotted() {
  size_t length = EndOfName(1);
  while (length > 1 && At(length) == ':' && At(length + 1) == ':' &&
         IsNameCharacter(At(length + 2))) {
    length = EndOfName(length + 2);
  }
  if (length == 1) return Bad(1, "a name follows a dot");
  Token token = Take(Token::kDotted, length);
  token.text.remove_prefix(1);
  return token;
}

Token Lexer::Punctuation() {
  static constexpr const char* kPairs[] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
  for (const char* pair : kPairs) {
    if (At(0) == pair[0] && At(1) == pair[1]) return Take(Token::kPunctuation, 2);
  }
  const char c = At(0);
  if (c != '\0' && std::strchr("(){}[],;:<>=+-*/%!~&|^?@", c) != nullptr) {
    return Take(Token::kPunctuation, 1);
  }
  return Bad(1, "no token starts with this character");
}

Token Lexer::Number() {
  if (At(0) == '0' && (At(1) == 'f' || At(1) == 'F')) return HexFloat(8);
  if (At(0) == '0' && (At(1) == 'd' || At(1) == 'D')) return HexFloat(16);
  size_t length = 0;
  while (absl::ascii_isdigit(At(length))) ++length;
  const size_t integer = length;
  if (At(length) == '.') {
    ++length;
    while (absl::ascii_isdigit(At(length))) ++length;
  }
  if (At(length) == 'e' || At(length) == 'E') {
    const size_t sign = At(length + 1) == '+' || At(length + 1) == '-' ? 1 : 0;
    length += 1 + sign;
    while (absl::ascii_isdigit(At(length))) ++length;
  }
  return length == integer ? Integer() : Decimal(length);
}

Token Lexer::HexFloat(size_t digits) {
  size_t length = 2;
  uint64_t bits = 0;
  while (IsNameCharacter(At(length))) {
    if (length < 2 + digits) bits = bits << 4 | static_cast<unsigned>(DigitOf(At(length)) & 15);
    if (DigitOf(At(length)) >= 16) return Bad(length + 1, "0f and 0d are followed by hex digits");
    ++length;
  }
  if (length != 2 + digits) {
    return Bad(length, "0f is followed by 8 hex digits, 0d is followed by 16");
  }
  Token token = Take(digits == 8 ? Token::kF32 : Token::kF64, length);
  token.bits = bits;
  return token;
}

Token Lexer::Decimal(size_t length) {
  double value = 0;
  if (IsNameCharacter(At(length)) || !absl::SimpleAtod(text_.substr(place_, length), &value)) {
    return Bad(length, "this is not a number");
  }
  Token token = Take(Token::kF64, length);
  std::memcpy(&token.bits, &value, sizeof value);
  return token;
}

Token Lexer::Integer() {
  int base = 10;
  size_t length = 0;
  if (At(0) == '0') {
    const char letter = absl::ascii_tolower(At(1));
    base = letter == 'x' ? 16 : letter == 'b' ? 2 : 8;
    length = base == 8 ? 1 : 2;
  }
  const size_t first = length;
  uint64_t bits = 0;
  bool too_large = false;
  for (; DigitOf(At(length)) < base; ++length) {
    const uint64_t digit = static_cast<uint64_t>(DigitOf(At(length)));
    const uint64_t radix = static_cast<uint64_t>(base);
    too_large = too_large || bits > (~uint64_t{0} - digit) / radix;
    bits = bits * radix + digit;
  }
  const bool without_digits = length == first && first == 2;
  const bool has_suffix = At(length) == 'U';
  if (has_suffix) ++length;
  if (without_digits || IsNameCharacter(At(length))) return Bad(length + 1, "this is not a number");
  if (too_large) return Bad(length, "an integer is less than 2^64");
  Token token = Take(Token::kInteger, length);
  token.bits = bits;
  token.is_unsigned = has_suffix || bits >> 63 != 0;
  return token;
}

}  // namespace twinmmu::ptx
