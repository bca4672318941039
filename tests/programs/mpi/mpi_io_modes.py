"""Under mpiexec: the functions of a file that move no data.

mpiexec -n 4 python mpi_io_modes.py modes FOLDER       access modes, sizes, pointers, the returned views
mpiexec -n 4 python mpi_io_modes.py hints FOLDER       hints take effect, and are returned
mpiexec -n 4 python mpi_io_modes.py together FOLDER    communicators, writes into other ranks' gaps, atomic mode
mpiexec -n 4 python mpi_io_modes.py threads FOLDER     threads with separate files, and with one file
mpiexec -n 4 python mpi_io_modes.py orders FOLDER      views that do not ascend, or have bytes twice
"""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
from mpi4py import MPI
from mpi_io_calls import CALLS, main

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size
RW = MPI.MODE_RDWR | MPI.MODE_CREATE


def make(path: Path, data: bytes) -> None:
    """Write the file on rank 0. Collective."""
    COMM.Barrier()
    if RANK == 0:
        path.write_bytes(data)
    COMM.Barrier()


def error_class(call: object, *arguments: object) -> int:
    try:
        call(*arguments)  # type: ignore[operator]
    except MPI.Exception as error:
        return int(error.Get_error_class())
    return int(MPI.SUCCESS)


# ---- modes, sizes, pointers ------------------------------------------------------------------------------------------


def modes(folder: str) -> None:
    path = Path(folder, "a")
    make(path, b"0123456789")
    file = MPI.File.Open(COMM, str(path), MPI.MODE_WRONLY | MPI.MODE_APPEND)
    assert file.Get_position() == 10
    assert file.Get_position_shared() == 10
    assert file.Get_amode() == MPI.MODE_WRONLY | MPI.MODE_APPEND
    file.Write_ordered(bytes([65 + RANK]))
    assert error_class(file.Read_at, 0, bytearray(1)) == MPI.ERR_ACCESS
    file.Close()
    COMM.Barrier()
    assert path.read_bytes() == b"0123456789" + bytes(65 + rank for rank in range(SIZE))
    COMM.Barrier()
    assert error_class(MPI.File.Open, COMM, str(path), RW | MPI.MODE_EXCL) != MPI.SUCCESS
    file = MPI.File.Open(COMM, str(path), MPI.MODE_RDONLY)
    assert error_class(file.Write_at, 0, b"x") == MPI.ERR_READ_ONLY
    assert error_class(file.Write_at_all, 0, b"x") == MPI.ERR_READ_ONLY
    file.Close()
    file = MPI.File.Open(COMM, str(path.with_name("new")), RW | MPI.MODE_EXCL | MPI.MODE_DELETE_ON_CLOSE)
    file.Write_at_all(RANK * 3, b"abc")
    assert path.with_name("new").exists()
    file.Close()
    COMM.Barrier()
    assert not path.with_name("new").exists()
    sizes(path)
    positions(path)
    views_given_back(path)


def sizes(path: Path) -> None:
    make(path, b"0123456789")
    file = MPI.File.Open(COMM, str(path), RW)
    file.Set_size(4)
    assert file.Get_size() == 4
    file.Preallocate(2)
    assert file.Get_size() == 4
    file.Set_view(3, MPI.SHORT, MPI.SHORT.Create_vector(2, 1, 2).Commit())  # sizes are in bytes, with any view
    file.Preallocate(20)
    assert file.Get_size() == 20
    file.Set_view()
    buffer = bytearray(30)
    status = MPI.Status()
    file.Read_at_all(0, buffer, status)
    assert status.Get_count(MPI.BYTE) == 20
    assert bytes(buffer[:20]) == b"0123" + bytes(16)
    COMM.Barrier()
    file.Preallocate(1 << 20)
    assert path.stat().st_blocks * 512 >= 1 << 20
    assert error_class(file.Preallocate, 30 + RANK) == (MPI.SUCCESS if SIZE == 1 else MPI.ERR_NOT_SAME)
    file.Set_size(1000)
    file.Write_at_all(2000 + RANK, b"z")
    file.Sync()
    assert file.Get_size() == 2000 + SIZE
    file.Set_size(0)
    file.Read_at(0, buffer, status)
    assert status.Get_count(MPI.BYTE) == 0
    file.Close()
    assert path.stat().st_size == 0
    COMM.Barrier()


