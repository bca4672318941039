"""The memory of a process and of its children, watched while it works."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections.abc import Iterator

POLL_SECONDS = 0.005
POLLS_PER_LOOK = 20
"""After so many it is looked again which child processes there are. One counts from the second look on: until it runs a
program of its own, a new child has its parent's memory."""


@contextlib.contextmanager
def watched() -> Iterator[list[int]]:
    """One number: the most that all processes had above what this one has now, looked at every 5 ms."""
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
    """Of all its threads, and theirs in turn."""
    found: list[int] = []
    with contextlib.suppress(OSError):  # it has ended meanwhile
        for thread in os.listdir(f"/proc/{process}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{process}/task/{thread}/children", "rb") as told:
                found += map(int, told.read().split())
    return [*found, *itertools.chain.from_iterable(map(children, found))]


def _own_bytes(processes: list[int]) -> int:
    """Anonymous and shared memory; page cache that is mapped does not count."""
    total = 0
    for process in processes:
        with contextlib.suppress(OSError), open(f"/proc/{process}/status", encoding="ascii") as told:
            fields = dict(line.split(":", 1) for line in told if line.startswith(("RssAnon", "RssShmem")))
            total += sum(int(value.split()[0]) * 1024 for value in fields.values())
    return total
