// main of a short test of LLVMFuzzerTestOneInput: the files of the command line, and what becomes
// of them when bytes change. The same in each run.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Random = std::mt19937_64;

void Try(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

std::string Repeated(const std::string& text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

std::string Mutant(std::string input, Random& random) {
  static const std::vector<std::string> kPieces = {
      "1e400", "-1",   "18446744073709551616", "null",    "{}", "[]", "\"\"", "\xff",
      "\0",    "\n\n", Repeated("[", 100'000), "\\u0000", "0x", "}",  "\"",   "9999999999"};
  const uint64_t changes = 1 + random() % 4;
  for (uint64_t change = 0; change < changes; ++change) {
    const size_t at = random() % (input.size() + 1);
    switch (random() % 5) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(random());
        break;
      case 1:
        input.resize(at);
        break;
      case 2:
        input.insert(at, kPieces[random() % kPieces.size()]);
        break;
      case 3:
        input.erase(at, random() % 64);
        break;
      default:
        input.insert(at, input.substr(random() % (input.size() + 1), random() % 256));
    }
  }
  return input;
}

}  // namespace

// Arguments: how many mutants of each seed, then the seeds.
int main(int argc, char** argv) {
  const long mutants = argc > 2 ? std::strtol(argv[1], nullptr, 10) : 0;
  if (mutants <= 0) {
    std::cerr << "Usage: " << argv[0] << " MUTANTS SEED_FILE...\n";
    return 2;
  }
  Try("");
  for (int i = 2; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    const std::string seed{std::istreambuf_iterator<char>(file), {}};
    if (seed.empty()) {
      std::cerr << "cannot read " << argv[i] << "\n";
      return 2;
    }
    Try(seed);
    Random random(static_cast<uint64_t>(i));
    for (long mutant = 0; mutant < mutants; ++mutant) Try(Mutant(seed, random));
  }
  return 0;
}
