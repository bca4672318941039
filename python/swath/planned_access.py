"""Reading and writing arrays whose layout the core knows: planning, carrying out, and doing again what was short.

The other two ways are coded_access.py (chunks that are compressed) and library_access.py.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from swath import _core, progress
from swath.errors import Error, FormatError
from swath.formats import ChunkedLayout, Description, StridedLayout, TiledLayout
from swath.learning import Learning
from swath.local_memory import Part, span_bytes
from swath.operation import Conditions, Operation
from swath.prepared import Asked, Done, OwnNote, Prepared
from swath.ranks import Note, Ranks
from swath.space import Boxes, Distribution, is_plain_selection

PLANS_KEPT = 64
"""Of the latest operations of an array, for whoever asks for the same again, as programs do at every time step."""
SHORT_SECONDS = 5e-3
"""Of what is priced at less, agreement and a look at the arguments with cold caches are a part worth saving."""


class PlannedAccess:
    """One open array, whose bytes are moved by plans.

    Args:
        description: of the array; its layout is one that the core knows.
        ranks: that the array was opened with.
        engine: that moves the bytes.
        learning: what prices are made from.
        is_new: the file is being made: all of it is in the page cache, and it will be synced before it gets its name.

    Attributes:
        layout: the core's.
    """

    def __init__(
        self, description: Description, ranks: Ranks, engine: _core.Engine, learning: Learning, *, is_new: bool
    ) -> None:
        self._ranks = ranks
        self._engine: Any = engine
        self._learning = learning
        self._is_new = is_new
        self._will_be_synced = is_new
        self._shows_cache = engine.shows_cache
        self._again: dict[str, Again] = {}  # the last short read, and the last short write
        # Pure: what was asked before has the same answer.
        self._make_plan = functools.lru_cache(PLANS_KEPT)(_core.make_plan)
        self._agreed: Conditions | None = None  # of the last operation of all ranks
        self.describe(description)

    def describe(self, description: Description) -> None:
        """From now on the array is stored so: chunks have been allocated."""
        self._dtype = description.dtype
        self._fill = description.fill
        self.layout = core_layout(description)
        self._again.clear()

    def close(self) -> None:
        """Let go of the engine, which is what holds the file open."""
        self._again.clear()
        self._engine = None

    def expect_sync(self) -> None:
        """What is written from now on will be synced: it goes to the device as soon as it is written."""
        if not self._will_be_synced:
            self._will_be_synced = True
            self._again.clear()

    def note(self, operation: Operation, parts: list[Part], *, is_alone: bool = False) -> OwnNote:
        """What this rank knows of it; `is_alone`: the other ranks have no part in it."""
        block = span = 0
        if not all(part.flags.c_contiguous for part in parts):
            block = _core.memory_block(self.layout, operation.decomposition, operation.rank_of_decomposition, parts)
            span = max(span_bytes(part) for part in parts)
        tells = is_alone or self._ranks.rank == 0
        steps = self._cached_steps(operation) if tells else 0
        own_nanoseconds = 0 if is_alone else self._learning.own_nanoseconds()
        return OwnNote(block, span, steps, self._shows_cache, own_nanoseconds)

    def told(self, notes: Sequence[Note], *, is_alone: bool = False) -> Conditions:
        """What an operation is planned by, once all ranks' notes are known."""
        block, span, steps, shows_cache, nanoseconds, _ = notes[0]
        if len(notes) > 1:
            block = min([block for block, *_ in notes if block], default=0)
            span = max([span for _, span, *_ in notes]) if block else 0
            nanoseconds = max([nanoseconds for *_, nanoseconds, _ in notes])
        conditions = Conditions(steps / _core.CACHED_STEPS, block, span, bool(shows_cache))
        if not is_alone:
            self._agreed = conditions
            self._learning.set_slowest(nanoseconds)
        return conditions

    def conditions_now(self, operation: Operation, cached: float | None) -> Conditions:
        """What it would be planned by now, for packed memory; `cached` where the caller knows it."""
        if cached is None:
            # Ranks that ask the kernel at different moments may be told different things, and then plan differently.
            if self._ranks.size == 1:
                cached = self._cached_steps(operation) / _core.CACHED_STEPS
            else:
                cached = 1.0 if self._agreed is None else self._agreed.cached
        return Conditions(cached, shows_cache=self._shows_cache)

    def plan(self, ranks: Ranks, operation: Operation, conditions: Conditions) -> _core.Plan:
        """The same on all ranks, and the same one again where the same is asked again."""
        # Boxes of the next operation are never these same objects: their plans are not kept.
        make = _core.make_plan if isinstance(operation.distribution, Boxes) else self._make_plan
        return make(
            operation.direction == "write",
            self.layout,
            operation.decomposition,
            operation.method,
            operation.tuning,
            ranks.exchange_messages,
            self._learning.profile,
            conditions.cached,
            conditions.memory_block_bytes,
            conditions.memory_span_bytes,
            0 if ranks.size == 1 else min(ranks.most_on_a_node, operation.decomposition.ranks),
            operation.direction == "write" and self._will_be_synced,
            conditions.shows_cache,
        )

    def agree(
        self, ranks: Ranks, asked: Asked, operation: Any, parts: list[Part], own_note: OwnNote, error: Exception | None
    ) -> Prepared:
        """Collective over `ranks`. What all have agreed on; of a short read mostly what is done already."""
        is_alone = ranks is not self._ranks
        plan = None
        if error is None and not is_alone and ranks.size > 1:
            plan = self._plan_before_agreement(operation, own_note)
        if plan is None:
            words = operation.asked if operation is not None and ranks.size > 1 else ""
            conditions = self.told(ranks.agree(words, error, own_note), is_alone=is_alone)
            return Prepared(asked, operation, parts, conditions, own_note)
        outcome = self._read_then_agree(plan, operation, parts, own_note)
        prepared = Prepared(asked, operation, parts, self.told(outcome.notes), own_note)
        if outcome.counters is None:
            return prepared
        self._measured(done := Done(plan, outcome.counters))
        self._keep(prepared, plan)
        return prepared._replace(done=done)

    def _plan_before_agreement(self, operation: Operation, own_note: OwnNote) -> _core.Plan | None:
        """The same on all ranks that have one: of a short read whose conditions should be those agreed on last.

        Only what is in the page cache, and in which no ranks meet: it may be read in vain. None where this rank knows
        that its conditions are others.
        """
        agreed = self._agreed
        if (
            agreed is None
            or agreed.cached < 1
            or agreed.memory_block_bytes
            or own_note.memory_block_bytes
            or operation.direction == "write"
            or isinstance(operation.distribution, Boxes)
            or (self._ranks.rank == 0 and own_note.cached_steps < _core.CACHED_STEPS)
        ):
            return None
        plan = self.plan(self._ranks, operation, agreed)
        return plan if plan.method != "two-phase" and plan.seconds < SHORT_SECONDS else None

    def _read_then_agree(
        self, plan: _core.Plan, operation: Operation, parts: list[Part], own_note: OwnNote
    ) -> _core.Outcome:
        """Collective."""
        own_note = own_note._replace(planned_by=_core.BY_CONDITIONS_AGREED_LAST)
        try:
            return _core.read_then_agree(
                plan, operation.asked, own_note, parts, self._fill, self._ranks.comm, self._engine
            )
        except Error as error:
            self._ranks.have_agreed(error)
            raise

    def carry_out(self, ranks: Ranks, prepared: Prepared, label: str) -> Done:
        """Collective over `ranks`. `label` is what a progress bar says."""
        operation, parts = prepared.operation, prepared.parts
        plan = self.plan(ranks, operation, prepared.conditions)
        self._engine.set_write_behind(self._will_be_synced)
        with progress.watching(label, ranks.rank) as watched:
            try:
                counted = _core.run(plan, ranks.comm, self._engine, parts, self._fill, watched)
            except Error as error:
                ranks.have_agreed(error)
                raise
        done = Done(plan, counted)
        if ranks is self._ranks:
            self._measured(done)
            self._keep(prepared, plan)
        return done

    def carry_out_again(self, ranks: Ranks, asked: Asked, given: Any) -> Prepared | None:
        """Collective once it does anything. The last short operation, where it is asked for again.

        `given` is the caller's memory, to read None for new one. Where some rank plans otherwise than the last time,
        what is returned is agreed on, but not done. None where it is another operation, in other memory, or where
        another thread is at it.
        """
        again = self._again.pop(asked.direction, None)
        if again is None:
            return None
        try:
            return self._do_again(again, ranks, asked, given)
        finally:
            self._again.setdefault(asked.direction, again)

    def _do_again(self, again: Again, ranks: Ranks, asked: Asked, given: Any) -> Prepared | None:
        if ranks is not self._ranks or again.profile is not self._learning.profile or not again.is_asked(asked):
            return None
        try:
            part = np.empty(again.shape, self._dtype) if given is None and asked.direction == "read" else given
        except MemoryError:
            return None  # which is said, and agreed on, where an operation begins
        if type(part) is not np.ndarray or part.dtype != self._dtype:
            return None
        if again.core is None and not self._can_be_done(again, part):
            return None
        assert again.core is not None
        try:
            is_done = again.core.carry_out(part)
        except Error as error:
            ranks.have_agreed(error)
            raise
        if is_done is None:
            return None
        if not is_done:
            notes = again.core.notes
            return Prepared(asked, again.operation, [part], self.told(notes), OwnNote(*notes[ranks.rank]))
        if self._learning.times.is_complete:
            self._learning.learn()
        self._agreed = again.conditions
        return Prepared(asked, again.operation, [part], again.conditions, again.own_note, again.done)

    def _can_be_done(self, again: Again, part: Part) -> bool:
        """Whether it is asked for again in such a way that the core can do it."""
        if not again.can_be_done() or part.shape != again.shape or part.strides != again.strides:
            return False
        again.core = self._core_again(again, part)
        again.done = Done(again.plan, again.core.counters)
        return True

    def _keep(self, prepared: Prepared, plan: _core.Plan) -> None:
        """For who asks for the same again. Not the memory, which is the caller's."""
        asked, operation, parts, conditions, own_note, _ = prepared
        if isinstance(asked.distribution, Boxes) or parts[0].dtype != self._dtype:
            self._again.pop(asked.direction, None)
            return
        shape, strides = parts[0].shape, parts[0].strides
        self._again[asked.direction] = Again(
            asked, operation, conditions, own_note, plan, self._learning.profile, shape, strides
        )

    def _core_again(self, again: Again, part: Part) -> _core.Again:
        words = again.operation.asked if self._ranks.size > 1 else ""
        sees_cache = self._ranks.rank == 0 and not self._is_new
        number = self._learning.number_of(again.plan)
        comm, engine, times = self._ranks.comm, self._engine, self._learning.times
        return _core.Again(again.plan, number, words, again.own_note, sees_cache, part, self._fill, comm, engine, times)

    def _measured(self, done: Done) -> None:
        if done.plan is not None:
            self._learning.measured(done.plan, seconds=done.counted.total_seconds - done.counted.token_seconds)

    def _cached_steps(self, operation: Operation) -> int:
        """What part of it is in the page cache now; all where the kernel does not tell, or the file is a new one."""
        return _core.CACHED_STEPS if self._is_new else self._engine.cached_steps(self.layout, operation.decomposition)


