"""Zarr stores for tests: made, and read back, by zarr-python."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

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
    """A store that zarr-python writes."""
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
    """A folder with these metadata and no chunks."""
    path = folder / "a.zarr"
    path.mkdir(exist_ok=True)
    (path / ("zarr.json" if metadata.get("zarr_format") == 3 else ".zarray")).write_text(json.dumps(metadata))
    return str(path)
