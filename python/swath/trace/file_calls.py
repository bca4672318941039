"""Starts programs with the library that traces their file calls: open, read, write, … (bindings/posix_trace)."""

from __future__ import annotations

import os
from collections.abc import Mapping

from swath.base.preload import preloaded
from swath.errors import UnsupportedError

LIBRARY = os.path.join(os.path.dirname(__file__), "libswath-trace-posix.so")


def environment(given: Mapping[str, str], folder: str, with_file_calls: bool) -> dict[str, str]:
    """Return the environment for a traced program.

    Args:
        given: the environment without tracing.
        folder: the folder of the trace.
        with_file_calls: whether file calls of the program are traced, besides operations of Swath.

    Raises:
        UnsupportedError: this installation has no library for file calls, or LD_PRELOAD cannot name it.
    """
    traced = {**given, "SWATH_TRACE": folder}
    if not with_file_calls:
        return traced
    if not os.path.exists(LIBRARY):
        raise UnsupportedError(f"trace: {LIBRARY} was not built: --operations traces without it")
    return preloaded(traced, LIBRARY)
