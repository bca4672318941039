"""HDF5 datasets, which netCDF-4 variables are too: where their bytes are, by h5py's chunk and offset queries.

No HDF5 handle is open when a function here returns, because HDF5 overwrites at close what others wrote behind a cached
chunk. Files are opened with `locking="best-effort"`: a file that another process has open for writing is refused
(its metadata may not be on disk yet), a file system without locks is accepted; the environment variable
HDF5_USE_FILE_LOCKING overrules it. A handle that this process itself has open for writing is not noticed: flush
and close it before.
"""

from __future__ import annotations

import errno
import math
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from swath.errors import ArgumentError, Error, FormatError, StoreError, UnsupportedError, store_error
from swath.formats import hdf5_filters
from swath.formats.changes import Changes
from swath.formats.choose import choose, describes_others
from swath.formats.description import (
    OFFSET_LIMIT,
    ChunkedLayout,
    ChunkTable,
    CodedLayout,
    Description,
    Layout,
    LibraryLayout,
    NewArray,
    StridedLayout,
    Summary,
    is_plain,
    plain,
    refuse_objects,
    stored_strides,
    text,
    without_metadata,
)
from swath.formats.files import extend, fresh, opened, whole
from swath.formats.undo import UndoableFile

SIGNATURE = b"\x89HDF\r\n\x1a\n"

VIRTUAL = "virtual dataset: its elements are those of other datasets"
EXTERNAL = "external storage: its elements lie in other files"
"""Why the library must be asked, where it opens other files, by their places beside this one."""
CHUNKS_MAX = 1 << 25
"""Of a dataset, to keep a table of them, which takes 4 GiB then: a shape alone must not take memory without bound."""

_HOUSEKEEPING = {
    *("CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS"),
    *("_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties", "_nc3_strict"),
}
"""Attributes by which HDF5's dimension scales and netCDF-4 keep their own books."""

_DIMENSION_ONLY = b"This is a netCDF dimension but not a netCDF variable"
"""NAME of the datasets that netCDF-4 makes for dimensions without a coordinate variable."""


def matches(file: BinaryIO, size: int) -> bool:
    """Return whether HDF5's signature is at byte 0 or, behind a user block, at 512, 1024, 2048 and so on."""
    at = 0
    while at + len(SIGNATURE) <= size:
        file.seek(at)
        if file.read(len(SIGNATURE)) == SIGNATURE:
            return True
        at = max(512, 2 * at)
    return False


def describe(path: str, variable: str | None = None) -> Description:
    """Return one dataset, "group/name" in a group; None stands for the only one that holds numbers of its own.

    Raises ArgumentError, listing what there is, where `variable` names no dataset or None is not enough;
    UnsupportedError for variable-length elements and the like; FormatError for a damaged or truncated file;
    StoreError where the system refuses, also because another process has the file open for writing.
    """
    with _opened(path) as file:
        return whole(_describe(path, _dataset(path, file, variable)))


def variables(path: str) -> list[Summary]:
    """Every dataset of the file and its groups."""
    with _opened(path) as file:
        return _summaries(file)


