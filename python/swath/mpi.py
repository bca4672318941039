"""MPI, behind one door: only this module imports mpi4py, and only when a communicator is given."""

from __future__ import annotations

import os
from typing import Any

from swath.errors import UnsupportedError

_keyval: int | None = None
"""Under which mpi4py communicators keep the comm made for them: it lives and dies with the communicator."""


def comm_of(communicator: Any) -> Any:
    """The core's comm for an mpi4py communicator. Collective the first time; it duplicates the communicator.

    Raises UnsupportedError where the MPI module was not built, or cannot be loaded beside this mpi4py.
    """
    global _keyval
    from mpi4py import MPI

    if _keyval is None:
        _keyval = MPI.Comm.Create_keyval()
    comm = communicator.Get_attr(_keyval)
    if comm is None:
        check_launcher()
        try:
            from swath import _mpi
        except ImportError as error:
            raise UnsupportedError(
                f"swath's MPI module cannot be loaded ({error}). mpi4py uses {library_version()}; swath was built for "
                "MPICH (the wheel `mpich`). Install matching ones: pip install 'swath[mpi]', then run `swath doctor`"
            ) from None
        comm = _mpi.MpiComm(communicator.handle)
        communicator.Set_attr(_keyval, comm)
    return comm


def library_version() -> str:
    """The MPI library in use, in its own words, e.g. "MPICH Version: 5.0.2"."""
    from mpi4py import MPI

    return str(MPI.Get_library_version()).splitlines()[0].strip().rstrip("\0")


def foreign_launcher() -> str | None:
    """What is wrong where another MPI's mpiexec started this process; None where nothing is.

    One process holds one MPI. Under another one's mpiexec every process believes that it is alone, and all of them
    would do the whole work, into one file.
    """
    started_by, ranks = launcher()
    if ranks <= 1 or started_by is None:
        return None
    from mpi4py import MPI

    if MPI.COMM_WORLD.Get_size() == ranks:
        return None
    return (
        f"this process was started by {started_by}'s mpiexec as one of {ranks}, but mpi4py uses {library_version()}, in "
        f"which it is alone. Start it with that library's mpiexec (in the same environment: python -m mpi4py, or "
        f"{_own_mpiexec()}), or install mpi4py for {started_by}"
    )


def check_launcher() -> None:
    """Raises UnsupportedError where another MPI's mpiexec started this process."""
    wrong = foreign_launcher()
    if wrong is not None:
        raise UnsupportedError(wrong)


def launcher() -> tuple[str | None, int]:
    """Which MPI's mpiexec started this process, as its environment tells, and with how many ranks."""
    environment = os.environ
    if "OMPI_COMM_WORLD_SIZE" in environment:
        return "Open MPI", int(environment["OMPI_COMM_WORLD_SIZE"])
    if "PMI_SIZE" in environment:
        return "MPICH", int(environment["PMI_SIZE"])
    return None, 1


def _own_mpiexec() -> str:
    import shutil
    import sysconfig

    beside = os.path.join(sysconfig.get_path("scripts"), "mpiexec")
    return beside if os.path.exists(beside) else shutil.which("mpiexec") or "mpiexec"
