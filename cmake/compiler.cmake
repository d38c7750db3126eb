# Compiler flags: warnings are errors for developers only, so that a new compiler never breaks a user.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

find_program(MOLD mold)
if(MOLD AND TORCHLIFT_DEVELOPER)
  add_link_options(-fuse-ld=mold)
endif()

# Paths in debug information and messages start at the repository, so that equal sources give equal objects everywhere.
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
# An index out of bounds ends the program in every build: files are hostile.
add_compile_definitions(_GLIBCXX_ASSERTIONS)
if(TORCHLIFT_DEVELOPER)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wconversion;-Wshadow>")
  if(TORCHLIFT_WERROR)
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Werror>")
  endif()
  # GCC 12 sees overlapping copies in every optimised `"text" + std::string` (its bug 105651, mended in 13).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>")
  endif()
endif()
if(TORCHLIFT_SANITIZE)
  add_compile_options(-fsanitize=${TORCHLIFT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TORCHLIFT_SANITIZE})
endif()
if(TORCHLIFT_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()
