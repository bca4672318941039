"""Programs that this process becomes, with libraries in front of all others.

`swath mpi-io` imports this and little else: modules that take long to import (typing, pathlib) are not imported here.
"""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

VARIABLE = "LD_PRELOAD"


def preloaded(given: Mapping[str, str], library: str) -> dict[str, str]:
    """Return `given` with the library in LD_PRELOAD, behind what is there: a tool in front sees all calls.

    Raises UnsupportedError where LD_PRELOAD cannot name the library.
    """
    if any(separator in library for separator in ": "):
        from swath.errors import UnsupportedError

        raise UnsupportedError(
            f"LD_PRELOAD cannot name {library!r}, whose path has a space or a colon: install Swath into another folder"
        )
    others = [path for path in given.get(VARIABLE, "").replace(":", " ").split() if path != library]
    return {**given, VARIABLE: ":".join([*others, library])}


def become(command: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Run the command in place of this process. Raises OSError where there is no such program."""
    # Python ignores these signals for itself; the program would inherit that, and not end by them.
    ignored = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGPIPE, signal.SIGXFSZ)}
    try:
        os.execvpe(command[0], list(command), dict(environment))
    except OSError:
        for number, handler in ignored.items():
            signal.signal(number, handler)
        raise
