"""Makes small changes in a sample of sources, and says which of them no test notices.

Usage: tools/checks/mutate.sh [--count=N] [--seed=N] [--per-file=N] [--files=REGEX] [--operators=A,B]
                              [--tests=REGEX] [--jobs=N] [--seconds=N] [--only=N,N]

All changes of the sample are compiled at once, each behind a switch that is read when a program
runs (mutants.py), and the sources are as before when this ends. Of each test it is first seen which
changes it reaches and how long it takes; then every change is tried on the tests that reach it, the
quick ones first, until one fails. A test that takes longer than --seconds is left out. Prints a
line for each survivor. The same options, but for tests, give the same changes, by the same numbers:
--only tries some of them again.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import itertools
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

import mutants as mutation

OPERATORS = ['compare', 'operand', 'condition', 'sum', 'value', 'statement']
UNIVERSE = '//api/... + //backend/... + //sim/... + //conformance/... + //tools/...'
BAZEL = 'tools/bazel'


def digest(seed, *words):
    return hashlib.sha256(f'{seed} {words}'.encode()).hexdigest()


def sources():
    listed = subprocess.run(['git', 'ls-files', 'api', 'backend', 'sim'], check=True,
                            capture_output=True, text=True).stdout.split()
    other = re.compile(r'_test\.cc$|_tests\.cc$|_benchmark\.cc$|_fuzzer\.cc$|(^|/)(testing|tests|fuzz|testdata|'
                       r'comparison|litmus)/|fake_|update_|write_|_main\.cc$')
    return [path for path in listed if path.endswith('.cc') and not other.search(path)]


def choose(options):
    """The sample, by file."""
    chosen, count = {}, 0
    for path in sorted(sources(), key=lambda path: digest(options.seed, path)):
        if not re.search(options.files, path):
            continue
        text = pathlib.Path(path).read_text()
        found = mutation.mutants_of(text, options.operators)
        found.sort(key=lambda m: digest(options.seed, path, m.begin, m.end, m.operator))
        found = found[:min(options.per_file, options.count - count)]
        if not found:
            continue
        for mutant in sorted(found, key=lambda m: (m.begin, m.operator)):
            count += 1
            mutant.id = count
        chosen[path] = (text, found)
        if count >= options.count:
            break
    return chosen


def write(chosen, dropped=frozenset()):
    for path, (text, found) in chosen.items():
        kept = [mutant for mutant in found if mutant.id not in dropped]
        pathlib.Path(path).write_text(mutation.rewrite(text, kept))


def restore(chosen):
    for path, (text, _) in chosen.items():
        pathlib.Path(path).write_text(text)


def bazel(*arguments):
    return subprocess.run([BAZEL, *arguments], capture_output=True, text=True)


def tests_of(chosen, options):
    """Label to arguments, of all tests that the changed sources are in."""
    files = ' + '.join(label_of(path) for path in chosen)
    query = f'kind("cc_test|sh_test", rdeps({UNIVERSE}, {files}))'
    # What Bazel itself brings for tests may not be there; it is in none of them.
    answer = bazel('query', '--noshow_progress', '--noimplicit_deps', '--keep_going', '--output=xml', query)
    if not answer.stdout:
        sys.exit(answer.stderr)
    tests = {}
    for rule in xml.etree.ElementTree.fromstring(answer.stdout).iter('rule'):
        values = {entry.get('name'): [value.get('value') for value in entry.iter('string')]
                  for entry in rule.iter('list')}
        label = rule.get('name')
        needs_device = any('requires' in tag for tag in values.get('tags', []))
        if not needs_device and re.search(options.tests, label):
            tests[label] = [expand(word, label) for word in values.get('args', [])]
    return tests


def label_of(path):
    folder = pathlib.Path(path).parent
    while not (folder / 'BUILD.bazel').exists():
        folder = folder.parent
    return f'//{folder}:{pathlib.Path(path).relative_to(folder)}'


def expand(word, label):
    def place(match):
        name = match[1]
        if not name.startswith('//'):
            name = label.split(':')[0] + ':' + name.removeprefix(':')
        return name.removeprefix('//').replace(':', '/')
    return re.sub(r'\$\((?:rootpath|location) ([^)]*)\)', place, word)


def build(chosen, tests):
    """Builds the tests; returns the numbers of the changes that do not compile."""
    dropped = set()
    while True:
        write(chosen, dropped)
        answer = bazel('build', '--noshow_progress', '--keep_going', *tests)
        if answer.returncode == 0:
            return dropped
        wrong = set()
        for path, line in set(re.findall(r'^([\w/.]+\.cc):(\d+):\d+: (?:fatal )?error', answer.stderr, re.M)):
            if path not in chosen:
                continue
            text, found = chosen[path]
            here = [m for m in found if m.id not in dropped]
            hit = {m.id for m in here if m.line <= int(line) <= m.line + text.count('\n', m.begin, m.end)}
            wrong |= hit or {m.id for m in here}
        if not wrong:
            sys.exit(answer.stderr[-5000:])
        dropped |= wrong
        print(f'{len(dropped)} do not compile', flush=True)


class Test:
    def __init__(self, label, arguments):
        self.label = label
        path = label.removeprefix('//').replace(':', '/')
        self.program = os.path.abspath(f'bazel-bin/{path}')
        self.folder = self.program + '.runfiles/twinmmu'
        self.arguments = arguments
        self.seconds = 0.0
        self.reached = set()

    def run(self, limit, **variables):
        """The exit code; None if it takes longer."""
        with tempfile.TemporaryDirectory(prefix='mutant') as scratch:
            environment = {'PATH': os.environ['PATH'], 'HOME': scratch, 'TEST_TMPDIR': scratch,
                           'TEST_SRCDIR': os.path.dirname(self.folder), 'GTEST_FAIL_FAST': '1',
                           'TEST_WORKSPACE': 'twinmmu', **variables}
            with subprocess.Popen([self.program, *self.arguments], cwd=self.folder, env=environment,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, start_new_session=True) as process:
                try:
                    return process.wait(limit)
                except subprocess.TimeoutExpired:
                    return None
                finally:
                    try:
                        os.killpg(process.pid, signal.SIGKILL)  # also what it has left
                    except ProcessLookupError:
                        pass

    def look(self, limit):
        """Without a change: how long it takes, and what it reaches. Whether it can be used."""
        with tempfile.TemporaryDirectory(prefix='mutants') as scratch:
            file = pathlib.Path(scratch) / 'reached'
            if self.run(3 * limit, MUTANTS_REACHED=str(file)) != 0:
                return False
            start = time.monotonic()
            passed = self.run(limit) == 0
            self.seconds = time.monotonic() - start
            if file.exists():
                self.reached = {int(line) for line in file.read_text().split()}
            return passed


def look_at(labels, options):
    """The tests that can be used, the quick ones first."""
    tests = [Test(label, arguments) for label, arguments in labels.items()]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        usable = list(pool.map(lambda test: test.look(options.seconds), tests))
    for test in itertools.compress(tests, (not use for use in usable)):
        print(f'{test.label} does not pass in {options.seconds:.0f} s', flush=True)
    return sorted(itertools.compress(tests, usable), key=lambda test: test.seconds)


def try_one(mutant, tests):
    """The test that notices the change; None if none does."""
    for test in tests:
        if mutant.id not in test.reached:
            continue
        if test.run(10 + 5 * test.seconds, MUTANT=str(mutant.id)) != 0:
            return test
    return None


def words_of(path, mutant):
    return f'{path}:{mutant.line}: {mutant.operator} {mutant.id}: {mutant.words[:160]}'


def try_all(chosen, dropped, tests, options):
    """Of each change the test that notices it, or None. Says at once what is not noticed."""
    todo = [(path, mutant) for path, (_, found) in chosen.items() for mutant in found
            if mutant.id not in dropped and (not options.only or mutant.id in options.only)]
    reached = set().union(*(test.reached for test in tests))
    killers = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda entry: try_one(entry[1], tests), todo)
        for (path, mutant), killer in zip(todo, results):
            killers[mutant.id] = killer
            if killer is None:
                what = 'survives' if mutant.id in reached else 'is reached by no test'
                print(f'{words_of(path, mutant)} {what}', flush=True)
    return killers, reached


def report(killers, reached, dropped):
    by_test = collections.Counter(test.label for test in killers.values() if test is not None)
    print('noticed by:')
    for label, count in by_test.most_common():
        print(f'{count:5} {label}')
    left = [number for number, test in killers.items() if test is None]
    unreached = sum(number not in reached for number in left)
    print(f'{len(killers)} changes, {len(killers) - len(left)} noticed, {len(left)} not '
          f'({unreached} of them reached by no test), {len(dropped)} do not compile')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--count', type=int, default=1000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--per-file', type=int, default=40)
    parser.add_argument('--files', default='')
    parser.add_argument('--operators', type=lambda text: text.split(','), default=OPERATORS)
    parser.add_argument('--tests', default='')
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    parser.add_argument('--seconds', type=float, default=30)
    parser.add_argument('--only', type=lambda text: {int(word) for word in text.split(',')}, default=())
    options = parser.parse_args()
    if subprocess.run(['git', 'status', '--porcelain', '-uno', 'api', 'backend', 'sim'],
                      capture_output=True, text=True, check=True).stdout:
        sys.exit('mutate: api, backend or sim have changes that are not committed')
    start = time.monotonic()
    chosen = choose(options)
    count = sum(len(found) for _, found in chosen.values())
    print(f'{count} changes in {len(chosen)} files', flush=True)
    missing = set(options.only) - {mutant.id for _, found in chosen.values() for mutant in found}
    if missing:
        sys.exit(f'mutate: there are no changes {sorted(missing)}')
    labels = tests_of(chosen, options)
    try:
        dropped = build(chosen, labels)
        built = time.monotonic()
        print(f'{len(labels)} tests built in {built - start:.0f} s', flush=True)
        tests = look_at(labels, options)
        looked = time.monotonic()
        print(f'{len(tests)} tests looked at in {looked - built:.0f} s', flush=True)
        killers, reached = try_all(chosen, dropped, tests, options)
    finally:
        restore(chosen)
    report(killers, reached, dropped)
    print(f'{time.monotonic() - start:.0f} s, of which {time.monotonic() - looked:.0f} s to try them')


main()
