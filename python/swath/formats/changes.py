"""Changes of a file that can be taken back until they are committed, also after their process was killed.

While `run.nc` is changed, `.run.nc.swath-undo` lies beside it and holds what was there before: records, each with a
checksum. The first says of which file they are and how long that was; each of the others holds bytes that were
overwritten, or the name of what was added to a folder, or what a file in it held.

A record is on the medium before what it tells of is overwritten. The last one may be torn: nothing was overwritten
then. A commit syncs the file and empties the journal. Between two commits changes may be settled, which waits for no
medium: after a kill they stay, as what was written does; after the machine itself has stopped, when nobody knows what
of the file had reached the medium, all is taken back to the last commit. Its owner has the journal locked (flock) as
long as it lives, and removes it in the end; a journal that holds records and that nobody has locked is of a process
that was killed: `repair` takes back its changes.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import functools
import os
import shutil
import stat
import time
import warnings
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import NamedTuple

from swath.errors import ArgumentError, StoreError
from swath.formats import pools
from swath.formats.changes_log import Journal, Kind, Log, Memory, Record
from swath.formats.changes_start import Identity, Start
from swath.formats.files import read_at, store_errors, write_all
from swath.store.beside import locked_own, refuse_planted

PIECE_BYTES = 16 << 20
"""Of what is overwritten, in a record at most."""
LONG_BYTES = 16 << 20
"""Of a journal that is written anew when changes are settled; or twice what was left of it then."""
LOCK_SECONDS = 0.25
"""To wait for a journal that is locked: it may be a reader who looks whether there is something to repair."""
LOCKING_VARIABLE = "HDF5_USE_FILE_LOCKING"


class Mark(NamedTuple):
    """A moment between two changes of a file: after so many commits, at this place of the log."""

    commits: int
    place: int


class Changes:
    """Changes of one file, or of a folder that is a store, that can be taken back until they are committed.

    Whoever changes the file says before what is to be overwritten. What a killed process left is repaired first.

    Args:
        path: the file, which is there.
        is_durable: whether they can be taken back after a kill, too; False for a file that has no name yet.
        lock_seconds: to wait for another process that has the journal.

    Raises:
        StoreError: the system refuses, another process changes the file, or somebody has planted something under the
            journal's name.
    """

    def __init__(self, path: str, *, is_durable: bool = True, lock_seconds: float = LOCK_SECONDS) -> None:
        self.path = path
        self.is_durable = is_durable
        self._is_started = False
        self._kept: set[tuple[int, int] | bytes] = set()  # since the last mark, or since changes were settled
        self._kept_for_good: set[tuple[int, int] | bytes] = set()  # since the last commit, on the medium
        self._settled = (0, 0)  # where in the log the last of these records begins and ends
        self._commits = 0
        self._lost = ""
        self._long = LONG_BYTES
        self._committed_size = 0  # how long the file was when the log's first record was made
        self._log: Journal | Memory = _locked_journal(path, lock_seconds) if is_durable else Memory()
        try:
            if not _is_of_one_replaced(path, self._log):
                _take_back(path, self._log)
            self._log.cut(0)  # a torn record, too
            self._size = _size(path)
        except BaseException:
            self._log.close()
            raise

    def __enter__(self) -> Changes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def begin(self) -> None:
        """Note how long the file is, where nothing is kept since the last commit: before it grows."""
        self._refuse_lost()
        if not self._is_started:
            self._size = _size(self.path)
            self._append([], sync=False)

    def mark(self) -> Mark:
        """Return a mark: what is changed from now on can be taken back alone, by `undo`."""
        self.begin()
        found = Mark(self._commits, self._log.end())
        self._kept.clear()  # what was kept before the mark must be kept once more
        self._size = _size(self.path)  # and so must what was added since: it is there at the mark
        self._append([Record(Kind.MARK, self._size, b"")], sync=False)
        return found

    def keep(self, file_descriptor: int, offset: int, count: int) -> None:
        """Keep so many bytes of the file, before they are overwritten or cut off."""
        self.keep_all(file_descriptor, [(offset, count)])

    def keep_all(self, file_descriptor: int, ranges: Iterable[tuple[int, int]]) -> None:
        """Keep several ranges of bytes (offset, count), at the price of one where they are small."""
        pieces = [
            (at, min(at + PIECE_BYTES, end))
            for offset, end in ((offset, min(offset + count, self._size)) for offset, count in ranges)
            for at in range(offset, end, PIECE_BYTES)
        ]
        records: list[Record] = []
        new: list[tuple[int, int]] = []
        nbytes = 0
        for begin, end in dict.fromkeys(pieces):
            if (begin, end) in self._kept:
                continue
            with store_errors(self.path, "read what is to be changed"):
                records.append(Record(Kind.BYTES, begin, read_at(file_descriptor, end - begin, begin)))
            new.append((begin, end))
            nbytes += end - begin
            if nbytes >= PIECE_BYTES:
                self._keep(records, new)
                records, new, nbytes = [], [], 0
        self._keep(records, new)

    def adds(self, relative: str) -> None:
        """Tell of a file or folder, by its path in the store, before it is made. Raises ExistsError where it is."""
        name = _checked_relative(relative)
        with store_errors(f"{self.path}: {relative}", "add"):
            if os.path.lexists(os.path.join(self.path, relative)):
                raise FileExistsError(errno.EEXIST, "it is there already")
        self._append([Record(Kind.ADDED, 0, name)])

    def replaces(self, relative: str) -> None:
        """Keep what a file of the store holds, before another takes its name; one that is not there yet is added."""
        self.replaces_all([relative])

    def replaces_all(self, names: Iterable[str]) -> None:
        """Keep what several files of the store hold, at the price of one."""
        new = {name: _checked_relative(name) for name in names}
        new = {name: raw for name, raw in new.items() if raw not in self._kept}
        self._keep([self._before_it_is_replaced(name, raw) for name, raw in new.items()], new.values())

    def _before_it_is_replaced(self, name: str, raw: bytes) -> Record:
        try:
            with open(os.path.join(self.path, name), "rb") as file:
                return Record(Kind.REPLACED, len(raw), raw + file.read())
        except FileNotFoundError:
            return Record(Kind.ADDED, 0, raw)
        except OSError as error:
            raise StoreError(f"{self.path}: cannot read {name}: {error.strerror}", error.errno) from None

    def settle(self) -> None:
        """Let what was changed stay after a kill, too; it waits for no medium, which `commit` does.

        A journal that has become long is written anew, with what a machine that stops goes back by.
        """
        self._size = _size(self.path)  # which nothing that is kept from now on takes back
        if not self._is_started:
            return
        if isinstance(self._log, Memory):
            self.commit()  # nothing goes back further: what was kept is let go of
            return
        settled = Record(Kind.SETTLED, self._size, _boot_id())
        if self._log.end() > self._long and self._log.shorten(self._committed_size, settled):
            self._long = max(LONG_BYTES, 2 * self._log.end())
        else:
            self._append([settled], sync=False)
        end = self._log.end()
        self._settled = end - settled.nbytes, end
        self._kept.clear()

    def commit(self) -> None:
        """Let what was changed stay: it is on the medium, and cannot be taken back any more."""
        self._refuse_lost()
        if self._is_started:
            if self.is_durable:
                _sync(self.path)
            self._settled = (0, 0)
            self._forget(0)
            self._commits += 1
        self._size = _size(self.path)

    def undo(self, mark: Mark | None = None) -> None:
        """Make the file what it was when `mark` was made; without one, when it was settled or committed last.

        What was settled or committed after the mark stays.
        """
        if self._is_started:
            begin, end = self._settled
            if mark is not None and mark.commits == self._commits and mark.place >= end:
                begin = end = mark.place
            _take_back(self.path, self._log, since=begin)
            self._forget(end)
            self._size = _size(self.path)

    def close(self) -> None:
        """Take back what was neither settled nor committed, and let go of the file."""
        try:
            if not self._lost:
                self.undo()
                if self._is_started:
                    self.commit()
        finally:
            self._log.close()

    def abandon(self) -> None:
        """Let go of the file, which is removed with all that it holds: nothing is taken back."""
        self._is_started = False
        self._log.cut(0)
        self._log.close()

    def never_closed(self, name: str, process: int) -> None:
        """The file is let go of, or the program over, and nobody has closed it: take back what is not to stay, say so.

        Args:
            name: of the file, in words.
            process: that has it open. A child of its has no business with it.
        """
        if os.getpid() != process:
            return
        self.close()
        warnings.warn(
            f"{name}: it was changed and never closed: what was added since the last sync is taken back; close it, or "
            "use it in a `with` block",
            ResourceWarning,
            stacklevel=2,
        )

    def lose(self, why: object) -> None:
        """Let the file neither be changed nor committed any more: a change failed that cannot be taken back."""
        self._lost = str(why) or type(why).__name__

    def _refuse_lost(self) -> None:
        if self._lost:
            what = f"data that were being moved in it are lost: {self._lost}"
            raise StoreError(f"{self.path}: it cannot be completed, for {what}; create it again", errno.EIO)

    def _keep(self, records: list[Record], what: Iterable[tuple[int, int] | bytes]) -> None:
        """Append records of `what`. They wait for the medium where a machine that stops goes back by them."""
        kept = set(what)
        committed = self._committed_size if self._is_started else self._size
        # What lies behind the committed end is cut off where the machine has stopped.
        needed = {one for one in kept if isinstance(one, bytes) or one[0] < committed}
        self._append(records, sync=not needed <= self._kept_for_good)
        self._kept |= kept
        self._kept_for_good |= kept

    def _append(self, records: list[Record], *, sync: bool = True) -> None:
        if not self._is_started:
            with store_errors(self.path, "change"):
                if self.is_durable:
                    os.utime(self.path)  # what lies in a lower layer of an overlay is another file from now on
                start = Start(Identity.of(self.path), self._size, self._log.identity())
            records = [Record(Kind.START, 0, start.data()), *records]
            self._committed_size = self._size
        if records:
            self._log.append(records, sync=sync and self.is_durable)
            self._is_started = True

    def _forget(self, mark: int) -> None:
        self._log.cut(mark)
        self._is_started = mark > 0
        self._kept.clear()
        self._kept_for_good.clear()


def changes_of(path: str, *, is_durable: bool = True) -> Changes:
    """Return the changes of a file; a kill may leave them half done where nothing may be written beside it.

    Raises StoreError as `Changes` does otherwise: where another process changes the file, among others.
    UnsupportedError of a file in a pool.
    """
    pools.refuse_change(path)
    try:
        return Changes(path, is_durable=is_durable)
    except StoreError as error:
        if error.errno not in (errno.EACCES, errno.EROFS):
            raise
        return Changes(path, is_durable=False)


def journal_path(path: str) -> str:
    """Return the name of the journal of a file's changes: beside the file itself, not beside a link to it."""
    folder, name = os.path.split(os.path.realpath(path))
    return os.path.join(folder, f".{name}.swath-undo")


