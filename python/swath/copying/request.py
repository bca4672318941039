"""The request of a copy: checked arguments, and the target that they describe, before anything is written."""

from __future__ import annotations

import dataclasses
import json
import operator
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from swath import formats
from swath.copying.characters import text_of_characters
from swath.copying.converted import attributes_as
from swath.copying.copy_layout import Side
from swath.copying.existing import Base
from swath.copying.fills import FILL, fill_for, lost_fill, stated_fill
from swath.copying.text_parts import TextPart
from swath.errors import ArgumentError, UnsupportedError
from swath.formats import (
    Description,
    NewArray,
    NewFile,
    StridedLayout,
    differs_in_byte_order_only,
)
from swath.formats.contents import Attributes, Group
from swath.formats.description import checked_dtype, checked_order
from swath.formats.files import checked_path
from swath.formats.hdf5.objects import Objects

CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")
NAMELESS = ("raw", "npy")
LAID_OUT = ("axes", "order", "chunks", "shards", "codecs")
"""The options for the layout of a target."""


@dataclasses.dataclass(frozen=True)
class Part:
    """One array of a copy, checked; the copy of a file has one for each variable.

    Attributes:
        source: the array that is copied.
        target_path: as the caller gave it.
        axes: dimension d of the target is dimension `axes[d]` of the source.
        format: of the target.
        new: the array of the target; a format may store it in another byte order.
        stored_as_characters: whether the target stores text as characters, along one more dimension than the source.
        converts: whether elements get another dtype, not only another byte order.
    """

    source: Description
    target_path: str
    axes: tuple[int, ...]
    format: str
    new: NewArray
    stored_as_characters: bool
    converts: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the copied elements, in the dimensions of the target."""
        return tuple(self.source.shape[a] for a in self.axes)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype in which the elements are written."""
        return self.source.dtype if self.stored_as_characters else self.new.dtype

    @property
    def order(self) -> tuple[int, ...]:
        """The order of the copied elements in the target."""
        return self.new.order[: len(self.shape)]

    @property
    def source_side(self) -> Side:
        """The source, in the dimensions of the target."""
        return Side.of(self.source).permuted(self.axes)

    @property
    def target_side(self) -> Side:
        """The target in the layout of the format."""
        itemsize = self.dtype.itemsize
        chunks = None if self.new.chunks is None else self.new.chunks[: len(self.shape)]
        if chunks is None:
            return Side.ordered(self.shape, itemsize, self.order)
        if self.is_folder:
            unit = self.new.shards or chunks
            return Side.coded(self.shape, itemsize, chunks, self.order, unit=unit, is_compressed=self.is_compressed)
        if self.is_compressed:
            coded = Side.coded(self.shape, itemsize, chunks, self.order, is_compressed=True)
            return dataclasses.replace(coded, has_table=True)
        return Side.chunked(self.shape, itemsize, chunks)

    @property
    def is_folder(self) -> bool:
        """Whether the target is a folder of files."""
        return formats.is_folder(self.format)

    @property
    def is_compressed(self) -> bool:
        """Whether the target takes less space than its elements, by an unknown amount."""
        if self.new.codecs is None:
            return self.is_folder
        return len(self.new.codecs) > 0

    @property
    def is_placed_by_library(self) -> bool:
        """Whether the format's library allocates what is written: then only one process may call it."""
        return self.is_compressed and not self.is_folder

    @property
    def title(self) -> str:
        """Source and target, for people."""
        return f"copy {self.source.name} to {self.target_path}"

    def asked(self) -> dict[str, Any]:
        """Return plain data that must be equal for two copies to be the same."""
        return {
            "source": os.path.abspath(self.source.path),
            "source variable": self.source.variable,
            "source dtype": str(self.source.dtype),
            **self._place_as_given(),
            "shape": list(self.new.shape),
            "dtype": str(self.new.dtype),
            **self.laid_out(),
            "format": self.format,
            "variable": self.new.variable,
        }

    def laid_out(self) -> dict[str, Any]:
        """Return the layout of the target as plain data, for the journal."""
        new = self.new
        return {
            "axes": list(self.axes),
            "order": list(new.order),
            "chunks": None if new.chunks is None else list(new.chunks),
            "shards": None if new.shards is None else list(new.shards),
            "codecs": json.loads(json.dumps(new.codecs)),
        }

    def _place_as_given(self) -> dict[str, Any]:
        """Return the position of a source whose file does not describe it: another offset would be another array."""
        layout = self.source.layout
        if self.source.format != "raw" or not isinstance(layout, StridedLayout):
            return {}
        return {"source offset": layout.offset, "source strides": list(layout.strides)}

    def describe(self, path: str) -> Description:
        """Return the description of the target in its file. Raises FormatError if it differs from the request."""
        new = self.new
        if self.format == "raw":
            found = formats.describe(path, shape=new.shape, dtype=new.dtype, order=new.order, format="raw")
        else:
            found = formats.describe(path, new.variable, format=self.format.partition(":")[0])
        return self.checked(found)

    def checked(self, found: Description) -> Description:
        """Return the target's description if it is as requested; else raise ArgumentError."""
        new = self.new
        if found.shape != new.shape or not same_but_for_byte_order(found.dtype, new.dtype):
            raise ArgumentError(f"{found.name}: holds {found.dtype} {found.shape}, not {new.dtype} {new.shape}")
        return text_of_characters(found) if self.stored_as_characters else found


