"""A rank that waits lets others work: tests have more ranks than cores, and MPICH over UCX polls without a pause."""

from __future__ import annotations

import atexit
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("yielding_ucx.c")


def build(library: Path) -> None:
    """Compiles the library that ranks of such an MPI are preloaded with; ranks of another one do not notice it."""
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)


@functools.cache
def library() -> str | None:
    """The library of this test run; None where there is no C compiler, and waiting takes as long as it takes."""
    if shutil.which("cc") is None:
        return None
    folder = Path(tempfile.mkdtemp(prefix="swath-yielding-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    build(folder / "yielding_ucx.so")
    return str(folder / "yielding_ucx.so")


def preloaded(*before: str) -> list[str]:
    """Words of a command before the program: it is started with `before` and this library."""
    libraries = ":".join(filter(None, (*before, library())))
    return ["env", f"LD_PRELOAD={libraries}"] if libraries else []
