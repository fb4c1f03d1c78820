// main for LLVMFuzzerTestOneInput without libFuzzer: tries files, and what becomes of them when
// bytes change.
//
//   NAME MUTANTS FILE...                    a short test, the same in each run
//   NAME --seconds=S --seed=N FILE...       until the time is over; counts how many there were
//
// A long run writes what it is about to try to the file `input` of the current folder, which is
// there when that ended the process: `NAME 1 input` tries it again. What takes longer than a minute
// ends the process by SIGALRM.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Random = std::mt19937_64;

constexpr unsigned int kMostSeconds = 60;  // of one input
constexpr size_t kMostBytes = size_t{4} << 20;

void Try(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

std::string Repeated(const std::string& text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

// `other`: where inserted bytes are from.
void Change(std::string* input, const std::string& other, Random& random) {
  static const std::vector<std::string> kPieces = {
      "1e400", "-1",   "18446744073709551616", "null",    "{}", "[]", "\"\"", "\xff",
      "\0",    "\n\n", Repeated("[", 100'000), "\\u0000", "0x", "}",  "\"",   "9999999999"};
  const size_t at = random() % (input->size() + 1);
  switch (random() % 5) {
    case 0:
      if (at < input->size()) (*input)[at] = static_cast<char>(random());
      break;
    case 1:
      input->resize(at);
      break;
    case 2:
      input->insert(at, kPieces[random() % kPieces.size()]);
      break;
    case 3:
      input->erase(at, random() % 64);
      break;
    default:
      input->insert(at, other.substr(random() % (other.size() + 1), random() % 256));
  }
}

std::string Mutant(std::string input, const std::string& other, uint64_t changes, Random& random) {
  for (uint64_t change = 0; change < changes; ++change) Change(&input, other, random);
  return input;
}

std::string RandomBytes(Random& random) {
  std::string bytes(1 + random() % 400, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

void TryMutants(const std::vector<std::string>& files, long mutants) {
  Try("");
  for (size_t i = 0; i < files.size(); ++i) {
    Try(files[i]);
    Random random(i);
    for (long mutant = 0; mutant < mutants; ++mutant) {
      Try(Mutant(files[i], files[i], 1 + random() % 4, random));
    }
  }
}

// The file that says what is being tried.
class InputFile {
 public:
  InputFile() : file_(open("input", O_WRONLY | O_CREAT | O_CLOEXEC, 0666)) {}
  ~InputFile() { close(file_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  bool Write(const std::string& input) const {
    return ftruncate(file_, static_cast<off_t>(input.size())) == 0 &&
           pwrite(file_, input.data(), input.size(), 0) == static_cast<ssize_t>(input.size());
  }

 private:
  int file_;
};

int TryForSeconds(const std::vector<std::string>& files, long seconds, uint64_t seed) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  const InputFile file;
  Random random(seed);
  uint64_t count = 0;
  for (; std::chrono::steady_clock::now() < end; ++count) {
    const auto any = [&]() -> const std::string& { return files[random() % files.size()]; };
    const uint64_t changes = 1 + random() % (uint64_t{4} << random() % 5);
    std::string input =
        random() % 8 == 0 ? RandomBytes(random) : Mutant(any(), any(), changes, random);
    if (input.size() > kMostBytes) input.resize(kMostBytes);
    if (!file.Write(input)) {
      std::cerr << "cannot write the file input: " << std::strerror(errno) << "\n";
      return 2;
    }
    alarm(kMostSeconds);
    Try(input);
  }
  alarm(0);
  std::cout << count << " executions\n";
  return 0;
}

// What follows `option` in `argument`, or -1.
long ValueOf(const std::string& option, const std::string& argument) {
  if (argument.compare(0, option.size(), option) != 0) return -1;
  return std::strtol(argument.c_str() + option.size(), nullptr, 10);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const long seconds = arguments.empty() ? -1 : ValueOf("--seconds=", arguments[0]);
  const long seed = arguments.size() < 2 ? -1 : ValueOf("--seed=", arguments[1]);
  const long mutants = arguments.empty() ? -1 : ValueOf("", arguments[0]);
  const bool is_long = seconds > 0 && seed >= 0;
  const size_t first = is_long ? 2 : 1;
  if ((!is_long && mutants <= 0) || arguments.size() <= first) {
    std::cerr << "Usage: " << argv[0] << " MUTANTS FILE...\n       " << argv[0]
              << " --seconds=S --seed=N FILE...\n";
    return 2;
  }
  std::vector<std::string> files;
  for (size_t i = first; i < arguments.size(); ++i) {
    std::ifstream file(arguments[i], std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    if (files.back().empty()) {
      std::cerr << "cannot read " << arguments[i] << "\n";
      return 2;
    }
  }
  if (is_long) return TryForSeconds(files, seconds, static_cast<uint64_t>(seed));
  TryMutants(files, mutants);
  return 0;
}
