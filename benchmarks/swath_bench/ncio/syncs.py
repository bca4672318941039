"""The cost of a sync after each write, compared with one sync for all: the remedy of Ching et al., 2006, section 7.

"We can work on the request scheduler on the server side to make sure to delay requested fsync() calls until pending I/O
operations to a particular file complete." The same regions are written in all ways, a part with each write. If an
answered write is on the medium, as in a pool, a sync only checks that the file still exists; then only the file's
size has a cost: libradosstriper reads and sets it at each write of each client; Swath sets it once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

import swath
from swath import _core
from swath.array.open_array import Array
from swath.ranks.ranks import Ranks
from swath.space import Cyclic, Whole
from swath_bench.measure import (
    VALUE_BYTES,
    VALUE_DTYPE,
    check_equal,
    say,
    shuffled,
    stamped,
    timed,
)
from swath_bench.ncio.options import Options
from swath_bench.ncio.pattern import Pattern
from swath_bench.ncio.pool_file import file_under_test

ONE_FOR_ALL, ONE_EACH, SIZE_EACH = "one sync for all", "a sync each", "a sync and a size each"
METHOD = "auto"


def measure_syncs(ranks: Ranks, path: str, options: Options) -> list[dict[str, Any]]:
    """Collective. Measure the writes in each way, in all repetitions; nothing if no syncs are requested.

    Returns:
        For each way "way", "ranks", "writes", "region_count" and "region_bytes" of one write of a rank, and
        "seconds", one a repetition, without the first, which only warms up.
    """
    if not options.syncs or not options.sync or "write" not in options.directions:
        return []
    whole = Pattern(ranks.size, options.syncs * options.base_count, options.base_size, options.base_spacing, "c-nc")
    say(ranks, f"ncio: {options.syncs} writes, synced each and together, {ranks.size} ranks")
    file = file_under_test(ranks, path, whole.file_bytes // VALUE_BYTES, options)
    try:
        with file.opened():
            file.fill(0)
            return _Writes(ranks, file.path, options, whole).measure()
    finally:
        if ranks.rank == 0:
            file.remove()


class _Writes:
    """The writes, in all their ways; every rank has one."""

    def __init__(self, ranks: Ranks, path: str, options: Options, whole: Pattern) -> None:
        self._ranks, self._path, self._options, self._whole = ranks, path, options, whole
        self._stamp = 0

    def measure(self) -> list[dict[str, Any]]:
        ways = [ONE_FOR_ALL, ONE_EACH, *([SIZE_EACH] if self._options.store else [])]
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        with contextlib.closing(self._open()) as array:
            for repetition in range(self._options.repetitions + 1):
                for way in shuffled(ways, repetition):
                    taken = self._write(array, way)
                    if repetition > 0:
                        seconds[way].append(taken)
        options = self._options
        return [
            {
                "way": way,
                "ranks": self._ranks.size,
                "writes": options.syncs,
                "region_count": options.base_count,
                "region_bytes": options.base_size,
                "seconds": seconds[way],
            }
            for way in ways
        ]

    def _open(self) -> Array:
        shape = self._whole.file_shape
        return swath.open(self._path, shape=shape, dtype=VALUE_DTYPE, mode="r+", comm=self._ranks)

    def _write(self, array: Array, way: str) -> float:
        """Empty the file, write it in one way, compare all regions; return the seconds of all ranks."""
        self._stamp += 1
        whole = self._whole
        regions = whole.region_elements(self._ranks.rank, 0, whole.count)
        self._empty(keeps_size=way != SIZE_EACH)
        values = stamped(regions, self._stamp)
        taken = timed(self._ranks, self._work(array, way, values))["seconds"]
        found = array.read(self._distribution, selection=np.s_[:, : whole.units])
        who = f"{self._options.syncs} writes, {way}"
        check_equal(self._ranks, found, lambda begin, end: stamped(regions[begin:end], self._stamp), who)
        return float(taken)

    def _empty(self, *, keeps_size: bool) -> None:
        """Collective. Remove all that was written."""

        def empty() -> None:
            file = _core.open_file(self._path, "r+")
            file.resize(0)
            if keeps_size:
                file.resize(self._whole.file_bytes)

        self._ranks.on_first("empty the file", empty)

    def _work(self, array: Array, way: str, values: Any) -> Callable[[], None]:
        rows = self._options.base_count * self._ranks.size
        own = _core.open_file(self._path, "r+") if way == SIZE_EACH else None

        def write_all() -> None:
            for number in range(self._options.syncs):
                # As in libradosstriper: every client reads the size, and sets it if it is less. It is not more: no rank
                # ends a write before all have begun it.
                if own is not None:
                    own.resize((number + 1) * rows * self._whole.file_shape[1] * VALUE_BYTES)
                array.write(
                    values[number * self._options.base_count : (number + 1) * self._options.base_count],
                    self._distribution,
                    selection=np.s_[number * rows : (number + 1) * rows, : self._whole.units],
                    method=METHOD,
                )
                if way != ONE_FOR_ALL:
                    array.sync()
            if way == ONE_FOR_ALL:
                array.sync()

        return write_all

    @property
    def _distribution(self) -> swath.Distribution:
        return swath.Distribution((Cyclic(1), Whole()), grid=(self._ranks.size, 1))
