"""A process that is killed at a chosen call: before it, or in the middle of what it writes."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable
from typing import Any

CALLS = ("write", "pwrite", "ftruncate", "truncate", "fdatasync", "fsync", "unlink", "rename", "replace", "rmdir")
"""Of the module os, by which Swath's Python changes files."""


def killed(work: Callable[[], Any], at: int) -> bool:
    """Carry out `work` in a child that is killed at its call number `at`; return False where it came to its end."""
    child = os.fork()
    if child == 0:
        try:
            _count_calls(at)
            work()
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the child raised an error"
    return os.WIFSIGNALED(status)


def _count_calls(at: int) -> None:
    left = at
    for name in CALLS:
        call = getattr(os, name)

        def counted(*arguments: Any, _name: str = name, _call: Any = call, **named: Any) -> Any:
            nonlocal left
            if left == 0:
                if _name in ("write", "pwrite"):
                    descriptor, data, *rest = arguments
                    _call(descriptor, memoryview(data)[: len(data) // 2], *rest)
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
            return _call(*arguments, **named)

        setattr(os, name, counted)
