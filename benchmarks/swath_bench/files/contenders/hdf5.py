"""h5py: on one process, and with an HDF5 that uses MPI-IO."""

from __future__ import annotations

from typing import Any

from swath_bench.files.contenders.base import Contender, Slicing, copy_bands, gathered
from swath_bench.files.job import NAME, Job, Values
from swath_bench.files.sources import DEFLATE_LEVEL


class H5py(Slicing):
    """Plain HDF5: no dimension scales."""

    modules = ("h5py",)
    hints = "plain HDF5; copies by rows of chunks; with several ranks rank 0 writes what all sent to it"

    def sliced(self, job: Job) -> Values:
        """A slice."""
        import h5py

        with h5py.File(self.source(job)) as file:
            values: Values = file[NAME][job.selection]
        return values

    def columns(self, job: Job) -> Values:
        """Read columns by independent I/O."""
        return self.sliced(job)

    def transpose(self, job: Job) -> None:
        """Band by band."""
        times, rows, columns = job.sizes.shape
        self._copy(job, (rows, columns, times), transposed=True)

    def rechunk(self, job: Job) -> None:
        """Band by band."""
        self._copy(job, job.sizes.shape, chunks=job.sizes.series_chunks)

    def rechunk_deflated(self, job: Job) -> None:
        """Band by band."""
        coded: dict[str, Any] = {"compression": "gzip", "compression_opts": DEFLATE_LEVEL, "shuffle": True}
        self._copy(job, job.sizes.shape, chunks=job.sizes.series_chunks, **coded)

    def _copy(self, job: Job, shape: tuple[int, ...], transposed: bool = False, **how: Any) -> None:
        import h5py

        with h5py.File(self.source(job)) as file, h5py.File(job.made(self.suffix), "w") as out:
            copy_bands(job, file[NAME], out.create_dataset(NAME, shape, "f4", **how), transposed)

    def dump(self, job: Job) -> None:
        """Dataset after dataset."""
        import h5py

        out = h5py.File(job.made(), "w") if job.ranks.rank == 0 else None
        for name, own in job.dumped:
            values = gathered(job, own)
            if out is not None:
                out.create_dataset(name, data=values)
        if out is not None:
            out.close()

    def append(self, job: Job) -> None:
        """Record by record."""
        self._append(job, live=False)

    def append_live(self, job: Job) -> None:
        """Flushed after each record."""
        self._append(job, live=True)

    def _append(self, job: Job, live: bool) -> None:
        import h5py

        shape = job.sizes.record
        names = list(dict.fromkeys(name for _, name, _ in job.appended))
        with h5py.File(job.made(), "w") as out:
            for name in names:
                out.create_dataset(name, (0, *shape), "f4", maxshape=(None, *shape), chunks=(1, *shape))
            for record, name, values in job.appended:
                out[name].resize(record + 1, 0)
                out[name][record] = values
                if live and name == names[-1]:
                    out.flush()


class ParallelH5py(Contender):
    """One file of all ranks, by MPI-IO, collective."""

    modules = ("h5py",)
    hints = "collective transfers"

    def absent(self) -> str:
        """h5py from PyPI has no MPI."""
        missing = super().absent()
        if missing:
            return missing
        import h5py

        return "" if h5py.get_config().mpi else "this h5py is built without MPI"

    def columns(self, job: Job) -> Values:
        """One collective read."""
        with _on_all(self.source(job), "r") as file, file[NAME].collective:
            values: Values = file[NAME][job.selection]
        return values

    def dump(self, job: Job) -> None:
        """All definitions, then each dataset by one collective write."""
        with _on_all(job.made(), "w") as out:
            for name, _ in job.dumped:
                out.create_dataset(name, job.sizes.dumped, "f8")
            for name, own in job.dumped:
                with out[name].collective:
                    out[name][job.dump_box(job.ranks.rank)] = own


def _on_all(path: str, mode: str) -> Any:
    import h5py
    from mpi4py import MPI

    return h5py.File(path, mode, driver="mpio", comm=MPI.COMM_WORLD)
