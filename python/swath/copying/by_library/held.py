"""The contents of a file as a library reports them: plain data, which can be sent to all ranks."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

Value = str | list[str] | npt.NDArray[Any] | np.generic | tuple[str, Any]
"""An attribute: a text, texts, or numbers; for other values (a description, the value)."""

CLASSIC_TYPES = frozenset({"i1", "i2", "i4", "f4", "f8"})
NETCDF_TYPES = CLASSIC_TYPES | {"u1", "u2", "u4", "u8", "i8"}
JSON_TYPES: frozenset[str] = frozenset()
"""The types of numbers that attributes of a format may have. JSON has no types that all other formats have."""


@dataclasses.dataclass(frozen=True)
class Stored:
    """A variable.

    Attributes:
        shape: in elements; None for a null dataspace, which has no shape.
        dtype: as the library reads it; object for text of variable length and similar types.
        dimensions: their names, "" for one without a name; () if none has a name.
        attributes: without the fill value.
        missing: the value of missing elements, `_FillValue`; None for none.
        names: the names of the numbers of an enumeration; None if they have no names.
        chunks: elements of a chunk; None for none.
        unwritten: the value of elements that were not written, if an HDF5 file defines it; else None.
        maxshape: HDF5 only: the largest length of each dimension, None for unlimited; () if it is not known.
        kind: "" for elements that NumPy has; else their kind: "references", "text", "sequences".
    """

    shape: tuple[int, ...] | None
    dtype: np.dtype[Any]
    dimensions: tuple[str, ...] = ()
    attributes: dict[str, Value] = dataclasses.field(default_factory=dict)
    missing: Any = None
    names: dict[str, int] | None = None
    chunks: tuple[int, ...] | None = None
    kind: str = ""
    unwritten: Any = None
    maxshape: tuple[int | None, ...] = ()


@dataclasses.dataclass
class Held:
    """A file.

    Attributes:
        library: the library that read the file, and its version.
        format: "hdf5", "netcdf4", "netcdf-classic", "zarr" or "npy".
        types: the types of numbers that its attributes can have; None for all.
        groups: their attributes by their paths, "" for the file.
        variables: by their paths, also those that a link leads to.
        dimensions: by their paths: the length, and whether it is unlimited.
        links: descriptions, by their paths.
        named_types: descriptions, by their paths.
        contradictions: descriptions of statements of the file that contradict each other.
    """

    library: str
    format: str
    types: frozenset[str] | None
    groups: dict[str, dict[str, Value]] = dataclasses.field(default_factory=dict)
    variables: dict[str, Stored] = dataclasses.field(default_factory=dict)
    dimensions: dict[str, tuple[int, bool]] = dataclasses.field(default_factory=dict)
    links: dict[str, str] = dataclasses.field(default_factory=dict)
    named_types: dict[str, str] = dataclasses.field(default_factory=dict)
    contradictions: list[str] = dataclasses.field(default_factory=list)


def joined(group: str, name: str) -> str:
    """Return the path of an item in a group; "" is the file itself."""
    return f"{group}/{name}" if group else name


def text_of(raw: Any) -> str:
    """Return the text without zero bytes at its end."""
    if isinstance(raw, bytes):
        try:
            raw = raw.decode()
        except UnicodeDecodeError:
            raw = raw.decode("latin-1")
    return str(raw).rstrip("\0")


def value_of(found: Any) -> Value:
    """Return an attribute in a form that is the same for all libraries: NumPy's or Python's text and numbers."""
    if isinstance(found, str | bytes):
        return text_of(found)
    if found is None or isinstance(found, dict):
        return "an object of JSON", found
    if isinstance(found, list | tuple) and found and all(isinstance(one, str | bytes) for one in found):
        return [text_of(one) for one in found]
    try:
        array = np.asarray(found)
    except ValueError:  # lists of different lengths
        return "a list of JSON", found
    if array.dtype.kind in "SU" or (array.dtype.kind == "O" and all(isinstance(x, str | bytes) for x in array.flat)):
        if isinstance(found, list):
            return "a list of JSON", found
        texts = [text_of(one) for one in array.ravel()]
        if array.ndim > 1:
            return f"texts of {array.ndim} dimensions", array.astype(str).tolist()
        return texts[0] if array.ndim == 0 else texts
    if array.dtype.kind in "biufc":
        return array if array.size != 1 else array.reshape(-1)[0]
    return "a list of JSON" if isinstance(found, list) else f"elements of {array.dtype}", plain(found)


def plain(value: Any) -> Any:
    """Return nested lists of plain Python values, which can be compared as a whole."""
    if isinstance(value, np.ndarray):
        return [plain(one) for one in value] if value.ndim else plain(value[()])
    if isinstance(value, np.void):
        return tuple(plain(value[name]) for name in value.dtype.names) if value.dtype.names else value.tobytes()
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value.item() if isinstance(value, np.generic) else value
