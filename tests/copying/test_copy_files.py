"""Copies of whole files: the target's library reads what the source's library wrote; the rest is listed."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr
import zarr

import file_cases
import swath
from file_cases import CLASSIC, FORMAT, KINDS, SUFFIX, Held
from swath.copying import execute
from swath.copying.journal import remove
from swath.simulated import run_ranks
from tree import HELPERS

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*:UserWarning:zarr", "ignore::zarr.errors.UnstableSpecificationWarning"
)

ENGINES = {**dict.fromkeys((*CLASSIC, "netcdf4"), "netcdf4"), "hdf5": "h5netcdf", "zarr": "zarr", "zarr:v2": "zarr"}
PAIRS = list(itertools.product(KINDS, KINDS))
FEW = [pair for number, pair in enumerate(PAIRS) if number % 4 == 0]
SLOW = [pytest.param(*pair, marks=pytest.mark.slow) for pair in PAIRS if pair not in FEW]


def same_attributes(a: dict[str, Any], b: dict[str, Any], *, are_typed: bool, where: str) -> None:
    assert a.keys() == b.keys(), where
    for name, one in a.items():
        other = b[name]
        np.testing.assert_array_equal(np.atleast_1d(one), np.atleast_1d(other), err_msg=f"{where}: {name}")
        if are_typed:
            types = [np.asarray(value).dtype.newbyteorder("=").str.rstrip("0123456789") for value in (one, other)]
            assert types[0] == types[1], f"{where}: {name}"
            if np.asarray(one).dtype.kind != "U":
                assert np.asarray(one).dtype == np.asarray(other).dtype, f"{where}: {name}"


def check_same(a: Held, b: Held, kinds: tuple[str, str]) -> None:
    """Everything is equal: values, names, dimensions, attributes, fill values; types if both formats have them."""
    are_typed = not any(kind.startswith("zarr") for kind in kinds)
    assert list(a.groups) == list(b.groups) or sorted(a.groups) == sorted(b.groups)
    for group, attributes in a.groups.items():
        same_attributes(attributes, b.groups[group], are_typed=are_typed, where=f"group {group}")
    assert sorted(a.variables) == sorted(b.variables)
    for name, one in a.variables.items():
        other = b.variables[name]
        values, dimensions = other.values, other.dimensions
        if one.values.dtype == "S8" and values.dtype == "S1":
            values, dimensions = values.view("S8")[..., 0], dimensions[:-1]
        np.testing.assert_array_equal(one.values, values, err_msg=name)
        assert one.values.dtype.newbyteorder("=") == values.dtype.newbyteorder("="), name
        assert one.dimensions == dimensions, name
        same_attributes(one.attributes, other.attributes, are_typed=are_typed, where=name)
        np.testing.assert_array_equal(np.array(one.fill), np.array(other.fill), err_msg=name)
        if one.chunks and kinds[1] not in CLASSIC:
            assert one.chunks == other.chunks[: one.values.ndim], name
    named = {name: found for name, found in b.dimensions.items() if name != "string8"}
    if kinds[1].startswith("zarr") or kinds[0].startswith(
        "zarr"
    ):  # which have no unlimited ones, and places of their own
        assert {n: found[0] for n, found in a.dimensions.items() if n != "string8"} == {
            n: found[0] for n, found in named.items()
        }
    else:
        assert {name: found for name, found in a.dimensions.items() if name != "string8"} == named


@pytest.mark.parametrize(("source", "target"), [*FEW, *SLOW])
def test_what_two_formats_share_is_copied(tmp_path: Path, source: str, target: str) -> None:
    held = file_cases.example(source, target)
    assert len(held.variables) >= 12
    a, b = tmp_path / f"a{SUFFIX[source]}", tmp_path / f"b{SUFFIX[target]}"
    file_cases.make(a, source, held)
    copied = swath.copy(a, b, format=FORMAT[target])
    check_same(file_cases.read(a, source), file_cases.read(b, target), (source, target))
    assert copied.bytes == sum(one.values.nbytes for one in held.variables.values())
    assert sorted(path.name for path in tmp_path.iterdir()) == [a.name, b.name]
    assert swath.verify(a, b)
    groups = [group for group in held.groups if any(name.rpartition("/")[0] == group for name in held.variables)]
    for group in groups:
        with (
            xr.open_dataset(a, engine=ENGINES[source], group=group or None) as one,
            xr.open_dataset(b, engine=ENGINES[target], group=group or None) as other,
        ):
            xr.testing.assert_equal(one.load(), other.load())


# ---- What cannot be held ---------------------------------------------------------------------------------------------


def refused(source: Path, target: Path, **how: Any) -> str:
    """Return the lines of the error, and check that nothing is left."""
    before = sorted(path.name for path in target.parent.iterdir())
    with pytest.raises(swath.ArgumentError, match="cannot hold all of it, and nothing was written") as raised:
        swath.copy(source, target, **how)
    with pytest.raises(swath.ArgumentError) as explained:
        swath.explain_copy(source, target, **how)
    assert str(explained.value) == str(raised.value)
    assert sorted(path.name for path in target.parent.iterdir()) == before
    return str(raised.value)


def test_everything_that_netcdf_classic_cannot_hold_is_named_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.nc4"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None)
        file.createDimension("level", None)
        file.createDimension("x", 3)
        file.createVariable("good", "f4", ("time", "x"))[:] = 1
        file.createVariable("big", "u8", ("x",))[:] = 1
        file.createVariable("levels", "f4", ("level",))[:] = [1]
        file["good"].sizes = np.array([1, 2], "u4")
        file.createGroup("deep")
        file.setncattr_string("people", ["Ann", "Bob"])
    told = refused(path, tmp_path / "b.nc", format="netcdf-classic:cdf1")
    for words in (
        r"^  group deep: ",
        r"^  attribute people: ",
        r"^  good: attribute sizes: .*uint32",
        r"^  big: .*uint64",
        r"^  dimension level cannot be unlimited",
        r"choose another format .* copy variables one by one",
    ):
        assert re.search(words, told, re.MULTILINE), (words, told)
    assert "  good: netCDF" not in told


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("netcdf4", ["half: .*float16", "pair: attribute both: ", "none: attribute nothing: "]),
        ("hdf5", ["unicode: .*<U3", "none: attribute nothing: ", "pair: attribute both: "]),
        ("netcdf-classic", ["unicode: .*<U3", "half: .*float16", "dimension gone ", "attribute deep: "]),
    ],
)
def test_what_json_alone_holds_is_named(tmp_path: Path, target: str, words: list[str]) -> None:
    root = zarr.open_group(tmp_path / "a.zarr", mode="w", attributes={"deep": {"a": [1, {"b": None}]}})
    root.create_array("half", shape=(3,), dtype="f2", dimension_names=("x",))
    root.create_array("unicode", shape=(3,), dtype="<U3", dimension_names=("x",))
    root.create_array("empty", shape=(0, 3), dtype="i4", dimension_names=("gone", "x"))
    root.create_array("none", shape=(), dtype="i4", attributes={"nothing": None})
    root.create_array("pair", shape=(), dtype="i4", attributes={"both": [1, "one"]})
    told = refused(tmp_path / "a.zarr", tmp_path / "b", format=target)
    for one in words:
        assert re.search(rf"^  {one}", told, re.MULTILINE), (one, told)
    swath.copy(tmp_path / "a.zarr", tmp_path / "b.zarr")
    assert swath.verify(tmp_path / "a.zarr", tmp_path / "b.zarr")


def test_attributes_of_one_array_that_the_target_cannot_hold_are_left_out_and_said(tmp_path: Path) -> None:
    root = zarr.open_group(tmp_path / "a.zarr", mode="w")
    root.create_array("t", shape=(3,), dtype="i4", attributes={"nothing": None, "units": "K"})[...] = [1, 2, 3]
    with pytest.warns(UserWarning, match="attribute nothing: netCDF classic stores text and numbers"):
        swath.copy(tmp_path / "a.zarr", tmp_path / "b.nc", variable="t", format="netcdf-classic")
    with netCDF4.Dataset(tmp_path / "b.nc") as file:
        assert file["t"].ncattrs() == ["units"]


def test_dimensions_without_variables_are_kept_or_said_to_be_left_out(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("unused", 3)
        file.createVariable("t", "i4", ())
    swath.copy(tmp_path / "a.nc", tmp_path / "b.nc4")
    with netCDF4.Dataset(tmp_path / "b.nc4") as copied:
        assert len(copied.dimensions["unused"]) == 3
    with pytest.warns(UserWarning, match="dimension unused of length 3"):
        swath.copy(tmp_path / "a.nc", tmp_path / "b.zarr")


def test_datasets_without_dimensions_get_some_where_the_format_wants_them(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["a"], file["b"], file["g/c"] = np.ones((3, 4)), np.ones((4, 3)), np.ones((3, 3))
    for name, kind in (("b.nc", "netcdf4"), ("c.nc", "netcdf-classic")):
        if name == "c.nc":
            with h5py.File(tmp_path / "a.h5", "a") as file:
                del file["g"]
        swath.copy(tmp_path / "a.h5", tmp_path / name, format=kind)
        with netCDF4.Dataset(tmp_path / name) as copied:
            lengths = {key: len(dimension) for key, dimension in copied.dimensions.items()}
            assert copied["a"].shape == (3, 4)
            assert lengths["dim0"] == 3
            assert len(lengths) <= 3


def test_a_whole_file_is_netcdf4_by_the_suffix_nc_and_keeps_the_version_of_zarr(tmp_path: Path) -> None:
    for version in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA", "NETCDF4"):
        with netCDF4.Dataset(tmp_path / "a.nc", "w", format=version) as file:
            file.createVariable("t", "i4", ())
            file.createVariable("u", "i4", ())
        swath.copy(tmp_path / "a.nc", tmp_path / "b.nc", overwrite=True)
        with netCDF4.Dataset(tmp_path / "b.nc") as copied:
            assert copied.data_model == "NETCDF4"
            assert list(copied.variables) == ["t", "u"]
    zarr.open_group(tmp_path / "a.zarr", mode="w", zarr_format=2).create_array("t", shape=(3,), dtype="i4")
    swath.copy(tmp_path / "a.zarr", tmp_path / "b.zarr")
    assert zarr.open_group(tmp_path / "b.zarr", mode="r").metadata.zarr_format == 2


# ---- Large ones, kills, ranks, codecs --------------------------------------------------------------------------------


def large(path: Path, rows: int = 600) -> None:
    """Make two large variables, one of them along records, and some small ones; chunked in netCDF-4."""
    rng = np.random.default_rng(1)
    chunks = {"chunksizes": (5, 50, 80), "compression": "zlib", "complevel": 1} if path.suffix == ".nc4" else {}
    with netCDF4.Dataset(path, "w", format="NETCDF4" if chunks else "NETCDF3_64BIT_OFFSET") as file:
        file.createDimension("time", None)
        file.createDimension("y", 50)
        file.createDimension("x", 80)
        for name in ("first", "second", "third"):
            file.createVariable(name, "i4", ("x",))[:] = np.arange(80)
        file.createVariable("t", "f4", ("time", "y", "x"), **chunks)[:] = rng.integers(0, 99, (rows, 50, 80))
        file.createVariable("time", "f8", ("time",))[:] = np.arange(rows)
        file.createVariable("v", "f8", ("y", "x"))[:] = rng.random((50, 80))
        file.createDimension("z", rows)
        file.createVariable("w", "i2", ("z", "y", "x"), **chunks)[:] = rng.integers(0, 99, (rows, 50, 80))


TARGETS: dict[str, dict[str, Any]] = {
    "b.nc": {"format": "netcdf-classic"},
    "b.nc4": {"codecs": ["shuffle", {"name": "zlib", "configuration": {"level": 1}}]},
    "b.h5": {},
    "b.zarr": {"codecs": "lz4"},
}


def source_for(folder: Path, name: str, rows: int = 600) -> Path:
    path = folder / ("a.nc4" if name in ("b.nc4", "b.zarr") else "a.nc")
    large(path, rows)
    return path


@pytest.mark.parametrize("name", TARGETS)
def test_a_copy_of_a_file_that_was_killed_goes_on_to_the_same(tmp_path: Path, name: str) -> None:
    source = source_for(tmp_path, name)
    options = {**TARGETS[name], "memory": 4_000_000, "checkpoint_bytes": 1_000_000}
    swath.copy(source, tmp_path / f"whole-{name}", **options)
    journal = tmp_path / f".{name}.swath-copy.journal"
    dice = random.Random(name)
    went_on = 0
    for _ in range(int(os.environ.get("SWATH_KILLS", "2"))):
        process = subprocess.Popen(program("run", source, tmp_path / name, options), env=environment())
        wanted = dice.randrange(1, 20)
        while process.poll() is None and not (journal.exists() and len(journal.read_bytes().splitlines()) > wanted):
            time.sleep(0.0005)
        process.kill()
        process.wait(10)
        copied = swath.copy(source, tmp_path / name, resume=True, overwrite=True, **options)
        went_on += copied.resumed_bytes > 0
        assert swath.verify(source, tmp_path / name)
        if name == "b.nc":
            assert (tmp_path / name).read_bytes() == (tmp_path / f"whole-{name}").read_bytes()
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([source.name, name, f"whole-{name}"])
        remove(tmp_path / name)
    assert went_on > 0


def fails(*arguments: Any) -> float:
    raise swath.StoreError("No space left on device", 28)


def test_another_copy_than_the_interrupted_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large(tmp_path / "a.nc", 100)
    how: dict[str, Any] = {"memory": 2_000_000, "checkpoint_bytes": 100_000}
    monkeypatch.setattr(execute, "_copy_large", fails)
    with pytest.raises(swath.StoreError, match="what is done is kept"):
        swath.copy(tmp_path / "a.nc", tmp_path / "b.nc", **how)
    monkeypatch.undo()
    with pytest.raises(swath.ExistsError, match=r"was interrupted \(v, variable 5 of 7, pass 1"):
        swath.copy(tmp_path / "a.nc", tmp_path / "b.nc", **how)
    with pytest.raises(swath.ArgumentError, match="the interrupted copy was another one: "):
        swath.copy(tmp_path / "a.nc", tmp_path / "b.nc", variable="w", resume=True, **how)
    assert swath.copy(tmp_path / "a.nc", tmp_path / "b.nc", resume=True, **how).resumed_bytes > 0
    assert swath.verify(tmp_path / "a.nc", tmp_path / "b.nc")


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("name", TARGETS)
def test_ranks_copy_a_file_together(tmp_path: Path, name: str, ranks: int) -> None:
    source = source_for(tmp_path, name, 60)
    options = {**TARGETS[name], "memory": 4_000_000 * ranks, "checkpoint_bytes": 1_000_000, "workers": ranks}
    target = tmp_path / name
    copied = run_ranks(ranks, lambda comm: swath.copy(source, target, comm=comm, **options))
    assert {one.bytes for one in copied} == {copied[0].bytes}
    assert all(run_ranks(ranks, lambda comm: swath.verify(source, target, comm=comm)))
    with xr.open_dataset(source, engine="netcdf4") as one, xr.open_dataset(target, engine=engine_of(name)) as other:
        xr.testing.assert_equal(one.load(), other.load())


def program(what: str, source: Path, target: Path, options: dict[str, Any]) -> list[str]:
    return [sys.executable, str(HELPERS / "copy_program.py"), what, str(source), str(target), json.dumps(options)]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(HELPERS), *sys.path])}


def engine_of(name: str) -> str:
    return {"nc": "netcdf4", "nc3": "netcdf4", "nc4": "netcdf4", "h5": "h5netcdf", "zarr": "zarr"}[
        name.rpartition(".")[2]
    ]


def test_codecs_are_those_of_the_source_or_those_that_are_asked_for(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc4", "w") as file:
        file.createDimension("x", 30_000)
        v = file.createVariable("v", "f8", ("x",), compression="zlib", complevel=3, shuffle=True, chunksizes=(1000,))
        v[:] = np.arange(30_000)
        file.createVariable("small", "i4", ("x",), contiguous=True)[:] = 1
    swath.copy(tmp_path / "a.nc4", tmp_path / "b.h5")
    with h5py.File(tmp_path / "b.h5") as copied:
        assert (copied["v"].compression, copied["v"].compression_opts, copied["v"].shuffle) == ("gzip", 3, True)
        assert copied["v"].chunks == (1000,)
        assert copied["small"].chunks is None
    swath.copy(tmp_path / "a.nc4", tmp_path / "b.zarr")
    made = zarr.open_group(tmp_path / "b.zarr", mode="r")["v"]
    assert made.chunks == (1000,)
    assert [codec.to_dict()["name"] for codec in made.compressors] == ["blosc"]
    swath.copy(tmp_path / "a.nc4", tmp_path / "c.h5", codecs=["fletcher32"])
    with h5py.File(tmp_path / "c.h5") as copied:
        assert (copied["v"].compression, copied["v"].fletcher32, copied["small"].fletcher32) == (None, True, True)
    swath.copy(tmp_path / "a.nc4", tmp_path / "d.h5", codecs=[])
    with h5py.File(tmp_path / "d.h5") as copied:
        assert copied["v"].compression is None
        assert copied["v"].chunks == (1000,)
    for name in ("b.h5", "b.zarr", "c.h5", "d.h5"):
        assert swath.verify(tmp_path / "a.nc4", tmp_path / name)


def test_what_zarr_compresses_is_deflated_where_every_reader_is_to_have_the_filter(tmp_path: Path) -> None:
    with swath.create_file(tmp_path / "a.zarr") as file:
        for name, codecs in (("v", "blosc"), ("plain", []), ("zlib", ["numcodecs.shuffle", "numcodecs.zlib"])):
            with file.create(name, (4000,), "f8", chunks=(1000,), codecs=codecs) as v:
                v.write(np.arange(4000.0))
    swath.copy(tmp_path / "a.zarr", tmp_path / "b.nc4")
    with h5py.File(tmp_path / "b.nc4") as copied:
        assert [(copied[name].compression, copied[name].compression_opts) for name in ("v", "plain", "zlib")] == [
            ("gzip", 4),
            (None, None),
            ("gzip", 1),
        ]
    assert swath.verify(tmp_path / "a.zarr", tmp_path / "b.nc4")


@pytest.mark.parametrize("name", ["b.nc", "b.nc3", "b.h5", "b.zarr"])
def test_a_file_without_variables_is_copied(tmp_path: Path, name: str) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_CLASSIC") as file:
        file.title = "nothing yet"
    assert swath.copy(tmp_path / "a.nc", tmp_path / name).bytes == 0
    with swath.open_file(tmp_path / name) as copied:
        assert dict(copied.attributes) == {"title": "nothing yet"}
        assert list(copied) == []


def test_a_copied_file_goes_on_growing(tmp_path: Path) -> None:
    """Elements after the last row, in a partly filled chunk, have the fill value."""
    with netCDF4.Dataset(tmp_path / "a.nc4", "w") as file:
        file.createDimension("time", None)
        file.createDimension("x", 30)
        v = file.createVariable("v", "f4", ("time", "x"), chunksizes=(4, 7), fill_value=-9.0)
        v[:] = np.ones((6, 30))
    swath.copy(tmp_path / "a.nc4", tmp_path / "b.nc4")
    for name in ("a.nc4", "b.nc4"):
        with netCDF4.Dataset(tmp_path / name, "a") as file:
            file.set_auto_mask(False)
            file["v"][9, 3] = 5
    with netCDF4.Dataset(tmp_path / "a.nc4") as one, netCDF4.Dataset(tmp_path / "b.nc4") as other:
        np.testing.assert_array_equal(one["v"][:].filled(), other["v"][:].filled())
        assert other["v"][:].filled()[6:9].min() == other["v"][:].filled()[6:9].max() == -9


def test_verify_names_all_that_differs(tmp_path: Path) -> None:
    large(tmp_path / "a.nc", 10)
    swath.copy(tmp_path / "a.nc", tmp_path / "b.nc4")
    with netCDF4.Dataset(tmp_path / "b.nc4", "a") as file:
        file["t"][3, 2, 1] = -5
        file["t"].units = "K"
        file.createVariable("more", "i4", ())
        file.title = "changed"
    found = swath.verify(tmp_path / "a.nc", tmp_path / "b.nc4")
    assert not found
    told = str(found)
    for words in (r"t: different: 1 of 40,000 elements; the first at \(3, 2, 1\)", "attribute units", "b.nc4: more"):
        assert re.search(words, told), told
    assert "attribute title: only in the second" in told
    assert found.variables["w"]


def test_explain_tells_of_every_variable_and_of_all(tmp_path: Path) -> None:
    large(tmp_path / "a.nc")
    explained = swath.explain_copy(tmp_path / "a.nc", tmp_path / "b.zarr", memory="64MiB")
    told = explained.to_dict()
    assert list(told["variables"]) == ["first", "second", "third", "time", "v", "t", "w"]
    assert told["memory_bytes"] == max(one["memory_bytes"] for one in told["variables"].values())
    assert told["disk_bytes"] == sum(one["disk_bytes"] for one in told["variables"].values())
    assert told["seconds"] < sum(one["seconds"] for one in told["variables"].values())
    for words in (
        "7 variables, one after another; 5 as one tile each",
        "  t         9.2 MiB, 1 pass\n",
        "predicted",
    ):
        assert words in str(explained)
    assert [path.name for path in tmp_path.iterdir()] == ["a.nc"]


@pytest.mark.parametrize("name", ["b.nc", "b.nc4", "b.zarr"])
def test_memory_of_a_whole_copy_stays_within_the_budget(tmp_path: Path, name: str) -> None:
    source = source_for(tmp_path, name, 4000)  # 92 MiB
    options = {**TARGETS[name], "memory": 48 << 20}
    command = program("memory", source, tmp_path / name, options)
    ended = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=500, check=False)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told["planned"] <= 48 << 20
    assert told["peak"] <= 1.1 * (48 << 20)
