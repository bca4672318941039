"""One rank leaves a loop of all ranks: the others get an error that says so, and no rank waits for ever."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

import swath

path, ending, prefetch = sys.argv[1], sys.argv[2], sys.argv[3]
how_far: Any = prefetch if prefetch == "auto" else int(prefetch)
comm = MPI.COMM_WORLD
SHAPE = (40, 8, 50)
values = np.arange(SHAPE[0] * SHAPE[1] * SHAPE[2], dtype="<f8").reshape(SHAPE)
if comm.rank == 0:
    values.tofile(path)
comm.barrier()
rows = swath.Distribution((swath.Block(), swath.Whole()), grid=(comm.size, 1))
LEAVES = comm.size - 1
STEP = 7


def opened(**how: Any) -> swath.Array:
    array: swath.Array = swath.open(path, shape=SHAPE, dtype="<f8", comm=comm, **how)
    return array


def mine(step: int) -> Any:
    return values[step][np.ix_(*rows.indices(SHAPE[1:], comm.rank))]


class LeftError(Exception):
    pass


def told_by(error: swath.Error, what: str) -> None:
    text = str(error)
    assert isinstance(error, swath.DisagreementError), error
    assert text.startswith(f"rank {LEAVES}: left {what}"), text
    assert "Let all" in text, text


def leave() -> None:
    if ending == "error":
        raise LeftError
    if ending == "interrupt":
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)


def iterate(a: swath.Array) -> str:
    """Go through a loop that one rank leaves, and return the text of this rank's error."""
    loop = a.iterate(rows, prefetch=how_far)
    try:
        for i, part in enumerate(loop):
            np.testing.assert_array_equal(part, mine(i))
            if i == STEP and comm.rank == LEAVES:
                leave()
                if ending == "collected":
                    cycle: list[Any] = [loop]
                    cycle.append(cycle)
                break
    except (LeftError, KeyboardInterrupt):
        return "left"
    except swath.DisagreementError as error:
        told_by(error, f"iterate over {path} after step {STEP + 1} of 40")
        return str(error)
    else:
        return "left"
    finally:
        del loop


def write(a: swath.Array) -> str:
    try:
        with a.writer(behind=how_far) as w:
            for i in range(SHAPE[0]):
                w.write(mine(i) + 1, rows, selection=i)
                if i == STEP and comm.rank == LEAVES:
                    leave()
                    break
    except (LeftError, KeyboardInterrupt):
        return "left"
    except swath.DisagreementError as error:
        text = str(error)
        # this rank has ended its block without an error, and gets the message, too
        if ending in ("break", "collected"):
            assert "end the writer" in text or text.startswith(f"rank {LEAVES}: left"), text
        else:
            told_by(error, f"the writer of {path} after {STEP + 1} writes")
        return text
    return "left"


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


with opened() as a:
    list(a.iterate(rows, prefetch=3))
before = threads()
for work in (iterate, write):
    begun = time.monotonic()
    with opened(mode="r+") as a:
        told_here = work(a)
        gc.collect()
        told = comm.allgather(told_here)
        others = [text for rank, text in enumerate(told) if rank != LEAVES]
        assert len(set(others)) <= 1, others  # all ranks have the same text
        if comm.size > 1:
            assert others[0] != "left", others
        np.testing.assert_array_equal(a.read(rows, selection=20), mine(20))  # the array can still be used
        np.testing.assert_array_equal(a.read_async(rows, selection=21).result(), mine(21))
        comm.barrier()
        for part, expected in zip(a.iterate(rows, prefetch=2), values[:3], strict=False):
            assert part.shape == expected[np.ix_(*rows.indices(SHAPE[1:], comm.rank))].shape
        comm.barrier()
    assert time.monotonic() - begun < 20
    until = time.monotonic() + 5
    while threads() > before and time.monotonic() < until:
        time.sleep(0.01)
    assert threads() <= before, (before, threads())
    comm.barrier()

descriptors = [
    os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if Path(f"/proc/self/fd/{fd}").is_symlink()
]
assert not any(path in name for name in descriptors), descriptors
print("well")
