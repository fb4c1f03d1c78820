/* The server of weight_sharing.c. It loads the weights once, and hands their descriptors to
 * workers. A server that comes after it asks a worker for them instead: it only passes descriptors
 * on, and calls no driver at all. */

#define _GNU_SOURCE
#include <stdlib.h>

#include "tools/examples/check.h"
#include "tools/examples/weights/weight_sharing.h"

/* Fills a layer, and adds to the checksum what the workers will read of it: a word in each line. */
static uint64_t fill_layer(int layer, uint32_t* words, size_t size, uint64_t first_line) {
  const uint32_t count = (uint32_t)(size / sizeof(*words));
  uint64_t sum = 0;
  uint32_t i;
  for (i = 0; i < count; ++i) {
    words[i] = (uint32_t)(layer + 1) * 2654435761u + i * 40503u;
    if (i % kLineWords == 0) sum += words[i] * (first_line + i / kLineWords + 1);
  }
  return sum;
}

/* An allocation with this content, as a descriptor. That keeps the memory: the mapping and the
 * handle are given back. */
static int export_layer(CUdevice device, const uint32_t* words, size_t size) {
  const CUmemAccessDesc grant = grant_to(device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  CUmemAllocationProp properties = memory_of(device);
  CUmemGenericAllocationHandle handle;
  CUdeviceptr address;
  int descriptor = -1;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CHECK(cuMemCreate(&handle, size, &properties, 0));
  CHECK(cuMemAddressReserve(&address, size, 0, 0, 0));
  CHECK(cuMemMap(address, size, 0, handle, 0));
  CHECK(cuMemSetAccess(address, size, &grant, 1));
  CHECK(cuMemcpyHtoD(address, words, size));
  CHECK(cuCtxSynchronize()); /* Another process does not wait for the streams of this one. */
  CHECK(cuMemExportToShareableHandle(&descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                     0));
  CHECK(cuMemUnmap(address, size));
  CHECK(cuMemRelease(handle));
  CHECK(cuMemAddressFree(address, size));
  return descriptor;
}

/* Returns the checksum. A server of real weights reads a file here, which takes minutes. */
static uint64_t load_weights(struct weights* weights) {
  static const size_t kGranules[kLayers] = {1, 3, 2, 4};
  uint64_t sum = 0;
  uint64_t lines = 0;
  CUdevice device;
  int layer;
  CHECK(cuInit(0));
  device = use_device(0);
  for (layer = 0; layer < kLayers; ++layer) {
    const size_t size = kGranules[layer] * granularity_of(device);
    uint32_t* const words = malloc(size);
    EXPECT(words != NULL, "no memory of the host");
    sum += fill_layer(layer, words, size, lines);
    lines += size / sizeof(*words) / kLineWords;
    weights->sizes[layer] = size;
    weights->descriptors[layer] = export_layer(device, words, size);
    free(words);
  }
  return sum;
}

static int is_of_this_user(int client) {
  struct ucred peer;
  socklen_t length = sizeof(peer);
  return getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

/* Serves a worker, or is served by it. Returns whether there are weights now. A worker that ends in
 * the middle is no matter: another one will come. */
static int welcome(int client, struct weights* weights, int has_weights) {
  struct message message;
  if (!is_of_this_user(client) || !receive_message(client, &message, NULL)) {
    close(client);
  } else if (message.kind == kNeed && has_weights) {
    send_message(client, kWeights, 0, weights);
  } else if (message.kind == kHave && !has_weights) {
    has_weights =
        send_message(client, kGive, 0, NULL) && receive_message(client, &message, weights);
  } else if (message.kind != kHave) {
    close(client); /* Whoever needs weights that are not there yet may come again. */
  }
  /* Else the connection stays open, and its end tells the worker that this process has ended. */
  return has_weights;
}

void run_server(int listener, int control, int load) {
  struct weights weights = {{0}, {-1, -1, -1, -1}};
  struct pollfd waits[2] = {{listener, POLLIN, 0}, {control, POLLIN, 0}};
  const uint64_t sum = load ? load_weights(&weights) : 0;
  int has_weights = load;
  int is_ready = 0;
  for (;;) {
    int client;
    if (has_weights && !is_ready) is_ready = send_message(control, kDone, sum, NULL);
    EXPECT(await_any(waits, 2), "nobody needs the server");
    if (waits[1].revents != 0) break;
    client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (client != -1) has_weights = welcome(client, &weights, has_weights);
  }
  close_weights(&weights);
}
