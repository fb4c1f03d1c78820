"""Small changes of C++ sources, each behind a switch that is read when the program runs.

All changes are insertions, so that they nest: `a < b` becomes `(M(7) ? (a) <= (b) : (a < b))`, and
`f();` becomes `{ if (!M(8)) { f(); } }`. Only tokens are looked at; what does not compile is left
out (run.py). M(n) is whether MUTANT is n. Where MUTANTS_REACHED names a file, M
writes into it the number of each change that was reached.
"""

import dataclasses
import re

TOKEN = re.compile(
    r'(?P<space>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*)'
    r'|(?P<text>(?:u8|[LuU])?R"(?P<end>[^(]*)\(.*?\)(?P=end)"'
    r'|(?:u8|[LuU])?"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\')'
    r'|(?P<number>\.?\d(?:[\w.\']|[eEpP][+-])*)'
    r'|(?P<name>[A-Za-z_]\w*)'
    r'|(?P<mark><<=|>>=|<=>|->\*|\.\.\.|::|->|\+\+|--|<<|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)',
    re.DOTALL | re.MULTILINE)

OPEN = {'(': ')', '[': ']', '{': '}'}
ASSIGNMENTS = {'=', '+=', '-=', '*=', '/=', '%=', '&=', '|=', '^=', '<<=', '>>='}
COMPARISONS = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '=='}
# What an operand of && does not reach beyond, at its own depth; more for those that bind closer.
EDGES = ASSIGNMENTS | {',', ';', '?', ':', '&&', '||', 'return', 'case', 'throw', 'else', 'do'}
COMPARISON_EDGES = EDGES | set(COMPARISONS) | {'<<', '>>', '!', '&', '|', '^'}
SUM_EDGES = COMPARISON_EDGES
# What begins a statement that is no expression.
NO_EXPRESSION = {
    'alignas', 'auto', 'break', 'case', 'catch', 'class', 'const', 'constexpr', 'continue', 'default',
    'delete', 'do', 'else', 'enum', 'explicit', 'extern', 'for', 'friend', 'goto', 'if', 'inline',
    'namespace', 'operator', 'private', 'protected', 'public', 'return', 'static', 'static_assert',
    'struct', 'switch', 'template', 'thread_local', 'throw', 'try', 'typedef', 'typename', 'union',
    'using', 'virtual', 'volatile', 'while', 'co_return', 'co_await', 'asm'}

SWITCH = r'''
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <atomic>
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wreturn-type"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wunused-function"
namespace { namespace mutation {
inline long ValueOf(const char* name) {
  const char* const value = getenv(name);
  return value != nullptr ? atol(value) : 0;
}
const long kChosen = ValueOf("MUTANT");
const char* const kReached = getenv("MUTANTS_REACHED");
std::atomic<bool> reached[@COUNT@];
__attribute__((cold, noinline)) void Reach(long id) {
  if (reached[id - @FIRST@].exchange(true)) return;
  const int file = open(kReached, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return;
  char line[24];
  int at = sizeof(line);
  line[--at] = '\n';
  for (long left = id; left != 0; left /= 10) line[--at] = static_cast<char>('0' + left % 10);
  if (write(file, line + at, sizeof(line) - at) < 0) reached[id - @FIRST@] = false;
  close(file);
}
__attribute__((unused)) inline bool M(long id) {
  if (__builtin_expect(kReached != nullptr, 0)) Reach(id);
  return kChosen == id;
}
}}
'''


@dataclasses.dataclass
class Token:
    kind: str
    text: str
    begin: int
    line: int
    partner: int = -1  # of a bracket: the number of the other one
    code: bool = False  # inside of a function's body
    block: bool = False  # a brace that begins no list of values

    @property
    def end(self):
        return self.begin + len(self.text)


@dataclasses.dataclass
class Mutant:
    """`before` and `after` are put around [begin, end), with M(n) for @M@."""
    operator: str
    line: int
    begin: int
    end: int
    before: str
    after: str
    words: str
    id: int = 0


