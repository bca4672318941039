"""Writing a file, or a folder, aside, so that its name holds either the old one or the complete new one."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from swath import _core
from swath.errors import ExistsError, NotFoundError, StoreError, store_error
from swath.formats import zarr
from swath.formats.files import checked_path

_OWN_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""Of a file whose name others can guess: a link there is not followed, and a FIFO does not block."""


@dataclass(frozen=True)
class Aside:
    """Where a new file is written, and the name that it gets when it is complete.

    Attributes:
        final_path: its name.
        working_path: the file of that name where it is not atomic; else a hidden name in the same folder.
        overwrite: whether the name may be taken from an existing file.
        is_folder: whether what is written is a folder (a Zarr store).
    """

    final_path: str
    working_path: str
    overwrite: bool
    is_folder: bool = False

    @staticmethod
    def prepare(path: Any, *, overwrite: bool, atomic: bool, is_folder: bool = False) -> Aside:
        """Check the name, and choose where to write.

        Raises ExistsError where the file exists and may not be replaced, StoreError where it cannot be.
        """
        path = checked_path(path)
        final = os.path.abspath(path)
        if is_folder:
            _refuse_foreign(path, final)
        elif os.path.isdir(final):
            raise StoreError(f"create {path}: it is a directory", 21)
        target = os.path.realpath(final)  # a symbolic link goes on being one
        folder, name = os.path.split(target)
        if not os.path.isdir(folder):
            raise NotFoundError(f"create {path}: there is no folder {folder}", 2)
        aside = Aside(final, os.path.join(folder, f".{name}.swath-{secrets.token_hex(6)}"), overwrite, is_folder)
        aside.refuse_taken()
        if not atomic:
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(target) if is_folder else os.unlink(target)
            return Aside(final, target, overwrite, is_folder)
        return aside

    def refuse_taken(self) -> None:
        """Raise ExistsError where the name exists, and may not be replaced."""
        if os.path.lexists(self.final_path) and not self.overwrite:
            raise ExistsError(
                f"create {self.final_path}: the file exists; give overwrite=True to replace it", errno.EEXIST
            )

    @contextlib.contextmanager
    def removed_on_error(self) -> Iterator[None]:
        """Remove what was written aside if the block raises."""
        try:
            yield
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        """Remove what was written aside; nothing where it is gone."""
        with contextlib.suppress(OSError):
            shutil.rmtree(self.working_path) if self.is_folder else os.unlink(self.working_path)

    def never_closed(self, process: int, *, is_first: bool) -> None:
        """The array is gone, or the program over, and nobody has closed it: say so, and remove what is not complete.

        Args:
            process: that made it. A child of its has no business with it.
            is_first: whether this rank removes it, for all.
        """
        if os.getpid() != process:
            return
        left = "what was written stays under its name, perhaps not all of it"
        if self.working_path != os.path.realpath(self.final_path):
            left = "there is no file of that name, or the old one"
            if is_first:
                self.remove()
        warnings.warn(
            f"create {self.final_path}: the array was never closed, and so the file was not completed: {left}; "
            "close it, or use it in a `with` block",
            ResourceWarning,
            stacklevel=2,
        )

    def complete(self) -> None:
        """Give the (synced) file its name, and sync the folder so that the name lasts.

        Raises ExistsError where the name was taken meanwhile and may not be replaced.
        """
        target = os.path.realpath(self.final_path)
        if self.working_path == target:
            return
        try:
            if self.is_folder:
                self._name_folder(target)
            elif self.overwrite:
                os.replace(self.working_path, target)
            else:
                os.link(self.working_path, target)  # fails where the name exists: a rename would replace it
                os.unlink(self.working_path)
            folder = os.open(os.path.dirname(target), os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise store_error(
                f"create {self.final_path}: cannot give it its name: {error.strerror}", error.errno
            ) from None

    def _name_folder(self, target: str) -> None:
        """Give the folder its name; one that has it already is first exchanged with it, and removed."""
        if not os.path.lexists(target):
            os.rename(self.working_path, target)
            return
        if not self.overwrite:
            raise FileExistsError(errno.EEXIST, "the name was taken meanwhile")
        if _core.exchange_names(self.working_path, target):
            shutil.rmtree(self.working_path, ignore_errors=True)
            return
        old = f"{self.working_path}-old"  # a file system that cannot exchange: for a moment there is none of that name
        os.rename(target, old)
        os.rename(self.working_path, target)
        shutil.rmtree(old, ignore_errors=True)


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


def _refuse_foreign(path: Any, final: str) -> None:
    """Raise ExistsError where a new store would replace a file, or a folder that is no store: nobody means that."""
    if os.path.lexists(final) and not (os.path.isdir(final) and (zarr.is_store(final) or not os.listdir(final))):
        raise ExistsError(f"create {path}: there is something else than a Zarr store; remove it yourself", 17)