def repair(path: str, *, is_copy: bool = False) -> bool:
    """Take back what a process that is dead left uncommitted; return False where there is nothing, or its owner lives.

    Args:
        path: the file, or the folder of a store.
        is_copy: the file and its journal were copied here together: take the journal to be of this file.

    Raises:
        StoreError: it may not: the journal is another user's or another file's, or the system refuses.
    """
    if pools.is_in_pool(path):
        return False  # such files are not changed but for their elements
    name = journal_path(path)
    if not os.path.lexists(name):
        return False
    with store_errors(path, f"repair it by {name}"):
        if _is_foreign(name):
            _is_of_a_living_one(path, name)
            return False
        try:
            journal = Journal(path, name, locked_own(name))
        except BlockingIOError:
            return False
        try:
            if not os.path.lexists(path) or (not is_copy and _is_of_one_replaced(path, journal)):
                journal.cut(0)  # what it was of is gone
                return False
            with _locked_target(path):
                found = _take_back(path, journal, is_copy=is_copy)
                journal.cut(0)
        finally:
            journal.close()
    return found


@contextlib.contextmanager
def replacing(path: str, *, is_now: bool = True) -> Iterator[None]:
    """Let a new file take the name inside the block; a journal that a killed process has left of the old one goes.

    Args:
        path: the name.
        is_now: False where it takes the name later: nothing goes, but what keeps it from doing so is raised.

    Raises:
        StoreError: another process changes the old file, or another user's was killed while it did.
    """
    name = "" if pools.is_in_pool(path) else journal_path(path)
    with store_errors(path, f"replace it, beside which {name} lies"):
        is_foreign = _is_foreign(name)
        if is_foreign and _is_of_a_living_one(path, name):
            raise StoreError(f"{path}: a process of another user is changing it; wait for it", errno.EAGAIN)
        journal = None if is_foreign or not os.path.lexists(name) else _lock_journal(path, name, LOCK_SECONDS)
    try:
        yield
        if is_now and journal is not None:
            journal.cut(0)
    finally:
        if journal is not None:
            journal.close()


