"""operators.py: the small changes of C and Python source of which mutate.py draws its generated faults."""

import ast
import itertools
import re

# A comment, a string, a character and a line of the preprocessor have no places for a fault.
HIDDEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])*\'|^[ \t]*#(?:\\\n|[^\n])*', re.S | re.M)
EXCHANGED = {
    " + ": (" - ",), " - ": (" + ",), " * ": (" / ",), " / ": (" * ",), " += ": (" -= ",), " -= ": (" += ",),
    " < ": (" <= ",), " <= ": (" < ",), " > ": (" >= ",), " >= ": (" > ",), " == ": (" != ",), " != ": (" == ",),
    " && ": (" || ",), " || ": (" && ",), " << ": (" >> ",), " & ": (" | ",), " | ": (" & ",),
}
# A prefetch, with its condition, changes no result.
PREFETCH = re.compile(r"(?:\bif \([^;{}]*\)\s*)?\b\w*prefetch\w*\([^;]*;")
OPERATOR = re.compile("|".join(map(re.escape, sorted(EXCHANGED, key=len, reverse=True))))
CONSTANT = re.compile(r"(?<![\w.])\d+(?![\w.])")
# A call or an assignment that is a line by itself. Without a call of NAME_free there is a leak, which sanitizers find in the same
# tests, but no wrong result.
STATEMENT = re.compile(r"^ +(?!return\b|break\b|continue\b|goto\b|case\b|\w*free\(|assert)"
                       r"(?:[\w\[\]>.\-]+ [+\-*/|&]?= |\*?[\w\[\]>.\-]+\(|[\w>.\-]+(?:\+\+|--);)[^{};\n]*;$", re.M)


def changes(file, text, left_out=()):
    """[(place, text there, text instead)]; left_out: names of classes of Python without places for a fault."""
    return Python(text, left_out).found if file.endswith(".py") else changes_of_c(text)


def changes_of_c(text):
    seen = text
    for pattern in HIDDEN, PREFETCH:
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


# ---- Python --------------------------------------------------------------------------------------------

WORDS = {"and": "or", "or": "and", "is not": "is", "is": "is not", "not in": "in", "in": "not in", "==": "!=", "!=": "==",
         "<": "<=", "<=": "<", ">": ">=", ">=": ">", "+": "-", "-": "+", "*": "//", "//": "*", "%": "*", "/": "*", "|": "&", "&": "|",
         "<<": ">>", ">>": "<<", "+=": "-=", "-=": "+="}
WORD = re.compile("|".join(rf"\b{word}\b" if word[0].isalpha() else re.escape(word) for word in sorted(WORDS, key=len, reverse=True)))


class Python:
    """The changes of a file. Names and parts are those of the module ast, whose columns count bytes."""

    def __init__(self, text, left_out):
        self.text, self.found, self.bytes = text, [], [line.encode() for line in text.splitlines(True)]
        self.lines = list(itertools.accumulate((len(line) for line in text.splitlines(True)), initial=0))
        tree = ast.parse(text)
        self.hidden = {id(child) for node in ast.walk(tree) for child in ast.walk(node)
                       if isinstance(node, ast.JoinedStr) or getattr(node, "name", None) in left_out}
        for node in ast.walk(tree):
            if id(node) not in self.hidden:
                getattr(self, "of_" + type(node).__name__, lambda node: None)(node)

    def place(self, line, column):
        return self.lines[line - 1] + len(self.bytes[line - 1][:column].decode())

    def begin(self, node):
        return self.place(node.lineno, node.col_offset)

    def end(self, node):
        return self.place(node.end_lineno, node.end_col_offset)

    def instead(self, begin, end, new):
        self.found.append((begin, self.text[begin:end], new))

    def between(self, left, right):
        """Exchanges the operator between two operands."""
        found = WORD.search(self.text, self.end(left), self.begin(right))
        if found:
            self.instead(found.start(), found.end(), WORDS[found.group()])

    def of_Compare(self, node):
        for left, right in zip([node.left, *node.comparators], node.comparators):
            self.between(left, right)

    def of_BoolOp(self, node):
        for left, right in zip(node.values, node.values[1:]):
            self.between(left, right)

    def of_BinOp(self, node):
        self.between(node.left, node.right)

    def of_UnaryOp(self, node):
        if isinstance(node.op, (ast.Not, ast.USub)):
            self.instead(self.begin(node), self.begin(node.operand), "")

    def of_Constant(self, node):
        if isinstance(node.value, bool):
            self.instead(self.begin(node), self.end(node), str(not node.value))
        elif isinstance(node.value, int):
            for new in (node.value + 1, node.value - 1)[:2 if node.value > 0 else 1]:
                self.instead(self.begin(node), self.end(node), str(new))

    def without_one(self, parts):
        """Leaves out one of several that commas part."""
        for before, part, after in zip([None, *parts], parts, [*parts[1:], None]):
            begin, end = (self.end(before), self.end(part)) if before else (self.begin(part), self.begin(after) if after else self.end(part))
            self.instead(begin, end, "")

    def of_Call(self, node):
        """A call becomes its only operand; or an argument is left out."""
        arguments = [*node.args, *node.keywords]
        if len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], (ast.GeneratorExp, ast.Starred)):
            self.instead(self.begin(node), self.end(node), self.text[self.begin(node.args[0]):self.end(node.args[0])])
        elif len(arguments) > 1:
            self.without_one(sorted(arguments, key=self.begin))

    def of_Tuple(self, node):
        if len(node.elts) > 2 and isinstance(node.ctx, ast.Load):
            self.without_one(node.elts)

    def statement(self, node):
        self.instead(self.begin(node), self.end(node), "pass")

    of_Assign = of_AugAssign = of_Delete = of_Raise = statement

    def of_Expr(self, node):
        if isinstance(node.value, ast.Call):
            self.statement(node)
