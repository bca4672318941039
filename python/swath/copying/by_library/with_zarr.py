"""Zarr stores as zarr-python reads them: the metadata of each node, compared with the consolidated metadata."""

from __future__ import annotations

import base64
import contextlib
import struct
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.copying.by_library.held import JSON_TYPES, Held, Stored, Value, value_of

OWN = frozenset({"_ARRAY_DIMENSIONS", "_nc_unlimited_dimensions"})
"""Attributes that contain names of dimensions."""


def held(path: str) -> Held:
    """Return the contents of the store."""
    import zarr

    found = Held(f"zarr {zarr.__version__}", "zarr", JSON_TYPES)
    with _quiet():
        root = zarr.open(path, mode="r", use_consolidated=False)
        nodes = {"": root}
        if isinstance(root, zarr.Group):
            nodes |= dict(root.members(max_depth=None))
        for name, node in nodes.items():
            _enter(found, name, node)
        found.contradictions = _of_consolidated(path, nodes)
    for name, array in found.variables.items():
        for dimension, length in zip(array.dimensions, array.shape or (), strict=False):
            if dimension:
                found.dimensions.setdefault(dimension, (length, False))
        del name
    return found


@contextlib.contextmanager
def values(path: str) -> Iterator[Any]:
    """Open the store, to read boxes of a variable."""
    import zarr

    opened: dict[str, Any] = {}

    def read(name: str, box: tuple[slice, ...]) -> npt.NDArray[Any]:
        with _quiet():
            if name not in opened:
                node: Any = zarr.open(path, mode="r", use_consolidated=False)
                opened[name] = node[name] if name else node
            return np.asarray(opened[name][box] if opened[name].shape else opened[name][...])

    yield read


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about codecs and dtypes that are not in the specification yet
        yield


def _enter(found: Held, name: str, node: Any) -> None:
    import zarr

    attributes = dict(node.attrs)
    own: dict[str, Value] = {key: value_of(value) for key, value in attributes.items() if key not in OWN}
    if isinstance(node, zarr.Group):
        found.groups[name] = own
        return
    if not name:
        found.groups[name] = {}
    metadata = node.metadata
    names = getattr(metadata, "dimension_names", None) or attributes.get("_ARRAY_DIMENSIONS") or ()
    dtype = np.dtype(node.dtype)
    is_text = dtype.kind in "OT"
    if metadata.zarr_format == 2:
        missing = metadata.fill_value
    else:
        own.pop("_FillValue", None)
        missing = _decoded(attributes.get("_FillValue"), dtype)
    found.variables[name] = Stored(
        tuple(node.shape),
        np.dtype(object) if is_text else dtype,
        tuple(name or "" for name in names),
        own,
        missing,
        None,
        tuple(node.chunks),
        "text" if is_text else "",
    )


def _decoded(stored: Any, dtype: np.dtype[Any]) -> Any:
    """Return `_FillValue` as xarray writes it in version 3: floating-point numbers are the base64 of a double."""
    try:
        if dtype.kind == "f" and isinstance(stored, str):
            return struct.unpack("<d", base64.b64decode(stored, validate=True))[0]
        if dtype.kind == "c" and isinstance(stored, list):
            return complex(*(struct.unpack("<d", base64.b64decode(one, validate=True))[0] for one in stored))
        if dtype.kind == "S" and isinstance(stored, str):
            return base64.b64decode(stored, validate=True)
    except (ValueError, TypeError, struct.error):
        return stored
    return stored


def _of_consolidated(path: str, nodes: dict[str, Any]) -> list[str]:
    """Return descriptions of differences in consolidated metadata, which most readers use alone."""
    import zarr

    root = nodes[""]
    if not isinstance(root, zarr.Group):
        return []
    try:
        kept = zarr.open_group(path, mode="r", use_consolidated=True)
    except ValueError:  # there are no consolidated metadata
        return []
    copies = dict(kept.members(max_depth=None))
    of_nodes = {name: node for name, node in nodes.items() if name}
    found = [f"{path}: consolidated metadata have {name}, which is not there" for name in copies if name not in nodes]
    found += [f"{path}: consolidated metadata are without {name}" for name in of_nodes if name not in copies]
    for name, node in of_nodes.items():
        if name in copies and not _is_same(node, copies[name]):
            found.append(f"{path}: consolidated metadata say of {name} what its own do not")
    return found


def _is_same(node: Any, copy: Any) -> bool:
    if type(node) is not type(copy) or dict(node.attrs) != dict(copy.attrs):
        return _as_text(node) == _as_text(copy)  # an attribute may be NaN, which is not equal to itself
    return _as_text(node) == _as_text(copy)


def _as_text(node: Any) -> str:
    described = node.metadata.to_dict()
    described.pop("consolidated_metadata", None)
    return repr(sorted(described.items(), key=lambda item: item[0]))
