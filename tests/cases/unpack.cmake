# cmake -DPACK=FILE.tar.xz -DFOLDER=DIR -P unpack.cmake: DIR holds the files of the pack, and no others.
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
file(ARCHIVE_EXTRACT INPUT ${PACK} DESTINATION ${FOLDER})
