// What a runtime answers, call by call, one line for each. The same program runs with our library
// and with the genuine one, and its outputs are compared.

#ifndef TWINMMU_SIM_LIBCUDART_COMPARISON_COMPARISON_H_
#define TWINMMU_SIM_LIBCUDART_COMPARISON_COMPARISON_H_

#include <cuda_runtime.h>

// Prints the call and the name of its error, and the thread's last error where that is another.
#define ASK(call) ::comparison::Ask(#call, [&] { return (call); })
// Prints the expression and its value.
#define NUMBER(expression) ::comparison::Tell(#expression, static_cast<long long>(expression))

namespace comparison {

// Calls that ended the process in an earlier attempt are not made again.
bool BeginCall(const char* text);
void EndCall(cudaError_t error);
void Tell(const char* text, long long value);

template <typename Call>
cudaError_t Ask(const char* text, const Call& call) {
  if (!BeginCall(text)) return cudaErrorUnknown;
  const cudaError_t error = call();
  EndCall(error);
  return error;
}

// Each in a process of its own.
void AskAboutDevices();
void AskAboutErrors();
void AskAboutMemory();
void AskAboutHostMemory();
void AskAboutManagedMemory();
void AskAboutPools();
void AskAboutCopies();
void AskAboutArrays();
void AskAboutArrayCopies();
void AskAboutTextures();
void AskAboutStreams();
void AskAboutEvents();
void AskAboutCaptures();
void AskAboutGraphs();
void AskAboutNodes();
void AskAboutNodesOfAnyType();
void AskAboutLaunches();
void AskAboutFunctions();
void AskAboutVariables();
void AskAboutLibraries();
void AskAboutSharing();
void AskInHostFunctions();
void AskAcrossDevices();  // if there are two
void AskAboutProperties();

// A pointer to no memory.
inline void* Nowhere() { return reinterpret_cast<void*>(0x1234560000); }

}  // namespace comparison

#endif  // TWINMMU_SIM_LIBCUDART_COMPARISON_COMPARISON_H_
