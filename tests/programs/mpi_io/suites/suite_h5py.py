"""h5py's own tests that are marked for MPI, of Debian's h5py on Open MPI."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from mpis import Mpi
from suite import FAILED, PASSED, TIMED_OUT, Case, Finished, Suite
from workshop import Workshop, apt_install

PYTHON = "/usr/bin/python3"
RANKS = (1, 2, 4)
PROGRAM = """
import os, sys, pytest
from mpi4py import MPI
without_config = ["-c", os.devnull, "--confcutdir=/", "-p", "no:cacheprovider", "-s"]
sys.exit(pytest.main([*without_config, "-q", "--with-mpi", "-m", "mpi", f"--junitxml=.results.{MPI.COMM_WORLD.rank}",
                      "--pyargs", "h5py._debian_h5py_mpi.tests"]))
"""


def _prepare(mpi: Mpi, workshop: Workshop) -> str:
    del mpi
    apt_install(workshop, "python3-h5py-mpi", "python3-mpi4py", "python3-pytest-mpi")
    name = "h5py"
    folder = workshop.folder(name)
    if not workshop.built(name):
        folder.mkdir(exist_ok=True)
        workshop.run(
            name, [PYTHON, "-c", "import h5py._debian_h5py_mpi as h; open('version', 'w').write(h.__version__)"], folder
        )
        workshop.mark_built(name)
    return (folder / "version").read_text()


def _cases(mpi: Mpi, workshop: Workshop) -> list[Case]:
    del mpi, workshop
    return [Case("mpi", "-m mpi", (PYTHON, "-c", PROGRAM), ranks, _judge, 300) for ranks in RANKS]


def _judge(finished: Finished) -> dict[str, str]:
    """A test has passed when it has on every rank."""
    statuses: dict[str, str] = {}
    for rank in range(finished.ranks):
        path = finished.work / f".results.{rank}"
        for test in ET.parse(path).iter("testcase") if path.exists() else ():
            name = f"{test.get('classname', '').split('tests.')[-1]}.{test.get('name')}"
            wrong = test.find("failure") is not None or test.find("error") is not None
            statuses[name] = FAILED if wrong or statuses.get(name) == FAILED else PASSED
    if finished.exit_code != 0:
        statuses["(as a whole)"] = TIMED_OUT if finished.exit_code is None else FAILED
    return statuses


SUITE = Suite("h5py", ("openmpi",), _prepare, _cases)
