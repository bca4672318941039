"""Damaged HDF5 files: each gives an error, or the values that h5py reads, too.

python hdf5_mutations.py COUNT [FIRST]     tries this many, and prints the results

Children read batches of them, because HDF5's own library crashes at some files, and never ends at others. If a child
ends in this way, a backtrace names the code, h5py alone is tried with that file, and another child continues after it.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import mmap
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
from typing import Any

import h5py
import numpy as np

import hdf5_read_cases
import swath
from swath.errors import Error
from swath.formats import hdf5

SECONDS_A_FILE = 5
"""Of processor time."""
SECONDS_ASLEEP = 300
"""The time that a file may take, asleep: HDF5 waits between attempts to read what another process may be writing."""
MEMORY_MAX = 6 << 30
"""Bytes that a child may allocate: a damaged length must not allocate more."""
A_BATCH = 500
VARIABLES_MAX = 6
ELEMENTS_MAX = 100_000
OUTCOMES = ("refused", "described", "right", "undamaged", "unconfirmed", "wrong", "foreign")
"""The outcomes: an error that names the file; no comparable element; all values equal h5py's; some values that h5py
does not find, equal to those before the damage (h5py looks a chunk up in a tree with damaged bounds, and takes it for a
missing one; Swath lists the content of the tree); values where h5py raises an error; other values; an error that is not
Swath's."""
GOOD = ("right", "undamaged", "unconfirmed", "described")
NUMBER, READER = len(OUTCOMES), len(OUTCOMES) + 1
"""Indices in the shared memory of a child: the number of the file that is read; 1 while h5py reads it."""


@dataclasses.dataclass
class Found:
    """The results for all files."""

    counts: dict[str, int] = dataclasses.field(default_factory=lambda: dict.fromkeys(OUTCOMES, 0))
    crashes: dict[str, list[int]] = dataclasses.field(default_factory=dict)
    """The numbers of files, by what happened."""
    messages: list[str] = dataclasses.field(default_factory=list)
    """Messages about forbidden outcomes."""

    def note_crash(self, what: str, number: int) -> None:
        self.crashes.setdefault(what, []).append(number)


def mutated(stored: bytes, rng: random.Random) -> bytes:
    """Return the bytes with a few changes, and sometimes truncated."""
    data = bytearray(stored)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(8, len(data))
        count = rng.randint(1, 4)
        data[at : at + count] = bytes(rng.choice((0, 1, 2, 127, 128, 255, rng.randrange(256))) for _ in range(count))
    return bytes(data[: rng.randrange(1, len(data))] if rng.random() < 0.1 else data)


def small_files(folder: pathlib.Path) -> list[str]:
    """Return new small files of every kind: in a large file, a damaged byte would be data."""
    made = hdf5_read_cases.make(folder)
    return [path for path in made if os.path.getsize(path) < 60_000 and "user_block" not in path]


class Mutations:
    """Files that are damaged one after another, in a separate folder."""

    def __init__(self, folder: pathlib.Path) -> None:
        (folder / "whole").mkdir()
        self.folder = folder
        self.whole = [pathlib.Path(path) for path in small_files(folder / "whole")]
        self.target = folder / "mutated"
        self.backtrace = folder / "backtrace"
        self.shared = np.frombuffer(mmap.mmap(-1, mmap.PAGESIZE), np.int64)
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", folder / "backtrace.so", _BACKTRACE_SOURCE], check=True)
        self.library = ctypes.CDLL(str(folder / "backtrace.so"))

    # ---- In a child

    def read(self, number: int) -> tuple[str, str]:
        """Return the outcome of one file, and a message."""
        rng = random.Random(number)
        whole = rng.choice(self.whole)
        self.target.write_bytes(mutated(whole.read_bytes(), rng))
        self.shared[NUMBER], self.shared[READER] = number, 0
        signal.setitimer(signal.ITIMER_PROF, SECONDS_A_FILE)
        signal.setitimer(signal.ITIMER_REAL, SECONDS_ASLEEP)
        try:
            found = hdf5.contents(str(self.target))
            names = list(found.variables)[:VARIABLES_MAX]
            described = hdf5.describe_many(str(self.target), names)
        except Error as error:
            return ("refused", "") if str(self.target) in str(error) else ("foreign", f"it names no file: {error}")
        except Exception as error:  # noqa: BLE001
            return "foreign", repr(error)
        if whole.suffix == ".nc":  # what is never filled reads as netCDF's own fill value there
            return "described", ""
        return self.compare({name: one for name, one in zip(names, described, strict=True) if _is_plain(one)}, whole)

    def compare(self, described: dict[str, Any], whole: pathlib.Path) -> tuple[str, str]:
        """Return whether h5py reads the same values, and the values before the damage."""
        outcomes = set()
        for name, one in described.items():
            self.shared[READER] = 0
            try:
                with swath.open(str(self.target), name) as array:
                    values = array[...]
            except Error as error:
                if str(self.target) not in str(error):
                    return "foreign", f"{name}: it names no file: {error}"
                continue
            except Exception as error:  # noqa: BLE001
                return "foreign", f"{name}: {error!r}"
            self.shared[READER] = 1
            expected = _by_h5py(self.target, name)
            if expected is None:
                outcomes.add("unconfirmed")
            elif isinstance(expected, str):
                continue  # another shape, which netCDF-4's dimensions explain
            elif _are_same(values, expected):
                outcomes.add("right")
            elif _are_same(values, _by_h5py(whole, name)):
                outcomes.add("undamaged")
            else:
                return "wrong", f"{name} {one.shape} {one.dtype}: {values!r}, by h5py {expected!r}"
        return next((one for one in ("undamaged", "unconfirmed", "right") if one in outcomes), "described"), ""

    def batch(self, first: int, end: int) -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        assert self.library.write_backtraces_to(str(self.backtrace).encode()) == 0
        for number in range(first, end):
            outcome, words = self.read(number)
            self.shared[OUTCOMES.index(outcome)] += 1
            if words:
                self.target.rename(self.folder / f"{outcome}-{number}")
                with open(self.folder / "messages", "a") as messages:
                    messages.write(f"{number} {outcome}: {words}\n")
        self.shared[NUMBER] = end

    # ---- In the parent

    def run(self, first: int, count: int) -> Found:
        """Return the results for this many files."""
        found = Found()
        self.shared[:] = 0
        begin, end = first, first + count
        while begin < end:
            last = min(begin + A_BATCH, end)
            child = os.fork()
            if child == 0:
                with contextlib.suppress(KeyboardInterrupt):
                    self.batch(begin, last)
                    os._exit(0)
                os._exit(1)
            status = os.waitpid(child, 0)[1]
            number = int(self.shared[NUMBER])
            if not os.WIFSIGNALED(status):
                assert (os.WEXITSTATUS(status), number) == (0, last), f"a child ended at file {number}"
                begin = last
                continue
            found.note_crash(self.what_ended(os.WTERMSIG(status)), number)
            self.target.rename(self.folder / f"crash-{number}")
            self.backtrace.rename(self.folder / f"crash-{number}.txt")
            begin = number + 1
        found.counts = {name: int(self.shared[i]) for i, name in enumerate(OUTCOMES)}
        if (self.folder / "messages").exists():
            found.messages = (self.folder / "messages").read_text().splitlines()
        return found

    def what_ended(self, number: int) -> str:
        """Return the signal, and the code, at which a child ended in its last file."""
        whose = "while h5py read" if self.shared[READER] else f"in {_innermost(self.backtrace.read_text())}"
        ways = {signal.SIGPROF: "for ever", signal.SIGALRM: "asleep for ever"}
        what = ways.get(signal.Signals(number), signal.Signals(number).name)
        alone = "too" if _h5py_ends(self.target) else "not"
        return f"{what} {whose}, by h5py alone {alone}"


