// Contexts, their limits, and green contexts.

#include "conformance/abi/values/cases/all_cases.h"
#include "conformance/abi/values/cases/case_objects.h"

namespace twinmmu::abi {
namespace {

// CUexecAffinityParam, CUctxCreateParams
struct Affinity {
  int type;
  unsigned int count;
};
struct CreateParams {
  Affinity* affinities;
  int count;
  void* graphics;
};

void Create(Trial& trial, CreateParams* params, unsigned int flags, int device) {
  CUcontext context = nullptr;
  const CUresult result = Call("cuCtxCreate_v4", &context, params, flags, device);
  trial.Answer(result);
  if (result == CUDA_SUCCESS) {
    unsigned int told = 0;
    Must("cuCtxGetFlags", &told);
    trial.Tell(told);
    Must("cuCtxDestroy_v2", context);
  }
  Must("cuCtxSetCurrent", PrimaryContext());
}
void CreatePlain(Trial& trial) {
  unsigned int flags = 0;
  int device = 0;
  trial.Any(FIELD(flags));
  trial.Any(FIELD(device));
  Create(trial, nullptr, flags, device);
}
void CreateWithAffinity(Trial& trial) {
  Affinity affinity = {0, 8};
  CreateParams params = {&affinity, 1, nullptr};
  unsigned int flags = 0;
  trial.Any(FIELD(affinity.type));
  trial.Any(FIELD(affinity.count));
  trial.UpTo(1, FIELD(params.count));
  trial.Any(FIELD(flags));
  Create(trial, &params, flags, 0);
}
void SetFlags(Trial& trial) {
  unsigned int flags = 0;
  trial.Any(FIELD(flags));
  trial.Answer(Call("cuCtxSetFlags", flags));
  unsigned int told = 0;
  Must("cuCtxGetFlags", &told);
  trial.Tell(told);
  Must("cuCtxSetFlags", 0);
}
void SetPrimaryFlags(Trial& trial) {
  unsigned int flags = 0;
  trial.Any(FIELD(flags));
  trial.Answer(Call("cuDevicePrimaryCtxSetFlags_v2", 0, flags));
  unsigned int told = 0;
  int is_active = 0;
  Must("cuDevicePrimaryCtxGetState", 0, &told, &is_active);
  trial.Tell(told, is_active);
  Must("cuDevicePrimaryCtxSetFlags_v2", 0, 0);
}

// Some are as large as the device's memory allows.
constexpr uint64_t kLargestStack = 2048;
constexpr uint64_t kLargestBuffer = 16 * kMiB;

void GetLimit(Trial& trial) {
  int limit = 0;
  trial.Any(FIELD(limit));
  size_t value = 77;
  trial.Answer(Call("cuCtxGetLimit", &value, limit));
  trial.Tell(value);
}
void SetLimit(Trial& trial, int limit, uint64_t most) {
  size_t before = 0;
  const bool is_known = Call("cuCtxGetLimit", &before, limit) == CUDA_SUCCESS;
  size_t value = 1024;
  trial.UpTo(most, FIELD(value));
  trial.Answer(Call("cuCtxSetLimit", limit, value));
  if (!is_known) return;
  size_t told = 0;
  Must("cuCtxGetLimit", &told, limit);
  if (told == value) {
    trial.Add("kept");
  } else {
    trial.Tell(told);
  }
  Call("cuCtxSetLimit", limit, before);
}
void SetStack(Trial& trial) { SetLimit(trial, CU_LIMIT_STACK_SIZE, kLargestStack); }
void SetPrintf(Trial& trial) { SetLimit(trial, CU_LIMIT_PRINTF_FIFO_SIZE, kLargestBuffer); }
void SetHeap(Trial& trial) { SetLimit(trial, CU_LIMIT_MALLOC_HEAP_SIZE, kLargestBuffer); }
void SetDepth(Trial& trial) { SetLimit(trial, 3, kLargestSize); }
void SetPending(Trial& trial) {
  SetLimit(trial, CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, kLargestStack);
}
void SetFetch(Trial& trial) { SetLimit(trial, CU_LIMIT_MAX_L2_FETCH_GRANULARITY, kLargestSize); }
void SetPersisting(Trial& trial) {
  SetLimit(trial, CU_LIMIT_PERSISTING_L2_CACHE_SIZE, kLargestSize);
}
void SetShared(Trial& trial) { SetLimit(trial, CU_LIMIT_SHMEM_SIZE, kLargestSize); }
void SetGraphics(Trial& trial) { SetLimit(trial, CU_LIMIT_CIG_ENABLED, kLargestSize); }
void SetAnyLimit(Trial& trial) {
  int limit = 0;
  trial.Any(FIELD(limit));
  size_t before = 0;
  const bool is_known = Call("cuCtxGetLimit", &before, limit) == CUDA_SUCCESS;
  trial.Answer(Call("cuCtxSetLimit", limit, 1024));
  if (is_known) Call("cuCtxSetLimit", limit, before);
}

void SetConfig(Trial& trial, const char* set, const char* get) {
  int config = 0;
  trial.Any(FIELD(config));
  trial.Answer(Call(set, config));
  int told = 77;
  trial.Answer(Call(get, &told));
  trial.Tell(told);
  Call(set, 0);
}
void SetCacheConfig(Trial& trial) {
  SetConfig(trial, "cuCtxSetCacheConfig", "cuCtxGetCacheConfig");
}
void SetSharedConfig(Trial& trial) {
  SetConfig(trial, "cuCtxSetSharedMemConfig", "cuCtxGetSharedMemConfig");
}
// Here of the context itself, which is no peer.
void EnablePeer(Trial& trial) {
  unsigned int flags = 0;
  trial.Any(FIELD(flags));
  trial.Answer(Call("cuCtxEnablePeerAccess", PrimaryContext(), flags));
}

// CUdevResource
struct Resource {
  int type;
  unsigned char of_driver[92];
  unsigned int count;
  unsigned char rest[44];
};
static_assert(sizeof(Resource) == 144);
constexpr int kMultiprocessors = 1;

void ResourceOf(Trial& trial, const char* symbol, const void* owner) {
  int type = kMultiprocessors;
  trial.Any(FIELD(type));
  Resource resource = {};
  const CUresult result = Call(symbol, owner, &resource, type);
  trial.Answer(result);
  if (result == CUDA_SUCCESS) trial.Tell(resource.type, resource.count);
}
void ResourceOfContext(Trial& trial) { ResourceOf(trial, "cuCtxGetDevResource", PrimaryContext()); }
void ResourceOfDevice(Trial& trial) { ResourceOf(trial, "cuDeviceGetDevResource", nullptr); }

Resource WholeDevice() {
  Resource whole = {};
  Must("cuDeviceGetDevResource", 0, &whole, kMultiprocessors);
  return whole;
}
void Split(Trial& trial) {
  constexpr unsigned int kMostGroups = 200;
  static Resource groups[kMostGroups];
  const Resource whole = WholeDevice();
  Resource rest = {};
  unsigned int count = 4;
  unsigned int flags = 0;
  unsigned int least = 8;
  trial.UpTo(kMostGroups, FIELD(count));
  trial.Any(FIELD(flags));
  trial.Any(FIELD(least));
  const CUresult result =
      Call("cuDevSmResourceSplitByCount", groups, &count, &whole, &rest, flags, least);
  trial.Answer(result);
  if (result == CUDA_SUCCESS) trial.Tell(count, groups[0].count, rest.count);
}
void CountGroups(Trial& trial) {
  const Resource whole = WholeDevice();
  unsigned int count = 0;
  unsigned int flags = 0;
  unsigned int least = 8;
  trial.Any(FIELD(flags));
  trial.Any(FIELD(least));
  trial.Answer(Call("cuDevSmResourceSplitByCount", nullptr, &count, &whole, nullptr, flags, least));
  trial.Tell(count);
}
void* PartOfDevice() {
  const Resource whole = WholeDevice();
  Resource group = {};
  Resource rest = {};
  unsigned int count = 1;
  Must("cuDevSmResourceSplitByCount", &group, &count, &whole, &rest, 0, 16);
  void* description = nullptr;
  Must("cuDevResourceGenerateDesc", &description, &group, 1);
  return description;
}
void CreateGreen(Trial& trial) {
  unsigned int flags = 1;
  int device = 0;
  trial.Any(FIELD(flags));
  trial.Any(FIELD(device));
  void* context = nullptr;
  const CUresult result = Call("cuGreenCtxCreate", &context, PartOfDevice(), device, flags);
  trial.Answer(result);
  if (result == CUDA_SUCCESS) Must("cuGreenCtxDestroy", context);
}
void CreateGreenStream(Trial& trial) {
  static void* const green = [] {
    void* made = nullptr;
    Must("cuGreenCtxCreate", &made, PartOfDevice(), 0, 1);
    return made;
  }();
  unsigned int flags = 1;
  int priority = 0;
  trial.Any(FIELD(flags));
  trial.Any(FIELD(priority));
  CUstream stream = nullptr;
  const CUresult result = Call("cuGreenCtxStreamCreate", &stream, green, flags, priority);
  trial.Answer(result);
  if (result == CUDA_SUCCESS) Must("cuStreamDestroy_v2", stream);
}

}  // namespace

std::vector<Case> ContextCases() {
  return {{"cuCtxCreate", CreatePlain},
          {"cuCtxCreate/affinity", CreateWithAffinity},
          {"cuCtxSetFlags", SetFlags},
          {"cuDevicePrimaryCtxSetFlags", SetPrimaryFlags},
          {"cuCtxGetLimit", GetLimit},
          {"cuCtxSetLimit/stack", SetStack},
          {"cuCtxSetLimit/printf", SetPrintf},
          {"cuCtxSetLimit/heap", SetHeap},
          {"cuCtxSetLimit/depth", SetDepth},
          {"cuCtxSetLimit/pending", SetPending},
          {"cuCtxSetLimit/fetch", SetFetch},
          {"cuCtxSetLimit/persisting", SetPersisting},
          {"cuCtxSetLimit/shared", SetShared},
          {"cuCtxSetLimit/graphics", SetGraphics},
          {"cuCtxSetLimit/any", SetAnyLimit},
          {"cuCtxSetCacheConfig", SetCacheConfig},
          {"cuCtxSetSharedMemConfig", SetSharedConfig},
          {"cuCtxEnablePeerAccess", EnablePeer},
          {"cuCtxGetDevResource", ResourceOfContext},
          {"cuDeviceGetDevResource", ResourceOfDevice},
          {"cuDevSmResourceSplitByCount", Split},
          {"cuDevSmResourceSplitByCount/count", CountGroups},
          {"cuGreenCtxCreate", CreateGreen},
          {"cuGreenCtxStreamCreate", CreateGreenStream}};
}

}  // namespace twinmmu::abi
