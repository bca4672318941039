# cmake -DVERSION=… -DFILES=a,b,… -DOUTPUT=build_id.h -P build_id.cmake: names what backends are made of, by their contents.
string(REPLACE "," ";" FILES "${FILES}")
set(ALL "")
foreach(FILE ${FILES})
  file(SHA256 ${FILE} ONE)
  string(APPEND ALL ${ONE})
endforeach()
string(SHA256 ALL "${ALL}")
string(SUBSTRING ${ALL} 0 12 ID)
file(WRITE ${OUTPUT} "// Written when Swath is built (bindings/mpi_io/build_id.cmake).\n"
  "#define SWATH_MPI_IO_BUILD \"${VERSION}-${ID}\"\n")
