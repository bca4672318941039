"""What replays have taught: for each store and kind of advice, how much of the predicted seconds was saved.

The factors are in one file beside the profiles of stores (docs/advise.md): a profile corrects prices of methods, and
these are of changes, which a method does not name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable

from swath.advice.runs.advice import Factor
from swath.advice.runs.verify import Replayed
from swath.base import cache_folder, own_files
from swath.errors import StoreError


def file() -> str:
    """Return the path of the file."""
    return os.path.join(cache_folder.profiles(), "advice.json")


def factors(source: str) -> dict[str, Factor]:
    """Return the factors of a store by the titles of advice; none if nothing was learned, or the file is damaged.

    Args:
        source: the origin of the prices, as `Profile.source` says it.
    """
    try:
        of_store = own_files.read_json(file())[source]
        return {str(title): Factor(float(one["factor"]), int(one["observations"])) for title, one in of_store.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def learn(source: str, replayed: Iterable[Replayed]) -> None:
    """Keep what replays have shown of each advice.

    Args:
        source: the origin of the prices of the predictions, before factors were applied.
        replayed: the replays.

    Raises:
        StoreError: the file cannot be written.
    """
    known = factors(source)
    for one in replayed:
        if one.replayed is not None and one.predicted > 0 and len(one.changes) == 1:
            known[one.title] = known.get(one.title, Factor()).observed(one.replayed / one.predicted * one.factor)
    try:
        every = own_files.read_json(file())
    except (OSError, ValueError):
        every = {}
    every[source] = {title: {"factor": one.factor, "observations": one.observations} for title, one in known.items()}
    try:
        own_files.replace(file(), json.dumps(every, indent=2) + "\n")
    except OSError as error:
        raise StoreError(
            f"cannot keep what replays have shown in {file()}: {error.strerror}", error.errno or 0
        ) from None
