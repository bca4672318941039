"""`swath.open`, `create`, `open_file` and `create_file`. Rank 0 looks at the file, and all ranks get what it found."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar, overload

import numpy as np
import numpy.typing as npt

from swath import formats
from swath.array.advised_layout import AdvisedLayout
from swath.array.decoded import Decoded
from swath.array.file import File
from swath.array.open_array import Array
from swath.base import stored_path
from swath.base.lock_timeout import lock_seconds
from swath.base.stream_settings import Streams
from swath.errors import ArgumentError, ExistsError
from swath.files.open_options import FoundOfStore, OpenOptions
from swath.files.opened_file import OpenedFile
from swath.formats import Contents, Description
from swath.formats.new_file import NewFile as WholeFile
from swath.ranks import compared
from swath.ranks.ranks import Ranks, in_turn, ranks_of
from swath.store import profile
from swath.store.atomic_file import AtomicFile
from swath.throttle import throttle

Made = TypeVar("Made")
Opened = TypeVar("Opened", Array, File)
Stripe = tuple[int, int, int]
"""The striping of a file in a pool: bytes of a unit, number of objects in turn, bytes of an object."""


@overload
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
    format: str | None = None,
    engine: str | None = None,
    streams: Streams = "default",
    lock_timeout: float | None = None,
    decode: Literal[False] = False,
) -> Array: ...


@overload
def open(  # noqa: A001
    path: Any,
    variable: str | None = None,
    *,
    mode: str = "r",
    comm: Any = None,
    shape: int | Sequence[int] | None = None,
    dtype: npt.DTypeLike | None = None,
    order: formats.description.Order | None = None,
    offset: int | None = None,
    format: str | None = None,
    engine: str | None = None,
    streams: Streams = "default",
    lock_timeout: float | None = None,
    decode: Literal[True],
) -> Decoded: ...


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
    decode: bool = False,
) -> Array | Decoded:
    """Open an array in an existing file. Collective over `comm`.

    Args:
        path: the file: .npy, netCDF classic, netCDF-4, HDF5, or any raw file (with shape and dtype); or the folder of a
            Zarr store.
        variable: its name in the file; optional if the file has only one.
        mode: "r" to read, "r+" to read and write in place.
        comm: an mpi4py communicator; without one, this process works alone.
        shape: for a raw file: its shape, in elements.
        dtype: for a raw file: its dtype, with byte order.
        order: for a raw file: "C", "F", or the dimensions from slowest to fastest.
        offset: for a raw file: the bytes before the first element.
        format: "raw", "npy", "netcdf-classic", "hdf5" or "zarr"; by default it is recognised from the file.
        engine: the engine that moves the bytes: "auto", "posix", "uring", "null", or "model:PRESET", which takes the
            time of a modelled disk (docs/modelled-disks.md); by default $SWATH_ENGINE, else "auto".
        streams: how many streams the file's target (its disk, its server) serves at a time. "auto" measures while
            running, None sets no limit, a number sets one, and {"read": "auto", "write": 4} sets them separately. One
            limit for both applies to reads only: the kernel schedules buffered writes better. By default
            $SWATH_STREAMS, else swath.ini, else "auto". See docs/streams.md.
        lock_timeout: seconds to wait for a lock that another program holds on a part that is to be written; by default
            $SWATH_LOCK_TIMEOUT, else for ever.
        decode: read decoded values, masked and scaled by the attributes of the variable, see `Decoded`. By default
            stored values are read.

    Raises:
        NotFoundError, StoreError: the system refuses the file.
        FormatError: the file is truncated, or its header is invalid.
        ArgumentError: a missing variable (the message lists the existing ones), or arguments that exclude each other.
        UnsupportedError: elements that are not plain bytes.
    """
    words = compared.call_signature("open", path, locals(), own=("path", "comm"))
    name = compared.path_text(path)
    ranks = ranks_of(comm)

    def describe() -> Description:
        _check_mode(name, mode)
        lock_seconds(lock_timeout)
        found = formats.describe(path, variable, shape=shape, dtype=dtype, order=order, offset=offset, format=format)
        if mode == "r+":
            formats.check_changeable(found.path, found.format)
        return found

    description, found = ranks.on_first(words, lambda: (describe(), _found_of_store(path, ranks, engine, streams)))
    options = OpenOptions(mode, engine, streams, lock_timeout, found)
    array = ranks.run_collectively(f"open {name}: engines", lambda: open_described(description, ranks, options))
    return Decoded(array) if decode else array


def open_described(description: Description, ranks: Ranks, options: OpenOptions) -> Array:
    """Return an array that has opened its file for itself, and closes it. Every rank calls this."""
    return _opened_with_file(description, ranks, options)[1]


def _opened_with_file(description: Description, ranks: Ranks, options: OpenOptions) -> tuple[OpenedFile, Array]:
    file = OpenedFile(description.path, description.format, ranks, options)
    return file, Array(file.stored_array(description, is_new=options.atomic_file is not None, closes_file=True))


def _check_mode(name: str, mode: Any) -> None:
    if mode not in ("r", "r+"):
        raise ArgumentError(
            f'open {name}: mode {mode!r}; expected "r" or "r+" (swath.create and swath.create_file make new files)'
        )


@in_turn
def open_file(
    path: Any,
    *,
    mode: str = "r",
    comm: Any = None,
    engine: str | None = None,
    streams: Streams = "default",
    lock_timeout: float | None = None,
) -> File:
    """Open a file with all its arrays, groups, dimensions and attributes. Collective over `comm`.

    Args:
        path: netCDF classic, netCDF-4, HDF5, or the folder of a Zarr store (also .npy, which holds one array).
        mode: "r" to read; "r+" to write in place, add variables, change attributes, and append records.
        comm: see `open`.
        engine: see `open`; one for all arrays.
        streams: see `open`.
        lock_timeout: see `open`.

    Raises:
        NotFoundError, StoreError: the system refuses the file.
        FormatError: the file is truncated, its header is invalid, or Swath does not know its format.
    """
    words = compared.call_signature("open file", path, locals(), own=("path", "comm"))
    name = compared.path_text(path)
    ranks = ranks_of(comm)

    def look() -> tuple[str, Contents, FoundOfStore]:
        _check_mode(name, mode)
        lock_seconds(lock_timeout)
        contents = formats.contents(path, to_change=mode == "r+")
        return formats.checked_path(path), contents, _found_of_store(path, ranks, engine, streams)

    known, contents, found = ranks.on_first(words, look)
    options = OpenOptions(mode, engine, streams, lock_timeout, found)
    return ranks.run_collectively(
        f"open {name}: engines", lambda: File(OpenedFile(known, contents.format, ranks, options, contents))
    )


@in_turn
def create_file(
    path: Any,
    *,
    format: str | None = None,  # noqa: A002
    attributes: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    atomic: bool = True,
    comm: Any = None,
    engine: str | None = None,
    streams: Streams = "default",
    lock_timeout: float | None = None,
) -> File:
    """Create a file for many arrays: `File.create` makes each. Collective over `comm`; so is closing it.

    The file gets its name when it is closed, with everything in it: see `create`. If it has a dimension that can grow,
    it gets its name at the first `File.sync`.

    Args:
        path: the file. Without `format` its suffix determines the format (.nc, .nc4, .nc3, .h5, .hdf5, .zarr). .nc and
            .nc4 are netCDF-4, .nc3 is netCDF classic; so is .nc without h5py, and in a Ceph pool.
        format: "netcdf-classic", "netcdf-classic:cdf1" (or cdf2, cdf5), "netcdf4", "hdf5", "zarr" or "zarr:v2".
        attributes: the attributes of the file.
        overwrite: see `create`.
        atomic: see `create`.
        comm: see `open`.
        engine: see `open`; one for all arrays.
        streams: see `open`.
        lock_timeout: see `open`.

    Raises:
        ExistsError: the file exists and `overwrite` is not given.
        ArgumentError: a format that holds one array only.
        StoreError: the system refuses.
    """
    words = compared.call_signature("create file", path, locals(), own=("path", "comm"))
    ranks = ranks_of(comm)

    new = NewFile(path, format, overwrite, atomic)
    options = OpenOptions("r+", engine, streams, lock_timeout)
    created = _created_file(words, new, ranks, options, formats.start)
    if attributes:
        created.attributes.update(attributes)
    return created


@in_turn
def create_whole_file(path: Any, whole: WholeFile, *, format: str, overwrite: bool) -> File:  # noqa: A002
    """Create a file with everything but the elements, and open it. The caller then writes every element.

    It is for one process. Apart from that it is like `create_file`, and faster for many variables.

    Raises:
        ExistsError: the file exists and `overwrite` is not given.
        ArgumentError: the format cannot hold some of it; the message lists everything.
        StoreError: the system refuses.
    """
    refusals = formats.refusals(format, whole)
    if refusals:
        raise ArgumentError(f"create {compared.path_text(path)}: {format} cannot hold it: {'; '.join(refusals)}")

    def make(working_path: str, kind: str) -> None:
        formats.create_file(working_path, kind, whole)

    words = compared.call_signature("create file", path, {"format": format, "overwrite": overwrite})
    return _created_file(words, NewFile(path, format, overwrite, True), ranks_of(None), OpenOptions("r+"), make)


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
    layout: AdvisedLayout | None = None,
    stripe: Stripe | None = None,
    format: str | None = None,  # noqa: A002
    overwrite: bool = False,
    atomic: bool = True,
    comm: Any = None,
    engine: str | None = None,
    streams: Streams = "default",
    lock_timeout: float | None = None,
) -> Array:
    """Create an array, in a file of its own or as another variable of a file that exists. Collective over `comm`.

    Closing the array completes the file, and is collective, too. If a netCDF, HDF5 or Zarr file exists, and has no
    variable of that name, the variable is added to it; the others stay.

    An atomic file is written under a temporary name, synced, and renamed when it is closed: after a crash at any point
    there is either the old file or the complete new one. An exception inside the `with` block removes the temporary
    file; so does an array that is never closed, with a ResourceWarning.

    Args:
        path: the file. Without `format` its suffix determines the format (.npy, .nc, .nc4, .nc3, .h5, .hdf5, .zarr,
            else raw). .nc and .nc4 are netCDF-4, .nc3 is netCDF classic; so is .nc without h5py, and in a Ceph pool.
        shape: in elements. With None as the first length the array can grow (netCDF, HDF5, Zarr): see `Array.append`.
        dtype: as stored; netCDF classic files are always big-endian.
        order: "C", "F" (raw, .npy), or the dimensions from slowest to fastest (raw); in Zarr, the order in each chunk.
        fill: the value of elements that were never written; by default the format's own fill value, else 0.
        variable: the variable's name in netCDF, HDF5 and Zarr.
        dimensions: its dimensions' names in netCDF, HDF5 and Zarr.
        attributes: its attributes in netCDF, HDF5 and Zarr.
        chunks: elements of a chunk along each dimension, of HDF5 and netCDF-4 (by default the array is contiguous, with
            codecs in chunks of up to 1 MiB) and Zarr (by default chunks of about 4 MiB).
        shards: for Zarr: the shape of a shard, a file of whole chunks; by default each chunk is a file.
        codecs: one or several, each a name or {"name": ..., "configuration": {"level": 4}} as in Zarr's version 3. For
            Zarr: "zstd" (the default), "blosc", "gzip", "lz4", "zlib", "shuffle", "crc32c"; [] for none. For HDF5:
            "zlib" (or "gzip", "deflate"), "shuffle", "fletcher32", with hdf5plugin also "zstd", "blosc", "lz4"; by
            default none.
        layout: advice of `swath.advise_layout` for this shape. It replaces order, chunks and shards, and codecs if it
            names them; in a pool also `stripe`.
        stripe: for a file in a Ceph pool: the bytes of a stripe unit, the number of objects that get units in turn, and
            the bytes of an object; by default (65536, 4, 4194304).
        format: "raw", "npy", "netcdf4", "netcdf-classic", "netcdf-classic:cdf1" (or cdf2, cdf5), "hdf5", "zarr" or
            "zarr:v2".
        overwrite: whether an existing file may be replaced.
        atomic: False writes under the final name at once; a replaced file is removed when the new one is created.
        comm: an mpi4py communicator; without one, this process works alone.
        engine: see `open`.
        streams: see `open`.
        lock_timeout: see `open`.

    Raises:
        ExistsError: the file exists, with that variable or in a format of one array, and `overwrite` is not given.
        ArgumentError: a shape, dtype or order that the format cannot store.
        StoreError: the system refuses.
    """
    given = formats.CreationOptions(order, fill, variable, dimensions, attributes, chunks, shards, codecs)
    words = compared.call_signature("create", path, locals(), own=("path", "comm", "given"))
    ranks = ranks_of(comm)
    ranks.agree(words)  # before anything is removed
    stripe = _stripe(path, stripe, layout)
    path = path if stripe is None else stored_path.of(formats.checked_path(path)).with_stripe(stripe)
    new, options = NewFile(path, format, overwrite, atomic), OpenOptions("r+", engine, streams, lock_timeout)

    def new_array(kind: str) -> formats.NewArray:
        return formats.new_array(path, kind, shape, dtype, _with_layout(given, layout, shape, dtype, kind))

    def make(atomic_file: AtomicFile) -> Description:
        kind = formats.format_for(path, format)
        formats.warn_of_raw(path, format)
        return formats.create_array(atomic_file.working_path, kind, new_array(kind))

    def opened(description: Description, options: OpenOptions) -> tuple[OpenedFile, Array]:
        return _opened_with_file(description, ranks, options)

    kind = ranks.on_first(f"create {compared.path_text(path)}: look", lambda: new.format_to_add_to(variable))
    if kind is None:
        return _created(words, new, ranks, options, (make, opened))
    return _added(words, new, ranks, options, lambda: new_array(kind))


def _stripe(path: Any, stripe: Stripe | None, layout: AdvisedLayout | None) -> Stripe | None:
    """Return the requested or advised striping of a new file; None for that in its name, or the default."""
    if stripe is not None or layout is None or "stripe=" in str(path):
        return stripe
    return getattr(layout, "stripe", None) if stored_path.of(str(path)).is_striped else None


def _with_layout(
    given: formats.CreationOptions,
    layout: AdvisedLayout | None,
    shape: int | Sequence[int],
    dtype: npt.DTypeLike,
    format: str,  # noqa: A002
) -> formats.CreationOptions:
    """Return the options of `create` with the order and chunks of an advice. Raise ArgumentError."""
    if layout is None:
        return given
    if not callable(getattr(layout, "creation", None)):
        raise ArgumentError(
            f'layout: expected what swath.advise_layout returns for one array (of several: advice["A"]), not {layout!r}'
        )
    lengths = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    advised = layout.creation(lengths, dtype, format)
    twice = [name for name in ("chunks", "shards") if getattr(given, name) is not None]
    if given.codecs is not None and "codecs" in advised:
        twice.append("codecs")
    if given.order != "C":
        twice.insert(0, "order")
    if twice:
        raise ArgumentError(f"layout= says what {' and '.join(twice)} would say, too: leave out one of them")
    return dataclasses.replace(given, **advised)


class NewFile(NamedTuple):
    """The file to create: arguments of `create` and `create_file`."""

    path: Any
    format: str | None
    overwrite: bool
    atomic: bool

    def format_to_add_to(self, variable: str | None) -> str | None:
        """Return the format of the existing file that gets another variable; None if a new file is created.

        Raises ExistsError if the file has that variable.
        """
        name = formats.checked_path(self.path)
        if not stored_path.of(name).can_change_contents or self.overwrite or not os.path.exists(name):
            return None
        asked = None if self.format is None else formats.format_for(name, self.format).partition(":")[0]
        found = formats.contents_of_many(name)
        if found is None or asked not in (None, found.format):
            return None
        if variable is None or variable.strip("/") in found.variables:
            there = ", ".join(list(found.variables)[:20]) or "nothing yet"
            raise ExistsError(
                f"create {name}: the file exists and holds {there}: choose another name with variable=, which is then "
                'added to it, or change what it has: swath.open(..., mode="r+")',
                errno.EEXIST,
            )
        return found.format

    def atomic_file(self) -> AtomicFile:
        """Return the new file, which is written aside until it is complete."""
        is_folder = formats.is_folder(formats.format_for(self.path, self.format))
        return AtomicFile(self.path, overwrite=self.overwrite, atomic=self.atomic, is_folder=is_folder)


def _created(
    words: str,
    new: NewFile,
    ranks: Ranks,
    options: OpenOptions,
    steps: tuple[Callable[[AtomicFile], Made], Callable[[Made, OpenOptions], tuple[OpenedFile, Opened]]],
) -> Opened:
    """Create a file by `steps`: rank 0 makes the file, then all ranks open it. Return the opened object."""
    make, opened = steps
    name = compared.path_text(new.path)

    def prepare() -> tuple[AtomicFile, FoundOfStore]:
        lock_seconds(options.lock_timeout)
        atomic_file = new.atomic_file()
        with atomic_file.removed_on_error():
            return atomic_file, _found_of_store(new.path, ranks, options.engine, options.streams)

    ranks.agree(words)  # before anything is removed
    atomic_file, found = ranks.on_first(f"create {name}", prepare)
    with_file = dataclasses.replace(options, atomic_file=atomic_file, found=found)
    try:
        made = ranks.on_first(f"create {name}: header", lambda: make(atomic_file))
        file, created = ranks.run_collectively(f"create {name}: engines", lambda: opened(made, with_file))
        file.expect_close()
    except BaseException:
        if ranks.rank == 0:
            atomic_file.remove()
        raise
    if ranks.rank == 0:
        atomic_file.drop_replaced()
    return created


def _created_file(
    words: str, new: NewFile, ranks: Ranks, options: OpenOptions, make_file: Callable[[str, str], None]
) -> File:
    """Return a new open file. `make_file` gets its path and format, and makes it."""

    def make(atomic_file: AtomicFile) -> tuple[str, Contents]:
        make_file(atomic_file.working_path, formats.format_for(new.path, new.format))
        contents = formats.contents(atomic_file.working_path)
        return contents.format, contents

    def opened(made: tuple[str, Contents], options: OpenOptions) -> tuple[OpenedFile, File]:
        assert options.atomic_file is not None
        file = OpenedFile(options.atomic_file.working_path, made[0], ranks, options, made[1])
        return file, File(file)

    return _created(words, new, ranks, options, (make, opened))


def _added(
    words: str, new: NewFile, ranks: Ranks, options: OpenOptions, new_array: Callable[[], formats.NewArray]
) -> Array:
    """Add a variable to an existing file, and return its array."""
    name = compared.path_text(new.path)

    def look() -> tuple[str, str, FoundOfStore]:
        lock_seconds(options.lock_timeout)
        path = formats.checked_path(new.path)
        return path, formats.format_of(path), _found_of_store(path, ranks, options.engine, options.streams)

    path, kind, found = ranks.on_first(f"create in {name}", look)
    opened = dataclasses.replace(options, found=found)
    file = ranks.run_collectively(f"create in {name}: engines", lambda: OpenedFile(path, kind, ranks, opened))
    try:
        return Array(file.stored_array(file.add(words, new_array), is_new=True, closes_file=True))
    except BaseException as error:
        with contextlib.suppress(Exception):
            file.close(error)
        raise


def _found_of_store(path: Any, ranks: Ranks, engine: str | None, streams: Streams) -> FoundOfStore:
    several_nodes = ranks.comm.node_count > 1
    name = os.fsdecode(path)
    coordinator = throttle.coordinator_for(name, engine, streams) if several_nodes else None
    return FoundOfStore(profile.for_path(name, compared.effective_engine(engine)), coordinator, next(_numbers))


_numbers = itertools.count(1)
