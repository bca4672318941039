"""Zarr stores that are invalid, damaged, or must not be replaced: Swath raises an error with the reason."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import swath
from swath import formats
from swath.commands import cli
from swath.errors import ArgumentError, Error, ExistsError, FormatError, StoreError, UnsupportedError
from zarr_cases import OTHER_VALUES, V2, V3, as_zarr_reads, places_in, put, same, store, values_of

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
    (V2, {"compressor": "zlib"}, FormatError, "compressor: expected an object"),
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


@pytest.mark.parametrize("base", [V3, V2], ids=["v3", "v2"])
def test_chunks_of_no_length_are_read_where_the_array_has_no_elements(tmp_path: Path, base: Any) -> None:
    chunks = (
        {"chunks": [0, 3]}
        if base is V2
        else {"chunk_grid": put(V3["chunk_grid"], ("configuration",), {"chunk_shape": [0, 3]})}
    )
    path = store(tmp_path, {**base, "shape": [0, 4], **chunks})
    assert swath.open(path)[...].shape == as_zarr_reads(path).shape == (0, 4)


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
                same(a[20:, 20:], values[20:, 20:])  # the other files are whole
                error = error_of_read(a)
                noticed += error is not None
                assert error is None or str(chunk) in error
        chunk.write_bytes(whole)
    assert noticed > 7 * 15  # nearly all truncated files are noticed


def test_shard_indices_that_lie_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    with swath.create(path, (8,), "<i4", chunks=(4,), shards=(8,), codecs=[]) as a:
        a.write(np.arange(8, dtype="<i4"))
    shard = path / "c/0"
    metadata = json.loads((path / "zarr.json").read_text())
    metadata["codecs"][0]["configuration"]["index_codecs"].pop()  # otherwise the checksum would fail first
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
        same(as_zarr_reads(path), np.arange(4))  # the old array stays until the new one is closed
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


def error_of_open(path: Any) -> Error:
    """Return the error of opening; listing raises the same error."""
    with pytest.raises((FormatError, UnsupportedError)) as found:
        swath.open(path)
    return found.value


NO_SUCH = [
    (V3, {"attributes": [1]}, r"zarr\.json: attributes: expected an object, found \[1\]"),
    (
        V3,
        {"chunk_key_encoding": {"name": "default", "configuration": "x"}},
        r"zarr\.json: chunk_key_encoding\.configuration: expected an object, found 'x'",
    ),
    (V3, {"shape": [5, float("inf")]}, r"shape\[1\]: expected an integer from 0 to 9223372036854775807, found inf"),
    (V3, {"shape": [5, True]}, r"shape\[1\]: expected an integer"),
    (V3, {"shape": [1] * 65}, r"shape: expected a list of integers, one a dimension, of which there are at most"),
    (V3, {"data_type": {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1e400}}}, "scale_"),
    (V3, {"data_type": {"name": "struct", "configuration": {"fields": [["a"]]}}}, r"fields\[0\]: expected a name and"),
    (V3, {"codecs": ["bytes", {"name": "zstd", "configuration": {"level": 1e400}}]}, r"codecs\[1\]\.config.*level: "),
    (V3, {"codecs": [{"name": "transpose", "configuration": {"order": ["0", "1"]}}, "bytes"]}, r"order\[0\]: expected"),
    (V3, {"dimension_names": ["x"]}, "dimension_names: expected 2 names"),
    (V3, {"data_type": "int32", "fill_value": 1.5}, "fill_value: expected a value of dtype int32"),
    (V3, {"node_type": 3}, "node_type: expected one of 'array', 'group', found 3"),
    (
        V3,
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [0, 3]}}},
        r"chunk_shape: expected lengths of chunks of at least 1 element, for an array of shape .*, found \[0, 3\]",
    ),
    (V2, {"chunks": [2, 0]}, "chunks: expected lengths of chunks of at least 1 element"),
    (V3, {"chunk_key_encoding": "\ud800"}, "chunk_key_encoding: expected a string of Unicode"),
    (V2, {"filters": 5}, r"\.zarray: filters: expected a list, found 5"),
    (V2, {"compressor": {"id": "lz4", "acceleration": 2**40}}, "compressor.acceleration: expected an integer from 0"),
    (V2, {"dtype": [["a", "<f8", ["x"]]]}, r"dtype\[0\]\[2\]\[0\]: expected an integer"),
    (V2, {"dtype": 5}, "dtype: expected a string, found 5"),
]


@pytest.mark.parametrize(("base", "change", "words"), NO_SUCH)
def test_a_field_that_is_something_else_is_named_with_what_was_expected(
    tmp_path: Path, base: Any, change: Any, words: str
) -> None:
    path = store(tmp_path, {**base, **change})
    assert re.search(words, str(error_of_open(path)))
    with pytest.raises(FormatError, match=words):
        formats.contents(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "nested more than 64 deep"),
        ('{"attributes": ' + "[" * 100 + "]" * 100 + "}", "nested more than 64 deep"),
        ('{"zarr_format": ' + "9" * 5000 + "}", "not JSON"),
        ('{"shape": [1], "shape": [2]}', "the key 'shape' more than once"),
        (b"\xff\xfe{}", "not JSON"),
        ("[1]", "expected an object of JSON, not list"),
    ],
)
def test_what_is_no_metadata_is_refused(tmp_path: Path, text: str | bytes, words: str) -> None:
    (tmp_path / "zarr.json").write_bytes(text.encode() if isinstance(text, str) else text)
    assert words in str(error_of_open(tmp_path))
    assert cli.main(["info", str(tmp_path)]) == 2


def test_a_huge_file_of_metadata_is_not_read(tmp_path: Path) -> None:
    with open(tmp_path / "zarr.json", "wb") as file:
        file.truncate(1 << 40)
    assert "more than metadata take" in str(error_of_open(tmp_path))


def test_what_others_write_for_attributes_is_read(tmp_path: Path) -> None:
    path = store(tmp_path, {**V3, "attributes": {"_FillValue": float("nan"), "top": float("inf"), "name": "\ud800"}})
    with swath.open(path) as a:
        assert a.attributes["top"] == float("inf")
    assert cli.main(["info", path]) == 0


def test_groups_that_hold_each_other_are_listed_once(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    for name in ("a", "b", "c"):
        (tmp_path / "one" / name).symlink_to(tmp_path / "two")
        (tmp_path / "two" / name).symlink_to(tmp_path / "one")
    assert formats.contents(tmp_path / "one").variables == {}


def test_groups_as_deep_as_a_path_is_long_are_listed(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(1500):
        (deep / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
        deep = deep / "g"
        deep.mkdir()
    (deep / "zarr.json").write_text(json.dumps(V3))
    try:
        assert [len(name) for name in formats.contents(tmp_path).variables] == [2 * 1500 - 1]
    finally:
        subprocess.run(["rm", "-r", str(tmp_path / "g")], check=True)  # shutil would call itself for each level


def test_the_longest_array_there_is_is_read_and_written_at_both_ends(tmp_path: Path) -> None:
    longest = 2**63 - 1
    for number, options in enumerate([{}, {"shards": (8192,)}, {"codecs": []}, {"format": "zarr:v2"}]):
        path = tmp_path / f"{number}.zarr"
        with swath.create(path, (longest,), "<i8", chunks=(4096,), fill=7, **options) as a:
            assert a[-1] == 7
            a.write(np.arange(5), selection=np.s_[-5:])
        with swath.open(path) as a:
            assert a[-1] == 4
            same(a[-7:], [7, 7, 0, 1, 2, 3, 4])
            same(a[:: longest - 1], [7, 4])
            same(a[:: -(longest - 1)], [4, 7])
            same(a[-2 :: 2**70], [3])
            assert a[0] == 7


def test_chunks_that_no_shape_divides_well_are_refused_at_once(tmp_path: Path) -> None:
    for shards in [(2147483647,), (2**61 - 1,), (2147483647, 2147483629)]:
        with pytest.raises(ArgumentError, match="no chunks of a good size divide them"):
            swath.create(tmp_path / "a.zarr", shards, "<f8", shards=shards)
        assert not list(tmp_path.iterdir())
    with swath.create(tmp_path / "a.zarr", (1009, 1009), "<f8", shards=(1009, 1009)) as a:
        assert a.layout.startswith("chunks of 1 by 1009")
    with swath.create(tmp_path / "b.zarr", (2**40,), "<f8", shards=(2**40,)) as a:
        assert a.layout.startswith(f"chunks of {1 << 19}")


def test_any_value_in_any_place_of_metadata_is_right_or_an_error_of_the_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Try two of the values in each place."""
    random = np.random.default_rng(24)
    numbers = np.arange(12).reshape(3, 4)
    for number, options in enumerate(
        [
            {"chunks": (2, 3), "attributes": {"a": [1]}, "dimensions": ("x", "y")},
            {"chunks": (1, 2), "shards": (2, 4), "codecs": ["shuffle", "crc32c"]},
            {"chunks": (2, 3), "format": "zarr:v2", "codecs": ["shuffle", "zlib"], "dimensions": ("x", "y")},
        ]
    ):
        path = tmp_path / f"{number}.zarr"
        with swath.create(path, (3, 4), "<i4", **options) as a:
            a.write(numbers.astype("<i4"))
        for file in [path / name for name in ("zarr.json", ".zarray", ".zattrs") if (path / name).exists()]:
            whole = json.loads(file.read_text())
            for at in places_in(whole):
                for choice in random.integers(len(OTHER_VALUES), size=2):
                    file.write_text(json.dumps(put(whole, at, OTHER_VALUES[choice])))
                    check_right_or_refused(path, capsys)
            file.write_text(json.dumps(whole))


def check_right_or_refused(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        with swath.open(path) as a:
            if all(a.shape):
                assert np.shape(a[(slice(-1, None),) * a.ndim]) == (1,) * a.ndim
    except (FormatError, UnsupportedError):
        pass
    assert cli.main(["info", str(path)]) in (0, 2)
    assert "a bug" not in capsys.readouterr().err
