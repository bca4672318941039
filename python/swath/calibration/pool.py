"""Measures the costs of a Ceph pool: the numbers `objects.*` of core/plan/profile.h, from this machine.

For reads and writes separately: an operation that is waited for, one of many in flight, a byte, a range of a list, a
region and a byte of a description, and a byte of the windows that a server reads for a description. Numbers for many
operations are the throughput of the cluster for all its clients.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import platform
import time
from collections.abc import Callable, Iterator

import numpy as np

from swath.array import opening
from swath.array.open_array import Array
from swath.base import stored_path
from swath.calibration.findings import Findings
from swath.calibration.measuring import Effort
from swath.calibration.samples import Sample, in_turn
from swath.errors import ArgumentError
from swath.store import profile

OBJECTS = 512
"""Objects are small, so that the most operations can be in flight."""
SMALL_BYTES = 4096
ROW_BYTES = 1024
DENSE = 8
"""Regions in a row: this many, or one. Servers read the same windows for both."""
STRIPE = (64 << 10, 4, 4 << 20)
DIRECTIONS = ("read", "write")


def calibrate_pool(
    path: str, effort: Effort, *, report: Callable[[str, float], None] = lambda step, done: None
) -> profile.StoredProfile:
    """Measure a pool, `rados:POOL[?conf=…&id=…]`; the profile is returned, not saved.

    Args:
        path: the pool; objects there are removed again.
        effort: the time, and the size of the file for transfers.
        report: is called when a step begins, with its name and the finished part of the work, 0 to 1.

    Raises:
        ArgumentError: no pool.
        StoreError: it cannot be written to.
    """
    found = Findings()
    with _arrays(path, effort) as (small, large):
        for number, direction in enumerate(DIRECTIONS):
            report(f"{direction}s", number / 2)
            _measure(found, direction, small, large, effort.seconds / 2)
        _tell_network(found, small)
        if not large._stored.file.core.capabilities.structured_requests:
            found.notes.append(f"regions of descriptions are as stated: {large._stored.file.core.engine_reason}")
    report("done", 1.0)
    store = profile.store_of(path)
    date = dt.datetime.now().astimezone().isoformat(timespec="seconds")
    found.numbers["source"] = f"measured on {store.mount_point}, {date[:16]}"
    found.known["objects"] = (
        "whole operations by librados, waited for and in flight; the network by attributes of an object"
    )
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


@contextlib.contextmanager
def _arrays(path: str, effort: Effort) -> Iterator[tuple[Array, Array]]:
    """Yield an array of small objects, one per row, and one of a few large ones; both are always removed."""
    pool, question, settings = path.partition("?")
    if "/" in pool:
        raise ArgumentError(f"calibrate {path}: expected a pool, rados:POOL, perhaps with ?conf=FILE&id=USER")
    if "stripe=" in settings:
        raise ArgumentError(f"calibrate {path}: stripes are chosen by what is measured; leave out stripe=")
    joint = "&" if question else "?"
    rows = max(effort.file_bytes // 8 // ROW_BYTES, 4096)
    with contextlib.ExitStack() as stack:
        arrays = []
        for name, shape, stripe in (
            ("small", (OBJECTS, SMALL_BYTES // 8), (SMALL_BYTES, 1, SMALL_BYTES)),
            ("large", (rows, ROW_BYTES // 8), STRIPE),
        ):
            numbers = ",".join(map(str, stripe))
            of_file = f"{pool}/swath.calibrate.{os.getpid()}.{name}{question}{settings}{joint}stripe={numbers}"
            stack.callback(stored_path.of(of_file).remove)
            with opening.create(of_file, shape, "f8", format="raw") as new:
                new.write(np.ones(shape))
            opened = opening.open(of_file, mode="r+", shape=shape, dtype="f8")
            arrays.append(stack.enter_context(opened))
        yield arrays[0], arrays[1]


def _measure(found: Findings, direction: str, small: Array, large: Array, seconds: float) -> None:
    column = np.s_[:, :1]
    dense = np.s_[:, :: ROW_BYTES // 8 // DENSE]
    half = np.s_[:, : ROW_BYTES // 16]
    few = np.s_[: OBJECTS // 8, :1]

    def timed(array: Array, selection: tuple[slice, ...], method: str) -> Callable[[], float]:
        values = np.ones(array[selection].shape)

        def run() -> float:
            begin = time.perf_counter()
            if direction == "read":
                array.read(selection=selection, method=method, out=values)
            else:
                array.write(values, selection=selection, method=method)
            return time.perf_counter() - begin

        return run

    deadline = time.monotonic() + 2 * seconds
    one, many, whole, lists, described, densely, halves = in_turn(
        [
            timed(small, few, "direct"),
            timed(small, column, "list"),
            timed(large, np.s_[:, :], "list"),
            timed(large, column, "list"),
            timed(large, column, "datatype"),
            timed(large, dense, "datatype"),
            timed(large, half, "datatype"),
        ],
        seconds,
        deadline,
    )
    operations = {
        method: large.explain(selection=column, method=method).cost(method, 0) for method in ("list", "datatype")
    }
    made = {method: _requests(cost) for method, cost in operations.items()}
    rows = large.shape[0]
    alone = one.median / (OBJECTS // 8)
    operation = min(many.median / OBJECTS, alone)
    _set(found, direction, "alone", alone, one)
    _set(found, direction, "operation", operation, many)
    _set(found, direction, "byte", whole.median / large.nbytes, whole)
    _set(found, direction, "range", (lists.median - made["list"] * operation) / rows, lists)
    if large._stored.file.core.capabilities.structured_requests:
        region = max((densely.median - described.median) / (rows * (DENSE - 1)), 0)
        window = (described.median - made["datatype"] * operation - rows * region) / large.nbytes
        _set(found, direction, "region", region, densely)
        byte = (halves.median - described.median) / (large.nbytes // 2 - large.nbytes // (ROW_BYTES // 8))
        _set(found, direction, "window", window, described)
        _set(found, direction, "described", byte, halves)


def _requests(cost: dict[str, int]) -> int:
    return cost["read_requests"] + cost["write_requests"]


def _set(found: Findings, direction: str, what: str, seconds: float, sample: Sample) -> None:
    """Store a number; a difference must stay above zero."""
    found.set(f"objects.{direction}.{what}", max(seconds, 1e-12), sample.spread)


def _tell_network(found: Findings, small: Array) -> None:
    """Set the network's latency: attributes of an object cost a server almost nothing, so the rest is the way."""

    def look() -> float:
        begin = time.perf_counter()
        _ = small._stored.file.core.size
        return time.perf_counter() - begin

    (sample,) = in_turn([look], 0.3, time.monotonic() + 2)
    found.set("objects.network", min(sample.median, found.numbers["objects.read.alone"]), sample.spread)
