"""MPI-IO programs with the drop-in: every byte is where MPI says, and no other byte changed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from mpi_io_runs import python, reported, run, run_well, stub
from tree import PROGRAMS

ALL_VIEWS = [
    "contiguous",
    "vector",
    "indexed",
    "subarray",
    "subarray of three dimensions",
    "structure",
    "darray",
    "nested",
]


def check(ranks: int, program: str, *arguments: object, **options: object) -> None:
    ended = run_well(ranks, python(program, *arguments), **options)
    assert "all right" in ended.out
    assert any("served" in line for line in ended.told), "nothing was served"


# Each view with some numbers of ranks, each number with some views; SWATH_MPI_IO_ALL=1: every one with every one.
VIEWS_AND_RANKS = [
    (view, ranks)
    for place, view in enumerate(ALL_VIEWS)
    for ranks in (1, 2, 3, 4, 5)
    if os.environ.get("SWATH_MPI_IO_ALL") or (place + ranks) % 5 in (0, 2)
]


@pytest.mark.parametrize(("ranks", "view"), [(1, "vector"), (2, "indexed"), (3, "structure")])
def test_every_call_moves_the_bytes_of_its_view(tmp_path: Path, ranks: int, view: str) -> None:
    check(ranks, "mpi_io_data.py", "views", tmp_path, view)


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize(("view", "ranks"), VIEWS_AND_RANKS)
def test_every_call_moves_the_bytes_of_every_view(tmp_path: Path, ranks: int, view: str) -> None:
    check(ranks, "mpi_io_data.py", "views", tmp_path, view, seconds_max=300)


@pytest.mark.parametrize("threads", ["on", "off"])
def test_calls_beside_the_program_need_no_threads_of_mpi(tmp_path: Path, threads: str) -> None:
    command = python("mpi_io_data.py", "views", tmp_path, "darray")
    environment = {"SWATH_MPI_IO_THREADS": threads, "MPI4PY_RC_THREADS": "0"}
    ended = run_well(2, command, environment=environment)
    assert "nonblocking calls were done at their start" not in ended.err, "MPICH asks whether they are done"


@pytest.mark.parametrize("ranks", [1, 3])
def test_shared_pointers_give_each_record_a_place_of_its_own(tmp_path: Path, ranks: int) -> None:
    check(ranks, "mpi_io_data.py", "pointers", tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5])
def test_reads_at_the_end_of_the_file_say_how_much_there_was(tmp_path: Path, ranks: int) -> None:
    check(ranks, "mpi_io_data.py", "end", tmp_path, seconds_max=250)


PARTS = ["modes", "hints", "together", "threads", "orders"]


@pytest.mark.parametrize(
    ("part", "ranks"), [("modes", 2), ("modes", 1), ("hints", 2), ("together", 4), ("threads", 2), ("orders", 2)]
)
def test_what_a_file_is_told_and_asked(tmp_path: Path, part: str, ranks: int) -> None:
    check(ranks, "mpi_io_modes.py", part, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5])
def test_what_a_file_is_told_and_asked_at_any_number_of_ranks(tmp_path: Path, part: str, ranks: int) -> None:
    check(ranks, "mpi_io_modes.py", part, tmp_path)


def test_hints_decide_how_it_is_done(tmp_path: Path) -> None:
    ended = run_well(2, python("mpi_io_modes.py", "hints", tmp_path))
    operations = Counter({told.kind: told.operations for told in reported(ended)})
    assert operations == {
        "collective write by two-phase": 5,
        "independent read by list": 1,
        "collective write by list": 1,
        "collective read by list": 1,
        "independent read by sieve": 1,
        "collective read by two-phase": 3,
    }
    ignored = [line for line in ended.told if "is ignored" in line]
    assert sorted(line.split()[1] for line in ignored) == [
        "romio_cb_read=disable,",
        "swath_method=direct,",
    ]
    assert not any("no_such_hint" in line for line in ended.told)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_files_of_real_programs_patterns_are_the_same_without(tmp_path: Path, ranks: int) -> None:
    """BTIO's, PnetCDF's, HDF5's and IOR's: types, header and data."""
    for folder in ("with", "without"):
        (tmp_path / folder).mkdir()
        ended = run(ranks, python("mpi_io_patterns.py", "write", tmp_path / folder), served=folder == "with")
        assert "all right" in ended.out, ended.err
        assert len([line for line in ended.told if ": served, " in line]) == (4 if folder == "with" else 0)
    for path in (tmp_path / "with").iterdir():
        assert path.read_bytes() == (tmp_path / "without" / path.name).read_bytes(), path.name
    assert len(list((tmp_path / "with").iterdir())) == 4


# ---- the report ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled tests/programs/preload/count_io.c."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    library = tmp_path_factory.mktemp("preload") / "count_io.so"
    source = PROGRAMS / "preload" / "count_io.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.mark.parametrize("engine", ["posix"])
@pytest.mark.parametrize(
    ("ranks", "part"), [(1, "hints"), (3, "hints"), (4, "together"), (2, "orders"), (2, "threads")]
)
def test_the_report_counts_what_the_kernel_saw(
    tmp_path: Path, counter: Path, ranks: int, part: str, engine: str
) -> None:
    """Requests, and bytes moved, of all files and ranks together."""
    log = tmp_path / "log"
    data = tmp_path / "data"
    data.mkdir()
    environment = {"SWATH_COUNT_LOG": str(log), "SWATH_MPI_IO_ENGINE": engine}
    command = ["env", f"LD_PRELOAD={counter}:{stub()}", *python("mpi_io_modes.py", part, data)]
    ended = run_well(ranks, command, served=False, environment=environment)
    seen = [line.split(" ", 2) for line in log.read_text().splitlines()]
    moved = [int(count) for _, count, path in seen if path.startswith(os.path.realpath(data))]
    told = reported(ended)
    assert sum(one.requests for one in told) == len(moved) > 0
    assert sum(one.bytes_moved for one in told) == sum(moved) > 0
