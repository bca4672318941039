"""The errors of Swath: each says what was wrong, where, what was expected, and what to do.

The ranks of a collective operation all raise the same error, so every error travels: `to_wire` turns it into plain
data that any rank can send, `from_wire` rebuilds it, and pickling goes the same way.
"""

from __future__ import annotations

import errno as errnos
import sys
import warnings
from typing import Any, ClassVar


class Error(Exception):
    """Any error that Swath raises on purpose; catch this one to catch them all."""

    kind: ClassVar[str] = "error"

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return from_wire, (to_wire(self),)


class ArgumentError(Error, ValueError):
    """The caller asked for something impossible; nothing was touched."""

    kind = "argument"


class SelectionError(ArgumentError, IndexError):
    """A selection that the array does not have: an index out of range, too many indices, no basic slicing."""

    kind = "selection"


class StoreError(Error, OSError):
    """The system refused, or cut short, a transfer or another call on a file; `errno` says why (None when unknown)."""

    kind = "store"

    def __init__(self, message: str, errno: int | None = None) -> None:
        super().__init__(errno, message)

    def __str__(self) -> str:
        return str(self.args[1])


class NotFoundError(StoreError, FileNotFoundError):
    """The file is not there."""

    kind = "not-found"


class ExistsError(StoreError, FileExistsError):
    """A file that was to be created is already there, and Swath was not told to replace it."""

    kind = "exists"


class OutOfMemoryError(StoreError, MemoryError):
    """There is no memory for what was asked for: an array larger than memory, or a chunk."""

    kind = "out-of-memory"


class FormatError(Error, ValueError):
    """A file's own description of itself cannot be true, or is of no format that Swath knows."""

    kind = "format"


class DisagreementError(Error, RuntimeError):
    """The ranks of one collective operation asked for different things."""

    kind = "disagreement"


class UnsupportedError(Error, NotImplementedError):
    """A right request that this build, this kernel or this file cannot carry out."""

    kind = "unsupported"


class InternalError(Error, RuntimeError):
    """A bug in Swath: please report it."""

    kind = "internal"


class StoppedError(Error):
    """A thread was told to end what it was at, by the one that it did it for."""

    kind = "stopped"


class LayoutWarning(UserWarning):
    """An operation took many times longer than its bytes need, for the layout of the file defeats its distribution."""


class WaitWarning(UserWarning):
    """An operation waits for a lock that another program holds, or for a server that does not answer; it goes on."""


_BY_KIND: dict[str, type[Error]] = {
    kind.kind: kind
    for kind in (
        Error,
        ArgumentError,
        SelectionError,
        StoreError,
        NotFoundError,
        ExistsError,
        OutOfMemoryError,
        FormatError,
        DisagreementError,
        UnsupportedError,
        InternalError,
        StoppedError,
    )
}


def store_error(message: str, errno: int | None = None) -> StoreError:
    """Return the error for `errno`: NotFoundError, ExistsError, OutOfMemoryError where it says so, else StoreError."""
    if errno == errnos.ENOENT:
        return NotFoundError(message, errno)
    if errno == errnos.EEXIST:
        return ExistsError(message, errno)
    if errno == errnos.ENOMEM:
        return OutOfMemoryError(message, errno)
    return StoreError(message, errno)


def to_wire(exc: BaseException) -> dict[str, Any]:
    """Return `exc` as plain data for JSON: kind, message, errno (None when no system call failed).

    An exception that is not of Swath travels as an InternalError, a foreign OSError as a StoreError, a foreign
    MemoryError as an OutOfMemoryError.
    """
    if isinstance(exc, Error):
        return {"kind": exc.kind, "message": str(exc), "errno": getattr(exc, "errno", None)}
    if isinstance(exc, OSError):
        return {"kind": store_error("", exc.errno).kind, "message": str(exc), "errno": exc.errno}
    if isinstance(exc, MemoryError):
        said = f"out of memory: {exc}" if str(exc) else "out of memory"
        return {"kind": OutOfMemoryError.kind, "message": said, "errno": errnos.ENOMEM}
    return {"kind": InternalError.kind, "message": f"{type(exc).__name__}: {exc}", "errno": None}


def from_wire(wire: dict[str, Any]) -> Error:
    """Return the error that `to_wire` described, of the same type and text; of an unknown kind, an InternalError."""
    kind = _BY_KIND.get(wire["kind"], InternalError)
    if issubclass(kind, StoreError):
        return kind(wire["message"], wire["errno"])
    return kind(wire["message"])


_OF_SELECTION = errnos.EDOM
"""The number by which the core, which knows an error's kind and errno, passes a SelectionError on."""

_CORE_KINDS: list[type[Error]] = [
    Error,
    ArgumentError,
    StoreError,
    FormatError,
    DisagreementError,
    UnsupportedError,
    InternalError,
    StoppedError,
]
"""The numbers of the core's ErrorKind (core/base/error.h)."""

_LEFT = 8
"""The core's number for: another rank has left a loop of all of them."""


def from_core(kind: int, message: str, errno: int) -> Error:
    """Return the exception for an error of the compiled core; it calls this itself."""
    if kind == _LEFT:
        left = DisagreementError(message)
        left.is_of_rank_that_left = True  # type: ignore[attr-defined]
        return left
    error_type = _CORE_KINDS[kind]
    if error_type is StoreError:
        return store_error(message, errno or None)
    if error_type is ArgumentError and errno == _OF_SELECTION:
        return SelectionError(message)
    return error_type(message)


def to_core(exc: BaseException) -> tuple[int, str, int]:
    """Return `exc` as the core's (kind, message, errno), to be agreed on by all ranks."""
    error = from_wire(to_wire(exc))
    kind = next(i for i in range(len(_CORE_KINDS) - 1, -1, -1) if isinstance(error, _CORE_KINDS[i]))
    errno = _OF_SELECTION if isinstance(error, SelectionError) else getattr(error, "errno", None)
    return kind, str(error), errno or 0


def warn_caller(text: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points at the line of the program that called Swath."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def warn_of_wait(text: str) -> None:
    """Issue a WaitWarning; the compiled core calls this itself, from any thread."""
    warnings.warn(text, WaitWarning, stacklevel=2)
