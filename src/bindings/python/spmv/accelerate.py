"""python -m spmv.accelerate [--stats] [--threshold=ENTRIES] [--torch] script.py [arguments], or -m module [arguments]: runs a
program with spmv.accelerate() enabled, so that the library computes its products of scipy.sparse, and with --torch those of
PyTorch's sparse tensors."""
import atexit
import importlib.util
import os
import runpy
import sys

from ._accelerate import accelerate

USAGE = "usage: python -m spmv.accelerate [--stats] [--threshold=ENTRIES] [--torch] (script.py | -m module) [arguments]"


def tell():
    from ._matrix import stats
    told = stats()
    reasons = ", ".join(f"{reason}: {count}" for reason, count in sorted(told["why"].items()))
    print(f"spmv.accelerate: {told['library']} products in the library, {told['scipy']} in SciPy"
          + (f" ({reasons})" if reasons else ""), file=sys.stderr)


def refuse(sentence, code):
    """Exits like Python for a program that does not exist."""
    print(f"{sys.executable}: {sentence}", file=sys.stderr)
    sys.exit(code)


def find(module):
    try:
        return importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None


def check_module(name):
    spec = find(name)
    if spec is None:
        refuse(f"No module named {name}", 1)
    if spec.submodule_search_locations is not None and find(f"{name}.__main__") is None:
        refuse(f"No module named {name}.__main__; {name!r} is a package and cannot be directly executed", 1)


def check_script(path):
    try:
        with open(path, "rb"):
            pass
    except IsADirectoryError:
        if not os.path.exists(os.path.join(path, "__main__.py")):
            refuse(f"can't find '__main__' module in {os.path.abspath(path)!r}", 1)
    except OSError as error:
        refuse(f"can't open file {os.path.abspath(path)!r}: [Errno {error.errno}] {error.strerror}", 2)


def main(arguments):
    threshold, torch = None, False
    while arguments and arguments[0].startswith("--"):
        option, _, value = arguments.pop(0).partition("=")
        if option == "--stats":
            atexit.register(tell)
        elif (option, value) == ("--torch", ""):
            torch = True
        elif option == "--threshold" and value.isdecimal():
            threshold = int(value)
        else:
            sys.exit(USAGE)
    if not arguments or arguments == ["-m"]:
        sys.exit(USAGE)
    accelerate(threshold=threshold, torch=torch)
    if arguments[0] == "-m":
        sys.argv[:] = arguments[1:]
        sys.path.insert(0, os.getcwd())
        check_module(arguments[1])
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv[:] = arguments
        sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
        check_script(arguments[0])
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
else:
    sys.modules[__name__] = accelerate  # `import spmv.accelerate` returns the function
