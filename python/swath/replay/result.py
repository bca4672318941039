"""What a replay took, beside what the run took, and why the two may differ. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from swath.replay.actions import NOT_REPLAYED, Run
from swath.replay.carrying import Timed

REPRODUCED_PART = 0.25
"""A replay whose I/O time differs by less from the run's has reproduced it."""
LEFT_OUT = ("read", "write", "map", "operations")
"""Calls whose absence changes the I/O time."""
LOAD_MAX = 0.5
"""With more waiting processes for each processor before a replay, the machine is busy."""


@dataclass(frozen=True)
class OfRank:
    """The I/O of one rank.

    Attributes:
        seconds: the time of its calls in the replay.
        traced_seconds: the time of its calls in the run; 0 of a rank that a change has added.
        calls: the number of its calls in the replay.
        bytes: the bytes that they moved.
    """

    seconds: float
    traced_seconds: float
    calls: int
    bytes: int


@dataclass(frozen=True)
class Result:
    """What a replay took.

    Attributes:
        path: the log of the run.
        store: where it was replayed.
        changes: the changes, in words; none: the run as it was.
        ranks: the I/O of each rank.
        seconds: the time of all calls of all ranks in the replay.
        traced_seconds: the same in the run.
        elapsed_seconds: from the begin of the replay to the end of the last rank.
        traced_elapsed_seconds: from the first call of the run to the end of its last one.
        calls: the calls of the replay.
        traced_calls: the calls of the run that can be replayed.
        bytes: the bytes that the replay moved.
        traced_bytes: the same in the run.
        difference: by which part of the run's I/O time the replay's differs: 0.1 if it took 10 % longer.
        is_reproduced: whether the replay of the unchanged run took as long as the run; None for a changed one.
        reasons: why the times may differ.
        notes: what the log does not contain, or was not replayed.
        was_dropped: whether files were dropped from the page cache before.
        has_gaps: whether gaps in time were kept.
    """

    path: str
    store: str
    changes: tuple[str, ...]
    ranks: tuple[OfRank, ...]
    seconds: float
    traced_seconds: float
    elapsed_seconds: float
    traced_elapsed_seconds: float
    calls: int
    traced_calls: int
    bytes: int
    traced_bytes: int
    difference: float
    is_reproduced: bool | None
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    was_dropped: bool
    has_gaps: bool


@dataclass(frozen=True)
class Circumstances:
    """How a run was replayed.

    Attributes:
        store: the folder, or the modelled disk.
        was_dropped: whether files were dropped from the page cache.
        load: how many processes waited for a processor before (the load average of one minute), for each processor.
        has_gaps: whether gaps in time were kept.
    """

    store: str
    was_dropped: bool
    load: float
    has_gaps: bool


def compared(original: Run, run: Run, timed: Sequence[Timed], how: Circumstances) -> Result:
    """Return the result of a replay.

    Args:
        original: the run without changes.
        run: the run that was carried out.
        timed: what each rank did.
        how: how it was replayed.
    """
    ranks = tuple(_of_rank(original, run, rank, one) for rank, one in enumerate(timed))
    seconds, traced = sum(one.seconds for one in ranks), original.io_seconds
    difference = seconds / traced - 1 if traced > 0 else 0.0
    elapsed = max((one.began + one.seconds for one in original.every_action()), default=0.0)
    began = min((one.began for one in original.every_action()), default=0.0)
    is_reproduced = abs(difference) <= REPRODUCED_PART
    reasons = () if is_reproduced or run.changes else _reasons(original, how)
    return Result(
        original.path,
        how.store,
        run.changes,
        ranks,
        seconds,
        traced,
        max((one.ended for one in timed), default=0.0),
        elapsed - began,
        sum(one.calls for one in ranks),
        sum(1 for _ in original.every_action()),
        sum(one.bytes for one in ranks),
        sum(one.length for one in original.every_action()),
        difference,
        None if run.changes else is_reproduced,
        reasons,
        run.notes,
        how.was_dropped,
        how.has_gaps,
    )


def _of_rank(original: Run, run: Run, rank: int, timed: Timed) -> OfRank:
    is_call = [one.is_call for one in run.actions[rank]]
    return OfRank(
        sum(seconds for seconds, counts in zip(timed.seconds, is_call, strict=True) if counts),
        sum(one.seconds for one in original.actions[rank]) if rank < original.ranks else 0.0,
        sum(is_call),
        sum(timed.moved),
    )


def _reasons(run: Run, how: Circumstances) -> tuple[str, ...]:
    """Return why a replay may take another time than the run."""
    found = []
    if not run.is_complete:
        found.append("the trace is cut: calls are missing")
    if any(one.startswith(NOT_REPLAYED) and any(name in one for name in LEFT_OUT) for one in run.notes):
        found.append("some calls of the run are not replayed, see the notes")
    is_modelled = how.store.startswith("disk:")
    if is_modelled:
        found.append("the modelled disk is not the disk of the run, and has no page cache")
    elif any(one.initial_bytes for one in run.files):
        where = "dropped from" if how.was_dropped else "left in"
        found.append(
            f"how much of its files was cached in the run is not known: the scratch files were {where} the cache"
        )
    if how.load > LOAD_MAX and not is_modelled:
        found.append(f"the machine was busy: {how.load:.1f} processes for each processor waited before the replay")
    if not how.has_gaps:
        found.append("without its gaps, a run leaves the disk no time to write what is cached")
    if not found:
        found.append("the store, the machine, or its load differ from those of the run")
    return tuple(found)
