"""Wrong programs get MPI's errors: the same classes with the drop-in and without, each reported once."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from mpi_io_runs import compiled, run, run_well

DIFFERENT = {
    # MPICH does not look at the mode in ordered calls, nor in preallocate, nor at which split call is ended.
    "read_ordered_of_wronly": "MPI_ERR_ACCESS instead of success",
    "write_ordered_of_rdonly": "MPI_ERR_READ_ONLY instead of MPI_ERR_IO",
    "preallocate_of_rdonly": "MPI_ERR_READ_ONLY instead of MPI_ERR_IO",
    "end_of_another": "MPI_ERR_IO instead of success",
}
FREED = {"read_with_a_freed_type", "write_together_with_a_freed_type", "view_of_a_freed_type"}
"""MPICH 5.0 itself crashes in these, or not, depending on the number at the handle."""
NO_ERROR = {"no_null_buffer_of_nothing", "no_status", "together_while_begun", "view_whose_type_is_freed"}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("errors"), "errors.c")


def cases(program: Path) -> list[str]:
    """All cases except those in which MPICH itself may crash: a closed file is memory that may be used again."""
    listed = subprocess.run([program, "list"], capture_output=True, text=True, check=True).stdout.split()
    return [name for name in listed if name not in FREED and not name.endswith("_closed_file")]


Answers = dict[str, tuple[list[int], list[int]]]
"""For each case, the classes and the calls of handlers, a number per rank."""


def answers(out: str, ranks: int) -> Answers:
    """Classes and calls of handlers, of each case and rank."""
    lines = [line.split() for line in out.splitlines()]
    found: Answers = {}
    for name, _, code, handled in sorted(lines):
        classes, counts = found.setdefault(name, ([], []))
        classes.append(int(code))
        counts.append(int(handled))
    assert all(len(classes) == ranks for classes, _ in found.values())
    return found


def ask(program: Path, way: str, names: Sequence[str], folder: Path, *, ranks: int, served: bool) -> Answers:
    folder.mkdir(exist_ok=True)
    ended = run(ranks, [program, way, folder, *names], served=served)
    assert ended.status == 0, ended.out[-500:] + ended.err[-3000:]
    found = answers(ended.out, ranks)
    assert sorted(found) == sorted(names)
    return found


@pytest.mark.parametrize("ranks", [1, 3])
def test_classes_are_those_of_the_mpi_itself(program: Path, tmp_path: Path, ranks: int) -> None:
    names = cases(program)
    without = ask(program, "return", names, tmp_path / "without", ranks=1, served=False)  # several ranks of MPICH hang
    served = ask(program, "return", names, tmp_path / "served", ranks=ranks, served=True)
    different = {name for name in names if without[name][0][0] != served[name][0][0]}
    assert different <= DIFFERENT.keys(), {name: (without[name], served[name]) for name in different}
    assert {name for name in names if not any(served[name][0])} == NO_ERROR
    for name, (classes, _) in served.items():
        # Of an opening that fails, ranks of MPICH hear different things.
        assert len(set(classes)) == 1 or name.startswith("open_"), (name, classes)


@pytest.mark.parametrize("ranks", [1, 2])
def test_handlers_are_called_once(program: Path, tmp_path: Path, ranks: int) -> None:
    names = cases(program)
    served = ask(program, "count", names, tmp_path, ranks=ranks, served=True)
    # What MPI serves by itself: opening, and what is no file. Twice for an opening that fails is MPICH's own count.
    counts = Counter(count for name in names for count in served[name][1] if not name.startswith("open_"))
    assert set(counts) <= {0, 1}
    assert {name for name in names if not any(served[name][1])} <= NO_ERROR | {
        name for name in names if name.endswith("_closed_file") or name == "read_of_no_handle"
    }


def test_handlers_are_called_as_often_as_by_the_mpi_itself(program: Path, tmp_path: Path) -> None:
    names = cases(program)
    served = ask(program, "count", names, tmp_path, ranks=1, served=True)
    without = ask(program, "count", names, tmp_path, ranks=1, served=False)
    different = {name for name in names if served[name][1] != without[name][1]}
    assert different <= DIFFERENT.keys(), different


@pytest.mark.parametrize("ranks", [1, 2])
def test_an_error_of_a_file_ends_no_program(program: Path, tmp_path: Path, ranks: int) -> None:
    """The handlers of communicators are fatal, MPI's default; files use other handlers."""
    names = [name for name in cases(program) if name != "read_of_no_handle"]
    fatal = ask(program, "fatal", names, tmp_path / "fatal", ranks=ranks, served=True)
    returned = ask(program, "return", names, tmp_path / "return", ranks=ranks, served=True)
    assert {name: fatal[name][0] for name in names} == {name: returned[name][0] for name in names}


def test_errors_name_the_path_and_what_was_wrong(program: Path, tmp_path: Path) -> None:
    words = {
        "read_of_wronly": "MPI_MODE_WRONLY",
        "write_all_of_rdonly": "MPI_MODE_RDONLY",
        "negative_count": "count -1",
        "negative_offset_together": "offset -8",
        "part_of_an_etype": "3 bytes",
        "null_buffer": "null pointer",
        "bad_whence": "12345",
        "end_without_begin": "read_all_end",
    }
    ended = run_well(2, [program, "return", tmp_path, *words])
    for name, word in words.items():
        assert any(word in line for line in ended.told), (name, ended.told)


def test_the_text_of_a_view_with_a_negative_displacement_is_that_of_the_mpi(program: Path, tmp_path: Path) -> None:
    def text(ranks: int, *, served: bool) -> set[str]:
        command = [program, "return", tmp_path, "view_with_a_negative_displacement"]
        ended = run(ranks, command, served=served, environment={"SHOW_TEXT": "1"})
        assert ended.status == 0, ended.err
        return {line for line in ended.err.splitlines() if "disp" in line and "0x" not in line}

    without = text(1, served=False)  # several ranks of MPICH hang
    assert without
    assert text(1, served=True) == without
    assert text(3, served=True) == without


def test_a_null_type_and_an_uncommitted_one_are_named(program: Path, tmp_path: Path) -> None:
    ended = run_well(1, [program, "return", tmp_path, "null_type", "uncommitted_type"])
    assert any("MPI_DATATYPE_NULL" in line for line in ended.told), ended.told
    assert "has not been committed" in ended.err
