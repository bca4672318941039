"""xarray, by one of its engines."""

from __future__ import annotations

from typing import Any

from swath_bench.files.contenders.base import Slicing
from swath_bench.files.job import DIMENSIONS, NAME, Job, Values
from swath_bench.files.sources import DEFLATE_LEVEL

SUFFIXES = {"netcdf4": ".nc4", "netcdf-classic": ".nc", "zarr": ".zarr"}
LIBRARIES = {"netcdf4": "netCDF4"}


class Xarray(Slicing):
    """Whole arrays in memory: what `to_netcdf` does without dask.

    Args:
        engine: xarray's name of it.
    """

    hints = "no dask: copies hold the array in memory"

    def __init__(self, engine: str) -> None:
        self.engine = engine
        self.modules = ("xarray", LIBRARIES.get(engine, engine))

    def source(self, job: Job) -> str:
        """The many variables are in three formats."""
        return job.source(SUFFIXES[job.what.format or "netcdf4"])

    def sliced(self, job: Job) -> Values:
        """A slice of the variable, loaded."""
        with self._opened(job) as data:
            values: Values = data[NAME][job.selection].values
        return values

    def transpose(self, job: Job) -> None:
        """The whole array is in memory."""
        with self._opened(job) as data:
            self._write(job, data.transpose("y", "x", "time"), {})

    def rechunk(self, job: Job) -> None:
        """The whole array is in memory."""
        with self._opened(job) as data:
            self._write(job, data, {"chunksizes": job.sizes.series_chunks})

    def rechunk_deflated(self, job: Job) -> None:
        """The whole array is in memory."""
        coded = {"zlib": True, "complevel": DEFLATE_LEVEL, "shuffle": True}
        with self._opened(job) as data:
            self._write(job, data, {"chunksizes": job.sizes.series_chunks, **coded})

    def open_many(self, job: Job) -> Any:
        """Values are read later."""
        return self._opened(job)

    def open_files(self, job: Job) -> Any:
        """By dask; values are read later."""
        import xarray as xr

        return xr.open_mfdataset(job.files(), engine=self.engine, combine="nested", concat_dim=DIMENSIONS[0])

    def _opened(self, job: Job) -> Any:
        import xarray as xr

        return xr.open_dataset(self.source(job), engine=self.engine)

    def _write(self, job: Job, data: Any, encoding: dict[str, Any]) -> None:
        data.drop_encoding().to_netcdf(job.made(self.suffix), engine=self.engine, encoding={NAME: encoding})
