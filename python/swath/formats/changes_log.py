"""Where records of changes are kept: in a journal on the medium, or in memory."""

from __future__ import annotations

import contextlib
import enum
import fcntl
import os
import stat
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from swath.formats.changes_start import Identity, Start
from swath.formats.files import read_at, store_errors, write_all
from swath.store.beside import has_name


class Kind(enum.IntEnum):
    """What a record tells of."""

    START = 0
    BYTES = 1
    ADDED = 2
    REPLACED = 3
    MARK = 4
    SETTLED = 5


_HEAD = struct.Struct("<BQQI")
"""Of a record: its kind, a place, how many bytes follow, and the checksum of all of these."""


class Record(NamedTuple):
    """One thing that was kept."""

    kind: int
    place: int
    """In the file, of bytes; of what was replaced, the length of its name, which goes before what it held; of a mark,
    and of what is settled, how long the file was."""
    data: bytes

    @property
    def nbytes(self) -> int:
        """As it lies in a journal."""
        return _HEAD.size + len(self.data)

    @property
    def what(self) -> tuple[int, int] | bytes:
        """What it tells of: a range of bytes, or a name in a folder."""
        if self.kind == Kind.BYTES:
            return self.place, len(self.data)
        return self.data[: self.place] if self.kind == Kind.REPLACED else self.data


class Log(Protocol):
    """Where records are kept, one behind the other; a place there is a number, that of the first is 0."""

    def append(self, records: list[Record], *, sync: bool) -> None:
        """Append all of the records, or none; with `sync` they are on the medium then."""

    def identity(self) -> Identity | None:
        """Return which file holds them; None where they are in memory."""

    def end(self) -> int:
        """Return the place behind the last record."""

    def first(self, since: int) -> Record | None:
        """Return the record at a place; None where none is."""

    def newest_first(self, since: int) -> Iterator[Record]:
        """Yield the records from a place on, the last one first."""

    def cut(self, end: int) -> None:
        """Forget the records from a place on."""

    def close(self) -> None:
        """Let go of it."""


class Memory:
    """Records of a file that a kill destroys anyway: it has no name yet."""

    def __init__(self) -> None:
        self._records: list[Record] = []

    def append(self, records: list[Record], *, sync: bool) -> None:
        """Append the records."""
        self._records += records

    def identity(self) -> None:
        """Return None: no file holds them."""

    def end(self) -> int:
        """Return how many there are."""
        return len(self._records)

    def first(self, since: int) -> Record | None:
        """Return the record at a place; None where none is."""
        return next(iter(self._records[since:]), None)

    def newest_first(self, since: int) -> Iterator[Record]:
        """Yield the records from a place on, the last one first."""
        return reversed(self._records[since:])

    def cut(self, end: int) -> None:
        """Forget the records from a place on."""
        del self._records[end:]

    def close(self) -> None:
        """Do nothing."""


def needed_to_go_back(records: Iterable[Record], committed_size: int) -> Iterator[Record]:
    """Yield the records by which a file goes back to its last commit: the first one, and the oldest of each place.

    Later ones of the same place are overwritten by it, and what lies behind `committed_size` is cut off.
    """
    seen = set()
    for record in records:
        if record.kind == Kind.START:
            yield record
        elif record.kind in (Kind.BYTES, Kind.ADDED, Kind.REPLACED) and record.what not in seen:
            seen.add(record.what)
            if record.kind != Kind.BYTES or record.place < committed_size:
                yield record


