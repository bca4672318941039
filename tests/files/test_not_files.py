"""Paths that are no files with byte offsets: pipes, sockets, devices, folders. An error at once, and no hang."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import swath
from swath.commands import cli
from swath.errors import StoreError

SECONDS = 60
"""The time limit of a program that must not hang, on a busy machine."""


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        before = os.getcwd()
        os.chdir(path.parent)  # the name of a socket is short
        try:
            bound.bind(path.name)
        finally:
            os.chdir(before)


def make_link_to_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


MAKERS: list[Callable[[Path], None]] = [make_pipe, make_socket, make_link_to_device, Path.mkdir]


@pytest.fixture(params=MAKERS, ids=lambda make: make.__name__)
def not_a_file(request: pytest.FixtureRequest) -> Iterator[Callable[[Path], None]]:
    """Replace what is at a path by one of them."""

    def put(path: Path) -> None:
        path.unlink(missing_ok=True)
        request.param(path)

    return put


def run(program: str, *arguments: object) -> str:
    """Return the output of a program that must end by itself."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True).stdout.strip()


OPEN = """
import sys, swath
try:
    with swath.open(sys.argv[1], **eval(sys.argv[2])) as a:
        a[...]
except swath.StoreError as error:
    print(error)
"""


@pytest.mark.parametrize(
    "options",
    [
        "{}",
        "{'shape': (4,), 'dtype': 'f8'}",
        "{'shape': (4,), 'dtype': 'f8', 'mode': 'r+'}",
        "{'format': 'npy'}",
        "{'format': 'netcdf-classic'}",
        "{'format': 'hdf5'}",
    ],
)
def test_what_is_no_file_is_refused_in_place_of_one(
    tmp_path: Path, not_a_file: Callable[[Path], None], options: str
) -> None:
    path = tmp_path / "a"
    not_a_file(path)
    assert str(path) in run(OPEN, path, options)


@pytest.mark.parametrize("name", ["zarr.json", "c/0"])
def test_what_is_no_file_is_refused_in_a_zarr_store(
    tmp_path: Path, not_a_file: Callable[[Path], None], name: str
) -> None:
    for shards in (None, (8,)):
        store = tmp_path / f"{shards}.zarr"
        with swath.create(store, (8,), "<i4", chunks=(4,), shards=shards) as a:
            a.write(np.arange(8, dtype="<i4"))
        not_a_file(store / name)
        assert str(store / name) in run(OPEN, store, "{}")


@pytest.mark.parametrize("name", [".zarray", ".zattrs", "0"])
def test_what_is_no_file_is_refused_in_a_zarr_store_of_version_2(
    tmp_path: Path, not_a_file: Callable[[Path], None], name: str
) -> None:
    store = tmp_path / "a.zarr"
    with swath.create(store, (4,), "<i4", format="zarr:v2", attributes={"a": 1}) as a:
        a.write(np.arange(4, dtype="<i4"))
    not_a_file(store / name)
    assert str(store / name) in run(OPEN, store, "{}")


def test_a_chunk_that_is_written_in_part_is_read_from_files_only(
    tmp_path: Path, not_a_file: Callable[[Path], None]
) -> None:
    store = tmp_path / "a.zarr"
    with swath.create(store, (8,), "<i4", chunks=(4,)) as a:
        a.write(np.arange(8, dtype="<i4"))
    not_a_file(store / "c" / "0")
    program = "import sys, swath\nwith swath.open(sys.argv[1], mode='r+') as a:\n    a[:2] = 5"
    with pytest.raises(subprocess.CalledProcessError) as failed:
        run(program, store)
    assert "StoreError" in failed.value.stderr
    assert str(store / "c" / "0") in failed.value.stderr


def test_the_command_line_says_so_in_one_line(
    tmp_path: Path, not_a_file: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a"
    not_a_file(path)
    assert cli.main(["info", str(path)]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith(f"swath: {path}: ")
    assert printed.count("\n") == 1


def test_a_file_is_opened_for_waiting_again(tmp_path: Path) -> None:
    """Engines do not wait for the device if the descriptor is non-blocking."""
    path = tmp_path / "a.npy"
    np.save(path, np.arange(8))
    with swath.open(path, engine="posix") as a:
        flags = [
            int(line.split()[1], 8)
            for number in os.listdir("/proc/self/fd")
            if os.path.exists(f"/proc/self/fd/{number}") and os.path.realpath(f"/proc/self/fd/{number}") == str(path)
            for line in Path(f"/proc/self/fdinfo/{number}").read_text().splitlines()
            if line.startswith("flags:")
        ]
        assert a[3] == 3
    assert flags
    assert not any(flag & os.O_NONBLOCK for flag in flags)


def test_a_pipe_is_refused_here_too(tmp_path: Path) -> None:
    """No other process is involved: a failure is a hang."""
    os.mkfifo(tmp_path / "a")
    with pytest.raises(StoreError, match="expected a regular file or a block device"):
        swath.open(tmp_path / "a")
