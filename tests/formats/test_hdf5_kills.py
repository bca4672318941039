"""HDF5 and netCDF-4 files whose process is killed during a change: a repair gives the state of the last commit."""

import itertools
import mmap
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from hdf5_cases import KINDS, add, append, changing, new, started, store
from kills import give_up_privileges, killed
from swath.errors import StoreError
from swath.formats import hdf5
from swath.formats.changes import Changes, FileChanges, repair
from tree import HELPERS

h5py = pytest.importorskip("h5py")
netCDF4 = pytest.importorskip("netCDF4")

KILLS = int(os.environ.get("SWATH_TEST_KILLS", "6"))


def change(changes, number):
    """Make the change of this number: a variable, rows of all growing variables, attributes, room."""
    hdf5.add(changes, new(f"g{number % 3}/v{number}", (None, 3), "f4", ("time", f"x{number % 3}"), fill=-1))
    hdf5.set_attributes(changes, "", {"last": np.int64(number), f"n{number}": "x" * 40 * number})
    append(changes, "time", number, float(number))
    append(changes, f"g{number % 3}/v{number}", number, [number] * 3)
    hdf5.set_length(changes, "time", number + 1)


def made(path, kind):
    started(path, kind)
    add(str(path), new("time", (None,), "f8", ("time",)), new("fixed", (4, 5), "i4", ("a", "b")))
    return str(path)


def facts(path):
    """Return everything in a file, by h5py and by netCDF4, which must agree."""
    found = {}
    with h5py.File(path) as file:
        found["last"] = (
            int(file.attrs.get("last", [-1])[0])
            if np.ndim(file.attrs.get("last", -1))
            else int(file.attrs.get("last", -1))
        )
        file.visititems(lambda name, item: found.update({name: item[()].tolist()} if hasattr(item, "shape") else {}))
    with netCDF4.Dataset(path) as dataset:
        dataset.set_auto_mask(False)
        assert len(dataset.dimensions["time"]) == len(found["time"])
        assert dataset["time"][:].tolist() == found["time"]
        for group in dataset.groups.values():
            for name, variable in group.variables.items():
                assert variable[:].tolist() == found[f"{group.name}/{name}"]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_kill_at_any_call_leaves_the_bytes_of_the_last_commit(tmp_path, kind):
    path = made(tmp_path / "a.nc", kind)
    with changing(path) as changes:
        change(changes, 0)
    before = Path(path).read_bytes()
    with changing(path) as changes:
        change(changes, 1)
    after = Path(path).read_bytes()

    def work():
        with FileChanges("hdf5", path) as changes:
            change(changes, 1)
            told[0] = 1  # the commit begins
            changes.commit()
            told[1] = 1  # the commit is done

    every = 1 if "SWATH_TEST_KILLS" in os.environ else 5
    for at in itertools.count(0, every):
        Path(path).write_bytes(before)
        told = mmap.mmap(-1, 2)
        if not killed(work, at):
            break
        repair(path)
        found = Path(path).read_bytes()
        assert found in [before, after][told[1] : told[0] + 1], at
        assert os.listdir(tmp_path) == ["a.nc"]
    assert at > 30
    assert facts(path)["last"] == 1


