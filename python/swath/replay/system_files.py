"""The scratch files of one rank: file calls of the system and of the C library, as the run made them."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections import defaultdict
from collections.abc import Sequence

from swath.errors import StoreError
from swath.replay.actions import UNKNOWN, Action

KEPT_FLAGS = os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_SYNC | os.O_DSYNC
"""Flags of the run's opens that a replay repeats. All opens may read and write, and create the file."""
SEEK_SET = 0
_LIBRARY = ctypes.CDLL(None, use_errno=True)
"""The C library: os.pread would allocate new memory for each call."""
for _name in ("read", "pread"):
    getattr(_LIBRARY, _name).restype = ctypes.c_ssize_t
_LIBRARY.read.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
_LIBRARY.pread.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64]


class SystemFiles:
    """Carries out file calls. `paths` are the scratch files, by the numbers of the run's files."""

    def __init__(self, paths: Sequence[str], largest: int) -> None:
        self._paths = paths
        self._open: defaultdict[int, list[int]] = defaultdict(list)  # descriptors, the last opened one last
        self._streams = Streams(paths)
        self._memory = memoryview(mmap.mmap(-1, max(largest, 1)))
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._memory[:] = os.urandom(min(1 << 16, len(self._memory))).ljust(len(self._memory), b"\x5a")
        self._copied = bytearray()

    def open_before(self, actions: Sequence[Action]) -> None:
        """Open each file that the rank uses without an open in the log."""
        opened: set[tuple[str, int]] = set()
        for one in actions:
            if one.layer not in ("posix", "stdio") or one.file == UNKNOWN:
                continue
            if one.name == "open":
                opened.add((one.layer, one.file))
            elif (one.layer, one.file) not in opened and one.name not in ("stat", "unlink", "close"):
                opened.add((one.layer, one.file))
                self.carry_out(Action("open", one.layer, one.file))

    def carry_out(self, action: Action) -> int:
        """Make the call, and return the moved bytes. Raise OSError as the system does."""
        if action.layer == "stdio":
            return self._streams.carry_out(action, self._memory)
        path = self._paths[action.file]
        match action.name:
            case "open":
                kept = os.O_CREAT if action.flags == UNKNOWN else action.flags & KEPT_FLAGS | os.O_CREAT
                self._open[action.file].append(os.open(path, os.O_RDWR | kept, 0o600))
            case "close":
                if self._open[action.file]:
                    os.close(self._open[action.file].pop())
            case "read":
                return self._read(action)
            case "write":
                return self._write(action)
            case "seek":
                os.lseek(self._descriptor(action.file), max(action.offset, 0), os.SEEK_SET)
            case "sync":
                os.fsync(self._descriptor(action.file))
            case "truncate":
                if action.offset != UNKNOWN:
                    os.ftruncate(self._descriptor(action.file), action.offset)
            case "stat" if os.path.exists(path):
                os.stat(path)
            case "unlink" if os.path.exists(path):
                os.unlink(path)
        return 0

    def _descriptor(self, file: int) -> int:
        if not self._open[file]:
            self._open[file].append(os.open(self._paths[file], os.O_RDWR | os.O_CREAT, 0o600))
        return self._open[file][-1]

    def _read(self, action: Action) -> int:
        descriptor, done = self._descriptor(action.file), 0
        while True:
            at, wanted = self._address + done, action.length - done
            if action.offset == UNKNOWN:
                moved: int = _LIBRARY.read(descriptor, at, wanted)
            else:
                moved = _LIBRARY.pread(descriptor, at, wanted, action.offset + done)
            if moved < 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            done += moved
            if done >= action.length or not moved:
                return done

    def _write(self, action: Action) -> int:
        descriptor, done = self._descriptor(action.file), 0
        while True:
            memory = self._memory[done : action.length]
            if action.offset == UNKNOWN:
                done += os.write(descriptor, memory)
            else:
                done += os.pwrite(descriptor, memory, action.offset + done)
            if done >= action.length:
                return done

    def copy(self, length: int) -> None:
        """Copy so many bytes in memory."""
        if len(self._copied) < length:
            self._copied = bytearray(length)
        self._copied[:length] = self._memory[:length]

    def close(self) -> None:
        """Close all files."""
        for descriptors in self._open.values():
            while descriptors:
                os.close(descriptors.pop())
        self._streams.close()


class Streams:
    """Streams of the C library, with its buffers."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self._open: defaultdict[int, list[int]] = defaultdict(list)
        self._library = library = ctypes.CDLL(None, use_errno=True)
        library.fopen.restype = ctypes.c_void_p
        library.fopen.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
        for name in ("fclose", "fflush", "ftello"):
            getattr(library, name).argtypes = [ctypes.c_void_p]
        library.fseeko.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_int]
        library.ftello.restype = ctypes.c_long
        for name in ("fread", "fwrite"):
            getattr(library, name).restype = ctypes.c_size_t
            getattr(library, name).argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p]

    def carry_out(self, action: Action, memory: memoryview) -> int:
        """Make the call, and return the moved bytes. Raise OSError as the system does."""
        if action.name == "open":
            self._open[action.file].append(self._opened(action.file, max(action.flags, 0)))
            return 0
        if action.name == "close":
            if self._open[action.file]:
                self._check(self._library.fclose(self._open[action.file].pop()) == 0, action)
            return 0
        if not self._open[action.file]:
            self._open[action.file].append(self._opened(action.file, 0))
        stream = self._open[action.file][-1]
        if action.name == "seek":
            self._check(self._library.fseeko(stream, max(action.offset, 0), SEEK_SET) == 0, action)
        elif action.name in ("flush", "sync"):
            self._check(self._library.fflush(stream) == 0, action)
        elif action.moves:
            return self._transfer(action, stream, memory)
        return 0

    def _opened(self, file: int, flags: int) -> int:
        path = self._paths[file]
        mode = b"a+b" if flags & os.O_APPEND else b"r+b"
        if flags & os.O_TRUNC or not os.path.exists(path):
            mode = b"w+b"
        stream = self._library.fopen(os.fsencode(path), mode)
        if not stream:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
        return int(stream)

    def _transfer(self, action: Action, stream: int, memory: memoryview) -> int:
        if action.offset != UNKNOWN and self._library.ftello(stream) != action.offset:
            self._check(self._library.fseeko(stream, action.offset, SEEK_SET) == 0, action)
        call = self._library.fread if action.name == "read" else self._library.fwrite
        at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        moved = int(call(at, 1, action.length, stream))
        self._check(action.name == "read" or moved == action.length, action)
        return moved

    def _check(self, is_done: bool, action: Action) -> None:
        if not is_done:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), self._paths[action.file])

    def close(self) -> None:
        """Close all streams."""
        for streams in self._open.values():
            while streams:
                self._library.fclose(streams.pop())


def store_error(rank: int, action: Action, name: str, path: str, error: OSError) -> StoreError:
    """Return the error of an action, with its offset and what to do."""
    where = f" at {action.offset:,}" if action.offset != UNKNOWN else ""
    return StoreError(
        f"replay: rank {rank}: {action.name} {path}{where} (for {name}): wanted {action.length:,} bytes: "
        f"{error.strerror or error}. Nothing is left of the replay; give it another folder by --store",
        error.errno or 0,
    )
