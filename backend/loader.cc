#include "backend/loader.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/driver_error.h"

namespace twinmmu {
namespace {

// CUDA_ERROR_SHARED_OBJECT_INIT_FAILED.
constexpr auto kSharedObjectInitFailed = static_cast<DriverCode>(303);

// Finds functions in one open library.
class Resolver {
 public:
  explicit Resolver(void* library)
      : library_(library),
        by_version_v2_(Export<cuda_abi::cuGetProcAddress_v12000_t>("cuGetProcAddress_v2")),
        by_version_(Export<cuda_abi::cuGetProcAddress_v11030_t>("cuGetProcAddress")) {}

  struct Found {
    void* function = nullptr;
    bool too_old = false;  // the name is known, but not in this version
  };
  Found Find(const SymbolInfo& info) const {
    const Found found = FindByVersion(info);
    if (found.function != nullptr || found.too_old) return found;
    return {dlsym(library_, info.exported), false};
  }

 private:
  template <typename F>
  F* Export(const char* name) const {
    return reinterpret_cast<F*>(dlsym(library_, name));
  }

  Found FindByVersion(const SymbolInfo& info) const {
    constexpr uint64_t kFlags = cuda_abi::CU_GET_PROC_ADDRESS_DEFAULT;
    void* function = nullptr;
    if (by_version_v2_ != nullptr) {
      cuda_abi::CUdriverProcAddressQueryResult query = cuda_abi::CU_GET_PROC_ADDRESS_SUCCESS;
      const bool ok = by_version_v2_(info.name, &function, info.version, kFlags, &query) ==
                      cuda_abi::CUDA_SUCCESS;
      if (query == cuda_abi::CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT) return {nullptr, true};
      return {ok && query == cuda_abi::CU_GET_PROC_ADDRESS_SUCCESS ? function : nullptr, false};
    }
    if (by_version_ != nullptr) {
      const bool ok =
          by_version_(info.name, &function, info.version, kFlags) == cuda_abi::CUDA_SUCCESS;
      return {ok ? function : nullptr, false};
    }
    return {};
  }

  void* const library_;
  cuda_abi::cuGetProcAddress_v12000_t* const by_version_v2_;
  cuda_abi::cuGetProcAddress_v11030_t* const by_version_;
};

absl::Status NoDriver(const std::string& path, const char* reason) {
  std::string message = absl::StrCat("no driver: cannot load ", path, ": ", reason);
  if (!absl::StrContains(path, "/")) {
    const char* search_path = std::getenv("LD_LIBRARY_PATH");
    absl::StrAppend(&message, " (looked along LD_LIBRARY_PATH=\"",
                    search_path != nullptr ? search_path : "",
                    "\" and in the system's library folders)");
  }
  return MakeDriverStatus({kSharedObjectInitFailed, ErrorOrigin::kLoader, "dlopen"}, message);
}

}  // namespace

absl::StatusOr<DriverTable> LoadDriver(absl::string_view path) {
  const std::string file(path);
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return NoDriver(file, dlerror());

  DriverTable table;
  table.library = file;
  const Resolver resolver(library);
  ForEachSymbol([&](auto field, Symbol symbol) {
    const Resolver::Found found = resolver.Find(Info(symbol));
    auto& pointer = table.*decltype(field)::kMember;
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(found.function);
    table.too_old[static_cast<size_t>(symbol)] = found.too_old;
  });

  if (table.cuDriverGetVersion != nullptr &&
      table.cuDriverGetVersion(&table.driver_version) != cuda_abi::CUDA_SUCCESS) {
    table.driver_version = 0;
  }
  // A driver older than a function does not know even its name, and cannot say that it is too old.
  for (size_t i = 0; i < kSymbolCount && table.driver_version != 0; ++i) {
    if (table.driver_version < kSymbols[i].version) table.too_old[i] = true;
  }
  return table;
}

}  // namespace twinmmu