@dataclasses.dataclass(slots=True)
class Again:
    """An operation as it was carried out. A short one that is asked for again is done at once.

    It is mostly agreement: a read is agreed on once instead of twice (decision record 0018), and what a rank looks at
    again with cold caches is as little as can be (0021).

    Attributes:
        asked: by which arguments.
        operation: what that is.
        conditions: the same on all ranks.
        own_note: of this rank.
        plan: the same on all ranks.
        profile: that the plan was priced from.
        shape: of this rank's memory.
        strides: of this rank's memory.
        core: what does it again, made when it is asked for again.
        done: what it does then: by the same plan, with the counters of the last time.
    """

    asked: Asked
    operation: Operation
    conditions: Conditions
    own_note: OwnNote
    plan: _core.Plan
    profile: _core.Profile
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    core: _core.Again | None = None
    done: Done | None = None

    def is_asked(self, asked: Asked) -> bool:
        """Whether these are the same arguments; those that are the same objects need no look at what is in them."""
        before = self.asked
        distribution, selection = asked.distribution, asked.selection
        return (
            (selection is before.selection or self._selects_as(selection))
            and (
                distribution is before.distribution
                or (type(distribution) is Distribution and distribution == before.distribution)
            )
            and asked.method == before.method
            and asked.rank is None
            and asked.tuning is None
        )

    def _selects_as(self, selection: Any) -> bool:
        before = self.asked.selection
        try:
            if selection != before:
                return False
        except ValueError:  # arrays, which are no selection
            return False
        # What compares equal may be no selection (True, 1.0), or have changed in place meanwhile.
        return is_plain_selection(selection) and is_plain_selection(before)

    def can_be_done(self) -> bool:
        """Whether it is short, and cannot have changed.

        A read that waits for the device is not: it may be read in vain, before the ranks agree.
        """
        asked = self.asked
        is_plain = asked.rank is None and asked.tuning is None and is_plain_selection(asked.selection)
        is_cached = asked.direction == "write" or self.conditions.cached == 1
        return is_plain and is_cached and bool(self.plan.price["seconds"] < SHORT_SECONDS)


def core_layout(description: Description) -> _core.Layout:
    """The core's layout of an array that it can describe; FormatError where it cannot be."""
    try:
        return _core_layout(description)
    except FormatError as error:
        raise FormatError(f"{description.name}: {error}") from None


def _core_layout(description: Description) -> _core.Layout:
    layout, shape, itemsize = description.layout, description.shape, description.dtype.itemsize
    if isinstance(layout, StridedLayout):
        return _core.Layout.strided(shape, itemsize, layout.offset, layout.strides)
    if isinstance(layout, TiledLayout):
        return _core.Layout.tiled(shape, itemsize, layout.chunk_shape, layout.offset)
    assert isinstance(layout, ChunkedLayout)
    offsets = np.ascontiguousarray(layout.offsets, dtype=np.int64).ravel().tolist()
    return _core.Layout.chunked(shape, itemsize, layout.chunk_shape, offsets)
