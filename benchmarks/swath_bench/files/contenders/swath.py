"""Swath, with its defaults."""

from __future__ import annotations

from typing import Any

import swath
from swath.space import Block, Distribution, Whole
from swath_bench.files.contenders.base import Slicing
from swath_bench.files.job import DIMENSIONS, NAME, Job, Values
from swath_bench.files.sizes import DUMPED
from swath_bench.files.sources import DEFLATE_LEVEL

DEFLATE = ["shuffle", {"name": "zlib", "configuration": {"level": DEFLATE_LEVEL}}]


class Swath(Slicing):
    """Swath, used as its documentation says."""

    syncs = True
    hints = "defaults; xarray's engine where files are opened"

    def sliced(self, job: Job) -> Values:
        """A slice."""
        with swath.open(self.source(job), NAME) as a:
            values: Values = a[job.selection]
        return values

    def columns(self, job: Job) -> Values:
        """One collective read."""
        with swath.open(self.source(job), NAME, comm=job.comm) as a:
            distribution = Distribution((Whole(), Whole(), Block()), (1, 1, job.ranks.size))
            values: Values = a.read(distribution if job.comm else None)
        return values

    def transpose(self, job: Job) -> None:
        """A copy."""
        self._copy(job, axes=(1, 2, 0), chunks=())

    def rechunk(self, job: Job) -> None:
        """A copy."""
        self._copy(job, chunks=job.sizes.series_chunks, codecs=[])

    def rechunk_file(self, job: Job) -> None:
        """A copy of the file."""
        chunks = dict(zip(DIMENSIONS, job.sizes.part_series_chunks, strict=True))
        swath.copy(self.source(job), job.made(self.suffix), chunks=chunks)

    def rechunk_deflated(self, job: Job) -> None:
        """A copy."""
        self._copy(job, chunks=job.sizes.series_chunks, codecs=DEFLATE)

    def _copy(self, job: Job, **how: Any) -> None:
        swath.copy(self.source(job), job.made(self.suffix), variable=NAME, format="netcdf4", **how)

    def dump(self, job: Job) -> None:
        """All variables, each by one collective write."""
        with swath.create_file(job.made(), format=job.what.format, comm=job.comm) as f:
            made = [f.create(name, job.sizes.dumped, "f8", dimensions=DIMENSIONS) for name, _ in job.dumped]
            for number in range(DUMPED):
                made[number].write(job.dumped[number][1], job.dump_distribution if job.comm else None)

    def append(self, job: Job) -> None:
        """The file gets its name with all records in it."""
        self._append(job, live=False)

    def append_live(self, job: Job) -> None:
        """The file has its name before the first record."""
        self._append(job, live=True)

    def _append(self, job: Job, live: bool) -> None:
        with swath.create_file(job.made(), format=job.what.format) as f:
            how: dict[str, Any] = {"codecs": []} if job.what.format == "zarr" else {}
            for name in dict.fromkeys(name for _, name, _ in job.appended):
                f.create(name, (None, *job.sizes.record), "f4", dimensions=DIMENSIONS, **how)
            if live:
                f.sync()
            for _, name, values in job.appended:
                f[name].append(values)

    def source(self, job: Job) -> str:
        """The many variables are in three formats."""
        return job.source({"netcdf-classic": ".nc", "zarr": ".zarr"}.get(job.what.format, ".nc4"))

    def open_many(self, job: Job) -> Any:
        """By the engine itself, so that it need not be installed."""
        import xarray as xr

        from swath.xarray.backend import SwathBackendEntrypoint

        return xr.open_dataset(self.source(job), engine=SwathBackendEntrypoint)

    def open_files(self, job: Job) -> Any:
        """By the engine itself; dask reads later."""
        import xarray as xr

        from swath.xarray.backend import SwathBackendEntrypoint

        return xr.open_mfdataset(job.files(), engine=SwathBackendEntrypoint, combine="nested", concat_dim=DIMENSIONS[0])
