# ses_package(TARGET NAME COMPONENT DESCRIPTION): installs a library that programs link, with what they find it by:
# find_package in CMake (the target is ses::EXPORT_NAME), and pkg-config.
include(CMakePackageConfigHelpers)

function(ses_package target name component description)
  set(cmake ${CMAKE_INSTALL_LIBDIR}/cmake/${name})
  install(TARGETS ${target} EXPORT ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component})
  install(EXPORT ${name} NAMESPACE ses:: FILE ${name}-targets.cmake DESTINATION ${cmake} COMPONENT ${component})
  get_target_property(export ${target} EXPORT_NAME)
  if(NOT export)
    set(export ${target})
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/package-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/${name}-config.cmake @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}-config.cmake DESTINATION ${cmake} COMPONENT ${component})
  # Before 1.0 a minor version may change the interface.
  set(version ${CMAKE_CURRENT_BINARY_DIR}/${name}-config-version.cmake)
  write_basic_package_version_file(${version} COMPATIBILITY SameMinorVersion)
  install(FILES ${version} DESTINATION ${cmake} COMPONENT ${component})

  # The prefix is found from where the file lies, so that an installed tree can be moved.
  set(pkgconfig ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  file(RELATIVE_PATH up /prefix/${pkgconfig} /prefix)
  string(REGEX REPLACE "/$" "" up "${up}")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/package.pc.in ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${pkgconfig} COMPONENT ${component})
endfunction()
