"""What a copy is asked to make: checked arguments, and the target that they describe, before anything is written."""

from __future__ import annotations

import dataclasses
import json
import numbers
import operator
import os
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from swath import formats
from swath.copying.sides import Side
from swath.copying.store import available_bytes
from swath.errors import ArgumentError
from swath.formats import Description, StridedLayout, differs_in_byte_order_only
from swath.formats.description import Order, checked_dtype, checked_order
from swath.formats.files import checked_path

MIB = 1 << 20
DEFAULT_MEMORY_MAX = 1 << 30
DEFAULT_MEMORY_MIN = 64 * MIB
DEFAULT_MEMORY_PART = 4
CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")
NAMELESS = ("raw", "npy")
UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}


@dataclasses.dataclass(frozen=True)
class CopyRequest:
    """One copy, checked.

    Attributes:
        source: the array that is copied.
        target_path: as it was given.
        axes: dimension d of the target is dimension `axes[d]` of the source.
        shape: of the target.
        dtype: of the target; a format may store it in another byte order.
        order: of the target, the dimensions from slowest to fastest.
        chunks: of the target; None for none.
        shards: of the target; None for none.
        codecs: of the target, as `swath.create` takes them.
        format: of the target.
        variable, dimensions, attributes, fill: of the target where its format has such.
        converts: whether elements get another dtype, and not only another byte order.
    """

    source: Description
    target_path: str
    axes: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    order: tuple[int, ...]
    chunks: tuple[int, ...] | None
    shards: tuple[int, ...] | None
    codecs: Any
    format: str
    variable: str | None
    dimensions: tuple[str, ...] | None
    attributes: dict[str, Any]
    fill: Any
    converts: bool

    @property
    def source_side(self) -> Side:
        """The source, in the dimensions of the target."""
        return Side.of(self.source).permuted(self.axes)

    @property
    def target_side(self) -> Side:
        """The target, as the format will lay it out."""
        itemsize = self.dtype.itemsize
        if self.chunks is None:
            return Side.ordered(self.shape, itemsize, self.order)
        if not self.is_folder:
            return Side.chunked(self.shape, itemsize, self.chunks)
        unit = self.shards or self.chunks
        return Side.coded(self.shape, itemsize, self.chunks, self.order, unit=unit, is_compressed=self.is_compressed)

    @property
    def is_folder(self) -> bool:
        """Whether the target is a folder of files."""
        return formats.is_folder(self.format)

    @property
    def is_compressed(self) -> bool:
        """Whether the target takes less room than its elements, nobody knows how much."""
        return self.is_folder and (self.codecs is None or len(self.codecs) > 0)

    @property
    def title(self) -> str:
        """For people: what goes where."""
        return f"copy {self.source.name} to {self.target_path}"

    def asked(self) -> dict[str, Any]:
        """Return it as plain data: what must be the same for a copy to be the same."""
        return {
            "source": os.path.abspath(self.source.path),
            "source variable": self.source.variable,
            "source dtype": str(self.source.dtype),
            "axes": list(self.axes),
            "shape": list(self.shape),
            "dtype": str(self.dtype),
            "order": list(self.order),
            "chunks": None if self.chunks is None else list(self.chunks),
            "shards": None if self.shards is None else list(self.shards),
            "codecs": json.loads(json.dumps(self.codecs)),  # as the journal will tell it
            "format": self.format,
            "variable": self.variable,
        }

    def create(self, path: str) -> Description:
        """Return the target's file, all holes, or its folder without chunks."""
        return formats.create(
            path,
            self.shape,
            self.dtype,
            format=self.format,
            order=self.order,
            fill=self.fill,
            variable=self.variable,
            dimensions=self.dimensions,
            attributes=self.attributes,
            chunks=self.chunks,
            shards=self.shards,
            codecs=self.codecs,
        )

    def describe(self, path: str) -> Description:
        """Return the target's file that is already there. Raises FormatError where it is not what `create` made."""
        if self.format == "raw":
            found = formats.describe(path, shape=self.shape, dtype=self.dtype, order=self.order, format="raw")
        else:
            found = formats.describe(path, self.variable, format=self.format.partition(":")[0])
        if found.shape != self.shape or not _same_but_for_byte_order(found.dtype, self.dtype):
            raise ArgumentError(f"{path}: holds {found.dtype} {found.shape}, not {self.dtype} {self.shape}")
        return found


@dataclasses.dataclass(frozen=True)
class TargetOptions:
    """What the target of a copy is to be like, not checked: see `swath.copy`."""

    axes: Sequence[int] | None = None
    order: Order | None = None
    chunks: Sequence[int] | None = None
    shards: Sequence[int] | None = None
    codecs: Any = None
    dtype: npt.DTypeLike | None = None
    casting: str = "same_kind"
    format: str | None = None
    target_variable: str | None = None


