#!/usr/bin/env python3
"""Writes spmv.f90, the Fortran 2003 module, from include/spmv.h (make docs):

    python3 src/bindings/fortran/generate.py FILE

Enumerators become constants, structs become types with default initialization, functions become interfaces. A struct's `size` is
initialized to its size on 64-bit Linux, which test/python/test_fortran.py compares with the compiler's. Unsupported declarations
end with an error that names them."""
import argparse
import pathlib
import subprocess
import sys
import tempfile

try:
    from pycparser import c_ast, c_parser
except ImportError:
    sys.exit("generate.py needs pycparser: make deps (Debian: python3-pycparser)")

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Fortran's kind, size in bytes, and zero.
NUMBERS = {"int": ("integer(c_int)", 4, "0"), "unsigned": ("integer(c_int)", 4, "0"), "int32_t": ("integer(c_int32_t)", 4, "0"),
           "int64_t": ("integer(c_int64_t)", 8, "0"), "uint64_t": ("integer(c_int64_t)", 8, "0"),
           "size_t": ("integer(c_size_t)", 8, "0"), "double": ("real(c_double)", 8, "0"), "float": ("real(c_float)", 4, "0")}
ENUM, POINTER, FUNCTION = NUMBERS["int"], ("type(c_ptr)", 8, "c_null_ptr"), ("type(c_funptr)", 8, "c_null_funptr")
STANDARD = {"stddef.h": "typedef unsigned long size_t;\n",
            "stdint.h": "typedef int int32_t;\ntypedef long int64_t;\ntypedef unsigned long uint64_t;\n"}
WIDTH = 100

HEAD = """! spmv.f90: the library's interface for Fortran 2003, generated from include/spmv.h (make docs): do not edit. The header documents
! all functions.
!
! Handles are type(c_ptr). Strings end with c_null_char; spmv_text converts one of the library's strings to Fortran. Option types are
! initialized to the defaults: where C passes NULL, pass a declared variable. Arrays are passed with c_loc, so they must be targets.
module spmv
    use, intrinsic :: iso_c_binding
    implicit none
    public
"""
TAIL = """
contains

    !> Returns the text that a function returned; "" for NULL.
    function spmv_text(text) result(copy)
        type(c_ptr), intent(in) :: text
        character(len=:), allocatable :: copy
        character(kind=c_char), pointer :: letters(:)
        integer :: n
        copy = ""
        if (.not. c_associated(text)) return
        call c_f_pointer(text, letters, [huge(n)])
        n = 0
        do while (letters(n + 1) /= c_null_char)
            n = n + 1
            copy = copy // letters(n)
        end do
    end function
end module
"""


