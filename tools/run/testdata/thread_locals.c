/* A library that keeps SIZE bytes for each thread at a fixed offset, as jemalloc and libtsan.so do.
 */

static __thread char locals[SIZE] __attribute__((tls_model("initial-exec")));

char* thread_locals(void);

char* thread_locals(void) { return locals; }
