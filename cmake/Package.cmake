# What is installed, and the Debian package that `make deb` makes of it.
install(TARGETS drover drover-runtime drover-hook RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES deploy/systemd/drover-server.service deploy/systemd/drover-worker.service
        DESTINATION lib/systemd/system COMPONENT package)
install(FILES deploy/deb/server.toml deploy/deb/worker.toml DESTINATION /etc/drover COMPONENT package)
install(FILES deploy/deb/copyright README.md CHANGELOG.md DESTINATION share/doc/drover COMPONENT package)
install(DIRECTORY docs/ DESTINATION share/doc/drover/docs COMPONENT package FILES_MATCHING PATTERN "*.md" PATTERN "*.yaml" PATTERN "*.json" PATTERN pictures EXCLUDE)
install(DIRECTORY examples/jobs examples/aws-batch examples/scale-from-zero DESTINATION share/doc/drover/examples COMPONENT package)
set(CPACK_PACKAGE_CONTACT "The Drover authors <drover@localhost>")
set(generated ${CMAKE_BINARY_DIR}/generated-files)
install(CODE "set(DROVER_BINARY \"${CMAKE_BINARY_DIR}/bin/drover\")
set(DROVER_SOURCE \"${CMAKE_SOURCE_DIR}\")
set(DROVER_VERSION \"${PROJECT_VERSION}\")
set(DROVER_CONTACT \"${CPACK_PACKAGE_CONTACT}\")
set(DROVER_OUT \"${generated}\")
include(\"${CMAKE_SOURCE_DIR}/cmake/generate_files.cmake\")" COMPONENT package)
install(DIRECTORY ${generated}/ DESTINATION share COMPONENT package)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME drover)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "batch runner for many independent items")
set(CPACK_PACKAGE_DESCRIPTION "Drover runs a command for every item of a list, on this machine or on many,
keeps what became of each one durable, tries again what should be tried
again, and keeps the output and the resource use of every attempt.
.
This package holds the program, and units for systemd: drover-server and
drover-worker. Neither is started by installing it.")
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/package)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "passwd")
# For items in containers: who runs them, and who fetches images.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "crun | runc, skopeo")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    ${CMAKE_SOURCE_DIR}/deploy/deb/postinst ${CMAKE_SOURCE_DIR}/deploy/deb/prerm ${CMAKE_SOURCE_DIR}/deploy/deb/postrm
    ${CMAKE_SOURCE_DIR}/deploy/deb/conffiles)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_COMPONENTS_ALL Unspecified package)
include(CPack)
