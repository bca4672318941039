"""Zarr stores that cannot be, are damaged, or must not be replaced: an error of ours that says what is wrong."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import swath
from swath.errors import ArgumentError, Error, ExistsError, FormatError, StoreError, UnsupportedError
from zarr_cases import V2, V3, as_zarr_reads, same, store, values_of

Path = pathlib.Path


SHARDED = [
    {
        "name": "sharding_indexed",
        "configuration": {"chunk_shape": [2, 2], "codecs": V3["codecs"], "index_codecs": V3["codecs"]},
    }
]
WRONG = [
    (V3, {"shape": [5, -1]}, FormatError, "shape"),
    (V3, {"shape": "5"}, FormatError, "shape"),
    (V3, {"shape": [5]}, FormatError, "chunks of"),
    (
        V3,
        {"shape": [2**62, 2**62], "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 1]}}},
        FormatError,
        "2.63 chunks",
    ),
    (V3, {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [0, 3]}}}, FormatError, "chunk_shape"),
    (V3, {"chunk_grid": {"name": "rectilinear"}}, UnsupportedError, "chunk_grid"),
    (
        V3,
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2**40, 2**40]}}},
        FormatError,
        "beyond 2.63 bytes",
    ),
    (V3, {"data_type": "float80"}, UnsupportedError, "float80"),
    (V3, {"data_type": "string"}, UnsupportedError, "string"),
    (V3, {"fill_value": "abc"}, FormatError, "fill_value"),
    (V3, {"fill_value": True}, FormatError, "fill_value"),
    (V3, {"codecs": []}, FormatError, "codecs"),
    (V3, {"codecs": [{"name": "bytes"}, {"name": "zfp"}]}, UnsupportedError, "zfp"),
    (V3, {"codecs": [{"name": "vlen-utf8"}]}, UnsupportedError, "vlen-utf8"),
    (V3, {"codecs": [{"name": "gzip"}]}, UnsupportedError, "gzip"),
    (V3, {"codecs": [{"name": "transpose", "configuration": {"order": [0, 0]}}, "bytes"]}, FormatError, "transpose"),
    (V3, {"codecs": ["bytes", {"name": "zstd", "configuration": {"level": 99}}]}, FormatError, "99"),
    (V3, {"codecs": SHARDED}, FormatError, "shards of"),
    (V3, {"codecs": [*SHARDED, "crc32c"]}, UnsupportedError, "shards"),
    (V3, {"storage_transformers": ["x"]}, UnsupportedError, "storage_transformers"),
    (V3, {"new_thing": {"must_understand": True}}, UnsupportedError, "new_thing"),
    (V3, {"chunk_key_encoding": {"name": "other"}}, UnsupportedError, "chunk_key_encoding"),
    (V3, {"chunk_key_encoding": {"name": "default", "configuration": {"separator": "../"}}}, FormatError, "separator"),
    (V2, {"order": "K"}, FormatError, "order"),
    (V2, {"dtype": "|O"}, UnsupportedError, "dtype"),
    (V2, {"dtype": "<q9"}, FormatError, "dtype"),
    (V2, {"filters": [{"id": "delta"}]}, UnsupportedError, "delta"),
    (V2, {"compressor": {"id": "blosc", "cname": "x"}}, FormatError, "blosc"),
    (V2, {"compressor": "zlib"}, FormatError, "no id"),
    (V2, {"chunks": [2]}, FormatError, "chunks of"),
]


@pytest.mark.parametrize(("base", "change", "error", "words"), WRONG)
def test_metadata_that_cannot_be_are_refused(tmp_path: Path, base: Any, change: Any, error: Any, words: str) -> None:
    path = store(tmp_path, {**base, **change})
    with pytest.raises(error, match=words):
        swath.open(path)


def test_what_may_be_ignored_is_ignored(tmp_path: Path) -> None:
    path = store(tmp_path, {**V3, "note": {"must_understand": False}, "dimension_names": ["a", None]})
    with swath.open(path) as a:
        assert a.shape == (5, 4)


def test_other_folders_are_no_stores(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no Zarr store"):
        swath.open(tmp_path)
    (tmp_path / "zarr.json").write_text("{")
    with pytest.raises(FormatError, match="not JSON"):
        swath.open(tmp_path)
    (tmp_path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    with pytest.raises(ArgumentError, match="are none"):
        swath.open(tmp_path)


def error_of_read(a: swath.Array) -> str | None:
    try:
        a.read()
    except FormatError as error:
        return str(error)
    return None


def test_damaged_chunks_are_reported_and_nothing_crashes(tmp_path: Path) -> None:
    values = values_of((40, 40), "<i4")
    random = np.random.default_rng(1)
    noticed = 0
    for case, options in enumerate(
        [
            {"codecs": "zstd"},
            {"codecs": "blosc"},
            {"codecs": "lz4"},
            {"codecs": "gzip"},
            {"codecs": ["shuffle", "crc32c"]},
            {"codecs": []},
            {"codecs": "zstd", "shards": (20, 20)},
        ]
    ):
        path = tmp_path / f"{case}.zarr"
        with swath.create(path, values.shape, "<i4", chunks=(10, 10), **options) as a:
            a.write(values)
        chunk = path / "c/0/0"
        whole = chunk.read_bytes()
        with swath.open(path) as a:
            for attempt in range(40):
                damaged = bytearray(whole)
                if attempt % 2:
                    del damaged[random.integers(len(whole)) :]
                else:
                    damaged[random.integers(len(whole))] ^= 1 << random.integers(8)
                chunk.write_bytes(damaged)
                same(a[20:, 20:], values[20:, 20:])  # other files are whole
                error = error_of_read(a)
                noticed += error is not None
                assert error is None or str(chunk) in error
        chunk.write_bytes(whole)
    assert noticed > 7 * 15  # all that are cut short, nearly


def test_shard_indices_that_lie_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    with swath.create(path, (8,), "<i4", chunks=(4,), shards=(8,), codecs=[]) as a:
        a.write(np.arange(8, dtype="<i4"))
    shard = path / "c/0"
    metadata = json.loads((path / "zarr.json").read_text())
    metadata["codecs"][0]["configuration"]["index_codecs"].pop()  # the checksum would notice first
    (path / "zarr.json").write_text(json.dumps(metadata))
    for entry in [(2**63, 16), (0, 2**63), (2**64 - 16, 32), (0, 10**6), (40, 40), (0, 15)]:
        index = np.array([*entry, 16, 16], "<u8").tobytes()
        shard.write_bytes(np.arange(8, dtype="<i4").tobytes() + index)
        with swath.open(path) as a:
            with pytest.raises(FormatError, match=r"chunk \(0,\)"):
                a.read()
            same(a[4:], np.arange(4, 8))


def test_creating_replaces_only_stores(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    with swath.create(path, (4,), "<i4") as a:
        a.write(np.arange(4, dtype="<i4"))
    with pytest.raises(ExistsError):
        swath.create(path, (4,), "<i4")
    with pytest.raises(RuntimeError), swath.create(path, (4,), "<i4", overwrite=True):
        raise RuntimeError
    same(as_zarr_reads(path), np.arange(4))
    with swath.create(path, (3,), "<i4", fill=8, overwrite=True) as a:
        same(as_zarr_reads(path), np.arange(4))  # the old one until it is closed
    same(as_zarr_reads(path), [8, 8, 8])
    with swath.create(path, (2,), "<i4", overwrite=True, atomic=False) as a:
        assert a.shape == (2,)
    precious = tmp_path / "home.zarr"
    precious.mkdir()
    (precious / "thesis.tex").write_text("x")
    with pytest.raises(ExistsError, match="something else"):
        swath.create(precious, (3,), "<i4", overwrite=True)
    assert (precious / "thesis.tex").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.zarr", "home.zarr"]


def test_arguments_that_cannot_be(tmp_path: Path) -> None:
    for options, words in [
        ({"chunks": (2,)}, "chunks"),
        ({"chunks": (0, 2)}, "chunks"),
        ({"chunks": (2, 2), "shards": (3, 4)}, "shards"),
        ({"shards": (4, 4), "format": "zarr:v2"}, "shards"),
        ({"order": (1, 0, 2)[:2], "format": "zarr:v3", "codecs": 5}, "codecs"),
        ({"codecs": {"name": "zstd", "configuration": {"level": 77}}}, "77"),
        ({"attributes": {"a": object()}}, "JSON"),
        ({"variable": "a//b"}, "name"),
        ({"format": "zarr:v4"}, "unknown"),
    ]:
        with pytest.raises(ArgumentError, match=words):
            swath.create(tmp_path / "a.zarr", (5, 5), "<i4", **options)
        assert not list(tmp_path.iterdir())
    with pytest.raises(UnsupportedError, match="szip"):
        swath.create(tmp_path / "a.zarr", (5, 5), "<i4", codecs="szip")
    with pytest.raises(ArgumentError, match="chunks"):
        swath.create(tmp_path / "a.npy", (5, 5), "<i4", chunks=(2, 2))
    with pytest.raises(ArgumentError, match="names, one for each"):
        swath.create(tmp_path / "a.zarr", (5, 5), "<i4", dimensions=("x", "x"))


@pytest.mark.parametrize(
    "bad", [b"", b"[]", b"null", b'{"zarr_format": 3', b'{"zarr_format": 3, "node_type": "array"}', b"\xff\xfe"]
)
def test_any_metadata_file_gives_an_error_of_ours(tmp_path: Path, bad: bytes) -> None:
    (tmp_path / "zarr.json").write_bytes(bad)
    with pytest.raises(Error):
        swath.open(tmp_path)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_mutated_metadata_never_end_in_a_foreign_error(tmp_path_factory: Any, data: st.DataObject) -> None:
    metadata = json.loads(json.dumps(data.draw(st.sampled_from([V3, V2, {**V3, "codecs": SHARDED}]))))
    holder: Any = metadata
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(holder[key], (dict, list)) or not holder[key] or data.draw(st.booleans()):
            break
        holder = holder[key]
    values = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
    holder[key] = data.draw(
        values | st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=4), values, max_size=2)
    )
    path = store(tmp_path_factory.mktemp("mutated"), metadata)
    try:
        with swath.open(path) as a:
            if a.nbytes < 1 << 20:
                a.read()
    except Error:
        pass
