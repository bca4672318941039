"""MPI: only this module imports mpi4py, and only when a communicator is given."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import sysconfig
from typing import Any

from swath import _core
from swath.errors import UnsupportedError
from swath.ranks import loaded_mpi

_made_in = _core.fork_generation()
_keyval: int | None = None
"""The key for the comm that is attached to an mpi4py communicator; the comm lives as long as the communicator."""


def comm_of(communicator: Any) -> Any:
    """Return the core's comm for an mpi4py communicator. Collective the first time; it duplicates the communicator.

    Raises UnsupportedError if Swath was not built for the MPI of this mpi4py.
    """
    global _keyval  # noqa: PLW0603 - one key a process
    from mpi4py import MPI

    if _keyval is None:
        _keyval = MPI.Comm.Create_keyval()
    comm = communicator.Get_attr(_keyval)
    if comm is None:
        check_launcher()
        comm = loaded_mpi.module().MpiComm(communicator.handle)
        communicator.Set_attr(_keyval, comm)
        # COMM_WORLD would free it in MPI_Finalize, when the interpreter is gone already.
        atexit.register(_disconnect, communicator)
    return comm


def _disconnect(communicator: Any) -> None:
    from mpi4py import MPI

    if _core.fork_generation() != _made_in:
        return  # MPI belongs to the parent
    if not MPI.Is_finalized() and communicator != MPI.COMM_NULL and communicator.Get_attr(_keyval) is not None:
        communicator.Delete_attr(_keyval)


def library_version() -> str:
    """Return the name of mpi4py's MPI library: "MPICH Version: 5.0.2". This does not initialise MPI.

    Raises UnsupportedError if mpi4py is not installed or cannot be loaded.
    """
    if "mpi4py.MPI" in sys.modules:
        said = str(sys.modules["mpi4py.MPI"].Get_library_version())
    else:
        ask = "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; print(MPI.Get_library_version())"
        answer = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            why = (answer.stderr.strip().splitlines() or [f"exit status {answer.returncode}"])[-1]
            raise UnsupportedError(f"mpi4py cannot be loaded ({why}): pip install 'swath[mpi]'")
        said = answer.stdout
    return " ".join(said.splitlines()[0].rstrip("\0").split())


def foreign_launcher() -> str | None:
    """Return a description of the problem if another MPI's mpiexec started this process; else None.

    A process has one MPI. Under the mpiexec of another MPI, every process finds itself alone, and all of them would do
    the whole work, into one file; or MPI_Init aborts (MPICH 5 under Open MPI 5). So the name of the library is compared
    before MPI is initialised.
    """
    started_by, ranks = launcher()
    if ranks <= 1 or started_by is None:
        return None
    started = f"this process was started by {started_by}'s mpiexec as one of {ranks}, but "
    try:
        library = library_version()
    except UnsupportedError as error:
        return f"{started}every one of them is alone: {error}"
    if _family(library) in (None, started_by):
        from mpi4py import MPI

        if MPI.COMM_WORLD.Get_size() == ranks:
            return None
    return (
        f"{started}mpi4py uses {library}, in which it is alone. Start it with that library's mpiexec "
        f"({own_mpiexec() or 'there is none beside this Python'}), or install an mpi4py that uses {started_by}"
    )


def check_launcher() -> None:
    """Raise UnsupportedError if another MPI's mpiexec started this process."""
    wrong = foreign_launcher()
    if wrong is not None:
        raise UnsupportedError(wrong)


def launcher() -> tuple[str | None, int]:
    """Return the MPI whose mpiexec started this process, and its number of ranks, from the environment."""
    for name, variable in (("Open MPI", "OMPI_COMM_WORLD_SIZE"), ("MPICH", "PMI_SIZE")):
        ranks = os.environ.get(variable, "")
        if ranks.isdigit():
            return name, int(ranks)
    return None, 1


def launched_rank() -> int:
    """Return the rank that mpiexec gave this process, from the environment; 0 without one. Does not initialise MPI."""
    for variable in ("OMPI_COMM_WORLD_RANK", "PMI_RANK"):
        rank = os.environ.get(variable, "")
        if rank.isdigit():
            return int(rank)
    return 0


def own_mpiexec() -> str | None:
    """Return the mpiexec next to this Python, which belongs to its MPI; else the first one in PATH, else None."""
    beside = os.path.join(sysconfig.get_path("scripts"), "mpiexec")
    return beside if os.path.exists(beside) else shutil.which("mpiexec")


def _family(library: str) -> str | None:
    """Return the family of the library's mpiexec; None if it is unknown."""
    if "Open MPI" in library:
        return "Open MPI"
    return "MPICH" if any(name in library for name in ("MPICH", "Intel(R) MPI", "MVAPICH")) else None