@dataclasses.dataclass(frozen=True)
class CopyRequest:
    """One copy, checked.

    Attributes:
        source_path: the file, or folder, that is copied, or contains the array.
        source_format: its format.
        target_path: as the caller gave it.
        format: the target's format.
        parts: the arrays.
        whole: the target's file, if it gets everything that the source has; None for one array.
        left_out: descriptions of what the target will not contain.
        base: the existing file that gets the arrays, besides its own; None if a new file is made.
        texts: arrays of text of variable length, which are written when the file is made.
        objects: what HDF5's library copies unchanged from the source; None if source or target is not HDF5.
        excluded: the paths that the caller excluded.
    """

    source_path: str
    source_format: str
    target_path: str
    format: str
    parts: tuple[Part, ...]
    whole: NewFile | None = None
    left_out: tuple[str, ...] = ()
    base: Base | None = None
    texts: tuple[TextPart, ...] = ()
    objects: Objects | None = None
    excluded: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Source and target, for people."""
        return self.parts[0].title if self.whole is None else f"copy {self.source_path} to {self.target_path}"

    @property
    def is_folder(self) -> bool:
        """Whether the target is a folder of files."""
        return formats.is_folder(self.format)

    def asked(self) -> dict[str, Any]:
        """Return plain data that must be equal for two copies to be the same."""
        added = {} if self.base is None else {"added to": self.base.identity.to_dict()}
        if self.whole is None:
            return {**self.parts[0].asked(), **added}
        return {
            "source": os.path.abspath(self.source_path),
            "variable": "all",
            "format": self.format,
            **{key: {part.source.variable: part.laid_out()[key] for part in self.parts} for key in LAID_OUT},
            **added,
            "left out": [*self.excluded, *self.left_out],
        }

    def create(self, path: str) -> None:
        """Make the target's file or folder: every part has its space in it, as a hole."""
        if self.whole is None:
            formats.allocate(formats.create_array(path, self.format, self.parts[0].new))
            return
        formats.create_file(path, self.format, self.whole)
        if self.objects is not None:
            formats.take_objects(path, self.objects)


@dataclasses.dataclass(frozen=True)
class TargetOptions:
    """The caller's options for the target of a copy, not checked: see `swath.copy`.

    The first four use numbers or names of dimensions.
    """

    axes: Any = None
    order: Any = None
    chunks: Any = None
    shards: Any = None
    codecs: Any = None
    dtype: npt.DTypeLike | None = None
    casting: str = "same_kind"
    format: str | None = None
    target_variable: str | None = None
    coordinates: bool = False
    exclude: Sequence[str] = ()
    skip_unsupported: bool = False


