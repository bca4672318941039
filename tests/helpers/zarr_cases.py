"""Zarr stores for tests: made, and read back, by zarr-python."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from swath.formats.changes import FileChanges
from swath.formats.description import NewArray

zarr = pytest.importorskip("zarr")
V3: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [5, 4],
    "data_type": "float64",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
    "chunk_key_encoding": {"name": "default"},
    "fill_value": 0,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
}
V2: dict[str, Any] = {
    "zarr_format": 2,
    "shape": [5, 4],
    "chunks": [2, 3],
    "dtype": "<f8",
    "fill_value": 0,
    "order": "C",
    "filters": None,
    "compressor": None,
}


def values_of(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> npt.NDArray[Any]:
    """Values that compress, but not to nothing."""
    random = np.random.default_rng(seed)
    return random.integers(0, 50, shape).astype(dtype)


def foreign(path: Path, values: npt.NDArray[Any], chunks: Any, **options: Any) -> str:
    """Return a store that zarr-python writes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a codec, or a dtype, is not in the specification yet
        array = zarr.create_array(
            str(path), shape=values.shape, dtype=values.dtype.newbyteorder("="), chunks=chunks, **options
        )
        array[...] = values
    return str(path)


def as_zarr_reads(path: str | Path, variable: str | None = None) -> npt.NDArray[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = zarr.open(str(path), mode="r")
        return np.asarray((found if variable is None else found[variable])[...])


def same(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(found, expected, strict=False)
    assert np.shape(found) == np.shape(expected)


def store(folder: Path, metadata: dict[str, Any]) -> str:
    """Make a folder with these metadata and no chunks."""
    path = folder / "a.zarr"
    path.mkdir(exist_ok=True)
    (path / ("zarr.json" if metadata.get("zarr_format") == 3 else ".zarray")).write_text(json.dumps(metadata))
    return str(path)


def new_array(variable: str | None, shape: tuple[int, ...], dtype: Any = "<f4", **options: Any) -> NewArray:
    """Return the argument of `add`: a NewArray with defaults."""
    stored = np.dtype(dtype)
    if options.get("fill") is not None:
        options["fill"] = np.array(options["fill"], stored)
    given: dict[str, Any] = {"fill": None, "dimensions": None, "attributes": {}, "flavour": None, **options}
    return NewArray(shape=shape, dtype=stored, order=tuple(range(len(shape))), variable=variable, **given)


def changes_in(path: str | Path) -> FileChanges:
    """Return changes of a store that need no undo after a kill."""
    return FileChanges("zarr", str(path), is_new=True)


def files_of(path: str | Path) -> dict[str, bytes]:
    """Return every file of a store, and its content."""
    return {str(f.relative_to(path)): f.read_bytes() for f in sorted(Path(path).rglob("*")) if f.is_file()}


OTHER_VALUES: list[Any] = [
    *(None, True, 0, -1, 3, 1.5, float("inf"), float("nan"), 2**31, 2**63 - 1, 2**64, 10**400),
    *("", "x", "\ud800", "bytes", "f8,f8", "(2,3)f8", "|O"),
    *([], [1], ["x"], [[]], [2**40, 2**40], [["a", "<f8", [10**12]]], {}, {"name": 5}, {"id": 5}),
    {"name": "bytes", "configuration": 5},
]


def places_in(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield, for every value inside a JSON value, the keys that lead to it."""
    yield at
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places_in(value[key], (*at, key))


def put(value: Any, at: tuple[Any, ...], other: Any) -> Any:
    """Return the value with another one at a position."""
    if not at:
        return other
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[at[0]] = put(value[at[0]], at[1:], other)
    return changed
