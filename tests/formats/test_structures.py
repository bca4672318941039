"""Structures of any kind, padded, nested, mixed byte orders: every format keeps each field, or gives a clear error."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import zarr
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numpy.lib.recfunctions import repack_fields

import swath

FORMATS = {
    "raw": "a.bin",
    "npy": "a.npy",
    "hdf5": "a.h5",
    "netcdf-classic": "a.nc",
    "zarr": "a.zarr",
    "zarr:v2": "a2.zarr",
}
LEAVES = ("i1", "u1", "?", "S3", "V2", *(f"{order}{kind}" for order in "<>" for kind in ("i2", "u4", "i8", "f4", "f8")))
LEAVES += tuple(f"{order}{kind}" for order in "<>" for kind in ("f2", "c8", "c16", "U2", "M8[s]"))
FRESH = itertools.count()

ALIGNED = np.dtype([("a", "i1"), ("b", "<f8")], align=True)
TITLED = np.dtype([(("Title", "a"), "<i4"), ("b", "<f4")])
OVERLAPPING = np.dtype({"names": ["a", "b"], "formats": ["<i4", "<i2"], "offsets": [0, 2], "itemsize": 4})
REORDERED = np.dtype({"names": ["a", "b"], "formats": ["<i4", ">i2"], "offsets": [2, 0], "itemsize": 7})


@st.composite
def structures(draw: st.DrawFn, depth: int = 2) -> np.dtype[Any]:
    """Draw structures like those of C programs, packed files and views."""
    fields: Any = st.sampled_from(LEAVES).map(np.dtype)
    if depth:
        fields = st.one_of(fields, fields, structures(depth=depth - 1))
    kinds = [
        np.dtype((kind, tuple(draw(st.lists(st.integers(1, 3), max_size=2)))))
        for kind in draw(st.lists(fields, min_size=1, max_size=4))
    ]
    names = [f"f{i}" for i in range(len(kinds))]  # the names that NumPy would give to padding
    way = draw(st.sampled_from(["packed", "aligned", "gaps", "reordered"]))
    if way in ("packed", "aligned"):
        return np.dtype(list(zip(names, kinds, strict=True)), align=way == "aligned")
    gaps = [draw(st.integers(0, 5)) for _ in range(len(kinds) + 1)]
    order = draw(st.permutations(range(len(kinds)))) if way == "reordered" else range(len(kinds))
    offsets, end = [0] * len(kinds), 0
    for i in order:
        offsets[i] = end + gaps[i]
        end = offsets[i] + kinds[i].itemsize
    return np.dtype({"names": names, "formats": kinds, "offsets": offsets, "itemsize": end + gaps[-1]})


def values_of(dtype: np.dtype[Any], count: int) -> np.ndarray:
    """Return random bytes in every field, if they are valid values; padding is zero."""
    values = np.zeros(count, dtype)
    fill(values, np.random.default_rng(count))
    return values


def fill(values: np.ndarray, dice: np.random.Generator) -> None:
    if values.dtype.names is not None:
        for name in values.dtype.names:
            fill(values[name], dice)
    elif values.dtype.kind == "U":
        values[...] = dice.choice(np.array(["a", "bc", "é", ""]), values.shape)
    elif values.dtype.kind == "?":
        values[...] = dice.integers(0, 2, values.shape)
    else:
        values[...] = np.frombuffer(dice.bytes(values.size * values.itemsize), values.dtype).reshape(values.shape)


def leaves(values: np.ndarray, at: str = "") -> dict[str, tuple[str, bytes]]:
    """Return kind and little-endian bytes of every field, at any depth."""
    if values.dtype.names is not None:
        return {k: v for name in values.dtype.names for k, v in leaves(values[name], f"{at}.{name}").items()}
    little = values.dtype.newbyteorder("<")
    values = np.ascontiguousarray(values)
    swapped = values if values.dtype == little else values.byteswap()
    return {at: (f"{little.str}{values.shape}", swapped.tobytes())}


def opened(path: Path, values: np.ndarray) -> swath.Array:
    raw = {"shape": values.shape, "dtype": values.dtype} if path.suffix == ".bin" else {}
    return swath.open(path, **raw)


def as_others_read(path: Path, values: np.ndarray) -> np.ndarray | None:
    """Return the values by the format's own reader."""
    if path.suffix == ".bin":
        return np.fromfile(path, values.dtype)
    if path.suffix == ".npy":
        return np.load(path)
    if path.suffix == ".h5":
        with h5py.File(path) as file:
            return np.asarray(file["data"][()])
    return None


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(dtype=structures(), kind=st.sampled_from(list(FORMATS)), source=st.sampled_from(["raw", "npy", "hdf5"]))
@example(ALIGNED, "zarr:v2", "raw")
@example(ALIGNED, "zarr:v2", "npy")
@example(ALIGNED, "zarr:v2", "hdf5")
@example(TITLED, "zarr:v2", "npy")
@example(TITLED, "hdf5", "npy")
@example(OVERLAPPING, "npy", "raw")
@example(OVERLAPPING, "hdf5", "raw")
@example(REORDERED, "zarr:v2", "raw")
@example(REORDERED, "hdf5", "raw")
@pytest.mark.not_by_library("zarr reads no structure with a field without a name beside f0")
def test_fields_come_back_one_by_one_or_are_refused_before_anything_is_written(
    tmp_path: Path, dtype: np.dtype[Any], kind: str, source: str
) -> None:
    folder = tmp_path / str(next(FRESH))
    folder.mkdir()
    values = values_of(dtype, 23)
    target = folder / f"created-{FORMATS[kind]}"
    try:
        with swath.create(target, values.shape, dtype, format=kind) as a:
            assert a.dtype == dtype
            a.write(values)
    except (swath.ArgumentError, swath.UnsupportedError):
        assert list(folder.iterdir()) == []
    else:
        check(target, values)
    copied(folder, values, kind, source)


