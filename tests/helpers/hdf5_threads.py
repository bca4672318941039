"""Swath's HDF5 and netCDF-4 files in some threads, h5py and netCDF4 in others: no wrong value, no deadlock.

    python hdf5_threads.py FOLDER before|after OPERATIONS

"before": h5py and netCDF4 are imported before Swath; "after": by their own threads, while Swath works. Prints Swath's
HDF5 library, the number of each library's operations, and how many were refused because another library had the file
locked; then each wrong value, with exit status 1. A process that hangs prints where, and ends.
"""

from __future__ import annotations

import collections
import errno
import faulthandler
import importlib
import itertools
import json
import os
import random
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

SECONDS_WITHOUT_END = 900
FILES_MAX = 500
RECORDS_MAX = 50
RECORD = 5
"""Elements of a record; all of them are the number of the record."""
REFUSALS = (errno.EAGAIN, errno.EACCES, -101, 0)
"""The errors of the libraries for a locked file; netCDF's -101 is "HDF error"."""

faulthandler.enable()
faulthandler.dump_traceback_later(SECONDS_WITHOUT_END, exit=True)
if sys.argv[2:3] == ["before"]:
    importlib.import_module("h5py")
    importlib.import_module("netCDF4")

import numpy as np  # noqa: E402

import swath  # noqa: E402
from swath._core import hdf5_library  # noqa: E402


class WrongError(Exception):
    """A value that was never written."""


class Counts:
    """The operations of all threads that are done, and that are left."""

    def __init__(self, operations: int) -> None:
        self.of_a_thread = operations // 4
        self.at_work = 2  # threads of Swath
        self.done: collections.Counter[str] = collections.Counter()
        self.wrong: list[str] = []
        self.finished: list[str] = []  # files that nobody changes any more, with records 0 to 9
        self.changing: list[str] = []  # files that Swath changes
        self.lock = threading.Lock()

    def turns(self, *, of_swath: bool) -> Iterator[int]:
        """Yield once for each operation of a thread, while nothing is wrong; other threads end when Swath does."""
        for turn in itertools.count():
            if self.wrong or (turn >= self.of_a_thread and (of_swath or self.at_work == 0)):
                return
            yield turn

    def count(self, what: str) -> None:
        with self.lock:
            self.done[what] += 1


def check(found: Any, records: int, name: str) -> None:
    """Raise WrongError if an array differs from records 0 to `records`; later elements may have any value."""
    found = np.asarray(found)
    wanted = np.arange(records, dtype="f8").reshape(-1, *[1] * (found.ndim - 1))
    if len(found) < records or (found[:records] != wanted).any():
        raise WrongError(f"{name}: {found.tolist()}, wanted {records} records")


class OfSwath:
    """A thread that makes, changes and reads files by Swath."""

    def __init__(self, counts: Counts, folder: str, suffix: str, seed: int) -> None:
        self.counts, self.folder, self.suffix = counts, folder, suffix
        self.chance = random.Random(seed)
        self.path = ""
        self.numbers = itertools.count()
        self.records = 0
        self.file: Any = None
        self.start()

    def start(self) -> None:
        """Make a file that is changed, with one record."""
        self.path = f"{self.folder}/swath{id(self)}-{next(self.numbers)}.{self.suffix}"
        codecs = ["zlib"] if self.chance.random() < 0.5 else None
        with swath.create_file(self.path) as file:
            file.create("t", (None, RECORD), "f4", dimensions=("time", "x"), codecs=codecs)
            file.create("u", (None,), "f8", dimensions=("time",))
            self.file, self.records = file, 0
            self.append()
        self.file = swath.open_file(self.path, mode="r+")
        self.counts.changing = [*self.counts.changing[-3:], self.path]

    def append(self) -> None:
        self.file["t"].append(np.full(RECORD, self.records, "f4"))
        self.file["u"].append(float(self.records))
        self.records += 1

    def read(self) -> None:
        check(self.file["t"][...], self.records, f"{self.path}:t")
        row = self.chance.randrange(self.records)
        if self.file["u"][row] != row:
            raise WrongError(f"{self.path}:u[{row}]: {self.file['u'][row]}")

    def attribute(self) -> None:
        value = "v" * self.chance.randrange(400)
        self.file.attributes["a"] = value
        self.file["t"].attributes["b"] = np.arange(self.chance.randrange(1, 9))
        if self.file.attributes["a"] != value:
            raise WrongError(f"{self.path}: attribute a")

    def add(self) -> None:
        name = f"group/v{next(self.numbers)}"
        self.file.create(name, (4,), "i4", dimensions=("x4",), fill=7)[1:] = 5
        if self.file[name][...].tolist() != [7, 5, 5, 5]:
            raise WrongError(f"{self.path}:{name}")

    def open_again(self) -> None:
        self.file.close()
        self.file = swath.open_file(self.path, mode="r+")
        if self.file["u"].shape != (self.records,):
            raise WrongError(f"{self.path}: {self.file['u'].shape}, wanted {self.records} records")
        check(self.file["u"][...], self.records, f"{self.path}:u")
        if self.records > RECORDS_MAX:
            self.file.close()
            self.start()

    def make(self) -> None:
        path = f"{self.folder}/made{id(self)}-{next(self.numbers)}.{self.suffix}"
        with swath.create_file(path, attributes={"title": "made"}) as file:
            file.create("t", (10, RECORD), "f4", dimensions=("time", "x"))[...] = np.arange(10)[:, None]
            file.create("s", (10,), "f8", dimensions=("time",), codecs=["shuffle", "zlib"])[...] = np.arange(10)
        self.counts.finished.append(path)

    def read_finished(self) -> None:
        if self.counts.finished:
            path = self.chance.choice(self.counts.finished)
            with swath.open_file(path) as file:
                check(file["t"][...], 10, path)
                check(file["s"][...], 10, path)

    def run(self) -> None:
        work: list[Callable[[], None]] = [self.append] * 4 + [self.read] * 2
        work += [self.attribute, self.add, self.open_again, self.make, self.read_finished, self.read_finished]
        for _ in self.counts.turns(of_swath=True):
            one = self.chance.choice(work)
            one()
            self.counts.count(f"swath {one.__name__}")
        with self.counts.lock:
            self.counts.at_work -= 1
        self.file.close()
        with swath.open_file(self.path) as file:
            check(file["t"][...], self.records, self.path)
            if file["u"].shape != (self.records,):
                raise WrongError(f"{self.path}: {file['u'].shape}, wanted {self.records}")


