"""Paths of files, and what the store of each can do: a file system of this machine, or a pool of a Ceph cluster.

    stored = stored_path.of("rados:climate/sst.npy")
    stored.is_local                 # False: the operating system and other libraries do not know it

Code asks for what it needs of a store, not which kind of store it is. Names in pools are
`rados:POOL/NAME?conf=FILE&id=USER`: see docs/rados.md.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO, ClassVar

import numpy as np

from swath import _core
from swath.errors import ArgumentError, NotFoundError, StoreError, UnsupportedError

SCHEME = "rados:"
"""How names in pools begin; "./rados:…" is a file of the file system."""


@dataclass(frozen=True)
class StoredPath:
    """A path, and what its store can do. This class is for paths of file systems.

    Attributes:
        is_local: the operating system can open the file, map it and lock it, and other libraries can read it.
        has_hidden_files: hidden files in the same folder are possible: journals, and copies that are not complete.
        can_be_replaced: another file may get its name while it is open.
        can_change_contents: variables, attributes and records can be added. If not, only elements can change.
        is_striped: its bytes are striped over objects, in units that its creator chooses.
        has_servers: each of its servers is a target of streams. If not, the whole store is one target.
        formats: the formats that the store can hold; None: any format.
    """

    path: str
    is_local: ClassVar[bool] = True
    has_hidden_files: ClassVar[bool] = True
    can_be_replaced: ClassVar[bool] = True
    can_change_contents: ClassVar[bool] = True
    is_striped: ClassVar[bool] = False
    has_servers: ClassVar[bool] = False
    formats: ClassVar[tuple[str, ...] | None] = None

    @property
    def name(self) -> str:
        """The path without settings of the store."""
        return self.path

    def holds(self, kind: str) -> bool:
        """Return whether the store can hold a format."""
        return self.formats is None or kind in self.formats

    def suffixed(self, suffix: str) -> str:
        """Return the path of another file: the name with a suffix."""
        return f"{self.name}{suffix}{self.path.removeprefix(self.name)}"

    @property
    def pool(self) -> str | None:
        """`rados:POOL`; None in a file system, whose name the operating system knows."""
        return None

    def configured_pool(self) -> str | None:
        """Return the pool with the configuration of its cluster (path or $CEPH_CONF); None in a file system."""
        return None

    def size(self) -> int:
        """Return the bytes of the file. Raise OSError or StoreError."""
        return os.stat(self.path).st_size

    def open(self) -> BinaryIO:
        """Open the file for reading. Raise OSError, and StoreError for a file without byte offsets."""
        return os.fdopen(_descriptor(self.path), "rb")

    def remove(self) -> None:
        """Remove the file or folder. Raise OSError or StoreError."""
        shutil.rmtree(self.path) if os.path.isdir(self.path) else os.unlink(self.path)

    def with_stripe(self, stripe: Sequence[int]) -> str:
        """Return the path of a new file with a stripe unit, stripe count and object size, in bytes.

        Raise ArgumentError if files of the store have no stripes, or if the path names another stripe.
        """
        raise ArgumentError(
            f"create {self.path!r}: stripe={stripe!r} is of files in Ceph pools (rados:POOL/NAME), not of file systems"
        )

    def refuse_format(self, kind: str) -> None:
        """Raise UnsupportedError where the store cannot hold a format."""

    def refuse_change(self) -> None:
        """Raise UnsupportedError unless the contents can change."""


class PathInPool(StoredPath):
    """The path of a file in a Ceph pool. Swath itself reads and writes its bytes."""

    is_local = False
    has_hidden_files = False
    can_be_replaced = False
    can_change_contents = False
    is_striped = True
    has_servers = True
    formats = ("raw", "npy", "netcdf-classic")

    @property
    def name(self) -> str:
        """The path without settings.

        >>> of("rados:climate/sst.npy?id=ann").name
        'rados:climate/sst.npy'
        """
        return self.path.partition("?")[0]

    @property
    def pool(self) -> str:
        """`rados:POOL`."""
        return self.name.partition("/")[0]

    def configured_pool(self) -> str:
        """Return the pool with the configuration of its cluster (path or $CEPH_CONF)."""
        settings = dict(item.partition("=")[::2] for item in self._settings())
        conf = settings.get("conf") or os.environ.get("CEPH_CONF", "")
        return self.pool + (f"?conf={conf}" if conf else "")

    def size(self) -> int:
        """Return the bytes of the file. Raise StoreError."""
        return _core.open_file(self.path, "r").size

    def open(self) -> BinaryIO:
        """Open the file for reading. Raise StoreError."""
        return io.BufferedReader(_FileInPool(self.path), 1 << 16)

    def remove(self) -> None:
        """Remove the file, if it exists. Raise StoreError."""
        with contextlib.suppress(NotFoundError):
            _core.AtomicFile(self.path, True, False, False, "").remove()

    def with_stripe(self, stripe: Sequence[int]) -> str:
        """Return the path of a new file with a stripe unit, stripe count and object size, in bytes.

        Raise ArgumentError if the numbers are invalid, or if the path names another stripe.

        >>> of("rados:climate/sst.npy?id=ann").with_stripe((65536, 4, 4194304))
        'rados:climate/sst.npy?id=ann&stripe=65536,4,4194304'
        """
        numbers = tuple(stripe) if isinstance(stripe, Sequence) and not isinstance(stripe, str) else ()
        if len(numbers) != 3 or not all(isinstance(n, (int, np.integer)) and n > 0 for n in numbers):
            raise ArgumentError(
                f"create {self.name}: stripe={stripe!r}; expected (unit, count, object_bytes), in bytes and objects: "
                "(65536, 4, 4194304)"
            )
        said = ",".join(str(int(n)) for n in numbers)
        settings = self._settings()
        others = [item for item in settings if not item.startswith("stripe=")]
        if len(others) < len(settings) and f"stripe={said}" not in settings:
            raise ArgumentError(
                f"create {self.path}: stripe={stripe!r}, but the name says another: leave out one of them"
            )
        return f"{self.name}?{'&'.join([*others, f'stripe={said}'])}"

    def refuse_format(self, kind: str) -> None:
        """Raise UnsupportedError where a pool cannot hold a format."""
        if not self.holds(kind):
            raise UnsupportedError(
                f"{self.path}: a pool holds raw, .npy and netCDF classic files; {kind} is read and written by its own "
                "library, which knows files only: copy it to a file system, or convert it (swath copy)"
            )

    def refuse_change(self) -> None:
        """Raise UnsupportedError: the contents cannot change."""
        raise UnsupportedError(
            f"{self.path}: Swath changes the elements of files in pools, not what they hold: variables, attributes and "
            "records are added in a file system, and the file is then copied to the pool (swath copy)"
        )

    def _settings(self) -> list[str]:
        return [item for item in self.path.partition("?")[2].split("&") if item]


def of(path: str) -> StoredPath:
    """Return the path, and what its store can do."""
    return PathInPool(path) if path.startswith(SCHEME) else StoredPath(path)


def with_variable(text: str) -> tuple[str, str | None] | None:
    """Split `rados:POOL/NAME[:VARIABLE][?…]` into the path and the variable; None for other text.

    >>> with_variable("rados:climate/run.nc:sst?id=ann")
    ('rados:climate/run.nc?id=ann', 'sst')
    """
    if not text.startswith(SCHEME):
        return None
    rest, question, settings = text.removeprefix(SCHEME).partition("?")
    name, _, variable = rest.partition(":")
    return f"{SCHEME}{name}{question}{settings}", variable or None


def _descriptor(path: str) -> int:
    """Open a file with byte offsets. Never waits: an open of a pipe would wait for the other end."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK)
    except BlockingIOError:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise
        return os.open(path, flags)  # a file server with a lease on it gives it up for an open that waits
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode) or stat.S_ISBLK(mode):
        os.set_blocking(descriptor, True)
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    raise StoreError(f"{path}: cannot open: expected a regular file or a block device", errno.ESPIPE)


class _FileInPool(io.RawIOBase):
    """A file in a pool, open for reading. Its size is read once, at the open."""

    def __init__(self, path: str) -> None:
        self._file = _core.open_file(path, "r")
        self._size = self._file.size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, target: object) -> int:
        view = memoryview(target).cast("B")  # type: ignore[arg-type]
        read = self._file.read_at(self._at, len(view))
        view[: len(read)] = read
        self._at += len(read)
        return len(read)
