"""Measures a modelled disk (docs/modelled-disks.md) by its engine, in simulated time.

Simulated seconds take no real time, and are the same each time.

Such a disk has no page cache: the profile's numbers of the cache are those of the device, and a sync does not wait.
Copies, barriers and similar numbers are those of the profile of the store with the bytes.
"""

from __future__ import annotations

import datetime as dt
import os
import platform
import random
import statistics
import tempfile
from functools import partial
from typing import Any

import numpy as np

from swath import _core
from swath.array import opening
from swath.simulated import run_ranks
from swath.store import profile

SIZES = (8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 512 << 10, 2 << 20, 4 << 20, 16 << 20)
FILE_BYTES = 128 << 20
REPETITIONS = 12
JUMP_BYTES = 1 << 20
"""The distance between two places of a jump."""
GAPS = tuple(kib << 10 for kib in (1, 4, 16, 32, 64, 96, 128, 160, 192, 256, 384, 512, 1024, 4096, 16384))
"""Bytes between the end of a request and the start of the next one."""
PAGE = 4 << 10
SECONDS_MIN = 1e-9
"""The values of a curve are positive."""
STREAM_REQUEST = 512 << 10
STREAMS = (1, 2, 4, 8)


def calibrate_modelled(engine: str, folder: str) -> profile.StoredProfile:
    """Measure the disk of `engine` ("model:PRESET"), with a file in `folder`; the profile is not saved.

    Raises:
        ArgumentError: no such disk.
        StoreError: the folder cannot be written to.
    """
    found = profile.for_path(folder)
    numbers = dict((_core.default_profile() if found is None else found.core).to_dict())
    with tempfile.TemporaryDirectory(prefix=".swath-calibrate-", dir=folder) as scratch:
        path = os.path.join(scratch, "measured.bin")
        with open(path, "wb") as file:
            file.truncate(FILE_BYTES)
        for direction in ("read", "write"):
            measured = run_ranks(1, partial(_requests, path, engine, direction))[0]
            slowdown = [[float(n), _streams(path, engine, n, direction)] for n in STREAMS]
            alone = slowdown[0][1]
            for medium in ("cache", "device"):
                numbers[f"{medium}.{direction}"] = measured[0]
                numbers[f"{medium}.{direction}_jump"] = measured[1]
                numbers[f"{medium}.{direction}_gap"] = measured[2]
                numbers[f"{medium}.{direction}_slowdown"] = [[n, max(seconds / alone, 1.0)] for n, seconds in slowdown]
        for medium in ("cache", "device"):
            numbers[f"{medium}.read_jump_batched"] = numbers["device.read_jump"]
    numbers["sync_seconds"] = numbers["sync_byte_seconds"] = 0.0
    preset = profile.modelled_preset(engine)
    date = dt.datetime.now().astimezone().isoformat(timespec="seconds")
    numbers["source"] = f"measured on the modelled disk {preset}"  # with no date: it is the same each time
    store = profile.store_of_engine(engine)
    return profile.StoredProfile(
        file=profile.file_of(store),
        store=store,
        machine=profile.machine(),
        kernel=f"{platform.system()} {platform.release()}",
        date=date,
        numbers=numbers,
        known={"cache": "a modelled disk has none: the numbers of its device", "device": "in the time of a simulation"},
        spread={},
        notes=[],
        frozen=True,
    )


def _opened(path: str, engine: str, comm: Any) -> Any:
    return opening.open(path, shape=(FILE_BYTES,), dtype="u1", mode="r+", engine=engine, comm=comm, streams=None)


def _request(array: Any, direction: str, first: int, size: int, memory: Any) -> float:
    """Return the seconds of one request, by the simulated clock."""
    begin = _core.clock_now()
    chosen = slice(first, first + size)
    if direction == "read":
        array.read(selection=chosen, out=memory[:size], method="direct")
    else:
        array.write(memory[:size], selection=chosen, method="direct")
    return _core.clock_now() - begin


def _requests(path: str, engine: str, direction: str, comm: Any) -> tuple[list[list[float]], float, list[list[float]]]:
    """Return the seconds of one request by its size, if it follows the last one; of a jump; and of gaps."""
    memory = np.zeros(max(SIZES), "u1")
    curve, gaps = [], []
    with _opened(path, engine, comm) as array:

        def mean(size: int, places: list[int]) -> float:
            # The first one moves the head there. If a controller reads ahead, a few requests wait for many.
            return statistics.fmean([_request(array, direction, at, size, memory) for at in places][1:])

        for size in SIZES:
            count = min(REPETITIONS if size > PAGE else 4 * REPETITIONS, FILE_BYTES // size)
            curve.append([float(size), mean(size, [size * n for n in range(count)])])
        places = [JUMP_BYTES * n for n in range(FILE_BYTES // JUMP_BYTES)]
        random.Random(1).shuffle(places)
        jumping = mean(PAGE, places)
        following = next(seconds for size, seconds in curve if size == PAGE)
        for gap in GAPS:
            places = list(range(0, FILE_BYTES - PAGE, PAGE + gap))[:REPETITIONS]
            gaps.append([float(gap), max(mean(PAGE, places) - following, SECONDS_MIN)])
    return curve, max(jumping - following, 0.0), gaps


def _streams(path: str, engine: str, ranks: int, direction: str) -> float:
    """Return the mean seconds of a request of each of several streams, each in its own part of the file."""
    part = FILE_BYTES // max(STREAMS)

    def work(comm: Any) -> float:
        memory = np.zeros(STREAM_REQUEST, "u1")
        with _opened(path, engine, None) as array:
            comm.barrier()
            begin = _core.clock_now()
            places = range(comm.rank * part, (comm.rank + 1) * part, STREAM_REQUEST)
            for at in places:
                _request(array, direction, at, STREAM_REQUEST, memory)
            return (_core.clock_now() - begin) / len(places)

    return statistics.fmean(run_ranks(ranks, work))
