"""Delays signals during calls of a library that does not survive the exceptions of signal handlers.

Python calls a handler at the next step of any Python code: also in a callback of the library, which takes the exception
for an error of its own, or in a destructor, which drops it.
"""

from __future__ import annotations

# `signal` wraps this module, and makes an enumeration member of each number: two fifths of an append.
import _signal  # type: ignore[import-not-found]
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

Handler = Callable[[int, FrameType | None], object]
SIGNALS = tuple(map(int, signal.valid_signals()))


class Uninterrupted:
    """A block of code that signal handlers do not interrupt."""

    def __init__(self) -> None:
        self.is_interruptible = False

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let handlers raise in this part of the block: it may wait for ever, for example for other ranks."""
        self.is_interruptible = True
        try:
            yield
        finally:
            self.is_interruptible = False


@contextmanager
def handlers_raise_later(take: Callable[[BaseException], None]) -> Iterator[Uninterrupted]:
    """Pass the exceptions of signal handlers in this block to `take`, instead of raising them at once.

    Handlers are called at their usual time. Only the main thread has handlers.
    """
    block = Uninterrupted()
    if threading.current_thread() is not threading.main_thread():
        yield block
        return
    is_over = False

    def careful(handler: Handler) -> Handler:
        def called(number: int, frame: FrameType | None) -> None:
            if is_over or block.is_interruptible:  # over: another signal prevented the reset
                handler(number, frame)
                return
            try:
                handler(number, frame)
            except BaseException as error:  # noqa: BLE001
                # Without the context of the exception: the library's objects must not live as long as the error.
                vars(error)["is_from_signal"] = True  # the error is not ours
                take(error.with_traceback(None))

        return called

    replaced: dict[int, tuple[Handler, Handler]] = {}
    try:
        for number in SIGNALS:
            handler = _signal.getsignal(number)
            if callable(handler):
                replaced[number] = handler, careful(handler)
                _signal.signal(number, replaced[number][1])
        yield block
    finally:
        is_over = True
        for number, (before, ours) in replaced.items():
            if _signal.getsignal(number) is ours:
                _signal.signal(number, before)


@contextmanager
def uninterrupted() -> Iterator[Uninterrupted]:
    """Raise the exceptions of signal handlers in this block at its end."""
    raised: list[BaseException] = []
    with handlers_raise_later(raised.append) as block:
        yield block
    if raised:
        raise raised[0]
