# remember.awk: awk -f remember.awk FILE NAME VALUE...: prints FILE, a makefile, with NAME ?= VALUE in place of the line
# that sets NAME, or at the end. Other lines stay as they are.
BEGIN {
    for (i = 2; i < ARGC; i += 2) line[ARGV[i]] = ARGV[i] " ?= " escaped(ARGV[i + 1])
    while ((got = getline old <ARGV[1]) > 0) {
        name = old
        sub(/[ \t]*[?:+]*=.*/, "", name)
        if (name in line) old = line[name]
        done[name]
        print old
    }
    if (got < 0) print "# What make was given, until make clean (mk/settings.mk). You may edit it."
    for (i = 2; i < ARGC; i += 2) if (!(ARGV[i] in done)) print line[ARGV[i]]
}

# A # would begin a comment, and backslashes count before it alone.
function escaped(value, out) {
    while (match(value, /\\*#/)) {
        slashes = substr(value, RSTART, RLENGTH - 1)
        out = out substr(value, 1, RSTART - 1) slashes slashes "\\#"
        value = substr(value, RSTART + RLENGTH)
    }
    return out value
}