def create(path: str, new: NewArray) -> Description:
    """Create a file with one dataset, contiguous or in chunks, whose space is allocated, all its bytes holes.

    Coded chunks are not stored yet. `new.fill` becomes the dataset's fill value; nobody writes it here. Raises
    ArgumentError for a dtype that HDF5 has no type for, and for codecs that it has no filters for.
    """
    new.needs_c_order("HDF5")
    h5py = _h5py()
    codecs = hdf5_filters.asked_codecs(new.codecs, new.dtype.itemsize)
    chunks = hdf5_filters.new_chunks(new, codecs)
    name = new.name.strip("/")
    if not _is_name(name):
        raise ArgumentError(f"HDF5 allows no name {new.name!r}; expected a name, or group/name")
    try:
        stored = h5py.h5t.py_create(new.dtype, logical=True)
    except TypeError as error:
        raise ArgumentError(
            f"HDF5 cannot store dtype {new.dtype} ({error}); it stores integers, floats, complex numbers, bool, "
            "fixed-length byte strings, and structures of these"
        ) from None
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    if chunks is None:
        plist.set_layout(h5py.h5d.CONTIGUOUS)
    else:
        plist.set_chunk(chunks)
    hdf5_filters.set_filters(plist, codecs)
    plist.set_obj_track_times(False)  # the same array makes the same bytes at any time
    if codecs:
        plist.set_alloc_time(h5py.h5d.ALLOC_TIME_INCR)  # how long a chunk is its elements say
    else:
        plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)  # else the library would write every element before us
    if new.fill is not None:
        plist.set_fill_value(new.fill)
    links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
    links.set_create_intermediate_group(True)
    space = h5py.h5s.create_simple(new.shape) if new.shape else h5py.h5s.create(h5py.h5s.SCALAR)
    with fresh(path):
        with changed(Changes(path, is_durable=False), "w") as file:
            dataset = h5py.Dataset(h5py.h5d.create(file.id, name.encode(), stored, space, plist, links))
            hdf5_filters.check_kept(dataset.id.get_create_plist(), codecs)
            for i, dimension in enumerate(new.dimensions or ()):
                dataset.dims[i].label = dimension
            try:
                dataset.attrs.update(new.attributes)
            except (TypeError, ValueError) as error:
                raise ArgumentError(f"HDF5 cannot store the attributes {new.attributes} ({error})") from None
        with _opened(path) as file:
            description = _describe(path, file[name])
        extend(path, description.end)
        return whole(description)


def allocate(description: Description) -> Description:
    """Give every part of the dataset its place in the file, filled with the fill value; returns where that is.

    Call it on one rank before bytes are written, while nobody else has the file open. HDF5 writes the fill value over
    what it allocates (a contiguous dataset as a whole), which is one sequential pass. Where that fails, the disk being
    full, the file is as it was.
    """
    layout = description.layout
    if not isinstance(layout, ChunkedLayout) or not (layout.offsets < 0).any():
        return description
    with _changed_at_once(description.path) as file:
        dataset = file[description.variable]
        fill = np.frombuffer(description.fill, description.dtype)
        if dataset.chunks is None:
            one = (slice(0, 1),) * len(description.shape)
            dataset[one] = np.array(fill.reshape((1,) * len(description.shape)), dtype=dataset.dtype)
        else:
            chunk = fill.repeat(math.prod(layout.chunk_shape)).tobytes()
            for place in np.argwhere(layout.offsets < 0):
                dataset.id.write_direct_chunk(tuple(map(int, place * dataset.chunks)), chunk)
    return describe(description.path, description.variable)


def library_read(description: Description, index: tuple[slice | int, ...]) -> npt.NDArray[Any]:
    """Return the selected elements through h5py, in the stored dtype. Integers drop their dimension."""
    forward, flips, _ = _forward(index, description)
    with _opened(description.path) as file:
        values = np.asarray(file[description.variable][forward])
    forwards = values.astype(description.dtype, copy=False)
    return np.ascontiguousarray(forwards[flips]).reshape(values.shape)


def library_write(description: Description, index: tuple[slice | int, ...], values: npt.ArrayLike) -> None:
    """Replace the selected elements by `values`, which may be broadcast, through h5py. One process at a time."""
    forward, flips, shape = _forward(index, description)
    try:
        whole_values = np.broadcast_to(np.asarray(values), shape)[flips]
    except ValueError:
        raise ArgumentError(
            f"{description.name}: values of shape {np.shape(values)} do not fit the selection's {shape}"
        ) from None
    layout = description.layout
    elsewhere = isinstance(layout, LibraryLayout) and layout.reason in (VIRTUAL, EXTERNAL)
    with _opened(description.path, "r+") if elsewhere else _changed_at_once(description.path) as file:
        dataset = file[description.variable]
        dataset[forward] = np.array(whole_values, dtype=dataset.dtype)


