"""Records of an oil reservoir, 17 variables a cell, written by all ranks and searched, as IPARS and its users do it.

mpiexec -n 4 python applications/ipars/ipars.py --variant optimised --cells 32 64 64 --records 20
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from mpi4py import MPI

import swath

VARIABLES = ["soil", "sgas", "swat", "poil", "pgas", "pwat", "coil", "cgas"]
VARIABLES += [f"{fluid}v{axis}" for fluid in ("oil", "gas", "wat") for axis in "xyz"]
SOIL, OIL_VELOCITY = 0, slice(8, 11)
SOIL_MIN, SPEED_MAX = 0.7, 0.6
VARIANTS = ("found", "optimised", "mpi")
ORDER = (0, 4, 2, 3, 1)
"""The order of the optimised variant's file, the slowest first: record, variable, y, x, z. A search needs all cells
of some variables, a rank has rows in y, and a well is a column of z."""


def cell_values(record: int, z: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the variables of cells at a time, [z, y, x, variable], from 0 to 1. Few bits make files exact."""
    number = (
        31 * record + 7 * z[:, None, None, None] + 3 * y[:, None, None] + x[:, None] + 17 * np.arange(len(VARIABLES))
    )
    return (number % 64 / 64).astype("f4")


def bypassed(soil: np.ndarray, velocity: np.ndarray) -> int:
    """Return how many cells have much oil that does not move: users of IPARS search for such cells."""
    return int(np.count_nonzero((soil > SOIL_MIN) & (np.sqrt((velocity.astype("f8") ** 2).sum(axis=-1)) < SPEED_MAX)))


class Records(Protocol):
    """A file of records [record, z, y, x, variable], of which each rank has rows in y. All methods are collective."""

    def write(self, record: int, values: np.ndarray) -> None:
        """Write this rank's rows of a record."""

    def read(self, record: int, variables: slice) -> np.ndarray:
        """Read variables of this rank's rows."""

    def well(self, y: int, x: int) -> np.ndarray:
        """Read all records of a column of cells, on rank 0: [record, z, variable]."""

    def close(self) -> None:
        """Close the file: its data are on the medium then."""


class BySwath:
    """The optimised variant: one collective call to write a record, and one to read the part that a search needs.

    In the file the variables of a record follow each other, so that each rank reads contiguous parts for a search.
    """

    def __init__(self, path: Path, shape: Sequence[int], rows: slice, comm: Any, new: bool) -> None:
        self.comm = comm
        self.mine = swath.Distribution(
            (swath.Whole(), swath.Block(), swath.Whole(), swath.Whole()), (1, comm.size, 1, 1)
        )
        if new:
            self.array = swath.create(path, tuple(shape), "f4", order=ORDER, format="raw", overwrite=True, comm=comm)
        else:
            self.array = swath.open(path, shape=tuple(shape), dtype="f4", order=ORDER, comm=comm)

    def write(self, record: int, values: np.ndarray) -> None:
        self.array.write(values, self.mine, selection=record)

    def read(self, record: int, variables: slice) -> np.ndarray:
        return np.asarray(self.array.read(self.mine, selection=(record, ..., variables)))

    def well(self, y: int, x: int) -> np.ndarray:
        return np.asarray(self.array[:, :, y, x]) if self.comm.rank == 0 else np.empty(0)

    def close(self) -> None:
        self.array.close()


class AsFound:
    """The variant as found: each rank makes a call for each row of cells, contiguous in the file with all variables."""

    def __init__(self, path: Path, shape: Sequence[int], rows: slice, comm: Any, new: bool) -> None:
        self.shape, self.rows, self.comm = shape, rows, comm
        self.row_bytes = shape[3] * shape[4] * 4
        if new and comm.rank == 0:
            path.write_bytes(b"")
        comm.Barrier()
        self.descriptor = os.open(path, os.O_RDWR)

    def _offset(self, record: int, z: int, y: int) -> int:
        return int((record * self.shape[1] + z) * self.shape[2] + y) * self.row_bytes

    def write(self, record: int, values: np.ndarray) -> None:
        for z in range(self.shape[1]):
            for row, y in enumerate(range(self.rows.start, self.rows.stop)):
                os.pwrite(self.descriptor, values[z, row].tobytes(), self._offset(record, z, y))

    def read(self, record: int, variables: slice) -> np.ndarray:
        found = np.empty((self.shape[1], self.rows.stop - self.rows.start, *self.shape[3:]), "f4")
        for z in range(self.shape[1]):
            for row, y in enumerate(range(self.rows.start, self.rows.stop)):
                read = os.pread(self.descriptor, self.row_bytes, self._offset(record, z, y))
                found[z, row] = np.frombuffer(read, "f4").reshape(self.shape[3:])
        return found[..., variables]

    def well(self, y: int, x: int) -> np.ndarray:
        if self.comm.rank > 0:
            return np.empty(0)
        size = self.shape[4] * 4
        places = [[self._offset(r, z, y) + x * size for z in range(self.shape[1])] for r in range(self.shape[0])]
        return np.array([[np.frombuffer(os.pread(self.descriptor, size, at), "f4") for at in row] for row in places])

    def close(self) -> None:
        os.fsync(self.descriptor)
        os.close(self.descriptor)
        self.comm.Barrier()


