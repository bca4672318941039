"""An operation on its way to be carried out, as data: as asked for, as each rank notes it, as all agree on it."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any, NamedTuple

from swath import _core
from swath.learning import SHORT_SECONDS
from swath.local_memory import Part
from swath.operation import Conditions, Operation
from swath.space import Boxes, Distribution


class Asked(NamedTuple):
    """What a caller asked for, as it was given: the arguments of `Array.read` and `Array.write`."""

    direction: str
    distribution: Distribution | Boxes | None
    selection: Any
    method: str = "auto"
    rank: int | None = None
    tuning: Mapping[str, int] | None = None


UNCHANGING = (type(...), slice, tuple, int)
"""Selections of these types stay what they are."""


class OwnNote(NamedTuple):
    """What a rank alone knows of an operation; it travels with the agreement on it (core/comm/agreement.h).

    Attributes:
        memory_block_bytes: as in `Conditions`, of this rank.
        memory_span_bytes: as in `Conditions`, of this rank.
        cached_steps: what part of it is in the page cache, in steps; rank 0 says.
        shows_cache: as in `Conditions`; rank 0 says.
        own_nanoseconds: of the operation before.
        is_read: it has read its share already, see `ShortRead`.
    """

    memory_block_bytes: int = 0
    memory_span_bytes: int = 0
    cached_steps: int = 0
    shows_cache: int = 0
    own_nanoseconds: int = 0
    is_read: int = 0

    def plans_as(self, other: OwnNote) -> bool:
        """Whether this rank gives no reason to plan otherwise."""
        return self[:4] == other[:4]


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


class ShortRead(NamedTuple):
    """A read that takes no longer than it takes ranks to agree: where it is asked for again, it is done at once.

    Ranks then meet once, to agree on what was asked and on how it went, instead of twice. It is planned as it was
    before, which is right where no rank notes anything else; where one does, all read again, by a new plan.

    Attributes:
        asked: by which arguments it was asked for.
        operation: what that is.
        conditions: the same on all ranks.
        own_note: of this rank.
        profile: that the plan was priced from.
        plan: the same on all ranks.
    """

    asked: Asked
    operation: Operation
    conditions: Conditions
    own_note: OwnNote
    profile: _core.Profile
    plan: _core.Plan

    @classmethod
    def of(cls, prepared: Prepared, profile: _core.Profile, plan: _core.Plan) -> ShortRead | None:
        """None where it is long, where ranks meet on the way, or where the device is waited for."""
        operation = prepared.operation
        in_memory = operation.direction == "read" and prepared.conditions.cached == 1
        if not in_memory or plan.method == "two-phase" or plan.price["seconds"] >= SHORT_SECONDS:
            return None
        return cls(prepared.asked, operation, prepared.conditions, prepared.own_note, profile, plan)

    def is_again(self, asked: Asked) -> bool:
        """Whether it is asked for by the very same objects, which cannot have changed and need no check."""
        return (
            asked.distribution is self.asked.distribution
            and asked.selection is self.asked.selection
            and asked.method is self.asked.method
            and asked.rank is None
            and asked.tuning is None
            and type(asked.distribution) in (Distribution, NoneType)
            and type(asked.selection) in UNCHANGING
        )

    def is_same(self, operation: Operation, own_note: OwnNote, profile: _core.Profile) -> bool:
        """Whether it is what is asked for now."""
        return self.operation is operation and self.profile is profile and self.own_note.plans_as(own_note)
