// Libraries and their kernels.

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/kernels/launch_world.h"
#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {
namespace {

constexpr size_t kMostLibraries = 3;
constexpr size_t kMostKernels = 8;

using Attribute = Function<CUresult(int*, int, void*, CUdevice)>;

inline constexpr Function<CUresult(void**, const void*, int*, void**, unsigned, int*, void**,
                                   unsigned)>
    load("cuLibraryLoadData");
inline constexpr Function<CUresult(void*)> unload("cuLibraryUnload");
inline constexpr Function<CUresult(void**, void*, const char*)> get_kernel("cuLibraryGetKernel");
inline constexpr Function<CUresult(unsigned*, void*)> count_kernels("cuLibraryGetKernelCount");
inline constexpr Function<CUresult(void**, unsigned, void*)> list_kernels(
    "cuLibraryEnumerateKernels");
inline constexpr Function<CUresult(CUmodule*, void*)> get_module("cuLibraryGetModule");
using GetVariable = Function<CUresult(CUdeviceptr*, size_t*, void*, const char*)>;
inline constexpr GetVariable get_global("cuLibraryGetGlobal");
inline constexpr GetVariable get_managed("cuLibraryGetManaged");
inline constexpr Function<CUresult(void**, void*, const char*)> get_unified(
    "cuLibraryGetUnifiedFunction");
inline constexpr Function<CUresult(CUfunction*, void*)> get_function("cuKernelGetFunction");
inline constexpr Function<CUresult(void**, void*)> get_library("cuKernelGetLibrary");
inline constexpr Function<CUresult(const char**, void*)> get_name("cuKernelGetName");
inline constexpr Attribute get_attribute("cuKernelGetAttribute");
inline constexpr Function<CUresult(int, int, void*, CUdevice)> set_attribute(
    "cuKernelSetAttribute");
inline constexpr Function<CUresult(void*, int, CUdevice)> set_cache("cuKernelSetCacheConfig");
inline constexpr Function<CUresult(void*, size_t, size_t*, size_t*)> get_parameter(
    "cuKernelGetParamInfo");
inline constexpr Function<CUresult(unsigned*, CUmodule)> count_functions(
    "cuModuleGetFunctionCount");

void Load(ProgramWorld& world) {
  if (world.libraries.size() >= kMostLibraries) return;
  const bool cluster = world.OneIn(2);
  std::string text = RandomKernelText(cluster);
  const int wrong = world.OneIn(4) ? world.Of({1, 2, 3}) : 0;
  if (wrong == 1) text = "this is no PTX";
  if (wrong == 2) text += "nonsense\n";
  if (wrong == 3) text = ".version 99.0\n.target sm_70\n.address_size 64\n";
  // The most registers, and how well to compile.
  int option = world.Of({0, 7, 7, 999});
  const size_t number = option == 0 ? 32 : world.Of<size_t>({0, 4, 9});
  void* value = reinterpret_cast<void*>(number);
  const unsigned options = world.OneIn(3) ? 1 : 0;
  int library_option = world.Of({1, 1, 99});  // the image stays where it is
  void* library_value = reinterpret_cast<void*>(size_t{1});
  const unsigned library_options = world.OneIn(5) ? 1 : 0;
  // For as long as the program runs.
  const std::string* const kept = library_options != 0 ? new std::string(text) : &text;
  void* library = nullptr;
  if (world.Say(load(&library, kept->c_str(), &option, &value, options, &library_option,
                     &library_value, library_options),
                "cuLibraryLoadData", cluster, wrong, options != 0 ? option : -1, number,
                library_options != 0 ? library_option : -1)) {
    world.Gave(world.libraries.Add(library));
  }
}

void Unload(ProgramWorld& world) {
  if (world.libraries.empty()) return;
  const auto library = world.One(world.libraries);
  if (!world.Say(unload(library.handle), "cuLibraryUnload", library.name)) return;
  for (size_t i = 0; i < world.kernels.size(); ++i) {
    if (world.kernels[i].kind == library.name) {
      ForgetObjectsOf(world.functions, world.kernels[i].name);
    }
  }
  ForgetObjectsOf(world.kernels, library.name);
  world.libraries.Remove(library.name);
}

void GetKernel(ProgramWorld& world) {
  if (world.libraries.empty() || world.kernels.size() >= kMostKernels) return;
  const auto& library = world.One(world.libraries);
  const char* const name = AnyNameOfRandomKernels(world);
  void* kernel = nullptr;
  if (world.Say(get_kernel(&kernel, library.handle, name), "cuLibraryGetKernel", library.name,
                name)) {
    world.Gave(NameOrAdd(world.kernels, kernel, library.name));
  }
}

void List(ProgramWorld& world, const RandomObject<void*>& library) {
  void* kernels[8] = {};
  const unsigned room = world.Of({0u, 1u, 8u});
  if (!world.Say(list_kernels(kernels, room, library.handle), "cuLibraryEnumerateKernels",
                 library.name, room)) {
    return;
  }
  GiveNames(world, kernels, room, get_name);
}

void AskLibrary(ProgramWorld& world) {
  if (world.libraries.empty()) return;
  const auto& library = world.One(world.libraries);
  const char* const name = AnyNameOfRandomKernels(world);
  unsigned count = 0;
  CUmodule module = nullptr;
  void* function = nullptr;
  switch (world.Below(4)) {
    case 0:
      if (world.Say(count_kernels(&count, library.handle), "cuLibraryGetKernelCount",
                    library.name)) {
        world.Gave(count);
      }
      return;
    case 1:
      return List(world, library);
    case 2:
      if (!world.Say(get_module(&module, library.handle), "cuLibraryGetModule", library.name)) {
        return;
      }
      if (world.Say(count_functions(&count, module), "cuModuleGetFunctionCount", library.name)) {
        world.Gave(count);
      }
      return;
    default:
      world.Say(get_unified(&function, library.handle, name), "cuLibraryGetUnifiedFunction",
                library.name, name);
  }
}

void AskVariable(ProgramWorld& world) {
  if (world.libraries.empty()) return;
  const auto& library = world.One(world.libraries);
  const char* const name =
      world.Of({"plain", "plain", "managed", "managed", "managed", "constant", "none", "add", ""});
  const bool managed = world.OneIn(2);
  const bool sized = !world.OneIn(4);
  const bool here = name != std::string("constant");
  CUdeviceptr address = 0;
  size_t size = 0;
  if (!world.Say((managed ? get_managed : get_global)(&address, sized ? &size : nullptr,
                                                      library.handle, name),
                 managed ? "cuLibraryGetManaged" : "cuLibraryGetGlobal", library.name, name,
                 sized)) {
    return;
  }
  world.Gave(address != 0, size);
  if (!here) return;  // what kind of an address it has is nobody's business
  unsigned is_managed = 0;
  if (world.Say(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address),
                "cuPointerGetAttribute", "IS_MANAGED", name)) {
    world.Gave(is_managed);
  }
}

