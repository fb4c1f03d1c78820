// libtwinmmu_audit.so: the dynamic linker of a program asks it for the files of libraries
// (rtld-audit(7)), also for those that an RPATH or a path leads to, which no LD_LIBRARY_PATH
// replaces. The answer for NVIDIA's driver, runtime and NVML is ours, from the folder of this file.
//
// It is part of every program of a run, in a namespace of its own. So it needs no other library,
// not even that of C, and starting a program stays as quick as it was.

#include <link.h>
#include <sys/syscall.h>

#include <climits>
#include <cstddef>
#include <cstdint>

// Of the dynamic linker: where the program starts with the number of its arguments, these, a null,
// its environment and a null. Without the C library there is no other way to them.
extern "C" char** __libc_stack_end;

namespace {

constexpr char kThisFile[] = "libtwinmmu_audit.so";

// The answer; the linker copies it before it asks again. It begins with the folder and a slash.
char answer[PATH_MAX];
size_t folder_size = 0;
bool started = false;  // whatever the program is linked to is there

char** Arguments() { return __libc_stack_end + 1; }

char** Environment() { return Arguments() + reinterpret_cast<uintptr_t>(*__libc_stack_end) + 1; }

long Call(long number, const void* first, void* second, const void* third) {
  long result = number;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(first), "S"(second), "d"(third)
               : "rcx", "r11", "memory");
  return result;
}

// Where the symbolic link leads; false: it is none.
bool ReadLink(const char* link, char (&target)[PATH_MAX]) {
  const auto room = reinterpret_cast<const void*>(sizeof(target) - 1);
  const long size = Call(SYS_readlink, link, target, room);
  if (size <= 0) return false;
  target[size] = '\0';
  return true;
}

// Whether `text` begins with `part`, which is then passed.
bool Pass(const char*& text, const char* part) {
  const char* rest = text;
  for (; *part != '\0'; ++part, ++rest) {
    if (*part != *rest) return false;
  }
  text = rest;
  return true;
}

bool Equal(const char* a, const char* b) { return Pass(a, b) && *a == '\0'; }

const char* FileOf(const char* path) {
  const char* file = path;
  for (; *path != '\0'; ++path) {
    if (*path == '/') file = path + 1;
  }
  return file;
}

// The folder of this file is where LD_AUDIT has it. There are several where runs are nested, and
// any will do.
void FindFolder(const char* entry) {
  while (*entry != '\0') {
    const char* end = entry;
    const char* file = entry;
    for (; *end != '\0' && *end != ':'; ++end) {
      if (*end == '/') file = end + 1;
    }
    const char* rest = file;
    const size_t size = static_cast<size_t>(file - entry);
    if (Pass(rest, kThisFile) && rest == end && size > 0 && size < sizeof(answer) - NAME_MAX) {
      for (size_t i = 0; i < size; ++i) answer[i] = entry[i];
      folder_size = size;
    }
    entry = *end == ':' ? end + 1 : end;
  }
}

// libNAME.so, libNAME.so.1, and libNAME-4a7b.so.1, as tools name it that pack wheels: `file` begins
// so, and is passed to what follows ".so".
bool PassLibrary(const char*& file, const char* name) {
  const char* rest = file;
  if (!Pass(rest, name)) return false;
  if (*rest == '-') {
    while (*rest != '\0' && *rest != '.') ++rest;
  }
  if (!Pass(rest, ".so") || (*rest != '\0' && *rest != '.')) return false;
  file = rest;
  return true;
}

// Of ours, the runtime of a version: ".12", ".12.8.90".
const char* RuntimeOf(const char* version) {
  constexpr const char* kRuntimes[][2] = {
      {".11", "libcudart.so.11.0"}, {".12", "libcudart.so.12"}, {".13", "libcudart.so.13"}};
  for (const auto& [major, ours] : kRuntimes) {
    const char* rest = version;
    if (Pass(rest, major) && (*rest == '\0' || *rest == '.')) return ours;
  }
  return nullptr;
}

// The file of ours that takes the place of `name`, or null.
const char* OursFor(const char* name) {
  const char* file = FileOf(name);
  if (PassLibrary(file, "libcuda")) return "libcuda.so.1";
  if (PassLibrary(file, "libnvidia-ml")) return "libnvidia-ml.so.1";
  if (!PassLibrary(file, "libcudart")) return nullptr;
  if (*file != '\0') return RuntimeOf(file);
  // libcudart.so is a link to that of its version.
  char target[PATH_MAX];
  if (!ReadLink(name, target)) return nullptr;
  file = FileOf(target);
  return PassLibrary(file, "libcudart") ? RuntimeOf(file) : nullptr;
}

// gcc's libraries for the sanitizers of threads and of leaks have more thread-local memory than the
// linker sets aside where there is any LD_AUDIT: the program could not start. It starts anew,
// without.
void StartAnew() {
  char** kept = Environment();
  for (char** line = kept; *line != nullptr; ++line) {
    const char* text = *line;
    if (!Pass(text, "LD_AUDIT=")) *kept++ = *line;
  }
  *kept = nullptr;
  char program[PATH_MAX];
  if (ReadLink("/proc/self/exe", program)) Call(SYS_execve, program, Arguments(), Environment());
}

}  // namespace

// 0 stands for: leave it out.
extern "C" unsigned la_version(unsigned version) {
  for (char** line = Environment(); *line != nullptr; ++line) {
    const char* value = *line;
    if (Pass(value, "LD_AUDIT=")) FindFolder(value);
  }
  return folder_size == 0 ? 0 : version;
}

extern "C" void la_preinit(uintptr_t*) { started = true; }

// `stage` says whether a library is asked for, or looked for in a place. Where it is asked for by
// a name other than ours, the linker must know it by that name, for the versions of its symbols:
// then the places are early enough.
extern "C" char* la_objsearch(const char* name, uintptr_t*, unsigned stage) {
  const char* file = FileOf(name);
  const char* const ours = OursFor(name);
  if (!started && (PassLibrary(file, "libtsan") || PassLibrary(file, "liblsan"))) StartAnew();
  if (ours == nullptr || (stage == LA_SER_ORIG && file == name && !Equal(name, ours))) {
    return const_cast<char*>(name);
  }
  for (size_t i = 0;; ++i) {
    answer[folder_size + i] = ours[i];
    if (ours[i] == '\0') return answer;
  }
}
