"""Decomposition maps of ParallelIO and E3SM-IO: what is read, the boxes of ranks, and the requests of a real run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath.commands import cli
from swath.simulated import run_ranks
from swath.simulation.maps import Map, operations_of_maps, read_maps
from swath.simulation.operations import Operation
from swath.simulation.simulate import simulate
from swath.trace.intervals import runs_of

LEVELS, COLUMNS, PROCESSES = 4, 30, 3
TRACE = "\nObtained 10 stack frames.\ne3sm.exe() [0x13ff8e7]\n"
"""What ParallelIO writes behind the last process."""


def owner_of_columns() -> np.ndarray:
    """Return which process has each column: short runs, and columns that nobody has."""
    lengths = np.random.default_rng(5).integers(1, 4, size=COLUMNS)
    return np.repeat(np.arange(len(lengths)) % (PROCESSES + 1), lengths)[:COLUMNS] - 1


def elements_of(process: int) -> np.ndarray:
    """Return the elements of a process, in C order of levels × columns."""
    columns = np.flatnonzero(owner_of_columns() == process)
    return (np.arange(LEVELS)[:, None] * COLUMNS + columns).ravel()


def text_of_map() -> str:
    """Return the map as ParallelIO writes it: counted from 1, not in order, with holes and empty lines."""
    lines = [f"version 2001 npes {PROCESSES + 1} ndims 2 ", f"{COLUMNS} {LEVELS} "]
    for process in range(PROCESSES):
        numbers = np.random.default_rng(process).permutation(np.append(elements_of(process) + 1, [0, 0, 0]))
        lines += [f"{process} {len(numbers)}", " ".join(map(str, numbers)) + " "]
    return "\n".join([*lines, f"{PROCESSES} 0", "", TRACE])


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "piodecomp4tasks02dims_ioid_548.dat"
    path.write_text(text_of_map())
    return path


def requests_of(processes: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Return the variables of E3SM-IO's map: requests end where a row ends."""
    cut = [np.flatnonzero((np.diff(one, prepend=-2) != 1) | (one % COLUMNS == 0)) for one in processes]
    lengths = [np.diff(np.append(at, len(one))) for at, one in zip(cut, processes, strict=True)]
    return {
        "nreqs": np.array([len(at) for at in cut], "i4"),
        "offsets": np.concatenate([one[at] for at, one in zip(cut, processes, strict=True)]).astype("i4"),
        "lengths": np.concatenate(lengths).astype("i4"),
    }


def stored(path: Path, kind: str, **changed: Any) -> Path:
    """Write a file of E3SM-IO with two maps: D1 of the columns, D2 of levels × columns; `changed` replaces values."""
    owner = owner_of_columns()
    both = {
        "D1": ((COLUMNS,), [np.flatnonzero(owner == process) for process in range(PROCESSES)]),
        "D2": ((LEVELS, COLUMNS), [elements_of(process) for process in range(PROCESSES)]),
    }
    with swath.create_file(path, format=kind, overwrite=True) as file:
        for name, (shape, processes) in both.items():
            if f"{name}_dims" not in changed:
                file.attributes[f"{name}.dims"] = np.array(shape, "i4")
            for part, right in requests_of(processes).items():
                values = changed.get(f"{name}_{part}", right)
                if values is not None:
                    file.create(f"{name}.{part}", values.shape, values.dtype).write(values)
    return path


def owners(operation: Operation) -> np.ndarray:
    """Return which rank has each element; -1 for none."""
    found = np.full(operation.shape, -1)
    assert isinstance(operation.distribution, tuple)
    for rank, boxes in enumerate(operation.distribution):
        for low, high in boxes:
            place = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
            assert (found[place] == -1).all()
            found[place] = rank
    return found


def test_each_rank_has_the_elements_of_its_process(text: Path) -> None:
    (given,) = read_maps(str(text))
    assert (given.shape, len(given.runs)) == ((LEVELS, COLUMNS), PROCESSES + 1)
    (operation,) = operations_of_maps([given], PROCESSES + 1, write=True)
    assert (owners(operation) == owner_of_columns()).all()
    assert operation.bytes == 8 * LEVELS * np.count_nonzero(owner_of_columns() >= 0)


