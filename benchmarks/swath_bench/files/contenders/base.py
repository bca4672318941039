"""A contender: a library, and the code of each case for it."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

from swath_bench.files.job import Job, Values


class Contender:
    """One library, or tool. Each case that it takes part in is a method of that name (`cases.Case.work`).

    Attributes:
        modules: the modules that must be installed.
        suffix: suffix of the source that it reads.
        syncs: whether its targets are on the medium when its methods return; otherwise the files are synced then.
        hints: notes on its settings, if they matter.
    """

    modules: tuple[str, ...] = ()
    suffix = ".nc4"
    syncs = False
    hints = ""

    def absent(self) -> str:
        """Return why it cannot take part on this machine, or ""."""
        return not_installed(self.modules)

    def source(self, job: Job) -> str:
        """Return the file that it reads."""
        return job.source(self.suffix)

    def target_suffix(self, job: Job) -> str:
        """Return the suffix of the file that it makes."""
        return "" if job.what.format else self.suffix


class Slicing(Contender):
    """A library whose open array is sliced as NumPy's are."""

    def sliced(self, job: Job) -> Values:
        """Open, read `job.selection`, close."""
        raise NotImplementedError

    def series(self, job: Job) -> Values:
        """All times of one place."""
        return self.sliced(job)

    def map(self, job: Job) -> Values:
        """All places at one time."""
        return self.sliced(job)


def not_installed(modules: Sequence[str]) -> str:
    """Return a text that names the missing modules, or ""."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    return f"not installed: {', '.join(missing)}" if missing else ""


def copy_bands(job: Job, source: Any, target: Any, transposed: bool) -> None:
    """Copy band by band: every chunk of the source is read once, and one row of chunks is in memory."""
    import numpy as np

    for rows in job.bands():
        values = source[:, rows, :]
        if transposed:
            target[rows] = np.ascontiguousarray(values.transpose(1, 2, 0))
        else:
            target[:, rows, :] = values


def gathered(job: Job, own: Values) -> Values | None:
    """Collective. Return the whole variable on rank 0, None elsewhere: serial libraries can write this."""
    if job.ranks.size == 1:
        return own
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    if job.ranks.rank != 0:
        comm.Send(own, 0)
        return None
    whole = np.empty(job.sizes.dumped, own.dtype)
    whole[job.dump_box(0)] = own
    for rank in range(1, job.ranks.size):
        part = np.empty_like(whole[job.dump_box(rank)])
        comm.Recv(part, rank)
        whole[job.dump_box(rank)] = part
    return whole
