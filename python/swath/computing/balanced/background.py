"""One thread beside the program, for as long as a loop runs: it reads and writes in the order asked."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from swath import _core

T = TypeVar("T")


class Background:
    """Carries out work in one thread, first come first served."""

    def __init__(self) -> None:
        self._stop = _core.Stop()
        self._process = os.getpid()
        self._executor: ThreadPoolExecutor | None = None

    def submit(self, work: Callable[..., T], *arguments: Any) -> Future[T]:
        """Return the future of some work."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, "swath-balanced", _core.obey, (self._stop,))
        return self._executor.submit(work, *arguments)

    def end(self, *, at_once: bool = False) -> None:
        """End the thread after all work, or `at_once`: then what has not begun is left out, what it is at stopped."""
        if self._executor is None:
            return
        executor, self._executor = self._executor, None
        if os.getpid() != self._process:
            return  # the thread is the parent's
        if at_once:
            self._stop.set()
        executor.shutdown(wait=True, cancel_futures=at_once)
