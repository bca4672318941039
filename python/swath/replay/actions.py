"""What a run did with files, as actions of its ranks in their order: a replay carries them out. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]
UNKNOWN = -1
MOVING = frozenset({"read", "write"})
NO_CALLS = frozenset({"barrier", "wait", "copy"})
"""Actions that are no calls of the program."""
ON_PATH = frozenset({"stat", "unlink"})
"""Calls that name a file; other calls are on an open file."""
NOT_REPLAYED = "not replayed"
"""The begin of notes on calls that a replay leaves out."""
GAP_PART = 0.01
"""Two phases are separated by a time without calls of more than this part of the run."""
GAP_SECONDS_MIN = 1e-3


@dataclass(frozen=True)
class Pieces:
    """The bytes of one rank in an access: ascending, and none of them twice.

    Attributes:
        offsets: where each piece begins in the file.
        lengths: the bytes of each piece.
    """

    offsets: Int64s
    lengths: Int64s


@dataclass(frozen=True, slots=True)
class Action:
    """A call of one rank.

    Attributes:
        name: "open", "close", "read", "write", "seek", "sync", "flush", "stat", "truncate", "unlink"; "operation", an
            operation of Swath; "collective", a collective access of pieces; "pieces", an access of pieces by this rank
            alone; "barrier", ranks wait for each other; "copy", a copy in memory; "wait", nothing but the gap.
        layer: the interface: "posix", "stdio", or "swath".
        file: an index into `Run.files`; UNKNOWN for a barrier.
        offset: the offset in the file; of a truncation, the new length; UNKNOWN at the file's position.
        length: the moved or copied bytes; of an operation, those that this rank moved.
        gap: the seconds that the rank computed before, since its last call or barrier.
        seconds: how long the call took in the run; 0 if it is not a call of the run.
        began: its begin, in seconds since the begin of the run.
        flags: the flags of an open; UNKNOWN if they are not in the log.
        direction: "read" or "write" of an operation or an access of pieces.
        operation: an index into `Run.operations`.
        pieces: the bytes of a collective access, or of one of pieces.
        phase: the I/O phase that it belongs to.
        ahead: how many reads are started before they are needed.
        behind: how many writes may be under way.
        method: the method of an access of pieces.
        tuning: sizes and counts of an access of pieces or an operation, by their names.
    """

    name: str
    layer: str = "posix"
    file: int = UNKNOWN
    offset: int = UNKNOWN
    length: int = 0
    gap: float = 0.0
    seconds: float = 0.0
    began: float = 0.0
    flags: int = UNKNOWN
    direction: str = ""
    operation: int = UNKNOWN
    pieces: Pieces | None = None
    phase: int = 0
    ahead: int = 0
    behind: int = 0
    method: str = "auto"
    tuning: tuple[tuple[str, int], ...] = ()

    @property
    def is_call(self) -> bool:
        """Return whether it is a call of the program, not only a time when it makes none."""
        return self.name not in NO_CALLS

    @property
    def moves(self) -> str:
        """Return "read" or "write"; "" for a call that moves no bytes."""
        return self.name if self.name in MOVING else self.direction


@dataclass(frozen=True)
class File:
    """A file of the run.

    Attributes:
        name: its path in the log.
        initial_bytes: how long it was at least before the run, as reads of bytes that the run had not written say.
        end_bytes: how long it is at least at the end of the run.
        is_cold: whether the run read it from the medium, as the speed of its reads says; None if it did not read it.
    """

    name: str
    initial_bytes: int = 0
    end_bytes: int = 0
    is_cold: bool | None = None


@dataclass(frozen=True)
class Run:
    """A run that can be replayed.

    Attributes:
        path: the path of the log.
        tracer: the program that wrote the log.
        command: the command line of the run.
        actions: the actions of each rank, in their order.
        files: the files.
        operations: the exact operations of Swath, as `swath._core.Operation.parse` takes them.
        notes: what the log does not contain, or a replay leaves out, one sentence each.
        is_complete: whether no call is missing, as far as the log says.
        streams: how many ranks transfer at a time; None for no limit; "auto": as Swath finds.
        changes: the changes that were made to it, in words.
        phases: the begin and end of each I/O phase, in seconds since the begin of the run.
    """

    path: str
    tracer: str
    command: str
    actions: tuple[tuple[Action, ...], ...]
    files: tuple[File, ...]
    operations: tuple[bytes, ...] = ()
    notes: tuple[str, ...] = ()
    is_complete: bool = True
    streams: int | str | None = None
    changes: tuple[str, ...] = ()
    phases: tuple[tuple[float, float], ...] = ()

    @property
    def ranks(self) -> int:
        """Return the number of ranks."""
        return len(self.actions)

    def every_action(self) -> Iterator[Action]:
        """Yield the calls of all ranks, rank by rank."""
        for of_rank in self.actions:
            yield from (one for one in of_rank if one.is_call)

    @property
    def is_collective(self) -> bool:
        """Return whether ranks exchange data, so that a replay needs MPI."""
        return self.ranks > 1 and any(one.name in ("operation", "collective") for one in self.every_action())

    @property
    def io_seconds(self) -> float:
        """Return the seconds of the calls of all ranks together, in the run."""
        return sum(one.seconds for one in self.every_action())

    @property
    def gap_seconds(self) -> float:
        """Return the seconds that the rank that computes longest computes between its calls."""
        return max((sum(one.gap for one in of_rank) for of_rank in self.actions), default=0.0)

    @property
    def room_bytes(self) -> int:
        """Return the bytes that a replay needs on its disk."""
        return sum(max(one.initial_bytes, one.end_bytes) for one in self.files)


def in_phases(
    actions: list[list[Action]], lasted: float
) -> tuple[tuple[tuple[Action, ...], ...], tuple[tuple[float, float], ...]]:
    """Return the actions with their gaps, phases, and barriers between phases; and the times of the phases.

    A phase ends where no rank makes a call for more than GAP_PART of the run. No rank begins the next phase before all
    have ended the last one, so a replay keeps this order by barriers. The gap of an action counts from the end of the
    rank's last action, and after a barrier from the end of the phase.
    """
    phases = _phases(actions, max(GAP_SECONDS_MIN, GAP_PART * lasted))
    begins = np.array([began for began, _ in phases])
    placed = []
    for of_rank in actions:
        found: list[Action] = []
        phase, ended = 0, 0.0
        for one in sorted(of_rank, key=lambda action: action.began):
            own = int(np.searchsorted(begins, one.began, side="right")) - 1
            if own > phase:
                found += [Action("barrier", phase=after) for after in range(phase + 1, own + 1)]
                phase, ended = own, phases[own - 1][1]
            found.append(replace(one, gap=max(0.0, one.began - ended), phase=own))
            ended = max(ended, one.began + one.seconds)
        found += [Action("barrier", phase=after) for after in range(phase + 1, len(phases))]
        placed.append(tuple(one for one in found if len(actions) > 1 or one.name != "barrier"))
    return tuple(placed), tuple(phases)


def _phases(actions: list[list[Action]], gap: float) -> list[tuple[float, float]]:
    calls = sorted((one.began, one.began + one.seconds) for of_rank in actions for one in of_rank)
    phases: list[tuple[float, float]] = []
    for began, ended in calls:
        if not phases or began - phases[-1][1] > gap:
            phases.append((began, ended))
        else:
            phases[-1] = (phases[-1][0], max(ended, phases[-1][1]))
    return phases


def said_of_left_out(left_out: Counter[str]) -> Sequence[str]:
    """Return a note for each kind of call that is not replayed."""
    return [f"{NOT_REPLAYED}: {name} ({count:,} times)" for name, count in sorted(left_out.items())]
