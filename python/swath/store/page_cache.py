"""The kernel's page cache, for correct measurements: drop a file from it, and see how much of a file it holds."""

from __future__ import annotations

import ctypes
import mmap
import os

import numpy as np

from swath.store.standalone import page_cache


def evict(path: str) -> None:
    """Write the file's pages to the medium, and ask the kernel to drop them. It may keep some: see `cached_fraction`.

    Raises OSError as the system calls do.
    """
    with page_cache.opened(path) as fd:
        page_cache.drop(fd)


def cached_fraction(path: str) -> float:
    """Return the fraction of the file in the page cache, by mincore(2): for files that this process may write.

    Raises OSError as the system calls do.
    """
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        seen = np.frombuffer(mapped, dtype=np.uint8)
        pages = np.zeros(-(-len(mapped) // mmap.PAGESIZE), dtype=np.uint8)
        mincore = ctypes.CDLL(None, use_errno=True).mincore
        mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
        refused = mincore(seen.ctypes.data, len(mapped), pages.ctypes.data)
        del seen  # a mapping with an open view cannot be closed
        if refused:
            raise OSError(ctypes.get_errno(), f"mincore: {os.strerror(ctypes.get_errno())}", path)
        return float(np.mean(pages & 1))
