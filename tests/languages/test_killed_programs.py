"""Programs of C and Fortran that are killed in the middle, or of which a rank is, leave the old file or the new one."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import installed_library
import killed_rank_program
import swath
from fortran_programs import HERE, compiled, fortran_prefix
from installed_library import WHEEL, prefix_for, run, surroundings
from kills import killed
from tree import PROGRAMS

SUFFIXES = (".nc3", ".nc4", ".zarr")
KILLS = int(os.environ.get("SWATH_LANGUAGE_KILLS", "4"))
"""How many kills a case has, spread over all calls that change files."""

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
    """What a file holds, "t" and "u" as bytes; whoever opens it takes back first what a killed program began."""
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
    """Of a program that changes a file, whose path comes last, killed at calls from its first to its last."""
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


@pytest.mark.parametrize("suffix", SUFFIXES)
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


# ---- One of several ranks --------------------------------------------------------------------------------------------

RANKS = 4


@pytest.fixture(scope="module")
def ranks_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    flags = run([prefix_for() / "bin/swath-config", "--mpi", "--cflags", "--libs"]).split()
    made = tmp_path_factory.mktemp("killed") / "killed_ranks"
    run([os.environ.get("CC", "cc"), "-std=c99", PROGRAMS / "installed/killed_ranks.c", *flags, "-o", made])
    return made


def is_ended_by_a_killed_rank(rank: int, call: int, command: list[object]) -> bool:
    """Whether the rank was killed, and all others ended; else the program has come to its end."""
    wrapper = [sys.executable, Path(killed_rank_program.__file__), rank, call]
    launched = [*WHEEL.mpiexec, "-n", RANKS, *wrapper, *command]
    done = subprocess.run(
        list(map(str, launched)),
        env=surroundings(prefix_for()),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode in (0, killed_rank_program.KILLED), done.stderr[-3000:]
    return done.returncode != 0


LAST = RANKS - 1
IN_CI = [("replace", 0, ".nc4"), ("replace", LAST, ".zarr"), ("append", LAST, ".nc3"), ("append", 0, ".nc4")]
ALL = list(itertools.product(("replace", "append"), (0, LAST), SUFFIXES))


@pytest.mark.parametrize(
    ("change", "rank", "suffix"),
    [*IN_CI, *(pytest.param(*one, marks=pytest.mark.exhaustive) for one in ALL if one not in IN_CI)],
)
def test_a_killed_rank_of_c_leaves_the_old_file_or_the_new(
    ranks_program: Path, tmp_path: Path, change: str, rank: int, suffix: str
) -> None:
    before = tmp_path / f"a{suffix}"
    mpiexec = [*WHEEL.mpiexec, "-n", RANKS, ranks_program]
    run([*mpiexec, "begin", before], env=surroundings(prefix_for()))
    path = copied(before, tmp_path / "changed" / before.name)
    old = held(path)
    run([*mpiexec, change, path], env=surroundings(prefix_for()))
    new = held(path)
    assert old != new

    def ends_early(call: int) -> bool:
        killed_early = is_ended_by_a_killed_rank(
            rank, call, [ranks_program, change, copied(before, tmp_path / "changed" / before.name)]
        )
        assert held(path) in (old, new), f"rank {rank} killed at call {call} of {before.name}"
        return killed_early

    calls = 4
    while ends_early(calls):
        calls *= 4
    assert calls > 4, "nobody was killed"
    for kill in range(1, KILLS - 1):
        ends_early(calls * kill // KILLS)
