"""The command line: names of variables and dimensions, messages in its own terms, and a closed pipe at its output."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import swath
from swath.commands import arguments, cli, doctor
from swath.commands.wording import in_options
from swath.errors import ArgumentError

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, which has a netCDF-4 file."""
    monkeypatch.chdir(tmp_path)
    for variable in ("PMI_SIZE", "PMI_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"):
        monkeypatch.delenv(variable, raising=False)
    with netCDF4.Dataset("in.nc", "w") as file:
        for name, length in (("time", None), ("lat", 6), ("lon", 8)):
            file.createDimension(name, length)
            file.createVariable(name, "f8", (name,))[:] = np.arange(length or 9)
        for name in ("a", "b", "c,d"):
            made = file.createVariable(name, "f4", ("time", "lat", "lon"), zlib=True, complevel=3, chunksizes=(1, 6, 8))
            made[:] = np.arange(432).reshape(9, 6, 8)
    np.save("n.npy", np.zeros((20, 30)))
    return tmp_path


def run(capsys: Capture, *argv: str, status: int = 0) -> str:
    assert cli.main(argv) == status, capsys.readouterr().err
    told = capsys.readouterr()
    return told.err if status else told.out


# ---- Copies ----------------------------------------------------------------------------------------------------------


def test_a_file_is_copied_by_names_of_dimensions(capsys: Capture, folder: Path) -> None:
    run(capsys, "copy", "in.nc", "out.nc", "--chunks", "time=3,lat=-1", "--axes", "lat,lon,time")
    with netCDF4.Dataset("out.nc") as file:
        assert set(file.variables) == {"time", "lat", "lon", "a", "b", "c,d"}
        assert (file["a"].dimensions, file["a"].chunking()) == (("lat", "lon", "time"), [6, 8, 3])
        assert file["a"].filters()["complevel"] == 3
        np.testing.assert_array_equal(file["a"][:], np.arange(432).reshape(9, 6, 8).transpose(1, 2, 0))
    run(capsys, "copy", "in.nc", "out.zarr", "--chunks", "time=3", "--shards", "time=9", "--order", "lon,lat,time")
    with swath.open("out.zarr", "a") as a:
        assert a.chunks == (3, 6, 8)
    told = run(capsys, "copy", "in.nc", "other.nc", "--chunks", "lat=2", "--dry-run")
    assert "chunks of 1 × 2 × 8, compressed, moved whole, by shuffle, zlib" in told
    assert not os.path.exists("other.nc")


def test_several_variables_are_named_by_commas_or_by_options(capsys: Capture, folder: Path) -> None:
    for number, argv in enumerate(
        (["in.nc:a,b"], ["in.nc", "--variable", "a", "--variable", "b"], ["in.nc:a", "--variable", "b"])
    ):
        run(capsys, "copy", argv[0], f"{number}.nc", *argv[1:])
        with netCDF4.Dataset(f"{number}.nc") as file:
            assert list(file.variables) == ["a", "b"]
    run(capsys, "copy", "in.nc:c,d", "3.nc", "--coordinates")
    run(capsys, "copy", "in.nc:a", "3.nc", "--target-variable", "e")
    with netCDF4.Dataset("3.nc") as file:
        assert list(file.variables) == ["time", "lat", "lon", "c,d", "e"]
    run(capsys, "copy", "in.nc:a", "none.nc", "--chunks", "none")
    with netCDF4.Dataset("none.nc") as file:
        assert file["a"].chunking() == "contiguous"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["in.nc", "x.nc3", "--chunks", "time=3"], "stores no chunks; leave out --chunks, or make .nc4, .h5 or .zarr"),
        (["n.npy", "x.nc3", "--chunks", "3,3"], "leave out --chunks 3,3, or create .nc4, .h5 or .zarr"),
        (["n.npy", "x.nc3", "--codecs", "zlib"], "--codecs"),
        (["in.nc", "x.nc", "--chunks", "tim=3"], "--chunks names a dimension 'tim', "),
        (["in.nc", "x.nc", "--chunks", "time=0"], "--chunks time=0: 0 elements along 'time' cannot be"),
        (["in.nc", "x.nc", "--chunks", "time=3,5"], '--chunks "time=3,5": "5" cannot be'),
        (["in.nc", "x.nc", "--chunks", "time=x"], '--chunks "x": expected a whole number'),
        (["in.nc", "x.nc", "--axes", "lat,0"], '--axes "lat,0"'),
        (["in.nc", "x.nc", "--shards", "time=3"], "leave out --shards, or make .zarr"),
        (["in.nc:a,b", "x.nc", "--dtype", "f8"], "--dtype is of one array"),
        (["in.nc:a,b", "x.nc", "--chunks", "1,2,3"], "--chunks in numbers is of one array"),
        (["in.nc", "x.npy"], "name one of its variables with --variable; there are a, b, c,d"),
        (["n.npy", "x.zarr", "--memory", "100"], "(--memory)"),
        (["n.npy", "x.npy", "--dtype", "i4"], "--cast unsafe"),
        (["n.npy", "n.npy"], "exists"),
    ],
)
def test_messages_name_the_options_of_the_command_line(
    capsys: Capture, folder: Path, argv: list[str], said: str
) -> None:
    for more in ([], ["--explain"]):
        told = run(capsys, "copy", *argv, *more, status=2)
        assert said in told
        for python in (
            "chunks=",
            "shards=",
            "memory=",
            "axes=",
            "dtype=",
            "variable=",
            "casting=",
            "codecs=",
            "format=",
        ):
            assert python not in told


