"""Zarr stores are created, extended and grown; zarr-python and xarray then read them, also after a kill."""

from __future__ import annotations

import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np
import pytest

import swath
from swath import formats
from swath.errors import ArgumentError, ExistsError, FormatError, StoreError, UnsupportedError
from swath.formats import zarr as swath_zarr
from swath.formats.changes import FileChanges
from swath.formats.contents import Dimension
from tree import HELPERS
from zarr_cases import changes_in, files_of, foreign, new_array, same, values_of, zarr

xr = pytest.importorskip("xarray")

Path = pathlib.Path
FLAVOURS = ("v2", "v3")
GROWS = {"dimensions": ("time", "y"), "unlimited": (True, False)}


@pytest.fixture(params=FLAVOURS)
def told(tmp_path: Path, request: pytest.FixtureRequest) -> FileChanges:
    """Return the changes of a new store."""
    swath_zarr.start(str(tmp_path / "a.zarr"), request.param)
    return changes_in(tmp_path / "a.zarr")


def fill_store(told: FileChanges) -> None:
    """Add coordinates, arrays that grow, in the root and in groups, and one array that does not grow."""
    swath_zarr.add(told, new_array("y", (3,), "<f8", dimensions=("y",)))
    swath_zarr.add(told, new_array("time", (0,), "<i8", dimensions=("time",), unlimited=(True,)))
    swath_zarr.add(told, new_array("t", (0, 3), "<f4", fill=-1, attributes={"units": "K"}, **GROWS))
    swath_zarr.add(told, new_array("ocean/surface/t", (0, 3), ">i2", **GROWS))
    swath_zarr.add(told, new_array("mask", (3,), "?", dimensions=("y",)))


def grow(told: FileChanges, name: str, rows: int, value: float) -> None:
    """Write the last of `rows` rows before the dimension has this length."""
    longer = swath_zarr.extend(told, name, rows)
    assert longer.shape[0] == rows
    before = files_of(told.path)
    path = os.path.join(told.path, name)
    array = zarr.open_array(path, mode="r+")
    array.resize(longer.shape)
    array[-1] = value
    for file, held in before.items():
        if "chunk" not in file and os.path.basename(file) in ("zarr.json", ".zarray", ".zmetadata"):
            (Path(told.path) / file).write_bytes(held)  # rows that are stored, but not yet part of the array


