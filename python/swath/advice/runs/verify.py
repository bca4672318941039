"""Replays a run as it was, with each advice, and with all of them: what was predicted, beside what a replay saves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from swath.advice.runs.advice import Advice
from swath.advice.runs.advise import RunAdvice
from swath.errors import ArgumentError, UnsupportedError
from swath.replay import replaying
from swath.replay.actions import Run
from swath.replay.changes import Change, KeepOpen, Method, OneSync
from swath.replay.loading import load
from swath.replay.result import Result

GAIN_MIN = 0.01
"""An advice gains if its replay is shorter by at least this part of the replay of the run as it was."""

NO_METADATA = "opens and syncs take no time on a modelled disk: replay them in a folder, by --store FOLDER"


@dataclass(frozen=True)
class Replayed:
    """One advice, or all of them one after another, as a replay shows it.

    Attributes:
        title: the title of the advice; "all of these" for the sequence.
        changes: the changes, in words.
        predicted: the seconds that it was to save.
        replayed: the seconds that the replay saves; None if it cannot be replayed.
        factor: the learned factor that is in the prediction.
        why: why it cannot be replayed; "" if it can.
        gains: whether it saves time; None if it cannot be replayed.
    """

    title: str
    changes: tuple[str, ...]
    predicted: float
    replayed: float | None
    factor: float = 1.0
    why: str = ""
    gains: bool | None = None

    @property
    def error(self) -> float | None:
        """Return by which part of the replayed seconds the prediction is wrong: 0.1 if it promised 10 % too much."""
        return None if not self.replayed else self.predicted / self.replayed - 1


@dataclass(frozen=True)
class Verification:
    """The replays of all advice about a run.

    Attributes:
        original: the replay of the run as it was.
        replayed: each advice; at the end all that gain, one after another, if there are several.
    """

    original: Result
    replayed: tuple[Replayed, ...]


def verify(found: RunAdvice, store: str = "") -> Verification:
    """Replay a run as it was, then with its advice. Files of the run are not touched.

    Args:
        found: the advice.
        store: where the replays are made, as for `swath.replay.replaying.run`.

    Raises:
        UnsupportedError: the log cannot be replayed.
        StoreError: there is not enough room.
    """
    run = on_store(load(found.path), store)
    original = replaying.run(run, store)
    replayed = [_replayed(run, store, original, one.proposal.title, [one]) for one in found.advice]
    gaining = [one for one, shown in zip(found.advice, replayed, strict=True) if shown.gains]
    if len(gaining) > 1:
        replayed.append(_replayed(run, store, original, "all of these", gaining))
    return Verification(original, tuple(replayed))


def on_store(run: Run, store: str) -> Run:
    """Return a run as it would be on a store: a trace names the methods that Swath took for its own store."""
    if store.startswith(replaying.MODELLED_DISK) and run.operations:
        return replaying.changed(run, [Method(method="auto")])
    return run


def _replayed(run: Run, store: str, original: Result, title: str, advice: Sequence[Advice]) -> Replayed:
    changes: list[Change] = [one.proposal.change for one in advice if one.proposal.change is not None]
    words = tuple(change.words for change in changes)
    predicted, factor = sum(one.saving.likely for one in advice), advice[0].learned.factor
    if not changes:
        return Replayed(title, words, predicted, None, factor, "no replay can make this change")
    if store.startswith(replaying.MODELLED_DISK) and all(isinstance(one, OneSync | KeepOpen) for one in changes):
        return Replayed(title, words, predicted, None, factor, NO_METADATA)
    try:
        result = replaying.run(run, store, changes)
    except (ArgumentError, UnsupportedError) as error:
        return Replayed(title, words, predicted, None, factor, str(error))
    saved = original.elapsed_seconds - result.elapsed_seconds
    return Replayed(title, words, predicted, saved, factor, "", saved >= GAIN_MIN * original.elapsed_seconds)