def test_runs_of_columns_are_boxes_of_all_levels(text: Path) -> None:
    (operation,) = operations_of_maps(read_maps(str(text)), PROCESSES + 1)
    assert isinstance(operation.distribution, tuple)
    for process, boxes in enumerate(operation.distribution[:PROCESSES]):
        columns = np.flatnonzero(owner_of_columns() == process)
        assert len(boxes) == 1 + np.count_nonzero(np.diff(columns) != 1)
        assert {(low[0], high[0]) for low, high in boxes} == {(0, LEVELS)}


def test_boxes_of_three_dimensions_are_joined_along_each() -> None:
    shape = (3, 4, 5)
    numbers = np.arange(60).reshape(shape)
    box = numbers[1:3, 1:3, 2:5].ravel()
    runs = tuple(runs_of(one, np.ones_like(one)) for one in (box, np.arange(20), np.arange(0)))
    given = Map("D1", shape, runs)
    (operation,) = operations_of_maps([given], 3)
    assert operation.distribution == ((((1, 1, 2), (3, 3, 5)),), (((0, 0, 0), (1, 4, 5)),), ())


@pytest.mark.parametrize("kind", ["netcdf-classic:cdf5", "netcdf4", "hdf5"])
def test_files_of_e3sm_io_have_the_same_maps(tmp_path: Path, text: Path, kind: str) -> None:
    if kind != "netcdf-classic:cdf5":
        pytest.importorskip("h5py")
    columns, levels = read_maps(str(stored(tmp_path / "map", kind)))
    assert (columns.name, columns.shape, levels.name) == ("D1", (COLUMNS,), "D2")
    (of_text,) = read_maps(str(text))
    assert levels.shape == of_text.shape
    for one, other in zip(levels.runs, of_text.runs[:PROCESSES], strict=True):
        assert np.array_equal(one.starts, other.starts)
        assert np.array_equal(one.ends, other.ends)
    assert [one.name for one in read_maps(f"{tmp_path / 'map'}:D2")] == ["D2"]


