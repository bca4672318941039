"""The description of an array in a file, in the terms that all formats share."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from swath.errors import ArgumentError, FormatError, UnsupportedError

Order: TypeAlias = "str | Sequence[int]"
"""The order of elements in a file: "C", "F", or the dimensions from slowest to fastest, e.g. (2, 0, 1)."""

OFFSET_LIMIT = 2**63
"""File offsets and byte strides are signed 64-bit numbers in the core and in the system's calls."""

DIMENSIONS_MAX = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32
"""Of an array in memory."""


@dataclass(frozen=True)
class StridedLayout:
    """Element (i, j, …) lies at byte `offset + i * strides[0] + j * strides[1] + …` of the file."""

    offset: int
    strides: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ChunkedLayout:
    """C-ordered chunks of `chunk_shape` elements, each one contiguous range; a chunk at the edge is stored whole.

    `offsets` (int64, one for every chunk of the grid) has the begin of each chunk; -1 means that it is not allocated,
    and its elements read as the fill value. Worked example: shape (5, 7) in chunks of (2, 3) has offsets of shape (3,
    3), and element (4, 6) is element (0, 0) of chunk (2, 2).
    """

    chunk_shape: tuple[int, ...]
    offsets: npt.NDArray[np.int64]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ChunkedLayout)
            and self.chunk_shape == other.chunk_shape
            and np.array_equal(self.offsets, other.offsets)
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class TiledLayout:
    """Like ChunkedLayout, but all chunks follow each other from byte `offset` on, in C order of their grid."""

    offset: int
    chunk_shape: tuple[int, ...]


@dataclass(frozen=True)
class Codec:
    """One step of the encoding: a codec of core/chunks/codec.h by its name, and its settings there."""

    name: str
    settings: tuple[tuple[str, int | str], ...] = ()


@dataclass(frozen=True, eq=False)
class ChunkTable:
    """All chunks are in one file; there is one entry per chunk of the grid, in C order.

    Attributes:
        offsets: int64, the begin of each in the file; -1 if it is not stored.
        nbytes: int64, as stored.
        skipped: uint32, bit i set if codec i was skipped for this chunk (HDF5's filter mask).
    """

    offsets: npt.NDArray[np.int64]
    nbytes: npt.NDArray[np.int64]
    skipped: npt.NDArray[np.uint32]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ChunkTable)
            and np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.nbytes, other.nbytes)
            and np.array_equal(self.skipped, other.skipped)
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class ChunkFiles:
    """One file per chunk in one folder: `first`, then its coordinates joined by `separator`; c/0/1 or 0.1.

    `scalar` is the name of the only chunk of an array of no dimensions.
    """

    first: str
    separator: str
    scalar: str


@dataclass(frozen=True)
class Shards:
    """One file per shard: a box of `shape` elements; an index has the positions of its chunks."""

    files: ChunkFiles
    shape: tuple[int, ...]
    index_codecs: tuple[Codec, ...]
    index_at_end: bool


@dataclass(frozen=True)
class CodedLayout:
    """Chunks that are coded, or whose positions only a read finds; core/chunks reads and writes them.

    Attributes:
        path: the file with the table, or the folder with the files.
        chunk_shape: in elements; a chunk at the edge is stored whole.
        order: its dimensions from slowest to fastest, inside a decoded chunk.
        codecs: of its bytes, in the order of encoding.
        places: the positions of the stored chunks.
    """

    path: str
    chunk_shape: tuple[int, ...]
    order: tuple[int, ...]
    codecs: tuple[Codec, ...]
    places: ChunkTable | ChunkFiles | Shards

    def __str__(self) -> str:
        return self.text(int((self.places.offsets >= 0).sum()) if isinstance(self.places, ChunkTable) else None)

    def text(self, stored: int | None) -> str:
        """Return it as text for people; `stored`: the number of stored chunks in the table, None for other places."""
        by = " by ".join(map(str, self.chunk_shape)) or "one element"
        words = f"chunks of {by}"
        if self.order != tuple(range(len(self.order))):
            words += f" in order {self.order}"
        words += ", " + (", ".join(codec.name for codec in self.codecs) or "not compressed")
        if isinstance(self.places, Shards):
            words += f", in shards of {' by '.join(map(str, self.places.shape))}"
        if isinstance(self.places, ChunkTable):
            words += f", {stored} of {self.places.offsets.size} stored"
        return words


