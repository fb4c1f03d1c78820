// Any handle that another process may have made up: events and memory of legacy IPC, fabric
// handles, pieces of pools, files of pools. It is refused, or what it names can be used and given
// back.
//
// The first byte says what it is, the second how it is finished; each nine bytes behind them are a
// word of it, by its number and value. What is not changed is as a driver gave it.

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "absl/types/span.h"
#include "sim/host/memory_label.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/process.h"
#include "sim/profile/profile.h"

namespace twinmmu::libcuda {

// What the backend does not call.
extern "C" CUresult cuCtxSetCurrent(CUcontext);
extern "C" CUresult cuIpcGetEventHandle(CUipcEventHandle*, CUevent);
extern "C" CUresult cuIpcOpenEventHandle(CUevent*, CUipcEventHandle);
extern "C" CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
extern "C" CUresult cuIpcGetMemHandle(CUipcMemHandle*, CUdeviceptr);
extern "C" CUresult cuIpcOpenMemHandle_v2(CUdeviceptr*, CUipcMemHandle, unsigned int);
extern "C" CUresult cuIpcCloseMemHandle(CUdeviceptr);
extern "C" CUresult cuMemPoolCreate(CUmemoryPool*, const CUmemPoolProps*);
extern "C" CUresult cuMemPoolDestroy(CUmemoryPool);
extern "C" CUresult cuMemAllocFromPoolAsync(CUdeviceptr*, size_t, CUmemoryPool, CUstream);
extern "C" CUresult cuMemFreeAsync(CUdeviceptr, CUstream);
extern "C" CUresult cuMemPoolExportToShareableHandle(void*, CUmemoryPool, CUmemAllocationHandleType,
                                                     unsigned long long);
extern "C" CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool*, void*,
                                                       CUmemAllocationHandleType,
                                                       unsigned long long);
extern "C" CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData*, CUdeviceptr);
extern "C" CUresult cuMemPoolImportPointer(CUdeviceptr*, CUmemoryPool, CUmemPoolPtrExportData*);

namespace {

constexpr auto kDescriptor = static_cast<CUmemAllocationHandleType>(1);
constexpr auto kFabric = static_cast<CUmemAllocationHandleType>(8);
constexpr unsigned int kInterprocess = 4 | 2;  // which have no time
constexpr size_t kPoolLabelWords = 11;

using Handle = std::array<uint64_t, 8>;
using Words = std::vector<uint64_t>;

void Require(bool holds) {
  if (!holds) std::abort();
}

void Start() {
  Require(cuInit(0) == CUDA_SUCCESS);
  Process::Get().Restart(*Profile::Named("fabric-permitted"));
  CUcontext context = nullptr;
  Require(cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
  Require(cuCtxSetCurrent(context) == CUDA_SUCCESS);
}

Handle EventHandle() {
  CUevent event = nullptr;
  CUipcEventHandle handle = {};
  Require(cuEventCreate(&event, kInterprocess) == CUDA_SUCCESS);
  Require(cuEventRecord(event, nullptr) == CUDA_SUCCESS);
  Require(cuIpcGetEventHandle(&handle, event) == CUDA_SUCCESS);
  Handle words = {};
  std::memcpy(words.data(), handle.reserved, sizeof(words));
  return words;
}

Handle MemoryHandle() {
  CUdeviceptr memory = 0;
  CUipcMemHandle handle = {};
  Require(cuMemAlloc_v2(&memory, 4096) == CUDA_SUCCESS);
  Require(cuIpcGetMemHandle(&handle, memory) == CUDA_SUCCESS);
  Handle words = {};
  std::memcpy(words.data(), handle.reserved, sizeof(words));
  return words;
}

Handle FabricHandle() {
  CUmemAllocationProp properties = {};
  properties.type = static_cast<decltype(properties.type)>(1);
  properties.location.type = static_cast<decltype(properties.location.type)>(1);
  properties.requestedHandleTypes = static_cast<decltype(properties.requestedHandleTypes)>(kFabric);
  CUmemGenericAllocationHandle memory = 0;
  Require(cuMemCreate(&memory, size_t{2} << 20, &properties, 0) == CUDA_SUCCESS);
  Handle words = {};
  Require(cuMemExportToShareableHandle(words.data(), memory, kFabric, 0) == CUDA_SUCCESS);
  return words;
}

// Of an event and of memory of a process that stays as long as this one: it opens none of its own.
std::array<Handle, 2> HandlesOfAnotherProcess() {
  int ends[2];
  Require(pipe(ends) == 0);
  const pid_t parent = getpid();
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    Start();
    const std::array<Handle, 2> given = {EventHandle(), MemoryHandle()};
    Require(write(ends[1], &given, sizeof(given)) == sizeof(given));
    for (;;) pause();
  }
  std::array<Handle, 2> given = {};
  Require(read(ends[0], &given, sizeof(given)) == sizeof(given));
  close(ends[0]);
  close(ends[1]);
  return given;
}

CUmemoryPool MakePool() {
  CUmemPoolProps properties = {};
  properties.allocType = 1;
  properties.location.type = 1;
  properties.handleTypes = 1;
  CUmemoryPool pool = nullptr;
  Require(cuMemPoolCreate(&pool, &properties) == CUDA_SUCCESS);
  return pool;
}

// What there is to change.
struct World {
  World() : of_another(HandlesOfAnotherProcess()) {
    Start();
    fabric = FabricHandle();
    CUmemoryPool pool = MakePool();
    CUdeviceptr piece = 0;
    Require(cuMemAllocFromPoolAsync(&piece, 4096, pool, nullptr) == CUDA_SUCCESS);
    int file = -1;
    Require(cuMemPoolExportToShareableHandle(&file, pool, kDescriptor, 0) == CUDA_SUCCESS);
    Require(pread(file, label.data(), sizeof(label), 0) == sizeof(label));
    auto* const number = reinterpret_cast<void*>(intptr_t{file});
    Require(cuMemPoolImportFromShareableHandle(&imported, number, kDescriptor, 0) == CUDA_SUCCESS);
    CUmemPoolPtrExportData data = {};
    Require(cuMemPoolExportPointer(&data, piece) == CUDA_SUCCESS);
    std::memcpy(part.data(), data.reserved, sizeof(part));
    close(file);
  }

