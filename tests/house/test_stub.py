"""The committed stub of the compiled core equals the output of nanobind's generator for the installed module."""

import subprocess
import sys

import pytest

from tree import ROOT


@pytest.mark.skipif(sys.version_info < (3, 11), reason="nanobind's generator needs Python 3.11")
def test_the_stub_of_the_core_is_what_the_bindings_say() -> None:
    program = ROOT / "tools" / "make_stub.py"
    made = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=100, check=False)
    assert made.returncode == 0, made.stderr
    assert made.stdout == (ROOT / "python/swath/_core.pyi").read_text(), "run `make stubs`"