_BACKTRACE_SOURCE = pathlib.Path(__file__).with_name("backtrace_at_end.c")


def _is_plain(described: Any) -> bool:
    """Return whether the elements are numbers, and few."""
    dtype = described.dtype
    if dtype.kind not in "biufc" or (dtype.itemsize >= 16 and dtype.kind != "c") or dtype.itemsize > 16:
        return False
    return 0 <= np.prod(described.shape, dtype=object) <= ELEMENTS_MAX


def _by_h5py(path: pathlib.Path, name: str) -> Any:
    """Return the values; None for an error; text if they cannot be compared."""
    try:
        with h5py.File(path, "r") as file:
            stored = file[name]
            if not isinstance(stored, h5py.Dataset) or stored.external or stored.is_virtual:
                return "not a plain dataset"
            return stored[...]
    except Exception:  # noqa: BLE001
        return None


def _are_same(values: Any, expected: Any) -> bool:
    """Return whether they are equal, byte for byte in native order."""
    if not isinstance(expected, np.ndarray | np.generic) or values.shape != expected.shape:
        return False
    native = values.dtype.newbyteorder("=")
    if native != expected.dtype.newbyteorder("="):
        return False
    return bool(values.astype(native).tobytes() == expected.astype(native).tobytes())


def _innermost(backtrace: str) -> str:
    """Return the first library of a backtrace that is neither the C library nor the one that printed it."""
    libraries = [os.path.basename(line.split("(")[0]) for line in backtrace.splitlines()]
    others = [name for name in libraries if not name.startswith(("backtrace.so", "libc.so", "libstdc++", "libgcc"))]
    if not others:
        return "nobody's code"
    return "HDF5" if others[0].startswith("libhdf5") else others[0]


def _h5py_ends(path: pathlib.Path) -> bool:
    """Return whether h5py alone crashes at a file, or does not end."""
    program = (
        "import signal, sys, h5py\n"
        f"signal.setitimer(signal.ITIMER_PROF, {SECONDS_A_FILE})\n"
        "def look(name, item):\n"
        "    try:\n"
        "        list(item.attrs.items())\n"
        "        if isinstance(item, h5py.Dataset):\n"
        "            item.fillvalue, item.chunks; item.id.chunk_iter(lambda chunk: None)\n"
        "    except Exception: pass\n"
        "try:\n"
        "    with h5py.File(sys.argv[1], 'r') as file: look('', file); file.visititems(look)\n"
        "except Exception: pass\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, timeout=600, check=False)
    return done.returncode < 0


def main() -> None:
    """Try as many as the command line says."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="swath-hdf5-mutations-"))
    count = int(sys.argv[1])
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    mutations = Mutations(folder)
    print(f"what is to be looked at is kept in {folder}")
    for begin in range(first, first + count, A_BATCH):
        found = mutations.run(begin, min(A_BATCH, first + count - begin))
        print(begin, found.counts, found.crashes, flush=True)
    print("\n".join(found.messages))


if __name__ == "__main__":
    main()