class Journal:
    """Records on the medium, in a file that is locked: `path`, beside the file that it is `of`."""

    def __init__(self, of: str, path: str, descriptor: int) -> None:
        self.path = path
        self._of = of
        self._descriptor = descriptor
        self._process = os.getpid()
        self._has_lasting_name = False
        self._aside = f"{path}.new"
        with contextlib.suppress(OSError):  # who was killed while he shortened it has left one
            os.unlink(self._aside)

    def append(self, records: list[Record], *, sync: bool) -> None:
        """Append all of the records, or none: later ones must not be put behind half a record."""
        before = self.end()
        with store_errors(self._of, f"keep in {self.path} what is to be changed"):
            try:
                for record in records:
                    write_all(self._descriptor, _head(record) + record.data)
                if sync:
                    self._sync()
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._descriptor, before)
                raise

    def identity(self) -> Identity:
        """Return which file it is."""
        return Identity.of(self._descriptor)

    def end(self) -> int:
        """Return the place behind the last record."""
        return os.fstat(self._descriptor).st_size

    def first(self, since: int) -> Record | None:
        """Return the record at a place; None where no whole one is."""
        return self._read(since)

    def newest_first(self, since: int) -> Iterator[Record]:
        """Yield the whole records; what follows a torn one is not read."""
        places = []
        at = since
        for found in self._oldest_first(since):
            places.append(at)
            at += found.nbytes
        for place in reversed(places):
            record = self._read(place)
            assert record is not None
            yield record

    def cut(self, end: int) -> None:
        """Forget the records from a place on, on the medium too."""
        with store_errors(self._of, f"shorten the journal of its changes, {self.path}"):
            if self.end() > end:
                os.ftruncate(self._descriptor, end)
                os.fdatasync(self._descriptor)

    def shorten(self, committed_size: int, settled: Record) -> bool:
        """Give the journal's name to a new one, which is on the medium before; False, and the old one, where it cannot.

        A kill at any time leaves the one or the other, and whoever locks the name next removes what lies aside.
        """
        flags = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
        try:
            new = os.open(self._aside, flags, 0o600)
        except OSError:
            return False
        try:
            fcntl.flock(new, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.fchmod(new, stat.S_IMODE(os.fstat(self._descriptor).st_mode))
            for record in needed_to_go_back(self._oldest_first(0), committed_size):
                own = _in_journal(record, new) if record.kind == Kind.START else record
                write_all(new, _head(own) + own.data)
            write_all(new, _head(settled) + settled.data)
            os.fdatasync(new)
            os.rename(self._aside, self.path)
        except OSError:
            return False
        finally:
            other = new
            if has_name(new, self.path):  # also where Ctrl-C came just now
                other, self._descriptor, self._has_lasting_name = self._descriptor, new, False
            else:
                with contextlib.suppress(OSError):
                    os.unlink(self._aside)
            _unlock(other)
            os.close(other)
        return True

    def close(self) -> None:
        """Unlock it; one that holds nothing is removed."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor < 0:
            return
        with contextlib.suppress(OSError):
            if self._process == os.getpid():
                if os.fstat(descriptor).st_size == 0 and has_name(descriptor, self.path):
                    os.unlink(self.path)
                _unlock(descriptor)
        os.close(descriptor)

    def let_read(self, mode: int) -> None:
        """Let those who may read the file see whether its journal is of a process that lives."""
        os.fchmod(self._descriptor, 0o600 | mode & 0o044)

    def _sync(self) -> None:
        os.fdatasync(self._descriptor)
        if not self._has_lasting_name:
            folder = os.open(os.path.dirname(self.path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
            self._has_lasting_name = True

    def _oldest_first(self, since: int) -> Iterator[Record]:
        at = since
        while (found := self._read(at)) is not None:
            yield found
            at += found.nbytes

    def _read(self, at: int) -> Record | None:
        head = os.pread(self._descriptor, _HEAD.size, at)
        if len(head) < _HEAD.size:
            return None
        kind, place, count, _ = _HEAD.unpack(head)
        if count > os.fstat(self._descriptor).st_size:
            return None
        record = Record(kind, place, read_at(self._descriptor, count, at + _HEAD.size))
        return record if len(record.data) == count and _head(record) == head else None


def _in_journal(start: Record, descriptor: int) -> Record:
    """Return the first record of a journal as another begins with it, which takes its place."""
    told = Start.of(start.data)
    return start._replace(data=told._replace(journal=Identity.of(descriptor)).data())


def _unlock(descriptor: int) -> None:
    """Unlock a file, which children that were forked meanwhile have open, too."""
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _head(record: Record) -> bytes:
    known = _HEAD.pack(record.kind, record.place, len(record.data), 0)
    return _HEAD.pack(record.kind, record.place, len(record.data), zlib.crc32(record.data, zlib.crc32(known)))