def make_request(source: Description, target: Any, options: TargetOptions) -> CopyRequest:
    """Check the arguments of `swath.copy`, for one array. Raises ArgumentError, UnsupportedError."""
    check_copied(source)
    kind = formats.format_for(target, options.format)
    turned = checked_axes(options.axes, len(source.shape))
    shape = tuple(source.shape[a] for a in turned)
    wanted = source.dtype if options.dtype is None else checked_dtype(options.dtype)
    _check_casting(source.dtype, wanted, options.casting)
    named = kind not in NAMELESS
    held = _with_attributes_as(source, wanted) if named else dataclasses.replace(source, attributes={})
    attributes, left_out = attributes_for(kind, held.attributes)
    fill, marks_fill = fill_for(kind, held, wanted) if named else (None, True)
    stated = stated_fill(kind, held, wanted) if named else None
    left_out += lost_fill(kind, held, wanted)
    left_out += tuple(f"attribute {name}: {words}" for name, words in source.other_attributes.items() if named)
    chunks, shards, order = options.chunks, options.shards, options.order
    if chunks is None and shards is None and formats.is_folder(kind):
        chunks = chunks_of(source, turned)
    formats.check_codecs(kind, options.codecs, wanted.itemsize)
    chunk, shard = formats.new_chunks(kind, shape, wanted, chunks, shards, options.codecs)
    creation = formats.CreationOptions(
        order=_order_of(source, kind) if order is None and options.axes is None else checked_order(order, len(shape)),
        fill=fill,
        variable=options.target_variable or (_last(source.variable) if named else None),
        dimensions=_dimensions(source, turned) if named else None,
        attributes=attributes,
        chunks=chunk,
        shards=shard,
        codecs=options.codecs,
    )
    new = formats.new_array(target, kind, shape, wanted, creation)
    part = Part(
        source=source,
        target_path=checked_path(target),
        axes=turned,
        format=kind,
        new=dataclasses.replace(new, marks_fill=marks_fill, stated_fill=stated),
        stored_as_characters=False,
        converts=not same_but_for_byte_order(source.dtype, wanted),
    )
    return CopyRequest(source.path, source.format, part.target_path, kind, (part,), None, left_out)


def check_held(request: CopyRequest) -> None:
    """Raise ArgumentError or UnsupportedError if the format of the target cannot store the array."""
    part = request.parts[0]
    refusals = formats.refusals_of_array(part.format, part.new)
    if refusals:
        raise ArgumentError(f"{part.title}: {'; '.join(refusals)}")


def _with_attributes_as(source: Description, wanted: np.dtype[Any]) -> Description:
    if same_but_for_byte_order(source.dtype, wanted):
        return source
    attributes = attributes_as(source.attributes, source.dtype, wanted, source.name)
    return dataclasses.replace(source, attributes=attributes)


def checked_axes(axes: Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Return each of the source's dimensions once; None keeps their order. Raises ArgumentError."""
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


def same_but_for_byte_order(a: np.dtype[Any], b: np.dtype[Any]) -> bool:
    """Return whether dtypes are the same except for the byte order."""
    return a == b or differs_in_byte_order_only(a, b)


def _order_of(source: Description, kind: str) -> tuple[int, ...]:
    """Return the source's order if the format can store it; else C order."""
    ordered = tuple(range(len(source.shape)))
    if not isinstance(source.layout, StridedLayout) or kind not in NAMELESS:
        return ordered
    order = Side.of(source).order
    return order if kind == "raw" or order == ordered[::-1] else ordered


def chunks_of(source: Description, axes: Sequence[int]) -> tuple[int, ...] | None:
    """Return the chunks of the source, in the dimensions of the target; None if it has none."""
    chunk = Side.of(source).permuted(axes).chunk
    return None if chunk is None or 0 in chunk else chunk


def _last(name: str | None) -> str | None:
    return None if name is None else name.rpartition("/")[2]


def attributes_for(kind: str, attributes: Mapping[str, Any]) -> tuple[Attributes, tuple[str, ...]]:
    """Return the attributes of one array that a format can store, and descriptions of the others.

    The fill value is not one of them: see `fill_for`.
    """
    scalar = NewArray((), np.dtype("i4"), (), None, "x", (), {}, kind.partition(":")[2] or None)
    kept: Attributes = {}
    left_out: list[str] = []
    for name, value in attributes.items():
        if name == FILL:
            continue
        new = dataclasses.replace(scalar, attributes={name: value})
        refusals = formats.refusals(kind, NewFile(new.flavour, (Group(""),), (new,)))
        left_out += [refusal.removeprefix("x: ") for refusal in refusals]
        if not refusals:
            kept[name] = value
    return kept, tuple(left_out)


def check_copied(source: Description) -> None:
    """Raise UnsupportedError if elements are not a fixed number of bytes."""
    if source.dtype.hasobject:
        raise UnsupportedError(
            f"{source.name}: text of variable length, which is copied into netCDF, HDF5 and Zarr only, as it is: with "
            "neither axes, order, chunks, shards nor dtype"
        )


def _dimensions(source: Description, axes: tuple[int, ...]) -> tuple[str, ...] | None:
    """Return the names of the dimensions, if all differ."""
    names = source.dimensions
    if len(names) != len(axes) or not names or len(set(names)) != len(names) or "" in names:
        return None
    return tuple(names[a] for a in axes)
