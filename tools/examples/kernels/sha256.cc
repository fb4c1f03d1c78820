// SHA-256 of messages of all lengths up to three blocks, and of one whose digest is well known.

#include <algorithm>
#include <string>

#include "tools/examples/kernels/kernel_program.h"

namespace {

constexpr char kPtx[] =
#include "tools/examples/kernels/sha256.inc"
    ;

uint32_t Rotate(uint32_t word, int by) { return word >> by | word << (32 - by); }

// The first bits of the roots of the first primes: nothing is shared with the kernel.
std::vector<uint32_t> RootsOfPrimes(size_t count, bool cubic) {
  std::vector<uint32_t> bits;
  for (int number = 2; bits.size() < count; ++number) {
    bool prime = true;
    for (int divisor = 2; divisor < number; ++divisor) prime = prime && number % divisor != 0;
    if (!prime) continue;
    const double root = cubic ? std::cbrt(number) : std::sqrt(number);
    bits.push_back(static_cast<uint32_t>((root - std::floor(root)) * 4294967296.0));
  }
  return bits;
}

void Compress(const unsigned char* block, std::vector<uint32_t>* state) {
  static const std::vector<uint32_t> round_words = RootsOfPrimes(64, true);
  uint32_t w[64];
  for (int i = 0; i < 16; ++i) {
    const unsigned char* at = block + 4 * i;
    w[i] = uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 | at[3];
  }
  for (int i = 16; i < 64; ++i) {
    w[i] = w[i - 16] + (Rotate(w[i - 15], 7) ^ Rotate(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
           (Rotate(w[i - 2], 17) ^ Rotate(w[i - 2], 19) ^ w[i - 2] >> 10);
  }
  std::vector<uint32_t> s = *state;
  for (int i = 0; i < 64; ++i) {
    const uint32_t first = s[7] + (Rotate(s[4], 6) ^ Rotate(s[4], 11) ^ Rotate(s[4], 25)) +
                           ((s[4] & s[5]) ^ (~s[4] & s[6])) + round_words[i] + w[i];
    const uint32_t second = (Rotate(s[0], 2) ^ Rotate(s[0], 13) ^ Rotate(s[0], 22)) +
                            ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    std::rotate(s.begin(), s.end() - 1, s.end());
    s[4] += first;
    s[0] = first + second;
  }
  for (size_t i = 0; i < 8; ++i) (*state)[i] += s[i];
}

std::vector<uint32_t> OnTheHost(std::string message) {
  const uint64_t bits = uint64_t{message.size()} * 8;
  message.push_back('\x80');
  while (message.size() % 64 != 56) message.push_back('\0');
  for (int shift = 56; shift >= 0; shift -= 8) message.push_back(static_cast<char>(bits >> shift));
  std::vector<uint32_t> state = RootsOfPrimes(8, false);
  for (size_t at = 0; at < message.size(); at += 64) {
    Compress(reinterpret_cast<const unsigned char*>(message.data() + at), &state);
  }
  return state;
}

}  // namespace

int main() {
  const KernelModule module(kPtx);
  Numbers numbers;
  std::vector<std::string> messages = {"abc"};
  for (int length = 0; length < 192; ++length) {
    messages.emplace_back();
    for (int i = 0; i < length; ++i) messages.back().push_back(static_cast<char>(numbers.Next()));
  }
  std::vector<uint8_t> bytes;
  std::vector<uint32_t> begins = {0};
  std::vector<uint32_t> expected;
  for (const std::string& message : messages) {
    bytes.insert(bytes.end(), message.begin(), message.end());
    begins.push_back(static_cast<uint32_t>(bytes.size()));
    const std::vector<uint32_t> digest = OnTheHost(message);
    expected.insert(expected.end(), digest.begin(), digest.end());
  }
  EXPECT(expected[0] == 0xba7816bf && expected[7] == 0xf20015ad, "the host is wrong");
  const DeviceArray<uint8_t> in(bytes);
  const DeviceArray<uint32_t> begins_of_messages(begins);
  const DeviceArray<uint32_t> digests(expected.size());
  const int count = static_cast<int>(messages.size());
  module.Launch("sha256", {4, 64}, in.address(), begins_of_messages.address(), digests.address(),
                count);
  return Compare("words of digests", digests.Read(), expected);
}
