"""Which changes of a source are found, and what becomes of it with their switches in."""

import unittest

import mutants

ALL = ['compare', 'operand', 'condition', 'sum', 'value', 'statement']


def body(statements):
    return 'namespace a {\nint F(int a, int b) {\n  ' + statements + '\n}\n}\n'


def changes(statements, operators):
    return [mutant.words for mutant in mutants.mutants_of(body(statements), operators)]


def with_switches(statements, operators):
    found = mutants.mutants_of(body(statements), operators)
    for number, mutant in enumerate(found, 1):
        mutant.id = number
    text = mutants.rewrite(body(statements), found)
    return text[text.index('#line 1'):].splitlines()[3].strip()


class MutantsTest(unittest.TestCase):

    def test_a_comparison_is_off_by_one(self):
        self.assertEqual(with_switches('return a < b;', ['compare']),
                         'return (::mutation::M(1) ? (a) <= (b) : (a < b));')

    def test_each_side_of_a_condition_is_left_out(self):
        self.assertEqual(with_switches('return a && !b;', ['operand']),
                         'return (::mutation::M(1) || (a)) && (::mutation::M(2) || (!b));')
        self.assertEqual(with_switches('return a || b;', ['operand']),
                         'return (!::mutation::M(1) && (a)) || (!::mutation::M(2) && (b));')

    def test_a_value_as_a_condition_is_turned(self):
        self.assertEqual(with_switches('if (const int c = a; f(c)) b = 1;', ['condition']),
                         'if (const int c = a; ::mutation::M(1) != static_cast<bool>(f(c))) b = 1;')

    def test_a_statement_is_left_out_and_an_else_stays_where_it_is(self):
        self.assertEqual(with_switches('if (a) f(); else ++b;', ['statement']),
                         'if (a) { if (!::mutation::M(1)) { f(); } } else { if (!::mutation::M(2)) { ++b; } }')

    def test_changes_nest(self):
        self.assertEqual(
            with_switches('return a + 1 < b;', ['compare', 'sum']).count('::mutation::M('), 2)

    def test_declarations_templates_and_texts_stay(self):
        for statements in ['std::vector<int> c(a);', 'const int c = a;', 'auto&& c = a;',
                           'std::map<int, std::vector<int>> c;', 'f<int>::type c;', 'return;']:
            self.assertEqual(changes(statements, ALL), [], statements)
        self.assertEqual(changes('g("a < b && c", 1);', ['compare', 'operand']), [])

    def test_nothing_outside_of_functions_changes(self):
        source = 'namespace a {\nconstexpr bool b = 1 < 2;\nstruct C { bool d = b && true; };\n}\n'
        self.assertEqual(mutants.mutants_of(source, ALL), [])

    def test_statements_of_lambdas_are_found(self):
        self.assertIn('++b; -> nothing', changes('g([&](int c) { ++b; });', ['statement']))

    def test_a_lock_is_not_taken(self):
        text = with_switches('const std::unique_lock lock(m);', ['lock'])
        self.assertIn('std::unique_lock lock(m, std::defer_lock); if (!::mutation::M(1)) lock.lock();', text)
        text = with_switches('const StripesLock lock(m, f(a));', ['lock'])
        self.assertIn('std::optional<StripesLock> lock; if (!::mutation::M(1)) lock.emplace(m, f(a));', text)


unittest.main()