@dataclass(frozen=True)
class LibraryLayout:
    """Bytes that only the format's own library can read; `reason` says why, e.g. "chunks are compressed (gzip)".

    `chunk_shape`: the elements that the library reads at once; None if it does not matter.
    `codecs`: of a chunk; None if Swath does not know all of them.
    """

    reason: str
    chunk_shape: tuple[int, ...] | None = None
    codecs: tuple[Codec, ...] | None = ()


Layout: TypeAlias = StridedLayout | ChunkedLayout | TiledLayout | CodedLayout | LibraryLayout


@dataclass(frozen=True)
class Description:
    """The description of one array in a file, which rank 0 sends to the other ranks (it can be pickled).

    Attributes:
        path: the file, or the folder of a Zarr store.
        format: "raw", "npy", "netcdf-classic", "hdf5" (netCDF-4, too) or "zarr".
        variable: its name in the file, "group/name" in a group; None if the format has one array.
        shape: in elements.
        dtype: as stored, byte order included.
        layout: the byte of each element.
        fill: `dtype.itemsize` bytes, the value of elements that were never stored.
        attributes: names to values, see swath.formats.contents.
        end: the length that the file must have for the layout's bytes; 0 if nothing is stored.
        dimensions: their names, without groups; () if the file has no names.
        unlimited: for each dimension whether it may grow; () for none of them.
        stored_shape: the shape that has space in the file, if it is less than `shape`: a netCDF-4 array is as long as
            its dimensions, and elements that were not written read as the fill value. () if all elements have space.
        other_attributes: descriptions of those whose types `attributes` do not hold.
    """

    path: str
    format: str
    variable: str | None
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    layout: Layout
    fill: bytes
    attributes: dict[str, Any] = field(default_factory=dict, compare=False)
    end: int = 0
    dimensions: tuple[str, ...] = ()
    unlimited: tuple[bool, ...] = ()
    stored_shape: tuple[int, ...] = ()
    other_attributes: dict[str, str] = field(default_factory=dict, compare=False)

    @property
    def name(self) -> str:
        """The name of the array in messages: its path, a colon, and its variable."""
        return self.path if self.variable is None else f"{self.path}:{self.variable}"


class Seen(Protocol):
    """The known facts about an array that is described again: a Description, or a Variable of the contents."""

    @property
    def shape(self) -> tuple[int, ...]:
        """In elements."""

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Their names."""


@dataclass(frozen=True)
class Enumeration:
    """A type of netCDF-4 and HDF5 whose numbers have names.

    Attributes:
        name: of the type; "" if it has no name.
        members: the numbers by their names.
    """

    name: str
    members: dict[str, int]


@dataclass(frozen=True)
class CreationOptions:
    """The caller's options for a new array, arguments of `swath.create` and `File.create`, not checked yet.

    `new_array` makes a `NewArray` of them.
    """

    order: Order = "C"
    fill: Any = None
    variable: str | None = None
    dimensions: Sequence[str] | None = None
    attributes: Mapping[str, Any] | None = None
    chunks: Any = None
    shards: Any = None
    codecs: Any = None


@dataclass(frozen=True)
class NewArray:
    """The checked arguments of `create`; `order` is a permutation, slowest dimension first."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    order: tuple[int, ...]
    fill: npt.NDArray[Any] | None
    variable: str | None
    dimensions: tuple[str, ...] | None
    attributes: Mapping[str, Any]
    flavour: str | None
    """The text after the colon of a format, e.g. "cdf5" of "netcdf-classic:cdf5"."""
    chunks: tuple[int, ...] | None = None
    """Elements of a chunk along each dimension; None for one contiguous array."""
    shards: tuple[int, ...] | None = None
    codecs: Any = None
    only_registered_codecs: bool = True
    """For Zarr 3: codecs of the core that are not registered are replaced by registered ones."""
    unlimited: tuple[bool, ...] = ()
    """For each dimension whether it may grow, from length 0; () if none may."""
    marks_fill: bool = True
    """Whether `fill` also marks missing data: the attribute _FillValue."""
    stated_fill: Any = None
    """The attribute _FillValue if it is no value of the dtype: stored as it is, in its own type. None for none."""
    enumeration: Enumeration | None = None
    """The names of the numbers."""
    maxshape: tuple[int | None, ...] = ()
    """For chunked HDF5: the largest length of each dimension, None for unlimited; () for as `unlimited` says."""

    @property
    def may_grow(self) -> bool:
        """Whether any dimension may become longer."""
        return any(self.unlimited) or bool(self.maxshape)

    @property
    def name(self) -> str:
        """The variable's name, by default "data"."""
        return "data" if self.variable is None else self.variable

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return math.prod(self.shape) * self.dtype.itemsize


