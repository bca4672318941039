"""Print the stub of the compiled core as nanobind's generator makes it, in the project's format.

`make stubs` writes it to python/swath/_core.pyi; tests/house/test_stub.py compares the two.
"""

import subprocess
import sys
from pathlib import Path

from nanobind.stubgen import StubGen

import swath._core


def stub_text() -> str:
    """Return the stub of the installed module `swath._core`."""
    generator = StubGen(swath._core)
    generator.put(swath._core)
    lines = [line.rstrip() for line in generator.get().splitlines()]
    command = ["ruff", "format", "--stdin-filename", "python/swath/_core.pyi", "-"]
    root = Path(__file__).parents[1]
    formatted = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=True, cwd=root)
    return formatted.stdout


if __name__ == "__main__":
    sys.stdout.write(stub_text())
