# Libraries come from the system, or from TORCHLIFT_DEPS: a prefix (include/, lib/) or a folder of installed packages.
# Nothing is downloaded here; tools/setup installs or names what is missing. Why each: docs/dependencies.md.
if(TORCHLIFT_DEPS)
  list(PREPEND CMAKE_PREFIX_PATH ${TORCHLIFT_DEPS})
  file(GLOB children LIST_DIRECTORIES true ${TORCHLIFT_DEPS}/*)
  list(APPEND CMAKE_PREFIX_PATH ${children})
endif()

set(missing "")

# A header-and-library dependency without a reliable CMake package.
function(torchlift_find_library target header library package)
  if(TARGET ${target})
    return()
  endif()
  string(MAKE_C_IDENTIFIER ${target} id)
  find_path(${id}_INCLUDE ${header})
  find_library(${id}_LIBRARY ${library})
  if(NOT ${id}_INCLUDE OR NOT ${id}_LIBRARY)
    set(missing "${missing};${package}" PARENT_SCOPE)
    return()
  endif()
  add_library(${target} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${${id}_LIBRARY}
                        INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${${id}_INCLUDE}
                        INTERFACE_INCLUDE_DIRECTORIES ${${id}_INCLUDE})
endfunction()

torchlift_find_library(libdeflate::libdeflate libdeflate.h deflate libdeflate-dev)
torchlift_find_library(xxHash::xxhash xxhash.h xxhash libxxhash-dev)
torchlift_find_library(simdjson::simdjson simdjson.h simdjson libsimdjson-dev)

find_package(CLI11 QUIET)
if(NOT CLI11_FOUND)
  list(APPEND missing libcli11-dev)
endif()
if(TORCHLIFT_DEVELOPER)
  find_package(GTest QUIET)
  if(NOT GTest_FOUND)
    list(APPEND missing libgtest-dev)
  endif()
  find_package(benchmark QUIET)
  if(NOT benchmark_FOUND)
    list(APPEND missing libbenchmark-dev)
  endif()
endif()

list(REMOVE_ITEM missing "")
if(missing)
  list(JOIN missing " " missing)
  message(FATAL_ERROR "missing: ${missing} (names of Debian packages)\n"
          "Run tools/setup, or give -DTORCHLIFT_DEPS=DIR with these libraries installed below DIR.")
endif()
