"""Decomposition maps of ParallelIO and E3SM-IO: which elements each process of a climate model has, as operations.

Sources: `PIOc_writemap` of ParallelIO and SCORPIO, which writes the text form, and `dat2decomp` of E3SM-IO
(Parallel-NetCDF/E3SM-IO, utils/), which makes files of netCDF or HDF5 of several of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import IO, Any

import numpy as np

from swath.array.file import File
from swath.array.opening import open_file
from swath.errors import ArgumentError, FormatError, store_error
from swath.simulation.boxes import boxes_of
from swath.simulation.operations import Operation
from swath.trace.intervals import Runs, runs_of

VERSION = 2001
"""The version of ParallelIO's text form."""
HEADER = re.compile(r"version\s+(\d+)\s+npes\s+(\d+)\s+ndims\s+(\d+)\s*")
QUOTED = 40
"""The characters of a wrong line that an error shows."""


@dataclass(frozen=True)
class Map:
    """One decomposition.

    Attributes:
        name: "D1", "D2" … of a file with several maps; "map" of a text file.
        shape: elements along each dimension of the decomposed array, the slowest first.
        runs: the elements of each process, counted in C order.
    """

    name: str
    shape: tuple[int, ...]
    runs: tuple[Runs, ...]


def read_maps(given: str) -> list[Map]:
    """Return the maps of a file: ParallelIO's text, or E3SM-IO's netCDF or HDF5.

    Args:
        given: the path; ":D3" behind it takes one map of a file with several.

    Raises:
        NotFoundError, StoreError: the system refuses the file.
        FormatError: the file is damaged, or no map; the message names the line or the variable.
        ArgumentError: there is no such map in the file.
    """
    path, sign, name = given.rpartition(":")
    if not sign or not re.fullmatch(r"D\d+", name):
        path, name = given, ""
    maps = [_read_text(path)] if _is_text(path) else _read_variables(path)
    chosen = [one for one in maps if name in ("", one.name)]
    if not chosen:
        raise ArgumentError(f"{path}: there is no map {name}; it has {', '.join(one.name for one in maps)}")
    return chosen


def operations_of_maps(
    maps: Sequence[Map], ranks: int, *, dtype: str = "f8", write: bool = False, method: str = "auto"
) -> list[Operation]:
    """Return an operation for each map, on a file of its own.

    As in E3SM-IO, fewer ranks than processes have the elements of several consecutive processes each, and of more
    ranks the last ones have none.

    Args:
        maps: maps of `read_maps`.
        ranks: the number of ranks.
        dtype: the type of the elements.
        write: whether they are written.
        method: how the operations are carried out.
    """
    made = []
    for one in maps:
        boxes = tuple(boxes_of(runs, one.shape) for runs in _of_ranks(one.runs, ranks))
        name = f"{'write' if write else 'read'} {one.name}, {' × '.join(map(str, one.shape))}"
        made.append(Operation(one.shape, dtype, boxes, write=write, method=method, file=one.name, name=name))
    return made


def _of_ranks(runs: Sequence[Runs], ranks: int) -> list[Runs]:
    """Return the runs of each rank: the first ranks have a process more if the processes cannot be divided evenly."""
    each, more = divmod(len(runs), ranks)
    begins = [rank * each + min(rank, more) for rank in range(ranks + 1)]
    return [_together(runs[begin:end]) for begin, end in pairwise(begins)]


def _together(runs: Sequence[Runs]) -> Runs:
    none = np.empty(0, np.int64)
    return runs_of(
        np.concatenate([none, *(one.starts for one in runs)]), np.concatenate([none, *(one.lengths for one in runs)])
    )


# ---- ParallelIO's text ---------------------------------------------------------------------------------------------


def _is_text(path: str) -> bool:
    """Return whether the file begins as ParallelIO's text does, or has the name of such a file."""
    try:
        with open(path, "rb") as file:
            return file.read(7) == b"version" or path.endswith(".dat")
    except IsADirectoryError:
        return False  # a Zarr store, say, which has its own error
    except OSError as error:
        raise store_error(f"{path}: {error.strerror}", error.errno) from None


