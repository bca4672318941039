"""HDF5 files that h5py opens: for reading, and for changes that can be undone; their datasets by name."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np

from swath.errors import Error, FormatError, StoreError, UnsupportedError, store_error
from swath.formats import files
from swath.formats.changes import Changes, LockWait, changes_of, journal_path
from swath.formats.description import text
from swath.formats.signals import handlers_raise_later
from swath.formats.undo import UndoableFile

SIGNATURE = b"\x89HDF\r\n\x1a\n"

OTHER_NAME = "_nc4_non_coord_"
"""netCDF-4's prefix of a variable that has the name of a dimension, but is not along this dimension."""

_SWMR_WRITER = 4
"""The bit in the superblock's flags of a program that writes while others read."""
_SWMR_WRITTEN = (
    "a program writes it in SWMR mode (single writer, multiple readers), or has ended without closing it; until that "
    "program has closed it, it can be read, and copied, but not changed"
)
_WRITTEN = (
    "it says of itself that a program has it open for writing: close it there; where that program has ended without "
    "closing it, what it wrote last may be lost, and h5clear -s, of HDF5's tools, lets others open the file"
)

_DOING = {"r": "read", "r+": "change", "w": "create"}


def matches(file: BinaryIO, size: int) -> bool:
    """Return whether HDF5's signature is at byte 0 or, after a user block, at 512, 1024, 2048 and so on."""
    return _superblock(file, size) is not None


def _superblock(file: BinaryIO, size: int) -> int | None:
    at = 0
    while at + len(SIGNATURE) <= size:
        file.seek(at)
        if file.read(len(SIGNATURE)) == SIGNATURE:
            return at
        at = max(512, 2 * at)
    return None


def _flags(path: str) -> int:
    """Return the superblock's flags (since version 3) of programs that have the file open for writing."""
    with files.opened(path) as (file, size):
        at = _superblock(file, size)
        file.seek((at or 0) + len(SIGNATURE))
        version, *_, flags = file.read(4).ljust(4, b"\0")
    return flags if at is not None and version >= 3 else 0


def library() -> Any:
    """Return h5py; UnsupportedError if it is not installed."""
    try:
        import h5py
    except ImportError:
        raise UnsupportedError("HDF5 and netCDF-4 files need h5py: pip install h5py") from None
    return h5py


@contextmanager
def opened(path: str, mode: str = "r") -> Iterator[Any]:
    """Yield the file as h5py.File; h5py's various exceptions are converted to ours."""
    h5py = library()
    _refuse_what_is_no_file(path)
    with _translated(path, _DOING[mode]), _file(h5py, path, mode) as file:
        yield file


def _file(h5py: Any, path: str, mode: str) -> Any:
    """Open a file. If another process changes it with a journal of ours, wait for the end of its change."""
    wait = LockWait()
    while True:
        # tested first: the journal may be gone when the locked file is found
        had_journal = os.path.exists(journal_path(path))
        try:
            return h5py.File(path, mode, locking="best-effort")
        except OSError as error:
            if mode != "r":
                raise
            is_swmr = bool(_flags(path) & _SWMR_WRITER)
            is_locked = error.errno in (errno.EAGAIN, errno.EACCES)
            is_changed = is_locked and (had_journal or os.path.exists(journal_path(path)))
            if not is_swmr and not (is_changed and wait.again()):
                raise
        if is_swmr:
            return h5py.File(path, mode, locking="best-effort", swmr=True)


@contextmanager
def changed(
    changes: Changes, mode: str = "r+", opening: Callable[[Changes], UndoableFile] = UndoableFile
) -> Iterator[Any]:
    """Yield the existing file as h5py.File, for changes ("r+") or as a new one ("w"); restore it after an error."""
    h5py = library()
    path = changes.path
    _refuse_what_is_no_file(path)
    if mode != "w":
        refuse_written(path)
    with opening(changes) as stored:
        try:
            with (
                handlers_raise_later(stored.give_up),
                _translated(path, _DOING[mode]),
                h5py.File(stored, mode, **_options(mode)) as file,
            ):
                yield file
            stored.checkpoint()
        except BaseException:
            if stored.is_well:
                stored.undo()
                raise
        if stored.raised is not None:
            stored.undo()
            raised, stored.raised = stored.raised, None
            raise raised from None
        if stored.failure is not None:
            stored.undo()
            reason = f"{stored.failure.strerror}; it is as it was before"
            raise store_error(f"{path}: HDF5 cannot {_DOING[mode]} it: {reason}", stored.failure.errno) from None


@contextmanager
def changed_at_once(path: str) -> Iterator[Any]:
    """As `changed`, with a commit at the end. If no journal is possible, a kill may leave the file half changed."""
    with changes_of(path) as changes:
        with changed(changes) as file:
            yield file
        changes.commit()


def refuse_written(path: str) -> None:
    """Raise StoreError if a program writes the file in SWMR mode: such a program may hold no lock."""
    if _flags(path) & _SWMR_WRITER:
        raise StoreError(f"{path}: HDF5 cannot change it: {_SWMR_WRITTEN}", errno.EBUSY)


def stored_dtype(stored: Any) -> np.dtype[Any]:
    """Return h5py's dtype for a stored type, an identifier; raises as h5py does if there is none.

    It is cached: the search takes longer than a read of a short attribute.
    """
    key = stored.encode()
    found = _dtypes.get(key)
    if found is None:
        if len(_dtypes) >= _DTYPES_MAX:
            _dtypes.clear()
        found = _dtypes[key] = np.dtype(stored.dtype)
    return found


_dtypes: dict[bytes, np.dtype[Any]] = {}
_DTYPES_MAX = 1000


