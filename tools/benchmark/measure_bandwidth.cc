#include <cstdint>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "tools/benchmark/calls.h"
#include "tools/benchmark/sections.h"
#include "tools/benchmark/timing.h"

namespace twinmmu {
namespace {

constexpr Bytes kSize = GiB(8);
constexpr int kSamples = 21;
constexpr int kRunsPerSample = 8;  // queued together, so that starting them is not what is measured
constexpr uint64_t kSeed = 7;

// Mapped memory of the device, of one allocation.
class Memory {
 public:
  Memory(Driver& driver, Bytes size) : calls_(driver), range_(calls_.Reserve(size)) {
    handle_ = calls_.Create(size);
    calls_.Map(range_, handle_);
    calls_.SetAccess(range_);
  }
  ~Memory() {
    calls_.Unmap(range_);
    calls_.Release(handle_);
    calls_.AddressFree(range_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  const AddressRange& range() const { return range_; }

 private:
  InterfaceCalls calls_;
  AddressRange range_;
  AllocationHandle handle_;
};

struct Work {
  std::string name;
  Bytes moved;  // read and written
  std::function<absl::Status()> start;
  std::vector<double> bandwidths;
};

// The works take turns.
void Measure(Executor& executor, Stream stream, std::vector<Work>& works) {
  for (int sample = -1; sample < kSamples; ++sample) {  // the first only warms up
    for (Work& work : works) {
      const double nanoseconds = Time([&] {
        for (int i = 0; i < kRunsPerSample; ++i) Require(work.start());
        Require(executor.SynchronizeStream(stream));
      });
      const auto moved = static_cast<double>(work.moved.value()) * kRunsPerSample;
      if (sample >= 0) work.bandwidths.push_back(moved / nanoseconds * 1e9);
    }
  }
}

void RequireNoMismatch(Executor& executor, DeviceAddress result) {
  VerifyResult found;
  Require(executor.CopyDeviceToHost(kDevice, &found, result, Bytes(sizeof(found))));
  if (found.mismatches == 0) return;
  std::cerr << "verify found " << found.mismatches << " words that fill did not write\n";
  std::exit(1);
}

}  // namespace

Table MeasureBandwidth(Driver& cuda) {
  Table table{"Bandwidth",
              "8 GiB of mapped memory on a stream: the median and the quartiles of 21 samples, by "
              "turns. Counted is what is read plus what is written: a copy does both, fill only "
              "writes, verify only reads.",
              {"what", "bytes a second", "of the copy"},
              {}};
  Executor& executor = **cuda.executor();
  absl::StatusOr<Kernels> kernels = Kernels::Load(&executor, kDevice);
  Require(kernels.status());
  const absl::StatusOr<Stream> stream = executor.CreateStream(kDevice);
  Require(stream.status());
  const Memory a(cuda, kSize);
  const Memory b(cuda, kSize);
  const Memory small(cuda, kGranule);
  const DeviceAddress result = small.range().base;
  const AddressRange& range = a.range();
  std::vector<Work> works = {
      {"cuMemcpyDtoDAsync",
       2 * kSize,
       [&] { return executor.CopyDeviceToDevice(*stream, b.range().base, range.base, kSize); },
       {}},
      {"cuMemsetD32Async",
       kSize,
       [&] {
         return executor.Fill(*stream, b.range().base, FillPattern{1, Bytes(4)}, kSize / Bytes(4));
       },
       {}},
      {"fill", kSize, [&] { return kernels->Fill(*stream, range, kSeed); }, {}},
      {"verify", kSize, [&] { return kernels->Verify(*stream, range, kSeed, result); }, {}},
  };
  Measure(executor, *stream, works);
  RequireNoMismatch(executor, result);
  const double copy = SpreadOf(works[0].bandwidths).median;
  for (const Work& work : works) {
    const Spread spread = SpreadOf(work.bandwidths);
    table.rows.push_back(Row{
        work.name,
        {Cell{spread, Unit::kBytesPerSecond}, Cell{Exactly(spread.median / copy), Unit::kTimes}}});
  }
  Require(executor.DestroyStream(*stream));
  return table;
}

}  // namespace twinmmu
