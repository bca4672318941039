"""Which file a journal is of: its first record says it, and which file the journal itself was then.

An inode's number alone tells no file: it is given to another as soon as the file is gone. When it was made tells.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import struct
from collections.abc import Callable
from typing import NamedTuple

VERSION = 1
_AT_FDCWD = -100
_AT_EMPTY_PATH = 0x1000
_INODE_AND_BIRTH = 0x100 | 0x800  # STATX_INO, STATX_BTIME
_STATX_BYTES = 256
_STATX = struct.Struct("@I28xQ40xqI")
"""Of a struct statx: which fields are valid, the inode, and the seconds and nanoseconds of its birth."""


class Identity(NamedTuple):
    """Which file one is: no two have the same, where the file system tells when files were made."""

    inode: int
    born: int | None
    """In nanoseconds; None where the file system does not tell."""

    @classmethod
    def of(cls, file: str | int) -> Identity:
        """Return that of a file of this name, or of one that is open. Raises OSError."""
        call = _statx()
        if call is not None:
            held = ctypes.create_string_buffer(_STATX_BYTES)
            named = (file, b"", _AT_EMPTY_PATH) if isinstance(file, int) else (_AT_FDCWD, os.fsencode(file), 0)
            if call(*named, _INODE_AND_BIRTH, held) == 0:
                valid, inode, seconds, nanoseconds = _STATX.unpack_from(held)
                if valid & _INODE_AND_BIRTH == _INODE_AND_BIRTH:
                    return cls(inode, seconds * 10**9 + nanoseconds)
        return cls(os.stat(file).st_ino, None)

    def may_be(self, other: Identity) -> bool:
        """Return whether they are the same file, as far as is known of both."""
        return self.inode == other.inode and (None in (self.born, other.born) or self.born == other.born)


class Start(NamedTuple):
    """What the first record of a journal tells."""

    file: Identity
    size: int
    """Of the file before it was changed."""
    journal: Identity | None
    """The journal itself, of which a copy is another file; None where it is in memory."""

    @classmethod
    def of(cls, data: bytes) -> Start:
        """Return what a record tells. Raises ValueError where it is none that this version knows."""
        try:
            told = json.loads(data)
            if int(told["swath"]) != VERSION:
                raise ValueError(f"version {told['swath']}")
            journal = told.get("journal")
            file = Identity(int(told["file"]), told.get("born"))
            start = cls(file, int(told["size"]), None if journal is None else Identity(*journal))
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(str(error)) from None
        if start.size < 0:
            raise ValueError(f"{start.size} bytes")
        return start

    def data(self) -> bytes:
        """Return what a record of it holds."""
        told = {"swath": VERSION, "file": self.file.inode, "born": self.file.born, "size": self.size}
        return json.dumps({**told, "journal": self.journal}).encode()

    def was_replaced_by(self, now: Identity, journal: Identity | None) -> bool:
        """Return whether the file is gone: the one that has its name is younger than the journal, which is no copy."""
        if self.journal is None or self.journal != journal or self.journal.born is None or now.born is None:
            return False
        return not self.file.may_be(now) and now.born > self.journal.born


@functools.cache
def _statx() -> Callable[..., int] | None:
    """Return the system's statx; None where the C library has none."""
    return getattr(ctypes.CDLL(None), "statx", None)
