#include "sim/libcuda/report/sites.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace twinmmu::libcuda {

thread_local RuntimeCall runtime_call = {};

namespace {

// As a path that holds in every folder.
std::string FullPath(const char* path) {
  char buffer[PATH_MAX] = {};
  return realpath(path, buffer) == nullptr ? path : buffer;
}

// The name that programs use: "cudaMemcpyAsync", whatever its default stream is.
std::string RuntimeFunctionAt(const void* place) {
  Dl_info info = {};
  if (PlaceOfCall(runtime_call) != place || dladdr(runtime_call.function, &info) == 0 ||
      info.dli_sname == nullptr) {
    return "";
  }
  absl::string_view name = info.dli_sname;
  absl::ConsumePrefix(&name, "__");
  if (!absl::ConsumeSuffix(&name, "_ptsz")) absl::ConsumeSuffix(&name, "_ptds");
  return std::string(name);
}

std::string AddressInWords(const void* address) {
  Dl_info info = {};
  link_map* map = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) {
    return absl::StrCat("\n", absl::Hex(reinterpret_cast<uintptr_t>(address)), "\n");
  }
  // The program itself has no name in the list of the linker.
  const bool program = map == nullptr || map->l_name == nullptr || map->l_name[0] == '\0';
  const uintptr_t number = reinterpret_cast<uintptr_t>(address);
  std::string text = FullPath(program ? "/proc/self/exe" : map->l_name);
  absl::StrAppend(&text, "\n", absl::Hex(number - (map == nullptr ? 0 : map->l_addr)), "\n");
  if (info.dli_sname == nullptr) return text;
  absl::StrAppend(&text, info.dli_sname, "+0x",
                  absl::Hex(number - reinterpret_cast<uintptr_t>(info.dli_saddr)));
  return text;
}

}  // namespace

std::string DescribePlace(const void* place) {
  return absl::StrCat(AddressInWords(AddressOf(place)), "\n", RuntimeFunctionAt(place));
}

}  // namespace twinmmu::libcuda
