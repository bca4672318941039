"""HDF5 files opened by h5py: for reading, and for changes that can be taken back; their datasets by name."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np

from swath.errors import Error, FormatError, StoreError, UnsupportedError, store_error
from swath.formats import files
from swath.formats.changes import Changes, changes_of
from swath.formats.signals import handlers_raise_later
from swath.formats.undo import UndoableFile

SIGNATURE = b"\x89HDF\r\n\x1a\n"

OTHER_NAME = "_nc4_non_coord_"
"""What netCDF-4 puts before the name of a variable whose name a dimension has, along which it does not lie."""

_DOING = {"r": "read", "r+": "change", "w": "create"}


def matches(file: BinaryIO, size: int) -> bool:
    """Return whether HDF5's signature is at byte 0 or, behind a user block, at 512, 1024, 2048 and so on."""
    at = 0
    while at + len(SIGNATURE) <= size:
        file.seek(at)
        if file.read(len(SIGNATURE)) == SIGNATURE:
            return True
        at = max(512, 2 * at)
    return False


def library() -> Any:
    """Return h5py; UnsupportedError where it is not installed."""
    try:
        import h5py
    except ImportError:
        raise UnsupportedError("HDF5 and netCDF-4 files need h5py: pip install h5py") from None
    return h5py


@contextmanager
def opened(path: str, mode: str = "r") -> Iterator[Any]:
    """Yield the file as h5py.File, with h5py's many exceptions turned into ours."""
    h5py = library()
    _refuse_what_is_no_file(path)
    with _translated(path, _DOING[mode]), h5py.File(path, mode, locking="best-effort") as file:
        yield file


@contextmanager
def changed(
    changes: Changes, mode: str = "r+", opening: Callable[[Changes], UndoableFile] = UndoableFile
) -> Iterator[Any]:
    """The existing file as h5py.File, for changing it ("r+") or making it anew ("w"): as it was where that fails."""
    h5py = library()
    path = changes.path
    _refuse_what_is_no_file(path)
    with opening(changes) as stored:
        try:
            with (
                handlers_raise_later(stored.give_up),
                _translated(path, _DOING[mode]),
                h5py.File(stored, mode, **_options(mode)) as file,
            ):
                yield file
            stored.settle()
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
    """As `changed`, committed in the end. Where no journal can be kept, a kill may leave the file half changed."""
    with changes_of(path) as changes:
        with changed(changes) as file:
            yield file
        changes.commit()


def stored_dtype(stored: Any) -> np.dtype[Any]:
    """Return the dtype that h5py has for a stored type, an identifier; raises as h5py does where it has none.

    It is kept: to find it takes longer than to read a short attribute.
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


def shown_name(stored: str) -> str:
    """Return what a dataset is called: the path "/g/_nc4_non_coord_x" in the file is "g/x"."""
    group, name = group_and_name(stored)
    return joined(group, name.removeprefix(OTHER_NAME))


def joined(group: str, name: str) -> str:
    """Return the path of what a group holds; "" is the file itself."""
    return f"{group}/{name}" if group else name


def names_in(file_path: str, dataset: Any) -> str:
    """Return the name of a dataset in messages."""
    return f"{file_path}:{shown_name(dataset.name)}"


def group_and_name(path: str) -> tuple[str, str]:
    """Return the path of the group, and the name in it."""
    group, _, name = path.strip("/").rpartition("/")
    return group, name


def dataset_of(file: Any, name: str) -> Any:
    """Return the dataset that is called so, an h5py.Dataset; None where there is none, or it is no variable."""
    h5py = library()
    if not is_name(name):
        return None
    group, last = group_and_name(name)
    for stored in (joined(group, OTHER_NAME + last), joined(group, last)):
        try:
            found = file.get(stored)
        except (KeyError, ValueError, OSError, RuntimeError):  # a link that leads nowhere, or that is damaged
            found = None
        if isinstance(found, h5py.Dataset):
            return found
    return None


def walk(file: Any) -> Iterator[tuple[str, Any]]:
    """Yield the path in the file and the identifier of every group, the file itself first, and of every dataset once.

    A group's datasets come before its groups, in the order in which they were made. Soft links, and links into other
    files, are left out.
    """
    h5py = library()
    root = h5py.h5o.open(file.id, b"/")
    seen = {h5py.h5o.get_info(root).addr}
    waiting = [("", root)]
    while waiting:
        path, group = waiting.pop()
        yield path, group
        inside = []
        for name, address in _hard_links(group):
            if address in seen:
                continue
            seen.add(address)
            item = h5py.h5o.open(group, name)
            below = joined(path, name.decode("utf-8", "surrogateescape"))
            if isinstance(item, h5py.h5g.GroupID):
                inside.append((below, item))
            elif isinstance(item, h5py.h5d.DatasetID):
                yield below, item
        waiting += reversed(inside)


def _hard_links(group: Any) -> list[tuple[bytes, int]]:
    """Return the names of what is in a group, and its addresses."""
    h5py = library()
    found: list[tuple[bytes, int]] = []

    def note(name: bytes, info: Any) -> None:
        if info.type == h5py.h5l.TYPE_HARD:
            found.append((name, info.u))

    try:
        group.links.iterate(note, info=True, idx_type=h5py.h5.INDEX_CRT_ORDER)
    except (RuntimeError, ValueError, KeyError, OSError):  # the group has not noted the order
        found.clear()
        group.links.iterate(note, info=True)
    return found


def _options(mode: str) -> dict[str, Any]:
    """Of a new file the groups note in which order things were made, as netCDF-4 needs it to change the file later."""
    return {"track_order": True} if mode == "w" else {}


def _refuse_what_is_no_file(path: str) -> None:
    """Raise where the path is no file: the library would wait for the other end of a pipe."""
    with files.opened(path):
        pass


@contextmanager
def _translated(path: str, doing: str) -> Iterator[None]:
    """What is damaged comes as whatever h5py, or NumPy with what h5py tells, happens to meet it by."""
    try:
        yield
    except (Error, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001
        code = getattr(error, "errno", None)
        if code in (errno.EAGAIN, errno.EACCES) and "lock" in str(error):
            raise StoreError(f"{path}: another program has this HDF5 file open: {error}", code) from None
        if code is not None:
            raise store_error(f"{path}: HDF5 cannot {doing} it: {error}", code) from None
        if doing == "read" and "already open" not in str(error) and "locking" not in str(error):
            raise FormatError(f"{path}: not a readable HDF5 file: {error or type(error).__name__}") from None
        raise StoreError(f"{path}: HDF5 cannot {doing} it: {error}") from None
