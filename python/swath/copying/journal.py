"""The journal of a copy, next to the file that it makes, so that a copy that was killed can continue.

Next to the target `b.npy`, in the same folder:

    .b.npy.swath-copy            the target, until it is complete
    .b.npy.swath-copy.scratch    the file between two passes, if there are two
    .b.npy.swath-copy.journal    lines of JSON: the request and the plan, then the positions that are on the medium

    {"swath": 2, "asked": {...}, "source": {...}, "parts": [{"variable": "t", "passes": [{"tile": [...], ...}]}, ...]}
    {"part": 0, "pass": 0, "tiles": 16}
    {"part": 0, "pass": 0, "tiles": 32}

A part is one array; the copy of a file has one for each variable.

Left after a kill: all three; a copy with `resume=True` continues from them, one with `resume=False` removes them.

A line is written after its data were synced, and is synced itself. The last line may be torn: it is then cut off. A
process locks the journal (flock) while it works on the copy; only the process with the lock makes, and removes, the
files of these names.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
from typing import Any

from swath import _core
from swath.errors import Error, ExistsError, FormatError, StoreError, store_error
from swath.formats.changes import journal_path

VERSION = 2

Position = tuple[int, int, int]
"""A part, one of its passes, and the number of tiles of it that are on the medium; so is all that comes before."""
BEGIN: Position = (0, 0, 0)


def working_path(target: str) -> str:
    """Return the path of the target until it is complete: a hidden name in its folder, always the same."""
    folder, name = os.path.split(os.path.realpath(target))
    return os.path.join(folder, f".{name}.swath-copy")


class Journal:
    """The locked journal of one target. Made by `opened`; for rank 0 only.

    Attributes:
        header: the request and the plan; None for a new journal.
        done: the position that is on the medium.
    """

    def __init__(self, path: str, file: _core.OwnFile, lines: list[dict[str, Any]]) -> None:
        self.path = path
        self._file = file
        self.header: dict[str, Any] | None = lines[0] if lines else None
        self.done = BEGIN
        for line in lines[1:]:
            self.done = (line["part"], line["pass"], line["tiles"])

    @staticmethod
    def opened(target: str, *, anew: bool = False) -> Journal:
        """Return the journal of `target`, an empty one if there was none; `anew`: also if it is damaged.

        Raises ExistsError if another process works on it, FormatError if it is damaged, StoreError.
        """
        path = working_path(target) + ".journal"
        try:
            file = _core.OwnFile(path)
        except BlockingIOError as error:
            what = f"copy to {target}: another copy to it is under way: {error.strerror} holds {path}"
            raise ExistsError(f"{what}; wait for it, or choose another target", errno.EEXIST) from None
        except OSError as error:
            if isinstance(error, Error):
                raise
            raise store_error(f"copy to {target}: cannot write {path}: {error.strerror}", error.errno) from None
        try:
            return Journal(path, file, _parsed(path, _whole_lines(file.fileno())))
        except FormatError:
            if anew:
                return Journal(path, file, [])
            file.close()
            raise
        except BaseException:
            file.close()
            raise

    def clear(self) -> None:
        """Empty the journal before new files are made: it must never describe other files."""
        try:
            os.ftruncate(self._file.fileno(), 0)
            os.fdatasync(self._file.fileno())
        except OSError as error:
            raise self._cannot_write(error) from None
        self.header, self.done = None, BEGIN

    def start(self, header: dict[str, Any]) -> None:
        """Write the request and the plan to an empty journal."""
        self.header = {"swath": VERSION, **header}
        self._append(self.header)

    def enter(self, done: Position) -> None:
        """Record that this much is on the medium."""
        self.done = done
        part, number, tiles = done
        self._append({"part": part, "pass": number, "tiles": tiles})

    def close(self) -> None:
        """Unlock it; the file stays."""
        self._file.close()

    def leave(self) -> None:
        """Unlock it, and leave all files; an empty journal is removed."""
        if self.header is None and self._file.has_name():
            remove(self.path)
        self.close()

    def remove(self, target: str) -> None:
        """Remove it and the files that it describes, and unlock it. Nothing is removed if it has lost its name."""
        if self._file.has_name():
            base = working_path(target)
            remove_working(base)
            remove(self.path)  # last: now another process may lock a new one
        self.close()

    def check_kept(self) -> None:
        """Raise StoreError if it was removed: another process may work on the same files."""
        if not self._file.has_name():
            raise StoreError(f"{self.path} was removed while the copy was under way: copy again", errno.ENOENT)

    def _append(self, line: dict[str, Any]) -> None:
        """Append the whole line, or nothing: a later line must not follow half a line."""
        text = json.dumps(line).encode() + b"\n"
        before = os.fstat(self._file.fileno()).st_size
        try:
            if os.write(self._file.fileno(), text) < len(text):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fdatasync(self._file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file.fileno(), before)
            raise self._cannot_write(error) from None

    def _cannot_write(self, error: OSError) -> StoreError:
        return store_error(f"cannot write the journal {self.path}: {error.strerror}", error.errno)


def _whole_lines(descriptor: int) -> bytes:
    """Return the lines of the journal. A torn last line is cut off, so that the next line does not follow it."""
    text = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    whole = text[: text.rfind(b"\n") + 1]
    if len(whole) < len(text):
        os.ftruncate(descriptor, len(whole))
    return whole


def remove_working(working: str) -> None:
    """Remove the unfinished target, its undo journal and its scratch file."""
    for path in (working, journal_path(working), working + ".scratch"):
        remove(path)


def remove(path: str) -> None:
    """Remove a file or a folder; do nothing if it does not exist."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        os.unlink(path)


def _parsed(path: str, text: bytes) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for raw in text.split(b"\n")[:-1]:
        try:
            line = json.loads(raw)
            known = line["swath"] == VERSION if not lines else min(line["part"], line["pass"], line["tiles"]) >= 0
            if not known:
                raise ValueError("another version")
        except (ValueError, KeyError, TypeError) as error:
            raise FormatError(
                f"{path}: line {len(lines) + 1} is none of this Swath's journal of a copy ({error!r}): begin anew with "
                "resume=False (--restart)"
            ) from None
        lines.append(line)
    return lines
