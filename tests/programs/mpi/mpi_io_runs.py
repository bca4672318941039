"""Each rank reads and writes random parts of its own view of contiguous blocks, by all kinds of calls, beside NumPy.

Usage: mpi_io_runs.py FILE SEED. Rank 0 prints "ok"; standard error has the reports of the drop-in.
"""

from __future__ import annotations

import sys
import traceback

import numpy as np
from mpi4py import MPI

BYTES, CALLS = 3000, 150


def view_of(rng: np.random.Generator) -> tuple[MPI.Datatype, list[tuple[int, int]], int]:
    """Return a type of ascending blocks, often without any gap; its blocks, and its extent."""
    blocks, at = [], int(rng.integers(0, 5))
    for _ in range(int(rng.integers(1, 5))):
        length = int(rng.integers(1, 40))
        blocks.append((at, length))
        at += length + int(rng.integers(0, 2)) * int(rng.integers(1, 9))
    extent = at + int(rng.integers(0, 2)) * int(rng.integers(0, 20))
    listed = MPI.BYTE.Create_hindexed([length for _, length in blocks], [place for place, _ in blocks])
    return listed.Create_resized(0, extent).Commit(), blocks, extent


def places_of(blocks: list[tuple[int, int]], extent: int, displacement: int, last: int) -> np.ndarray:
    """Return the places of the first `last` data bytes."""
    tile = np.concatenate([np.arange(place, place + length) for place, length in blocks])
    tiles = last // tile.size + 1
    places: np.ndarray = displacement + np.arange(tiles)[:, None] * extent + tile[None, :]
    return places.ravel()[:last]


def main() -> None:
    path, seed = sys.argv[1], int(sys.argv[2])
    comm = MPI.COMM_WORLD
    rng = np.random.default_rng(seed + comm.rank)
    content = np.random.default_rng(seed).integers(0, 256, BYTES).astype(np.uint8)
    own = f"{path}.{comm.rank}"
    content.tofile(own)
    file = MPI.File.Open(MPI.COMM_SELF, own, MPI.MODE_RDWR)
    for _ in range(CALLS):
        filetype, blocks, extent = view_of(rng)
        displacement = int(rng.integers(0, 100))
        file.Set_view(displacement, MPI.BYTE, filetype)
        filetype.Free()
        first, count = int(rng.integers(0, 2500)), int(rng.integers(0, 60))
        places = places_of(blocks, extent, displacement, first + count)[first:]
        if rng.integers(0, 2):
            data = rng.integers(0, 256, count).astype(np.uint8)
            (file.Write_at if rng.integers(0, 2) else file.Write_at_all)(first, data)
            grown = max(content.size, int(places[-1]) + 1 if count else 0)
            content = np.concatenate([content, np.zeros(grown - content.size, np.uint8)])
            content[places] = data
        else:
            there = places[places < content.size]
            found, status = np.zeros(count, np.uint8), MPI.Status()
            (file.Read_at if rng.integers(0, 2) else file.Read_at_all)(first, found, status)
            assert status.Get_count(MPI.BYTE) == there.size, (status.Get_count(MPI.BYTE), there.size)
            assert np.array_equal(found[: there.size], content[there])
            assert not found[there.size :].any()
    file.Close()
    assert np.array_equal(np.fromfile(own, np.uint8), content)
    comm.Barrier()
    if comm.rank == 0:
        print("ok")


try:
    main()
except Exception:
    traceback.print_exc()
    MPI.COMM_WORLD.Abort(1)
    raise