class _Lines:
    """The lines of a text, and errors that name the one that was read last."""

    def __init__(self, path: str, file: IO[str]) -> None:
        self.path, self._file, self.number, self.last = path, file, 0, ""

    def next(self, expected: str) -> str:
        """Return the next line. Raises FormatError at the end of the file."""
        self.number += 1
        self.last = self._file.readline()
        if not self.last:
            raise FormatError(f"{self.path}: line {self.number}: the file ends; expected {expected}")
        return self.last

    def error(self, expected: str) -> FormatError:
        line = self.last.rstrip("\n")
        quoted = line if len(line) <= QUOTED else line[:QUOTED] + "…"
        return FormatError(f'{self.path}: line {self.number}: "{quoted}": expected {expected}')

    def numbers(self, count: int, low: int, high: int, expected: str) -> np.ndarray:
        """Return the numbers of the next line: `count` of them, from `low` to `high`."""
        words = self.next(expected).split()
        try:
            found = np.array(words, dtype=np.int64)
        except (ValueError, OverflowError):
            raise self.error(expected) from None
        if len(found) != count:
            raise self.error(f"{expected}; there are {len(found):,}")
        wrong = (found < low) | (found > high)
        if wrong.any():
            raise self.error(f"{expected}; number {int(wrong.argmax()) + 1:,} is {int(found[wrong.argmax()]):,}")
        return found


def _read_text(path: str) -> Map:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return _parse(_Lines(path, file))
    except OSError as error:
        raise store_error(f"{path}: {error.strerror}", error.errno) from None


def _parse(lines: _Lines) -> Map:
    """Return the map of a text. What comes behind the last process, a trace of the calls, is ignored."""
    expected = f'"version {VERSION} npes N ndims D", with N and D of at least 1'
    header = HEADER.fullmatch(lines.next(expected))
    version, processes, dimensions = map(int, header.groups()) if header else (0, 0, 0)
    if version != VERSION or processes < 1 or dimensions < 1:
        raise lines.error(expected)
    most = np.iinfo(np.int64).max
    extents = f"{dimensions} sizes of at least 1, the fastest dimension first"
    sizes = lines.numbers(dimensions, 1, most, extents).tolist()
    elements = prod(sizes)
    runs = []
    for process in range(processes):
        about = f'"{process} COUNT", the number of elements of process {process} of {processes}'
        number, count = lines.numbers(2, 0, most, about).tolist()
        if number != process:
            raise lines.error(about)
        listed = f"{count:,} numbers of elements, from 1 to {elements:,}, or 0 for none"
        runs.append(_elements(lines.numbers(count, 0, elements, listed)))
    return Map("map", tuple(reversed(sizes)), tuple(runs))


def _elements(numbers: np.ndarray) -> Runs:
    """Return the runs of elements that are counted from 1; 0 is no element."""
    given = numbers[numbers > 0]
    return runs_of(given - 1, np.ones(len(given), np.int64))


# ---- E3SM-IO's netCDF and HDF5 -------------------------------------------------------------------------------------


def _read_variables(path: str) -> list[Map]:
    with open_file(path) as file:
        names = sorted((name.partition(".")[0] for name in file if re.fullmatch(r"D\d+\.nreqs", name)), key=_number)
        if not names:
            raise FormatError(f"{path}: expected variables D1.nreqs, D1.offsets and D1.lengths, as E3SM-IO writes them")
        return [_map_of(file, name) for name in names]


def _number(name: str) -> int:
    return int(name[1:])


def _map_of(file: File, name: str) -> Map:
    """Return one map: the shape is an attribute of the file, the requests of all processes are in their order."""
    counts, begins, lengths = (_column(file, f"{name}.{part}") for part in ("nreqs", "offsets", "lengths"))
    dims = np.atleast_1d(np.asarray(file.attributes.get(f"{name}.dims", ())))
    if dims.dtype.kind not in "iu" or not dims.size or (dims < 1).any():
        raise FormatError(
            f"{file.path}: {name}.dims: {dims.tolist()}: expected an attribute of the file with the shape of the array"
        )
    shape = tuple(dims.tolist())
    elements = prod(shape)
    if (counts < 0).any() or not int(counts.sum()) == len(begins) == len(lengths):
        raise FormatError(
            f"{file.path}: {name}.nreqs: {int(counts.sum()):,} requests of {len(counts)} processes; expected the "
            f"{len(begins):,} of {name}.offsets and the {len(lengths):,} of {name}.lengths"
        )
    wrong = (begins < 0) | (lengths < 1) | (begins + lengths > elements)
    if wrong.any():
        at = int(wrong.argmax())
        raise FormatError(
            f"{file.path}: {name}.offsets: request {at:,} has {int(lengths[at]):,} elements from {int(begins[at]):,} "
            f"on; expected 1 or more elements in [0, {elements:,})"
        )
    cuts = np.cumsum(counts)[:-1]
    of_processes = zip(np.split(begins, cuts), np.split(lengths, cuts), strict=True)
    return Map(name, shape, tuple(runs_of(*requests) for requests in of_processes))


def _column(file: File, name: str) -> np.ndarray:
    if name not in file:
        raise FormatError(f"{file.path}: expected a variable {name}, as E3SM-IO writes it")
    values: Any = np.asarray(file[name].read())
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise FormatError(f"{file.path}: {name}: {values.ndim} dimensions, {values.dtype}; expected a list of integers")
    return np.asarray(values, np.int64)
