"""The file of batches: each batch has its space in it; batches that are not kept are holes.

    [batch 0][batch 1] ... [the kept batches: JSON][its length, its checksum, the signature]

It is written under a hidden name, which no other process opens. With a key it gets its name when it is complete and
synced, and the list of kept batches follows the batches; a truncated file, or a file of a killed run, has no such end.
Each batch has a checksum, which is compared at each read.

Left after a kill: the hidden file; it is of no use, and its user may remove it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import math
import os
import struct
import time
import zlib
from typing import Any

import numpy as np

from swath import _core
from swath.array import opening
from swath.array.async_operations import Future
from swath.array.open_array import Array
from swath.base.adaptive import PREFETCH, RECOMPUTE
from swath.base.stream_settings import Streams
from swath.errors import Error, StoreError
from swath.ranks.compared import digest, dtype_words
from swath.recompute.dealing import Batches
from swath.store.atomic_file import AtomicFile

SIGNATURE = b"SwathBal"
VERSION = 1
END = struct.Struct("<QQ8s")
CONTENTS_BYTES_MAX = 1 << 30

Values = np.ndarray[Any, np.dtype[Any]]


UNKNOWN = float("nan")
"""The seconds of a batch are not known; a file has 0 for this."""


@dataclasses.dataclass(frozen=True)
class Kept:
    """The file's record of a batch: the checksum of its bytes, and the seconds of computing it, or UNKNOWN."""

    checksum: int
    seconds: float


@dataclasses.dataclass(frozen=True)
class Transfer:
    """A read or write of one batch: its begin, by the clock of the node, and its duration."""

    begin: float
    seconds: float


class DamagedError(StoreError):
    """A batch in the file differs from what was written."""


@dataclasses.dataclass(frozen=True)
class How:
    """How the file is opened: see `swath.open`."""

    engine: str | None
    streams: Streams


@dataclasses.dataclass(frozen=True)
class UnderWay:
    """A read or write of a batch in the background.

    Attributes:
        batch: its number.
        memory: its bytes, which belong to the operation until it is done.
        checksum: of the bytes that are, or were, written.
        future: the operation.
    """

    batch: int
    memory: Values
    checksum: int
    future: Future

    def is_done(self) -> bool:
        """Return whether the operation is done."""
        return self.future.done()

    def wait(self) -> Transfer:
        """Return the transfer when it is done. Raises StoreError."""
        self.future.result()
        began, ended = self.future.times
        return Transfer(began, ended - began)

    def cancel(self) -> None:
        """Cancel a read, and ignore its result. In a forked child, no operation is running."""
        self.future._cancel()


class BatchFile:
    """The file of one rank: operations of the array, in the background or at once.

    Args:
        path: its current path.
        batches: all batches, for their offsets.
        how: the options of the open.
        mode: "r" for a file of an earlier run, else "r+".
    """

    def __init__(self, path: str, batches: Batches, how: How, mode: str) -> None:
        self._batches = batches
        self._how = how
        self._array = self._open(path, mode)

    def _open(self, path: str, mode: str) -> Array:
        return opening.open(
            path, mode=mode, shape=(self._batches.file_bytes,), dtype="u1", format="raw", engine=self._how.engine,
            streams=self._how.streams,
        )  # fmt: skip

    def trace_adaptive(self, *, decides: bool) -> None:
        """Note in the trace that batches are read ahead; and, if it `decides`, that Swath chooses which are read."""
        self._array._stored.trace_adaptive(PREFETCH)
        if decides:
            self._array._stored.trace_adaptive(RECOMPUTE)

    def reopen(self, path: str) -> None:
        """Open the file for writing, under another name."""
        self._array.close()
        self._array = self._open(path, "r+")

    def sync(self) -> None:
        """Sync all that was written. Raises StoreError."""
        self._array.sync()

    def close(self) -> None:
        """Close it."""
        self._array.close()

    def begin_write(self, batch: int, memory: Values) -> UnderWay:
        """Begin to write a batch's bytes."""
        checksum = _core.crc32c(memory)
        return UnderWay(batch, memory, checksum, self._array.write_async(memory, selection=self._place(batch)))

    def begin_read(self, batch: int, checksum: int, memory: Values) -> UnderWay:
        """Begin to read a batch's bytes into memory; `Own.checked` compares the checksum."""
        return UnderWay(batch, memory, checksum, self._array.read_async(selection=self._place(batch), out=memory))

    def read(self, batch: int, memory: Values) -> Transfer:
        """Read a batch's bytes now. Raises StoreError."""
        begin = time.monotonic()
        self._array.read(selection=self._place(batch), out=memory)
        return Transfer(begin, time.monotonic() - begin)

    def check(self, batch: int, checksum: int, memory: Values) -> None:
        """Raise DamagedError if the bytes that were read differ from those that were written."""
        if _core.crc32c(memory) != checksum:
            raise DamagedError(
                f"{self._array.path}: batch {batch}, {memory.nbytes:,} bytes from byte {self._place(batch).start}, is "
                "not what was written there"
            )

    def values(self, batch: int, memory: Values) -> Values:
        """Return a batch's bytes as an array of its shape and dtype."""
        return memory.view(self._batches.dtype).reshape(self._batches.shapes[batch])

    def price(self, cached: float) -> float:
        """Return the seconds per byte that the profile predicts for reads of the longest batch."""
        nbytes = int(self._batches.nbytes.max())
        return (self._array.explain(selection=slice(0, nbytes), cached=cached).seconds or 0.0) / nbytes

    def cached(self, batch: int) -> float:
        """Return the part of a batch that is in the page cache; 0 if it is not known."""
        place = self._place(batch)
        known = self._array._stored.file.core.cached_range(place.start, place.stop - place.start)
        return 0.0 if known is None else known

    def _place(self, batch: int) -> slice:
        begin = int(self._batches.offsets[batch])
        return slice(begin, begin + int(self._batches.nbytes[batch]))


