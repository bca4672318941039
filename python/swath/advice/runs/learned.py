"""Keeps what replays have taught of each kind of advice."""

from __future__ import annotations

import json
from collections.abc import Iterable

from swath.advice.runs.factors import Factor, factors, file
from swath.advice.runs.verify import Replayed
from swath.base import own_files
from swath.errors import StoreError


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
