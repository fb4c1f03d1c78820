# twinmmu_find_compression(NAME TARGETS...) defines twinmmu::NAME as the first of TARGETS that exists, or by the header
# and the library: packages of lz4 and zstd call their target differently, or have none for CMake. Without any, nothing.
function(twinmmu_find_compression name)
  if(TARGET twinmmu::${name})
    return()
  endif()
  find_package(${name} CONFIG QUIET)
  foreach(target ${ARGN})
    if(TARGET ${target})
      add_library(twinmmu::${name} INTERFACE IMPORTED)
      target_link_libraries(twinmmu::${name} INTERFACE ${target})
      return()
    endif()
  endforeach()

  find_package(PkgConfig QUIET)
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(PC_${name} QUIET lib${name})
  endif()
  find_path(TWINMMU_${name}_INCLUDE_DIR ${name}.h HINTS ${PC_${name}_INCLUDE_DIRS})
  find_library(TWINMMU_${name}_LIBRARY ${name} HINTS ${PC_${name}_LIBRARY_DIRS})
  mark_as_advanced(TWINMMU_${name}_INCLUDE_DIR TWINMMU_${name}_LIBRARY)
  if(TWINMMU_${name}_INCLUDE_DIR AND TWINMMU_${name}_LIBRARY)
    add_library(twinmmu::${name} UNKNOWN IMPORTED)
    set_target_properties(twinmmu::${name} PROPERTIES
      IMPORTED_LOCATION "${TWINMMU_${name}_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${TWINMMU_${name}_INCLUDE_DIR}")
  endif()
endfunction()

twinmmu_find_compression(lz4 lz4::lz4 LZ4::lz4 LZ4::lz4_shared LZ4::lz4_static lz4_shared lz4_static)
twinmmu_find_compression(zstd zstd::libzstd zstd::libzstd_shared zstd::libzstd_static libzstd_shared libzstd_static)
