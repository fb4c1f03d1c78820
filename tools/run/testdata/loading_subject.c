/* Loads the libraries that it is told to, and says of each whose it is. */

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

typedef int Version(int* version);
typedef int Count(int* count);

static const char* whose(void* library) {
  const char* const functions[] = {"cudaRuntimeGetVersion", "cuDriverGetVersion",
                                   "nvmlSystemGetCudaDriverVersion", "linked_version"};
  for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); ++i) {
    Version* const version_of = (Version*)dlsym(library, functions[i]);
    Count* const count_devices = (Count*)dlsym(library, "cudaGetDeviceCount");
    int version = 0;
    int count = 0;
    if (version_of == NULL) continue;
    if (version_of(&version) == 0 && version == 1) return "theirs";
    /* Which the genuine runtime refuses. */
    return count_devices != NULL && count_devices(&count) != 0 ? "refused" : "ours";
  }
  return "unknown";
}

int main(int argc, char** argv) {
  int i;
  for (i = 1; i < argc; ++i) {
    void* const library = dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL);
    printf("%s: %s\n", argv[i], library == NULL ? dlerror() : whose(library));
  }
  return 0;
}
