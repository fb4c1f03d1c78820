// Two libraries with kernels, loaded at run time: the same templates and static variables are in
// both, and each has its own. Arguments: the libraries.

#include <dlfcn.h>

#include "tools/examples/runtime/runtime_check.h"

namespace {

void* Open(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(1);
  }
  return library;
}

template <typename Result>
Result Call(void* library, const char* name) {
  return reinterpret_cast<Result (*)()>(dlsym(library, name))();
}

void TellAbout(const char* name, void* library) {
  const double real = Call<double>(library, "RunReal");  // both count in one variable
  const double whole = Call<double>(library, "RunWhole");
  std::printf("%s: %g %g\n", name, whole, real);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  void* first = Open(arguments[1]);
  TellAbout("the first", first);
  void* const second = Open(arguments[2]);
  TellAbout("the second", second);
  TellAbout("the first", first);
  const void* const kernel = Call<const void*>(first, "KernelOfPlugin");
  cudaFuncAttributes attributes = {};
  CHECK(cudaFuncGetAttributes(&attributes, kernel));
  dlclose(first);
#ifdef PLANTED_BUG
  CHECK(cudaFuncGetAttributes(&attributes, kernel));
#endif
  TellAbout("the second, alone", second);
  first = Open(arguments[1]);
  TellAbout("the first, loaded again", first);
  dlclose(first);
  dlclose(second);
  std::printf("the last error: %s\n", cudaGetErrorName(cudaGetLastError()));
  return 0;
}