def make_request(source: Description, target: Any, options: TargetOptions) -> CopyRequest:
    """Check what `swath.copy` was asked for. Raises ArgumentError."""
    kind = formats.format_for(target, options.format)
    turned = checked_axes(options.axes, len(source.shape))
    shape = tuple(source.shape[a] for a in turned)
    wanted = source.dtype if options.dtype is None else checked_dtype(options.dtype)
    _check_casting(source.dtype, wanted, options.casting)
    attributes, fill = _attributes(source, wanted, kind)
    named = kind not in NAMELESS
    chunks, shards, order = options.chunks, options.shards, options.order
    if chunks is None and shards is None and formats.is_folder(kind):
        chunks = _chunks_of(source, turned)
    formats.check_codecs(kind, options.codecs, wanted.itemsize)
    if options.codecs is not None and not formats.is_folder(kind):
        raise ArgumentError(
            f"codecs=: swath copy compresses .zarr targets only, not {target}; swath.create(..., codecs=) makes "
            "compressed HDF5 files, which write() fills"
        )
    chunk, shard = formats.new_chunks(kind, shape, wanted, chunks, shards)
    return CopyRequest(
        source=source,
        target_path=checked_path(target),
        axes=turned,
        shape=shape,
        dtype=wanted,
        order=_order_of(source, kind) if order is None and options.axes is None else checked_order(order, len(shape)),
        chunks=chunk,
        shards=shard,
        codecs=options.codecs,
        format=kind,
        variable=options.target_variable or (_last(source.variable) if named else None),
        dimensions=_dimensions(source, turned) if named else None,
        attributes=attributes,
        fill=fill,
        converts=not _same_but_for_byte_order(source.dtype, wanted),
    )


def memory_bytes(memory: int | str | None) -> int:
    """Return the budget: bytes, text such as "256MiB", or None for a quarter of the available memory, at most 1 GiB.

    Raises ArgumentError.
    """
    if memory is None:
        available = available_bytes()
        quarter = DEFAULT_MEMORY_MAX if available is None else available // DEFAULT_MEMORY_PART
        return max(min(quarter, DEFAULT_MEMORY_MAX), DEFAULT_MEMORY_MIN)
    found = re.fullmatch(r"(\d+)\s*(?:([kmgt])i?b?|b)?", str(memory).strip(), re.IGNORECASE)
    if isinstance(memory, bool) or found is None or int(found[1]) == 0:
        raise ArgumentError(f'memory {memory!r}: expected a number of bytes, or text such as "256MiB"')
    return int(found[1]) << UNITS[(found[2] or "").lower()]


def checked_axes(axes: Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Return each of the source's dimensions once; None leaves them as they are. Raises ArgumentError."""
    if axes is None:
        return tuple(range(ndim))
    try:
        turned = tuple(operator.index(a) for a in axes)
    except TypeError:
        turned = (-1,)
    if sorted(turned) != list(range(ndim)):
        raise ArgumentError(f"axes {axes!r}: expected each of the source's {ndim} dimensions 0 to {ndim - 1} once")
    return turned


def _check_casting(source: np.dtype[Any], target: np.dtype[Any], casting: str) -> None:
    if casting not in CASTINGS:
        raise ArgumentError(f"casting {casting!r}: expected one of {', '.join(CASTINGS)}")
    if not np.can_cast(source, target, casting):  # type: ignore[arg-type]
        raise ArgumentError(
            f"dtype {source} cannot become {target} by the rule {casting!r}: values would be lost; "
            'casting="unsafe" (--cast unsafe) does it all the same, as NumPy does'
        )


def _same_but_for_byte_order(a: np.dtype[Any], b: np.dtype[Any]) -> bool:
    return a == b or differs_in_byte_order_only(a, b)


def _order_of(source: Description, kind: str) -> tuple[int, ...]:
    """Return the source's, where the format can store it; else C order."""
    ordered = tuple(range(len(source.shape)))
    if not isinstance(source.layout, StridedLayout) or kind not in NAMELESS:
        return ordered
    order = Side.of(source).order
    return order if kind == "raw" or order == ordered[::-1] else ordered


def _chunks_of(source: Description, axes: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return those of the source, in the dimensions of the target; None where it has none."""
    chunk = Side.of(source).permuted(axes).chunk
    return None if chunk is None or 0 in chunk else chunk


def _last(name: str | None) -> str | None:
    return None if name is None else name.rpartition("/")[2]


def _attributes(source: Description, dtype: np.dtype[Any], kind: str) -> tuple[dict[str, Any], Any]:
    """Return the source's attributes that any format can store, and its fill value."""
    if kind in NAMELESS:
        return {}, None
    kept = {name: value for name, value in source.attributes.items() if _can_be_stored(value)}
    fill = kept.pop("_FillValue", None)
    if fill is None and any(source.fill) and source.format in ("hdf5", "zarr"):
        fill = np.frombuffer(source.fill, source.dtype)[0]
    if fill is not None:
        try:
            with np.errstate(all="ignore"):
                fill = np.array(fill).astype(dtype)[()]
        except (TypeError, ValueError, OverflowError):
            fill = None
        if kind == "hdf5" and fill is not None:  # where netCDF-4 looks for it
            kept["_FillValue"] = fill
    return kept, fill


def _can_be_stored(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.size > 0 and value.dtype.kind in "iuf"
    if isinstance(value, list):
        return len(value) > 0 and all(isinstance(v, numbers.Real) for v in value)
    return isinstance(value, (str, numbers.Real)) and not isinstance(value, bool)


def _dimensions(source: Description, axes: tuple[int, ...]) -> tuple[str, ...] | None:
    """Return the names of the dimensions, where the source has different ones."""
    if source.format in NAMELESS:
        return None
    names = source.dimensions
    if len(names) != len(axes) or not names or len(set(names)) != len(names) or "" in names:
        return None
    return tuple(names[a] for a in axes)
