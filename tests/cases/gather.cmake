# cmake -DMODEL=FILE -DCASES=DIR -DFOLDER=DIR -P gather.cmake: FOLDER holds the case files of CASES, and the model under the name
# of each: NAME.pt for NAME.stepS.safetensors.
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
file(GLOB cases ${CASES}/*.safetensors)
foreach(case ${cases})
  file(COPY ${case} DESTINATION ${FOLDER})
  get_filename_component(name ${case} NAME)
  string(REGEX REPLACE "(\\.step[0-9]+)?\\.safetensors$" "" name ${name})
  file(CREATE_LINK ${MODEL} ${FOLDER}/${name}.pt SYMBOLIC)
endforeach()
