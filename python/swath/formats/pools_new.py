"""New files in pools: each is made as a sparse file on this machine, and copied to the pool."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from typing import TypeVar

from swath import _core
from swath.errors import Error
from swath.formats import pools
from swath.formats.files import stored_ranges

COPIED_BYTES = 4 << 20

Made = TypeVar("Made")


def made(path: str, make: Callable[[str], Made]) -> Made:
    """Call `make` with a local path, copy the file to the pool, and return the result of `make`.

    Raises ExistsError if there is one already, and the errors of `make`; then there is no file.
    """
    with tempfile.TemporaryDirectory(prefix="swath-") as folder:
        local = os.path.join(folder, "new")
        result = make(local)
        _put(local, path)
        return result


def _put(local: str, path: str) -> None:
    """Copy a file, keeping holes, to a name that does not exist."""
    target = _core.open_file(path, "x")
    try:
        with open(local, "rb") as source:
            descriptor = source.fileno()
            size = os.fstat(descriptor).st_size
            target.resize(size)
            for begin, end in stored_ranges(descriptor, 0, size):
                for at in range(begin, end, COPIED_BYTES):
                    target.write_at(at, os.pread(descriptor, min(COPIED_BYTES, end - at), at))
    except BaseException:
        with contextlib.suppress(Error):
            pools.remove(path)
        raise
