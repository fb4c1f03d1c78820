# Downloads what is in twinmmu_missing, in the versions of MODULE.bazel.
include(FetchContent)

# Only the libraries, and all of them static or shared as TwinMMU is. These variables end with TwinMMU's folder.
set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # old projects then take their options from here, too
set(CMAKE_POLICY_VERSION_MINIMUM 3.5)  # and CMake 4 accepts them
set(ABSL_PROPAGATE_CXX_STD ON)
set(ABSL_ENABLE_INSTALL OFF)
set(INSTALL_GTEST OFF)
set(JSON_BuildTests OFF)
set(LZ4_BUILD_CLI OFF)
set(ZSTD_BUILD_PROGRAMS OFF)
set(ZSTD_BUILD_TESTS OFF)
set(ZSTD_BUILD_SHARED OFF)
set(ZSTD_LEGACY_SUPPORT OFF)

FetchContent_Declare(absl URL https://github.com/abseil/abseil-cpp/archive/refs/tags/20250814.1.tar.gz)
FetchContent_Declare(nlohmann_json URL https://github.com/nlohmann/json/archive/refs/tags/v3.12.0.tar.gz)
FetchContent_Declare(GTest URL https://github.com/google/googletest/archive/refs/tags/v1.17.0.tar.gz)
FetchContent_Declare(lz4 URL https://github.com/lz4/lz4/archive/refs/tags/v1.10.0.tar.gz SOURCE_SUBDIR build/cmake)
FetchContent_Declare(zstd URL https://github.com/facebook/zstd/archive/refs/tags/v1.5.7.tar.gz SOURCE_SUBDIR build/cmake)
FetchContent_MakeAvailable(${twinmmu_missing})

include(${CMAKE_CURRENT_LIST_DIR}/compression.cmake)
