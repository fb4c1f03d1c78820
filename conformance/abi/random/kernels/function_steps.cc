// Modules of several functions, and what functions say of themselves; and the linker.

#include <cstring>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/kernels/launch_world.h"
#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {
namespace {

constexpr size_t kMostModules = 3;
constexpr size_t kMostFunctions = 10;
constexpr size_t kOneKernelIn = 8;  // where only functions are right

inline constexpr Function<CUresult(CUmodule*, const void*, unsigned, int*, void**)> load_ex(
    "cuModuleLoadDataEx");
inline constexpr Function<CUresult(CUdeviceptr*, size_t*, CUmodule, const char*)> get_global(
    "cuModuleGetGlobal_v2");
inline constexpr Function<CUresult(unsigned*, CUmodule)> count_functions(
    "cuModuleGetFunctionCount");
inline constexpr Function<CUresult(CUfunction*, unsigned, CUmodule)> list_functions(
    "cuModuleEnumerateFunctions");
inline constexpr Function<CUresult(int*)> get_mode("cuModuleGetLoadingMode");
inline constexpr Function<CUresult(CUmodule*, CUfunction)> get_module("cuFuncGetModule");
inline constexpr Function<CUresult(const char**, CUfunction)> get_name("cuFuncGetName");
inline constexpr Function<CUresult(CUfunction, size_t, size_t*, size_t*)> get_parameter(
    "cuFuncGetParamInfo");
inline constexpr Function<CUresult(int*, CUfunction)> is_loaded("cuFuncIsLoaded");
inline constexpr Function<CUresult(CUfunction)> load_function("cuFuncLoad");
inline constexpr Function<CUresult(int*, int, CUfunction)> get_attribute("cuFuncGetAttribute");
inline constexpr Function<CUresult(CUfunction, int, int)> set_attribute("cuFuncSetAttribute");
inline constexpr Function<CUresult(CUfunction, int)> set_cache("cuFuncSetCacheConfig");
inline constexpr Function<CUresult(CUfunction, int)> set_banks("cuFuncSetSharedMemConfig");
inline constexpr Function<CUresult(unsigned, int*, void**, void**)> create_link("cuLinkCreate_v2");
inline constexpr Function<CUresult(void*, int, void*, size_t, const char*, unsigned, int*, void**)>
    add_data("cuLinkAddData_v2");
inline constexpr Function<CUresult(void*, void**, size_t*)> complete("cuLinkComplete");
inline constexpr Function<CUresult(void*)> destroy_link("cuLinkDestroy");

void Load(ProgramWorld& world) {
  if (world.modules.size() >= kMostModules) return;
  const bool cluster = world.OneIn(2);
  std::string text = RandomKernelText(cluster);
  const int wrong = world.OneIn(5) ? world.Of({1, 2, 3}) : 0;
  if (wrong == 1) text = "this is no PTX";
  if (wrong == 2) text += "nonsense\n";
  if (wrong == 3) text = ".version 99.0\n.target sm_70\n.address_size 64\n";
  int option = world.Of({0, 7, 7, 999});
  const size_t number = option == 0 ? 32 : world.Of<size_t>({0, 4, 9});
  void* value = reinterpret_cast<void*>(number);
  const unsigned options = world.OneIn(3) ? 1 : 0;
  CUmodule module = nullptr;
  if (world.Say(load_ex(&module, text.c_str(), options, &option, &value), "cuModuleLoadDataEx",
                cluster, wrong, options != 0 ? option : -1, number)) {
    world.Gave(world.modules.Add(module));
  }
}

void Unload(ProgramWorld& world) {
  if (world.modules.empty()) return;
  const auto module = world.One(world.modules);
  if (!world.Say(cuModuleUnload(module.handle), "cuModuleUnload", module.name)) return;
  ForgetObjectsOf(world.functions, module.name);
  world.modules.Remove(module.name);
}

void GetFunction(ProgramWorld& world) {
  if (world.modules.empty() || world.functions.size() >= kMostFunctions) return;
  const auto& module = world.One(world.modules);
  const char* const name = AnyNameOfRandomKernels(world);
  CUfunction function = nullptr;
  if (world.Say(cuModuleGetFunction(&function, module.handle, name), "cuModuleGetFunction",
                module.name, name)) {
    world.Gave(NameOrAdd(world.functions, function, module.name));
  }
}

void List(ProgramWorld& world, const RandomObject<CUmodule>& module) {
  CUfunction functions[8] = {};
  const unsigned room = world.Of({0u, 1u, 8u});
  if (!world.Say(list_functions(functions, room, module.handle), "cuModuleEnumerateFunctions",
                 module.name, room)) {
    return;
  }
  GiveNames(world, functions, room, get_name);
}

void AskModule(ProgramWorld& world) {
  if (world.modules.empty()) return;
  const auto& module = world.One(world.modules);
  const char* const name = world.Of({"plain", "managed", "constant", "none", "add", ""});
  CUdeviceptr address = 0;
  size_t size = 0;
  unsigned count = 0;
  int mode = 0;
  switch (world.Below(4)) {
    case 0:
      if (world.Say(count_functions(&count, module.handle), "cuModuleGetFunctionCount",
                    module.name)) {
        world.Gave(count);
      }
      return;
    case 1:
      return List(world, module);
    case 2:
      if (world.Say(get_mode(&mode), "cuModuleGetLoadingMode")) world.Gave(mode);
      return;
    default:
      if (world.Say(get_global(&address, &size, module.handle, name), "cuModuleGetGlobal",
                    module.name, name)) {
        world.Gave(address != 0, size);
      }
  }
}

void AskFunction(ProgramWorld& world) {
  AnyKernel kernel;
  if (!FindAnyKernel(world, &kernel, kOneKernelIn)) return;
  const char* name = nullptr;
  CUmodule module = nullptr;
  size_t offset = 0;
  size_t size = 0;
  int state = -1;
  const size_t index = world.Below(4);
  const int config = world.Of({0, 1, 2, 2, 1, 3, 4, 100});
  switch (world.Below(7)) {
    case 0:
      if (world.Say(get_name(&name, kernel.handle), "cuFuncGetName", kernel.name)) {
        world.Gave(name);
      }
      return;
    case 1:
      if (world.Say(get_module(&module, kernel.handle), "cuFuncGetModule", kernel.name)) {
        world.Gave(world.modules.NameOf(module));
      }
      return;
    case 2:
      if (world.Say(get_parameter(kernel.handle, index, &offset, &size), "cuFuncGetParamInfo",
                    kernel.name, index)) {
        world.Gave(offset, size);
      }
      return;
    case 3:
      if (world.Say(is_loaded(&state, kernel.handle), "cuFuncIsLoaded", kernel.name)) {
        world.Gave(state);
      }
      return;
    case 4:
      world.Say(load_function(kernel.handle), "cuFuncLoad", kernel.name);
      return;
    case 5:
      world.Say(set_cache(kernel.handle, config), "cuFuncSetCacheConfig", kernel.name, config);
      return;
    default:
      world.Say(set_banks(kernel.handle, config), "cuFuncSetSharedMemConfig", kernel.name, config);
  }
}

void Attribute(ProgramWorld& world) {
  AnyKernel kernel;
  if (!FindAnyKernel(world, &kernel, kOneKernelIn)) return;
  int value = -7;
  if (world.OneIn(2)) {
    // Not how many registers, nor of which version: that is the compiler's business.
    const int attribute = world.Of({0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1000});
    if (world.Say(get_attribute(&value, attribute, kernel.handle), "cuFuncGetAttribute",
                  kernel.name, attribute)) {
      world.Gave(value);
    }
    return;
  }
  const int attribute = world.Of({8, 8, 8, 8, 9, 9, 14, 14, 15, 15, 0, 10, 1000});
  value = attribute == 8 ? world.Of({0, 1024, 64 << 10, 100 << 10, 200 << 10, 1 << 20, -1})
                         : world.Of({0, 1, 1, 2, 101, -1});
  world.Say(set_attribute(kernel.handle, attribute, value), "cuFuncSetAttribute", kernel.name,
            attribute, value);
}

// A link from its beginning to its end, whose image is a module.
void Link(ProgramWorld& world) {
  void* link = nullptr;
  int option = world.Of({7, 999});
  void* value = nullptr;
  const unsigned options = world.OneIn(4) ? 1 : 0;
  if (!world.Say(create_link(options, &option, &value, &link), "cuLinkCreate",
                 options != 0 ? option : -1)) {
    return;
  }
  bool defines = false;  // what is there twice has one of several codes
  for (size_t i = world.Below(3); i-- > 0;) {
    const int kind = defines ? world.Of({1, 2}) : world.Of({0, 0, 0, 1, 2});
    defines |= kind == 0;
    std::string text = kind == 0   ? RandomKernelText(world.OneIn(2))
                       : kind == 1 ? "this is no PTX"
                                   : ".version 99.0\n.target sm_70\n.address_size 64\n";
    const int type = world.Of({1, 1, 1, 1, 1, -1, 99});
    const size_t size = world.OneIn(8) ? 0 : text.size() + 1;
    world.Say(add_data(link, type, &text[0], size, "text", 0, nullptr, nullptr), "cuLinkAddData",
              kind, type, size);
  }
  void* image = nullptr;
  size_t size = 0;
  if (world.Say(complete(link, &image, &size), "cuLinkComplete") &&
      world.modules.size() < kMostModules) {
    CUmodule module = nullptr;
    if (world.Say(cuModuleLoadData(&module, image), "cuModuleLoadData", "linked")) {
      world.Gave(world.modules.Add(module));
    }
  }
  world.Say(destroy_link(link), "cuLinkDestroy");
}

}  // namespace

RandomSteps FunctionSteps() {
  return {{8, Load},         {1, Unload},     {12, GetFunction}, {8, AskModule},
          {10, AskFunction}, {12, Attribute}, {2, Link}};
}

}  // namespace twinmmu::abi