def parsed(header):
    """Returns the header's declarations; of the standard headers only the types that it needs are declared."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in STANDARD.items():
            pathlib.Path(folder, name).write_text(text, encoding="utf-8")
        done = subprocess.run(["gcc", "-E", "-P", "-nostdinc", "-I", folder, header], capture_output=True, text=True, check=True)
    text = "\n".join(line for line in done.stdout.splitlines() if not line.startswith("#"))
    return c_parser.CParser().parse(text, header).ext


def wrapped(line):
    """Splits a statement into lines of at most WIDTH columns."""
    indent, out = " " * (len(line) - len(line.lstrip()) + 8), []
    while len(line) > WIDTH:
        cut = line.rindex(", ", 0, WIDTH - 2) + 1
        out.append(line[:cut] + " &")
        line = indent + line[cut + 1:]
    return "\n".join([*out, line]) + "\n"


def number(node):
    """Returns a constant, with or without a minus."""
    return -number(node.expr) if isinstance(node, c_ast.UnaryOp) else int(node.value, 0)


class Module:
    """The declarations so far, and their Fortran text."""

    def __init__(self):
        self.enums, self.structs, self.names = set(), {}, {}
        self.types, self.interfaces = [], []

    def take_name(self, name):
        """Reserves a name. Fortran ignores case."""
        if self.names.setdefault(name.lower(), name) != name:
            sys.exit(f"generate.py: {name} and {self.names[name.lower()]} are one name in Fortran")

    def of(self, node, where):
        """Returns (kind, bytes, zero) of a declared type."""
        if isinstance(node, c_ast.PtrDecl):
            return FUNCTION if isinstance(node.type, c_ast.FuncDecl) else POINTER
        names = getattr(node.type, "names", None) or ["?"]
        if names[0] in self.enums:
            return ENUM
        if names[0] not in NUMBERS:
            sys.exit(f"generate.py: {where}: no Fortran for the type {' '.join(names)}")
        return NUMBERS[names[0]]

    def enumerators(self, enum, name):
        """Adds a constant per enumerator; one without a value is the one before plus 1."""
        value = -1
        for item in enum.values.enumerators:
            value = number(item.value) if item.value else value + 1
            self.take_name(item.name)
            self.types.append(f"    integer(c_int), parameter :: {item.name} = {value}\n")
        self.types.append("\n")
        self.enums.add(name)

    def struct(self, struct, name):
        """Adds a type with zero initialization; a first member `size` is initialized to the size."""
        self.take_name(name)
        members, at, widest = [], 0, 1
        for member in struct.decls:
            kind, size, zero = self.of(member.type, f"{name}.{member.name}")
            at += -at % size + size
            widest = max(widest, size)
            members.append((kind, member.name, zero))
        total = at + -at % widest
        self.structs[name] = struct.decls[0].name == "size"
        self.types.append(f"    type, bind(c) :: {name}\n")
        self.types += [f"        {kind} :: {member} = {total if member == 'size' else zero}\n" for kind, member, zero in members]
        self.types.append("    end type\n\n")

    def argument(self, declared, where):
        """Returns the declaration of a dummy argument."""
        node, name = declared.type, declared.name
        if not isinstance(node, c_ast.PtrDecl):
            return f"{self.of(node, where)[0]}, value :: {name}"
        if isinstance(node.type, c_ast.FuncDecl):
            return f"type(c_funptr), value :: {name}"
        if isinstance(node.type, c_ast.PtrDecl):
            return f"type(c_ptr), intent(out) :: {name}"
        to, intent = node.type.type.names[0], "in" if "const" in node.type.quals else "out"
        if to == "char" and intent == "in":
            return f"character(kind=c_char), intent(in) :: {name}(*)"
        if to in self.structs:  # a struct with a size is read by the function that fills it
            filled = "inout" if self.structs[to] else "out"
            return f"type({to}), intent({'in' if intent == 'in' else filled}) :: {name}"
        if to in NUMBERS and intent == "in":
            return f"{NUMBERS[to][0]}, intent(in) :: {name}(*)"
        if to in NUMBERS:
            return f"{NUMBERS[to][0]}, intent(out) :: {name}"
        return f"type(c_ptr), value :: {name}"

    def function(self, declared):
        """Adds an interface."""
        name, node = declared.name, declared.type
        self.take_name(name)
        taken = [one for one in (node.args.params if node.args else []) if one.name]
        result = node.type
        is_void = isinstance(result, c_ast.TypeDecl) and getattr(result.type, "names", [""]) == ["void"]
        word = "subroutine" if is_void else "function"
        lines = [f"        {word} {name}({', '.join(one.name for one in taken)}) bind(c)", "            import"]
        lines += ["            " + self.argument(one, f"{name}: {one.name}") for one in taken]
        if not is_void:
            lines.append(f"            {self.of(result, name)[0]} :: {name}")
        self.interfaces += [wrapped(line) for line in [*lines, f"        end {word}"]]

    def take(self, declared):
        """Adds one declaration of the header."""
        node = declared.type
        if isinstance(node, c_ast.FuncDecl):
            self.function(declared)
        elif isinstance(node, c_ast.Enum):
            self.enumerators(node, declared.name)
        elif isinstance(node.type, c_ast.Enum):
            self.enumerators(node.type, declared.name)
        elif isinstance(node.type, c_ast.Struct) and node.type.decls:
            self.struct(node.type, declared.name)

    def text(self):
        """Returns the text of the file."""
        return "".join([HEAD, "\n", *self.types, "    interface\n", *self.interfaces, "    end interface\n", TAIL])


def main():
    """Writes the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    options = parser.parse_args()
    module = Module()
    for declared in parsed(str(ROOT / "include/spmv.h")):
        module.take(declared)
    options.file.write_text(module.text(), encoding="utf-8")


if __name__ == "__main__":
    main()
