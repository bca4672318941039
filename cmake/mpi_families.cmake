# The MPI families, each with an ABI: mpich (also Intel's, MVAPICH), openmpi, and mpiabi, the standard ABI. A library
# for a family is compiled with the headers of one MPI and linked to none: it uses the MPI that the process has loaded.
set(SWATH_MPI_FAMILIES "")

# Sets, for the MPI of an mpicc, SWATH_MPI_FAMILY, and its -I and -D in the global property SWATH_MPI_FLAGS_<family>.
macro(swath_add_mpi_family mpicc)
  execute_process(COMMAND ${mpicc} -show
    OUTPUT_VARIABLE SWATH_FAMILY_FLAGS OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(SWATH_FAMILY_FLAGS UNIX_COMMAND "${SWATH_FAMILY_FLAGS}")
  list(FILTER SWATH_FAMILY_FLAGS INCLUDE REGEX "^-[ID].+")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${SWATH_FAMILY_FLAGS} -E -P -x c++ ${PROJECT_SOURCE_DIR}/cmake/mpi_family.inc
    OUTPUT_VARIABLE SWATH_MPI_FAMILY OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCH "[a-z]+$" SWATH_MPI_FAMILY "${SWATH_MPI_FAMILY}")
  if(NOT SWATH_MPI_FAMILY IN_LIST SWATH_MPI_FAMILIES)
    message(STATUS "swath: MPI of the family ${SWATH_MPI_FAMILY}: ${mpicc}")
    list(APPEND SWATH_MPI_FAMILIES ${SWATH_MPI_FAMILY})
    set_property(GLOBAL PROPERTY SWATH_MPI_FLAGS_${SWATH_MPI_FAMILY} "${SWATH_FAMILY_FLAGS}")
    set_property(GLOBAL PROPERTY SWATH_MPI_FAMILIES "${SWATH_MPI_FAMILIES}")
  endif()
endmacro()

# Compiled for one family.
function(swath_compile_for_mpi target family)
  get_property(flags GLOBAL PROPERTY SWATH_MPI_FLAGS_${family})
  foreach(flag ${flags})
    string(SUBSTRING ${flag} 2 -1 value)
    if(flag MATCHES "^-I")
      target_include_directories(${target} SYSTEM PRIVATE ${value})
    else()
      target_compile_definitions(${target} PRIVATE ${value})
    endif()
  endforeach()
  target_compile_definitions(${target} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
endfunction()

# A library for one family: a function that the loaded MPI is too old to have fails only when it is called.
function(swath_link_to_no_mpi target)
  target_link_options(${target} PRIVATE -Wl,-z,lazy)
endfunction()
