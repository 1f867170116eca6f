# What is installed, and the Debian package that `make deb` makes of it.
install(TARGETS drover RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES deploy/systemd/drover-server.service deploy/systemd/drover-worker.service
        DESTINATION lib/systemd/system COMPONENT package)
install(FILES deploy/deb/server.toml deploy/deb/worker.toml DESTINATION /etc/drover COMPONENT package)
install(FILES LICENSE CHANGELOG.md README.md DESTINATION share/doc/drover COMPONENT package)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME drover)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The Drover authors <drover@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Runs a command for every item of a list, on the cheapest machines at hand")
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/package)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "passwd")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    ${CMAKE_SOURCE_DIR}/deploy/deb/postinst ${CMAKE_SOURCE_DIR}/deploy/deb/prerm ${CMAKE_SOURCE_DIR}/deploy/deb/postrm
    ${CMAKE_SOURCE_DIR}/deploy/deb/conffiles)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_COMPONENTS_ALL Unspecified package)
include(CPack)