  const std::array<Handle, 2> of_another;
  Handle fabric = {};
  CUmemoryPool imported = nullptr;
  Handle part = {};
  std::array<uint64_t, kPoolLabelWords> label = {};
};

void Finish(Words* words) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(words->data());
  words->back() = FingerprintOf(absl::MakeSpan(bytes, (words->size() - 1) * sizeof(uint64_t)));
}

void OpenEvent(const Words& words) {
  CUipcEventHandle handle = {};
  std::memcpy(handle.reserved, words.data(), sizeof(handle.reserved));
  CUevent event = nullptr;
  if (cuIpcOpenEventHandle(&event, handle) != CUDA_SUCCESS) return;
  cuEventQuery(event);
  Require(cuEventDestroy_v2(event) == CUDA_SUCCESS);
}

void OpenMemory(const Words& words) {
  CUipcMemHandle handle = {};
  std::memcpy(handle.reserved, words.data(), sizeof(handle.reserved));
  CUdeviceptr memory = 0;
  if (cuIpcOpenMemHandle_v2(&memory, handle, 1) != CUDA_SUCCESS) return;
  cuMemsetD8_v2(memory, 1, 1);
  Require(cuIpcCloseMemHandle(memory) == CUDA_SUCCESS);
}

void ImportFabric(Words words) {
  CUmemGenericAllocationHandle memory = 0;
  if (cuMemImportFromShareableHandle(&memory, words.data(), kFabric) != CUDA_SUCCESS) return;
  Require(cuMemRelease(memory) == CUDA_SUCCESS);
}

void ImportPiece(CUmemoryPool pool, const Words& words) {
  CUmemPoolPtrExportData data = {};
  std::memcpy(data.reserved, words.data(), sizeof(data.reserved));
  CUdeviceptr piece = 0;
  if (cuMemPoolImportPointer(&piece, pool, &data) != CUDA_SUCCESS) return;
  cuMemsetD8Async(piece, 1, 1, nullptr);
  Require(cuMemFreeAsync(piece, nullptr) == CUDA_SUCCESS);
  Require(cuStreamSynchronize(nullptr) == CUDA_SUCCESS);
}

// `how`: how long it is, and what it allows.
void ImportPool(const Words& words, uint8_t how) {
  const int file = memfd_create("forged", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  const auto length = static_cast<off_t>(how / 4) << 22;
  Require(file >= 0 && ftruncate(file, length) == 0);
  const size_t size = words.size() * sizeof(uint64_t);
  Require(pwrite(file, words.data(), size, 0) == static_cast<ssize_t>(size));
  fcntl(file, F_ADD_SEALS, (how & 2) != 0 ? F_SEAL_SHRINK : F_SEAL_SHRINK | F_SEAL_SEAL);
  CUmemoryPool pool = nullptr;
  auto* const number = reinterpret_cast<void*>(intptr_t{file});
  if (cuMemPoolImportFromShareableHandle(&pool, number, kDescriptor, 0) == CUDA_SUCCESS) {
    struct stat status = {};
    Require(fstat(file, &status) == 0);
    // A piece in its middle, if it has one.
    const uint64_t offset = static_cast<uint64_t>(length) / 2;
    Words part = {0x7472504d4d7754, status.st_ino, offset, 4096, 0, 0, 0, 0};
    Finish(&part);
    ImportPiece(pool, part);
    Require(cuMemPoolDestroy(pool) == CUDA_SUCCESS);
  }
  close(file);
}

void Change(const uint8_t* data, size_t size, Words* words) {
  constexpr size_t kChange = 1 + sizeof(uint64_t);
  for (; size >= kChange; data += kChange, size -= kChange) {
    std::memcpy(&(*words)[data[0] % words->size()], data + 1, sizeof(uint64_t));
  }
}

template <typename From>
Words ToWords(const From& from) {
  return Words(from.begin(), from.end());
}

void Try(const uint8_t* data, size_t size) {
  static const World* const world = new World;
  const Words all[] = {ToWords(world->of_another[0]), ToWords(world->fabric), ToWords(world->part),
                       ToWords(world->label), ToWords(world->of_another[1])};
  const uint8_t kind = data[0] % 5;
  Words words = all[kind];
  Change(data + 2, size - 2, &words);
  if ((data[1] & 1) == 0) Finish(&words);
  if (kind == 0) OpenEvent(words);
  if (kind == 1) ImportFabric(words);
  if (kind == 2) ImportPiece(world->imported, words);
  if (kind == 3) ImportPool(words, data[1]);
  if (kind == 4) OpenMemory(words);
}

}  // namespace
}  // namespace twinmmu::libcuda

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size >= 2) twinmmu::libcuda::Try(data, size);
  return 0;
}
