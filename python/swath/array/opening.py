"""`swath.open` and `swath.create`: what rank 0 finds out once, and the array that every rank gets."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from swath import formats
from swath.array.open_array import Array, FoundOfStore, OpenOptions
from swath.errors import ArgumentError
from swath.formats import Description
from swath.ranks import compared
from swath.ranks.ranks import Ranks, in_turn, ranks_of
from swath.store import profile
from swath.store.atomic_file import AtomicFile
from swath.store.lock_timeout import lock_seconds
from swath.throttle import throttle
from swath.throttle.settings import Streams


@in_turn
def open(  # noqa: A001 - the name that scripts use
    path: Any,
    variable: str | None = None,
    *,
    mode: str = "r",
    comm: Any = None,
    shape: int | Sequence[int] | None = None,
    dtype: npt.DTypeLike | None = None,
    order: formats.description.Order | None = None,
    offset: int | None = None,
    format: str | None = None,  # noqa: A002
    engine: str | None = None,
    streams: Streams = "default",
    lock_timeout: float | None = None,
) -> Array:
    """Open an array in an existing file. Collective over `comm`.

    Args:
        path: the file: .npy, netCDF classic, netCDF-4, HDF5, or any file where shape and dtype are given; or the
            folder of a Zarr store.
        variable: its name in the file; may be left out where only one can be meant.
        mode: "r" to read, "r+" to read and write in place.
        comm: an mpi4py communicator; without one, all work is of this process alone.
        shape: of a raw file, in elements.
        dtype: of a raw file, byte order included.
        order: of a raw file: "C", "F", or the dimensions from slowest to fastest.
        offset: of a raw file: bytes before the first element.
        format: "raw", "npy", "netcdf-classic", "hdf5" or "zarr", where it should not be recognised from the file.
        engine: what moves the bytes: "auto", "posix", "uring", "null", or "model:PRESET" in the time of a
            modelled disk (docs/modelled-disks.md); by default $SWATH_ENGINE, else "auto".
        streams: how many streams the file's target (its disk, its server) serves at a time: "auto" finds out while
            running, None sets no limit, a number does, and {"read": "auto", "write": 4} tells them apart; a limit for
            both is one for reads, for buffered writes are better left to the kernel. By default $SWATH_STREAMS, else
            swath.ini, else "auto". See docs/streams.md.
        lock_timeout: seconds to wait for a lock that another program holds on a part that is to be written; by default
            $SWATH_LOCK_TIMEOUT, else for ever.

    Raises:
        NotFoundError, StoreError: the system refuses the file.
        FormatError: the file is truncated, or its header cannot be true.
        ArgumentError: a missing variable (the message lists those there are), or arguments that do not go together.
        UnsupportedError: elements that are not plain bytes.
    """
    words = compared.words("open", path, locals(), own=("path", "comm"))
    name = compared.path_text(path)
    ranks = ranks_of(comm)

    def describe() -> Description:
        if mode not in ("r", "r+"):
            raise ArgumentError(f'open {name}: mode {mode!r}; expected "r" or "r+" (swath.create makes new files)')
        lock_seconds(lock_timeout)
        return formats.describe(path, variable, shape=shape, dtype=dtype, order=order, offset=offset, format=format)

    description, found = ranks.on_first(words, lambda: (describe(), _found_of_store(path, ranks, engine, streams)))
    options = OpenOptions(mode, engine, streams, lock_timeout, found)
    return ranks.run_collectively(f"open {name}: engines", lambda: Array(description, ranks, options))


@in_turn
def create(
    path: Any,
    shape: int | Sequence[int],
    dtype: npt.DTypeLike,
    *,
    order: formats.description.Order = "C",
    fill: Any = None,
    variable: str | None = None,
    dimensions: Sequence[str] | None = None,
    attributes: Mapping[str, Any] | None = None,
    chunks: int | Sequence[int] | None = None,
    shards: int | Sequence[int] | None = None,
    codecs: Any = None,
    format: str | None = None,  # noqa: A002
    overwrite: bool = False,
    atomic: bool = True,
    comm: Any = None,
    engine: str | None = None,
    streams: Streams = "default",
    lock_timeout: float | None = None,
) -> Array:
    """Create a file with one array. Collective over `comm`; so is closing it, which makes the file complete.

    An atomic file is written aside, synced and renamed when it is closed: after a crash at any point there is either
    the old file or the complete new one. An exception inside the `with` block removes what was written aside; so does
    an array that is never closed, with a ResourceWarning.

    Args:
        path: the file. Its suffix says the format (.npy, .nc, .h5, .hdf5, .zarr, else raw) where `format` does not.
        shape: in elements.
        dtype: as stored; netCDF classic files are big-endian whatever is asked for.
        order: "C", "F" (raw, .npy), or the dimensions from slowest to fastest (raw); in Zarr that of each chunk.
        fill: what elements read as that were never written; by default the format's own fill value, else 0.
        variable: the variable's name in netCDF, HDF5 and Zarr.
        dimensions: its dimensions' names in netCDF, HDF5 and Zarr.
        attributes: its attributes in netCDF, HDF5 and Zarr.
        chunks: elements of a chunk along each dimension, of HDF5 (by default the array is contiguous, with codecs in
            chunks of up to 1 MiB) and Zarr (by default chunks of about 4 MiB).
        shards: of Zarr: the shape of a shard, a file of so many whole chunks; by default each chunk is a file.
        codecs: one or several, each a name or {"name": ..., "configuration": {"level": 4}} as in Zarr's version 3. Of
            Zarr "zstd" (the default), "blosc", "gzip", "lz4", "zlib", "shuffle", "crc32c"; [] for none. Of HDF5 "zlib"
            (or "gzip", "deflate"), "shuffle", "fletcher32", and where hdf5plugin is "zstd", "blosc", "lz4"; by default
            none.
        format: "raw", "npy", "netcdf-classic", "netcdf-classic:cdf1" (or cdf2, cdf5), "hdf5", "zarr" or "zarr:v2".
        overwrite: whether an existing file may be replaced.
        atomic: False writes under the final name at once.
        comm: an mpi4py communicator; without one, all work is of this process alone.
        engine: see `open`.
        streams: see `open`.
        lock_timeout: see `open`.

    Raises:
        ExistsError: the file exists and `overwrite` is not given.
        ArgumentError: a shape, dtype or order that the format cannot store.
        StoreError: the system refuses.
    """
    words = compared.words("create", path, locals(), own=("path", "comm"))
    name = compared.path_text(path)
    ranks = ranks_of(comm)

    def prepare() -> AtomicFile:
        lock_seconds(lock_timeout)
        is_folder = formats.is_folder(formats.format_for(path, format))
        return AtomicFile(path, overwrite=overwrite, atomic=atomic, is_folder=is_folder)

    ranks.agree(words)  # before anything is removed
    atomic_file, found = ranks.on_first(
        f"create {name}", lambda: (prepare(), _found_of_store(path, ranks, engine, streams))
    )

    def make() -> Description:
        with atomic_file.removed_on_error():
            return formats.create(
                atomic_file.working_path,
                shape,
                dtype,
                format=formats.format_for(path, format),
                order=order,
                fill=fill,
                variable=variable,
                dimensions=dimensions,
                attributes=attributes,
                chunks=chunks,
                shards=shards,
                codecs=codecs,
            )

    description = ranks.on_first(f"create {name}: header", make)
    try:
        options = OpenOptions("r+", engine, streams, lock_timeout, found, atomic_file)
        array = ranks.run_collectively(f"create {name}: engines", lambda: Array(description, ranks, options))
        array.expect_close()
        return array
    except BaseException:
        if ranks.rank == 0:
            atomic_file.remove()
        raise


def _found_of_store(path: Any, ranks: Ranks, engine: str | None, streams: Streams) -> FoundOfStore:
    several_nodes = ranks.comm.node_count > 1
    name = os.fsdecode(path)
    coordinator = throttle.coordinator_for(name, engine, streams) if several_nodes else None
    return FoundOfStore(profile.for_path(name), coordinator, next(_numbers))


_numbers = itertools.count(1)
