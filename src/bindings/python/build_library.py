"""Builds libspmv.so and the program for the wheel, called by hatchling. SPMV_CUDA=1: with the CUDA kernels; needs nvcc.
SPMV_JAX=1: with XLA's handlers for spmv.jax; needs the headers of JAX.
SPMV_CPU=aarch64: for another processor, with a cross compiler."""
import os
import pathlib
import platform
import shutil
import subprocess
import sys

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = pathlib.Path(__file__).resolve().parents[3]
SOURCES = "Makefile", "mk", "include", "src", "omp", "cuda", "test", "tables"
MARCH = {"x86_64": "x86-64", "aarch64": "armv8-a"}  # baseline of the architecture: vector instructions are chosen at run time


def told():
    """Returns the terminal, for make's progress: pip hides the output of builds. None: there is no terminal."""
    try:
        return open("/dev/tty", "w")
    except OSError:
        return None


def build(backend, cpu):
    """Builds the library and the program; returns their folder."""
    tree = ROOT / "build/python" / cpu  # separate settings and objects: those of the checkout are not changed
    tree.mkdir(parents=True, exist_ok=True)
    for name in SOURCES:
        if not (tree / name).exists():
            (tree / name).symlink_to(ROOT / name)
    folder = f"build/{backend}"
    march = f"-march={MARCH[cpu]}" if cpu in MARCH else ""
    # Without optional libraries, which read files or serve comparisons.
    command = ["make", f"-j{os.cpu_count()}", f"CFLAGS=-O3 {march}", "LIBS_WANTED=", f"{folder}/libspmv.so", f"{folder}/spmv"]
    if os.environ.get("SPMV_JAX") == "1":
        command += [f"PYTHON={sys.executable}", f"{folder}/libspmv_jax.so"]
    if cpu != platform.machine():
        command.append(f"CC={cpu}-linux-gnu-gcc")
    outer = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
    subprocess.run(command, cwd=tree, env=outer, check=True, stdout=told())
    return tree / folder


class Hook(BuildHookInterface):
    def dependencies(self):
        return ["jax"] if os.environ.get("SPMV_JAX") == "1" else []

    def initialize(self, version, build_data):
        if not shutil.which("make"):
            raise RuntimeError("spmv: make and a C compiler are needed")
        cpu = os.environ.get("SPMV_CPU") or platform.machine()
        folder = build("cuda" if os.environ.get("SPMV_CUDA") == "1" else "omp", cpu)
        for name in ("libspmv.so", "spmv", *(["libspmv_jax.so"] if os.environ.get("SPMV_JAX") == "1" else [])):
            build_data["force_include"][str(folder / name)] = f"spmv/{name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-linux_{cpu}"