def opened(path: str, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return xr.open_zarr(path, chunks=None, **options)


def test_a_new_store_is_a_group_that_others_open(told: FileChanges) -> None:
    assert list(zarr.open_group(told.path, mode="r").members()) == []
    assert swath_zarr.contents(told.path).variables == {}
    with pytest.raises(ExistsError):
        swath_zarr.start(told.path, None)


def test_arrays_and_groups_that_are_added_are_found_by_others(told: FileChanges) -> None:
    fill_store(told)
    root = zarr.open_group(told.path, mode="r", use_consolidated=False)
    found = {name: node.shape for name, node in root.members(max_depth=None) if hasattr(node, "shape")}
    assert found == {"y": (3,), "time": (0,), "t": (0, 3), "mask": (3,), "ocean/surface/t": (0, 3)}
    contents = swath_zarr.contents(told.path)
    assert contents.groups[""].dimensions == {"time": Dimension("time", 0, is_unlimited=True), "y": Dimension("y", 3)}
    assert contents.groups["ocean/surface"].dimensions == {}
    assert list(contents.groups) == ["", "ocean", "ocean/surface"]
    for name, unlimited in (("t", (True, False)), ("ocean/surface/t", (True, False)), ("mask", ())):
        assert formats.describe(told.path, name).unlimited == unlimited
    assert opened(told.path, consolidated=False).attrs == {}, "the books of what grows are not shown"


def test_rows_are_those_of_all_arrays_along_a_dimension_at_once(told: FileChanges) -> None:
    fill_store(told)
    for rows in (1, 2, 3):
        for name in ("time", "t", "ocean/surface/t"):
            grow(told, name, rows, 10 * rows)
        assert opened(told.path, consolidated=False).sizes == {"y": 3, "time": rows - 1}
        swath_zarr.set_length(told, "time", rows)
        with opened(told.path, consolidated=False) as found:
            assert found.t.values[:, 0].tolist() == [10.0 * n for n in range(1, rows + 1)]
        with opened(told.path, group="ocean/surface", consolidated=False) as found:
            assert found.t.values[:, 2].tolist() == [10.0 * n for n in range(1, rows + 1)]
        with swath.open(told.path, "t") as a:
            assert a.shape == (rows, 3)
    swath_zarr.add(told, new_array("late", (0, 3), **GROWS))
    assert formats.describe(told.path, "late").shape == (3, 3), "as long as its dimension"
    swath_zarr.set_length(told, "time", 3)


def test_a_dimension_of_a_group_is_its_own_where_lengths_differ(told: FileChanges) -> None:
    fill_store(told)
    root = zarr.open_group(told.path, mode="r+")
    names = {"dimension_names": ("time",)} if root.metadata.zarr_format == 3 else {}
    other = root.create_array("ocean/t", shape=(7,), dtype="f4", **names)
    if not names:
        other.attrs["_ARRAY_DIMENSIONS"] = ["time"]
    contents = swath_zarr.contents(told.path)
    assert contents.groups["ocean"].dimensions == {"time": Dimension("time", 7)}
    swath_zarr.set_length(told, "ocean/time", 9)
    assert formats.describe(told.path, "ocean/t").shape == (9,)
    assert formats.describe(told.path, "t").shape == (0, 3)
    swath_zarr.set_length(told, "time", 2)
    assert formats.describe(told.path, "ocean/t").shape == (9,)
    assert formats.describe(told.path, "t").shape == (2, 3)


def test_a_dimension_that_a_group_declares_is_its_own_whatever_its_length(told: FileChanges) -> None:
    for name in ("ocean/t", "t"):
        swath_zarr.add(told, new_array(name, (0,), dimensions=("time",), unlimited=(True,)))
    swath_zarr.set_length(told, "time", 4)
    assert formats.describe(told.path, "ocean/t").shape == (0,)
    swath_zarr.set_length(told, "ocean/time", 5)
    assert formats.describe(told.path, "t").shape == (4,)
    assert list(swath_zarr.contents(told.path).groups["ocean"].dimensions) == ["time"]


def test_an_array_without_names_of_dimensions_grows_alone(tmp_path: Path) -> None:
    path = foreign(tmp_path / "a.zarr", values_of((4, 3), "<f4"), (2, 3))
    alone = changes_in(path)
    swath_zarr.set_length(alone, "", 6)
    assert formats.describe(path).shape == (6, 3)
    group = tmp_path / "g.zarr"
    swath_zarr.start(str(group), None)
    told = changes_in(group)
    swath_zarr.add(told, new_array("a", (0, 2), unlimited=(True, False)))
    swath_zarr.add(told, new_array("b", (5, 2)))
    swath_zarr.set_length(told, "a", 8)
    assert [formats.describe(group, name).shape for name in "ab"] == [(8, 2), (5, 2)]


TAKEN = [
    ("t", {}, ExistsError, "an array 't'"),
    ("ocean", {}, ExistsError, "a group 'ocean'"),
    ("t/below", {}, ArgumentError, "'t' is an array, which holds no others"),
    ("ocean/surface/t/x", {}, ArgumentError, "holds no others"),
    ("notes", {}, ArgumentError, "something else than an array"),
    (None, {}, ArgumentError, "no name None"),
    ("../b", {}, ArgumentError, "no name '../b'"),
    ("w", {"dimensions": ("y",)}, ArgumentError, "has the length 3, not 4"),
    ("ice/w", {"dimensions": ("y",)}, ArgumentError, "has the length 3, not 4"),
    ("w", {"dimensions": ("y",), "unlimited": (True,)}, ArgumentError, "not one that grows"),
    ("w", {"attributes": {"a": 1j}}, ArgumentError, "JSON.*'a'"),
    ("w", {"attributes": {"_ARRAY_DIMENSIONS": ["q"]}}, ArgumentError, "give dimensions="),
    ("w", {"chunks": (0,)}, ArgumentError, "chunks"),
    ("w", {"codecs": "nothing"}, UnsupportedError, "nothing"),
]


@pytest.mark.parametrize(("name", "options", "error", "words"), TAKEN)
def test_what_cannot_be_added_changes_nothing(
    told: FileChanges, name: str | None, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    fill_store(told)
    (Path(told.path) / "notes").mkdir()
    before = files_of(told.path)
    with pytest.raises(error, match=words):
        swath_zarr.add(told, new_array(name, (4,), **options))
    assert files_of(told.path) == before
    assert sorted(p.name for p in Path(told.path).iterdir() if p.is_dir()) == [
        "mask",
        "notes",
        "ocean",
        "t",
        "time",
        "y",
    ]


def test_a_store_of_another_version_or_of_one_array_takes_no_more(tmp_path: Path) -> None:
    path = foreign(tmp_path / "one.zarr", values_of((4, 3), "<f4"), (2, 3))
    with pytest.raises(ArgumentError, match="is one array"):
        swath_zarr.add(changes_in(path), new_array("a", (2,)))
    before = files_of(path)
    swath_zarr.finish(path)
    assert files_of(path) == before, "an array needs no consolidated metadata"
    swath_zarr.start(str(tmp_path / "a.zarr"), "v3")
    with pytest.raises(ArgumentError, match="has version 3"):
        swath_zarr.add(changes_in(tmp_path / "a.zarr"), new_array("a", (2,), flavour="v2"))
    with pytest.raises(FormatError, match="no Zarr store"):
        swath_zarr.add(changes_in(tmp_path), new_array("a", (2,)))


def test_a_full_disk_changes_nothing(told: FileChanges) -> None:
    """The last file, the longest, cannot be written: no other file has its name yet."""
    fill_store(told)
    swath_zarr.finish(told.path)
    before = files_of(told.path)
    lengths = sorted(len(held) for held in before.values())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for change in (
        lambda: swath_zarr.set_length(told, "time", 5),
        lambda: swath_zarr.add(told, new_array("ice/t", (0, 3), **GROWS)),
    ):
        resource.setrlimit(resource.RLIMIT_FSIZE, (lengths[-1] // 2, hard))
        try:
            with pytest.raises(StoreError, match="File too large"):
                change()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert files_of(told.path) == before
        assert not (Path(told.path) / "ice").exists()
    assert lengths[-2] < lengths[-1] // 2, "all others could be written"


def test_attributes_are_added_replaced_and_removed(told: FileChanges) -> None:
    fill_store(told)
    swath_zarr.set_attributes(told, "", {"title": "a run", "n": np.int16(3)})
    swath_zarr.set_attributes(told, "", {"n": None, "weights": np.array([0.5, 1.5], "f4"), "names": ["a", "b"]})
    swath_zarr.set_attributes(told, "ocean/surface", {"level": 0.5})
    swath_zarr.set_attributes(told, "t", {"units": "degC", "missing_value": np.float32(-1), "nested": {"a": [1]}})
    found = swath_zarr.contents(told.path)
    root = found.groups[""].attributes
    assert (root.keys(), root["weights"].tolist()) == ({"title", "weights", "names"}, [0.5, 1.5])
    assert found.groups["ocean/surface"].attributes == {"level": 0.5}
    assert found.variables["t"].attributes == {
        "units": "degC",
        "missing_value": -1.0,
        "nested": {"a": [1]},
        "_FillValue": np.float32(-1),
    }
    with opened(told.path, consolidated=False) as dataset:
        assert dataset.attrs == {"title": "a run", "weights": [0.5, 1.5], "names": ["a", "b"]}
        assert dataset.t.attrs == {"units": "degC", "nested": {"a": [1]}}
        assert dataset.sizes == {"time": 0, "y": 3}
    assert formats.describe(told.path, "t").unlimited == (True, False), "what grows is still known"
    before = files_of(told.path)
    for holder, wrong in (
        ("", {"x": b"\xff"}),
        ("no", {}),
        ("t", {"_FillValue": "a"}),
        ("", {"_ARRAY_DIMENSIONS": None}),
    ):
        with pytest.raises(ArgumentError):
            swath_zarr.set_attributes(told, holder, wrong)
    assert files_of(told.path) == before


def test_the_fill_value_among_attributes_is_set_and_removed(told: FileChanges) -> None:
    fill_store(told)
    for value, seen in ((np.float64(7.5), {"_FillValue": np.float32(7.5)}), (None, {})):
        swath_zarr.set_attributes(told, "t", {"_FillValue": value})
        found = formats.describe(told.path, "t").attributes
        assert {k: v for k, v in found.items() if k == "_FillValue"} == seen
        with opened(told.path, consolidated=False, decode_cf=False) as dataset:
            assert dataset.t.attrs == {"units": "K", **seen}


# ---- Consolidated metadata -------------------------------------------------------------------------------------------


def consolidated_names(path: str) -> dict[str, tuple[int, ...]]:
    """Return the shapes that zarr-python reads from one file."""
    root = zarr.open_consolidated(path, mode="r")
    return {name: node.shape for name, node in root.members(max_depth=None) if hasattr(node, "shape")}


def test_consolidated_metadata_are_those_that_zarr_writes(told: FileChanges) -> None:
    fill_store(told)
    swath_zarr.set_attributes(told, "ocean", {"depth": float("nan")})
    one = Path(told.path) / ("zarr.json" if (Path(told.path) / "zarr.json").exists() else ".zmetadata")
    swath_zarr.finish(told.path)
    ours = json.loads(one.read_text())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarr.consolidate_metadata(told.path)
    theirs = json.loads(one.read_text())
    every, other = (found.get("consolidated_metadata", found)["metadata"] for found in (ours, theirs))
    assert list(every) == list(other)
    for name, node in every.items():
        node.get("compressor", {}).pop("checksum", None)  # numcodecs leaves out false values
        left_out = {"storage_transformers"} if name in ("t", "y", "time", "mask", "ocean/surface/t") else set()
        assert node.keys() == other[name].keys() - left_out, name
        assert json.dumps(node, sort_keys=True) == json.dumps({k: other[name][k] for k in node}, sort_keys=True)
    assert {k: v for k, v in ours.items() if "metadata" not in k} == {
        k: v for k, v in theirs.items() if "metadata" not in k
    }


def test_every_change_leaves_consolidated_metadata_true(told: FileChanges) -> None:
    fill_store(told)
    swath_zarr.finish(told.path)
    swath_zarr.add(told, new_array("ice/t", (0, 3), **GROWS))
    one = "zarr.json" if (Path(told.path) / "zarr.json").exists() else ".zmetadata"
    swath_zarr.set_length(told, "time", 2)
    swath_zarr.set_attributes(told, "ocean/surface", {"level": 1})
    swath_zarr.set_attributes(told, "", {"title": "x"})
    found = {"y": (3,), "time": (2,), "t": (2, 3), "ocean/surface/t": (2, 3), "mask": (3,), "ice/t": (2, 3)}
    assert consolidated_names(told.path) == found
    with opened(told.path, consolidated=True) as dataset:
        assert (dataset.sizes, dataset.attrs) == ({"y": 3, "time": 2}, {"title": "x"})
    with opened(told.path, group="ocean/surface", consolidated=True) as dataset:
        assert dataset.attrs == {"level": 1}
    consolidated = swath_zarr.contents(told.path)
    (Path(told.path) / one).write_text((Path(told.path) / one).read_text().replace('"inline"', '"x"'))
    if one == ".zmetadata":
        (Path(told.path) / one).unlink()
    walked = swath_zarr.contents(told.path)
    assert {k: v.shape for k, v in consolidated.variables.items()} == {k: v.shape for k, v in walked.variables.items()}
    assert consolidated.groups == walked.groups


def test_consolidated_metadata_of_a_group_stay_true_too(tmp_path: Path) -> None:
    path = str(tmp_path / "a.zarr")
    swath_zarr.start(path, "v3")
    told = changes_in(path)
    fill_store(told)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarr.consolidate_metadata(path, path="ocean")
    swath_zarr.set_length(told, "time", 4)
    assert consolidated_names(f"{path}/ocean") == {"surface/t": (4, 3)}
    with pytest.raises(ValueError, match="onsolidated"):
        zarr.open_consolidated(path)


def test_what_was_told_takes_all_changes_back(told: FileChanges) -> None:
    fill_store(told)
    swath_zarr.finish(told.path)
    before = files_of(told.path)
    told.commit()
    swath_zarr.add(told, new_array("ice/deep/t", (0, 3), **GROWS))
    swath_zarr.add(told, new_array("z", (0,), dimensions=("z",), unlimited=(True,)))
    swath_zarr.set_length(told, "time", 7)
    swath_zarr.set_attributes(told, "", {"title": "x"})
    swath_zarr.set_attributes(told, "t", {"units": None})
    assert files_of(told.path) != before
    told.undo()
    assert files_of(told.path) == before


def test_metadata_keep_what_others_wrote_in_them_and_their_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    foreign(path, values_of((4, 3), "<f4"), (2, 3), dimension_names=("t", "x"), attributes={"a": [1, 2]})
    file = path / "zarr.json"
    metadata = {**json.loads(file.read_text()), "note": {"must_understand": False, "text": "é"}}
    file.write_text(json.dumps(metadata))
    file.chmod(0o640)
    told = changes_in(path)
    swath_zarr.set_length(told, "t", 9)
    assert json.loads(file.read_text()) == {**metadata, "shape": [9, 3]}
    assert file.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in path.iterdir() if p.name.startswith(".")] == [], "nothing is left beside"


# ---- A kill ----------------------------------------------------------------------------------------------------------

PROGRAM = """
import itertools, sys
from swath import formats
from swath.formats import zarr
from swath.formats.changes import FileChanges

told = FileChanges("zarr", sys.argv[1], is_new=True)
first = formats.describe(sys.argv[1], "time").shape[0]  # a program before may have set it, and not the attribute
for rows in itertools.count(first):
    zarr.set_length(told, "time", rows)
    zarr.set_attributes(told, "", {"rows": rows})
    told.commit()
    if rows == first:
        print("ready", flush=True)
"""

KILLS = int(os.environ.get("SWATH_TEST_KILLS", "6"))


def test_a_kill_leaves_every_file_of_metadata_whole(told: FileChanges) -> None:
    fill_store(told)
    swath_zarr.finish(told.path)
    command = [sys.executable, "-c", PROGRAM, told.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(HELPERS)])}
    delays = random.Random(26)
    for _ in range(KILLS):
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as program:
            assert program.stdout is not None
            assert program.stdout.readline() == b"ready\n"
            time.sleep(0.05 + 0.1 * delays.random())
            program.send_signal(signal.SIGKILL)
        for name in ("t", "time", "ocean/surface/t"):
            assert formats.describe(told.path, name).shape[0] > 0
        with opened(told.path, consolidated=True) as dataset:  # one file: all arrays as they were at one time
            assert dataset.sizes["time"] > 0
            assert dataset.attrs["rows"] in (dataset.sizes["time"], dataset.sizes["time"] - 1)
    grow(told, "t", swath_zarr.extend(told, "t", 10**6).shape[0], 5)
    swath_zarr.set_length(told, "time", 10**6)
    same(zarr.open_array(f"{told.path}/t")[-1], [5, 5, 5])


def test_extend_touches_nothing(told: FileChanges) -> None:
    fill_store(told)
    before = files_of(told.path)
    longer = swath_zarr.extend(told, "t", 5)
    assert (longer.shape, longer.unlimited) == ((5, 3), (True, False))
    assert files_of(told.path) == before
    swath_zarr.set_length(told, "time", 5)
    for name, rows in (("t", 4), ("mask/none", 4)):
        with pytest.raises(ArgumentError):
            swath_zarr.extend(told, name, rows)
    with pytest.raises(ArgumentError, match="there are: time, y"):
        swath_zarr.set_length(told, "lon", 4)
    with pytest.raises(ArgumentError, match="length -1"):
        swath_zarr.set_length(told, "time", -1)


def test_small_records_share_a_chunk_and_large_ones_do_not(told: FileChanges) -> None:
    for name, row, chunks in (("a", (), (1024,)), ("b", (1000,), (16, 1000)), ("c", (500, 500), (1, 500, 500))):
        dimensions = ("time", *(f"{name}{i}" for i in range(len(row))))
        unlimited = (True, *(False for _ in row))
        made = swath_zarr.add(told, new_array(name, (0, *row), dimensions=dimensions, unlimited=unlimited))
        assert made.layout.chunk_shape == chunks
        assert made.shape == (0, *row)