class OfLibrary:
    """A thread that makes, changes and reads its own files by another library, and reads those of Swath."""

    name = ""

    def __init__(self, counts: Counts, folder: str, seed: int) -> None:
        self.counts, self.folder = counts, folder
        self.chance = random.Random(seed)
        self.numbers = itertools.count()
        self.library: Any = importlib.import_module(self.name)

    def make(self) -> None:
        path = f"{self.folder}/{self.name}{id(self)}-{next(self.numbers)}.nc"
        self.write_file(path)
        self.counts.finished.append(path)

    def read_finished(self) -> None:
        if self.counts.finished:
            path = self.chance.choice(self.counts.finished)
            for found in self.read_file(path):
                check(found, 10, path)

    def read_changing(self) -> None:
        """Read a file to which another thread appends: the last record may be partly written."""
        if self.counts.changing:
            path = self.chance.choice(self.counts.changing)
            for found in self.read_file(path, ("t", "u")):
                check(found, len(found) - 1, path)

    def write_file(self, path: str) -> None:
        raise NotImplementedError

    def read_file(self, path: str, names: tuple[str, ...] = ("t", "s")) -> list[Any]:
        raise NotImplementedError

    def run(self) -> None:
        for _ in self.counts.turns(of_swath=False):
            makes = len(self.counts.finished) < FILES_MAX
            one = self.chance.choice(
                [self.make if makes else self.read_changing, self.read_finished, self.read_changing]
            )
            try:
                one()
                self.counts.count(f"{self.name} {one.__name__}")
            except OSError as error:
                if not (error.errno in REFUSALS or "lock" in str(error)):
                    raise
                self.counts.count(f"{self.name} {one.__name__} refused")


class OfH5py(OfLibrary):
    """By h5py."""

    name = "h5py"

    def write_file(self, path: str) -> None:
        with self.library.File(path, "w", libver=self.chance.choice(["earliest", ("v110", "v110")])) as file:
            t = file.create_dataset("t", (0, RECORD), "f4", maxshape=(None, RECORD), chunks=(2, RECORD))
            for i in range(10):
                t.resize(i + 1, axis=0)
                t[i] = i
                t.attrs[f"a{i}"] = "x" * 20 * i
            file.create_dataset("s", data=np.arange(10.0), compression="gzip")
            file.create_group("deep/group")

    def read_file(self, path: str, names: tuple[str, ...] = ("t", "s")) -> list[Any]:
        with self.library.File(path, "r") as file:
            return [file[name][...] for name in names]


class OfNetcdf4(OfLibrary):
    """By netCDF4-python. Its calls run without the interpreter's lock, and one thread at a time may make them."""

    name = "netCDF4"

    def write_file(self, path: str) -> None:
        with self.library.Dataset(path, "w") as file:
            file.createDimension("time", None)
            file.createDimension("x", RECORD)
            t = file.createVariable("t", "f4", ("time", "x"), zlib=True)
            s = file.createVariable("s", "f8", ("time",))
            for i in range(10):
                t[i] = i
                s[i] = i
                file.setncattr(f"a{i}", "x" * i)

    def read_file(self, path: str, names: tuple[str, ...] = ("t", "s")) -> list[Any]:
        with self.library.Dataset(path) as file:
            file.set_auto_mask(False)
            return [file[name][...] for name in names]


def run(counts: Counts, make: Callable[[], Any]) -> None:
    """Run one thread; what it raises ends all of them."""
    try:
        make().run()
    except BaseException as error:
        counts.wrong.append(f"{type(error).__name__}: {error}")
        faulthandler.dump_traceback()
        raise


def main(folder: str, operations: int) -> int:
    counts = Counts(operations)
    makes = [
        lambda: OfSwath(counts, folder, "nc4", 1),
        lambda: OfSwath(counts, folder, "h5", 2),
        lambda: OfH5py(counts, folder, 3),
        lambda: OfNetcdf4(counts, folder, 4),
    ]
    threads = [threading.Thread(target=run, args=(counts, make)) for make in makes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    facts = hdf5_library()
    print(
        json.dumps({"hdf5": facts["version"], "found_as": facts["found_as"], "done": dict(sorted(counts.done.items()))})
    )
    for wrong in counts.wrong:
        print("wrong:", wrong)
    return 1 if counts.wrong else 0


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    sys.exit(main(sys.argv[1], int(sys.argv[3])))
