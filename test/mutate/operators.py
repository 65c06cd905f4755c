"""operators.py: the small changes of C source of which mutate.py draws its generated faults."""

import re

# A comment, a string, a character and a line of the preprocessor have no places for a fault.
HIDDEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])*\'|^[ \t]*#(?:\\\n|[^\n])*', re.S | re.M)
EXCHANGED = {
    " + ": (" - ",), " - ": (" + ",), " * ": (" / ",), " / ": (" * ",), " += ": (" -= ",), " -= ": (" += ",),
    " < ": (" <= ",), " <= ": (" < ",), " > ": (" >= ",), " >= ": (" > ",), " == ": (" != ",), " != ": (" == ",),
    " && ": (" || ",), " || ": (" && ",), " << ": (" >> ",), " & ": (" | ",), " | ": (" & ",),
}
# What only asks for memory ahead, with its condition, changes no result.
ASKING = re.compile(r"(?:\bif \([^;{}]*\)\s*)?\b(?:ask_ahead|ask_for\w*|\w*prefetch\w*)\([^;]*;")
OPERATOR = re.compile("|".join(map(re.escape, sorted(EXCHANGED, key=len, reverse=True))))
CONSTANT = re.compile(r"(?<![\w.])\d+(?![\w.])")
# A call or an assignment that is a line by itself. Without free there is a leak, but no wrong result.
STATEMENT = re.compile(r"^ +(?!return\b|break\b|continue\b|goto\b|case\b|free\(|spmv_free\(|assert)"
                       r"(?:[\w\[\]>.\-]+ [+\-*/|&]?= |\*?[\w\[\]>.\-]+\(|[\w>.\-]+(?:\+\+|--);)[^{};\n]*;$", re.M)


def changes(text):
    """[(place, text there, text instead)]"""
    seen = text
    for pattern in HIDDEN, ASKING:
        seen = pattern.sub(lambda hidden: re.sub(r"[^\n]", "\0", hidden.group()), seen)
    found = []
    for match in OPERATOR.finditer(seen):
        found += [(match.start(), match.group(), new) for new in EXCHANGED[match.group()]]
    for match in CONSTANT.finditer(seen):
        found += [(match.start(), match.group(), str(int(match.group()) + 1))]
        if int(match.group()) > 0:
            found += [(match.start(), match.group(), str(int(match.group()) - 1))]
    for match in STATEMENT.finditer(seen):
        at = match.start() + len(match.group()) - len(match.group().lstrip())
        found += [(at, text[at:match.end()], ";")]
    return found
