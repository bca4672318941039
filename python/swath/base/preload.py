"""Libraries that programs are started with in front of all others.

`swath mpi-io` imports this and little else: modules that take long to import (typing, pathlib) are not imported here.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping

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
