"""Carrying out a prepared copy: pass by pass, in epochs, after which all ranks agree and the journal is written."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence

from swath import _core
from swath.array import progress
from swath.array.open_array import Array
from swath.array.opened_file import OpenOptions
from swath.copying.ahead import ReadAhead
from swath.copying.journal import Journal
from swath.copying.one_pass import Pass
from swath.copying.pipeline import OpenFiles, Pipeline, Progress
from swath.copying.prepare import Job
from swath.copying.sides import Side
from swath.copying.store import Identity, SpanOf, WriteBack
from swath.errors import Error, StoreError, from_wire, to_wire
from swath.formats import Description, StridedLayout
from swath.ranks.ranks import Ranks

BANDS_BEHIND_OTHERS = 4
"""Another worker of the node may be so many bands behind this one: pages dropped too early are read again."""


@dataclasses.dataclass
class State:
    """A copy under way, on one rank.

    Attributes:
        job: the same on all ranks.
        ranks: that share the work.
        engine: see `swath.open`.
        journal: on rank 0 only.
        entered: (pass, tiles) that are on the medium and in the journal; the same on all ranks.
        is_changed: the source is no longer what it was.
    """

    job: Job
    ranks: Ranks
    engine: str | None
    journal: Journal | None
    entered: tuple[int, int]
    is_changed: bool = False

    def check_unchanged(self) -> None:
        """Collective. Raises StoreError on every rank where the source is no longer what it was."""
        job = self.job
        now = self.ranks.on_first(f"{job.request.title}: source", lambda: Identity.of(job.request.source.path))
        if now != job.identity:
            self.is_changed = True
            raise StoreError(
                f"{job.request.source.path} has changed while it was copied ({job.identity.size} bytes then, "
                f"{now.size} now, or written to): nothing was put in place; copy again when it is at rest"
            )

    def enter(self, number: int, tiles: int) -> None:
        """Collective. So many tiles of pass `number` are on the medium."""
        if (number, tiles) > self.entered:
            enter = self.journal.enter if self.journal is not None else lambda number, tiles: None
            self.ranks.run_collectively(f"{self.job.request.title}: enter {tiles}", lambda: enter(number, tiles))
            self.entered = (number, tiles)

    def complete(self) -> None:
        """Give the target, on rank 0, its name, while no other copy can be at work on it."""
        if self.journal is not None:
            self.journal.check_kept()
        self.job.atomic_file.complete()

    def failed(self, error: Exception) -> Exception:
        """Return the error, saying what is left; what is of no further use is removed."""
        is_kept = not self.is_changed and self.entered > (0, 0)
        if self.journal is not None:
            self.journal.close() if is_kept else self.journal.remove(self.job.request.target_path)
        if not isinstance(error, Error):
            return error
        wire = to_wire(error)
        hint = "; what is done is kept: resume=True (--resume) goes on" if is_kept else ""
        return from_wire({**wire, "message": f"{self.job.request.title}: {wire['message']}{hint}"})


def execute(state: State) -> float:
    """Collective. All passes, then the name; returns the seconds of the last sync."""
    job, ranks = state.job, state.ranks
    passes = job.plan.passes
    workers = len(job.workers.ranks)
    watched = Progress(sum(p.target.nbytes for p in passes) // workers)
    with progress.watching(job.request.title, ranks.rank, watched):
        sync_seconds = 0.0
        for number in range(job.done[0], len(passes)):
            first = job.done[1] if number == job.done[0] else 0
            watched.bytes_done = bytes_before(passes, number, first) // workers
            sync_seconds = _OnePass(state, number, watched).run(first)
    state.check_unchanged()
    ranks.on_first(f"{job.request.title}: complete", state.complete)
    if state.journal is not None:
        state.journal.remove(job.request.target_path)
    return sync_seconds


def bytes_before(passes: Sequence[Pass], number: int, tiles: int) -> int:
    """Return how much of what all passes write is written once so many tiles of pass `number` are."""
    now = passes[number]
    return sum(p.target.nbytes for p in passes[:number]) + now.target.nbytes * tiles // max(now.tiles, 1)


class _OnePass:
    """One pass, in epochs: after each, all ranks agree, and what the one before wrote is on the medium and entered.

    The sync of an epoch goes on behind the next one, so that nobody waits for it.
    """

    def __init__(self, state: State, number: int, watched: Progress) -> None:
        self._state = state
        self._number = number
        self._watched = watched
        self._plan = state.job.plan.passes[number]
        self._title = state.job.request.title

    def run(self, first: int) -> float:
        """Collective. From tile `first` to the end; returns the seconds of the sync at the end."""
        ranks = self._state.ranks
        mine = self._own(first, self._plan.tiles)
        with contextlib.ExitStack() as stack:
            pipeline, back, sync = ranks.run_collectively(f"{self._title}: open", lambda: self._open(stack, mine))
            for end in self._ends(first):
                tiles = len(self._own(first, end))
                ranks.run_collectively(f"{self._title}: tiles from {first}", lambda: pipeline.advance(tiles))  # noqa: B023
                self._state.check_unchanged()
                self._settle(back, first)
                if ranks.is_first_of_node:
                    back.begin_sync(sync)
                first = end
            begin = time.perf_counter()
            self._settle(back, first)
            return time.perf_counter() - begin

    def _own(self, begin: int, end: int) -> range:
        return self._state.job.workers.tiles_of(self._state.ranks.rank, begin, end)

    def _open(self, stack: contextlib.ExitStack, mine: range) -> tuple[Pipeline, WriteBack, Callable[[], None]]:
        job, engine = self._state.job, self._state.engine
        axes = job.request.axes if self._number == 0 else tuple(range(len(job.request.shape)))
        source = stack.enter_context(_opened(job.files[self._number], "r", engine))
        target = stack.enter_context(_opened(job.files[self._number + 1], "r+", engine))
        back = WriteBack(
            (target.path, self._spans(self._plan.target, job.files[self._number + 1])),
            (source.path, self._spans(self._plan.source, job.files[self._number])),
            drops=job.drops,
            bands_behind=1 if job.workers.most_on_a_node == 1 else BANDS_BEHIND_OTHERS,
        )
        stack.callback(back.close)
        back.start()
        ahead = ReadAhead(self._plan, job.files[self._number])
        stack.callback(ahead.close)
        pipeline = Pipeline(self._plan, OpenFiles(source, target, axes, ahead, back), mine, self._watched)
        return stack.enter_context(pipeline), back, target.sync

    def _spans(self, side: Side, description: Description) -> SpanOf:
        """Return where in its file the bytes of a band are."""
        layout = description.layout

        def span_of(band: int) -> tuple[int, int] | None:
            span = self._plan.span_of_band(side, band)
            if span is None or not isinstance(layout, StridedLayout):
                return None
            return layout.offset + span[0], layout.offset + span[1]

        return span_of

    def _ends(self, first: int) -> Iterator[int]:
        """Yield after which tile each epoch ends: the same on every rank."""
        step = max(self._state.job.checkpoint_bytes // max(self._plan.tile_bytes, 1), 1)
        yield from range(min(first + step, self._plan.tiles), self._plan.tiles, step)
        if first < self._plan.tiles:
            yield self._plan.tiles

    def _settle(self, back: WriteBack, tiles: int) -> None:
        """Collective. What was written of the first `tiles` tiles is on the medium, and entered."""
        self._state.ranks.run_collectively(f"{self._title}: synced {tiles}", back.wait_synced)
        self._state.enter(self._number, tiles)


@contextlib.contextmanager
def _opened(description: Description, mode: str, engine: str | None) -> Iterator[Array]:
    """Open the array for this process alone, learning nothing: stages that run at once would teach wrong prices."""
    array = Array.with_own_file(description, Ranks(_core.solo_comm()), OpenOptions(mode, engine, learns=False))
    try:
        yield array
    finally:
        array.close()
