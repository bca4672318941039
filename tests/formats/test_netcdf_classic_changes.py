"""Changes of netCDF classic files: after kills and failed system calls the old file or the new one is there."""

import contextlib
import errno
import itertools
import os
import platform
import resource
import traceback

import numpy as np
import pytest

import kernels
import swath
from classic_files import (
    ADDED,
    FIRST,
    LONG,
    STARTS,
    assert_holds,
    carry_out,
    changed,
    new_array,
    start_with_records,
    start_with_room,
    start_without_records,
    steps_of,
    write_at,
)
from kills import killed
from swath.errors import FormatError, StoreError
from swath.formats import netcdf_classic
from swath.formats.changes import FileChanges, repair
from swath.formats.netcdf_fills import NETCDF_FILLS
from swath.simulated import run_ranks

netCDF4 = pytest.importorskip("netCDF4")


@pytest.mark.parametrize(("start", "what"), [(start, what) for start in STARTS for what in steps_of(start)])
def test_a_kill_at_any_call_leaves_the_old_file_or_the_new_one(tmp_path, start, what):
    path = tmp_path / "a.nc"
    values = start(path)
    before = path.read_bytes()

    def work():
        with FileChanges("netcdf-classic", str(path)) as changes:
            netcdf_classic.set_attributes(changes, "", FIRST)
            carry_out(changes, what)
            changes.commit()

    changed(path, netcdf_classic.set_attributes, "", FIRST)
    first = path.read_bytes()  # these bytes stay in place when the next change moves data
    after = None
    for at in itertools.count(-1):  # the first time without a kill
        path.unlink()
        path.write_bytes(before)
        is_whole = not killed(work, at)
        repair(str(path))
        now = path.read_bytes()
        if after is None:
            after = now
            assert_holds(path, {n: v for n, v in values.items() if what != "records"})
        elif is_whole:
            break
        only_longer = [found.ljust(len(after), b"\0") for found in (before, first) if what == "records"]
        assert now in (after, before, first, *only_longer)
        for left in set(os.listdir(tmp_path)) - {"a.nc"}:
            assert left.startswith(".a.nc.swath-")
            os.unlink(tmp_path / left)
    assert at > (0 if what == "records" else 3)
    assert after != before
    assert os.listdir(tmp_path) == ["a.nc"]


CALLS_REFUSED = {"fchmod": 91, "fdatasync": 75, "ftruncate": 77, "pwrite": 18}
"""The numbers of the calls on x86-64."""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of system calls are those of x86-64")
@pytest.mark.parametrize(
    ("start", "what", "call"),
    [
        *((start_with_records, "record", call) for call in ("pwrite", "fchmod", "fdatasync")),
        *((start_with_records, "long", call) for call in ("pwrite", "fchmod", "fdatasync")),
        (start_with_room, "scalar", "pwrite"),
        (start_with_room, "short", "pwrite"),
        (start_without_records, "fixed", "ftruncate"),
        (start_without_records, "fixed", "pwrite"),
    ],
)
def test_a_change_that_the_system_refuses_leaves_the_file_as_it_was(tmp_path, start, what, call):
    path = tmp_path / "a.nc"
    start(path)
    changed(path, netcdf_classic.set_attributes, "", FIRST)
    before = path.read_bytes()
    child = os.fork()
    if child == 0:  # the kernel refuses the call as long as the process lives, also during the undo
        try:
            changes = FileChanges("netcdf-classic", str(path))
            kernels.refuse({CALLS_REFUSED[call]: errno.ENOSPC})
            with pytest.raises(StoreError, match="No space left"):
                carry_out(changes, what)
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    repair(str(path))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.nc"]


def test_what_is_taken_back_was_never_there(tmp_path):
    path = tmp_path / "a.nc"
    netcdf_classic.start(str(path), "cdf2")
    changed(path, netcdf_classic.add, new_array("v", (0, 3), "i2", unlimited=(True, False)))
    write_at(changed(path, netcdf_classic.extend, "v", 2), np.ones((2, 3)))
    changed(path, netcdf_classic.set_length, "dim0", 2)
    before = path.read_bytes()
    for is_durable in (True, False):
        with FileChanges("netcdf-classic", str(path), is_new=not is_durable) as changes:
            netcdf_classic.set_attributes(changes, "v", {"a": 1})
            netcdf_classic.set_attributes(changes, "", {"b": "two"})
            assert netcdf_classic.contents(str(path)).group("").attributes == {"b": "two"}
        assert path.read_bytes() == before


@pytest.mark.parametrize("is_durable", [True, False])
@pytest.mark.parametrize("what", ["record", "long"])
def test_a_move_stays_where_the_changes_after_it_are_taken_back(tmp_path, is_durable, what):
    path = tmp_path / "a.nc"
    values = start_with_room(path)
    with FileChanges("netcdf-classic", str(path), is_new=not is_durable) as changes:
        carry_out(changes, what)
        moved = path.read_bytes()
        netcdf_classic.set_attributes(changes, "", {"more": 1})
        changes.undo()
        assert path.read_bytes() == moved
    assert path.read_bytes() == moved
    assert_holds(path, values)


