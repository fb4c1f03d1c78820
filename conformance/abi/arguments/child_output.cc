#include "conformance/abi/arguments/child_output.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "conformance/abi/driver_under_test.h"

namespace twinmmu::abi {

ChildOutput OutputOfChild(const std::function<void(std::FILE*)>& write) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    return {};
  }
  if (child == 0) {
    close(ends[0]);
    std::FILE* const out = fdopen(ends[1], "w");
    write(out);
    std::fflush(out);
    _exit(0);
  }
  close(ends[1]);
  ChildOutput output;
  char piece[4096];
  for (ssize_t size = 0; (size = read(ends[0], piece, sizeof(piece))) > 0;) {
    output.text.append(piece, static_cast<size_t>(size));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  output.is_whole = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  output.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return output;
}

std::string NameOfResult(int result) {
  const char* name = nullptr;
  if (cuGetErrorName(static_cast<CUresult>(result), &name) != CUDA_SUCCESS || name == nullptr) {
    return "UNKNOWN_CODE";
  }
  constexpr char kError[] = "CUDA_ERROR_";
  const size_t known = std::strncmp(name, kError, std::strlen(kError)) == 0 ? std::strlen(kError)
                                                                            : std::strlen("CUDA_");
  return name + known;
}

}  // namespace twinmmu::abi