def is_name(name: str) -> bool:
    """Return whether HDF5 can have a dataset of that name, which may be a path through groups."""
    parts = name.strip("/").split("/")
    return (
        "" not in parts and "." not in parts and "\0" not in name and name.encode("utf-8", "replace").decode() == name
    )


def text_of(stored: bytes | str) -> str:
    """Return a path in the file as text: each name is UTF-8, or else Latin-1.

    h5py has a path as text if all of it is UTF-8, else as bytes.
    """
    return stored if isinstance(stored, str) else "/".join(text(name) for name in stored.split(b"/"))


def encodings(name: str) -> list[bytes]:
    """Return the possible bytes of a name in a file: UTF-8, and Latin-1 if it is possible and differs."""
    found = [name.encode()]
    with contextlib.suppress(UnicodeEncodeError):
        found += [] if name.isascii() else [name.encode("latin-1")]
    return found


def stored_path(file: Any, path: str) -> bytes:
    """Return the bytes of a path in an open file (h5py's); UTF-8 if there is no such object."""
    found = b""
    for name in () if path.isascii() else path.strip("/").split("/"):
        below = [b"/".join((found, raw)) for raw in encodings(name)]
        there = [one for one in below if file.id.links.exists(one)]
        if not there:
            return path.encode()
        found = there[0]
    return found or path.encode()


def item_of(file: Any, path: str) -> Any:
    """Return the group or dataset at a path of an open file (h5py's); None if there is none."""
    return file.get(stored_path(file, path))


def shown_name(stored: bytes | str) -> str:
    """Return the name of a dataset for users: the path "/g/_nc4_non_coord_x" in the file is "g/x"."""
    group, name = group_and_name(text_of(stored))
    return joined(group, name.removeprefix(OTHER_NAME))


def joined(group: str, name: str) -> str:
    """Return the path of an item in a group; "" is the file itself."""
    return f"{group}/{name}" if group else name


def group_and_name(path: str) -> tuple[str, str]:
    """Return the path of the group, and the name in it."""
    group, _, name = path.strip("/").rpartition("/")
    return group, name


def dataset_of(file: Any, name: str) -> Any:
    """Return the dataset with this name, an h5py.Dataset; None if there is none, or if it is no variable."""
    h5py = library()
    if not is_name(name):
        return None
    group, last = group_and_name(name)
    for stored in (joined(group, OTHER_NAME + last), joined(group, last)):
        try:
            found = item_of(file, stored)
        except (KeyError, ValueError, OSError, RuntimeError):  # a link that leads nowhere, or is damaged
            found = None
        if isinstance(found, h5py.Dataset):
            return found
    return None


def walk(file: Any) -> Iterator[tuple[str, Any]]:
    """Yield the path and the identifier of every group, the file itself first, and of every dataset, once each.

    A group's datasets precede its groups, in the order of their creation. Soft and external links are left out.
    """
    h5py = library()
    root = h5py.h5o.open(file.id, b"/")
    seen = {h5py.h5o.get_info(root).addr}
    waiting = [("", root)]
    while waiting:
        path, group = waiting.pop()
        yield path, group
        inside = []
        names = set()
        for name, address in _hard_links(group):
            if address in seen:
                continue
            seen.add(address)
            item = h5py.h5o.open(group, name)
            below = joined(path, text_of(name))
            if below in names:
                raise FormatError(
                    f"{file.filename}: it has the name {below!r} in UTF-8 and in Latin-1: they cannot be told apart"
                )
            names.add(below)
            if isinstance(item, h5py.h5g.GroupID):
                inside.append((below, item))
            elif isinstance(item, h5py.h5d.DatasetID):
                yield below, item
        waiting += reversed(inside)


def _hard_links(group: Any) -> list[tuple[bytes, int]]:
    """Return the names in a group, and the addresses of their objects."""
    h5py = library()
    found: list[tuple[bytes, int]] = []

    def note(name: bytes, info: Any) -> None:
        if info.type == h5py.h5l.TYPE_HARD:
            found.append((name, info.u))

    try:
        group.links.iterate(note, info=True, idx_type=h5py.h5.INDEX_CRT_ORDER)
    except (RuntimeError, ValueError, KeyError, OSError):  # the group has no record of the order
        found.clear()
        group.links.iterate(note, info=True)
    return found


def _options(mode: str) -> dict[str, Any]:
    """Return options for new files: groups record the order of creation, as netCDF-4 needs it for later changes."""
    return {"track_order": True} if mode == "w" else {}


def _refuse_what_is_no_file(path: str) -> None:
    """Raise an error if the path is no file: the library would wait for the other end of a pipe."""
    with files.opened(path):
        pass


@contextmanager
def _translated(path: str, doing: str) -> Iterator[None]:
    """Convert errors of damaged files: h5py, or NumPy with h5py's values, raises many types."""
    try:
        yield
    except (Error, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001
        code = getattr(error, "errno", None)
        if "h5clear" in str(error):  # h5clear is the library's advice; it destroys a file that is being written
            why = _SWMR_WRITTEN if _flags(path) & _SWMR_WRITER else _WRITTEN
            raise StoreError(f"{path}: HDF5 cannot {doing} it: {why}", errno.EBUSY) from None
        if code in (errno.EAGAIN, errno.EACCES) and "lock" in str(error):
            raise StoreError(f"{path}: another program has this HDF5 file open: {error}", code) from None
        if code is not None:
            raise store_error(f"{path}: HDF5 cannot {doing} it: {error}", code) from None
        if doing == "read" and "already open" not in str(error) and "locking" not in str(error):
            raise FormatError(f"{path}: not a readable HDF5 file: {error or type(error).__name__}") from None
        raise StoreError(f"{path}: HDF5 cannot {doing} it: {error}") from None