def check(path: Path, values: np.ndarray) -> None:
    with opened(path, values) as a:
        assert a.dtype == values.dtype
        assert leaves(a[...]) == leaves(values)
    others = as_others_read(path, values)
    assert others is None or leaves(others) == leaves(values)


def copied(folder: Path, values: np.ndarray, kind: str, source: str) -> None:
    """Check that copies keep every value: as the dtype is, packed, and in the other byte order."""
    path = folder / f"source-{FORMATS[source]}"
    try:
        with swath.create(path, values.shape, values.dtype, format=source) as a:
            a.write(values)
    except (swath.ArgumentError, swath.UnsupportedError):
        return
    before = set(folder.iterdir())
    dtype = values.dtype
    target = folder / f"copied-{FORMATS[kind]}"
    for wanted in (None, repack_fields(dtype, recurse=True), dtype.newbyteorder()):
        with opened(path, values) as a:
            try:
                swath.copy(a, target, dtype=wanted, format=kind, memory=20_000, overwrite=True, chunks=chunks(kind))
            except (swath.ArgumentError, swath.UnsupportedError):
                assert set(folder.iterdir()) == before
                continue
        expected = values if wanted is None else np.zeros(values.shape, wanted)
        with opened(target, expected) as a:
            assert a.dtype == (dtype if wanted is None else wanted)
            if dtype is not OVERLAPPING or wanted is None:
                assert leaves(a[...]) == leaves(values)
                assert padding_is_zero(a[...])
        before |= {target}


def chunks(kind: str) -> Any:
    return (7,) if kind in ("hdf5", "zarr", "zarr:v2") else None


def padding_is_zero(values: np.ndarray) -> bool:
    """Return whether the padding is zero: a file must not contain old bytes of memory."""
    raw = np.frombuffer(bytearray(values.tobytes()), values.dtype)
    blank(raw)
    return not any(raw.tobytes())


def blank(values: np.ndarray) -> None:
    if values.dtype.names is None:
        np.asarray(values)[...] = np.zeros((), values.dtype)
        return
    for name in values.dtype.names:
        blank(values[name])


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(dtype=structures())
@example(ALIGNED)
@example(np.dtype([("a", ">i2"), ("b", "<f8")]))
def test_memory_in_the_other_byte_order_is_swapped_field_by_field(tmp_path: Path, dtype: np.dtype[Any]) -> None:
    path = tmp_path / f"{next(FRESH)}.bin"
    values = values_of(dtype, 23)
    swapped = values.byteswap().view(dtype.newbyteorder())
    with swath.create(path, values.shape, dtype) as a:
        a.write(swapped)
        assert leaves(a[...]) == leaves(values)
        out = np.zeros(values.shape, dtype.newbyteorder())
        a.read(out=out)
        assert leaves(out) == leaves(values)


@pytest.mark.parametrize("dtype", [np.dtype([("a", "i1"), ("b", "<f8")]), np.dtype([("b", "<f8"), ("a", "i1")])])
def test_memory_whose_fields_lie_elsewhere_is_refused(tmp_path: Path, dtype: np.dtype[Any]) -> None:
    with swath.create(tmp_path / "a.bin", 5, ALIGNED) as a, pytest.raises(swath.ArgumentError, match="the file holds"):
        a.write(np.zeros(5, dtype))