def test_holes_stay_holes_and_are_not_copied_one_by_one(tmp_path):
    for is_durable in (True, False):
        path = str(tmp_path / f"{is_durable}.nc")
        netcdf_classic.start(path, None)
        big = new_array("big", (0, 2**32), "i1", unlimited=(True, False))
        changed(path, netcdf_classic.add, big)
        changed(path, netcdf_classic.add, new_array("small", (0, 3), "i1", unlimited=(True, False)))
        changed(path, netcdf_classic.add, new_array("huge", (2**20, 2**20), "f4"))
        changed(path, netcdf_classic.set_length, "dim0", 100)
        made = netcdf_classic.describe(path, "small")
        write_at(made, np.arange(300).reshape(100, 3) % 100)
        changed(path, netcdf_classic.set_attributes, "", {"long": LONG}, is_durable=is_durable)
        changed(path, netcdf_classic.add, new_array("more", (2**20, 2**20), "f8"), is_durable=is_durable)
        changed(path, netcdf_classic.add, new_array("late", (100,), "f4", dimensions=("dim0",)), is_durable=is_durable)
        made = netcdf_classic.describe(path, "small")
        with open(path, "rb") as file:
            for record in (0, 1, 99):
                row = os.pread(file.fileno(), 3, made.layout.offset + record * made.layout.strides[0])
                assert list(row) == [(3 * record + i) % 100 for i in range(3)]
        assert os.stat(path).st_size > 2**43
        assert os.stat(path).st_blocks * 512 < 2**23  # in place: the old places of moved bytes become zeros


def test_what_lies_in_a_gap_is_no_part_of_a_new_variable(tmp_path):
    path = tmp_path / "a.nc"
    values = start_with_room(path)
    end = max(netcdf_classic.describe(str(path), name).end for name in ("fixed", "last"))
    gap = netcdf_classic.describe(str(path), "short").layout.offset - end
    with open(path, "r+b") as file:
        os.pwrite(file.fileno(), b"x" * gap, end)
    made = changed(path, netcdf_classic.add, ADDED["scalar"])
    assert end <= made.layout.offset < end + gap
    assert_holds(path, {**values, "scalar": np.zeros(())})


def test_large_records_move_in_pieces(tmp_path):
    values = np.random.default_rng(3).integers(0, 100, (5, 5_000_003)).astype("i1")
    for is_durable in (True, False):
        path = str(tmp_path / f"{is_durable}.nc")
        netcdf_classic.start(path, None)
        changed(path, netcdf_classic.add, new_array("v", (0, 5_000_003), "i1", unlimited=(True, False)))
        write_at(changed(path, netcdf_classic.extend, "v", 5), values)
        changed(path, netcdf_classic.set_length, "dim0", 5)
        for name, width in (("w", 20_000), ("x", 1)):
            new = new_array(name, (5, width), "f4", dimensions=("dim0", f"d{width}"))
            changed(path, netcdf_classic.add, new, is_durable=is_durable)
        fill = np.float32(NETCDF_FILLS["f4"])
        assert_holds(path, {"v": values, "w": np.full((5, 20_000), fill), "x": np.full((5, 1), fill)})


@contextlib.contextmanager
def no_file_longer(size):
    """Make the system refuse any file that is longer than `size`."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_new_file_whose_data_were_lost_in_a_move_is_not_completed(tmp_path, ranks):
    path = tmp_path / "a.nc"
    path.write_bytes(b"what was there")

    def work(comm):
        file = swath.create_file(path, format="netcdf-classic", comm=comm, overwrite=True)
        distribution = swath.Distribution([swath.Block()], [comm.size])
        (own,) = distribution.indices((20_000,), comm.rank)
        file.create("v", shape=(20_000,), dtype="f8").write(own.astype("f8"), distribution)
        limit = no_file_longer(200_000) if comm.rank == 0 else contextlib.nullcontext()
        with limit, pytest.raises(StoreError, match="File too large"):
            file.attributes["long"] = "x" * 100_000
        with pytest.raises(StoreError, match="cannot be completed, for data that were being moved in it are lost"):
            file.attributes["short"] = "x"
        with pytest.raises(StoreError, match=r"cannot be completed.*File too large.*create it again"):
            file.close()

    run_ranks(ranks, work)
    assert path.read_bytes() == b"what was there"
    assert os.listdir(tmp_path) == ["a.nc"]


@pytest.mark.parametrize("start", STARTS)
def test_a_truncated_file_is_not_made_long_enough(tmp_path, start):
    path = tmp_path / "a.nc"
    start(path)
    os.truncate(path, path.stat().st_size - 4)
    before = path.read_bytes()
    for what in steps_of(start):
        with (
            FileChanges("netcdf-classic", str(path)) as changes,
            pytest.raises(FormatError, match=r"bytes: [1-4] are missing"),
        ):
            carry_out(changes, what)
        assert path.read_bytes() == before