def test_arguments_become_options_and_other_words_stay() -> None:
    parser = argparse.ArgumentParser()
    for option in ("--chunks", "--cast", "--memory", "--resume", "--source-dtype"):
        parser.add_argument(option, action="store_true" if option == "--resume" else "store")
    for message, said in (
        ("leave out chunks=(8, 8)", "leave out --chunks 8,8"),
        ('chunks={"time": 600, "lat": 45}: no', "--chunks time=600,lat=45: no"),
        ('casting="unsafe" (--cast unsafe) does it', "--cast unsafe does it"),
        ("more (memory=, --memory)", "more (--memory)"),
        ("go on with resume=True (--resume), or resume=False (--restart)", "go on with --resume, or --restart"),
        ("give dtype=", "give --source-dtype"),
        ("name one with variable=", "name one with FILE:VARIABLE"),
        ("/data/chunks=3/a.nc: mode=3, my_chunks=4", "/data/chunks=3/a.nc: mode=3, my_chunks=4"),
    ):
        assert in_options(message, parser) == said


# ---- info, explain, doctor -------------------------------------------------------------------------------------------


def test_info_and_explain_take_the_variable_as_an_argument_of_its_own(capsys: Capture, folder: Path) -> None:
    for argv in (["in.nc", "a"], ["in.nc:a"]):
        assert json.loads(run(capsys, "info", *argv, "--json"))["shape"] == [9, 6, 8]
    assert json.loads(run(capsys, "info", "in.nc", "c,d", "--json"))["variable"] == "c,d"
    assert "two variables are named" in run(capsys, "info", "in.nc:a", "b", status=2)
    assert "there is no variable 'z'" in run(capsys, "info", "in.nc", "z", status=2)
    assert run(capsys, "explain", "in.nc", "a") == run(capsys, "explain", "in.nc:a")
    os.rename("in.nc", "in:1.nc")
    assert json.loads(run(capsys, "info", "in:1.nc", "a", "--json"))["variable"] == "a"


@pytest.mark.parametrize(
    ("order", "more", "as_if"),
    [
        ("C", [], ["--dist", "block,*", "--ranks", "1"]),
        ("C", ["--ranks", "4"], ["--dist", "block,*", "--ranks", "4"]),
        ("F", ["--ranks", "4"], ["--dist", "*,block", "--ranks", "4"]),
        ("F", ["--grid", "2,2"], ["--dist", "block,block", "--grid", "2,2"]),
        ("C", ["--ranks", "2", "--select", "3"], ["--dist", "block", "--ranks", "2", "--select", "3"]),
        (
            "C",
            ["--write", "--method", "direct"],
            ["--dist", "block,*", "--ranks", "1", "--write", "--method", "direct"],
        ),
    ],
)
def test_explain_divides_the_slowest_dimension_where_nobody_says_how(
    capsys: Capture, folder: Path, order: Any, more: list[str], as_if: list[str]
) -> None:
    np.save("m.npy", np.zeros((20, 30), order=order))
    assert run(capsys, "explain", "m.npy", *more) == run(capsys, "explain", "m.npy", *as_if)


