// SHA-256, a message a thread. Messages lie one behind the other.

#include <cstdint>

__constant__ uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ uint32_t Rotate(uint32_t word, int by) { return __funnelshift_r(word, word, by); }

// The words of the last 16 rounds are kept in a ring.
__device__ void Compress(uint32_t (&state)[8], uint32_t (&words)[16]) {
  uint32_t s[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) s[i] = state[i];
#pragma unroll 16
  for (int round = 0; round < 64; ++round) {
    uint32_t& word = words[round % 16];
    if (round >= 16) {
      const uint32_t a = words[(round + 1) % 16];
      const uint32_t b = words[(round + 14) % 16];
      word += (Rotate(a, 7) ^ Rotate(a, 18) ^ a >> 3) + words[(round + 9) % 16] +
              (Rotate(b, 17) ^ Rotate(b, 19) ^ b >> 10);
    }
    const uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    const uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    const uint32_t first = s[7] + (Rotate(s[4], 6) ^ Rotate(s[4], 11) ^ Rotate(s[4], 25)) + choice +
                           kRound[round] + word;
    const uint32_t second = (Rotate(s[0], 2) ^ Rotate(s[0], 13) ^ Rotate(s[0], 22)) + majority;
#pragma unroll
    for (int i = 7; i > 0; --i) s[i] = s[i - 1];
    s[4] += first;
    s[0] = first + second;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) state[i] += s[i];
}

__device__ uint32_t ByteAt(const uint8_t* message, uint32_t length, uint32_t at, uint32_t padded) {
  if (at < length) return message[at];
  if (at == length) return 0x80;
  const uint32_t from_end = padded - 1 - at;  // the last eight bytes are the length in bits
  return from_end < 8 ? static_cast<uint32_t>(uint64_t{length} * 8 >> 8 * from_end) & 0xff : 0;
}

extern "C" __global__ void sha256(const uint8_t* messages, const uint32_t* begins,
                                  uint32_t* digests, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const uint8_t* message = messages + begins[i];
  const uint32_t length = begins[i + 1] - begins[i];
  const uint32_t padded = (length + 9 + 63) / 64 * 64;
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  for (uint32_t block = 0; block < padded; block += 64) {
    uint32_t words[16];
#pragma unroll
    for (uint32_t w = 0; w < 16; ++w) {
      words[w] = 0;
      for (uint32_t byte = 0; byte < 4; ++byte) {
        words[w] = words[w] << 8 | ByteAt(message, length, block + 4 * w + byte, padded);
      }
    }
    Compress(state, words);
  }
  for (int word = 0; word < 8; ++word) digests[8 * i + word] = state[word];
}
