"""Files of Swath's own beside a target: their names follow from the target's, so that the next process finds them.

Others can guess the names, too: what they planted there is refused, never followed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat

from swath.errors import StoreError

LOCK_ATTEMPTS = 1000
"""To lock a file: as many others would have to be done with it, and remove it, just before, one after the other."""

_OWN_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""A link is not followed, and a FIFO does not block."""


def open_own(path: str) -> int:
    """A descriptor of a file beside a target whose name others can guess, made where there is none, for this user only.

    It is not blocked by, and does not follow, what another user has put there: raises StoreError, saying what to do.
    """
    while True:
        with contextlib.suppress(FileExistsError):
            return os.open(path, _OWN_FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            descriptor = os.open(path, _OWN_FLAGS)
        except FileNotFoundError:
            continue  # it was removed since
        except OSError:
            refuse_planted(path)
            raise
        try:
            _refuse_foreign_status(path, os.fstat(descriptor))
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor


def refuse_planted(path: str, target: str | None = None) -> None:
    """Raise StoreError where what has a name beside a target is not this user's own file or folder; it may be absent.

    It may have a second name where that is `target`: it was to be removed next when its process was killed.
    Nobody else can replace it afterwards where the folder is one in which each user may remove only what is theirs
    (/tmp); in a folder where others may remove everything, no name is safe.
    """
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    is_target = False
    if target is not None:
        with contextlib.suppress(FileNotFoundError):
            is_target = os.path.samestat(status, os.lstat(target))
    _refuse_foreign_status(path, status, names=2 if is_target else 1)


def _refuse_foreign_status(path: str, status: os.stat_result, names: int = 1) -> None:
    if stat.S_ISLNK(status.st_mode):
        what = "is a symbolic link, which Swath does not follow there"
    elif not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        what = "is neither a file nor a folder"
    elif status.st_uid != os.geteuid():
        what = f"belongs to the user with number {status.st_uid}, not to {os.geteuid()}"
    elif stat.S_ISREG(status.st_mode) and status.st_nlink > names:
        what = f"has {status.st_nlink} names: it is some other file, too"
    else:
        return
    raise StoreError(
        f"{path}: it {what}; Swath writes only files of its own there: look who made it, and remove it, or choose "
        "another folder",
        errno.EPERM,
    )


def locked_own(path: str) -> int:
    """As `open_own`, locked (flock) for this process alone. Raises BlockingIOError, whose text is who has locked it."""
    for _ in range(LOCK_ATTEMPTS):
        descriptor = open_own(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if has_name(descriptor, path):
                return descriptor
        except BlockingIOError as error:
            holder = _holder(os.fstat(descriptor))
            os.close(descriptor)
            raise BlockingIOError(error.errno, holder) from None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # who held it has removed it since it was opened: its lock keeps nobody out
    raise StoreError(
        f"{path}: after each of {LOCK_ATTEMPTS} attempts to lock it another file had its name", errno.ESTALE
    )


def has_name(descriptor: int, path: str) -> bool:
    """Return whether the file of this name is the one that is open."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _holder(status: os.stat_result) -> str:
    """Which process holds a lock of a file, in words, as far as /proc tells: not of other machines and containers."""
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    with contextlib.suppress(OSError):
        with open("/proc/locks", encoding="ascii") as locks:
            held = [line.split() for line in locks]
        for _, kind, _, _, process, where, *_ in (words for words in held if "->" not in words):
            if kind == "FLOCK" and where == place and int(process) > 0:
                with open(f"/proc/{process}/comm", encoding="utf-8", errors="replace") as name:
                    return f"process {process} ({name.read().strip()})"
    return "another process"
