"""netCDF4-python."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from swath_bench.files.contenders.base import Slicing, copy_bands, gathered
from swath_bench.files.job import DIMENSIONS, NAME, Job, Values
from swath_bench.files.sources import DEFLATE_LEVEL

FORMATS = {"netcdf4": "NETCDF4", "netcdf-classic": "NETCDF3_64BIT_DATA"}


class NetCDF4(Slicing):
    """Without masks and scales; new files without filling them first."""

    modules = ("netCDF4",)
    hints = (
        "no masks, no filling, classic files defined at once; copies by rows of chunks; with several ranks rank 0 "
        "writes what all sent to it"
    )

    def sliced(self, job: Job) -> Values:
        """A slice."""
        with _opened(self.source(job)) as file:
            values: Values = file[NAME][job.selection]
        return values

    def columns(self, job: Job) -> Values:
        """Read columns by independent I/O."""
        return self.sliced(job)

    def transpose(self, job: Job) -> None:
        """Band by band."""
        self._copy(job, (1, 2, 0))

    def rechunk(self, job: Job) -> None:
        """Band by band."""
        self._copy(job, chunksizes=job.sizes.series_chunks)

    def rechunk_deflated(self, job: Job) -> None:
        """Band by band."""
        self._copy(job, chunksizes=job.sizes.series_chunks, zlib=True, complevel=DEFLATE_LEVEL, shuffle=True)

    def _copy(self, job: Job, axes: tuple[int, ...] = (0, 1, 2), **how: Any) -> None:
        with _opened(self.source(job)) as file, _created(job.made(self.suffix), "NETCDF4") as out:
            for axis in axes:
                out.createDimension(DIMENSIONS[axis], job.sizes.shape[axis])
            target = out.createVariable(NAME, "f4", [DIMENSIONS[axis] for axis in axes], **how)
            copy_bands(job, file[NAME], target, transposed=axes != (0, 1, 2))

    def dump(self, job: Job) -> None:
        """All definitions, then all values."""
        names = [name for name, _ in job.dumped]
        out = None
        if job.ranks.rank == 0:
            out = _created(job.made(), FORMATS[job.what.format])
            _define(out, job.sizes.dumped, names, "f8")
        for name, own in job.dumped:
            values = gathered(job, own)
            if out is not None:
                out[name][...] = values
        if out is not None:
            out.close()

    def append(self, job: Job) -> None:
        """Record by record."""
        self._append(job, live=False)

    def append_live(self, job: Job) -> None:
        """Synced after each record."""
        self._append(job, live=True)

    def _append(self, job: Job, live: bool) -> None:
        names = list(dict.fromkeys(name for _, name, _ in job.appended))
        with _created(job.made(), FORMATS[job.what.format]) as out:
            _define(out, (None, *job.sizes.record), names, "f4")
            for record, name, values in job.appended:
                out[name][record] = values
                if live and name == names[-1]:
                    out.sync()


def _opened(path: str) -> Any:
    import netCDF4

    file = netCDF4.Dataset(path)
    file.set_auto_maskandscale(False)
    return file


def _created(path: str, kind: Any) -> Any:
    file = _dataset_class()(path, "w", format=kind)
    file.set_fill_off()
    return file


@functools.cache  # for ever: a class that is collected before its last file is closed crashes netCDF4
def _dataset_class() -> Any:
    """Return netCDF4's Dataset with a `define_once`.

    By itself netCDF4-python ends the definitions of netCDF classic after each variable, and each time all data after
    the header are moved: 24 variables of 10 MiB took 2 s to define, and 0.15 s to write.
    """
    import netCDF4

    held: list[bool] = []  # not an attribute: those are netCDF's

    class Dataset(netCDF4.Dataset):
        def _redef(self) -> None:
            if not held:
                super()._redef()  # type: ignore[misc]

        def _enddef(self) -> None:
            if not held:
                super()._enddef()  # type: ignore[misc]

        @contextlib.contextmanager
        def define_once(self) -> Iterator[None]:
            """End all definitions of the block together."""
            if self.data_model == "NETCDF4":
                yield
                return
            self._redef()
            held.append(True)
            try:
                yield
            finally:
                held.clear()
            self._enddef()

    return Dataset


def _define(out: Any, shape: tuple[int | None, ...], names: list[str], dtype: str) -> None:
    chunks = {"chunksizes": (1, *shape[1:])} if shape[0] is None and out.data_model == "NETCDF4" else {}
    with out.define_once():
        for name, extent in zip(DIMENSIONS, shape, strict=True):
            out.createDimension(name, extent)
        for name in names:
            out.createVariable(name, dtype, DIMENSIONS, **chunks).set_auto_maskandscale(False)
