"""Finds the variable of a file that a name means."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from swath.errors import ArgumentError
from swath.formats.contents import Variable

LISTED = 20
"""The names that a message lists before it gives the number of the others."""


def choose(path: str, variables: Iterable[Variable], variable: str | None) -> str:
    """Return the name of the variable `variable`; None means the only one that is no coordinate.

    Raises ArgumentError, with the list of names, similar ones first, if there is none or more than one.
    """
    named = [v for v in variables if v.name]
    names = [v.name for v in named]
    if variable is not None:
        wanted = variable.strip("/")
        if wanted in names:
            return wanted
        close = difflib.get_close_matches(wanted, names, cutoff=0.4)
        rest = [n for n in names if n not in close]
        raise ArgumentError(f"{path}: there is no variable {variable!r}; there {_are(close + rest)}")
    own = [v.name for v in named if not v.is_coordinate] or names
    if len(own) == 1:
        return own[0]
    raise ArgumentError(f"{path}: name one of its variables with variable=; there {_are(own)}")


def describes_others(attributes: Iterable[dict[str, Any]]) -> set[str]:
    """Return the names of the variables that describe others, which these attributes list by the CF conventions."""
    references = ("coordinates", "bounds", "climatology", "grid_mapping", "ancillary_variables", "cell_measures")
    return {
        word for one in attributes for key in references if isinstance(one.get(key), str) for word in one[key].split()
    }


def _are(names: list[str]) -> str:
    if not names:
        return "are none"
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"{'is' if len(names) == 1 else 'are'} {', '.join(names[:LISTED])}{more}"
