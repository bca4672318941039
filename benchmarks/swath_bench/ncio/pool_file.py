"""The file under test in a Ceph pool: it is made, and checked, by contiguous requests, which no contender sends.

It corresponds to `FileUnderTest` in a file system. There is no page cache between a program and a pool: nothing is
warmed, and answered writes are on the medium.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from swath import _core
from swath.array import opening
from swath.base import stored_path
from swath.ranks.ranks import Ranks
from swath_bench.measure import PIECE_ELEMENTS, VALUE_BYTES, VALUE_DTYPE, FileUnderTest, Values, stamped
from swath_bench.ncio.options import Options


class PoolFile:
    """The file that all contenders read and write.

    Attributes:
        path: its name, `rados:POOL/NAME?…`, with the stripes of its creation.
        elements: the number of its 8-byte integers.
        bytes: the same in bytes.
    """

    def __init__(self, ranks: Ranks, path: str, elements: int) -> None:
        self.path = path
        self.elements = elements
        self.bytes = elements * VALUE_BYTES
        self._ranks = ranks

    @contextlib.contextmanager
    def opened(self) -> Iterator[PoolFile]:
        """Collective. Give the file while the block runs; `fill` makes it."""
        yield self

    def fill(self, stamp: int) -> None:
        """Collective. Rank 0 makes it anew, front to back. Raises StoreError on every rank."""
        self._ranks.on_first(f"create {stored_path.of(self.path).name}", lambda: self._create(stamp))

    def _create(self, stamp: int) -> None:
        with opening.create(self.path, (self.elements,), VALUE_DTYPE, format="raw", overwrite=True) as new:
            for begin in range(0, self.elements, PIECE_ELEMENTS):
                end = min(begin + PIECE_ELEMENTS, self.elements)
                new[begin:end] = stamped(np.arange(begin, end, dtype=np.int64), stamp)

    def stored_bytes(self) -> int:
        """Return the length of the file."""
        return stored_path.of(self.path).size()

    def stored(self, first: int, count: int) -> Values:
        """Return elements [first, first + count) as they are stored; fewer if the file ends before."""
        file = _core.open_file(self.path, "r")
        return np.frombuffer(file.read_at(first * VALUE_BYTES, count * VALUE_BYTES), dtype=VALUE_DTYPE)

    def remove(self) -> None:
        """Remove the file if it exists. One rank calls this."""
        stored_path.of(self.path).remove()


AnyFile: TypeAlias = FileUnderTest | PoolFile


def file_under_test(ranks: Ranks, path: str, elements: int, options: Options) -> AnyFile:
    """Return the file with this number of elements: at `path`, or in the pool of the options."""
    kind = PoolFile if options.store else FileUnderTest
    return kind(ranks, options.file_name(path), elements)