def _locked_journal(path: str, lock_seconds: float) -> Journal:
    name = journal_path(path)
    with store_errors(path, f"keep a journal of changes in {name}"):
        mode = os.stat(path).st_mode
        journal = _lock_journal(path, name, lock_seconds)
        journal.let_read(mode)
    return journal


def _lock_journal(path: str, name: str, lock_seconds: float) -> Journal:
    until = time.monotonic() + lock_seconds
    while True:
        try:
            journal = Journal(path, name, locked_own(name))
            break
        except BlockingIOError as error:
            if time.monotonic() > until:
                what = f"another program is changing it: {error.strerror} holds {name}"
                way_out = "wait for it, or, where it is another rank of this program, sync the file on all ranks"
                raise StoreError(f"{path}: {what}; {way_out}", errno.EAGAIN) from None
            time.sleep(0.02)
    return journal


# ---- Taking back -----------------------------------------------------------------------------------------------------


def _take_back(path: str, log: Log, *, since: int = 0, is_copy: bool = False) -> bool:
    """Make a file, or a folder, what records say that it was; return False where there are none."""
    first = log.first(since)
    if first is None:
        return False
    with store_errors(path, "take back what was changed in it"):
        size = first.place if first.kind in (Kind.MARK, Kind.SETTLED) else _size_of_start(path, first, is_copy)
        unsettled = []
        for record in log.newest_first(since):
            if record.kind == Kind.SETTLED and record.data == _boot_id():
                size = record.place
                break
            unsettled.append(record)
        if os.path.isdir(path):
            _take_back_in_folder(path, unsettled)
        else:
            _take_back_in_file(path, size, unsettled)
        _sync(path)
    return True


