"""Measures the costs of a store and of this machine: the numbers of core/plan/profile.h, one after the other.

The page cache and the device behind it are measured separately. A number of the page cache counts only if the whole
file was in the cache before (cachestat) and no device was read during the measurement (/proc/self/io); a number of the
device only if nothing of the file was in memory before, and the kernel reports that a device delivered the bytes. If
this
cannot be shown, the numbers are not recorded: the device stays unknown, and `known` has the reason.

All seconds are medians of many short repetitions, with their spread (interquartile range divided by the median).
Measurements that are compared, such as with and without a jump, or one stream and four, alternate within a short time.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import partial

from swath.calibration import cached, coding, device, machine, streams
from swath.calibration.file import MeasuredFile, NotReachedError
from swath.calibration.measuring import Effort as Effort
from swath.calibration.measuring import Measuring
from swath.errors import ArgumentError, store_error
from swath.store import page_cache, profile

FULL = Effort(25.0, 256 << 20, 64 << 20)
QUICK = Effort(4.0, 64 << 20, 16 << 20)
BUSY_LOAD = 0.5
"""Load average per core."""


def _make_file(measuring: Measuring, seconds: float) -> None:
    """Make the file as large as the store allows in twice the time, but at least an eighth of the wanted size."""
    file = measuring.file
    if not file.make(measuring.effort.file_bytes, 2 * seconds):
        measuring.findings.notes.append(f"a slow store: measured with a file of {file.nbytes >> 20} MiB only")


STEPS: tuple[tuple[str, float, str, Callable[[Measuring, float], None]], ...] = (
    ("a file to measure with", 0.08, "", _make_file),
    ("page cache: reads", 0.07, "cache", partial(cached.requests, "read")),
    ("page cache: writes", 0.07, "cache", partial(cached.requests, "write")),
    ("page cache: looking", 0.03, "cache", cached.mapped_reads),
    ("page cache: jumps", 0.04, "cache", cached.jumps),
    ("page cache: streams", 0.06, "cache", partial(streams.streams, "cache")),
    ("locks and pieces", 0.03, "cache", cached.locks_and_pieces),
    ("large memory", 0.05, "cache", cached.memory),
    ("one small operation", 0.03, "", machine.operation),
    ("syncs", 0.05, "", device.syncs),
    ("device: reads", 0.10, "device", device.reads),
    ("device: jumps", 0.06, "device", device.jumps),
    ("device: writes", 0.08, "device", device.writes),
    ("device: streams", 0.08, "device", partial(streams.streams, "device")),
    ("copies", 0.07, "", machine.copies),
    ("meetings of ranks", 0.04, "", machine.meetings),
    ("codecs", 0.06, "", coding.codecs),
)
"""The name of each step, its part of the seconds, the medium that it must reach, and its function."""


def calibrate(
    folder: str,
    effort: Effort = FULL,
    *,
    evict: Callable[[str], None] = page_cache.evict,
    report: Callable[[str, float], None] = lambda step, done: None,
) -> profile.StoredProfile:
    """Measure the store that contains `folder`; the profile is returned, not saved.

    Args:
        folder: a writable folder with `effort.room_bytes` free bytes; files there are removed again.
        effort: `FULL`, half a minute, or `QUICK`, a few seconds.
        evict: drops a file from the page cache; tests pass one that does not.
        report: is called when a step begins, with its name and the finished part of the work, 0 to 1.

    Raises:
        ArgumentError: no folder, or a folder without enough space.
        StoreError: it cannot be written to.
    """
    load = os.getloadavg()[0]
    with _scratch(folder, effort) as path:
        measuring = Measuring(MeasuredFile(path, evict), effort)
        found = measuring.findings
        if load > BUSY_LOAD * measuring.cores:
            found.notes.append(
                f"the machine was busy (load average {load:.1f} on {measuring.cores} cores): the numbers may be off"
            )
        _measure(measuring, report)
    store = profile.store_of(folder)
    date = dt.datetime.now().astimezone().isoformat(timespec="seconds")
    found.numbers["source"] = f"measured on {store.file_system} at {store.mount_point}, {date[:16]}"
    return profile.StoredProfile(
        file=profile.file_of(store),
        store=store,
        machine=profile.machine(),
        kernel=f"{platform.system()} {platform.release()}",
        date=date,
        numbers=found.numbers,
        known=found.known,
        spread=found.spread,
        notes=found.notes,
    )


def _measure(measuring: Measuring, report: Callable[[str, float], None]) -> None:
    """Run all steps; each has its part of the seconds."""
    done = 0.0
    for label, share, medium, step in STEPS:
        report(label, done)
        done += share
        if medium not in measuring.findings.refused:
            try:
                step(measuring, share * measuring.effort.seconds)
            except NotReachedError as reason:
                measuring.findings.refuse(medium, str(reason))
    report("done", 1.0)
    measuring.findings.say_how_known(measuring.file.how_warm_is_known, measuring.file.how_cold_is_known)


@contextlib.contextmanager
def _scratch(folder: str, effort: Effort) -> Iterator[str]:
    """Yield the path of a file for measurements, in a folder that is always removed."""
    if not os.path.isdir(folder):
        raise ArgumentError(f"calibrate {folder}: it is no folder; expected one on the store that is to be measured")
    room = os.statvfs(folder)
    free = room.f_bavail * room.f_frsize
    if free < effort.room_bytes:
        raise ArgumentError(
            f"calibrate {folder}: {free >> 20:,} MiB are free, {effort.room_bytes >> 20:,} MiB are needed; "
            "free some room there, or try --quick, which needs a quarter"
        )
    # Left after a kill: the folder ".swath-calibrate-…"; its user may remove it.
    try:
        scratch = tempfile.mkdtemp(prefix=".swath-calibrate-", dir=folder)
    except OSError as error:
        raise store_error(f"calibrate {folder}: cannot write there: {error.strerror}", error.errno) from None
    try:
        yield os.path.join(scratch, "measured.bin")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
