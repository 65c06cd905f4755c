#!/usr/bin/env python3
"""layers.py: who may include and call whom, over all C and CUDA sources, by the table in docs/explanation/architecture.md.

A call is any use of a function or table that another file defines and a header declares; what an included
header's inline functions call counts as the file's own. The tables of kernels and formats (*.def) count as
uses of what they list. Prints every breach and every circle of files; exits 1 if there is one."""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/explanation/architecture.md"
HEAD = "| layer | includes | calls besides |\n|---|---|---|\n"


def rule_of(page):
    """Returns what the page's table lets each layer include, and call."""
    includes, calls = {}, {}
    for row in page.partition(HEAD)[2].partition("\n\n")[0].splitlines():
        layers, *others = (re.findall(r"`(\w+)`", cell) for cell in row.strip("| ").split(" | "))
        for name in layers:
            includes[name], calls[name] = others[0], others[0] + others[1]
    return includes, calls


INCLUDES, CALLS = rule_of(PAGE.read_text(encoding="utf-8"))
NAMES_BACKENDS = ("src/host/registry.c", "src/app/main.c")  # the tables; which backend is the build's
FOLDERS = ("src", "omp", "cuda", "include", "tables/report")


def plain(text):
    """The text without comments and strings, a macro in one line; the names in #include lines come apart. What a macro
    names, V(x) and SPMV_EXPORT[_ANY_OFFSETS]_FORMAT(x), stands as x."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    included = re.findall(r'^\s*#\s*include\s*["<]([^">]+)[">]', text, flags=re.M)
    text = re.sub(r"\\\n", " ", text)
    text = re.sub(r"^SPMV_EXPORT(_ANY_OFFSETS)?_FORMAT\(", "extern const spmv_format V(", text, flags=re.M)
    text = re.sub(r"\bV\((\w+)\)", r"\1", text)
    text = re.sub(r"""'(\\.|[^'\\\n])'""", "0", re.sub(r'"(\\.|[^"\\\n])*"', '""', text))
    return text, included


def layer(path):
    part = path.split("/")
    return part[0] if part[0] != "src" else "api" if len(part) == 2 else part[1]


def statements(text):
    """Yields what stands at a file's outermost level: (head, whether a body or a table follows it)."""
    depth, head = 0, ""
    for character in re.sub(r'^\s*#.*$|extern "" \{', "", text, flags=re.M):
        if character in "{;" and depth == 0:
            yield re.sub(r"__attribute__\s*\(\(.*?\)\)|__launch_bounds__\([^)]*\)", "", head).strip(), character == "{"
            head = ""
        elif depth == 0:
            head += character
        depth = max(depth + (character == "{") - (character == "}"), 0)
        if character == "}":
            head = ""


def names_in(text, defined):
    """Functions and tables with external linkage that a text defines, or that it only declares."""
    names = set()
    for head, has_body in statements(text):
        if has_body == defined and not re.match(r"(static|typedef|enum|template|inline)\b|\w+_INLINE\b", head):
            name = re.match(r"[^(=]*?(\w+)\s*(?:\[[^=]*\])*\s*(=|$)", head, re.S) or re.match(r".*?(\w+)\s*\(", head, re.S)
            is_type = re.match(r"(struct|union)\s+\w+$", head)
            if name and len(head.split()) > 1 and not is_type and not name.group(1).isupper():
                names.add(name.group(1))
    return names


MACRO = re.compile(r"^\s*#\s*define[ \t]+(\w+)(?:\([^)]*\))?(.*)$", re.M)


def words_of(text):
    return set(re.findall(r"(?<![\w.>])[A-Za-z_]\w*", text))


def inside(text):
    """Returns what stands in bodies, tables and initial values, where calls are."""
    text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
    depth, out = 0, re.findall(r"=([^={};]*);", text)
    for piece in re.split(r"([{}])", re.sub(r'extern "" \{', "", text)):
        depth += (piece == "{") - (piece == "}")
        out.append(piece if depth > 0 else " ")
    return " ".join(out)


def used_in(text, macros):
    """The names that a file uses, those in the bodies of macros it uses too."""
    names, new = set(), words_of(inside(text))
    while new:
        names |= new
        new = set().union(*(macros[n] for n in new if n in macros)) - names
    return names


