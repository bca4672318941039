"""The library that traces the file calls of a program: open, read, write, … (bindings/posix_trace)."""

from __future__ import annotations

import os
from collections.abc import Mapping

from swath.base.preload import preloaded
from swath.errors import UnsupportedError

LIBRARY = os.path.join(os.path.dirname(__file__), "libswath-trace-posix.so")


def environment(given: Mapping[str, str], folder: str, with_file_calls: bool) -> dict[str, str]:
    """Return the environment of a program that is traced.

    Args:
        given: the environment without it.
        folder: where the trace goes.
        with_file_calls: whether the file calls of the program are traced, besides the operations of Swath.

    Raises:
        UnsupportedError: this installation has no library for file calls, or LD_PRELOAD cannot name it.
    """
    traced = {**given, "SWATH_TRACE": folder}
    if not with_file_calls:
        return traced
    if not os.path.exists(LIBRARY):
        raise UnsupportedError(f"trace: {LIBRARY} was not built: --operations traces without it")
    return preloaded(traced, LIBRARY)
