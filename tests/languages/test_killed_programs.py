"""Programs of C and Fortran that are killed in the middle leave the old file or the new one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import installed_library
import swath
from fortran_programs import HERE, compiled, fortran_prefix
from installed_library import prefix_for, run
from kills import killed
from tree import PROGRAMS

KILLS = int(os.environ.get("SWATH_LANGUAGE_KILLS", "6"))
"""The kills of a case, spread over all calls that change files."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(installed_library.BUILD_SECONDS_MAX + 100)]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    flags = run([prefix_for() / "bin/swath-config", "--cflags", "--libs"]).split()
    made = tmp_path_factory.mktemp("killed") / "killed"
    run([os.environ.get("CC", "cc"), "-std=c99", PROGRAMS / "installed/killed.c", *flags, "-o", made])
    return made


@pytest.fixture(scope="module")
def fortran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    prefix = fortran_prefix()
    return compiled(Path(shutil.copy(HERE / "killed.f90", tmp_path_factory.mktemp("killed"))), prefix)


def held(path: Path) -> dict[str, object]:
    """Return the content of a file, "t" and "u" as bytes; the open undoes the changes of a killed program first."""
    with swath.open_file(path, mode="r+") as file:
        found: dict[str, object] = {name: (file[name].shape, dict(file[name].attributes)) for name in file}
        # What is defined gets its elements when it is written, or when the file is closed: no part of the change.
        return {**found, "elements": [np.asarray(file[name][...]).tobytes() for name in "tu" if name in file]}


def copied(source: Path, target: Path) -> Path:
    shutil.rmtree(target.parent, ignore_errors=True)
    target.parent.mkdir()
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy(source, target)
    return target


def is_old_or_new(before: Path, folder: Path, command: list[str]) -> None:
    """Kill a program that changes a file (its last argument) at calls from its first to its last one."""
    path = copied(before, folder / before.name)
    old = held(path)
    subprocess.run([*command, str(path)], check=True, timeout=60)
    new = held(path)
    assert old != new

    def changed_until(call: int) -> bool:
        target = str(copied(before, folder / before.name))
        return killed(lambda: os.execv(command[0], [*command, target]), call)

    calls = 1
    while changed_until(calls):
        calls *= 2
    for kill in range(KILLS):
        changed_until(calls * kill // KILLS)
        found = held(path)
        assert found in (old, new), f"killed at call {calls * kill // KILLS} of {before.name}"


@pytest.mark.parametrize("suffix", [".nc3", ".nc4", ".zarr"])
@pytest.mark.parametrize("change", ["replace", "append", "describe", "define"])
def test_a_killed_program_of_c_leaves_the_old_file_or_the_new(
    program: Path, tmp_path: Path, suffix: str, change: str
) -> None:
    before = tmp_path / f"a{suffix}"
    run([program, "begin", before])
    is_old_or_new(before, tmp_path / "changed", [str(program), change])


@pytest.mark.parametrize("suffix", [".nc4", ".zarr"])
def test_a_killed_program_of_fortran_leaves_the_old_file_or_the_new(
    program: Path, fortran: Path, tmp_path: Path, suffix: str
) -> None:
    before = tmp_path / f"a{suffix}"
    run([program, "begin", before])
    is_old_or_new(before, tmp_path / "changed", [str(fortran)])
