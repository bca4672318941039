"""zarr-python, on a store of the same values, and into stores."""

from __future__ import annotations

from typing import Any

from swath_bench.files.contenders.base import Slicing, copy_bands
from swath_bench.files.job import NAME, Job, Values
from swath_bench.files.sources import zarr_deflate


class Zarr(Slicing):
    """zarr-python with its defaults. In place of deflate with shuffle it uses Blosc's zlib with shuffle."""

    modules = ("zarr",)
    suffix = ".zarr"
    hints = "its own store of the same values and chunks, Blosc's zlib with shuffle; copies by rows of chunks"

    def sliced(self, job: Job) -> Values:
        """A slice."""
        import zarr

        values: Any = zarr.open_array(self.source(job), mode="r")[job.selection]
        return values  # type: ignore[no-any-return]

    def columns(self, job: Job) -> Values:
        """Read columns by independent I/O."""
        return self.sliced(job)

    def transpose(self, job: Job) -> None:
        """Band by band, into chunks of whole series."""
        times, rows, columns = job.sizes.shape
        chunks = (min(4, rows), columns, times)
        self._copy(job, (rows, columns, times), chunks, transposed=True)

    def rechunk(self, job: Job) -> None:
        """Band by band."""
        self._copy(job, job.sizes.shape, job.sizes.series_chunks)

    def rechunk_deflated(self, job: Job) -> None:
        """Band by band."""
        self._copy(job, job.sizes.shape, job.sizes.series_chunks, compressors=zarr_deflate())

    def _copy(
        self,
        job: Job,
        shape: tuple[int, ...],
        chunks: tuple[int, ...],
        transposed: bool = False,
        compressors: Any = None,
    ) -> None:
        import zarr

        group = zarr.create_group(job.made(self.suffix))
        target = group.create_array(NAME, shape=shape, dtype="f4", chunks=chunks, compressors=compressors)
        copy_bands(job, zarr.open_array(self.source(job), mode="r"), target, transposed)

    def append(self, job: Job) -> None:
        """Record by record."""
        import zarr

        group, shape = zarr.create_group(job.made()), job.sizes.record
        made = {
            name: group.create_array(name, shape=(0, *shape), dtype="f4", chunks=(1, *shape), compressors=None)
            for name in dict.fromkeys(name for _, name, _ in job.appended)
        }
        for _, name, values in job.appended:
            made[name].append(values[None])

    append_live = append