def checked_shape(shape: Any) -> tuple[int, ...]:
    """Return `shape` (an int or a sequence of them) as a tuple of non-negative ints; else raise ArgumentError."""
    try:
        items = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
        lengths = tuple(operator.index(n) for n in items)
    except TypeError:
        raise ArgumentError(f"shape must be one or more integers, not {shape!r}") from None
    if any(n < 0 for n in lengths):
        raise ArgumentError(f"shape {lengths} has a negative length")
    if any(n >= OFFSET_LIMIT for n in lengths):
        raise ArgumentError(f"shape {lengths} has a length beyond 64-bit offsets")
    if len(lengths) > DIMENSIONS_MAX:
        raise ArgumentError(f"a shape of {len(lengths)} dimensions: NumPy has arrays of at most {DIMENSIONS_MAX}")
    return lengths


def checked_dtype(dtype: Any) -> np.dtype[Any]:
    """Return `dtype` as a NumPy dtype whose elements are plain bytes; else ArgumentError."""
    try:
        checked: np.dtype[Any] = np.dtype(dtype)
    except Exception as error:  # noqa: BLE001  NumPy lets many kinds escape from its parser
        raise ArgumentError(f"not a NumPy dtype: {dtype!r} ({error})") from None
    if checked.hasobject or checked.itemsize == 0 or checked.subdtype is not None or checked.names == ():
        raise ArgumentError(
            f"dtype {checked} has no fixed number of bytes for an element; expected numbers, bool, "
            "fixed-length strings such as 'S8', or a structure of these"
        )
    return checked


def differs_in_byte_order_only(a: np.dtype[Any], b: np.dtype[Any]) -> bool:
    """Return whether a swap of each number's bytes, also in every field, converts elements of `a` to those of `b`.

    Fields must have the same offsets, including padding, and must not share bytes: these would be swapped twice.
    """
    return a != b and a == b.newbyteorder() and not _fields_overlap(a)


def _fields_overlap(dtype: np.dtype[Any]) -> bool:
    if dtype.subdtype is not None:
        return _fields_overlap(dtype.base)
    end = 0
    fields = [dtype.fields[name] for name in dtype.names or () if dtype.fields is not None]
    for of_field, offset, *_ in sorted(fields, key=lambda f: f[1]):
        if offset < end or _fields_overlap(of_field):
            return True
        end = offset + of_field.itemsize
    return False


