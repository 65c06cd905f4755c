# transcript.awk: makes of a command-line test, NAME.t, the shell script that runs its commands and prints NAME.t anew.
#   $ COMMAND    a command, which may go on in lines that begin with >
#   text         a line that it printed; with ! before it, on stderr, which comes after stdout
#   [CODE]       its exit code, if that is not 0
# These are indented by two blanks, and all commands run in one shell. Every other line is for readers.
BEGIN {
    print ". \"$CLI/common\""
    print "here=$PWD"
    print "report() { code=$?; sed 's/^/  /' $here/../out; sed 's/^/  ! /' $here/../err; [ $code = 0 ] || echo \"  [$code]\"; }"
}
function shown(line) { gsub(/'/, "'\\''", line); print "printf '%s\\n' '" line "'" }
function run() { if (command) print "{" command "\n} >$here/../out 2>$here/../err; report"; command = "" }
/^  \$ / { run(); printed = 0 }
/^  \$ / || command && !printed && /^  > / { shown($0); command = command "\n" substr($0, 5); next }
/^  / { printed = 1; next }
{ run(); shown($0) }
END { run() }