def test_other_numbers_of_ranks_take_the_processes_in_their_order(text: Path) -> None:
    given = read_maps(str(text))
    both = owners(operations_of_maps(given, 2)[0])
    process = owner_of_columns()
    assert (both == np.where(process < 0, -1, process // 2)).all()
    many = operations_of_maps(given, 6)[0]
    assert (owners(many) == process).all()
    assert isinstance(many.distribution, tuple)
    assert many.distribution[4:] == ((), ())


def measured(path: Path, operation: Operation, ranks: int) -> dict[str, int]:
    """Carry the operation out on a file, and return what the counters of all ranks say."""
    of_ranks = operation.distribution
    assert isinstance(of_ranks, tuple)
    with open(path, "wb") as file:
        file.truncate(8 * int(np.prod(operation.shape)))

    def work(comm: Any) -> Any:
        shapes = [tuple(b - a for a, b in zip(*box, strict=True)) for box in of_ranks[comm.rank]]
        boxes = swath.Boxes(of_ranks[comm.rank])
        how: dict[str, Any] = {"shape": operation.shape, "dtype": "f8", "mode": "r+", "engine": "posix"}
        with swath.open(path, comm=comm, **how) as array:
            if operation.write:
                array.write([np.zeros(shape) for shape in shapes], boxes, method=operation.method)
            else:
                array.read(boxes, method=operation.method)
            return array.counters

    found = run_ranks(ranks, work)
    names = ("read_requests", "write_requests", "read_bytes", "written_bytes")
    return {name: sum(getattr(one, name) for one in found) for name in names}


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("write", [False, True])
def test_bytes_and_requests_are_those_of_a_real_run(tmp_path: Path, text: Path, ranks: int, write: bool) -> None:
    """Both files exist, so that two-phase reads the columns that nobody has before it writes over them."""
    for method in ("direct", "two-phase"):
        (operation,) = operations_of_maps(read_maps(str(text)), ranks, write=write, method=method)
        both = [replace(operation, write=False, method="direct"), operation]
        found = simulate(both, "site-2026", ranks=ranks, settings={"servers.count": 1}).values["operations"][-1]
        real = measured(tmp_path / "data", operation, ranks)
        assert {name: found[name] for name in real} == real
        assert real["written_bytes" if write else "read_bytes"] >= operation.bytes


def simulated(capture: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert cli.main(["simulate", "--machine", "feynman", *arguments, "--json"]) == 0
    return json.loads(capture.readouterr().out)


def test_the_command_simulates_the_maps(tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = simulated(capsys, "--map", str(text), "--write", "--dtype", "f4", "--method", "list")
    assert found["ranks"] == PROCESSES + 1
    assert found["bytes"] == 4 * LEVELS * np.count_nonzero(owner_of_columns() >= 0)
    path = stored(tmp_path / "map.nc", "netcdf-classic")
    both = simulated(capsys, "--map", str(path), "--ranks", "2")
    assert [one["name"] for one in both["operations"]] == ["read D1, 30", "read D2, 4 × 30"]
    assert simulated(capsys, "--map", f"{path}:D1")["bytes"] == 8 * np.count_nonzero(owner_of_columns() >= 0)


DAMAGED = {
    'line 1: "version 2002': lambda lines: ["version 2002 npes 4 ndims 2", *lines[1:]],
    'line 1: "version 2001 npes 4": expected "version 2001 npes N ndims D"': lambda lines: ["version 2001 npes 4"],
    'line 2: "30": expected 2 sizes of at least 1, the fastest dimension first; there are 1': lambda lines: [
        lines[0],
        "30",
    ],
    "line 2: the file ends; expected 2 sizes": lambda lines: lines[:1],
    'line 3: "1 ': lambda lines: [*lines[:2], *lines[4:]],
    'line 5: "two 3": expected "1 COUNT", the number of elements of process 1 of 4': lambda lines: [
        *lines[:4],
        "two 3",
    ],
    r"line 4: .*numbers of elements, from 1 to 120, or 0 for none; there are": lambda lines: [
        *lines[:3],
        lines[3][:-9],
        *lines[4:],
    ],
    r'line 4: "121 .*number 1 is 121': lambda lines: [*lines[:3], "121" + lines[3][lines[3].index(" ") :], *lines[4:]],
    "line 6: the file ends; expected": lambda lines: lines[:5],
}
"""The messages of damaged texts, and how they are damaged."""


@pytest.mark.parametrize("said", DAMAGED)
def test_a_damaged_text_is_refused_with_its_line(tmp_path: Path, said: str) -> None:
    path = tmp_path / "damaged.dat"
    path.write_text("".join(line + "\n" for line in DAMAGED[said](text_of_map().split("\n"))))
    with pytest.raises(swath.FormatError, match=rf"damaged\.dat: {said}"):
        read_maps(str(path))


def test_damaged_files_of_e3sm_io_are_refused_with_their_variable(tmp_path: Path) -> None:
    kind = "netcdf-classic"

    def refused(said: str, **changed: Any) -> None:
        with pytest.raises(swath.FormatError, match=said):
            read_maps(str(stored(tmp_path / "map.nc", kind, **changed)))

    refused(r"expected a variable D2\.lengths", D2_lengths=None)
    refused(r"D1\.dims: \[\]: expected an attribute of the file", D1_dims=None)
    refused(r"D1\.nreqs: 3 requests of 3 processes; expected the \d+ of D1\.offsets", D1_nreqs=np.ones(3, "i4"))
    offsets = requests_of([np.flatnonzero(owner_of_columns() == one) for one in range(PROCESSES)])["offsets"]
    offsets[1] = 29
    refused(r"D1\.offsets: request 1 has \d elements from 29 on; expected 1 or more", D1_offsets=offsets)
    refused(r"D1\.lengths: 1 dimensions, .f8; expected a list of integers", D1_lengths=np.ones(len(offsets)))
    np.save(tmp_path / "a.npy", np.zeros(3))
    with pytest.raises(swath.FormatError, match=r"expected variables D1\.nreqs"):
        read_maps(str(tmp_path / "a.npy"))


def test_a_map_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = stored(tmp_path / "map.nc", "netcdf-classic")
    with pytest.raises(swath.ArgumentError, match=r"map\.nc: there is no map D3; it has D1, D2"):
        read_maps(f"{path}:D3")
    with pytest.raises(swath.NotFoundError, match=r"none\.dat"):
        read_maps(str(tmp_path / "none.dat"))
