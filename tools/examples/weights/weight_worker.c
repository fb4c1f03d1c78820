/* A worker of weight_sharing.c. It has the weights of all layers behind each other in one range of
 * addresses, read-only, and computes with them. When the server ends it goes on, keeps the
 * descriptors, and offers them to the next server: what was imported cannot be exported again. */

#define _GNU_SOURCE
#include <stddef.h>
#include <sys/un.h>
#include <time.h>

#include "tools/examples/check.h"
#include "tools/examples/weights/weight_sharing.h"

/* Adds up the first word of each line of 128 bytes, times its number. */
static const char kPtx[] =
    ".version 7.5\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry checksum(.param .u64 sum, .param .u64 weights, .param .u32 lines) {\n"
    "  .reg .b64 %sum, %weights, %line, %product, %total;\n"
    "  .reg .b32 %lines, %i, %next, %threads, %block, %blocks, %thread, %word;\n"
    "  .reg .pred %is_over;\n"
    "  ld.param.u64 %sum, [sum];\n"
    "  ld.param.u64 %weights, [weights];\n"
    "  ld.param.u32 %lines, [lines];\n"
    "  mov.u32 %block, %ctaid.x;\n"
    "  mov.u32 %blocks, %nctaid.x;\n"
    "  mov.u32 %threads, %ntid.x;\n"
    "  mov.u32 %thread, %tid.x;\n"
    "  mad.lo.u32 %i, %block, %threads, %thread;\n"
    "  mul.lo.u32 %threads, %threads, %blocks;\n"
    "  mov.u64 %total, 0;\n"
    "again:\n"
    "  setp.ge.u32 %is_over, %i, %lines;\n"
    "  @%is_over bra done;\n"
    "  mul.wide.u32 %line, %i, 128;\n"
    "  add.u64 %line, %weights, %line;\n"
    "  ld.global.u32 %word, [%line];\n"
    "  add.u32 %next, %i, 1;\n"
    "  mul.wide.u32 %product, %word, %next;\n"
    "  add.u64 %total, %total, %product;\n"
    "  add.u32 %i, %i, %threads;\n"
    "  bra again;\n"
    "done:\n"
    "  red.global.add.u64 [%sum], %total;\n"
    "  ret;\n"
    "}\n";

struct worker {
  const char* address; /* of the server */
  int server;          /* the connection to it */
  struct weights weights;
  CUdevice device;
  CUdeviceptr base;
  size_t size; /* of all layers */
  CUmodule module;
  CUfunction checksum;
  CUdeviceptr sum;
};

/* The starter listens as well, so that this succeeds while there is no server: the next one will
 * find who came. */
static void connect_to_server(struct worker* worker, enum kind hello) {
  struct sockaddr_un name;
  const size_t length = strlen(worker->address);
  memset(&name, 0, sizeof(name));
  name.sun_family = AF_UNIX;
  memcpy(name.sun_path + 1, worker->address, length); /* An abstract name begins with a 0. */
  worker->server = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  EXPECT(worker->server != -1, "no socket");
  EXPECT(connect(worker->server, (const struct sockaddr*)&name,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) == 0,
         "nobody listens at the server's address");
  EXPECT(send_message(worker->server, hello, 0, NULL), "the server is gone");
}

