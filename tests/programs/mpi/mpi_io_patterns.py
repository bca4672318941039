"""Under mpiexec: access patterns of real programs; their file must be the same with and without the drop-in.

mpiexec -n 4 python mpi_io_patterns.py write FOLDER    a file each
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from mpi4py import MPI
from mpi_io_calls import main

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size


def opened(folder: str, name: str) -> MPI.File:
    """Collective."""
    return MPI.File.Open(COMM, str(Path(folder, name)), MPI.MODE_RDWR | MPI.MODE_CREATE)


def closed(file: MPI.File, *types: MPI.Datatype) -> None:
    """Collective."""
    file.Close()
    for one in types:
        one.Free()


def share(count: int) -> tuple[int, int]:
    """Return this rank's part of `count` rows."""
    return count * RANK // SIZE, count * (RANK + 1) // SIZE


def btio(folder: str) -> None:
    """Write the cells of a diagonal decomposition as a struct of subarrays; memory has ghost cells; five steps."""
    cells, width, words = SIZE, 6, 5
    grid = [cells * width] * 2 + [width]
    parts = []
    for k in range(cells):
        begin = [k * width, (k + RANK) % cells * width, 0]
        parts.append(MPI.DOUBLE.Create_contiguous(words).Create_subarray(grid, [width, width, width], begin))
    filetype = MPI.Datatype.Create_struct([1] * cells, [0] * cells, parts).Commit()
    word = MPI.DOUBLE.Create_contiguous(words)
    ghosts = word.Create_subarray([width + 4] * 3, [width] * 3, [2] * 3)
    memory = ghosts.Create_contiguous(cells).Commit()
    data = np.random.default_rng(RANK).random((cells, width + 4, width + 4, width + 4, words))
    file = opened(folder, "btio")
    file.Set_view(0, MPI.DOUBLE, filetype)
    for step in range(5):
        count = cells * width**3 * words
        file.Write_at_all(step * count, [data, 1, memory])
        back = np.zeros_like(data)
        file.Read_at_all(step * count, [back, 1, memory])
        inner = np.s_[:, 2:-2, 2:-2, 2:-2]
        assert (back[inner] == data[inner]).all()
        assert not back[:, :2].any()
    closed(file, filetype, memory, ghosts, word, *parts)


def pnetcdf(folder: str) -> None:
    """Write a header by one rank, variables by vara and varn (lists of blocks), and interleaved records."""
    rows, columns, header = 24, 40, 512
    file = opened(folder, "pnetcdf")
    if RANK == 0:
        file.Write_at(0, np.arange(header, dtype=np.uint8))
    begin, end = share(rows)
    box = MPI.FLOAT.Create_subarray([rows, columns], [end - begin, columns], [begin, 0]).Commit()
    file.Set_view(header, MPI.BYTE, box)
    file.Write_all(np.full((end - begin, columns), RANK, ">f4").view("u1"))
    base = header + 4 * rows * columns
    blocks = [int(k) * 8 for k in np.random.default_rng(1).permutation(60) if k % SIZE == RANK]
    listed = MPI.BYTE.Create_hindexed([8] * len(blocks), sorted(blocks)).Commit()
    file.Set_view(base, MPI.BYTE, listed)
    file.Iwrite_at_all(0, np.full(len(blocks), RANK + 100, "<i8")).Wait()
    records = MPI.BYTE.Create_vector(6, 16, 16 * SIZE + 32).Commit()  # 32 bytes of another variable are between
    file.Set_view(base + 480 + 16 * RANK, MPI.BYTE, records)
    file.Write_all(np.full(96, RANK + 200, np.uint8))
    other = MPI.BYTE.Create_vector(6, 32, 16 * SIZE + 32).Commit()
    file.Set_view(base + 480 + 16 * SIZE, MPI.BYTE, other)
    file.Write_at_all(0, bytes([7]) * (192 if RANK == 0 else 0))  # the other ranks write nothing
    file.Set_view(0, MPI.BYTE)
    closed(file, box, listed, records, other)


def hdf5(folder: str) -> None:
    """Write a hyperslab with strides as a resized hindexed of vectors; a column of each rank; chunks by a struct."""
    rows, columns = 30, 8 * SIZE
    file = opened(folder, "hdf5")
    element = MPI.BYTE.Create_contiguous(8)
    every = element.Create_hvector(columns // SIZE, 1, 8 * SIZE)
    row = every.Create_hindexed([1], [8 * RANK]).Create_resized(0, 8 * columns)
    slab = row.Create_hvector(rows, 1, 8 * columns).Commit()
    file.Set_view(2048, MPI.BYTE, slab)
    file.Write_at_all(0, np.full(rows * columns // SIZE, RANK, "<f8"))
    base = 2048 + 8 * rows * columns
    column = element.Create_hvector(100, 1, 8 * SIZE).Commit()
    file.Set_view(base + 8 * RANK, MPI.BYTE, column)
    file.Write_at_all(0, np.arange(100, dtype="<f8") + RANK)
    base += 800 * SIZE
    chunk = MPI.BYTE.Create_contiguous(64)
    mine = [k for k in range(4 * SIZE) if (k * 7 + 3) % SIZE == RANK]
    chunks = MPI.Datatype.Create_struct([1] * len(mine), [64 * k for k in mine], [chunk] * len(mine)).Commit()
    file.Set_view(base, MPI.BYTE, chunks)
    fill = MPI.BYTE.Create_hvector(64 * len(mine), 1, 0).Commit()  # one value for all
    file.Write_at_all(0, [bytes([RANK + 50]), 1, fill])
    file.Set_view(0, MPI.BYTE)
    if RANK == 0:
        file.Write_at(0, bytes(range(256)) * 8)
    closed(file, slab, column, chunks, fill)


def ior(folder: str) -> None:
    """Write contiguous blocks of each rank, and segments of all ranks, by individual, shared and ordered pointers."""
    file = opened(folder, "ior")
    data = np.random.default_rng(RANK).integers(0, 256, 5000, dtype=np.uint8)
    file.Seek(RANK * 5000)
    for k in range(0, 5000, 1000):
        file.Write(data[k : k + 1000])
    segments = MPI.BYTE.Create_contiguous(500).Create_resized(0, 500 * SIZE).Commit()
    file.Set_view(5000 * SIZE + 500 * RANK, MPI.BYTE, segments)
    file.Write_all(data)
    file.Set_view(10000 * SIZE, MPI.BYTE)
    for k in range(5):
        file.Write_ordered(data[k * 100 : (k + 1) * 100])
    closed(file, segments)


def write(folder: str) -> None:
    for pattern in (btio, pnetcdf, hdf5, ior):
        pattern(folder)


if __name__ == "__main__":
    main({"write": write})
