"""Signals while a library is at work that cannot bear what their handlers raise.

Python calls a handler at the next step of any Python code: in a function that the library calls, too, whose error it
takes for one of its own, or in what runs when an object comes to its end, where it is dropped.
"""

from __future__ import annotations

# `signal` calls this module, and makes an enumeration member of each number. That took two fifths of an append.
import _signal  # type: ignore[import-not-found]
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

Handler = Callable[[int, FrameType | None], object]
SIGNALS = tuple(map(int, signal.valid_signals()))


class Uninterrupted:
    """A block of code that no handler of a signal interrupts."""

    def __init__(self) -> None:
        self.is_interruptible = False

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let handlers raise in this part of the block: it waits for what may never come, such as other ranks."""
        self.is_interruptible = True
        try:
            yield
        finally:
            self.is_interruptible = False


@contextmanager
def handlers_raise_later(take: Callable[[BaseException], None]) -> Iterator[Uninterrupted]:
    """Let `take` have what handlers of signals raise in this block, instead of the code that they interrupt.

    They are called when they would have been. In other threads than the main one there are none.
    """
    block = Uninterrupted()
    if threading.current_thread() is not threading.main_thread():
        yield block
        return
    is_over = False

    def careful(handler: Handler) -> Handler:
        def called(number: int, frame: FrameType | None) -> None:
            if is_over or block.is_interruptible:  # over: it was not put back, for another signal came between
                handler(number, frame)
                return
            try:
                handler(number, frame)
            except BaseException as error:  # noqa: BLE001
                # Without what it was raised in: the library's objects must not live as long as the error does.
                vars(error)["is_from_signal"] = True  # and is no error of ours
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
    """Raise what handlers of signals raise in this block at its end."""
    raised: list[BaseException] = []
    with handlers_raise_later(raised.append) as block:
        yield block
    if raised:
        raise raised[0]
