"""Files in pools of a Ceph cluster, by their names `rados:POOL/NAME?conf=FILE&id=USER`: see docs/rados.md.

Formats use the same functions for these files as for others; `pools_new` makes new ones.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np

from swath import _core
from swath.errors import ArgumentError, NotFoundError, UnsupportedError

SCHEME = "rados:"
"""The prefix of names."""
FORMATS = ("raw", "npy", "netcdf-classic")
"""The formats that a pool can hold: one file, whose bytes Swath itself reads and writes."""


def is_in_pool(path: str) -> bool:
    """Return whether the path is a file in a pool; "./rados:…" is a file of the file system."""
    return path.startswith(SCHEME)


def plain(path: str) -> str:
    """Return the name without the options for the connection.

    >>> plain("rados:climate/sst.npy?id=ann")
    'rados:climate/sst.npy'
    """
    return path.partition("?")[0] if is_in_pool(path) else path


def suffixed(path: str, suffix: str) -> str:
    """Return the path of another file: with `suffix` after its name."""
    name = plain(path)
    return f"{name}{suffix}{path.removeprefix(name)}"


def with_stripe(path: Any, stripe: Sequence[int] | None) -> Any:
    """Return the path of a new file with its stripe unit, stripe count and object size, in bytes.

    Raises ArgumentError if they are not possible, or if the name has others.

    >>> with_stripe("rados:climate/sst.npy?id=ann", (65536, 4, 4194304))
    'rados:climate/sst.npy?id=ann&stripe=65536,4,4194304'
    """
    if stripe is None:
        return path
    name = os.fspath(path)
    if not isinstance(name, str) or not is_in_pool(name):
        raise ArgumentError(
            f"create {name!r}: stripe= is of files in Ceph pools (rados:POOL/NAME), not of file systems"
        )
    numbers = tuple(stripe) if isinstance(stripe, Sequence) and not isinstance(stripe, str) else ()
    if len(numbers) != 3 or not all(isinstance(n, (int, np.integer)) and n > 0 for n in numbers):
        raise ArgumentError(
            f"create {plain(name)}: stripe={stripe!r}; expected (unit, count, object_bytes), in bytes and objects: "
            "(65536, 4, 4194304)"
        )
    said = ",".join(str(int(n)) for n in numbers)
    settings = [item for item in name.partition("?")[2].split("&") if item]
    others = [item for item in settings if not item.startswith("stripe=")]
    if len(others) < len(settings) and f"stripe={said}" not in settings:
        raise ArgumentError(f"create {name}: stripe={stripe!r}, but the name says another: leave out one of them")
    return f"{plain(name)}?{'&'.join([*others, f'stripe={said}'])}"


def pool_of(path: str) -> str:
    """Return `rados:POOL` of a name."""
    return path.partition("/")[0]


def with_configuration(path: str) -> str:
    """Return `rados:POOL` and its cluster, as far as the name or $CEPH_CONF gives it."""
    settings = dict(item.partition("=")[::2] for item in path.partition("?")[2].split("&"))
    conf = settings.get("conf") or os.environ.get("CEPH_CONF", "")
    return pool_of(plain(path)) + (f"?conf={conf}" if conf else "")


def with_variable(text: str) -> tuple[str, str | None]:
    """Split `rados:POOL/NAME[:VARIABLE][?…]`.

    >>> with_variable("rados:climate/run.nc:sst?id=ann")
    ('rados:climate/run.nc?id=ann', 'sst')
    """
    rest, question, settings = text.removeprefix(SCHEME).partition("?")
    name, _, variable = rest.partition(":")
    return f"{SCHEME}{name}{question}{settings}", variable or None


def exists(path: str) -> bool:
    """Return whether there is such a file in its pool. Raises StoreError if this cannot be found out."""
    try:
        _core.open_file(path, "r")
    except NotFoundError:
        return False
    return True


def size_of(path: str) -> int:
    """Return its bytes. Raises StoreError."""
    return _core.open_file(path, "r").size


def opened(path: str) -> tuple[BinaryIO, int]:
    """Return the file for reading, and its size in bytes. Raises StoreError."""
    file = _PoolFile(path)
    return io.BufferedReader(file, 1 << 16), file.size


def remove(path: str) -> None:
    """Remove a file; do nothing if there is none."""
    with contextlib.suppress(NotFoundError):
        _core.AtomicFile(path, True, False, False, "").remove()


def refuse(path: str, kind: str) -> None:
    """Raise UnsupportedError if a pool cannot hold a format."""
    if is_in_pool(path) and kind not in FORMATS:
        raise UnsupportedError(
            f"{path}: a pool holds raw, .npy and netCDF classic files; {kind} is read and written by its own library, "
            "which knows files only: copy it to a file system, or convert it (swath copy)"
        )


def refuse_change(path: str) -> None:
    """Raise UnsupportedError for a change of the contents of a file in a pool."""
    if is_in_pool(path):
        raise UnsupportedError(
            f"{path}: Swath changes the elements of files in pools, not what they hold: variables, attributes and "
            "records are added in a file system, and the file is then copied to the pool (swath copy)"
        )


class _PoolFile(io.RawIOBase):
    """A file in a pool, for reading; its size is the one at the open."""

    def __init__(self, path: str) -> None:
        self._file = _core.open_file(path, "r")
        self.size = self._file.size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        return self._at

    def readinto(self, target: object) -> int:
        view = memoryview(target).cast("B")  # type: ignore[arg-type]
        read = self._file.read_at(self._at, len(view))
        view[: len(read)] = read
        self._at += len(read)
        return len(read)