@functools.cache
def _boot_id() -> bytes:
    """Return which start of the machine this is; of one that does not tell, none that was before."""
    with contextlib.suppress(OSError), open("/proc/sys/kernel/random/boot_id", "rb") as file:
        return file.read().strip()
    return os.urandom(16)


def _is_of_one_replaced(path: str, log: Log) -> bool:
    """Return whether the records are of a file that a younger one has replaced, in which nothing is to be taken back.

    Raises StoreError where they are no journal.
    """
    first = log.first(0)
    if first is None:
        return False
    with store_errors(path, "see which file it is"):
        return _start_of(path, first).was_replaced_by(Identity.of(path), log.identity())


def _start_of(path: str, first: Record) -> Start:
    try:
        if first.kind != Kind.START:
            raise ValueError
        return Start.of(first.data)
    except ValueError:
        what = f"{journal_path(path)} is no journal of changes that this version of Swath knows"
        raise StoreError(f"{path}: {what}; remove it if you know what it is", errno.EINVAL) from None


def _size_of_start(path: str, first: Record, is_copy: bool) -> int:
    """Return how long the file was. Raises StoreError where the journal's first record is not of this file."""
    start = _start_of(path, first)
    if not is_copy and not start.file.may_be(Identity.of(path)):
        raise StoreError(
            f"{path}: {journal_path(path)} tells how to take back what a process that was killed left unfinished in "
            "another file, which this one has replaced, or which both were copied from. If the file was replaced, "
            "remove the journal; if both were copied, say so: swath.formats.changes.repair(path, is_copy=True)",
            errno.ESTALE,
        )
    return start.size


