# Files of the package that are made, not written: run at install with DROVER_BINARY, DROVER_SOURCE and DROVER_OUT, which becomes
# /usr/share. The program writes its own completions and man pages, so they say what it does.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(compress)
  run(gzip -9 -n -f ${ARGN})
endfunction()

file(REMOVE_RECURSE ${DROVER_OUT})
file(MAKE_DIRECTORY ${DROVER_OUT}/doc/drover)
file(COPY_FILE ${DROVER_SOURCE}/CHANGELOG.md ${DROVER_OUT}/doc/drover/changelog)
compress(${DROVER_OUT}/doc/drover/changelog)