# ---- files that are kept for the next run ----------------------------------------------------------------------------


def make(path: Any, batches: Batches) -> AtomicFile:
    """Make a new file with space for all batches, as holes, under a hidden name. Raises StoreError."""
    new = AtomicFile(path, overwrite=True)
    with new.removed_on_error(), open(new.working_path, "xb") as file:
        file.truncate(batches.file_bytes)
    return new


def complete(atomic_file: AtomicFile, batches: Batches, key: str, kept: dict[int, Kept]) -> None:
    """Write the list of kept batches after the batches, sync, and rename. Raises OSError."""
    said = {str(batch): [one.checksum, _known(one.seconds)] for batch, one in sorted(kept.items())}
    text = json.dumps({**_identity(batches, key), "kept": said}).encode()
    with open(atomic_file.working_path, "r+b") as file:
        file.truncate(batches.file_bytes)
        file.seek(batches.file_bytes)
        file.write(text + END.pack(len(text), zlib.crc32(text), SIGNATURE))
        file.flush()
        os.fsync(file.fileno())
    atomic_file.complete()


@dataclasses.dataclass
class Earlier:
    """A complete file of an earlier run, and its lock against other runs."""

    kept: dict[int, Kept]
    descriptor: int

    def unlock(self) -> None:
        """Release the lock."""
        os.close(self.descriptor)


def find_earlier(path: str, batches: Batches, key: str) -> tuple[Earlier | None, str]:
    """Return the complete file of an earlier run with the same key, sizes and dtype; or None, and the reason."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None, ""
    except OSError as error:
        return None, f"{path} cannot be opened ({error.strerror}): it is made anew"
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return Earlier(_contents(descriptor, batches, key), descriptor), ""
    except BlockingIOError:
        why = "another run has it"
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        why = str(error)
    os.close(descriptor)
    return None, f"{path} is not used again: {why}; it is made anew"


def take_away(path: str) -> AtomicFile:
    """Give a complete file that will be changed a hidden name: after a kill, no file has its name. Raises OSError."""
    taken = AtomicFile(path, overwrite=True)
    os.rename(taken.final_path, taken.working_path)
    return taken


def _identity(batches: Batches, key: str) -> dict[str, Any]:
    sizes = digest(repr(batches.shapes).encode())
    return {"version": VERSION, "key": key, "sizes": sizes, "dtype": dtype_words(batches.dtype)}


def _contents(descriptor: int, batches: Batches, key: str) -> dict[int, Kept]:
    """Return the kept batches of a file. Raises ValueError and others if it is not complete, or another file."""
    size = os.fstat(descriptor).st_size
    length = size - batches.file_bytes - END.size
    if not 0 < length <= CONTENTS_BYTES_MAX:
        raise ValueError("it is not complete, or of other sizes")
    tail = os.pread(descriptor, length + END.size, batches.file_bytes)
    text = tail[:length]
    if len(tail) != length + END.size or END.unpack(tail[length:]) != (length, zlib.crc32(text), SIGNATURE):
        raise ValueError("it is not complete, or of other sizes")
    said = json.loads(text)
    for name, expected in _identity(batches, key).items():
        if said[name] != expected:
            raise ValueError(f"its {name} is {said[name]!r}, not {expected!r}")
    kept = {
        int(batch): Kept(int(checksum), float(seconds) or UNKNOWN)
        for batch, (checksum, seconds) in said["kept"].items()
    }
    if not all(0 <= batch < len(batches.nbytes) and not one.seconds < 0 for batch, one in kept.items()):
        raise ValueError("it speaks of batches that there are not")
    return kept


def _known(seconds: float) -> float:
    return 0.0 if math.isnan(seconds) else seconds


def remove(atomic_file: AtomicFile) -> None:
    """Remove an incomplete file; ignore errors of the system."""
    with contextlib.suppress(Error, OSError):
        atomic_file.remove()
