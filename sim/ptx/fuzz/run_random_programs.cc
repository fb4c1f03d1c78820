// main for LLVMFuzzerTestOneInput with bytes that depend on a number: many programs without
// libFuzzer, and each of them again.
//
//   run_random_programs FIRST COUNT
//
// A program that crashes, or takes longer than a minute, ends it, and its number is the last word.

#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

volatile unsigned long long g_program = 0;

extern "C" void SayWhich(int signal_number) {
  char text[96];
  const unsigned long long program = g_program;
  const int size =
      std::snprintf(text, sizeof(text), "program %llu: signal %d\n", program, signal_number);
  if (write(STDERR_FILENO, text, static_cast<size_t>(size)) < 0) _exit(2);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s FIRST COUNT\n", argv[0]);
    return 2;
  }
  for (const int number : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGALRM}) {
    signal(number, SayWhich);
  }
  const unsigned long long first = std::strtoull(argv[1], nullptr, 10);
  const unsigned long long count = std::strtoull(argv[2], nullptr, 10);
  for (unsigned long long i = first; i < first + count; ++i) {
    g_program = i;
    alarm(60);
    std::mt19937_64 random(i);
    std::vector<uint8_t> bytes(20 + random() % 300);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  alarm(0);
  std::printf("%llu programs\n", count);
  return 0;
}