def without_metadata(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype without metadata of others (h5py): NumPy puts it into `dtype.descr`."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return np.dtype((without_metadata(base), shape))
    if dtype.names is None:
        return np.dtype(dtype.str)
    assert dtype.fields is not None
    fields: list[tuple[Any, ...]] = [dtype.fields[name] for name in dtype.names]
    structure = {
        "names": dtype.names,
        "formats": [without_metadata(field[0]) for field in fields],
        "offsets": [field[1] for field in fields],
        "titles": [field[2] if len(field) > 2 else None for field in fields],
        "itemsize": dtype.itemsize,
    }
    return np.dtype(structure, align=dtype.isalignedstruct)  # type: ignore[call-overload, no-any-return]


def fields_in_order(dtype: np.dtype[Any], format_name: str) -> list[Any]:
    """Return NumPy's list of a structure's fields, padding as fields ("", "|V4"); ArgumentError if there is none."""
    try:
        return list(without_metadata(dtype).descr)
    except ValueError:
        raise ArgumentError(
            f"{format_name} stores the fields of a structure one behind the other; those of {dtype} overlap, or lie "
            "in another order than they are named in: choose another dtype, or create a raw file"
        ) from None


def checked_order(order: Order | None, ndim: int) -> tuple[int, ...]:
    """Return `order` as the dimensions from slowest to fastest; None is "C". Else raise ArgumentError."""
    if order is None or order == "C":
        return tuple(range(ndim))
    if order == "F":
        return tuple(reversed(range(ndim)))
    try:
        permutation = tuple(operator.index(d) for d in order)  # type: ignore[arg-type]
    except TypeError:
        permutation = (-1,)
    if sorted(permutation) != list(range(ndim)):
        raise ArgumentError(
            f'order must be "C", "F", or the {ndim} dimensions 0 to {ndim - 1} from slowest to fastest, not {order!r}'
        )
    return permutation


def strides_of(shape: Sequence[int], itemsize: int, order: Sequence[int]) -> tuple[int, ...]:
    """Return byte strides of a dense array whose dimensions vary in `order`, slowest first.

    Shape (2, 3, 4) of 8 bytes in order (2, 0, 1): dimension 1 is fastest, so the strides are (24, 8, 48).
    """
    strides = [0] * len(shape)
    step = itemsize
    for dimension in reversed(order):
        strides[dimension] = step
        step *= max(shape[dimension], 1)
    if step >= OFFSET_LIMIT:
        raise ArgumentError(f"an array of shape {tuple(shape)} and {itemsize}-byte elements is beyond 64-bit offsets")
    return tuple(strides)


def stored_strides(name: str, shape: Sequence[int], itemsize: int, order: Sequence[int]) -> tuple[int, ...]:
    """Return `strides_of` for an array in a file: FormatError if no file can hold it."""
    try:
        return strides_of(shape, itemsize, order)
    except ArgumentError as error:
        raise FormatError(f"{name}: the header cannot be true: {error}") from None


def checked_fill(fill: Any, dtype: np.dtype[Any]) -> npt.NDArray[Any] | None:
    """Return `fill` as a 0-d array of `dtype`, None for none; ArgumentError when the dtype cannot hold it."""
    if fill is None:
        return None
    try:
        with np.errstate(all="ignore"):
            value = np.array(fill, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"fill {fill!r} is not a value of dtype {dtype} ({error})") from None
    if value.shape != ():
        raise ArgumentError(f"fill must be one value, not an array of shape {value.shape}")
    given = np.asarray(fill)
    if dtype.kind in "SU" and given.dtype.kind in "SU":
        is_kept = bool(value == given.astype(dtype.kind))
    else:
        is_kept = dtype.kind not in "iu" or given.dtype.kind not in "biuf" or bool(value == given)
        is_kept = is_kept and not is_beyond(value, given)
    if not is_kept:
        raise ArgumentError(f"fill {fill!r} is not a value of dtype {dtype}, which would make {value[()]!r} of it")
    return value


def is_beyond(value: Any, given: Any) -> bool:
    """Return whether the number `given` became infinite as an element, `value`.

    >>> is_beyond(np.float32(np.inf), 1e300), is_beyond(np.float32(np.inf), np.inf)
    (True, False)
    """
    if np.asarray(value).dtype.kind not in "fc" or not np.isinf(value).any():
        return False
    try:
        wide = np.asarray(given).astype(np.clongdouble)
    except (TypeError, ValueError, OverflowError):
        return False
    became = np.asarray(value)
    return bool(
        np.any(np.isinf(became.real) > np.isinf(wide.real)) or np.any(np.isinf(became.imag) > np.isinf(wide.imag))
    )


def checked_dimensions(dimensions: Any, lengths: tuple[int, ...]) -> tuple[str, ...] | None:
    """Return the names of dimensions, None for none; ArgumentError unless there is a different name for each length."""
    if dimensions is None:
        return None
    names = tuple(dimensions) if isinstance(dimensions, Iterable) and not isinstance(dimensions, str | bytes) else ()
    if isinstance(dimensions, str | bytes) or not all(isinstance(name, str) and _is_unicode(name) for name in names):
        raise ArgumentError(f"dimensions must be a list of names, one for each length of {lengths}, not {dimensions!r}")
    if len(names) != len(lengths) or len(set(names)) != len(names):
        raise ArgumentError(f"dimensions {dimensions!r} must be different names, one for each length of {lengths}")
    return names


def _is_unicode(name: str) -> bool:
    """Return whether the name has no halves of surrogate pairs, which no format's UTF-8 allows."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def checked_chunks(chunks: Any, shape: tuple[int, ...], unlimited: tuple[bool, ...] = ()) -> tuple[int, ...] | None:
    """Return `chunks` as a tuple of positive ints, one per dimension, none too long; else raise ArgumentError.

    Along a growing dimension, a chunk may have any length.
    """
    if chunks is None:
        return None
    lengths = checked_shape(chunks)
    if len(lengths) != len(shape) or not shape or 0 in lengths:
        raise ArgumentError(f"chunks {chunks!r}: expected a positive number of elements for each dimension of {shape}")
    grows = unlimited or (False,) * len(shape)
    return tuple(c if u else min(c, max(n, 1)) for c, n, u in zip(lengths, shape, grows, strict=True))


def refuse_chunks(new: NewArray, format_name: str) -> None:
    """Raise ArgumentError if `new` has chunks, or options that only chunks have."""
    if new.chunks is not None:
        raise ArgumentError(
            f"a {format_name} file stores no chunks; leave out chunks={new.chunks}, or create .nc4, .h5 or .zarr"
        )
    refuse_codecs(new, format_name)


def refuse_codecs(new: NewArray, format_name: str) -> None:
    """Raise ArgumentError if `new` has shards or codecs, which the format lacks."""
    for argument, given, there in (("shards", new.shards, ""), ("codecs", new.codecs, ".nc4, .h5 or ")):
        if given is not None:
            raise ArgumentError(f"{argument}=: Swath creates none in {format_name} files; create {there}a .zarr store")


def refuse_names(new: NewArray, format_name: str) -> None:
    """Raise ArgumentError if `new` has names or attributes, which raw and .npy files cannot store."""
    for argument, given in (("variable", new.variable), ("dimensions", new.dimensions), ("attributes", new.attributes)):
        if given:
            raise ArgumentError(f"a {format_name} file stores no {argument}; leave it out, or create .nc or .h5")


def plain(value: Any) -> Any:
    """Return an attribute's value as plain Python: text for bytes, a number for one element, a list for more."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.item() if value.size == 1 else value.tolist()
    if isinstance(value, bytes):
        return text(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def is_plain(value: Any) -> bool:
    """Return whether `value` is text, numbers, None, or lists of these, which can be sent to every process."""
    if isinstance(value, list):
        return all(map(is_plain, value))
    return value is None or isinstance(value, str | bool | int | float | complex)


def text(raw: bytes) -> str:
    """Return the text of an attribute: UTF-8, or Latin-1 in old files; without the zero byte at its end."""
    raw = raw.rstrip(b"\0")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def refuse_objects(dtype: np.dtype[Any], name: str) -> None:
    """Raise UnsupportedError if elements are not plain bytes."""
    if dtype.hasobject or dtype.itemsize == 0 or dtype.subdtype is not None:
        raise UnsupportedError(
            f"{name}: elements of dtype {dtype} are not a fixed number of bytes (variable-length, object, reference "
            "or array elements); read it with the format's own library"
        )
