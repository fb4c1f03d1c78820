// The functions of fake_libcuda.cc that do more than succeed: there they are weak, here they are
// not.
//   FAKE_DRIVER_VERSION  what cuDriverGetVersion writes
//   FAKE_INIT_RESULT     what cuInit returns

#ifdef FAKE_EXPORTS
#define FAKE_VISIBILITY __attribute__((visibility("default")))
#else
#define FAKE_VISIBILITY __attribute__((visibility("hidden")))
#endif

extern "C" FAKE_VISIBILITY int cuInit(unsigned int) { return FAKE_INIT_RESULT; }

extern "C" FAKE_VISIBILITY int cuDriverGetVersion(int* version) {
  *version = FAKE_DRIVER_VERSION;
  return 0;
}
