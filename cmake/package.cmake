# The library for C and C++ inside the Python package, under swath/library: it may be moved, and serves every MPI
# family. It has one libswath_mpi.so for each family, linked to no MPI: programs link to their own.
set(SWATH_PACKAGE_LIBRARY swath/library)
set(SWATH_IN_PACKAGE ${CMAKE_BINARY_DIR}/in_package)  # what is made for it here

install(DIRECTORY ${SWATH_PUBLIC}/include/swath DESTINATION ${SWATH_PACKAGE_LIBRARY}/include)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/mpi_family.inc DESTINATION ${SWATH_PACKAGE_LIBRARY}/include/swath)
install(TARGETS swath LIBRARY DESTINATION ${SWATH_PACKAGE_LIBRARY}/lib NAMELINK_SKIP)
# The files that linkers look for, instead of links.
file(WRITE ${SWATH_IN_PACKAGE}/libswath.so "INPUT(libswath.so.${SWATH_ABI})\n")
file(WRITE ${SWATH_IN_PACKAGE}/libswath_mpi.so "INPUT(libswath_mpi.so.${SWATH_ABI})\n")
install(FILES ${SWATH_IN_PACKAGE}/libswath.so DESTINATION ${SWATH_PACKAGE_LIBRARY}/lib)

set(SWATH_PC_FOLDER lib/pkgconfig)
set(SWATH_PREFIX_FROM_PC ../..)
set(SWATH_PC_RPATH " -Wl,-rpath,\${libdir}")
set(CMAKE_INSTALL_LIBDIR lib)
set(CMAKE_INSTALL_INCLUDEDIR include)
configure_file(${CMAKE_CURRENT_LIST_DIR}/swath.pc.in ${SWATH_IN_PACKAGE}/swath.pc @ONLY)
install(FILES ${SWATH_IN_PACKAGE}/swath.pc DESTINATION ${SWATH_PACKAGE_LIBRARY}/${SWATH_PC_FOLDER})

get_property(SWATH_MPI_FAMILIES GLOBAL PROPERTY SWATH_MPI_FAMILIES)
foreach(SWATH_FAMILY ${SWATH_MPI_FAMILIES})
  set(SWATH_LIBRARY swath_mpi_of_${SWATH_FAMILY})
  add_library(${SWATH_LIBRARY} SHARED
    $<TARGET_OBJECTS:swath_comm_of_${SWATH_FAMILY}> $<TARGET_OBJECTS:swath_c_of_${SWATH_FAMILY}>)
  target_link_libraries(${SWATH_LIBRARY} PRIVATE swath Threads::Threads)
  target_link_options(${SWATH_LIBRARY} PRIVATE -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/swath_mpi.map)
  swath_link_to_no_mpi(${SWATH_LIBRARY})
  set_target_properties(${SWATH_LIBRARY} PROPERTIES
    LINKER_LANGUAGE CXX OUTPUT_NAME swath_mpi VERSION ${SWATH_ABI} SOVERSION ${SWATH_ABI}
    LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/swath_mpi.map LIBRARY_OUTPUT_DIRECTORY ${SWATH_IN_PACKAGE}/${SWATH_FAMILY}
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/..")
  set(SWATH_FAMILY_FOLDER ${SWATH_PACKAGE_LIBRARY}/lib/${SWATH_FAMILY})
  install(TARGETS ${SWATH_LIBRARY} LIBRARY DESTINATION ${SWATH_FAMILY_FOLDER} NAMELINK_SKIP)
  install(FILES ${SWATH_IN_PACKAGE}/libswath_mpi.so DESTINATION ${SWATH_FAMILY_FOLDER})
endforeach()

set(SWATH_PACKAGE_FOLDER ${SWATH_PACKAGE_LIBRARY}/lib/cmake/Swath)
configure_file(${CMAKE_CURRENT_LIST_DIR}/SwathConfigInPackage.cmake.in ${SWATH_IN_PACKAGE}/SwathConfig.cmake @ONLY)
install(FILES ${SWATH_IN_PACKAGE}/SwathConfig.cmake ${SWATH_PUBLIC}/SwathConfigVersion.cmake
  DESTINATION ${SWATH_PACKAGE_FOLDER})

set(SWATH_INSTALLED_FFLAGS "")
file(READ ${CMAKE_CURRENT_LIST_DIR}/find_mpi.sh SWATH_CONFIG_MPI)
configure_file(${CMAKE_CURRENT_LIST_DIR}/swath-config.in ${SWATH_IN_PACKAGE}/swath-config @ONLY)
install(PROGRAMS ${SWATH_IN_PACKAGE}/swath-config DESTINATION ${SWATH_PACKAGE_LIBRARY}/bin)
