# Files of the package that are made, not written: run at install with DROVER_BINARY, DROVER_SOURCE, DROVER_VERSION, DROVER_CONTACT and
# DROVER_OUT, which becomes /usr/share. The program writes its own completions and man pages, so they say what it does.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(compress)
  run(gzip -9 -n -f ${ARGN})
endfunction()

file(REMOVE_RECURSE ${DROVER_OUT})
file(MAKE_DIRECTORY ${DROVER_OUT}/doc/drover)
# In the form that Debian's tools read: it leads to the one for people.
execute_process(COMMAND git log -1 --format=%cD WORKING_DIRECTORY ${DROVER_SOURCE} OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT date)
  set(date "Thu, 01 Jan 1970 00:00:00 +0000")
endif()
file(WRITE ${DROVER_OUT}/doc/drover/changelog
     "drover (${DROVER_VERSION}) unstable; urgency=medium\n\n  * See CHANGELOG.md beside this file.\n\n -- ${DROVER_CONTACT}  ${date}\n")
compress(${DROVER_OUT}/doc/drover/changelog)

execute_process(COMMAND ${DROVER_BINARY} --help OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
if(help MATCHES "\n  completion ")
  foreach(place bash:bash-completion/completions/drover zsh:zsh/vendor-completions/_drover fish:fish/vendor_completions.d/drover.fish)
    string(REGEX MATCH "^([a-z]+):(.*)/([^/]+)$" ignored ${place})
    set(shell ${CMAKE_MATCH_1})
    set(folder ${DROVER_OUT}/${CMAKE_MATCH_2})
    set(file ${folder}/${CMAKE_MATCH_3})
    file(MAKE_DIRECTORY ${folder})
    execute_process(COMMAND ${DROVER_BINARY} completion ${shell} OUTPUT_FILE ${file} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endif()
if(help MATCHES "\n  man ")
  run(${DROVER_BINARY} man --quiet ${DROVER_OUT}/man/man1)
  file(GLOB pages ${DROVER_OUT}/man/man1/*.1)
  compress(${pages})
endif()
