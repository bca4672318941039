# The library as it is installed, for C and C++: libswath.so, libswath_mpi.so, the headers, a CMake package, files for
# pkg-config and swath-config. In a build of the Python package, which has its own (package.cmake), only
# `cmake --install BUILD --component library` installs it, after the target swath_library was built.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(SWATH_PACKAGE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/Swath)
set(SWATH_PUBLIC ${CMAKE_BINARY_DIR}/public)  # what is made for it here
if(SKBUILD)
  set(SWATH_COMPONENT COMPONENT library EXCLUDE_FROM_ALL)
  set(SWATH_IN_ALL EXCLUDE_FROM_ALL)
else()
  set(SWATH_COMPONENT COMPONENT library)
  set(SWATH_IN_ALL "")
endif()

# ---- Headers: those of C, and those that swath/swath.hpp and swath_mpi.hpp include, by their names when installed ------
set(SWATH_PUBLIC_HEADERS
  base/bytes.h base/direction.h base/error.h base/fork.h base/math.h chunks/codec.h
  comm/collective_turn.h comm/comm.h comm/mpi_ranks.h files/data_file.h files/file_array.h files/one_array_file.h
  formats/attribute.h formats/contents.h formats/element_type.h formats/new_array.h
  formats/raw_elements.h space/decomposition.h space/distribution.h space/index_set.h space/nest.h space/view.h
  store/open_mode.h)
file(REMOVE_RECURSE ${SWATH_PUBLIC}/include)  # also headers under earlier names
function(swath_publish_header source name)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(READ ${source} text)
  string(REPLACE "#include \"" "#include \"swath/" text "${text}")
  file(WRITE ${SWATH_PUBLIC}/include/swath/${name} "${text}")
endfunction()
foreach(SWATH_HEADER ${SWATH_PUBLIC_HEADERS})
  swath_publish_header(${PROJECT_SOURCE_DIR}/core/${SWATH_HEADER} ${SWATH_HEADER})
endforeach()
foreach(SWATH_HEADER swath.h swath_mpi.h swath.hpp swath_mpi.hpp)
  swath_publish_header(${PROJECT_SOURCE_DIR}/include/swath/${SWATH_HEADER} ${SWATH_HEADER})
endforeach()
install(DIRECTORY ${SWATH_PUBLIC}/include/swath DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} ${SWATH_COMPONENT})