def tokens_of(text):
    tokens, line, at = [], 1, 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if match.lastgroup != 'space':
            kind = 'text' if match.group('text') else match.lastgroup
            tokens.append(Token(kind, match.group(), at, line))
        line += match.group().count('\n')
        at = match.end()
    pair_brackets(tokens)
    mark_code(tokens)
    return tokens


def pair_brackets(tokens):
    stack = []
    for i, token in enumerate(tokens):
        if token.kind != 'mark':
            continue
        if token.text in OPEN:
            stack.append(i)
        elif token.text in OPEN.values() and stack:
            tokens[i].partner = stack.pop()
            tokens[tokens[i].partner].partner = i


def kind_of_brace(tokens, i, start, outer):
    """What the brace i opens; the declaration or statement that it is in begins at `start`."""
    head = [token.text for token in tokens[start:i]]
    before = tokens[i - 1].text if i > 0 else ';'
    if outer in ('code', 'list'):
        if before in (')', '{', '}', ';', ':', 'else', 'do', 'try', 'mutable', 'noexcept'):
            return 'code' if before != '{' or outer == 'code' else 'list'
        arrow = '->' in head and before not in ('=', ',', '(', 'return')
        if before == ']' or (arrow and tokens[i - 1].kind == 'name' and ']' in head):
            return 'code'
        return 'class' if head[:1] in (['struct'], ['class'], ['union']) else 'list'
    if 'namespace' in head or 'extern' in head[:1] and before.startswith('"'):
        return 'space'
    if '(' not in head:
        return 'class' if {'class', 'struct', 'union', 'enum'} & set(head) else 'list'
    if before in ('=', ',', '(', 'return') or '=' in head and 'operator' not in head:
        return 'code' if before == ')' and ']' in head else 'list'
    in_initializers = ':' in head and tokens[i - 1].kind == 'name' and before not in (
        'const', 'noexcept', 'override', 'final')
    return 'list' if in_initializers else 'code'


def mark_code(tokens):
    kinds, start = ['space'], 0
    starts = []
    for i, token in enumerate(tokens):
        if token.text == '{' and token.kind == 'mark':
            kinds.append(kind_of_brace(tokens, i, start, kinds[-1]))
            starts.append(start)
            if kinds[-1] != 'list':
                start = i + 1
                token.block = True
        elif token.text == '}' and token.kind == 'mark' and len(kinds) > 1:
            kind, outer = kinds.pop(), starts.pop()
            start = outer if kind == 'list' else i + 1
        elif token.text == ';':
            start = i + 1
        token.code = 'code' in kinds


