/* A captured graph, and memory that sleeps. A graph keeps addresses, not memory: after a sleep the
 * program brings back all of its memory, and captures its work again.
 */

#include "tools/examples/check.h"

struct Block {
  CUdeviceptr address;
  CUmemGenericAllocationHandle handle;
};

static CUdevice device;
static size_t size;

/* Puts memory behind the addresses of a block. */
static void wake(struct Block* block) {
  const CUmemAllocationProp properties = memory_of(device);
  const CUmemAccessDesc grant = grant_to(device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  CHECK(cuMemCreate(&block->handle, size, &properties, 0));
  CHECK(cuMemMap(block->address, size, 0, block->handle, 0));
  CHECK(cuMemSetAccess(block->address, size, &grant, 1));
}

static void put_to_sleep(struct Block* block) {
  /* Reported: */
  CHECK(cuMemUnmap(block->address, size));
  CHECK(cuMemRelease(block->handle));
}

/* One step: what is in the weights goes to the output. */
static CUgraphExec capture_step(CUstream stream, const struct Block* weights,
                                const struct Block* output) {
  CUgraph graph;
  CUgraphExec step;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(cuMemcpyDtoDAsync(output->address, weights->address, size, stream));
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiateWithFlags(&step, graph, 0));
  CHECK(cuGraphDestroy(graph));
  return step;
}

static void run_step(CUgraphExec step, CUstream stream, const struct Block* output) {
  unsigned int result = 0;
  /* Reported: */
  CHECK(cuGraphLaunch(step, stream));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemcpyDtoH(&result, output->address, sizeof(result)));
  printf("output: %u\n", result);
}

int main(void) {
  struct Block weights;
  struct Block output;
  unsigned int saved = 0;
  CUstream stream;
  CUgraphExec step;

  CHECK(cuInit(0));
  device = use_device(0);
  size = granularity_of(device);
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemAddressReserve(&weights.address, size, 0, 0, 0));
  CHECK(cuMemAddressReserve(&output.address, size, 0, 0, 0));
  wake(&weights);
  wake(&output);
  CHECK(cuMemsetD32(weights.address, 5, size / 4));
  CHECK(cuCtxSynchronize());
  step = capture_step(stream, &weights, &output);
  run_step(step, stream, &output);

  CHECK(cuMemcpyDtoH(&saved, weights.address, sizeof(saved)));
  put_to_sleep(&weights);
  put_to_sleep(&output);
  printf("asleep\n");

  wake(&weights);
  CHECK(cuMemsetD32(weights.address, saved, size / 4));
  CHECK(cuCtxSynchronize());
#ifdef PLANTED_BUG
  /* Wrong: the output has no memory yet, and the graph writes to where it was. */
#else
  wake(&output);
  CHECK(cuGraphExecDestroy(step));
  step = capture_step(stream, &weights, &output);
#endif
  run_step(step, stream, &output);

  CHECK(cuGraphExecDestroy(step));
  put_to_sleep(&weights);
  put_to_sleep(&output);
  CHECK(cuMemAddressFree(weights.address, size));
  CHECK(cuMemAddressFree(output.address, size));
  CHECK(cuStreamDestroy(stream));
  CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}