class Tree:
    def __init__(self, root):
        self.text, self.includes, self.breaches = {}, {}, []
        for folder in FOLDERS:
            for path in sorted((root / folder).rglob("*")):
                if path.suffix in (".c", ".cu", ".h", ".cuh", ".def"):
                    name = str(path.relative_to(root))
                    self.text[name], included = plain(path.read_text(encoding="utf-8"))
                    self.includes[name] = [f for f in (self.find(root, name, i) for i in included) if f]
        self.sources = [f for f in self.text if f.endswith((".c", ".cu"))]

    @staticmethod
    def find(root, includer, included):
        for folder in (str(pathlib.Path(includer).parent), "include", "src", "."):
            path = (root / folder / included).resolve()
            if path.is_file():
                return str(path.relative_to(root))
        return None  # made by the build, or of another library

    def headers_of(self, path):
        seen, waiting = set(), [path]
        while waiting:
            for header in self.includes[waiting.pop()]:
                if header not in seen:
                    seen.add(header)
                    waiting.append(header)
        return seen

    def calls(self):
        """{file: {file it calls: names}}, over .c and .cu files."""
        where, declared = collections.defaultdict(set), {}
        for f, text in self.text.items():
            if f in self.sources:
                for name in names_in(text, defined=True):
                    where[name].add(f)
            else:
                declared[f] = names_in(text, defined=False)
        macros = collections.defaultdict(set)
        for text in self.text.values():
            for name, body in MACRO.findall(text):
                macros[name] |= words_of(body)
        used = {f: used_in(text, macros) for f, text in self.text.items()}
        graph = {f: collections.defaultdict(set) for f in self.sources}
        for f in self.sources:
            headers = self.headers_of(f)
            known = names_in(self.text[f], defined=False).union(*(declared[h] for h in headers))
            for name in set().union(*(used[p] for p in [f, *headers])) & known:
                for g in where[name] if f not in where[name] else ():
                    graph[f][g].add(name)
            for table in (h for h in self.includes[f] if h.endswith(".def")):
                for kind, name in re.findall(r"^([A-Z]+)\((\w+)", self.text[table], flags=re.M):
                    for g in self.listed(f, kind, name, where):
                        graph[f][g].add(name)
        return graph

    def listed(self, f, kind, name, where):
        """Files of what a line of a table stands for, when f is who makes an array of it."""
        if kind in ("KERNEL", "FORMAT"):
            stems = (name,) if kind == "KERNEL" else (f"format_{name}", f"build_{name}")
            return {g for g in self.sources if pathlib.Path(g).stem in stems and g.split("/")[0] == f.split("/")[0]}
        prefix = {"GENERATOR": "spmv_recipe_", "COMMAND": "cmd_"}.get(kind, "")
        return where.get(prefix + name, set()) - {f} if prefix and prefix + "##name" in self.text[f] else set()

    def check_layers(self, graph):
        for f, headers in self.includes.items():
            allowed = INCLUDES.get(layer(f), []) + [layer(f), "include"]
            self.breaches += [f"{f}: includes {h}" for h in headers if layer(h) not in allowed]
        self.breaches += [f"{f}: of a folder that layers.py has no rule for" for f in graph if layer(f) not in CALLS]
        for f, called in graph.items():
            allowed = CALLS.get(layer(f), []) + [layer(f)] + ["formats", "omp", "cuda"] * (f in NAMES_BACKENDS)
            self.breaches += [f"{f}: calls {', '.join(sorted(names))} of {g}"
                              for g, names in called.items() if layer(g) not in allowed]

    def check_circles(self, graph):
        circles = circles_of(graph) + circles_of({f: dict.fromkeys(h) for f, h in self.includes.items()})
        self.breaches += ["a circle: " + " ".join(sorted(c)) for c in circles]


def circles_of(graph):
    """Strongly connected sets of more than one file: Tarjan's algorithm."""
    sys.setrecursionlimit(10000)
    index, low, stack, out = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                out.append(stack[at:])
            del stack[at:]

    for node in graph:
        if node not in index:
            visit(node)
    return out


def breaches_of(root):
    tree = Tree(root)
    graph = tree.calls()
    tree.check_layers(graph)
    tree.check_circles(graph)
    return tree.breaches


if __name__ == "__main__":
    found = breaches_of(ROOT)
    for breach in found:
        print(f"layers: {breach}")
    sys.exit(bool(found))