def _h5py() -> Any:
    try:
        import h5py
    except ImportError:
        raise UnsupportedError("HDF5 and netCDF-4 files need h5py: pip install h5py") from None
    return h5py


_DOING = {"r": "read", "r+": "change", "w": "create"}


@contextmanager
def _opened(path: str, mode: str = "r") -> Iterator[Any]:
    """Yield the file as h5py.File, with h5py's many exceptions turned into ours."""
    h5py = _h5py()
    _refuse_what_is_no_file(path)
    with _translated(path, _DOING[mode]), h5py.File(path, mode, locking="best-effort") as file:
        yield file


@contextmanager
def changed(
    changes: Changes, mode: str = "r+", opening: Callable[[Changes], UndoableFile] = UndoableFile
) -> Iterator[Any]:
    """The existing file as h5py.File, for changing it ("r+") or making it anew ("w"): as it was where that fails."""
    h5py = _h5py()
    path = changes.path
    _refuse_what_is_no_file(path)
    with opening(changes) as stored:
        try:
            with _translated(path, _DOING[mode]), h5py.File(stored, mode) as file:
                yield file
            stored.settle()
        except BaseException:
            if stored.failure is None:
                stored.undo()
                raise
        if stored.failure is not None:
            stored.undo()
            reason = f"{stored.failure.strerror}; it is as it was before"
            raise store_error(f"{path}: HDF5 cannot {_DOING[mode]} it: {reason}", stored.failure.errno) from None


@contextmanager
def _changed_at_once(path: str) -> Iterator[Any]:
    """As `changed`, committed in the end. Where no journal can be kept, a kill may leave the file half changed."""
    try:
        changes = Changes(path, lock_seconds=0)
    except StoreError:  # the folder may not be written, or rank 0 has this file's journal
        changes = Changes(path, is_durable=False)
    with changes:
        with changed(changes) as file:
            yield file
        changes.commit()


def _refuse_what_is_no_file(path: str) -> None:
    """Raise where the path is no file: the library would wait for the other end of a pipe."""
    with opened(path):
        pass