class File:
    """The mutants of one source."""

    def __init__(self, text):
        self.text = text
        self.tokens = tokens_of(text)
        self.mutants = []

    def add(self, operator, first, last, before, after, words=None):
        begin, end = self.tokens[first].begin, self.tokens[last].end
        words = words or f'{self.source(first, last)}'
        self.mutants.append(Mutant(operator, self.tokens[first].line, begin, end, before, after,
                                   ' '.join(words.split())))

    def source(self, first, last):
        return self.text[self.tokens[first].begin:self.tokens[last].end]

    def is_spaced(self, i):
        """Whether a binary operator stands there: of these the format has space on both sides."""
        token = self.tokens[i]
        return self.text[token.begin - 1].isspace() and self.text[token.end].isspace()

    def left(self, i, edges):
        """The first token of the operand that ends before i."""
        k = i - 1
        while k >= 0:
            token = self.tokens[k]
            if token.kind == 'mark' and token.text in OPEN.values():
                if token.text == '}' and self.is_block(token.partner):
                    break
                k = token.partner - 1
                continue
            if token.text in OPEN or self.is_edge(k, edges):
                break
            k -= 1
        return k + 1

    def right(self, i, edges):
        """The last token of the operand that begins behind i."""
        k = i + 1
        while k < len(self.tokens):
            token = self.tokens[k]
            if token.kind == 'mark' and token.text in OPEN:
                k = token.partner + 1
                continue
            unary = k == i + 1 and token.text in ('!', '&')
            if token.text in OPEN.values() or self.is_edge(k, edges) and not unary:
                break
            k += 1
        return k - 1

    def is_edge(self, k, edges):
        """Those of templates are none."""
        text = self.tokens[k].text
        return text in edges and (text not in '<>' or self.is_spaced(k))

    def is_block(self, brace):
        return self.tokens[brace].code and self.tokens[brace - 1].text in (
            ')', '{', '}', ';', 'else', 'do', 'try')

    def operands(self, i, edges):
        return self.left(i, edges), self.right(i, edges)

    def find(self):
        for i, token in enumerate(self.tokens):
            if not token.code or i == 0 or i + 1 == len(self.tokens):
                continue
            if token.kind == 'mark':
                self.find_at_mark(i, token)
            elif token.text in ('true', 'false') and self.tokens[i - 1].text == 'return':
                if self.tokens[i + 1].text == ';':
                    self.add('value', i, i, '@M@ != ', '', f'return {token.text}')
            elif token.text == 'if' and self.tokens[i + 1].text == '(':
                self.find_condition(i + 1)
        self.find_statements()
        return self.mutants

    def find_at_mark(self, i, token):
        if token.text in COMPARISONS and self.is_spaced(i):
            first, last = self.operands(i, COMPARISON_EDGES)
            other = COMPARISONS[token.text]
            a, b = self.source(first, i - 1), self.source(i + 1, last)
            self.add('compare', first, last, f'(@M@ ? ({a}) {other} ({b}) : (', '))',
                     f'{a} {token.text} {b} -> {other}')
        elif token.text in ('&&', '||') and self.is_spaced(i):
            first, last = self.operands(i, EDGES)
            begin, end = ('(@M@ || (', '))') if token.text == '&&' else ('(!@M@ && (', '))')
            whole = self.source(first, last)
            if self.tokens[first - 1].text not in ('&&', '||'):
                self.add('operand', first, i - 1, begin, end,
                         f'{whole} -> without {self.source(first, i - 1)}')
            self.add('operand', i + 1, last, begin, end,
                     f'{whole} -> without {self.source(i + 1, last)}')
        elif token.text in ('+', '-') and self.is_spaced(i):
            first = self.left(i, SUM_EDGES)
            last = self.right(i, SUM_EDGES | {'+', '-'})
            if any(t.kind == 'text' for t in self.tokens[first:last + 1]):
                return
            a, b = self.source(first, i - 1), self.source(i + 1, last)
            other = '-' if token.text == '+' else '+'
            self.add('sum', first, last, f'(@M@ ? ({a}) {other} ({b}) : (', '))',
                     f'{a} {token.text} {b} -> {other}')

    def find_condition(self, bracket):
        """A condition that is nothing but a value."""
        first, last = bracket + 1, self.tokens[bracket].partner - 1
        k = first
        while k <= last:
            text = self.tokens[k].text
            if text == ';':
                first = k + 1
            if self.tokens[k].kind == 'mark' and text in OPEN:
                k = self.tokens[k].partner + 1
                continue
            k += 1
        inside = {t.text for t in self.tokens[first:last + 1] if t.kind == 'mark'}
        if inside & (ASSIGNMENTS | set(COMPARISONS) | {'&&', '||'}) or first > last:
            return
        self.add('condition', first, last, '@M@ != static_cast<bool>(', ')',
                 f'if ({self.source(first, last)}) -> not')

    def find_statements(self):
        for i, token in enumerate(self.tokens):
            if token.block and token.code:
                self.find_in_block(i)

    def find_in_block(self, brace):
        """The statements of a block but for those of blocks in it."""
        begin = i = brace + 1
        while i < self.tokens[brace].partner:
            token = self.tokens[i]
            if token.kind == 'mark' and token.text in OPEN:
                i = token.partner + 1
                if token.block or token.text == '(' and self.is_header(begin):
                    begin = i
                continue
            i += 1
            if token.text == ';':
                if begin < i - 1 and self.is_expression(begin, i - 1):
                    self.find_statement(begin, i - 1)
                begin = i
            elif token.text == 'else':
                begin = i

    def is_header(self, begin):
        return self.tokens[begin].text in ('if', 'for', 'while', 'switch')

    def is_expression(self, begin, end):
        words = [t.text for t in self.tokens[begin:end]]
        if NO_EXPRESSION & set(words[:1]) or {'delete', 'default', 'override'} & set(words):
            return False
        if self.tokens[begin - 1].text == ':' and self.tokens[begin - 2].text in (
                'public', 'private', 'protected'):
            return False
        depth_zero = []
        k = begin
        while k < end:
            token = self.tokens[k]
            depth_zero.append(token)
            k = token.partner + 1 if token.kind == 'mark' and token.text in OPEN else k + 1
        head = []
        for token in depth_zero:
            if token.text in ASSIGNMENTS or token.text in OPEN:
                break
            head.append(token)
        for a, b in zip(head, head[1:]):
            if b.kind == 'name' and (a.kind == 'name' or a.text in ('>', '&', '*') and a is not head[0]):
                return False
        texts = {t.text for t in depth_zero}
        return bool(texts & (ASSIGNMENTS | {'(', '++', '--'}))

    def find_statement(self, begin, end):
        self.add('statement', begin, end, '{ if (!@M@) { ', ' } }',
                 f'{self.source(begin, end)} -> nothing')


