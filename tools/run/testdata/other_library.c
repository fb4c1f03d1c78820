/* What a package brings in a folder of its own, for found_libraries_test.sh: no version is 1. */

int cudaRuntimeGetVersion(int* version);
int cuDriverGetVersion(int* version);
int nvmlSystemGetCudaDriverVersion(int* version);

int cudaRuntimeGetVersion(int* version) {
  *version = 1;
  return 0;
}

int cuDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }
int nvmlSystemGetCudaDriverVersion(int* version) { return cudaRuntimeGetVersion(version); }
