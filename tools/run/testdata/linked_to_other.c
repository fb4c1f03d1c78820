/* A program, or an extension that another loads, which is linked to a libcudart.so.12. */

#include <stdio.h>

int cudaRuntimeGetVersion(int* version);
int linked_version(int* version);

int linked_version(int* version) { return cudaRuntimeGetVersion(version); }

int main(void) {
  int version = 0;
  const int error = linked_version(&version);
  printf("linked: %s\n", error != 0 ? "refused" : version == 1 ? "theirs" : "ours");
  return 0;
}
