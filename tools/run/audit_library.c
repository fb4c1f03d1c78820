/* libtwinmmu_audit.so: the dynamic linker of a program asks it for the files of libraries
 * (rtld-audit(7)), also for those that an RPATH or a path leads to, which no LD_LIBRARY_PATH
 * replaces. The answer for NVIDIA's driver, runtime and NVML is ours, from the folder of this file.
 *
 * It is part of every program of a run, in a namespace of its own. So it needs no other library,
 * not even that of C, and starting a program stays as quick as it was. */

#define _GNU_SOURCE

#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

/* Of the dynamic linker: where the program starts with the number of its arguments, these, a null,
 * its environment and a null. Without the C library there is no other way to them. */
extern char** __libc_stack_end;

/* The answer; the linker copies it before it asks again. It begins with the folder and a slash. */
static char answer[PATH_MAX];
static size_t folder_size = 0;
/* Whether all that the program is linked to is there. */
static bool started = false;

static char** arguments(void) { return __libc_stack_end + 1; }

static char** environment(void) { return arguments() + (uintptr_t)*__libc_stack_end + 1; }

static long call(long number, const void* first, void* second, const void* third) {
  long result = number;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(first), "S"(second), "d"(third)
                   : "rcx", "r11", "memory");
  return result;
}

/* Where the symbolic link leads; false: it is none. */
static bool read_link(const char* link, char target[PATH_MAX]) {
  const long size = call(SYS_readlink, link, target, (const void*)(uintptr_t)(PATH_MAX - 1));
  if (size <= 0) return false;
  target[size] = '\0';
  return true;
}

/* Whether the text begins with `part`, which is then passed. */
static bool pass(const char** text, const char* part) {
  const char* rest = *text;
  for (; *part != '\0'; ++part, ++rest) {
    if (*part != *rest) return false;
  }
  *text = rest;
  return true;
}

static bool equal(const char* a, const char* b) { return pass(&a, b) && *a == '\0'; }

static const char* file_of(const char* path) {
  const char* file = path;
  for (; *path != '\0'; ++path) {
    if (*path == '/') file = path + 1;
  }
  return file;
}

/* The folder of this file is where LD_AUDIT has it. There are several where runs are nested, and
 * any will do. */
static void find_folder(const char* entry) {
  while (*entry != '\0') {
    const char* end = entry;
    const char* file = entry;
    for (; *end != '\0' && *end != ':'; ++end) {
      if (*end == '/') file = end + 1;
    }
    const char* rest = file;
    const size_t size = (size_t)(file - entry);
    if (pass(&rest, "libtwinmmu_audit.so") && rest == end && size > 0 &&
        size < sizeof(answer) - NAME_MAX) {
      for (size_t i = 0; i < size; ++i) answer[i] = entry[i];
      folder_size = size;
    }
    entry = *end == ':' ? end + 1 : end;
  }
}

/* NAME.so, NAME.so.1, and NAME-4a7b.so.1, as tools name it that pack wheels: `file` begins so, and
 * is passed to what follows ".so". */
static bool pass_library(const char** file, const char* name) {
  const char* rest = *file;
  if (!pass(&rest, name)) return false;
  if (*rest == '-') {
    while (*rest != '\0' && *rest != '.') ++rest;
  }
  if (!pass(&rest, ".so") || (*rest != '\0' && *rest != '.')) return false;
  *file = rest;
  return true;
}

/* Of ours, the runtime of a version: ".12", ".12.8.90". */
static const char* runtime_of(const char* version) {
  static const char ours[][18] = {"libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13"};
  static const char majors[][4] = {".11", ".12", ".13"};
  for (size_t i = 0; i < sizeof(majors) / sizeof(*majors); ++i) {
    const char* rest = version;
    if (pass(&rest, majors[i]) && (*rest == '\0' || *rest == '.')) return ours[i];
  }
  return NULL;
}

/* The file of ours that takes the place of `name`, or null. */
static const char* ours_for(const char* name) {
  const char* file = file_of(name);
  if (pass_library(&file, "libcuda")) return "libcuda.so.1";
  if (pass_library(&file, "libnvidia-ml")) return "libnvidia-ml.so.1";
  if (!pass_library(&file, "libcudart")) return NULL;
  if (*file != '\0') return runtime_of(file);
  /* libcudart.so is a link to that of its version. */
  char target[PATH_MAX];
  if (!read_link(name, target)) return NULL;
  file = file_of(target);
  return pass_library(&file, "libcudart") ? runtime_of(file) : NULL;
}

/* gcc's libraries for the sanitizers of threads and of leaks have more thread-local memory than the
 * linker sets aside where there is any LD_AUDIT: the program could not start. It starts anew,
 * without.
 */
static void start_anew(void) {
  char** kept = environment();
  for (char** line = kept; *line != NULL; ++line) {
    const char* text = *line;
    if (!pass(&text, "LD_AUDIT=")) *kept++ = *line;
  }
  *kept = NULL;
  char program[PATH_MAX];
  if (read_link("/proc/self/exe", program)) call(SYS_execve, program, arguments(), environment());
}

/* 0 stands for: leave it out. */
unsigned la_version(unsigned version) {
  for (char** line = environment(); *line != NULL; ++line) {
    const char* value = *line;
    if (pass(&value, "LD_AUDIT=")) find_folder(value);
  }
  return folder_size == 0 ? 0 : version;
}

void la_preinit(uintptr_t* cookie) {
  (void)cookie;
  started = true;
}

/* `stage` says whether a library is asked for, or looked for in a place. Where it is asked for by
 * a name other than ours, the linker must know it by that name, for the versions of its symbols:
 * then the places are early enough. */
char* la_objsearch(const char* name, uintptr_t* cookie, unsigned stage) {
  (void)cookie;
  const char* file = file_of(name);
  const char* const ours = ours_for(name);
  if (!started && (pass_library(&file, "libtsan") || pass_library(&file, "liblsan"))) start_anew();
  if (ours == NULL || (stage == LA_SER_ORIG && file == name && !equal(name, ours))) {
    return (char*)(uintptr_t)name;
  }
  for (size_t i = 0;; ++i) {
    answer[folder_size + i] = ours[i];
    if (ours[i] == '\0') return answer;
  }
}
