"""Builds libspmv.so for the wheel, as hatchling asks. SPMV_CUDA=1: with the CUDA kernels, which takes nvcc."""
import os
import pathlib
import platform
import shutil
import subprocess
import sysconfig

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = pathlib.Path(__file__).resolve().parents[3]
TREE = ROOT / "build/python"  # has settings and objects of its own: those of the checkout stay
SOURCES = "Makefile", "mk", "include", "src", "omp", "cuda", "test", "tables"


def flags():
    """Is compiled for any processor of this kind: the library looks for vector instructions when it runs."""
    any_processor = {"x86_64": "-march=x86-64", "aarch64": "-march=armv8-a"}
    return " ".join(["-O3", any_processor.get(platform.machine(), "")])


def build(backend):
    """The path of libspmv.so."""
    TREE.mkdir(parents=True, exist_ok=True)
    for name in SOURCES:
        if not (TREE / name).exists():
            (TREE / name).symlink_to(ROOT / name)
    library = f"build/{backend}/libspmv.so"
    # Is built without optional libraries: what reads files and compares with others is of no use here.
    command = ["make", "-s", f"-j{os.cpu_count()}", f"CFLAGS={flags()}", "LIBS_WANTED=", library]
    outer = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
    subprocess.run(command, cwd=TREE, env=outer, check=True)
    return TREE / library


class Hook(BuildHookInterface):
    def initialize(self, version, build_data):
        if not shutil.which("make"):
            raise RuntimeError("spmv: make and a C compiler are needed")
        library = build("cuda" if os.environ.get("SPMV_CUDA") == "1" else "omp")
        build_data["force_include"][str(library)] = "spmv/libspmv.so"
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
