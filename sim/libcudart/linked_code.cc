#include "sim/libcudart/linked_code.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "sim/libcudart/runtime.h"

namespace twinmmu::cudart {
namespace {

constexpr int kFatBinaryInput = 2;  // CU_JIT_INPUT_FATBINARY
constexpr int kErrorLog = 5;        // CU_JIT_ERROR_LOG_BUFFER, and its size
constexpr int kErrorLogSize = 6;

struct ContainerHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t bytes;  // behind the header
};

// What each entry begins with.
struct EntryHeader {
  uint16_t kind;
  uint16_t attributes;
  uint32_t header_bytes;
  uint64_t bytes;  // behind the header
  uint32_t compressed_bytes;
  uint32_t options_offset;
  uint16_t minor;
  uint16_t major;
  uint32_t target;  // 90 for compute_90
};
constexpr uint16_t kPtx = 1;

// 90 for a device of compute capability 9.0.
uint32_t Target() {
  constexpr int kMajor = 75;
  constexpr int kMinor = 76;
  int device = 0;
  int major = 0;
  int minor = 0;
  CurrentDevice(&device);
  driver.cuDeviceGetAttribute(&major, kMajor, device);
  driver.cuDeviceGetAttribute(&minor, kMinor, device);
  return static_cast<uint32_t>(10 * major + minor);
}

template <typename Header>
Header HeaderAt(const void* place) {
  Header header;
  std::memcpy(&header, place, sizeof(header));
  return header;
}

// A part that has no code for the device is not needed if the others name nothing of it: every
// program has the toolkit's own part, for kernels that launch kernels.
cudaError_t AddParts(CUlinkState link, const void* const* parts) {
  for (; *parts != nullptr; ++parts) {
    if (!HasCode(*parts)) continue;
    const auto header = HeaderAt<ContainerHeader>(*parts);
    const cudaError_t error =
        driver.cuLinkAddData_v2(link, kFatBinaryInput, *parts, header.header_bytes + header.bytes,
                                nullptr, 0, nullptr, nullptr);
    if (error != cudaSuccess && error != cudaErrorNoKernelImageForDevice) return error;
  }
  return cudaSuccess;
}

}  // namespace

bool HasCode(const void* image) {
  const auto container = HeaderAt<ContainerHeader>(image);
  const char* entry = static_cast<const char*>(image) + container.header_bytes;
  const char* const end = entry + container.bytes;
  const uint32_t target = Target();
  while (entry < end) {
    const auto header = HeaderAt<EntryHeader>(entry);
    if (!driver.is_simulated) return true;
    if (header.kind == kPtx && header.target <= target) return true;
    entry += header.header_bytes + header.bytes;
  }
  return false;
}

namespace {

// Code is linked in a context: while this lives, in that of the device, if the thread has none that
// is alive.
class LinkingContext {
 public:
  LinkingContext() {
    driver.cuCtxGetCurrent(&before_);
    CUcontext same = nullptr;
    const cudaError_t state = driver.twinmmuContext(&same);
    if (before_ != nullptr && state != cudaErrorContextIsDestroyed) return;
    CUcontext primary = nullptr;
    is_set_ = PrimaryContext(ChosenDevice(), &primary) == cudaSuccess &&
              driver.cuCtxSetCurrent(primary) == cudaSuccess;
  }
  ~LinkingContext() {
    if (is_set_) driver.cuCtxSetCurrent(before_);
  }
  LinkingContext(const LinkingContext&) = delete;
  LinkingContext& operator=(const LinkingContext&) = delete;

 private:
  CUcontext before_ = nullptr;
  bool is_set_ = false;
};

}  // namespace

cudaError_t LinkAndLoad(const void* const* parts, cudaLibrary_t* library) {
  const LinkingContext context;
  static std::atomic<bool> said{false};
  char log[512] = {};
  int options[] = {kErrorLog, kErrorLogSize};
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log) - 1)};
  CUlinkState link = nullptr;
  cudaError_t error = driver.cuLinkCreate_v2(2, options, values, &link);
  if (error != cudaSuccess) return error;
  void* image = nullptr;
  size_t size = 0;
  error = AddParts(link, parts);
  if (error == cudaSuccess) error = driver.cuLinkComplete(link, &image, &size);
  if (error != cudaSuccess) {
    std::string words = std::string("warning: the program's device code cannot be linked: ") + log;
    // What the toolkit has in machine code only.
    if (words.find("__cudaCDP") != std::string::npos) {
      words += "\n  what to do: run it on a GPU; kernels that launch kernels are not simulated";
    }
    WarnOnce(said, words.c_str());
  }
  if (error == cudaSuccess) {
    error = driver.cuLibraryLoadData(library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
  }
  driver.cuLinkDestroy(link);
  return error;
}

}  // namespace twinmmu::cudart
