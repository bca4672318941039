"""netCDF4-python."""

from __future__ import annotations

from typing import Any

from swath.bench.files.contenders.base import Slicing, copy_bands, gathered
from swath.bench.files.job import DIMENSIONS, NAME, Job, Values
from swath.bench.files.sources import DEFLATE_LEVEL

FORMATS = {"netcdf4": "NETCDF4", "netcdf-classic": "NETCDF3_64BIT_DATA"}


class NetCDF4(Slicing):
    """Without masks and scales; new files without filling them first."""

    modules = ("netCDF4",)
    hints = "no masks, no filling; copies by rows of chunks; with several ranks rank 0 writes what all sent to it"

    def sliced(self, job: Job) -> Values:
        """A slice."""
        with _opened(self.source(job)) as file:
            values: Values = file[NAME][job.selection]
        return values

    def columns(self, job: Job) -> Values:
        """Independently."""
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
    import netCDF4

    file = netCDF4.Dataset(path, "w", format=kind)
    file.set_fill_off()
    return file


def _define(out: Any, shape: tuple[int | None, ...], names: list[str], dtype: str) -> None:
    for name, extent in zip(DIMENSIONS, shape, strict=True):
        out.createDimension(name, extent)
    chunks = {"chunksizes": (1, *shape[1:])} if shape[0] is None and out.data_model == "NETCDF4" else {}
    for name in names:
        out.createVariable(name, dtype, DIMENSIONS, **chunks).set_auto_maskandscale(False)
