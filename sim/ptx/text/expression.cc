#include "sim/ptx/text/expression.h"

#include "absl/strings/str_cat.h"

namespace twinmmu::ptx {
namespace {

// Each level takes a few frames of the stack.
constexpr int kDeepest = 256;
constexpr int kTermPrecedence = 10;

struct Operator {
  const char* text;
  int precedence;  // the higher, the more it binds
};

// Those of C.
constexpr Operator kOperators[] = {
    {"||", 1}, {"&&", 2}, {"|", 3}, {"^", 4},  {"&", 5},  {"==", 6},
    {"!=", 6}, {"<", 7},  {">", 7}, {"<=", 7}, {">=", 7}, {"<<", 8},
    {">>", 8}, {"+", 9},  {"-", 9}, {"*", 10}, {"/", 10}, {"%", 10},
};

Constant Signed(uint64_t bits) { return {Constant::kInteger, false, bits}; }

class Expression {
 public:
  explicit Expression(Cursor* cursor) : cursor_(*cursor) {}

  Constant Conditional();
  // Operators of at least that precedence.
  Constant Binary(int precedence);

 private:
  bool Enter();
  Constant Unary();
  Constant Primary();
  Constant Parenthesised();
  Constant Apply(const Token& op, const Constant& left, const Constant& right);
  Constant Divide(const Token& op, const Constant& left, const Constant& right);
  uint64_t Compare(absl::string_view op, const Constant& left, const Constant& right);

