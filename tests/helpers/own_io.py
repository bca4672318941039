"""The bytes that this process has read, by the kernel's count: the extent of a read is counted, not timed."""

from __future__ import annotations

from pathlib import Path


def bytes_read() -> int:
    """Return the bytes of all read calls of this process, from files, pipes and the page cache."""
    told = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(told["rchar"])
