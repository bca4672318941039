"""Under mpiexec: every call that moves data, through views, with memory of every kind.

mpiexec -n 4 python mpi_io_data.py views FOLDER [VIEW]     compared with the bytes by a list of offsets
mpiexec -n 4 python mpi_io_data.py pointers FOLDER         shared and ordered pointers, if the MPI has them
mpiexec -n 4 python mpi_io_data.py end FOLDER              the end of the file
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from mpi4py import MPI
from mpi_io_calls import Call, calls, main
from mpi_io_types import ETYPES, MEMORIES, VIEWS, Made, Memory, View, once

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size


def random_of(*numbers: int) -> np.random.Generator:
    """Return a generator that is the same on every rank."""
    return np.random.default_rng(numbers)


def on_disk(path: Path) -> np.ndarray:
    """Return the content of the file, by pread."""
    handle = os.open(path, os.O_RDONLY)
    try:
        return np.frombuffer(os.pread(handle, os.fstat(handle).st_size, 0), np.uint8).copy()
    finally:
        os.close(handle)


def make(path: Path, data: np.ndarray) -> None:
    """Write the file on rank 0, by pwrite."""
    COMM.Barrier()
    if RANK == 0:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        assert os.pwrite(handle, data.tobytes(), 0) == data.size
        os.close(handle)
    COMM.Barrier()


def compare(path: Path, expected: np.ndarray, what: object) -> None:
    """Compare every byte of the file, also the gaps. Collective."""
    COMM.Barrier()
    wrong = ""
    if RANK == 0:
        found = on_disk(path)
        if found.size != expected.size:
            wrong = f"{what}: {found.size} bytes instead of {expected.size}"
        elif (found != expected).any():
            places = np.flatnonzero(found != expected)
            wrong = f"{what}: {places.size} bytes are wrong, from {places[:10]} on"
    wrong = COMM.bcast(wrong)
    assert not wrong, wrong


def check_status(status: MPI.Status, etype: Made, etypes: int, memory: Memory) -> None:
    """Check the moved amount in the status: in bytes, in etypes, in the memory's type and in its elements."""
    elements = {1: 1, 4: 1, 8: 1, 5: 2}[etype.size]
    assert status.Get_count(MPI.BYTE) == etypes * etype.size
    assert status.Get_count(etype.type) == etypes
    assert status.Get_elements(etype.type) == etypes * elements
    whole = etypes * etype.size / max(memory.type.size, 1)
    assert status.Get_count(memory.type.type) == (int(whole) if whole == int(whole) else MPI.UNDEFINED) or etypes == 0


# ---- views -----------------------------------------------------------------------------------------------------------


def views(folder: str, only: str = "") -> None:
    """For each view, etype and call: compare a write byte by byte, then read the data of other ranks."""
    path = Path(folder, "a")
    for number, (name, view) in enumerate(VIEWS.items()):
        if name != (only or name):
            continue
        for etype_name, make_etype in ETYPES.items():
            etype = make_etype()
            all_views = [view(etype, SIZE, rank) for rank in range(SIZE)]
            try:
                one_view(path, (name, etype_name), random_of(number, SIZE, len(etype_name)), etype, all_views)
            except AssertionError as error:
                raise AssertionError(f"{name} of {etype_name}: {error}") from error
            for one in all_views:
                one.filetype.free()
            etype.free()


def one_view(path: Path, what: object, random: np.random.Generator, etype: Made, all_views: list[View]) -> None:
    """Test every call at an offset or at the pointer; some ranks have nothing to move."""
    most = 60  # etypes of a rank
    end = max([int(view.places(0, most).max(initial=0)) for view in all_views]) + 30
    image = random.integers(0, 256, end, dtype=np.uint8)
    make(path, image)
    file = MPI.File.Open(COMM, str(path), MPI.MODE_RDWR)
    all_views[RANK].set(file)
    memories = list(MEMORIES)
    for call in calls("offset", "pointer"):
        # The numbers are the same on every rank: each rank knows the writes of all.
        firsts = [int(n) for n in random.integers(0, 20, SIZE)]
        counts = [int(n) if all_views[r].filetype.size else 0 for r, n in enumerate(random.integers(0, 40, SIZE))]
        kinds = [memories[int(n)] for n in random.integers(0, len(memories), SIZE)]
        data = [random.integers(0, 256, n * etype.size, dtype=np.uint8) for n in counts]
        if random.integers(4) == 0:
            counts[int(random.integers(SIZE))] = 0
        data = [bytes_[: n * etype.size] for n, bytes_ in zip(counts, data, strict=True)]
        for rank, view in enumerate(all_views):
            image[view.places(firsts[rank], counts[rank])] = data[rank]
        first, count = firsts[RANK], counts[RANK]
        memory = MEMORIES[kinds[RANK]](etype, count)
        memory.put(data[RANK])
        before = memory.bytes.copy()
        begin_at(file, call, first)
        status = call(file, "write", memory.spec, first)
        assert (memory.bytes == before).all(), (call, "a write changed its buffer")
        check_status(status, etype, count, memory)
        check_position(file, call, first, count)
        compare(path, image, (what, call, "write"))
        expected = before.copy()
        memory.bytes[memory.places] ^= 255
        begin_at(file, call, first)
        status = call(file, "read", memory.spec, first)
        assert (memory.bytes == expected).all(), (
            call,
            kinds[RANK],
            "read",
            np.flatnonzero(memory.bytes != expected)[:9],
        )
        check_status(status, etype, count, memory)
        check_position(file, call, first, count)
        memory.type.free() if memory.type is not etype else None
        again = once(etype, count) if count else None
        repeat = np.tile(again.bytes[again.places[: etype.size]], count) if again else np.zeros(0, np.uint8)
        for rank, bytes_ in enumerate(COMM.allgather(repeat)):
            image[all_views[rank].places(firsts[rank], counts[rank])] = bytes_
        begin_at(file, call, first)
        call(file, "write", again.spec if again else [bytearray(1), 0, etype.type], first)
        compare(path, image, (what, call, "write of stride 0"))
    file.Close()
    compare(path, image, "closed")


