"""The memory of a process and of its children, watched while it works."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections.abc import Iterator

POLL_SECONDS = 0.005
POLLS_PER_LOOK = 20
"""After this number of samples the child processes are listed again. A child counts from the second list on: until it
runs its own program, a new child has its parent's memory."""


@contextlib.contextmanager
def watched() -> Iterator[list[int]]:
    """Yield the peak memory of all processes above the present memory of this one, sampled every 5 ms."""
    own = os.getpid()
    idle = _own_bytes([own])
    peak = [0]
    ended = threading.Event()

    def watch() -> None:
        processes, seen = [own], set[int]()
        for poll in itertools.count():
            if poll % POLLS_PER_LOOK == 0:
                found = set(children(own))
                processes, seen = [own, *(found & seen)], found
            peak[0] = max(peak[0], _own_bytes(processes) - idle)
            if ended.wait(POLL_SECONDS):
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        ended.set()
        watcher.join()


def children(process: int) -> list[int]:
    """Return the children of all its threads, and their descendants."""
    found: list[int] = []
    with contextlib.suppress(OSError):  # the process has ended
        for thread in os.listdir(f"/proc/{process}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{process}/task/{thread}/children", "rb") as told:
                found += map(int, told.read().split())
    return [*found, *itertools.chain.from_iterable(map(children, found))]


def _own_bytes(processes: list[int]) -> int:
    """Return anonymous and shared memory; mapped page cache does not count."""
    total = 0
    for process in processes:
        with contextlib.suppress(OSError), open(f"/proc/{process}/status", encoding="ascii") as told:
            fields = dict(line.split(":", 1) for line in told if line.startswith(("RssAnon", "RssShmem")))
            total += sum(int(value.split()[0]) * 1024 for value in fields.values())
    return total
