"""Opens, extends and creates files of any format, with errors that name the path."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from swath.base import stored_path
from swath.errors import ArgumentError, Error, FormatError, StoreError, store_error
from swath.formats.description import Description


def checked_path(path: Any) -> str:
    """Return the path as text, as os.fsdecode makes it; ArgumentError for an impossible path."""
    try:
        name = os.fsdecode(path)
        encoded = os.fsencode(name)
    except TypeError:
        raise ArgumentError(f"path must be a string or a path, not {path!r}") from None
    except UnicodeError as error:
        raise ArgumentError(f"path {path!r} cannot be a file's name: {error}") from None
    if b"\0" in encoded:
        raise ArgumentError(f"path {name!r} cannot be a file's name: it holds a zero byte")
    _refuse_url(name)
    return name


_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]+)://(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_URL_OF_PATHLIB = re.compile(
    r"(?P<scheme>abfss?|az|file|gc?s|hdfs|https?|s?ftp|s3a?):/(?P<rest>.*)", re.IGNORECASE | re.DOTALL
)
"""pathlib reduces two slashes to one."""


def _refuse_url(name: str) -> None:
    found = _URL.match(name) or _URL_OF_PATHLIB.match(name)
    if found is None:
        return
    if found["scheme"].lower() == "file":
        path = f"/{urllib.parse.unquote(found['rest'].removeprefix('localhost')).lstrip('/')}"
        raise ArgumentError(f"{name}: Swath takes paths, not URLs: give the path itself, {path!r}")
    raise ArgumentError(
        f"{name}: Swath reads and writes files, not URLs: copy it to a disk of this machine, or mount what holds it "
        f"(NFS, Lustre, s3fs, …), and give that path; a file of that name in this folder is {'./' + name!r}"
    )


@contextmanager
def store_errors(path: str, doing: str) -> Iterator[None]:
    """Convert errors of the system (OSError) inside the `with` to a StoreError that names `path`."""
    try:
        yield
    except Error:
        raise
    except OSError as error:
        raise refusal(path, doing, error) from None


def refusal(path: str, doing: str, error: OSError) -> StoreError:
    """Return an error of the system as a StoreError that names `path` and the action."""
    return store_error(f"{path}: cannot {doing}: {error.strerror or error}", error.errno)


@contextmanager
def opened(path: str) -> Iterator[tuple[BinaryIO, int]]:
    """Yield the file open for reading, and its size in bytes. StoreError if it is no file and no block device."""
    with store_errors(path, "open"):
        file = stored_path.of(path).open()
    with file, store_errors(path, "read"):
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        yield file, size


@contextmanager
def fresh(path: str) -> Iterator[None]:
    """Make an empty file (ExistsError if it exists), and remove it if the `with` raises."""
    with store_errors(path, "create"):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_RDWR | os.O_CLOEXEC, 0o666))
    try:
        with store_errors(path, "create"):
            yield
    except BaseException:
        os.unlink(path)
        raise


def files_below(folder: str) -> Iterator[str]:
    """Yield the paths of all files below a folder; folders that cannot be listed are skipped.

    Links to folders are not followed. `os.walk` before Python 3.12 is recursive, and fails at a depth of a thousand.
    """
    waiting = [folder]
    while waiting:
        entries: list[os.DirEntry[str]] = []
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as found:
            entries = list(found)
        for entry in entries:
            if not entry.is_dir():
                yield entry.path
            elif not entry.is_symlink():
                waiting.append(entry.path)


def extend(path: str, size: int) -> None:
    """Make the file at least `size` bytes long, without writing: the new part is a hole that reads as zeros."""
    with store_errors(path, f"extend to {size} bytes"):
        if os.stat(path).st_size < size:
            os.truncate(path, size)


def whole(description: Description) -> Description:
    """Return `description` if the file is long enough for it; else FormatError with both lengths."""
    if description.end > 0:
        with opened(description.path) as (_, size):
            if size < description.end:
                raise FormatError(
                    f"{description.name}: the format places data up to byte {description.end}, but the file has "
                    f"{size} bytes: {description.end - size} are missing; the file is truncated or its header is wrong"
                )
    return description


def read_at(descriptor: int, count: int, offset: int) -> bytes:
    """Return `count` bytes, fewer at the end of the file."""
    data = os.pread(descriptor, count, offset)
    while len(data) < count:
        piece = os.pread(descriptor, count - len(data), offset + len(data))
        if not piece:
            break
        data += piece
    return data


def write_all(descriptor: int, data: bytes | memoryview, offset: int | None = None) -> None:
    """Write all of the data, at `offset` or at the current position."""
    done = 0
    while done < len(data):
        rest = memoryview(data)[done:]
        done += os.write(descriptor, rest) if offset is None else os.pwrite(descriptor, rest, offset + done)


def stored_ranges(descriptor: int, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a range of a file that are not holes; all of it if the file system does not report holes."""
    end = min(end, os.fstat(descriptor).st_size)
    at = begin
    while at < end:
        try:
            data = os.lseek(descriptor, at, os.SEEK_DATA)
            hole = os.lseek(descriptor, data, os.SEEK_HOLE)
        except OSError as error:
            if error.errno == errno.ENXIO:  # there are no more data
                return
            data, hole = at, end
        if data < end:
            yield data, min(hole, end)
        at = hole