LOCK = re.compile(
    r'(?P<lock>(?:const )?std::(?:unique|shared)_lock(?:<\w+>)? (?P<name>\w+))\((?P<what>[^;()]*)\);')


PART_LOCK = re.compile(r'const (?P<lock>(?:Shared)?(?:Stripes|Pages)Lock) (?P<name>\w+)\((?P<what>[^;]*)\);')


def locks_of(text):
    """Each lock that is not taken."""
    for match in PART_LOCK.finditer(text):
        line = text.count('\n', 0, match.start()) + 1
        yield Mutant('lock', line, match.start(), match.end(),
                     f"std::optional<{match['lock']}> {match['name']}; "
                     f"if (!@M@) {match['name']}.emplace({match['what']}); /*",
                     '*/', f'{match.group()} -> not taken')
    for match in LOCK.finditer(text):
        declared = match['lock'].removeprefix('const ')
        line = text.count('\n', 0, match.start()) + 1
        yield Mutant('lock', line, match.start(), match.end(),
                     f"{declared}({match['what']}, std::defer_lock); if (!@M@) {match['name']}.lock(); /*",
                     '*/', f'{match.group()} -> not taken')


def mutants_of(text, operators):
    found = list(locks_of(text)) if 'lock' in operators else []
    return found + [m for m in File(text).find() if m.operator in operators]


def rewrite(text, mutants):
    """`text` with these mutants, which have their ids."""
    if not mutants:
        return text
    opening, closing = {}, {}
    for mutant in sorted(mutants, key=lambda m: (m.begin - m.end, m.id)):  # outer ones first
        switch = f'::mutation::M({mutant.id})'
        opening.setdefault(mutant.begin, []).append(mutant.before.replace('@M@', switch))
        closing.setdefault(mutant.end, []).insert(0, mutant.after.replace('@M@', switch))
    pieces = []
    at = 0
    for place in sorted(set(opening) | set(closing)):
        pieces.append(text[at:place])
        pieces += closing.get(place, []) + opening.get(place, [])
        at = place
    pieces.append(text[at:])
    ids = [mutant.id for mutant in mutants]
    switch = SWITCH.replace('@COUNT@', str(max(ids) - min(ids) + 1)).replace('@FIRST@', str(min(ids)))
    return switch + '#line 1\n' + ''.join(pieces)
