/* A program that behaves badly, for run_test.sh. The first argument says how. */

#include <cuda.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(call)                                      \
  do {                                                   \
    const CUresult result = (call);                      \
    if (result != CUDA_SUCCESS) {                        \
      fprintf(stderr, "%s failed: %d\n", #call, result); \
      exit(3);                                           \
    }                                                    \
  } while (0)

/* Which only the CUDA runtime calls. */
CUresult cuGetExportTable(const void** table, const CUuuid* id);

static const size_t kSize = (size_t)2 << 20;

static CUmemGenericAllocationHandle create(void) {
  CUmemAllocationProp properties;
  CUmemGenericAllocationHandle handle = 0;
  memset(&properties, 0, sizeof(properties));
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CHECK(cuMemCreate(&handle, kSize, &properties, 0));
  return handle;
}

static int export_one(void) {
  CUmemAllocationProp properties;
  CUmemGenericAllocationHandle handle = 0;
  int descriptor = -1;
  memset(&properties, 0, sizeof(properties));
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CHECK(cuMemCreate(&handle, kSize, &properties, 0));
  CHECK(cuMemExportToShareableHandle(&descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                     0));
  CHECK(cuMemRelease(handle));
  return descriptor;
}

/* A reservation and a mapping that stay; the handle does not. */
static CUdeviceptr leak_a_mapping(void) {
  const CUmemGenericAllocationHandle handle = create();
  CUdeviceptr address = 0;
  CHECK(cuMemAddressReserve(&address, kSize, 0, 0, 0));
  CHECK(cuMemMap(address, kSize, 0, handle, 0));
  CHECK(cuMemRelease(handle));
  return address;
}

static void map_and_unmap(void) {
  const CUdeviceptr address = leak_a_mapping();
  CHECK(cuMemUnmap(address, kSize));
  CHECK(cuMemAddressFree(address, kSize));
}

static volatile sig_atomic_t interrupted = 0;
static void on_signal(int signal) { interrupted = signal; }

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  if (strcmp(how, "nothing") == 0) return 0;
  if (strcmp(how, "echo") == 0) {
    int c;
    CHECK(cuInit(0));
    while ((c = getchar()) != EOF) putchar(c);
    return 0;
  }
  if (strcmp(how, "early") == 0) {
    return cuMemUnmap(0, kSize) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1;
  }
  if (strcmp(how, "ask_early") == 0) {
    int count = 0;
    return cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1;
  }
  if (strcmp(how, "ask") == 0) { /* for a function that no driver has */
    void* function = NULL;
    CUdriverProcAddressQueryResult found;
    for (int i = 0; i < 3; ++i)
      CHECK(cuGetProcAddress_v2("cuNoSuchCall", &function, 12000, 0, &found));
    return 0;
  }
  if (strcmp(how, "init") == 0) return (int)cuInit(0);
  CHECK(cuInit(0));
  if (strcmp(how, "fine") == 0) map_and_unmap();
  if (strcmp(how, "leak") == 0) leak_a_mapping();
  if (strcmp(how, "churn") == 0) { /* more events than a small disk has room for */
    int i;
    for (i = 0; i < 500; ++i) map_and_unmap();
  }
  if (strcmp(how, "export") == 0) { /* closes one of three, whose number comes again */
    export_one();
    close(export_one());
    export_one();
  }
  if (strcmp(how, "export_and_close") == 0) close(export_one());
  if (strcmp(how, "export_and_kill") == 0) {
    close(export_one());
    kill(getpid(), SIGKILL);
  }
  if (strcmp(how, "fail") == 0) return 7;
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "twice") == 0) {
    const CUmemGenericAllocationHandle handle = create();
    CHECK(cuMemRelease(handle));
    cuMemRelease(handle);
  }
  if (strcmp(how, "kill") == 0) {
    leak_a_mapping();
    cuMemUnmap(0, kSize);
    kill(getpid(), SIGKILL);
  }
  if (strcmp(how, "segv") == 0) {
    leak_a_mapping();
    *(volatile int*)leak_a_mapping() = 1; /* device memory */
  }
  if (strcmp(how, "loop") == 0) { /* until it is killed */
    puts("ready");
    fflush(stdout);
    for (;;) map_and_unmap();
  }
  if (strcmp(how, "wait") == 0) { /* for a signal */
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    puts("ready");
    fflush(stdout);
    while (interrupted == 0) usleep(1000);
    printf("signal %d\n", interrupted);
    return 5;
  }
  if (strcmp(how, "runtime") == 0) { /* as the CUDA runtime begins */
    const void* table = NULL;
    CUuuid id;
    memset(&id, 1, sizeof(id));
    return cuGetExportTable(&table, &id) == CUDA_ERROR_NOT_SUPPORTED ? 0 : 1;
  }
  if (strcmp(how, "fork") == 0) { /* a child that uses what it must not */
    int status = 0;
    if (fork() == 0) exit(cuInit(0) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
    wait(&status);
    return status;
  }
  if (strcmp(how, "child") == 0) { /* another program, itself */
    char command[4096];
    snprintf(command, sizeof(command), "%s leak", argv[0]);
    return system(command);
  }
  if (strcmp(how, "many") == 0) {
    for (int i = 0; i < 1000; ++i) leak_a_mapping();
  }
  return 0;
}