static void map_weights(struct worker* worker) {
  const CUmemAccessDesc grant = grant_to(worker->device, CU_MEM_ACCESS_FLAGS_PROT_READ);
  size_t offset = 0;
  int layer;
  for (layer = 0; layer < kLayers; ++layer) worker->size += worker->weights.sizes[layer];
  CHECK(cuMemAddressReserve(&worker->base, worker->size, 0, 0, 0));
  for (layer = 0; layer < kLayers; ++layer) {
    const size_t size = worker->weights.sizes[layer];
    CUmemGenericAllocationHandle handle;
    CHECK(cuMemImportFromShareableHandle(&handle, (void*)(size_t)worker->weights.descriptors[layer],
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    CHECK(cuMemMap(worker->base + offset, size, 0, handle, 0));
    CHECK(cuMemRelease(handle)); /* The mapping keeps the memory. */
    offset += size;
  }
  /* Reported: */
  CHECK(cuMemSetAccess(worker->base, worker->size, &grant, 1));
}

static uint64_t compute(struct worker* worker) {
  unsigned int lines = (unsigned int)(worker->size / kLineWords / sizeof(uint32_t));
  CUdeviceptr sum = worker->sum;
  void* arguments[] = {&sum, &worker->base, &lines};
  uint64_t result = 0;
  CHECK(cuMemsetD8(worker->sum, 0, sizeof(result)));
#ifdef PLANTED_BUG
  sum = worker->base; /* Wrong: these are the weights of all workers. */
#endif
  /* Reported: */
  CHECK(cuLaunchKernel(worker->checksum, 16, 1, 1, 128, 1, 1, 0, NULL, arguments, NULL));
  CHECK(cuCtxSynchronize());
  CHECK(cuMemcpyDtoH(&result, worker->sum, sizeof(result)));
  return result;
}

static void let_go(struct worker* worker) {
  CHECK(cuMemUnmap(worker->base, worker->size)); /* All layers at once. */
  CHECK(cuMemAddressFree(worker->base, worker->size));
  close_weights(&worker->weights);
  close(worker->server); /* It has nothing to offer to the next one. */
  worker->server = -1;
}

/* How many granules are free by letting go: none, as long as another process has the weights. Waits
 * a second at most for `expected`, as a driver may free memory a little later. */
static size_t granules_freed(struct worker* worker, size_t expected) {
  const struct timespec moment = {0, 10 * 1000 * 1000};
  const size_t before = free_memory();
  size_t freed = 0;
  int tries;
  let_go(worker);
  for (tries = 0; tries < 100; ++tries) {
    freed = (free_memory() - before) / granularity_of(worker->device);
    if (freed == expected) break;
    nanosleep(&moment, NULL);
  }
  return freed;
}

static void hear_server(struct worker* worker) {
  struct message message;
  if (receive_message(worker->server, &message, NULL)) {
    EXPECT(message.kind == kGive, "the server says what nobody understands");
    send_message(worker->server, kWeights, 0, &worker->weights);
  } else { /* It has ended. */
    close(worker->server);
    connect_to_server(worker, kHave);
  }
}

/* Returns 0 when the starter lets go. */
static int hear_starter(struct worker* worker, int control) {
  struct message message;
  uint64_t result = 0;
  if (!receive_message(control, &message, NULL)) return 0;
  if (message.kind == kCompute) result = compute(worker);
  if (message.kind == kLetGo && message.value == 0) let_go(worker);
  if (message.kind == kLetGo && message.value != 0) result = granules_freed(worker, message.value);
  return send_message(control, kDone, result, NULL);
}

void run_worker(const char* address, int control) {
  struct worker worker = {address, -1, {{0}, {-1, -1, -1, -1}}, 0, 0, 0, NULL, NULL, 0};
  struct message message;
  CHECK(cuInit(0));
  worker.device = use_device(0);
  CHECK(cuModuleLoadData(&worker.module, kPtx));
  CHECK(cuModuleGetFunction(&worker.checksum, worker.module, "checksum"));
  CHECK(cuMemAlloc(&worker.sum, sizeof(uint64_t)));
  connect_to_server(&worker, kNeed);
  EXPECT(receive_message(worker.server, &message, &worker.weights), "no weights came");
  map_weights(&worker);
  for (;;) {
    struct pollfd waits[2] = {{control, POLLIN, 0}, {worker.server, POLLIN, 0}};
    EXPECT(await_any(waits, 2), "nobody needs the worker");
    if (waits[1].revents != 0) hear_server(&worker);
    if (waits[0].revents != 0 && !hear_starter(&worker, control)) break;
  }
  CHECK(cuMemFree(worker.sum));
  CHECK(cuModuleUnload(worker.module));
  CHECK(cuDevicePrimaryCtxRelease(worker.device));
}
