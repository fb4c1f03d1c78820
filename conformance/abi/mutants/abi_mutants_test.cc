// Each mutant of mutants.inc is found by its tests: the usual ones of the C interface, in a process
// of their own, on a driver that is wrong in one function. Of the two mutants of a function one is
// tried, and with --config=campaign both.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace {

struct Mutants {
  const char* tests;
  const char* function;
  const char* second;  // way in which it is wrong
  bool later = false;  // it is of the later driver
};
constexpr Mutants kMutants[] = {
#define TWINMMU_ABI_MUTANTS(tests, function) {tests, #function, "blind"},
#define TWINMMU_ABI_MUTANTS_OF_WILLING(tests, function) {tests, #function, "denying"},
#define TWINMMU_ABI_MUTANTS_OF_LATER(tests, function) {tests, #function, "blind", true},
#define TWINMMU_ABI_NO_MUTANTS(function, why)
#include "conformance/abi/mutants/mutants.inc"
};

// Functions that have none, and why.
const std::map<std::string, const char*>& WithoutMutants() {
  static const auto* const without = new std::map<std::string, const char*>{
#define TWINMMU_ABI_MUTANTS(tests, function)
#define TWINMMU_ABI_MUTANTS_OF_WILLING(tests, function)
#define TWINMMU_ABI_MUTANTS_OF_LATER(tests, function)
#define TWINMMU_ABI_NO_MUTANTS(function, why) {#function, why},
#include "conformance/abi/mutants/mutants.inc"
  };
  return *without;
}

// Functions of the simulated driver that do something, or say that they do, in their order.
std::vector<std::string> FunctionsThatWork() {
  enum Support { kModelled, kDeclared, kRefused };
  struct Export {
    Support support;
    const char* name;
  };
  constexpr Export kExports[] = {
#define TWINMMU_CUDA_EXPORT(support, name, symbol, version) {support, #name},
#include "third_party/cuda_abi/exports.inc"
  };
  std::vector<std::string> functions;
  for (const Export& one : kExports) {
    const bool known = !functions.empty() && functions.back() == one.name;
    if (one.support != kRefused && !known) functions.push_back(one.name);
  }
  return functions;
}

void PrintTo(const Mutants& mutants, std::ostream* out) { *out << mutants.function; }

constexpr unsigned int kMostSeconds = 30;

std::string* tests = nullptr;
std::string* mutant_driver = nullptr;
const char* drivers[2] = {};  // the usual one, and the later one

// Whether the tests pass, and in time: one that hangs has found a mutant, too.
bool Pass(const std::string& filter, const std::string& mutant, unsigned int most_seconds) {
  const pid_t child = fork();
  if (child == 0) {
    // What Bazel says is for this test, not for those.
    for (const char* const name :
         {"GTEST_OUTPUT", "GTEST_SHARD_INDEX", "GTEST_SHARD_STATUS_FILE", "GTEST_TOTAL_SHARDS",
          "TESTBRIDGE_TEST_ONLY", "TEST_PREMATURE_EXIT_FILE", "TEST_SHARD_INDEX",
          "TEST_SHARD_STATUS_FILE", "TEST_TOTAL_SHARDS", "XML_OUTPUT_FILE"}) {
      unsetenv(name);
    }
    setenv("TWINMMU_MUTANT", mutant.c_str(), 1);
    alarm(most_seconds);
    // What it says is of interest to nobody, but it would be taken for what this test says.
    if (std::freopen("/dev/null", "w", stdout) == nullptr) _exit(0);
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(0);
    const std::string driver = "--driver=" + *mutant_driver;
    const std::string only = "--gtest_filter=" + filter;
    execl(tests->c_str(), tests->c_str(), driver.c_str(), only.c_str(), nullptr);
    _exit(0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// How long the tests take without a mutant, rounded up; nothing if they do not pass.
std::optional<unsigned int> SecondsOf(const std::string& filter) {
  static auto* const known = new std::map<std::string, std::optional<unsigned int>>;
  const auto found = known->find(filter);
  if (found != known->end()) return found->second;
  const std::time_t start = std::time(nullptr);
  std::optional<unsigned int> seconds;
  if (Pass(filter, "", kMostSeconds)) seconds = std::time(nullptr) - start + 1;
  return known->emplace(filter, seconds).first->second;
}

class AbiMutantsTest : public testing::TestWithParam<Mutants> {};

TEST_P(AbiMutantsTest, AreFound) {
  setenv("TWINMMU_MUTATED_DRIVER", drivers[GetParam().later ? 1 : 0], 1);
  const std::optional<unsigned int> seconds = SecondsOf(GetParam().tests);
  ASSERT_TRUE(seconds.has_value());
  const auto expect_found = [&](const char* wrong) {
    const std::string mutant = absl::StrCat(GetParam().function, ":", wrong);
    EXPECT_FALSE(Pass(GetParam().tests, mutant, 5 * *seconds)) << wrong;
  };
  // By the length of its name: always the same one, and each way about as often as the other.
  const bool by_second = std::strlen(GetParam().function) % 2 == 1;
  const bool both = std::getenv("CAMPAIGN") != nullptr;
  if (!by_second || both) expect_found("nothing");
  if (by_second || both) expect_found(GetParam().second);
}

// No function that works is left out: it has mutants, or the list says why not.
TEST(MutantListTest, HasEachFunctionThatWorks) {
  std::set<std::string> tried;
  for (const Mutants& mutants : kMutants) tried.insert(mutants.function);
  const std::vector<std::string> functions = FunctionsThatWork();
  for (const std::string& function : functions) {
    const auto reason = WithoutMutants().find(function);
    if (reason == WithoutMutants().end()) {
      EXPECT_EQ(tried.count(function), 1u) << function << " has no mutants";
    } else {
      EXPECT_EQ(tried.count(function), 0u) << function << " has mutants, but: " << reason->second;
    }
  }
  EXPECT_EQ(functions.size(), tried.size() + WithoutMutants().size()) << "others are listed, too";
}

INSTANTIATE_TEST_SUITE_P(Functions, AbiMutantsTest, testing::ValuesIn(kMutants),
                         [](const auto& named) { return named.param.function; });

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 5) {
    std::fprintf(stderr, "usage: abi_mutants_test ABI_TEST MUTANT_DRIVER DRIVER LATER_DRIVER\n");
    return 2;
  }
  tests = new std::string(argv[1]);
  mutant_driver = new std::string(argv[2]);
  drivers[0] = argv[3];
  drivers[1] = argv[4];
  return RUN_ALL_TESTS();
}
