// Where a call comes from: the addresses of its stack, and what they are in.

#ifndef TWINMMU_API_RECORD_CALL_STACK_H_
#define TWINMMU_API_RECORD_CALL_STACK_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace twinmmu::record {

// The return addresses of this thread's stack, the innermost first, by its unwind tables; at most
// `depth`. They begin at `from`; where that is null or not on the stack, at `from` alone, or at the
// caller of this function. Their number.
size_t TakeStack(const void* from, uint64_t* addresses, size_t depth);

// The path of the program or library that has the code of an address, and in a second line the
// offset in it, as its symbol table counts, in hexadecimal; an empty path: not known. Takes no lock
// that is held while a library is loaded.
std::string ModuleAndOffset(uint64_t address);

}  // namespace twinmmu::record

#endif  // TWINMMU_API_RECORD_CALL_STACK_H_
