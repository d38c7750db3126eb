# torchlift_room(NAME [MAY_INCLUDE room...] [LINK target...] [EXECUTABLE name])
# One target for src/NAME. Headers are named by room ("stablehlo/type.hpp"); a room sees only the folders that its row
# permits, so a forbidden include does not compile.
function(torchlift_room name)
  cmake_parse_arguments(ROOM "" "EXECUTABLE" "MAY_INCLUDE;LINK" ${ARGN})
  string(REPLACE "/" "_" id ${name})

  # An include root that holds this room alone.
  set(root ${CMAKE_BINARY_DIR}/rooms/${id})
  get_filename_component(parent ${root}/${name} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  if(NOT EXISTS ${root}/${name})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/${name} ${root}/${name} SYMBOLIC)
  endif()

  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp ${PROJECT_SOURCE_DIR}/src/${name}/*.S)
  if(NOT sources)
    file(WRITE ${CMAKE_BINARY_DIR}/empty_${id}.cpp "")
    set(sources ${CMAKE_BINARY_DIR}/empty_${id}.cpp)
  endif()
  # The room of a program: its main.cpp over a library of all else, so that tests can call what is in it.
  if(ROOM_EXECUTABLE)
    list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/src/${name}/main.cpp)
    add_executable(${ROOM_EXECUTABLE} ${PROJECT_SOURCE_DIR}/src/${name}/main.cpp)
    target_link_libraries(${ROOM_EXECUTABLE} PRIVATE torchlift_${id} ${ROOM_LINK})
    target_include_directories(${ROOM_EXECUTABLE} PRIVATE $<TARGET_PROPERTY:torchlift_${id},INCLUDE_DIRECTORIES>)
  endif()
  add_library(torchlift_${id} STATIC ${sources})
  target_include_directories(torchlift_${id} PRIVATE ${root})
  foreach(neighbour ${ROOM_MAY_INCLUDE})
    string(REPLACE "/" "_" neighbour ${neighbour})
    target_include_directories(torchlift_${id} PRIVATE ${CMAKE_BINARY_DIR}/rooms/${neighbour})
    target_link_libraries(torchlift_${id} INTERFACE torchlift_${neighbour})
  endforeach()
  target_link_libraries(torchlift_${id} PRIVATE ${ROOM_LINK})
endfunction()

# torchlift_embed(SOURCE.S DATA...): an assembler file that takes the data files in by `.incbin "NAME"`; an edit of the data
# assembles it again.
function(torchlift_embed source)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/${source} PROPERTIES OBJECT_DEPENDS "${ARGN}"
                              COMPILE_OPTIONS "-Wa,-I${PROJECT_SOURCE_DIR}/data")
endfunction()