def positions(path: Path) -> None:
    """Positions are in etypes of the view: byte offsets, all kinds of seeks, the end of the file through holes."""
    make(path, bytes(100))
    file = MPI.File.Open(COMM, str(path), RW)
    filetype = MPI.SHORT.Create_vector(2, 2, 3).Create_resized(0, 14).Commit()  # shorts 0, 1, 3, 4 of 7
    file.Set_view(10, MPI.SHORT, filetype)
    expected = [10 + 14 * (k // 4) + 2 * (0, 1, 3, 4)[k % 4] for k in range(30)]
    assert [file.Get_byte_offset(k) for k in range(30)] == expected
    file.Seek(5)
    file.Seek(3, MPI.SEEK_CUR)
    assert file.Get_position() == 8
    file.Seek(-8, MPI.SEEK_CUR)
    assert file.Get_position() == 0
    file.Seek(0, MPI.SEEK_END)
    assert file.Get_position() == sum(one + 1 < 100 for one in expected)
    file.Seek(-2, MPI.SEEK_END)
    buffer = np.ones(5, np.int16)
    status = MPI.Status()
    file.Read(buffer, status)
    assert status.Get_count(MPI.SHORT) == 2
    assert buffer.tolist() == [0, 0, 1, 1, 1]
    assert error_class(file.Seek, -1) == MPI.ERR_ARG
    assert error_class(file.Seek, 0, 99) == MPI.ERR_ARG
    beyond_any_file(file)
    file.Seek(3)
    file.Set_view(0, MPI.BYTE)
    assert (file.Get_position(), file.Get_position_shared()) == (0, 0)
    file.Close()
    filetype.Free()


def beyond_any_file(file: MPI.File) -> None:
    """Offsets that exceed a 64-bit number of bytes are refused; no data are moved elsewhere."""
    buffer = np.ones(4, np.int16)
    for etypes in (2**61, 2**62, 2**63 - 1):
        file.Seek(etypes)
        assert file.Get_position() == etypes
        for call in CALLS:
            if call.by in ("offset", "pointer"):
                assert error_class(call, file, "read", [buffer, 4, MPI.SHORT], etypes) == MPI.ERR_ARG, call
                assert error_class(call, file, "write", [buffer, 4, MPI.SHORT], etypes) == MPI.ERR_ARG, call
        assert file.Get_position() == etypes
        assert error_class(file.Seek, 2**63 - 1, MPI.SEEK_CUR) == MPI.ERR_ARG
        assert etypes < 2**62 or error_class(file.Get_byte_offset, etypes) == MPI.ERR_ARG
        COMM.Barrier()
        file.Seek_shared(etypes)
        for call in CALLS:
            if call.by == "ordered":
                assert error_class(call, file, "write", [buffer, 4, MPI.SHORT], 0) == MPI.ERR_ARG, call
    assert (buffer == 1).all()
    assert file.Get_size() == 100


def views_given_back(path: Path) -> None:
    make(path, bytes(100))
    file = MPI.File.Open(COMM, str(path), RW)
    assert file.Get_view() == (0, MPI.BYTE, MPI.BYTE, "native")
    filetype = MPI.INT.Create_vector(3, 2, 5).Commit()
    file.Set_view(8, MPI.INT, filetype, "NATIVE")
    filetype.Free()
    for _ in range(2):
        displacement, etype, given, representation = file.Get_view()
        assert (displacement, etype, representation) == (8, MPI.INT, "native")
        assert given.Get_extent() == (0, 48)
        assert given.Get_size() == 24
        inner = given  # the returned type is a duplicate, which the program frees
        while inner.combiner == MPI.COMBINER_DUP:
            inner = inner.decode()[0]
        base, combiner, contents = inner.decode()
        assert (base, combiner) == (MPI.INT, "VECTOR")
        assert contents == {"count": 3, "blocklength": 2, "stride": 5}
        given.Free()
    view_that_fails_changes_nothing(file)
    file.Close()


def view_that_fails_changes_nothing(file: MPI.File) -> None:
    """Later calls still use the view before, in integers from byte 8 on."""
    assert error_class(file.Set_view, 0, MPI.BYTE, MPI.BYTE, "strange") == MPI.ERR_UNSUPPORTED_DATAREP
    assert file.Get_view()[0] == 8
    file.Write_at_all(0, np.array([77], np.int32))
    file.Sync()
    COMM.Barrier()
    file.Set_view()
    found = np.zeros(3, np.int32)
    file.Read_at_all(0, found)
    assert found.tolist() == [0, 0, 77]


# ---- hints -----------------------------------------------------------------------------------------------------------


def hints(folder: str) -> None:
    path = Path(folder, "a")
    make(path, bytes(4096))
    asked = {
        "swath_sieve_bytes": "8192",
        "cb_nodes": "1",
        "cb_buffer_size": "65536",
        "romio_cb_write": "enable",
        "romio_ds_read": "disable",
        "no_such_hint": "7",
    }
    info = MPI.Info.Create(asked)
    file = MPI.File.Open(COMM, str(path), RW, info)
    told = dict(file.Get_info())
    assert told["swath_sieve_bytes"] == "8192"
    assert told["swath_aggregators"] == "1"
    assert told["swath_window_bytes"] == "65536"
    assert (told["romio_cb_write"], told["romio_cb_read"]) == ("enable", "automatic")
    assert (told["romio_ds_read"], told["romio_ds_write"]) == ("disable", "automatic")
    filetype = MPI.BYTE.Create_vector(64, 1, SIZE + 1).Commit()
    file.Set_view(RANK, MPI.BYTE, filetype)
    file.Write_at_all(0, bytes([RANK + 1]) * 64)  # by two-phase
    file.Read_at(0, bytearray(64))  # by list
    file.Set_info(MPI.Info.Create({"romio_cb_write": "disable", "swath_method": "list"}))
    assert dict(file.Get_info())["swath_method"] == "list"
    file.Write_at_all(0, bytes([RANK + 101]) * 64)  # by list
    for _ in range(2):  # only the hints for a single rank take effect, and one warning names the rest
        said = {"swath_method": "direct", "romio_ds_read": "enable"}
        file.Set_view(RANK, MPI.BYTE, filetype, "native", MPI.Info.Create(said))
    file.Read_at_all(0, bytearray(64))  # by list
    file.Read_at(0, bytearray(64))  # by sieve
    hints_that_differ(file, filetype)
    file.Close()
    filetype.Free()


def hints_that_differ(file: MPI.File, filetype: MPI.Datatype) -> None:
    """Each rank may give different hints with a view."""
    file.Set_info(MPI.Info.Create({"swath_method": "two-phase"}))
    for key, value in [("romio_cb_read", "disable"), ("ind_wr_buffer_size", "16384"), ("swath_method", "direct")]:
        info = MPI.Info.Create({key: value}) if RANK == 0 else MPI.INFO_NULL
        file.Set_view(RANK, MPI.BYTE, filetype, "native", info)
        file.Write_at_all(0, bytes([RANK + 1]) * 64)  # by two-phase
        found = bytearray(64)
        file.Read_at_all(0, found)  # by two-phase
        assert found == bytes([RANK + 1]) * 64, key
    file.Set_info(MPI.Info.Create({"cb_nodes": "1"}))  # this does not make one rank's hint a hint of all ranks
    file.Write_at_all(0, bytes([RANK + 1]) * 64)  # by two-phase


# ---- several communicators, several files, one file ------------------------------------------------------------------


def together(folder: str) -> None:
    gaps_of_each_other(Path(folder, "gaps"))
    files = [MPI.File.Open(MPI.COMM_SELF, str(Path(folder, f"own{RANK}-{k}")), RW) for k in range(3)]
    half = MPI.Intracomm(COMM.Split(RANK % 2, RANK))
    files += [MPI.File.Open(half, str(Path(folder, f"half{RANK % 2}")), RW)]
    files += [MPI.File.Open(COMM, str(Path(folder, "all")), RW)]
    for k, file in enumerate(files):
        rank = file.Get_group().Get_rank()
        file.Write_at_all(rank * 1000, bytes([k + 10 * rank]) * 1000)
    for k, file in reversed(list(enumerate(files))):
        size = file.Get_group().Get_size()
        rank = (file.Get_group().Get_rank() + 1) % size
        file.Sync()
        file.Get_group()
        (COMM if k == 4 else half if k == 3 else MPI.COMM_SELF).Barrier()
        buffer = bytearray(1000)
        file.Read_at_all(rank * 1000, buffer)
        assert bytes(buffer) == bytes([k + 10 * rank]) * 1000
    for file in files:
        file.Close()
    half.Free()
    atomic(Path(folder, "atomic"))


def gaps_of_each_other(path: Path) -> None:
    """Half of the ranks write with holes, and fill them by reading; meanwhile the others write into those holes."""
    rows, width = 400, 16
    make(path, bytes(rows * SIZE * 2 * width))
    half = MPI.Intracomm(COMM.Split(RANK % 2, RANK))
    info = MPI.Info.Create({"romio_ds_write": "enable", "romio_cb_write": ("disable", "enable")[RANK % 2]})
    file = MPI.File.Open(half, str(path), MPI.MODE_RDWR, info)
    filetype = MPI.BYTE.Create_vector(rows, width, SIZE * 2 * width).Commit()
    file.Set_view(RANK * width, MPI.BYTE, filetype)
    row = SIZE * 2 * width
    for k in range(30):
        value = bytes([(7 * k + RANK + 1) % 251]) * (rows * width)
        if RANK % 2:
            file.Write_at(0, value)
            file.Write_at_all(0, value)
        else:
            file.Write_at_all(0, value)
            for i in range(0, rows, 40):  # contiguous ones, in between
                file.Write_at(i * width, value[:width])
    file.Close()
    COMM.Barrier()
    found = np.frombuffer(path.read_bytes(), np.uint8).reshape(rows, row)
    for rank in range(SIZE):
        assert (found[:, rank * width : (rank + 1) * width] == (7 * 29 + rank + 1) % 251).all(), rank
    assert not found[:, SIZE * width : -width].any() or SIZE == 1
    half.Free()
    filetype.Free()


def atomic(path: Path) -> None:
    """Overlapping writes are never mixed, and a read sees all of a write or nothing of it."""
    places = MPI.BYTE.Create_vector(200, 3, 7).Commit()
    make(path, bytes(1400))
    file = MPI.File.Open(COMM, str(path), MPI.MODE_RDWR)
    file.Set_atomicity(True)
    assert file.Get_atomicity()
    file.Set_view(0, MPI.BYTE, places)
    for k in range(40):
        buffer = bytearray(600)
        if RANK % 2 == 0 or SIZE == 1:
            file.Write_at(0, bytes([1 + (k * SIZE + RANK) % 250]) * 600)
        file.Read_at(0, buffer)
        assert len(set(buffer)) == 1, sorted(set(buffer))
        file.Write_at_all(0, bytes([1 + (k * SIZE + RANK) % 250]) * 600)
        file.Read_at_all(0, buffer)
        assert len(set(buffer)) == 1, sorted(set(buffer))
        assert buffer[0] in {1 + (k * SIZE + rank) % 250 for rank in range(SIZE)}
        COMM.Barrier()
    file.Close()
    places.Free()


# ---- threads ---------------------------------------------------------------------------------------------------------


def threads(folder: str) -> None:
    assert MPI.Query_thread() == MPI.THREAD_MULTIPLE
    wrong: list[str] = []
    shared = MPI.File.Open(COMM, str(Path(folder, "shared")), RW)
    comms = [MPI.Intracomm(COMM.Dup()) for _ in range(4)]
    # MPICH opens and closes a file under a lock of the process: threads of two ranks would wait for each other.
    files = [MPI.File.Open(comm, str(Path(folder, f"file{k}")), RW) for k, comm in enumerate(comms)]

    def work(number: int) -> None:
        try:
            file = files[number]
            vector = MPI.INT.Create_vector(50, 1, SIZE).Commit()
            file.Set_view(4 * RANK, MPI.INT, vector)
            for k in range(15):
                data = np.arange(50, dtype=np.int32) + 1000 * k + RANK
                got = np.zeros(50, np.int32)
                request = file.Iwrite_at_all(0, data)
                request.Wait()
                file.Read_at_all(0, got)
                assert (got == data).all(), "a file of its own"
                place = ((number * SIZE + RANK) * 15 + k) * 200
                request = shared.Iwrite_at(place, data)
                request.Wait()
                got[:] = 0
                shared.Read_at(place, got)
                assert (got == data).all(), "a shared file"
            vector.Free()
        except BaseException as error:  # noqa: BLE001
            wrong.append(f"thread {number}: {error!r}")

    running = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for one in running:
        one.start()
    for one in running:
        one.join()
    assert not wrong, wrong
    for file in (*files, shared):
        file.Close()
    found = np.fromfile(Path(folder, "shared"), np.int32).reshape(4, SIZE, 15, 50)
    expected = np.arange(50) + 1000 * np.arange(15)[:, None] + np.arange(SIZE)[:, None, None]
    assert (found == expected).all()
    for comm in comms:
        comm.Free()


# ---- views in any order ----------------------------------------------------------------------------------------------


def orders(folder: str) -> None:
    """Such views may be read if the MPI allows them; data are moved in the view's own order."""
    forbidden = ("shuffled", "backwards") if "MPICH" in MPI.Get_library_version() else ()
    path = Path(folder, "a")
    image = np.random.default_rng(3).integers(0, 256, 3000, dtype=np.uint8)
    make(path, image.tobytes())
    order = np.random.default_rng(4).permutation(40) * 5
    kinds = {
        "shuffled": (MPI.BYTE.Create_indexed_block(3, order.tolist()).Create_resized(0, 210), 210, order, 3),
        "backwards": (MPI.BYTE.Create_hindexed([4] * 5, [80, 60, 40, 20, 0]), 84, np.array([80, 60, 40, 20, 0]), 4),
        "twice": (MPI.BYTE.Create_hvector(10, 8, 5), 53, np.arange(10) * 5, 8),
        "tiles that overlap": (MPI.BYTE.Create_contiguous(10).Create_resized(0, 4), 4, np.array([0]), 10),
    }
    for name, (filetype, extent, begins, length) in kinds.items():
        filetype.Commit()
        one = (begins[:, None] + np.arange(length)).ravel()
        file = MPI.File.Open(COMM, str(path), MPI.MODE_RDONLY)
        if name in forbidden:
            assert error_class(file.Set_view, 17 * RANK, MPI.BYTE, filetype) == MPI.ERR_IO, name
            file.Close()
            filetype.Free()
            continue
        file.Set_view(17 * RANK, MPI.BYTE, filetype)
        count = 5 * len(one) // 2
        numbers = np.arange(count)
        places = 17 * RANK + numbers // len(one) * extent + one[numbers % len(one)]
        for call in CALLS:
            if call.by in ("offset", "pointer"):
                buffer = np.zeros(count, np.uint8)
                if call.by == "pointer":
                    file.Seek(0)
                status = call(file, "read", [buffer, count, MPI.BYTE], 0)
                assert status.Get_count(MPI.BYTE) == count, (name, call)
                assert (buffer == image[places]).all(), (name, call)
        file.Close()
        filetype.Free()


if __name__ == "__main__":
    main({"modes": modes, "hints": hints, "together": together, "threads": threads, "orders": orders})
