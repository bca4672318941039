"""The file for measurements, and checks of the medium that was reached: the page cache, or the device behind it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any, TypeAlias

from swath import _core
from swath.store import page_cache, profile
from swath.store.standalone import page_cache as kernel

WINDOW = 512 << 10
WINDOWS_A_SYNC = 4
REQUESTS_MAX = 1 << 17
CACHED_MIN = 0.999
UNCACHED_MAX = 0.01
DEVICE_MIN = 0.95
"""The part of the requested bytes that the device delivered, as the kernel counts it."""
TRIES = 3

Measure: TypeAlias = Callable[[], tuple[float, int]]
"""A function: the seconds of one request, and the bytes of all requests."""


class NotReachedError(Exception):
    """A medium was not reached, or it cannot be shown that it was."""


@dataclasses.dataclass(frozen=True)
class Requests:
    """A number of requests of one size at a constant distance.

    Attributes:
        write: whether they are writes.
        size: bytes of each.
        first: the byte of the file where the first one begins.
        stride: bytes from the begin of one to the begin of the next.
        count: their number.
    """

    write: bool
    size: int
    first: int
    stride: int
    count: int


class MeasuredFile:
    """A file that is open for measurements.

    Args:
        path: its path, which must not exist.
        evict: drops it from the page cache.

    Attributes:
        path: of the file.
        nbytes: its length.
        file: the open file.
        cursor: the begin of the next stretch, so that stretches follow each other.
    """

    def __init__(self, path: str, evict: Callable[[str], None]) -> None:
        self.path = path
        self.nbytes = 0
        self.cursor = 0
        self._evict = evict
        self._device_part = 1.0  # the least part of the requested bytes that came from the device
        with open(path, "xb"):
            pass
        self.file = _core.open_file(path, "r+")

    def make(self, nbytes: int, seconds: float) -> bool:
        """Fill the file; return whether it is complete: from an eighth on, it stops after `seconds`."""
        # Window by window: larger writes make folios that are so large that later small writes to them are slow.
        begin = time.monotonic()
        while self.nbytes < nbytes:
            self.request(Requests(True, WINDOW, self.nbytes, WINDOW, WINDOWS_A_SYNC), sync=True)
            self.nbytes += WINDOW * WINDOWS_A_SYNC
            if time.monotonic() - begin > seconds and self.nbytes >= nbytes // 8:
                return False
        return True

    def request(self, requests: Requests, *, seconds_max: float = 60.0, **how: Any) -> tuple[float, int]:
        """Make requests. Return their seconds, and the number that was made in `seconds_max`."""
        return _core.time_requests(self.file, *dataclasses.astuple(requests), seconds_max=seconds_max, **how)

    def stretch(self, size: int, count: int) -> tuple[int, int]:
        """Return the begin of the next `count` requests of `size`, and the number that fits into the file."""
        count = max(min(count, self.nbytes // size), 1)
        if self.cursor + size * count > self.nbytes:
            self.cursor = 0
        first = self.cursor
        self.cursor += size * count
        return first, count

    def one(
        self, write: bool, size: int, seconds_max: float, *, stride: int = 0, batch: int = 1, shuffled: bool = False
    ) -> tuple[float, int]:
        """Return the seconds of one request, and the bytes of all: a stretch of the file after the last one."""
        stride = stride or size
        if shuffled or self.cursor + stride * batch > self.nbytes:
            self.cursor = 0
        first = self.cursor // stride * stride
        count = min((self.nbytes - first) // stride, REQUESTS_MAX)
        requests = Requests(write, size, first, stride, count)
        seconds, made = self.request(requests, batch=batch, shuffled=shuffled, seconds_max=seconds_max)
        self.cursor = first + made * stride
        return seconds / made, made * size

    def warm(self, measure: Measure, *, synced: bool = False) -> float:
        """Return the seconds of `measure` while the whole file is in the page cache and no device is read.

        Raises NotReachedError.
        """
        for _ in range(TRIES):
            if synced:
                self.file.sync()
            cached = self._cached_fraction()
            if cached < CACHED_MIN:
                self.request(Requests(False, WINDOW, 0, WINDOW, self.nbytes // WINDOW))
                cached = self._cached_fraction()
            before = kernel.device_bytes_read()
            seconds, _ = measure()
            read = (kernel.device_bytes_read() or 0) - (before or 0)
            if cached >= CACHED_MIN and read == 0:
                return seconds
        raise NotReachedError(
            f"{cached:.0%} of the file was in the page cache, and {read:,} bytes came from a device meanwhile"
        )

    def cold(self, measure: Measure, *, reads: bool = True) -> float:
        """Return the seconds of `measure` when nothing of the file was in memory and a device had to be read.

        Raises NotReachedError.
        """
        for attempt in range(TRIES):
            self._evict(self.path)
            cached = self._cached_fraction()
            if cached <= UNCACHED_MAX:
                break
            time.sleep(0.02 * (attempt + 1))  # dirty pages stay until they are written
        else:
            raise NotReachedError(
                f"{cached:.0%} of the file stayed in the page cache when the kernel was asked to forget it "
                f"({profile.store_of(self.path).file_system} may keep its files in memory); what was read then is a "
                "copy from memory, not the device"
            )
        before = kernel.device_bytes_read()
        seconds, size = measure()
        after = kernel.device_bytes_read()
        if before is None or after is None:
            raise NotReachedError("the kernel does not tell what it read from a device (/proc/self/io)")
        if reads:
            part = (after - before) / size
            if part < DEVICE_MIN:
                raise NotReachedError(
                    f"of {size:,} bytes read the kernel took {after - before:,} from a device: the rest came from "
                    "memory, or over a way that it does not count"
                )
            self._device_part = min(self._device_part, part)
        return seconds

    @property
    def how_warm_is_known(self) -> str:
        """A description, for the profile, of how it was checked that the page cache was warm."""
        device_reads = "no device read meanwhile (/proc/self/io)"
        if kernel.device_bytes_read() is None:
            device_reads = "the kernel does not tell whether a device was read meanwhile"
        return f"the whole file was in the page cache before each repetition (cachestat), and {device_reads}"

    @property
    def how_cold_is_known(self) -> str:
        """A description, for the profile, of how it was checked that the page cache was cold."""
        return (
            "the file was forgotten before each repetition (fsync, posix_fadvise; at most "
            f"{UNCACHED_MAX:.0%} left, cachestat), and of each read at least {min(self._device_part, 1.0):.0%} came "
            "from the device (/proc/self/io); writes end with fsync, which is counted in"
        )

    def _cached_fraction(self) -> float:
        with open(self.path, "rb") as file:
            cached = kernel.cached_bytes(file.fileno(), self.nbytes)
        return page_cache.cached_fraction(self.path) if cached is None else cached / self.nbytes
