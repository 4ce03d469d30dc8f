# Run by `cmake --install`: lets programs find libses.so.0 when they start, or says how they do.
#
# Does nothing when a package is made (DESTDIR): its manager runs ldconfig.  SES_LIBDIR is where the library lies
# below the prefix.
if(NOT "$ENV{DESTDIR}" STREQUAL "")
  return()
endif()
set(directory "${SES_LIBDIR}")
cmake_path(ABSOLUTE_PATH directory BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" NORMALIZE)
find_program(SES_LDCONFIG ldconfig PATHS /sbin /usr/sbin)
if(SES_LDCONFIG AND CMAKE_INSTALL_PREFIX MATCHES "^/usr(/local)?/?$")
  execute_process(COMMAND ${SES_LDCONFIG} OUTPUT_QUIET ERROR_QUIET) # fails where root does not call; see below
endif()
set(known "")
if(SES_LDCONFIG)
  execute_process(COMMAND ${SES_LDCONFIG} -p OUTPUT_VARIABLE known ERROR_QUIET)
endif()
string(FIND "${known}" " => ${directory}/libses.so.0\n" place)
if(place EQUAL -1)
  message(STATUS "Programs do not find ${directory}/libses.so.0 by themselves yet. Run ldconfig as root if "
                 "${directory} is in /etc/ld.so.conf, link programs with -Wl,-rpath,${directory}, or set "
                 "LD_LIBRARY_PATH=${directory}. Programs built with CMake's find_package(ses) run where they are built.")
else()
  message(STATUS "Programs find ${directory}/libses.so.0.")
endif()
