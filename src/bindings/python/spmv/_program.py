"""Runs the program spmv, which the wheel contains."""
import os
import pathlib
import sys


def main():
    program = pathlib.Path(__file__).with_name("spmv")
    os.execv(program, ["spmv", *sys.argv[1:]])
