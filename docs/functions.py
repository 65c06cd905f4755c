"""Every public function, one by one, from the comments of the installed headers: functions.md and the manual pages of
section 3, which generate.py writes."""
import pathlib
import re
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
HEADERS = ("include/spmv.h", "include/spmv_ranks.h", "include/spmv_bench.h")
NAME = re.compile(r"\b(spmv_\w+)\(")
COMMENT = re.compile(r"/\*(.*?)\*/", re.S)


def prose(comment):
    """A comment's text on one line."""
    lines = (re.sub(r"^ \* ?", "", line).strip() for line in comment.split("\n"))
    return " ".join(" ".join(lines).split())


def pieces(text):
    """Yields what a header says between its guards: ("section", title), ("comment", text), ("behind", text) of a
    comment on the line of the declaration before it, ("declaration", C) and ("blank", "")."""
    text = text[text.index("#pragma GCC visibility push"):text.index("#pragma GCC visibility pop")]
    text = re.sub(r"^#(?:\\\n|[^\n])*\n", "", text, flags=re.M)
    at = 0
    while at < len(text):
        if text[at] == "\n":
            blank = re.match(r"\n*", text[at:])[0]
            if len(blank) > 1:
                yield "blank", ""
            at += len(blank)
        elif text[at].isspace():
            at += 1
        elif text.startswith("/*", at):
            end = text.index("*/", at) + 2
            title = re.fullmatch(r"/\* -+ (.*?) -+ \*/", text[at:end])
            kind = "behind" if text[text.rfind("\n", 0, at):at].strip() else "comment"
            yield ("section", title[1]) if title else (kind, prose(text[at + 2:end - 2]))
            at = end
        else:
            end = end_of_declaration(text, at)
            yield "declaration", text[at:end]
            at = end


def end_of_declaration(text, at):
    """Finds where the declaration ends that begins here: after its semicolon outside braces and comments."""
    depth = 0
    while True:
        if text.startswith("/*", at):
            at = text.index("*/", at) + 2
            continue
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
        if text[at - 1] == ";" and depth == 0:
            return at


def entries(path):
    """(section, name, C, text) of every function and type of a header. A comment belongs to what follows it without a blank line; a
    function without one of its own is explained by that of the function before it."""
    section, comment, shared = "", "", ""
    found = []
    for kind, text in pieces((ROOT / path).read_text(encoding="utf-8")):
        if kind == "section":
            section = text
        elif kind == "comment":
            comment = f"{comment} {text}".strip()
            continue
        elif kind == "behind":
            said = text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
            found[-1][3] = said if found[-1][3] == shared else f"{found[-1][3]} {said}"
        elif kind == "declaration":
            is_type = not is_function(("", "", text, ""))
            name = re.findall(r"[A-Za-z]\w*", COMMENT.sub("", text))[-1] if is_type else NAME.search(text)[1]
            shared = comment or ("" if is_type or name.endswith("_free") else shared)
            found.append([section, name, text, shared])
        if kind != "declaration":
            shared = ""
        comment = ""
    return [entry for entry in found if not re.fullmatch(r"typedef struct (\w+) \1;", entry[2])]


def is_function(entry):
    """Says whether it is no type."""
    return not entry[2].startswith(("typedef", "enum"))


def wrapped(text):
    """C as the header has it, comments and all."""
    return "\n".join(line.rstrip() for line in text.strip().split("\n"))


def marked(text):
    """Prose in which names of the library, constants and sizes in brackets are code, and Markdown finds no marks of its own."""
    text = re.sub(r"([<>|*_])", r"\\\1", text)
    return re.sub(r"(?<![\w`])((?:spmv|SPMV)(?:\\_\w+|\w)+)", lambda found: f"`{found[1]}`".replace("\\", ""), text)


def page(mark):
    """functions.md"""
    text = ["# Functions of the library\n\n", mark, "\n",
            "Every function and type of [spmv.h](../../include/spmv.h), [spmv_ranks.h](../../include/spmv_ranks.h) (one matrix over many ranks) and\n"
            "[spmv_bench.h](../../include/spmv_bench.h).\n",
            "After `make install` each function has a manual page, such as `man spmv_plan_create`.\n",
            "[How to use it in C](../../docs/howto/c.md) shows them at work.\n"]
    for path in HEADERS:
        found = entries(path)
        text.append(f"\n## {path.rpartition('/')[2]}\n\n| function | what for |\n| --- | --- |\n")
        text += [f"| [`{name}`](#{name}) | {section} |\n" for section, name, c, _ in found if NAME.search(c) and is_function(("", "", c, ""))]
        for entry in found:
            _, name, c, said = entry
            text.append(f'\n### <a id="{name}"></a>{name}\n\n```c\n{wrapped(c)}\n```\n')
            if said:
                text.append("\n" + textwrap.fill(marked(said), 110, break_long_words=False, break_on_hyphens=False) + "\n")
    return "".join(text)


# ---- manual pages ------------------------------------------------------------------------------------


def roff(text):
    """Text as roff takes it."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def manual(entry, header, others, types, version):
    """The page of a function, with the types that its prototype names."""
    _, name, c, said = entry
    used = [known for known in types if re.search(rf"\b{known[1]}\b", c)]
    lines = [f".\\\" Made from {header}: do not edit.\n.TH {name.upper()} 3 \"\" \"spmv {version}\" \"Library Functions\"\n",
             f".SH NAME\n{name} \\- {roff(brief(said, entry))}\n",
             f".SH SYNOPSIS\n.nf\n.B #include <{header.rpartition('/')[2]}>\n.PP\n{roff(wrapped(c))}\n.fi\n"]
    if said:
        lines.append(f".SH DESCRIPTION\n{roff(said)}\n")
    for known in used:
        lines.append(f".SS {known[1]}\n.nf\n{roff(wrapped(known[2]))}\n.fi\n" + (f".PP\n{roff(known[3])}\n" if known[3] else ""))
    lines.append(".SH SEE ALSO\n" + ", ".join(f"{roff(other)}(3)" for other in others if other != name) + ", spmv(1)\n")
    return "".join(lines)


def brief(said, entry):
    """A line for `man -k`: the first sentence, if it is short."""
    first = re.split(r"(?<=[\w)])[.;:] ", said + " ")[0].rstrip(". ")
    return first if 0 < len(first) <= 100 else f"{entry[0] or 'library'} of spmv"


def manuals():
    """{file: text} of every function's page."""
    version = re.search(r'SPMV_VERSION "(.*)"', (ROOT / HEADERS[0]).read_text(encoding="utf-8"))[1]
    types = [entry for path in HEADERS for entry in entries(path) if not is_function(entry)]
    pages = {}
    for path in HEADERS:
        functions = [entry for entry in entries(path) if is_function(entry)]
        for entry in functions:
            near = [other[1] for other in functions if other[0] == entry[0]]
            pages[f"{entry[1]}.3"] = manual(entry, path, near, types, version)
    return pages
