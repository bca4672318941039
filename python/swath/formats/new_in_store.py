"""New files in stores that are not local: made in a file of this machine, all holes but for its header, and copied."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from typing import TypeVar

from swath import _core
from swath.base.stored_path import StoredPath
from swath.errors import Error
from swath.formats.files import stored_ranges

COPIED_BYTES = 4 << 20

Made = TypeVar("Made")


def made(target: StoredPath, make: Callable[[str], Made]) -> Made:
    """Return what `make` returns of a file that it makes where it is told: the file is then in the store.

    Raises ExistsError where there is one already, and what `make` raises; there is no file then.
    """
    with tempfile.TemporaryDirectory(prefix="swath-") as folder:
        local = os.path.join(folder, "new")
        result = make(local)
        _copy(local, target)
        return result


def _copy(local: str, stored: StoredPath) -> None:
    """Copy a file, holes as holes, to the name of one that is not there."""
    target = _core.open_file(stored.path, "x")
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
            stored.remove()
        raise
