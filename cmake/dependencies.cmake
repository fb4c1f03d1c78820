# What the libraries need: targets of the project around this one come first, then what is installed, then, if
# TWINMMU_FETCH_DEPENDENCIES says so, what is downloaded.
option(TWINMMU_FETCH_DEPENDENCIES "Download the dependencies that are not installed" OFF)

include(FetchContent)

# How the downloaded projects are built. Variables of this folder and those below, not of the project around it.
set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # old projects then take their options from here, too
set(CMAKE_POLICY_VERSION_MINIMUM 3.5)  # and CMake 4 accepts them
set(ABSL_PROPAGATE_CXX_STD ON)
set(ABSL_ENABLE_INSTALL OFF)
set(INSTALL_GTEST OFF)
set(LZ4_BUILD_CLI OFF)
set(ZSTD_BUILD_PROGRAMS OFF)
set(ZSTD_BUILD_TESTS OFF)
set(ZSTD_BUILD_SHARED OFF)

set(twinmmu_missing "")
set(twinmmu_fetched "")

# twinmmu_fetch(NAME URL [SOURCE_SUBDIR folder]): or else, NAME is missing.
macro(twinmmu_fetch name url)
  if(TWINMMU_FETCH_DEPENDENCIES)
    list(APPEND twinmmu_fetched ${name})
    FetchContent_Declare(${name} URL ${url} ${ARGN})
    FetchContent_MakeAvailable(${name})
  else()
    list(APPEND twinmmu_missing ${name})
  endif()
endmacro()

# The versions are those of MODULE.bazel.
find_package(Threads REQUIRED)
if(NOT TARGET absl::status)
  find_package(absl CONFIG QUIET)
endif()
if(NOT TARGET absl::status)
  twinmmu_fetch(abseil https://github.com/abseil/abseil-cpp/archive/refs/tags/20250814.1.tar.gz)
endif()
if(NOT TARGET nlohmann_json::nlohmann_json)
  find_package(nlohmann_json CONFIG QUIET)
endif()
if(NOT TARGET nlohmann_json::nlohmann_json)
  twinmmu_fetch(nlohmann_json https://github.com/nlohmann/json/archive/refs/tags/v3.12.0.tar.gz)
endif()
if(TWINMMU_TESTING AND NOT TARGET GTest::gmock)
  find_package(GTest CONFIG QUIET)
endif()
if(TWINMMU_TESTING AND NOT TARGET GTest::gmock)
  twinmmu_fetch(googletest https://github.com/google/googletest/archive/refs/tags/v1.17.0.tar.gz)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/compression.cmake)
if(NOT TARGET twinmmu::lz4)
  twinmmu_fetch(lz4 https://github.com/lz4/lz4/archive/refs/tags/v1.10.0.tar.gz SOURCE_SUBDIR build/cmake)
endif()
if(NOT TARGET twinmmu::zstd)
  twinmmu_fetch(zstd https://github.com/facebook/zstd/archive/refs/tags/v1.5.7.tar.gz SOURCE_SUBDIR build/cmake)
endif()
if(twinmmu_fetched)
  include(${CMAKE_CURRENT_LIST_DIR}/compression.cmake)
endif()

if(twinmmu_missing)
  list(JOIN twinmmu_missing ", " twinmmu_missing)
  message(FATAL_ERROR
    "TwinMMU needs packages that were not found: ${twinmmu_missing}. Do one of these:\n"
    "  - install them (Debian, Ubuntu: libabsl-dev nlohmann-json3-dev libgmock-dev liblz4-dev libzstd-dev)\n"
    "  - name the folder that they are installed in: -DCMAKE_PREFIX_PATH=FOLDER\n"
    "  - let them be downloaded: -DTWINMMU_FETCH_DEPENDENCIES=ON\n"
    "googletest is only for twinmmu::testing: -DTWINMMU_TESTING=OFF does without.")
endif()
if(twinmmu_fetched AND TWINMMU_INSTALL)
  list(JOIN twinmmu_fetched ", " twinmmu_fetched)
  message(FATAL_ERROR
    "TwinMMU cannot be installed with dependencies that were downloaded, for an installed package needs them "
    "installed, too: ${twinmmu_fetched}. Install them, or leave the installation out with -DTWINMMU_INSTALL=OFF.")
endif()

include(${CMAKE_CURRENT_LIST_DIR}/check_abseil.cmake)
twinmmu_check_abseil()

# A project around this one links with what is imported here.
get_directory_property(twinmmu_imported IMPORTED_TARGETS)
foreach(target ${twinmmu_imported})
  set_property(TARGET ${target} PROPERTY IMPORTED_GLOBAL TRUE)
endforeach()