def _take_back_in_file(path: str, size: int, newest_first: Iterable[Record]) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.ftruncate(descriptor, size)  # first: it gives room back
        for record in newest_first:
            if record.kind == Kind.BYTES:  # what lay behind the end that it has again stays cut off
                write_all(descriptor, record.data[: max(size - record.place, 0)], record.place)
    finally:
        os.close(descriptor)


def _take_back_in_folder(path: str, newest_first: Iterable[Record]) -> None:
    for record in newest_first:
        if record.kind == Kind.ADDED:
            _remove(_inside(path, record.data))
        elif record.kind == Kind.REPLACED:
            _restore(_inside(path, record.data[: record.place]), record.data[record.place :])


def _inside(store: str, relative: bytes) -> str:
    """Return the path of what a record tells of. Raises StoreError where it leads out of the store."""
    full = os.path.join(store, os.fsdecode(relative))
    folder = os.path.realpath(os.path.dirname(full))
    top = os.path.realpath(store)
    if os.path.commonpath([folder, top]) != top:
        raise StoreError(f"{store}: the journal of its changes tells of {full}, which is outside of it", errno.EPERM)
    return full


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _restore(path: str, held: bytes) -> None:
    working = f"{path}.swath-undo"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(working)
    descriptor = os.open(working, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY | os.O_CLOEXEC, 0o666)
    try:
        with contextlib.suppress(FileNotFoundError):
            os.fchmod(descriptor, stat.S_IMODE(os.stat(path).st_mode))
        write_all(descriptor, held)
    finally:
        os.close(descriptor)
    os.replace(working, path)


def _is_foreign(name: str) -> bool:
    with contextlib.suppress(FileNotFoundError):
        status = os.lstat(name)
        return stat.S_ISREG(status.st_mode) and status.st_uid != os.geteuid()
    return False


def _is_of_a_living_one(path: str, name: str) -> bool:
    """Return whether the owner of another user's journal lives. Raises StoreError where not, and it holds records."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return False
    except OSError:
        refuse_planted(name)
        raise
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        status = os.fstat(descriptor)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    if status.st_size == 0:
        return False
    raise StoreError(
        f"{path}: a process of the user with number {status.st_uid} was killed while it changed the file, which is as "
        f"the kill left it; that user must open it with Swath once, which repairs it by {name}",
        errno.EPERM,
    )


# ---- Files -----------------------------------------------------------------------------------------------------------


def lock_target(descriptor: int, path: str, doing: str) -> None:
    """Lock a file as HDF5 does with locking="best-effort": a file system without locks is accepted.

    Raises StoreError where another program has locked it, which says that HDF5 cannot be `doing` it.
    """
    if os.environ.get(LOCKING_VARIABLE, "").upper() in ("FALSE", "0"):
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        who = "another program has this HDF5 file open, or this one by another handle"
        raise StoreError(f"{path}: {doing}: {who}: {error.strerror}; close it there", error.errno) from None
    except OSError:
        pass


@contextlib.contextmanager
def _locked_target(path: str) -> Iterator[None]:
    """Nobody else who locks it (HDF5's library does) has it open meanwhile."""
    if os.path.isdir(path):
        yield
        return
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        lock_target(descriptor, path, "cannot repair it")
        yield
    finally:
        os.close(descriptor)


def _checked_relative(relative: str) -> bytes:
    if not relative or os.path.isabs(relative) or ".." in relative.split("/"):
        raise ArgumentError(f"{relative!r} is no path inside of a store")
    return os.fsencode(relative)


def _size(path: str) -> int:
    with store_errors(path, "see how long it is"):
        return os.stat(path).st_size


def _sync(path: str) -> None:
    """Bring a file, or all of a folder, to the medium."""
    with store_errors(path, "sync"):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
                os.fdatasync(descriptor)
            elif ctypes.CDLL(None, use_errno=True).syncfs(descriptor):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        finally:
            os.close(descriptor)