# ---- Libraries ---------------------------------------------------------------------------------------------------------
# The libraries that the core links to are private: programs that link to this library do not need them.
add_library(swath SHARED $<TARGET_OBJECTS:swath_core> $<TARGET_OBJECTS:swath_c>)
get_target_property(SWATH_CORE_LIBRARIES swath_core LINK_LIBRARIES)
target_link_libraries(swath PRIVATE ${SWATH_CORE_LIBRARIES})
target_link_options(swath PRIVATE -Wl,-z,defs -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/swath.map)
target_include_directories(swath INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
string(REGEX MATCH "^[0-9]+\\.[0-9]+" SWATH_ABI ${SWATH_VERSION})  # before 1.0 a minor version may change the ABI
set(SWATH_FILE_VERSION ${SWATH_VERSION})
if(SKBUILD)  # one file: a wheel stores copies of links
  set(SWATH_FILE_VERSION ${SWATH_ABI})
endif()
set_target_properties(swath PROPERTIES LINKER_LANGUAGE CXX VERSION ${SWATH_FILE_VERSION} SOVERSION ${SWATH_ABI}
  LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/swath.map BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "")
add_custom_target(swath_library DEPENDS swath)
install(TARGETS swath EXPORT SwathTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ${SWATH_COMPONENT})

# For one MPI: a separate library, which finds that MPI and libswath.so by itself.
set(SWATH_INSTALLED_MPICC "")
if(TARGET swath_mpi)
  get_property(SWATH_FAMILY GLOBAL PROPERTY SWATH_MPI_FAMILY_OF_CORE)
  get_property(SWATH_INSTALLED_MPICC GLOBAL PROPERTY SWATH_MPICC)
  get_property(SWATH_INSTALLED_MPI_INCLUDES GLOBAL PROPERTY SWATH_MPI_INCLUDES)
  get_property(SWATH_INSTALLED_MPI_LINK GLOBAL PROPERTY SWATH_MPI_LINK)
  get_property(SWATH_INSTALLED_MPI_FOLDERS GLOBAL PROPERTY SWATH_MPI_FOLDERS)
  list(TRANSFORM SWATH_INSTALLED_MPI_FOLDERS PREPEND "-Wl,-rpath," OUTPUT_VARIABLE SWATH_INSTALLED_MPI_RPATHS)
  add_library(swath_mpi_installed SHARED ${SWATH_IN_ALL}
    $<TARGET_OBJECTS:swath_comm_of_${SWATH_FAMILY}> $<TARGET_OBJECTS:swath_c_of_${SWATH_FAMILY}>)
  target_link_libraries(swath_mpi_installed PRIVATE Threads::Threads)
  target_link_libraries(swath_mpi_installed PUBLIC swath ${SWATH_INSTALLED_MPI_LINK})
  target_link_libraries(swath_mpi_installed INTERFACE ${SWATH_INSTALLED_MPI_RPATHS})
  # As options: CMake refuses to install a target with includes in the source tree, where .venv may be.
  list(TRANSFORM SWATH_INSTALLED_MPI_INCLUDES PREPEND "SHELL:-isystem " OUTPUT_VARIABLE SWATH_MPI_INCLUDE_OPTIONS)
  list(TRANSFORM SWATH_MPI_INCLUDE_OPTIONS REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:C,CXX>:\\1>")  # not of Fortran
  target_compile_options(swath_mpi_installed INTERFACE ${SWATH_MPI_INCLUDE_OPTIONS})
  target_compile_definitions(swath_mpi_installed INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  target_link_options(swath_mpi_installed PRIVATE
    -Wl,-z,defs -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/swath_mpi.map)
  list(JOIN SWATH_INSTALLED_MPI_FOLDERS ":" SWATH_MPI_RPATH)
  set_target_properties(swath_mpi_installed PROPERTIES
    LINKER_LANGUAGE CXX OUTPUT_NAME swath_mpi EXPORT_NAME mpi VERSION ${SWATH_FILE_VERSION} SOVERSION ${SWATH_ABI}
    LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/swath_mpi.map LIBRARY_OUTPUT_DIRECTORY ${SWATH_PUBLIC}/lib
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN:${SWATH_MPI_RPATH}")
  add_dependencies(swath_library swath_mpi_installed)
  install(TARGETS swath_mpi_installed EXPORT SwathTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ${SWATH_COMPONENT})
endif()

set(SWATH_INSTALLED_FFLAGS "")
if(SWATH_BUILD_FORTRAN)
  add_subdirectory(${PROJECT_SOURCE_DIR}/bindings/fortran ${CMAKE_BINARY_DIR}/fortran)
endif()

# ---- Files by which programs find it ---------------------------------------------------------------------------------
install(EXPORT SwathTargets NAMESPACE swath:: DESTINATION ${SWATH_PACKAGE_FOLDER} ${SWATH_COMPONENT})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/SwathConfig.cmake.in ${SWATH_PUBLIC}/SwathConfig.cmake
  INSTALL_DESTINATION ${SWATH_PACKAGE_FOLDER})
write_basic_package_version_file(${SWATH_PUBLIC}/SwathConfigVersion.cmake
  VERSION ${SWATH_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${SWATH_PUBLIC}/SwathConfig.cmake ${SWATH_PUBLIC}/SwathConfigVersion.cmake
  DESTINATION ${SWATH_PACKAGE_FOLDER} ${SWATH_COMPONENT})

set(SWATH_PC_FOLDER ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH SWATH_PREFIX_FROM_PC /prefix/${SWATH_PC_FOLDER} /prefix)
list(TRANSFORM SWATH_INSTALLED_MPI_INCLUDES PREPEND "-I" OUTPUT_VARIABLE SWATH_PC_MPI_CFLAGS)
# As the CMake targets: MPI's old interface for C++ would need a library more.
list(APPEND SWATH_PC_MPI_CFLAGS -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX)
list(JOIN SWATH_PC_MPI_CFLAGS " " SWATH_PC_MPI_CFLAGS)
list(APPEND SWATH_INSTALLED_MPI_LINK ${SWATH_INSTALLED_MPI_RPATHS})
list(JOIN SWATH_INSTALLED_MPI_LINK " " SWATH_PC_MPI_LIBS)
set(SWATH_PC_NAMES swath)
set(SWATH_PC_RPATH "")
if(TARGET swath_mpi)
  list(APPEND SWATH_PC_NAMES swath_mpi)
endif()
foreach(SWATH_PC ${SWATH_PC_NAMES})
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${SWATH_PC}.pc.in ${SWATH_PUBLIC}/${SWATH_PC}.pc @ONLY)
  install(FILES ${SWATH_PUBLIC}/${SWATH_PC}.pc DESTINATION ${SWATH_PC_FOLDER} ${SWATH_COMPONENT})
endforeach()

set(SWATH_CONFIG_MPI "mpicc='${SWATH_INSTALLED_MPICC}'
mpi_libdir=$libdir
mpi_cflags='${SWATH_PC_MPI_CFLAGS}'
mpi_libs='${SWATH_PC_MPI_LIBS}'
find_mpi() {
  [ -n \"$mpicc\" ] || { echo 'swath-config: this Swath was built without MPI' >&2; exit 1; }
}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/swath-config.in ${SWATH_PUBLIC}/swath-config @ONLY)
install(PROGRAMS ${SWATH_PUBLIC}/swath-config DESTINATION ${CMAKE_INSTALL_BINDIR} ${SWATH_COMPONENT})

if(SKBUILD)
  include(${CMAKE_CURRENT_LIST_DIR}/package.cmake)
endif()
