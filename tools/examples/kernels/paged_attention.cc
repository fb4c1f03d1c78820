// Attention over a cache of keys and values whose pages this library maps: two answers go on from
// one prompt, whose pages they share, except for the last one, which each has copied.

#include <iostream>

#include "absl/status/statusor.h"
#include "api/address.h"
#include "api/executor.h"
#include "backend/cuda_driver.h"
#include "tools/examples/allocators/kv_cache.h"
#include "tools/examples/kernels/half_numbers.h"
#include "tools/examples/kernels/kernel_program.h"

namespace twinmmu {
namespace {

constexpr char kPtx[] =
#include "tools/examples/kernels/paged_attention.inc"
    ;

constexpr size_t kHeads = 2;
constexpr size_t kSize = 64;                        // of a key, of a value
constexpr size_t kToken = kHeads * 2 * kSize;       // halves
constexpr size_t kPrompt = 4100;                    // tokens: a page of 2 MiB holds 4096
constexpr size_t kAnswers[] = {kPrompt + 1, 4500};  // tokens, with those of the prompt

const DeviceOrdinal kDevice(0);

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::cerr << status << "\n";
  std::exit(1);
}
template <typename T>
T Check(absl::StatusOr<T> result) {
  Check(result.status());
  return *std::move(result);
}

Bytes SizeOf(size_t tokens) { return Bytes(tokens * kToken * sizeof(uint16_t)); }

// Memory for kernels, from the library too.
template <typename T>
DeviceAddress Copied(examples::KvCache* cache, Executor* executor, const std::vector<T>& values) {
  const Bytes size(values.size() * sizeof(T));
  const examples::KvCache::Sequence sequence = Check(cache->Add());
  Check(cache->Grow(sequence, size));
  const DeviceAddress address = Check(cache->RangeOf(sequence)).base;
  Check(executor->CopyHostToDevice(kDevice, address, values.data(), size));
  return address;
}

// By the definition, for one head.
std::vector<double> OnTheHost(const std::vector<float>& tokens, const float* query, size_t head) {
  std::vector<double> out(kSize);
  double weights = 0;
  for (size_t token = head * 2 * kSize; token < tokens.size(); token += kToken) {
    double score = 0;
    for (size_t i = 0; i < kSize; ++i) score += double{query[i]} * tokens[token + i];
    const double weight = std::exp(score / std::sqrt(double{kSize}));
    weights += weight;
    for (size_t i = 0; i < kSize; ++i) out[i] += weight * tokens[token + kSize + i];
  }
  for (double& value : out) value /= weights;
  return out;
}

int Run() {
  const auto driver = Check(OpenCudaDriver());
  Executor* const executor = Check(driver->executor());
  const auto cache = Check(examples::KvCache::Make(Check(driver->vmm()), executor));
  Numbers numbers;

  const std::vector<float> prompt = numbers.Fractions(kPrompt * kToken);
  const examples::KvCache::Sequence first = Check(cache->Add());
  Check(cache->Grow(first, SizeOf(kPrompt)));
  Check(executor->CopyHostToDevice(kDevice, Check(cache->RangeOf(first)).base,
                                   HalvesOf(prompt).data(), SizeOf(kPrompt)));

  const std::vector<float> queries = numbers.Fractions(2 * kHeads * kSize);
  std::vector<uint64_t> addresses;
  std::vector<int> lengths;
  std::vector<double> expected;
  for (const size_t length : kAnswers) {
    const std::vector<float> answer = numbers.Fractions((length - kPrompt) * kToken);
    const examples::KvCache::Sequence sequence = Check(cache->Fork(first, SizeOf(kPrompt)));
    Check(cache->Grow(sequence, SizeOf(length)));
    Check(cache->MakeWritable(sequence, SizeOf(kPrompt), SizeOf(length - kPrompt)));
    const DeviceAddress base = Check(cache->RangeOf(sequence)).base;
    Check(executor->CopyHostToDevice(kDevice, base + SizeOf(kPrompt), HalvesOf(answer).data(),
                                     SizeOf(length - kPrompt)));
    std::vector<float> tokens = prompt;
    tokens.insert(tokens.end(), answer.begin(), answer.end());
    for (size_t head = 0; head < kHeads; ++head) {
      const float* query = &queries[(addresses.size() * kHeads + head) * kSize];
      const std::vector<double> values = OnTheHost(tokens, query, head);
      expected.insert(expected.end(), values.begin(), values.end());
    }
    addresses.push_back(base.value());
    lengths.push_back(static_cast<int>(length));
  }

  DeviceAddress arguments[] = {Copied(cache.get(), executor, addresses),
                               Copied(cache.get(), executor, lengths),
                               Copied(cache.get(), executor, queries),
                               Copied(cache.get(), executor, std::vector<float>(queries.size()))};
  const Module module = Check(executor->LoadModule(kDevice, kPtx));
  LaunchConfig config;
  config.grid = {kHeads, 2, 1};
  config.block.x = 128;
  Check(executor->Launch(Stream(kDevice), Check(executor->GetKernel(module, "paged_attention")),
                         config, {&arguments[0], &arguments[1], &arguments[2], &arguments[3]}));
  std::vector<float> out(queries.size());
  Check(executor->CopyDeviceToHost(kDevice, out.data(), arguments[3],
                                   Bytes(out.size() * sizeof(float))));
  Check(executor->UnloadModule(module));
  return CompareNearly("numbers", out, expected, 1e-4);
}

}  // namespace
}  // namespace twinmmu

int main() { return twinmmu::Run(); }