class ByMpi:
    """The MPI-IO variant: the same calls as the optimised one, each with a view of the file."""

    def __init__(self, path: Path, shape: Sequence[int], rows: slice, comm: Any, new: bool) -> None:
        self.shape, self.rows, self.comm = list(shape), rows, comm
        if new and comm.rank == 0:
            path.write_bytes(b"")
        comm.Barrier()
        self.file = MPI.File.Open(comm, os.fspath(path), MPI.MODE_RDWR)

    def _view(self, boxes: Sequence[slice]) -> np.ndarray:
        extents = [box.stop - box.start for box in boxes]
        kind = MPI.FLOAT.Create_subarray(self.shape, extents, [box.start for box in boxes]).Commit()
        self.file.Set_view(0, MPI.FLOAT, kind)
        kind.Free()
        return np.empty(extents, "f4")

    def _rows(self, record: int, variables: slice) -> list[slice]:
        return [slice(record, record + 1), slice(0, self.shape[1]), self.rows, slice(0, self.shape[3]), variables]

    def write(self, record: int, values: np.ndarray) -> None:
        self._view(self._rows(record, slice(0, self.shape[4])))
        self.file.Write_at_all(0, np.ascontiguousarray(values))

    def read(self, record: int, variables: slice) -> np.ndarray:
        found = self._view(self._rows(record, variables))
        self.file.Read_at_all(0, found)
        return found[0]

    def well(self, y: int, x: int) -> np.ndarray:
        everything = [slice(0, extent) for extent in self.shape]
        found = self._view([*everything[:2], slice(y, y + 1), slice(x, x + 1), everything[4]])
        if self.comm.rank > 0:
            return np.empty(0)
        self.file.Read_at(0, found)
        return found[:, :, 0, 0]

    def close(self) -> None:
        self.file.Sync()
        self.file.Close()


WAYS: dict[str, Any] = {"found": AsFound, "optimised": BySwath, "mpi": ByMpi}


def run(variant: str, cells: Sequence[int], records: int, path: Path, comm: Any) -> dict[str, Any]:
    """Write all records and search them. Raises ArithmeticError if the file has other values than were computed."""
    shape = (records, *cells, len(VARIABLES))
    block = -(-cells[1] // comm.size)  # as HPF's BLOCK: equal blocks, the last ones shorter or empty
    rows = slice(min(comm.rank * block, cells[1]), min((comm.rank + 1) * block, cells[1]))
    z, y, x = np.arange(cells[0]), np.arange(rows.start, rows.stop), np.arange(cells[2])
    comm.Barrier()
    began = time.perf_counter()
    writing = _write(WAYS[variant](path, shape, rows, comm, new=True), records, (z, y, x), began)
    total = time.perf_counter() - began

    file: Records = WAYS[variant](path, shape, rows, comm, new=False)
    began = time.perf_counter()
    found = sum(bypassed(file.read(r, slice(SOIL, 1))[..., 0], file.read(r, OIL_VELOCITY)) for r in range(records))
    well = file.well(cells[1] // 2, cells[2] // 2)
    reading = time.perf_counter() - began
    file.close()
    values = [cell_values(r, z, y, x) for r in range(records)]
    wrong = found != sum(bypassed(each[..., SOIL], each[..., OIL_VELOCITY]) for each in values)
    if comm.rank == 0:
        place = (z, np.array([cells[1] // 2]), np.array([cells[2] // 2]))
        wrong |= not np.array_equal(well, [cell_values(r, *place)[:, 0, 0] for r in range(records)])
    if comm.allreduce(wrong, MPI.LOR):
        raise ArithmeticError(f"{path}: a search found other cells than the simulation computed")
    seconds = [comm.allreduce(each, MPI.MAX) for each in (total, writing, reading)]
    return {
        "application": "ipars",
        "variant": variant,
        "ranks": comm.size,
        "bytes": int(np.prod(shape)) * 4,
        "total_seconds": seconds[0],
        "io_seconds": seconds[1],
        "read_seconds": seconds[2],
        "bypassed": comm.allreduce(found),
        "checked": True,
    }


def _write(file: Records, records: int, place: tuple[np.ndarray, np.ndarray, np.ndarray], opening: float) -> float:
    """Compute and write all records; return the seconds of input and output."""
    writing = time.perf_counter() - opening
    for record in range(records):
        values = cell_values(record, *place)
        began = time.perf_counter()
        file.write(record, values)
        writing += time.perf_counter() - began
    began = time.perf_counter()
    file.close()
    return writing + time.perf_counter() - began


def main() -> None:
    """Run the program as the command line says; rank 0 prints a line of JSON."""
    parser = argparse.ArgumentParser(prog="ipars.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--variant", choices=VARIANTS, default="optimised")
    parser.add_argument("--cells", type=int, nargs=3, default=[32, 64, 64], metavar=("Z", "Y", "X"))
    parser.add_argument("--records", type=int, default=20)
    parser.add_argument("--file", type=Path, default=Path("ipars.raw"))
    given = parser.parse_args()
    comm = MPI.COMM_WORLD
    try:
        result = run(given.variant, given.cells, given.records, given.file, comm)
    except BaseException as error:
        if comm.size == 1:
            raise
        print(f"ipars: rank {comm.rank}: {type(error).__name__}: {error}", flush=True)
        comm.Abort(1)
    if comm.rank == 0:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
