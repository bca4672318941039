"""Waiting ranks let others work: tests have more ranks than cores, and MPICH over UCX polls without a pause."""

from __future__ import annotations

import atexit
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("yielding_ucx.c")


def build(library: Path) -> None:
    """Compile the library that is preloaded into ranks of such an MPI; other MPIs ignore it."""
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)


@functools.cache
def library() -> str | None:
    """Return the library of this test run; None without a C compiler: then waits take long."""
    if shutil.which("cc") is None:
        return None
    folder = Path(tempfile.mkdtemp(prefix="swath-yielding-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    build(folder / "yielding_ucx.so")
    return str(folder / "yielding_ucx.so")


def preloaded(*before: str) -> list[str]:
    """Return the start of a command: it sets `before` and preloads this library."""
    libraries = ":".join(filter(None, (*before, library())))
    return ["env", f"LD_PRELOAD={libraries}"] if libraries else []
