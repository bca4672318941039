"""What a copy has done so far, kept beside the file that it makes, so that one that was killed can go on.

Beside the target `b.npy`, in the same folder:

    .b.npy.swath-copy            the target, until it is complete
    .b.npy.swath-copy.scratch    the file between two passes, if there are two
    .b.npy.swath-copy.journal    lines of JSON: first what is copied and how, then how far it is on the medium

    {"swath": 1, "asked": {...}, "source": {...}, "passes": [{"tile": [...], "slab": [...]}, ...]}
    {"pass": 0, "tiles": 16}
    {"pass": 0, "tiles": 32}

A line is written after the data it tells of were synced, and is synced itself. The last line may be torn: it is then
not counted. The journal is locked (flock) while somebody works on the copy.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from typing import Any

from swath.errors import ExistsError, FormatError, store_error

VERSION = 1


def working_path(target: str) -> str:
    """Where the target is written until it is complete: a hidden name in its folder, always the same."""
    folder, name = os.path.split(os.path.realpath(target))
    return os.path.join(folder, f".{name}.swath-copy")


class Journal:
    """The journal of one target, locked. Made by `opened`; for rank 0 only.

    Attributes:
        header: what was asked for and how it is done; None of a new journal.
        done: (pass, tiles) that are on the medium.
    """

    def __init__(self, path: str, descriptor: int, lines: list[dict[str, Any]]) -> None:
        self.path = path
        self._descriptor = descriptor
        self.header: dict[str, Any] | None = lines[0] if lines else None
        self.done = (0, 0)
        for line in lines[1:]:
            self.done = (line["pass"], line["tiles"])

    @staticmethod
    def opened(target: str) -> Journal:
        """The journal of `target`, an empty one where there was none.

        Raises ExistsError where somebody else is at work on it, FormatError where it is damaged, StoreError.
        """
        path = working_path(target) + ".journal"
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise store_error(f"copy to {target}: cannot write {path}: {error.strerror}", error.errno) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with open(os.dup(descriptor), "rb") as file:
                file.seek(0)
                text = file.read()
            return Journal(path, descriptor, _parsed(path, text))
        except BlockingIOError:
            os.close(descriptor)
            raise ExistsError(f"copy to {target}: another copy to it is under way (it holds {path})", 17) from None
        except BaseException:
            os.close(descriptor)
            raise

    def start(self, header: dict[str, Any]) -> None:
        """Begin anew: whatever it held is gone."""
        os.ftruncate(self._descriptor, 0)
        self.header, self.done = {"swath": VERSION, **header}, (0, 0)
        self._append(self.header)

    def enter(self, number: int, tiles: int) -> None:
        """Of pass `number` so many tiles are on the medium."""
        self.done = (number, tiles)
        self._append({"pass": number, "tiles": tiles})

    def close(self) -> None:
        """Unlock it; it stays."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def remove(self, target: str) -> None:
        """Remove it and what it tells of, and unlock it."""
        base = working_path(target)
        for path in (base, base + ".scratch"):
            remove(path)
        remove(self.path)
        self.close()

    def _append(self, line: dict[str, Any]) -> None:
        try:
            os.write(self._descriptor, json.dumps(line).encode() + b"\n")
            os.fdatasync(self._descriptor)
        except OSError as error:
            raise store_error(f"cannot write the journal {self.path}: {error.strerror}", error.errno) from None


def remove(path: str) -> None:
    """A file or a folder; nothing where it is gone."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        os.unlink(path)


def _parsed(path: str, text: bytes) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for raw in text.split(b"\n")[:-1]:  # what does not end with a newline was torn
        try:
            line = json.loads(raw)
            known = line["swath"] == VERSION if not lines else line["pass"] >= 0 and line["tiles"] >= 0
            if not known:
                raise ValueError("another version")
        except (ValueError, KeyError, TypeError) as error:
            raise FormatError(
                f"{path}: line {len(lines) + 1} is none of this Swath's journal of a copy ({error!r}): remove it, and "
                "the file of the same name without .journal, to begin anew"
            ) from None
        lines.append(line)
    return lines
