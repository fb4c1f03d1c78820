# What the libraries need: targets of the project around this one come first, then what is installed, then, if
# TWINMMU_FETCH_DEPENDENCIES says so, what is downloaded.
option(TWINMMU_FETCH_DEPENDENCIES "Download the dependencies that are not installed" OFF)

set(twinmmu_missing "")

# twinmmu_find(TARGET PACKAGE)
macro(twinmmu_find target package)
  if(NOT TARGET ${target})
    find_package(${package} CONFIG QUIET)
  endif()
  if(NOT TARGET ${target})
    list(APPEND twinmmu_missing ${package})
  endif()
endmacro()

find_package(Threads REQUIRED)
twinmmu_find(absl::status absl)
twinmmu_find(nlohmann_json::nlohmann_json nlohmann_json)
if(TWINMMU_TESTING)
  twinmmu_find(GTest::gmock GTest)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/compression.cmake)
foreach(name lz4 zstd)
  if(NOT TARGET twinmmu::${name})
    list(APPEND twinmmu_missing ${name})
  endif()
endforeach()

list(JOIN twinmmu_missing ", " twinmmu_missing_words)
if(twinmmu_missing AND NOT TWINMMU_FETCH_DEPENDENCIES)
  message(FATAL_ERROR
    "TwinMMU needs packages that were not found: ${twinmmu_missing_words}. Do one of these:\n"
    "  - install them (Debian, Ubuntu: libabsl-dev nlohmann-json3-dev libgmock-dev liblz4-dev libzstd-dev)\n"
    "  - name the folder that they are installed in: -DCMAKE_PREFIX_PATH=FOLDER\n"
    "  - let them be downloaded: -DTWINMMU_FETCH_DEPENDENCIES=ON\n"
    "GTest is only for twinmmu::testing: -DTWINMMU_TESTING=OFF does without.")
elseif(twinmmu_missing AND TWINMMU_INSTALL)
  message(FATAL_ERROR
    "TwinMMU cannot be installed with dependencies that are downloaded, because the installed package would need them "
    "installed, too: ${twinmmu_missing_words}. Install them first, or leave TwinMMU's installation out with "
    "-DTWINMMU_INSTALL=OFF.")
elseif(twinmmu_missing)
  include(${CMAKE_CURRENT_LIST_DIR}/fetch.cmake)
endif()

include(${CMAKE_CURRENT_LIST_DIR}/check_abseil.cmake)
twinmmu_check_abseil()

# A project around this one links with what was imported here.
get_directory_property(twinmmu_imported IMPORTED_TARGETS)
foreach(target ${twinmmu_imported})
  set_property(TARGET ${target} PROPERTY IMPORTED_GLOBAL TRUE)
endforeach()
