// Streams that write words and wait for them, and that call functions of the host. A stream waits
// only for what it has written itself before.

#include <algorithm>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/kernels/launch_world.h"
#include "conformance/abi/random/program_world.h"
#include "conformance/abi/streams/batch_operations.h"

namespace twinmmu::abi {
namespace {

struct Word {
  CUdeviceptr address = 0;
  std::string name;
};

// A word that is there; or, now and then, none or half of one.
bool FindWord(ProgramWorld& world, Word* word) {
  if (world.OneIn(16)) {
    const CUdeviceptr address = world.Of<CUdeviceptr>({0, 4096, 2});
    *word = {address, std::to_string(address)};
    return true;
  }
  CUdeviceptr base = 0;
  std::string name;
  if (!world.pinned.empty() && (world.blocks.empty() || world.OneIn(4))) {
    const auto& pinned = world.One(world.pinned);
    base = AddressOf(pinned.handle);
    name = pinned.name;
  } else if (!world.blocks.empty()) {
    const RandomBlock& block = world.OneBlock();
    const size_t offset = world.OneIn(2) ? 0 : world.Below(block.size) / 8 * 8;
    base = block.base + offset;
    name = block.name + "+" + std::to_string(offset);
  } else {
    return false;
  }
  const size_t wrong = world.OneIn(16) ? world.Of<size_t>({1, 2, 4}) : 0;
  *word = {base + wrong, name + (wrong == 0 ? "" : "+" + std::to_string(wrong))};
  return true;
}

uint64_t AnyValue(ProgramWorld& world) {
  return world.Of<uint64_t>({0, 1, 5, 0x7fff'ffff, 0x8000'0000, 0xffff'fffe, 0x1'0000'0000,
                             0x1234'5678'9abc'def0, ~uint64_t{0} - 1});
}

// For what a stream may wait that has written `written`: the condition is true.
uint64_t SatisfiedBy(ProgramWorld& world, uint64_t written, unsigned condition) {
  switch (condition & ~kFlush) {
    case kGeq:
      return written - world.Of<uint64_t>({0, 1, 1000});
    case kAnd:
      return ~uint64_t{0};
    case kNor:
      return world.OneIn(2) ? 0 : written;
    default:
      return written;
  }
}

void WriteAndWait(ProgramWorld& world) {
  Word word;
  if (!FindWord(world, &word)) return;
  std::string name;
  const CUstream stream = StreamFor(world, &name);
  const bool wide = world.OneIn(2);
  const unsigned write_flags = world.OneIn(10) ? world.Of({1u, 2u, 4u}) : 0;
  const uint64_t value = AnyValue(world);
  const auto half = static_cast<uint32_t>(value);
  const CUresult written = wide ? cuStreamWriteValue64(stream, word.address, value, write_flags)
                                : cuStreamWriteValue32(stream, word.address, half, write_flags);
  world.Say(written, wide ? "cuStreamWriteValue64" : "cuStreamWriteValue32", name, word.name, value,
            write_flags);
  if (world.OneIn(3)) return;
  unsigned condition = world.Of({kGeq, kEqual, kEqual, kAnd, kNor});
  if (condition == kAnd && (wide ? value : half) == 0) condition = kEqual;
  const uint64_t expected = SatisfiedBy(world, value, condition);
  // Refused ones, which do not wait.
  if (world.OneIn(8)) condition |= world.Of({4u, 8u, 1u << 29, kFlush, kFlush | 4});
  const bool refused = (condition & (4u | 8u | 1u << 29)) != 0;
  if (written != CUDA_SUCCESS && !refused) return;
  if (wide) {
    world.Say(cuStreamWaitValue64(stream, word.address, expected, condition), "cuStreamWaitValue64",
              name, word.name, expected, condition);
  } else {
    const auto lower = static_cast<uint32_t>(expected);
    world.Say(cuStreamWaitValue32(stream, word.address, lower, condition), "cuStreamWaitValue32",
              name, word.name, lower, condition);
  }
}

// Writes and waits for the same word, some barriers, and one time in five what nobody can do.
std::vector<CUstreamBatchMemOpParams> AnyBatch(ProgramWorld& world, CUdeviceptr word,
                                               std::string* words) {
  std::vector<CUstreamBatchMemOpParams> batch;
  std::ostringstream text;
  const size_t count = world.Below(4);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t value = AnyValue(world);
    const bool wide = world.OneIn(2);
    const unsigned condition = world.Of({kGeq, kEqual});
    const bool waits = world.OneIn(2);
    batch.push_back(Operation(
        wide ? CU_STREAM_MEM_OP_WRITE_VALUE_64 : CU_STREAM_MEM_OP_WRITE_VALUE_32, word, value));
    if (waits) {
      batch.push_back(
          Operation(wide ? CU_STREAM_MEM_OP_WAIT_VALUE_64 : CU_STREAM_MEM_OP_WAIT_VALUE_32, word,
                    value, condition));
    }
    text << value << ' ' << wide << ' ' << waits << ' ' << condition << ' ';
  }
  if (world.OneIn(3)) {
    const unsigned type = world.Of({0u, 1u, 2u});
    batch.push_back(Fence(CU_STREAM_MEM_OP_BARRIER, type));
    text << "barrier " << type << ' ';
  }
  if (world.OneIn(5)) {
    const int type = world.Of({0, 7, 99, -1, 3});
    batch.push_back(type == 3 ? Fence(CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES, 0)
                              : Operation(type, word, 1));
    text << "operation " << type;
  }
  *words = text.str();
  return batch;
}

void Batch(ProgramWorld& world) {
  Word word;
  if (!FindWord(world, &word)) return;
  std::string name;
  const CUstream stream = StreamFor(world, &name);
  std::string words;
  std::vector<CUstreamBatchMemOpParams> batch = AnyBatch(world, word.address, &words);
  const unsigned flags = world.OneIn(12) ? 1 : 0;
  const auto count = static_cast<unsigned>(batch.size());
  batch.reserve(1);  // so that there is an array, whatever is in it
  world.Say(cuStreamBatchMemOp(stream, count, batch.data(), flags), "cuStreamBatchMemOp", name,
            word.name, count, flags, words);
}

// --- Functions of the host -----------------------------------------------------------------------

void Count(void* count) { ++*static_cast<int*>(count); }

TWINMMU_ANY_TYPES void CountSuccess(CUstream, CUresult result, void* count) {
  *static_cast<int*>(count) += result == CUDA_SUCCESS ? 1 : 100;
}

void CallHost(ProgramWorld& world) {
  std::string name;
  const CUstream stream = StreamFor(world, &name);
  const bool right = !world.OneIn(8);
  const unsigned flags = world.OneIn(8) ? 1 : 0;
  int called = 0;
  bool done = false;
  if (world.OneIn(2)) {
    done = world.Say(cuLaunchHostFunc(stream, right ? Count : nullptr, &called), "cuLaunchHostFunc",
                     name, right);
  } else {
    done = world.Say(cuStreamAddCallback(stream, right ? CountSuccess : nullptr, &called, flags),
                     "cuStreamAddCallback", name, right, flags);
  }
  cuStreamSynchronize(stream);
  if (done) world.Gave(called);
}

// --- Events --------------------------------------------------------------------------------------

void UseEvent(ProgramWorld& world) {
  if (world.events.empty()) return;
  const auto& event = world.One(world.events);
  std::string name;
  const CUstream stream = StreamFor(world, &name);
  switch (world.Below(4)) {
    case 0: {
      const unsigned flags = world.Of({0u, 0u, 0u, 1u, 4u});
      world.Say(cuEventRecordWithFlags(event.handle, stream, flags), "cuEventRecordWithFlags",
                event.name, name, flags);
      return;
    }
    case 1:
      world.Say(cuEventSynchronize(event.handle), "cuEventSynchronize", event.name);
      return;
    case 2: {
      const unsigned flags = world.Of({0u, 0u, 0u, 1u, 8u});
      world.Say(cuStreamWaitEvent(stream, event.handle, flags), "cuStreamWaitEvent", name,
                event.name, flags);
      return;
    }
    default: {
      if (!world.Say(cuEventRecord(event.handle, stream), "cuEventRecord", event.name, name)) {
        return;
      }
      world.Say(cuEventSynchronize(event.handle), "cuEventSynchronize", event.name);
      world.Say(cuEventQuery(event.handle), "cuEventQuery", event.name);
    }
  }
}

// Such as there are not, of which each driver says the same.
void CallWithNothing(ProgramWorld& world) {
  CUevent event = nullptr;
  CUstream stream = nullptr;
  const unsigned flags = world.Of({0x80u, 4u, 5u, 7u, 16u});
  switch (world.Below(6)) {
    case 0:
      world.Say(cuEventRecord(nullptr, nullptr), "cuEventRecord", "none");
      return;
    case 1:
      world.Say(cuEventQuery(nullptr), "cuEventQuery", "none");
      return;
    case 2:
      world.Say(cuEventSynchronize(nullptr), "cuEventSynchronize", "none");
      return;
    case 3:
      world.Say(cuStreamWaitEvent(nullptr, nullptr, flags), "cuStreamWaitEvent", "none", flags);
      return;
    case 4:
      stream = world.Of({CUstream{nullptr}, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD});
      world.Say(cuStreamDestroy(stream), "cuStreamDestroy", AddressOf(stream));
      return;
    default:
      if (world.Say(cuEventCreate(&event, flags), "cuEventCreate", flags)) {
        world.Say(cuEventDestroy(event), "cuEventDestroy");
      }
  }
}

}  // namespace

RandomSteps WaitSteps() {
  return {{14, WriteAndWait}, {8, Batch}, {8, CallHost}, {12, UseEvent}, {2, CallWithNothing}};
}

}  // namespace twinmmu::abi
