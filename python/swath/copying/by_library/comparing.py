"""Compares two files as their libraries read them: in boxes that fit in memory, which the ranks share."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.copying.boxes import Box, boxes, turned_back
from swath.copying.by_library import differences
from swath.copying.by_library.held import Stored, plain, text_of
from swath.copying.by_library.libraries import FileByLibrary, Values
from swath.copying.compare import Comparison, Found, HowToCompare, differing_elements, merged
from swath.copying.request import checked_axes
from swath.errors import ArgumentError

OBJECT_BYTES = 256
"""The size that is assumed for an element of variable length."""
PART_OF_BUDGET = 6
"""A box is read from both sides, perhaps as text, and there is a mask of the differences."""
BOX_BYTES_MAX = 32 << 20


def compare_files(
    sides: tuple[FileByLibrary, FileByLibrary], how: HowToCompare
) -> tuple[dict[str, Comparison], list[str]]:
    """Return the compared variables, and descriptions of all other differences. Collective."""
    a, b = sides
    differing = differences.of_files(a.held, b.held)
    of_hdf5 = [side.views.get("h5py") for side in sides]
    if of_hdf5[0] is not None and of_hdf5[1] is not None:
        differing += differences.of_files(of_hdf5[0], of_hdf5[1])
    differing += differences.of_objects(*of_hdf5)
    if b.unreadable and not a.unreadable:
        differing.append(b.unreadable)
    found = {}
    with contextlib.ExitStack() as stack:
        values = stack.enter_context(a.values()), stack.enter_context(b.values())
        for name in a.held.variables:
            if name in b.held.variables:
                found[name] = _compare(sides, (name, name), values, None, how)
    return found, list(dict.fromkeys(differing))


def compare_variables(
    sides: tuple[FileByLibrary, FileByLibrary], names: tuple[str, str], axes: tuple[int, ...] | None, how: HowToCompare
) -> Comparison:
    """Return the comparison of two variables. Collective."""
    with sides[0].values() as one, sides[1].values() as other:
        return _compare(sides, names, (one, other), axes, how)


def the_variable(side: FileByLibrary, name: str | None) -> str:
    """Return the chosen variable; without a name, the only one. Raises ArgumentError."""
    known = side.held.variables
    wanted = (name or "").strip("/")
    if wanted in known:
        return wanted
    if name is None and len(known) == 1:
        return next(iter(known))
    own = [one for one, stored in known.items() if stored.dimensions != (one.rpartition("/")[2],)]
    if name is None and len(own) == 1:
        return own[0]
    raise ArgumentError(f"{side.path}: there is no variable {name!r}; there are {', '.join(list(known)[:20])}")


def _compare(
    sides: tuple[FileByLibrary, FileByLibrary],
    names: tuple[str, str],
    values: tuple[Values, Values],
    axes: tuple[int, ...] | None,
    how: HowToCompare,
) -> Comparison:
    a, b = (side.held.variables[name] for side, name in zip(sides, names, strict=True))
    if a.shape is None or b.shape is None:
        is_same = a.shape is b.shape
        return Comparison(is_same, 0, reason="" if is_same else "one has no elements at all (a null dataspace)")
    joins = _joins_characters(a, b)
    shapes = [shape[:-1] if joined else shape for shape, joined in zip((a.shape, b.shape), joins, strict=True)]
    turned = checked_axes(axes, len(shapes[0]))
    shape = tuple(shapes[0][axis] for axis in turned)
    if shape != shapes[1]:
        return Comparison(False, 0, reason=f"shapes {shape} and {shapes[1]}")

    itemsize = max(_element_bytes(a, joins[0]), _element_bytes(b, joins[1]), 1)
    elements_max = max(min(how.memory // PART_OF_BUDGET, BOX_BYTES_MAX) // itemsize, 1)

    def work() -> Found | str:
        found = Found()
        for number, box in enumerate(boxes(shape, b.chunks, elements_max)):
            if number % how.ranks.size == how.ranks.rank:
                try:
                    one = _elements(values[0].read(names[0], turned_back(box, turned)), joins[0])
                    one = one.transpose(*turned, *range(len(turned), one.ndim))
                    _note(one, _elements(values[1].read(names[1], box), joins[1]), box, found)
                except Exception as error:  # noqa: BLE001  libraries have many
                    return f"a library cannot read it: {error or type(error).__name__}"
        return found

    parts = how.ranks.gather_objects(how.ranks.run_collectively(f"verify {names} by library", work))
    failed = [part for part in parts if isinstance(part, str)]
    if failed:
        return Comparison(False, 0, reason=failed[0])
    found = merged(parts)
    return Comparison(found.differing == 0, math.prod(shape), found.differing, found.index, found.values)


def _element_bytes(one: Stored, joins: bool) -> int:
    """Return the bytes of an element in memory; if characters are joined, of all characters of an element."""
    if one.dtype.hasobject:
        return OBJECT_BYTES
    return one.dtype.itemsize * (one.shape[-1] if joins and one.shape else 1)


def _joins_characters(a: Stored, b: Stored) -> tuple[bool, bool]:
    """Return for each side whether its characters are joined to texts: netCDF has them along one more dimension."""
    lengths = len(a.shape or ()), len(b.shape or ())
    are_characters = [one.dtype == np.dtype("S1") for one in (a, b)]
    are_texts = [one.kind == "text" or one.dtype.kind in "SU" for one in (a, b)]
    return (
        are_characters[0] and are_texts[1] and lengths[0] == lengths[1] + 1,
        are_characters[1] and are_texts[0] and lengths[1] == lengths[0] + 1,
    )


def _elements(read: npt.NDArray[Any], joins: bool) -> npt.NDArray[Any]:
    if not joins:
        return read
    if read.shape[-1] == 0:
        return np.zeros(read.shape[:-1], "S1")
    return np.ascontiguousarray(read).view(f"S{read.shape[-1]}")[..., 0]


def _note(a: npt.NDArray[Any], b: npt.NDArray[Any], box: Box, found: Found) -> None:
    if {a.dtype.kind, b.dtype.kind} & set("OUT"):
        a, b = _as_objects(a), _as_objects(b)
    differs = np.asarray(differing_elements(a, b), bool)
    differs = np.asarray(differs.any(axis=tuple(range(len(box), differs.ndim))))  # elements may be arrays
    found.add_box(differs, [part.start for part in box], lambda place: (plain(a[place]), plain(b[place])))


def _as_objects(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return texts as str, and other objects as plain values, so that they compare."""
    flat = np.empty(values.size, object)
    for number, one in enumerate(values.ravel()):
        flat[number] = text_of(one) if isinstance(one, str | bytes) else repr(plain(one))
    return flat.reshape(values.shape)