@contextmanager
def _translated(path: str, doing: str) -> Iterator[None]:
    """What is damaged comes as whatever h5py, or NumPy with what h5py tells, happens to meet it by."""
    try:
        yield
    except (Error, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001
        code = getattr(error, "errno", None)
        if code in (errno.EAGAIN, errno.EACCES) and "lock" in str(error):
            raise StoreError(f"{path}: another program has this HDF5 file open: {error}", code) from None
        if code is not None:
            raise store_error(f"{path}: HDF5 cannot {doing} it: {error}", code) from None
        if doing == "read" and "already open" not in str(error) and "locking" not in str(error):
            raise FormatError(f"{path}: not a readable HDF5 file: {error or type(error).__name__}") from None
        raise StoreError(f"{path}: HDF5 cannot {doing} it: {error}") from None


def _dataset(path: str, file: Any, variable: str | None) -> Any:
    h5py = _h5py()
    found = file.get(variable) if variable is not None and _is_name(variable) else None
    if isinstance(found, h5py.Group):
        inside = [f"{found.name.strip('/')}/{name}" for name in found]
        raise ArgumentError(f"{path}: {variable!r} is a group; name a dataset in it: {', '.join(inside[:20])}")
    if not isinstance(found, h5py.Dataset):
        found = file[choose(path, _summaries(file), variable)]
    if found.file.filename != file.filename:
        raise UnsupportedError(f"{path}: {variable!r} is a link into {found.file.filename}; open that file")
    return found


def _is_name(name: str) -> bool:
    """Return whether HDF5 can have a dataset of that name, which may be a path through groups."""
    parts = name.strip("/").split("/")
    return (
        "" not in parts and "." not in parts and "\0" not in name and name.encode("utf-8", "replace").decode() == name
    )


def _describe(path: str, dataset: Any) -> Description:
    name = dataset.name.strip("/")
    dtype = _dtype(path, dataset)
    layout = _layout(dataset, dtype)
    end = 0
    if isinstance(layout, StridedLayout):
        end = layout.offset + dataset.nbytes
    elif isinstance(layout, ChunkedLayout) and layout.offsets.size and layout.offsets.max() >= 0:
        end = int(layout.offsets.max()) + math.prod(layout.chunk_shape) * dtype.itemsize
    elif isinstance(layout, CodedLayout) and isinstance(layout.places, ChunkTable) and layout.places.offsets.size:
        end = max(int((layout.places.offsets + layout.places.nbytes).max()), 0)
    fill = _fill(dataset, dtype)
    return Description(path, "hdf5", name, dataset.shape, dtype, layout, fill, _attributes(dataset), end)


def _dtype(path: str, dataset: Any) -> np.dtype[Any]:
    """Return the NumPy dtype of the stored elements, without h5py's metadata; UnsupportedError where there is none."""
    name = f"{path}:{dataset.name.strip('/')}"
    if dataset.shape is None:
        raise UnsupportedError(f"{name}: the dataset has no elements at all (a null dataspace)")
    try:
        dtype: np.dtype[Any] = np.dtype(dataset.dtype)
    except (TypeError, ValueError) as error:
        raise UnsupportedError(f"{name}: its elements have a type that NumPy has not ({error})") from None
    refuse_objects(dtype, name)
    return without_metadata(dtype)


def _name_in_file(dataset: Any) -> str:
    return f"{dataset.file.filename}:{dataset.name.strip('/')}"


def _layout(dataset: Any, dtype: np.dtype[Any]) -> Layout:
    h5py = _h5py()
    plist = dataset.id.get_create_plist()
    reason = _library_reason(h5py, dataset, plist)
    if reason is not None:
        return LibraryLayout(reason, dataset.chunks)
    if 0 in dataset.shape:
        return StridedLayout(0, _strides(dataset, dtype))
    if dataset.chunks is not None:
        table = _chunk_table(dataset)
        codecs = hdf5_filters.codecs_of(plist)
        if codecs:
            return CodedLayout(dataset.file.filename, dataset.chunks, tuple(range(dataset.ndim)), codecs, table)
        return ChunkedLayout(dataset.chunks, table.offsets)
    offset = dataset.id.get_offset()
    if offset is None:  # not allocated yet: one chunk that is nowhere
        return ChunkedLayout(dataset.shape, np.full((1,) * dataset.ndim, -1, np.int64))
    return StridedLayout(int(offset), _strides(dataset, dtype))


def _strides(dataset: Any, dtype: np.dtype[Any]) -> tuple[int, ...]:
    return stored_strides(_name_in_file(dataset), dataset.shape, dtype.itemsize, range(dataset.ndim))


def _grid(dataset: Any) -> list[int]:
    """Return how many chunks there are along each dimension."""
    return [-(-n // c) for n, c in zip(dataset.shape, dataset.chunks, strict=True)]


def _library_reason(h5py: Any, dataset: Any, plist: Any) -> str | None:
    """Return why the bytes of the dataset cannot be moved by offset; None where they can."""
    kind = plist.get_layout()
    if kind == h5py.h5d.VIRTUAL:
        return VIRTUAL
    if kind == h5py.h5d.COMPACT:
        return "compact dataset: its elements lie inside the metadata"
    if plist.get_external_count():
        return EXTERNAL
    if dataset.chunks is not None and math.prod(_grid(dataset)) > CHUNKS_MAX:
        return f"it has {math.prod(_grid(dataset)):,} chunks: too many for a table of them"
    if plist.get_nfilters() and not hdf5_filters.codecs_of(plist):
        codes = [plist.get_filter(i) for i in range(plist.get_nfilters())]
        names = ["gzip" if code == h5py.h5z.FILTER_DEFLATE else name.decode() for code, _, _, name in codes]
        verb = "compressed" if any(code != h5py.h5z.FILTER_FLETCHER32 for code, *_ in codes) else "filtered"
        return f"chunks are {verb} ({', '.join(names)})"
    try:
        same = h5py.h5t.py_create(dataset.dtype, logical=True) == dataset.id.get_type()
    except TypeError:
        same = False
    if not same:
        return "elements are stored in a way that NumPy has no dtype for; HDF5 converts them"
    if dataset.chunks is not None and dataset.file.userblock_size and h5py.version.hdf5_version_tuple < (1, 14, 5):
        # https://github.com/HDFGroup/hdf5/issues/3003
        return "this version of HDF5 misreports where chunks are in a file with a user block"
    if dataset.chunks is not None and _turns_chunks_round(h5py, dataset):
        return "HDF5 misreports where chunks are that grow along another dimension than the first"
    return None


def _turns_chunks_round(h5py: Any, dataset: Any) -> bool:
    """Return whether HDF5 may tell of a chunk's place in the order of its own index: the dimension that grows first.

    Its extensible arrays, which only new headers have, are the index where one dimension grows. As of HDF5 2.0.
    """
    grows = [n is None for n in dataset.maxshape]
    has_new_header = h5py.h5o.get_info(dataset.id).hdr.version > 1
    return sum(grows) == 1 and not grows[0] and has_new_header


def _chunk_table(dataset: Any) -> ChunkTable:
    """Return where each chunk of the grid is, in the grid's shape."""
    chunks, grid = dataset.chunks, _grid(dataset)
    table = ChunkTable(np.full(grid, -1, np.int64), np.zeros(grid, np.int64), np.zeros(grid, np.uint32))

    def record(info: Any) -> None:
        place = tuple(at // c for at, c in zip(info.chunk_offset, chunks, strict=True))
        if any(i >= n for i, n in zip(place, grid, strict=True)) or not 0 <= info.byte_offset < OFFSET_LIMIT:
            raise FormatError(
                f"{_name_in_file(dataset)}: the file places a chunk of element {info.chunk_offset} at byte "
                f"{info.byte_offset}, but the array has shape {dataset.shape} and chunks of {chunks}"
            )
        table.offsets[place] = info.byte_offset
        table.nbytes[place] = info.size
        table.skipped[place] = info.filter_mask

    dataset.id.chunk_iter(record)
    return table


def _fill(dataset: Any, dtype: np.dtype[Any]) -> bytes:
    """Return what HDF5 reads where nothing is stored: the fill value, or zeros where it is told never to fill."""
    h5py = _h5py()
    plist = dataset.id.get_create_plist()
    defined = plist.fill_value_defined() != h5py.h5d.FILL_VALUE_UNDEFINED
    if plist.get_fill_time() == h5py.h5d.FILL_TIME_NEVER or not defined:
        return bytes(dtype.itemsize)
    return np.array(dataset.fillvalue, dtype).tobytes()


def _attributes(holder: Any) -> dict[str, Any]:
    """Return the attributes as plain values, without housekeeping, references, and what h5py cannot read."""
    h5py = _h5py()
    found: dict[str, Any] = {}
    for name in holder.attrs:
        if name in _HOUSEKEEPING:
            continue
        value = _attribute(holder, name)
        value = None if isinstance(value, h5py.Empty) else plain(value)
        if is_plain(value):
            found[name] = value
    return found


def _attribute(holder: Any, name: str) -> Any:
    """Return one attribute; an object, which is no value, where there is none or h5py cannot read it."""
    try:
        return holder.attrs[name]
    except Exception:  # noqa: BLE001  h5py has many
        return object()


def _summaries(file: Any) -> list[Summary]:
    h5py = _h5py()
    datasets: list[Any] = []

    def collect(_: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            name = _attribute(item, "NAME")
            if not (isinstance(name, bytes) and name.startswith(_DIMENSION_ONLY)):
                datasets.append(item)

    file.visititems(collect)
    attributes = [_attributes(d) for d in datasets]
    named = describes_others(attributes)
    return [_summary(d, a, named) for d, a in zip(datasets, attributes, strict=True)]


def _summary(dataset: Any, attributes: dict[str, Any], named: set[str]) -> Summary:
    name = dataset.name.strip("/")
    coordinate = _is_scale(dataset) or name.rpartition("/")[2] in named
    try:
        dtype = _dtype(dataset.file.filename, dataset)
    except UnsupportedError as error:
        why = str(error).rpartition(f":{name}: ")[2]
        return Summary(name, dataset.shape or (), "?", (), f"unsupported: {why}", attributes, True)
    coordinate = coordinate or dtype.kind not in "biufc"
    return Summary(name, dataset.shape, str(dtype), _dimensions(dataset), _words(dataset), attributes, coordinate)


def _is_scale(dataset: Any) -> bool:
    """Whether it is a dimension scale. By its attribute: HDF5's calls for scales crash or hang where one is damaged."""
    return _attribute(dataset, "CLASS") in (b"DIMENSION_SCALE", "DIMENSION_SCALE")


def _dimensions(dataset: Any) -> tuple[str, ...]:
    if _is_scale(dataset) and dataset.ndim == 1:
        return (dataset.name.rpartition("/")[2],)
    labels, scales = _attribute(dataset, "DIMENSION_LABELS"), _attribute(dataset, "DIMENSION_LIST")
    names = [""] * dataset.ndim
    if isinstance(labels, np.ndarray) and labels.shape == (dataset.ndim,):
        names = [text(label) if isinstance(label, bytes) else str(label) for label in labels]
    if isinstance(scales, np.ndarray) and scales.shape == (dataset.ndim,):
        names = [_name_of_scale(dataset, of_one) or name for of_one, name in zip(scales, names, strict=True)]
    return tuple(names) if any(names) else ()


def _name_of_scale(dataset: Any, references: Any) -> str:
    """Return the name of the first scale of a dimension; empty where it has none, or it is gone."""
    try:
        return str(dataset.file[references[0]].name).rpartition("/")[2]
    except Exception:  # noqa: BLE001  h5py has many
        return ""


def _words(dataset: Any) -> str:
    h5py = _h5py()
    reason = _library_reason(h5py, dataset, dataset.id.get_create_plist())
    if reason is not None:
        return f"through the HDF5 library: {reason}"
    if dataset.chunks is not None:
        grid = math.prod(_grid(dataset))
        edges = " by ".join(map(str, dataset.chunks))
        coded = "".join(f", {codec.name}" for codec in hdf5_filters.codecs_of(dataset.id.get_create_plist()))
        return f"chunks of {edges}{coded}, {dataset.id.get_num_chunks()} of {grid} stored"
    offset = dataset.id.get_offset()
    return "C order, not stored yet" if offset is None else f"C order from byte {offset}"


def _forward(
    index: tuple[slice | int, ...], description: Description
) -> tuple[tuple[slice | int, ...], tuple[Any, ...], tuple[int, ...]]:
    """Return `index` for h5py, which steps forward only; the slices that turn its result round; the selection's shape.

    Length 10 and [8:2:-3], which is 8, 5: h5py reads 5, 8 by [5:9:3], and [::-1] turns it round.
    """
    if len(index) != len(description.shape):
        raise ArgumentError(f"{description.name}: {len(index)} indices for {len(description.shape)} dimensions")
    forward: list[slice | int] = []
    flips: list[Any] = [...]  # which keeps an array of 0 dimensions an array
    shape: list[int] = []
    for i, (item, length) in enumerate(zip(index, description.shape, strict=True)):
        if not isinstance(item, slice):
            at = operator.index(item)
            if not -length <= at < length:
                raise ArgumentError(f"{description.name}: index {at} of dimension {i} is outside its length {length}")
            forward.append(at % length)
            continue
        places = range(*item.indices(length))
        flips.append(slice(None, None, -1 if places.step < 0 else None))
        places = places[::-1] if places.step < 0 else places
        forward.append(slice(places[0], places[-1] + 1, places.step) if len(places) else slice(0, 0))
        shape.append(len(places))
    return tuple(forward), tuple(flips), tuple(shape)