def test_fields_that_share_bytes_are_not_swapped_twice(tmp_path: Path) -> None:
    with swath.create(tmp_path / "a.bin", 5, OVERLAPPING) as a:
        a.write(np.zeros(5, OVERLAPPING))
        with pytest.raises(swath.ArgumentError, match="the file holds"):
            a.read(out=np.zeros(5, OVERLAPPING.newbyteorder()))


def test_what_a_structure_cannot_be_is_said(tmp_path: Path) -> None:
    for dtype, suffix, words in (
        (TITLED, "zarr", "no titles of fields"),
        (TITLED, "h5", r"hdf5 cannot store dtype .* as it is, only .*ask for that"),
        (OVERLAPPING, "npy", "overlap, or lie in another order"),
        (REORDERED, "zarr", "overlap, or lie in another order"),
        (np.dtype({"names": [], "formats": [], "itemsize": 4}), "bin", "no fixed number of bytes"),
    ):
        kind = "zarr:v2" if suffix == "zarr" else None
        with pytest.raises(swath.ArgumentError, match=words):
            swath.create(tmp_path / f"a.{suffix}", 3, dtype, format=kind)
        assert list(tmp_path.iterdir()) == []


def test_zarr_reads_the_fields_of_a_padded_structure(tmp_path: Path) -> None:
    values = values_of(ALIGNED, 9)
    with swath.create(tmp_path / "a.zarr", 9, ALIGNED, format="zarr:v2") as a:
        a.write(values)
    found = zarr.open_array(tmp_path / "a.zarr", mode="r")[...]  # zarr-python has a field of raw bytes for padding
    assert leaves(found[["a", "b"]]) == leaves(values)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.not_by_library("zarr reads no arrays in structures")
def test_strings_of_h5py_in_a_structure_can_be_stored_everywhere(tmp_path: Path, align: bool) -> None:
    """h5py notes the character set in the dtype, and NumPy adds this note to the list of fields."""
    dtype = np.dtype([("s", "S3"), ("n", [("t", "S2"), ("x", "<f8")], (2,))], align=align)
    values = values_of(dtype, 12)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["data"] = values
    for target, kind in (("b.zarr", "zarr:v2"), ("b.npy", None), ("b.h5", None)):
        swath.copy(tmp_path / "a.h5", tmp_path / target, format=kind)
        check(tmp_path / target, values)
        assert swath.verify(tmp_path / "a.h5", tmp_path / target)
    noted = np.dtype([("s", h5py.string_dtype("utf-8", 3))])
    for target, kind in (("c.zarr", "zarr:v2"), ("c.npy", None), ("c.h5", None)):
        with swath.create(tmp_path / target, 3, noted, format=kind) as a:
            a.write(np.zeros(3, noted))


@pytest.mark.parametrize("endian", ["little", "big"])
def test_the_byte_order_of_a_chunk_is_that_of_every_field(tmp_path: Path, endian: str) -> None:
    """Zarr version 3 has the data type `struct`, and one fill value for each field."""
    inner = {"name": "struct", "configuration": {"fields": [{"name": "x", "data_type": "int16"}]}}
    fields = [{"name": "a", "data_type": "float64"}, {"name": "n", "data_type": inner}]
    metadata = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [6],
        "data_type": {"name": "struct", "configuration": {"fields": fields}},
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3]}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": {"a": 1.5, "n": {"x": 258}},
        "codecs": [{"name": "bytes", "configuration": {"endian": endian}}],
    }
    order = "<" if endian == "little" else ">"
    dtype = np.dtype([("a", f"{order}f8"), ("n", [("x", f"{order}i2")])])
    values = np.array([(0.5, (1,)), (2.5, (-3,)), (1e300, (259,))], dtype)
    (tmp_path / "a.zarr" / "c").mkdir(parents=True)
    (tmp_path / "a.zarr" / "zarr.json").write_text(json.dumps(metadata))
    values.tofile(tmp_path / "a.zarr" / "c" / "0")
    with swath.open(tmp_path / "a.zarr") as a:
        assert a.dtype == dtype
        assert a[...].tolist() == [*values.tolist(), *[(1.5, (258,))] * 3]
    del metadata["fill_value"]["n"]  # type: ignore[attr-defined]
    (tmp_path / "a.zarr" / "zarr.json").write_text(json.dumps(metadata))
    with pytest.raises(swath.FormatError, match="fill_value"):
        swath.open(tmp_path / "a.zarr")
