"""The measurement of reads of a Zarr store, for `swath bench zarr`. It needs NumPy and `swath_bench.standalone` alone.

Before every read the store is opened anew, so the caches of the library are empty. Its files are loaded into the page
cache or dropped from it. The clock runs from the requests to the values in new memory. All values are compared with
the stored ones. A program writes a line for each cell as soon as it is measured.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import answers
import numpy as np
import numpy.typing as npt
import page_cache

Values = npt.NDArray[Any]
Selection = tuple[int | slice, ...]

PIECE_BYTES = 64 << 20
DROPS_MAX = 20
DROP_SECONDS = 1e-3
SHORT_SECONDS = 0.1
SHORT_TIMES = 5
"""Shorter reads are repeated more often by this factor: they scatter more."""


class WrongDataError(Exception):
    """A contender read wrong values: its speed means nothing."""


class Contender:
    """One way of reading.

    Args:
        path: the store, one array.
        version: of Zarr, 2 or 3.
        settings: see `swath_bench.zarr.contenders.Contender`.
    """

    def __init__(self, path: str, version: int, settings: dict[str, Any]) -> None:
        self.path, self.version, self.settings = path, version, settings

    def open(self) -> None:
        """Open the store before every read, not timed; no state of an earlier read may be left."""
        raise NotImplementedError

    def read(self, selections: Sequence[Selection]) -> list[Values]:
        """Return the selected elements in new memory, an array for each selection; at once or in turn."""
        raise NotImplementedError

    def close(self) -> None:
        """After every read, not timed."""


class Bench:
    """All cells of a request, of one contender."""

    def __init__(self, contender: Contender, request: dict[str, Any]) -> None:
        self._contender, self._request = contender, request
        self._values = np.load(request["array"], mmap_mode="r")

    def run(self) -> None:
        """Measure the cells, one after the other; a cell that fails, or has wrong values, is refused."""
        for index, cell in enumerate(self._request["cells"]):
            told: dict[str, Any] = {"index": index, "repetitions": [], "refused": None}
            try:
                told["repetitions"] = self._measure(cell)
            except WrongDataError as error:
                told["refused"] = str(error)
            except Exception as error:  # noqa: BLE001 - whatever a library raises is its answer
                told["refused"] = answers.reason(error)
            answers.keep(self._request["kept"], told)

    def _measure(self, cell: dict[str, Any]) -> list[dict[str, Any]]:
        """Do one read that does not count, then the repetitions."""
        times = self._request["repetitions"]
        if self._repeat(cell)["seconds"] < SHORT_SECONDS:
            times *= SHORT_TIMES
        return [self._repeat(cell) for _ in range(times)]

    def _repeat(self, cell: dict[str, Any]) -> dict[str, Any]:
        os.utime(self._request["kept"])  # a sign of life
        selections = [selection_of(told) for told in cell["selections"]]
        self._contender.open()  # before the cache is cold: opening reads
        cached = page_cache.prepare(
            page_cache.files_of(self._request["store"]), forget if cell["cache"] == "cold" else None
        )
        device_before = page_cache.device_bytes_read()
        processor_before = time.process_time()
        start = time.perf_counter()
        found = self._contender.read(selections)
        seconds = time.perf_counter() - start
        processor_seconds = time.process_time() - processor_before
        device_after = page_cache.device_bytes_read()
        self._contender.close()
        for values, selection in zip(found, selections, strict=True):
            check(values, self._values[selection], selection)
        known = device_before is not None and device_after is not None
        return {
            "seconds": seconds,
            "processor_seconds": processor_seconds,
            "cached_bytes_before": cached,
            "device_read_bytes": device_after - device_before if known else None,
        }


def reading(contender: type[Contender]) -> Callable[[dict[str, Any]], None]:
    """Return the job: all cells of its request, by this contender."""
    return lambda request: Bench(contender(request["store"], request["version"], request["settings"]), request).run()


def forget(fd: int) -> None:
    """Drop the store from the page cache. It was synced when it was made, and not written since.

    Pages that the kernel is still reading ahead cannot be dropped yet, so several attempts are made.
    """
    for _ in range(DROPS_MAX):
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        if not page_cache.cached_bytes(fd, os.fstat(fd).st_size):
            return
        time.sleep(DROP_SECONDS)


def selection_of(told: Sequence[int | list[int]]) -> Selection:
    """Return a selection from its JSON."""
    return tuple(part if isinstance(part, int) else slice(*part) for part in told)


def check(found: Values, expected: Values, selection: Selection) -> None:
    """Raise WrongDataError with the position unless all elements are equal. Works in pieces to save memory."""
    if not isinstance(found, np.ndarray) or found.shape != expected.shape or found.dtype != expected.dtype:
        got = f"{getattr(found, 'dtype', type(found).__name__)} of shape {np.shape(found)}"
        raise WrongDataError(f"{selection}: read {got}, not {expected.dtype} of shape {expected.shape}")
    step = max(1, PIECE_BYTES // max(1, expected[:1].nbytes))
    for begin in range(0, expected.shape[0], step):
        differs = found[begin : begin + step] != expected[begin : begin + step]
        if differs.any():
            first, *others = (int(at) for at in np.argwhere(differs)[0])
            place = (begin + first, *others)
            raise WrongDataError(
                f"wrong data in {selection}: at {place} is {found[place]}, not {expected[place]} "
                f"({int(np.count_nonzero(differs))} wrong elements from there on)"
            )


def read_each(work: Callable[[Selection], Values], selections: Sequence[Selection], pool: Any) -> list[Values]:
    """Return each selection's values: one after the other, or by the threads of a pool."""
    return list(map(work, selections) if pool is None or len(selections) == 1 else pool.map(work, selections))
