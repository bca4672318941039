"""The cases, and which contenders take part."""

from __future__ import annotations

import dataclasses

SWATH = "Swath"
NETCDF, HDF5, ZARR = "netCDF4", "h5py", "zarr"
XARRAY = ("xarray-netcdf4", "xarray-h5netcdf", "xarray-scipy", "xarray-zarr")
PARALLEL, NCCOPY = "parallel h5py", "nccopy"
PEERS = (NETCDF, HDF5, ZARR, *XARRAY, NCCOPY, PARALLEL)
OF_NETCDF4 = (NETCDF, HDF5, ZARR, *XARRAY[:2])


@dataclasses.dataclass(frozen=True)
class Case:
    """A task with files.

    Attributes:
        work: the method of `contenders.Contender` for it.
        peers: the peers that can do it.
        format: format of the written or opened file; "" if the contender determines it.
        on_ranks: whether several ranks do it; a serial library does one part on each.
        reads: "source", "many", "thousands", "files" or "several": the file, or folder of files, that is read, cold or
            warm; "": none.
        writes: whether there is a target, which must be on the medium before the clock stops.
        wanted: goal for the ratio of Swath's seconds to those of the fastest peer, at most this.
        watches_memory: whether the memory outside the page cache is measured.
    """

    work: str
    peers: tuple[str, ...]
    format: str = ""
    on_ranks: bool = False
    reads: str = ""
    writes: bool = False
    wanted: float = 1.0
    watches_memory: bool = False

    @property
    def modules(self) -> tuple[str, ...]:
        """Return the modules that must be installed for any contender: those that open, and those that compare."""
        return ("xarray",) * (self.work in ("open_many", "open_files")) + ("zarr",) * (self.format == "zarr")


def _opened(
    made: str, peers: tuple[str, ...], reads: str = "many", work: str = "open_many", wanted: float = 1.1
) -> Case:
    return Case(work, peers, made, reads=reads, wanted=wanted)


def _dumped(made: str, peers: tuple[str, ...], on_ranks: bool) -> Case:
    return Case("dump", peers, made, on_ranks=on_ranks, writes=True)


def _appended(made: str, peers: tuple[str, ...]) -> Case:
    return Case("append", peers, made, writes=True)


def _live(made: str, peers: tuple[str, ...]) -> Case:
    return Case("append_live", peers, made, writes=True)


CASES: dict[str, Case] = {
    "series": Case("series", OF_NETCDF4, reads="source"),
    "map": Case("map", OF_NETCDF4, reads="source"),
    "transpose": Case("transpose", OF_NETCDF4, reads="source", writes=True),
    "rechunk": Case("rechunk", (*OF_NETCDF4, NCCOPY), reads="source", writes=True),
    "rechunk-deflated": Case("rechunk_deflated", (*OF_NETCDF4, NCCOPY), reads="source", writes=True),
    "rechunk-file": Case("rechunk_file", (NCCOPY,), reads="several", writes=True, wanted=0.8, watches_memory=True),
    "columns": Case("columns", (NETCDF, HDF5, ZARR, PARALLEL), on_ranks=True, reads="source"),
    "dump-netcdf4": _dumped("netcdf4", (NETCDF, HDF5), False),
    "dump-classic": _dumped("netcdf-classic", (NETCDF,), False),
    "dump-netcdf4-ranks": _dumped("netcdf4", (NETCDF, HDF5, PARALLEL), True),
    "dump-classic-ranks": _dumped("netcdf-classic", (NETCDF,), True),
    "open-netcdf4": _opened("netcdf4", XARRAY[:2]),
    "open-classic": _opened("netcdf-classic", (XARRAY[0], XARRAY[2])),
    "open-zarr": _opened("zarr", (XARRAY[3],)),
    "open-thousands": _opened("netcdf4", XARRAY[:2], "thousands", wanted=1.2),
    "open-files": _opened("netcdf4", XARRAY[:2], "files", "open_files"),
    "append-netcdf4": _appended("netcdf4", (NETCDF, HDF5)),
    "append-classic": _appended("netcdf-classic", (NETCDF,)),
    "append-zarr": _appended("zarr", (ZARR,)),
    "append-netcdf4-live": _live("netcdf4", (NETCDF, HDF5)),
    "append-classic-live": _live("netcdf-classic", (NETCDF,)),
    "append-zarr-live": _live("zarr", (ZARR,)),
}
"""Cases by their names on the command line. Live: readers see every record as soon as it is written."""