  Cursor& cursor_;
  int depth_ = 0;
};

bool Expression::Enter() {
  if (++depth_ <= kDeepest) return true;
  cursor_.Fail(cursor_.token().position,
               absl::StrCat("an expression is nested more than ", kDeepest, " deep"));
  return false;
}

Constant Expression::Conditional() {
  if (!Enter()) return {};
  const Constant condition = Binary(1);
  Constant result = condition;
  if (cursor_.token().IsPunctuation("?")) {
    const Position place = cursor_.Next().position;
    const Constant if_true = Conditional();
    cursor_.Expect(":");
    const Constant if_false = Conditional();
    if (condition.kind != Constant::kInteger || if_true.kind != Constant::kInteger ||
        if_false.kind != Constant::kInteger) {
      cursor_.Fail(place, "the operands of ? : are integers");
    }
    result = condition.bits != 0 ? if_true : if_false;
    result.is_unsigned = if_true.is_unsigned || if_false.is_unsigned;
  }
  --depth_;
  return result;
}

Constant Expression::Binary(int precedence) {
  Constant left = Unary();
  while (cursor_.token().kind == Token::kPunctuation) {
    const Operator* found = nullptr;
    for (const Operator& op : kOperators) {
      if (cursor_.token().text == op.text) found = &op;
    }
    if (found == nullptr || found->precedence < precedence) break;
    const Token op = cursor_.Next();
    const Constant right = Binary(found->precedence + 1);
    left = Apply(op, left, right);
  }
  return left;
}

Constant Expression::Unary() {
  if (!Enter()) return {};
  Constant result;
  const Token op = cursor_.token();
  if (op.kind != Token::kPunctuation || op.text == "(") {
    result = Primary();
  } else if (cursor_.Accept("-") || cursor_.Accept("+")) {
    result = Unary();
    const bool negate = op.text == "-";
    if (negate && result.kind == Constant::kInteger) result.bits = uint64_t{0} - result.bits;
    if (result.kind == Constant::kF32) cursor_.Fail(op.position, "0f has a sign of its own");
    if (negate && result.kind == Constant::kF64) result.bits ^= uint64_t{1} << 63;
  } else if (cursor_.Accept("!") || cursor_.Accept("~")) {
    result = Unary();
    if (result.kind != Constant::kInteger) {
      cursor_.Fail(op.position, absl::StrCat("the operand of ", op.text, " is an integer"));
    }
    result = op.text == "~" ? Constant{Constant::kInteger, result.is_unsigned, ~result.bits}
                            : Signed(result.bits == 0 ? 1 : 0);
  } else {
    cursor_.FailExpected("a constant");
  }
  --depth_;
  return result;
}

Constant Expression::Primary() {
  const Token& token = cursor_.token();
  switch (token.kind) {
    case Token::kInteger: {
      const Token taken = cursor_.Next();
      return {Constant::kInteger, taken.is_unsigned, taken.bits};
    }
    case Token::kF32:
      return {Constant::kF32, false, cursor_.Next().bits};
    case Token::kF64:
      return {Constant::kF64, false, cursor_.Next().bits};
    case Token::kName:
      if (token.text == "WARP_SZ") {
        cursor_.Next();
        return Signed(32);
      }
      break;
    case Token::kPunctuation:
      if (token.text == "(") return Parenthesised();
      break;
    default:
      break;
  }
  cursor_.FailExpected("a constant");
  return {};
}

// (expression), or (.u64) and (.s64), which say how the bits that follow are meant.
Constant Expression::Parenthesised() {
  cursor_.Expect("(");
  if (cursor_.token().kind != Token::kDotted) {
    const Constant inner = Conditional();
    cursor_.Expect(")");
    return inner;
  }
  const Token cast = cursor_.token();
  if (cast.text != "u64" && cast.text != "s64") cursor_.FailExpected(".u64 or .s64");
  cursor_.Next();
  cursor_.Expect(")");
  Constant result = Unary();
  if (result.kind != Constant::kInteger) {
    cursor_.Fail(cast.position, "the operand of a cast is an integer");
  }
  result.is_unsigned = cast.text == "u64";
  return result;
}

Constant Expression::Apply(const Token& op, const Constant& left, const Constant& right) {
  if (left.kind != Constant::kInteger || right.kind != Constant::kInteger) {
    cursor_.Fail(op.position, absl::StrCat("the operands of ", op.text, " are integers"));
    return {};
  }
  const bool is_unsigned = left.is_unsigned || right.is_unsigned;
  const absl::string_view text = op.text;
  const uint64_t a = left.bits;
  const uint64_t b = right.bits;
  if (text == "/" || text == "%") return Divide(op, left, right);
  if (text == "&&") return Signed(a != 0 && b != 0 ? 1 : 0);
  if (text == "||") return Signed(a != 0 || b != 0 ? 1 : 0);
  if (text == "+") return {Constant::kInteger, is_unsigned, a + b};
  if (text == "-") return {Constant::kInteger, is_unsigned, a - b};
  if (text == "*") return {Constant::kInteger, is_unsigned, a * b};
  if (text == "&") return {Constant::kInteger, is_unsigned, a & b};
  if (text == "|") return {Constant::kInteger, is_unsigned, a | b};
  if (text == "^") return {Constant::kInteger, is_unsigned, a ^ b};
  if (text == "<<") return {Constant::kInteger, left.is_unsigned, b > 63 ? 0 : a << b};
  if (text == ">>") {
    const bool fill = !left.is_unsigned && a >> 63 != 0;
    const uint64_t shifted = b > 63 ? 0 : a >> b;
    const uint64_t sign = b > 63 ? ~uint64_t{0} : ~(~uint64_t{0} >> b);
    return {Constant::kInteger, left.is_unsigned, fill ? shifted | sign : shifted};
  }
  return Signed(Compare(text, left, right));
}

Constant Expression::Divide(const Token& op, const Constant& left, const Constant& right) {
  if (right.bits == 0) {
    cursor_.Fail(op.position, absl::StrCat("the right operand of ", op.text, " is not 0"));
    return {};
  }
  const bool remainder = op.text == "%";
  if (left.is_unsigned || right.is_unsigned) {
    return {Constant::kInteger, true, remainder ? left.bits % right.bits : left.bits / right.bits};
  }
  // By absolute values: -2^63 / -1 is no value of int64_t.
  const bool left_negative = left.bits >> 63 != 0;
  const bool right_negative = right.bits >> 63 != 0;
  const uint64_t a = left_negative ? uint64_t{0} - left.bits : left.bits;
  const uint64_t b = right_negative ? uint64_t{0} - right.bits : right.bits;
  const bool negative = remainder ? left_negative : left_negative != right_negative;
  const uint64_t result = remainder ? a % b : a / b;
  return Signed(negative ? uint64_t{0} - result : result);
}

uint64_t Expression::Compare(absl::string_view op, const Constant& left, const Constant& right) {
  // With the sign bit inverted, signed values are in the order of unsigned ones.
  const uint64_t invert = left.is_unsigned || right.is_unsigned ? 0 : uint64_t{1} << 63;
  const uint64_t a = left.bits ^ invert;
  const uint64_t b = right.bits ^ invert;
  const bool result = op == "=="   ? a == b
                      : op == "!=" ? a != b
                      : op == "<"  ? a < b
                      : op == ">"  ? a > b
                      : op == "<=" ? a <= b
                                   : a >= b;
  return result ? 1 : 0;
}

}  // namespace

bool StartsConstant(const Token& token) {
  switch (token.kind) {
    case Token::kInteger:
    case Token::kF32:
    case Token::kF64:
      return true;
    case Token::kName:
      return token.text == "WARP_SZ";
    case Token::kPunctuation:
      return token.text == "(" || token.text == "-" || token.text == "+" || token.text == "~" ||
             token.text == "!";
    default:
      return false;
  }
}

Constant ParseConstant(Cursor* cursor) { return Expression(cursor).Conditional(); }

Constant ParseTerm(Cursor* cursor) { return Expression(cursor).Binary(kTermPrecedence); }

uint64_t ParseInteger(Cursor* cursor, absl::string_view expected) {
  const Token first = cursor->token();
  if (!StartsConstant(first)) cursor->FailExpected(expected);
  const Constant constant = ParseConstant(cursor);
  if (constant.kind != Constant::kInteger) {
    cursor->Fail(first.position, absl::StrCat("found a float, expected ", expected));
  }
  return constant.bits;
}

}  // namespace twinmmu::ptx
