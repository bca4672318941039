"""An operation on its way to be carried out, as data: as asked for, as each rank notes it, as all agree on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from swath import _core
from swath.local_memory import Part
from swath.operation import Conditions
from swath.space import Boxes, Distribution


class Asked(NamedTuple):
    """What a caller asked for, as it was given: the arguments of `Array.read` and `Array.write`."""

    direction: str
    distribution: Distribution | Boxes | None
    selection: Any
    method: str = "auto"
    rank: int | None = None
    tuning: Mapping[str, int] | None = None


class OwnNote(NamedTuple):
    """What a rank alone knows of an operation; it travels with the agreement on it (core/comm/agreement.h).

    Attributes:
        memory_block_bytes: as in `Conditions`, of this rank.
        memory_span_bytes: as in `Conditions`, of this rank.
        cached_steps: what part of it is in the page cache, in steps, or CACHED_UNKNOWN; rank 0 says.
        shows_cache: as in `Conditions`; rank 0 says.
        own_nanoseconds: of the operation before.
        planned_by: what the plan was made from that it comes to the agreement with (`PlannedBy` in
            core/method/again.h); 0 without one.
    """

    memory_block_bytes: int = 0
    memory_span_bytes: int = 0
    cached_steps: int = 0
    shows_cache: int = 0
    own_nanoseconds: int = 0
    planned_by: int = 0


class Done(NamedTuple):
    """What was carried out by which plan, and what this rank did; without a plan by chunks or a library."""

    plan: _core.Plan | None
    counted: _core.Counters


class Prepared(NamedTuple):
    """An operation that all ranks have agreed on, this rank's memory for it, and what it is planned by.

    Attributes:
        asked: by which arguments.
        operation: the same on all ranks; None where this rank cannot make it one, and brings the error.
        parts: of this rank's memory.
        conditions: the same on all ranks.
        own_note: of this rank.
        done: of a read that all ranks have carried out already, by which plan and what this rank did.
    """

    asked: Asked
    operation: Any
    parts: list[Part]
    conditions: Conditions
    own_note: OwnNote
    done: Done | None = None