void AskKernel(ProgramWorld& world) {
  if (world.kernels.empty()) return;
  const auto& kernel = world.One(world.kernels);
  const bool wrong = world.OneIn(8) && !world.functions.empty();
  void* const handle = wrong ? world.One(world.functions).handle : kernel.handle;
  const std::string asked = wrong ? "a function" : kernel.name;
  const char* name = nullptr;
  void* library = nullptr;
  size_t offset = 0;
  size_t size = 0;
  switch (world.Below(3)) {
    case 0:
      if (world.Say(get_name(&name, handle), "cuKernelGetName", asked)) world.Gave(name);
      return;
    case 1: {
      const size_t index = world.Below(4);
      if (world.Say(get_parameter(handle, index, &offset, &size), "cuKernelGetParamInfo", asked,
                    index)) {
        world.Gave(offset, size);
      }
      return;
    }
    default:
      if (wrong) return;
      if (world.Say(get_library(&library, handle), "cuKernelGetLibrary", asked)) {
        world.Gave(world.libraries.NameOf(library));
      }
  }
}

void GetFunction(ProgramWorld& world) {
  if (world.kernels.empty() || world.functions.size() >= 2 * kMostKernels) return;
  const auto& kernel = world.One(world.kernels);
  CUfunction function = nullptr;
  if (world.Say(get_function(&function, kernel.handle), "cuKernelGetFunction", kernel.name)) {
    world.Gave(NameOrAdd(world.functions, function, kernel.name));
  }
}

void AttributeOfKernel(ProgramWorld& world) {
  if (world.kernels.empty()) return;
  const auto& kernel = world.One(world.kernels);
  const CUdevice device = world.OneIn(10) ? 99 : 0;
  // Not how many registers, nor of which version: that is the compiler's business.
  const int attribute = world.Of({0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1000});
  int value = -7;
  switch (world.Below(5)) {
    case 0:
    case 1:
      if (world.Say(get_attribute(&value, attribute, kernel.handle, device), "cuKernelGetAttribute",
                    kernel.name, attribute, device)) {
        world.Gave(value);
      }
      return;
    case 2:
    case 3: {
      const int settable = world.Of({8, 8, 8, 8, 9, 9, 14, 14, 15, 0, 1000});
      value = settable == 8 ? world.Of({0, 1024, 64 << 10, 100 << 10, 200 << 10, 1 << 20, -1})
                            : world.Of({0, 1, 1, 2, 101, -1});
      world.Say(set_attribute(settable, value, kernel.handle, device), "cuKernelSetAttribute",
                kernel.name, settable, value, device);
      return;
    }
    default: {
      const int config = world.Of({0, 1, 2, 3, 4, 100});
      world.Say(set_cache(kernel.handle, config, device), "cuKernelSetCacheConfig", kernel.name,
                config, device);
    }
  }
}

}  // namespace

RandomSteps LibrarySteps() {
  return {{8, Load},        {1, Unload},    {12, GetKernel},  {8, AskLibrary},
          {8, AskVariable}, {8, AskKernel}, {8, GetFunction}, {12, AttributeOfKernel}};
}

}  // namespace twinmmu::abi