def endless(path):
    """Run the program that is killed: it reports the change whose commit begins, and the change that is committed."""
    with FileChanges("hdf5", path) as changes:
        for number in itertools.count():
            change(changes, number)
            print("c", number, flush=True)
            changes.commit()
            print("d", number, flush=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_program_that_is_killed_leaves_a_file_that_everybody_reads(tmp_path, kind):
    program = f"import test_hdf5_kills as t; t.endless({str(tmp_path / 'a.nc')!r})"
    chance = random.Random(5)
    for _ in range(max(KILLS // 2, 1)):
        path = made(tmp_path / "a.nc", kind)
        environment = {
            **os.environ,
            "PYTHONPATH": f"{HELPERS}:{Path(__file__).parent}:{os.environ.get('PYTHONPATH', '')}",
        }
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment) as process:
            lines = [process.stdout.readline()]
            time.sleep(chance.random() * 0.5)
            process.send_signal(signal.SIGKILL)
            lines += process.stdout.read().splitlines()
        told = [line.split() for line in lines if len(line.split()) == 2]
        begun = max((int(n) for what, n in told if what == b"c"), default=-1)
        done = max((int(n) for what, n in told if what == b"d"), default=-1)
        hdf5.describe(path, "fixed") if repair(path) else None
        found = facts(path)
        assert done <= found["last"] <= begun
        rows = found["last"] + 1
        assert found["time"] == [float(n) for n in range(rows)]
        for number in range(rows):
            values = found[f"g{number % 3}/v{number}"]
            assert values == [[number] * 3 if row == number else [-1] * 3 for row in range(rows)]
        assert f"g{rows % 3}/v{rows}" not in found
        os.unlink(path)


def test_what_the_library_writes_is_whole_or_not_at_all_after_a_kill(tmp_path):
    path = str(tmp_path / "a.h5")
    with h5py.File(path, "w") as file:
        file.create_dataset("v", data=np.arange(600).reshape(20, 30), chunks=(7, 7), compression="lzf")
        file.create_dataset("c", (20, 30), "i4", chunks=(7, 7), fillvalue=4)
    before = Path(path).read_bytes()
    calls = {
        "v": lambda: hdf5.library_write(hdf5.describe(path, "v"), (slice(3, 11), slice(2, 9)), 5),
        "c": lambda: hdf5.allocate(hdf5.describe(path, "c")),
    }
    for name, call in calls.items():
        seen = set()
        for at in itertools.count():
            Path(path).write_bytes(before)
            if not killed(call, at):
                break
            repair(path)
            seen.add(Path(path).read_bytes() == before)
            with h5py.File(path) as file:
                file[name][()]
        assert True in seen
        assert at > 10
        assert Path(path).read_bytes() != before
        assert os.listdir(tmp_path) == ["a.h5"]


def test_the_library_does_not_write_while_another_program_holds_the_journal(tmp_path):
    path = str(tmp_path / "a.h5")
    with h5py.File(path, "w") as file:
        file.create_dataset("v", data=np.arange(600).reshape(20, 30), chunks=(7, 7), compression="lzf")
        file.create_dataset("c", (20, 30), "i4", chunks=(7, 7), fillvalue=4)
    before = Path(path).read_bytes()
    with Changes(path) as changes:
        changes.begin()
        for call in (
            lambda: hdf5.library_write(hdf5.describe(path, "v"), (slice(3, 11), slice(2, 9)), 5),
            lambda: hdf5.allocate(hdf5.describe(path, "c")),
        ):
            with pytest.raises(StoreError, match=r"another program is changing it.*sync the file on all ranks"):
                call()
            assert Path(path).read_bytes() == before
    hdf5.library_write(hdf5.describe(path, "v"), (slice(3, 11), slice(2, 9)), 5)
    assert Path(path).read_bytes() != before


def test_a_file_in_a_folder_that_may_not_be_written_is_changed_all_the_same(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    path = str(folder / "a.h5")
    with h5py.File(path, "w") as file:
        file.create_dataset("c", (20, 30), "i4", chunks=(7, 7), fillvalue=4)

    def change():
        give_up_privileges()  # root may write everywhere
        with pytest.raises(StoreError, match="keep a journal of changes in"):
            Changes(path)
        assert (hdf5.allocate(hdf5.describe(path, "c")).layout.offsets >= 0).all()

    folder.chmod(0o555)
    assert not killed(change, -1)
    folder.chmod(0o755)
    assert (hdf5.describe(path, "c").layout.offsets >= 0).all()
    assert os.listdir(folder) == ["a.h5"]


def test_a_variable_that_cannot_be_added_leaves_the_bytes_as_they_were(tmp_path):
    path = made(tmp_path / "a.nc", "netcdf4")
    shutil.copy(path, tmp_path / "before")
    with changing(path) as changes:
        hdf5.set_attributes(changes, "", {"a": 1})
        changes.commit()
        before = Path(path).read_bytes()
        for wrong in (new("q", (9, 5), "f4", ("c", "a")), new("r", (4,), "f4", ("a",), attributes={"x": 1j})):
            with pytest.raises(ValueError, match=r"length 4 in the file, and 5|netCDF-4 has no attributes"):
                hdf5.add(changes, wrong)
            assert Path(path).read_bytes() == before
    store(hdf5.describe(path, "fixed"), np.ones((4, 5)))
