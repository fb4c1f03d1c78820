// From where a program made the call that runs in a thread.

#ifndef TWINMMU_SIM_BASE_CALLER_H_
#define TWINMMU_SIM_BASE_CALLER_H_

namespace twinmmu {

// The return address, to which the simulated driver adds which function of our CUDA runtime was
// called there (sim/libcuda/report/sites.h); null where nobody says. A shared library reads it
// without a call, too.
[[gnu::tls_model("initial-exec")]] inline thread_local const void* caller_of_call = nullptr;

}  // namespace twinmmu

#endif  // TWINMMU_SIM_BASE_CALLER_H_
