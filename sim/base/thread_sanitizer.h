// Whether this is built for the thread sanitizer.

#ifndef TWINMMU_SIM_BASE_THREAD_SANITIZER_H_
#define TWINMMU_SIM_BASE_THREAD_SANITIZER_H_

namespace twinmmu {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#else
inline constexpr bool kThreadSanitizer = false;
#endif

}  // namespace twinmmu

#endif  // TWINMMU_SIM_BASE_THREAD_SANITIZER_H_