def test_explain_of_a_scalar_needs_no_distribution(capsys: Capture, folder: Path) -> None:
    np.save("m.npy", np.float64(1))
    assert "read" in run(capsys, "explain", "m.npy")


def test_names_of_dimensions_and_lengths_are_taken_apart() -> None:
    assert arguments.by_dimension("--chunks", "time=600, lat=45") == {"time": 600, "lat": 45}
    assert arguments.by_dimension("--chunks", "a=b=3") == {"a=b": 3}
    assert arguments.by_dimension("--chunks", "600,45") == (600, 45)
    assert arguments.names_or_integers("--axes", "lat, lon") == ("lat", "lon")
    assert arguments.names_or_integers("--axes", "1,0") == (1, 0)
    for wrong in ("time=", "=3", "time=3,"):
        with pytest.raises(ArgumentError, match="--chunks"):
            arguments.by_dimension("--chunks", wrong)


def test_doctor_names_the_packages_that_swath_works_with(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {finding.name: finding for finding in doctor._versions()}
    for package, *_ in doctor._PACKAGES:
        assert found[package].state == "ok"
        assert found[package].found.startswith(f"{importlib.metadata.version(package)}, for ")
    assert {"xarray", "dask", "zarr", "hdf5plugin", "h5py", "netCDF4"} == {name for name, *_ in doctor._PACKAGES}
    version = importlib.metadata.version

    def missing(package: str) -> str:
        if package in ("xarray", "hdf5plugin"):
            raise importlib.metadata.PackageNotFoundError(package)
        return version(package)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    found = {finding.name: finding for finding in doctor._versions()}
    assert (found["xarray"].state, found["xarray"].advice) == ("without", "pip install 'swath[xarray]'")
    assert (found["hdf5plugin"].state, found["hdf5plugin"].advice) == ("without", "pip install 'swath[filters]'")
    assert found["dask"].state == "ok"


# ---- Who reads standard output goes away -----------------------------------------------------------------------------


READERS = [
    *([name, "--help"] for name in cli.COMMANDS),
    ["--help"],
    ["--version"],
    ["--print-completion", "bash"],
    ["info", "in.nc"],
    ["info", "in.nc", "a"],
    ["info", "in.nc", "--json"],
    ["explain", "in.nc", "a"],
    ["explain", "in.nc", "a", "--json"],
    ["layout", "--access", "[:, j]", "64,64", "f8"],
    ["copy", "in.nc", "out.nc", "--explain"],
    ["copy", "in.nc", "out.nc"],
    ["verify", "in.nc", "in.nc"],
    ["repair", "in.nc"],
    ["throttle", "status"],
]


@pytest.mark.parametrize("argv", READERS, ids=" ".join)
def test_a_command_ends_quietly_where_nobody_reads_what_it_prints(
    argv: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", encoding="utf-8", buffering=1) as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        assert cli.main(argv) == 141
    assert capfd.readouterr().err == ""


def test_a_process_whose_output_is_closed_has_the_status_of_a_broken_pipe_and_says_nothing(folder: Path) -> None:
    for command, status in (("info in.nc | true", 141), ("info --help | true", 141), ("info in.nc >&-", 0)):
        shell = f'"{sys.executable}" -m swath.commands.cli {command}'
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", shell], capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stderr) == (status, ""), command


def test_what_is_closed_takes_no_file_in_its_place(folder: Path) -> None:
    """Descriptor 1 is free if standard output is closed: the copy's file must not get it, or prints would go there."""
    shell = f'"{sys.executable}" -m swath.commands.cli copy in.nc out.nc >&- 2>&-'
    assert subprocess.run(["bash", "-c", shell], timeout=60, check=False).returncode == 0
    assert swath.verify("in.nc", "out.nc")