def begin_at(file: MPI.File, call: Call, first: int) -> None:
    """Set the pointer to this place, if the call uses it."""
    if call.by == "pointer":
        file.Seek(first)


def check_position(file: MPI.File, call: Call, first: int, count: int) -> None:
    """Check the pointer, in etypes: it is behind the moved data."""
    if call.by == "pointer":
        assert file.Get_position() == first + count


# ---- pointers that ranks share ---------------------------------------------------------------------------------------


def pointers(folder: str) -> None:
    """Each record of each rank is in the file once, at a record's place; ordered records follow the order of ranks."""
    path = Path(folder, "a")
    etype = ETYPES["ints"]()
    rows = VIEWS["vector"](etype, 1, 0)
    for call in calls("shared", "ordered"):
        make(path, np.zeros(0, np.uint8))
        file = MPI.File.Open(COMM, str(path), MPI.MODE_RDWR)
        rows.set(file)
        length = 3  # etypes of a record
        rounds = 5
        for k in range(rounds):
            record = np.array([RANK, k, RANK * 1000 + k], np.int32)
            call(file, "write", [record, length, MPI.INT], 0)
            COMM.Barrier()
            assert file.Get_position_shared() == (k + 1) * SIZE * length
            COMM.Barrier()
        file.Sync()
        total = rounds * SIZE
        places = rows.places(0, total * length)
        found = on_disk(path)
        records = found[places].view(np.int32).reshape(total, length)
        expected = [[rank, k, rank * 1000 + k] for k in range(rounds) for rank in range(SIZE)]
        assert (sorted if call.by == "shared" else list)(records.tolist()) == (
            sorted(expected) if call.by == "shared" else expected
        )
        gaps = np.ones(found.size, bool)
        gaps[places] = False
        assert not found[gaps].any()
        COMM.Barrier()
        file.Seek_shared(-2 * SIZE * length, MPI.SEEK_CUR)
        assert file.Get_position_shared() == (total - 2 * SIZE) * length
        COMM.Barrier()
        mine = np.full(length, -1, np.int32)
        call(file, "read", [mine, length, MPI.INT], 0)
        got = COMM.allgather(mine.tolist())
        wanted = records[total - 2 * SIZE : total - SIZE].tolist()
        assert (sorted(got), got)[call.by == "ordered"] == (sorted(wanted), wanted)[call.by == "ordered"]
        file.Seek_shared(0, MPI.SEEK_END)
        assert file.Get_position_shared() == total * length
        COMM.Barrier()
        # The individual pointer is separate.
        assert file.Get_position() == 0
        status = call(file, "read", [mine, length, MPI.INT], 0)
        assert status.Get_count(MPI.INT) == 0
        file.Close()
    rows.filetype.free()


# ---- the end of the file ---------------------------------------------------------------------------------------------


def end(folder: str) -> None:
    """Reads return the data before the end, and report their number; the memory after them is unchanged."""
    path = Path(folder, "a")
    for name in ("contiguous", "vector", "indexed", "nested"):
        for etype_name in ("bytes", "ints", "pairs with a gap"):
            etype = ETYPES[etype_name]()
            view = VIEWS[name](etype, SIZE, RANK)
            for cut in (0, 1, 97, 250, 801):
                at_end(path, (name, etype_name, cut), etype, view, cut)
            view.filetype.free()
            etype.free()


def at_end(path: Path, what: object, etype: Made, view: View, cut: int) -> None:
    """Test a file that ends at byte `cut`."""
    image = random_of(cut).integers(0, 256, cut, dtype=np.uint8)
    make(path, image)
    file = MPI.File.Open(COMM, str(path), MPI.MODE_RDONLY)
    view.set(file)
    count = 30 if view.filetype.size else 0
    for index, call in enumerate(calls("offset", "pointer")):
        for kind in [list(MEMORIES)[index % len(MEMORIES)], "plain"]:
            first = index % 3
            memory = MEMORIES[kind](etype, count) if count else MEMORIES["plain"](etype, 0)
            places = view.places(first, count)
            there = int(np.argmax(places >= cut)) if (places >= cut).any() else len(places)
            expected = memory.bytes.copy()
            expected[memory.places[:there]] = image[places[:there]]
            begin_at(file, call, first)
            status = call(file, "read", memory.spec, first)
            assert (memory.bytes == expected).all(), (what, call, kind)
            assert status.Get_count(MPI.BYTE) == there, (what, call, kind, status.Get_count(MPI.BYTE), there)
            if memory.type is not etype:
                memory.type.free()
    file.Close()
    compare(path, image, what)


if __name__ == "__main__":
    main({"views": views, "pointers": pointers, "end": end})
