"""Executes a prepared copy: part by part, pass by pass, in epochs; after each epoch the journal is written.

A large array has one or more epochs of its own. Small arrays share an epoch: each is read and written as one tile, and
one sync serves all of them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence

from swath import _core
from swath.array import progress
from swath.array.open_array import Array
from swath.base import stored_path
from swath.copying.ahead import ReadAhead
from swath.copying.copy_layout import Side
from swath.copying.journal import BEGIN, Journal, Position
from swath.copying.one_pass import Pass
from swath.copying.pipeline import OpenFiles, Pipeline, Progress
from swath.copying.prepare import Job
from swath.copying.store import Identity, SpanOf, WriteBack
from swath.errors import Error, StoreError, from_wire, to_wire
from swath.files.open_options import OpenOptions
from swath.files.opened_file import OpenedFile
from swath.formats import Description, StridedLayout
from swath.ranks.ranks import Ranks

BANDS_BEHIND_OTHERS = 4
"""Another worker of the node may be this many bands behind: pages that are dropped too early are read again."""


@dataclasses.dataclass
class State:
    """A running copy, on one rank.

    Attributes:
        job: the same on all ranks.
        ranks: the ranks that share the work.
        engine: see `swath.open`.
        journal: on rank 0 only.
        entered: the position that is on the medium and in the journal; the same on all ranks.
        is_changed: whether the source has changed.
    """

    job: Job
    ranks: Ranks
    engine: str | None
    journal: Journal | None
    entered: Position
    is_changed: bool = False

    def check_unchanged(self) -> None:
        """Raise StoreError on every rank if the source has changed. Collective."""
        job = self.job
        path = job.request.source_path
        now = self.ranks.on_first(f"{job.request.title}: source", lambda: Identity.of(path))
        if now != job.identity:
            self.is_changed = True
            raise StoreError(
                f"{path} has changed while it was copied ({job.identity.size} bytes then, "
                f"{now.size} now, or written to): nothing was put in place; copy again when it is at rest"
            )

    def enter(self, done: Position) -> None:
        """Record that this much is on the medium. Collective."""
        if done > self.entered:
            enter = self.journal.enter if self.journal is not None else lambda done: None
            self.ranks.run_collectively(f"{self.job.request.title}: enter {done}", lambda: enter(done))
            self.entered = done

    def complete(self) -> None:
        """Rename the target, on rank 0, while no other copy can use it."""
        if self.journal is not None:
            self.journal.check_kept()
        if self.job.request.base is not None:
            self.job.request.base.check_unchanged()
        self.job.atomic_file.complete()

    def failed(self, error: Exception) -> Exception:
        """Return the error with a description of what is left; remove files that are of no use."""
        can_go_on = stored_path.of(self.job.request.target_path).has_hidden_files
        is_kept = not self.is_changed and self.entered > BEGIN and can_go_on
        if not can_go_on and self.ranks.rank == 0:
            self.job.atomic_file.remove()
        if self.journal is not None:
            self.journal.close() if is_kept else self.journal.remove(self.job.request.target_path)
        if not isinstance(error, Error):
            return error
        wire = to_wire(error)
        hint = "; what is done is kept: resume=True (--resume) goes on" if is_kept else ""
        return from_wire({**wire, "message": f"{self.job.request.title}: {wire['message']}{hint}"})


def execute(state: State) -> float:
    """Move all parts, then rename; return the seconds of the last sync. Collective."""
    job, ranks = state.job, state.ranks
    watched = Progress(bytes_before(job, (len(job.parts), 0, 0)) // max(working_ranks(job), 1))
    sync_seconds = 0.0
    with progress.watching(job.request.title, ranks.rank, watched):
        for epoch in _epochs(job):
            watched.bytes_done = bytes_before(job, max(job.done, (epoch.start, 0, 0))) // max(working_ranks(job), 1)
            is_small = job.parts[epoch.start].plan.is_at_once
            sync_seconds = (_copy_small if is_small else _copy_large)(state, epoch, watched)
    state.check_unchanged()
    ranks.on_first(f"{job.request.title}: complete", state.complete)
    if state.journal is not None:
        state.journal.remove(job.request.target_path)
    return sync_seconds


def working_ranks(job: Job) -> int:
    """Return the number of ranks that move tiles, for the part that uses most of them."""
    return max((len(one.workers.ranks) for one in job.parts), default=1)


def bytes_before(job: Job, done: Position) -> int:
    """Return the bytes that all passes have written up to this position."""
    part, number, tiles = done
    moved = sum(p.target.nbytes for one in job.parts[:part] for p in one.plan.passes)
    if part < len(job.parts):
        passes = job.parts[part].plan.passes
        now = passes[number]
        moved += sum(p.target.nbytes for p in passes[:number]) + now.target.nbytes * tiles // max(now.tiles, 1)
    return moved


def _epochs(job: Job) -> Iterator[range]:
    """Yield the parts of each epoch: one large one, or as many small ones as a checkpoint has bytes."""
    first = job.done[0]
    while first < len(job.parts):
        end = first + 1
        taken = 0
        while end < len(job.parts) and job.parts[end].plan.is_at_once:
            taken += job.parts[end - 1].plan.passes[0].target.nbytes
            if taken >= job.checkpoint_bytes:
                break
            end += 1
        yield range(first, end)
        first = end


def _copy_small(state: State, epoch: range, watched: Progress) -> float:
    """Move arrays as one tile each, shared by the ranks; return the seconds of the sync at the end. Collective."""
    job, ranks = state.job, state.ranks
    title = job.request.title
    words = f"{title}: parts from {epoch.start}"
    located = ranks.on_first(words, lambda: job.locate_small(epoch))

    with contextlib.ExitStack() as stack:

        def move() -> OneFile:
            of_source = OneFile(stack, located[0][0], "r", state.engine)
            of_target = OneFile(stack, located[0][-1], "r+", state.engine)
            for number, (source, target) in zip(epoch, located, strict=True):
                one = job.parts[number]
                if one.workers.ranks[(number - epoch.start) % len(one.workers.ranks)] == ranks.rank:
                    plan = one.plan.passes[0]
                    files = OpenFiles(of_source.array(source), of_target.array(target), one.part.axes)
                    with Pipeline(plan, files, range(plan.tiles), watched) as pipeline:
                        pipeline.advance(plan.tiles)
            return of_target

        of_target = ranks.run_collectively(words, move)
        begin = time.perf_counter()
        sync = of_target.file.sync if ranks.is_first_of_node else lambda: None
        ranks.run_collectively(f"{words}: synced", sync)
        seconds = time.perf_counter() - begin
    state.check_unchanged()
    last = epoch.stop - 1
    state.enter((last, 0, job.parts[last].plan.passes[0].tiles))
    return seconds


def _copy_large(state: State, epoch: range, watched: Progress) -> float:
    """Move one array, pass by pass; return the seconds of the sync at the end. Collective."""
    job, number = state.job, epoch.start
    one = job.parts[number]
    _, first_pass, first = max(job.done, (number, 0, 0))
    is_begun = (first_pass, first) > (0, 0)
    files = state.ranks.on_first(f"{one.part.title}: files", lambda: job.locate(number, is_begun=is_begun))
    sync_seconds = 0.0
    for place in range(first_pass, len(one.plan.passes)):
        sync_seconds = _OnePass(state, (number, place), files, watched).run(first)
        first = 0
    return sync_seconds


def _as_placed(side: Side, description: Description) -> Side:
    """Return a side with its strides in the file: records of several variables are interleaved."""
    layout = description.layout
    return dataclasses.replace(side, strides=layout.strides) if isinstance(layout, StridedLayout) else side


class OneFile:
    """A file that only this process has open, for several of its arrays; it does not learn.

    The journal of a copy detects a removed file. So when a rank closes a file that another rank has removed, it gets an
    error only for what failed in the file.

    Stages that run at the same time would teach wrong prices. There are no warnings about layouts: the copy has a plan.
    """

    def __init__(self, stack: contextlib.ExitStack, first: Description, mode: str, engine: str | None) -> None:
        options = OpenOptions(mode, engine, learns=False, minds_name=False)
        self.file = OpenedFile(first.path, first.format, Ranks(_core.solo_comm()), options)
        stack.callback(self.file.close)

    def array(self, description: Description) -> Array:
        """Return one of its arrays."""
        array = Array(self.file.stored_array(description))
        array._watches_layout = False
        return array


class _OnePass:
    """One pass of one array, on one rank.

    Args:
        state: of the copy.
        place: the numbers of the part and of the pass.
        files: of all passes of the part, from source to target.
        watched: counts the bytes that were written.
    """

    def __init__(self, state: State, place: tuple[int, int], files: Sequence[Description], watched: Progress) -> None:
        part, number = place
        self._state = state
        self._place = place
        self._from, self._to = files[number], files[number + 1]
        self._watched = watched
        self._one = state.job.parts[part]
        self._plan: Pass = self._one.plan.passes[number]
        self._title = self._one.part.title

    def run(self, first: int) -> float:
        """Execute the pass from tile `first` to the end; return the seconds of the sync at the end. Collective."""
        ranks = self._state.ranks
        mine = self._own(first, self._plan.tiles)
        with contextlib.ExitStack() as stack:
            pipeline, back, sync = ranks.run_collectively(f"{self._title}: open", lambda: self._open(stack, mine))
            for end in self._ends(first):
                tiles = len(self._own(first, end))
                ranks.run_collectively(f"{self._title}: tiles from {first}", lambda: pipeline.advance(tiles))  # noqa: B023
                self._state.check_unchanged()
                self._flush(back, first)
                if ranks.is_first_of_node:
                    back.begin_sync(sync)
                if self._one.part.is_placed_by_library:
                    self._flush(back, end)  # the library's changes are synced while nothing is written
                first = end
            begin = time.perf_counter()
            self._flush(back, first)
            return time.perf_counter() - begin

    def _own(self, begin: int, end: int) -> range:
        return self._one.workers.tiles_of(self._state.ranks.rank, begin, end)

    def _open(self, stack: contextlib.ExitStack, mine: range) -> tuple[Pipeline, WriteBack, Callable[[], None]]:
        job, engine = self._state.job, self._state.engine
        axes = self._one.part.axes if self._place[1] == 0 else tuple(range(len(self._one.part.shape)))
        source = OneFile(stack, self._from, "r", engine).array(self._from)
        target = OneFile(stack, self._to, "r+", engine).array(self._to)
        back = WriteBack(
            (self._to.path, self._spans(_as_placed(self._plan.target, self._to), self._to)),
            (self._from.path, self._spans(self._plan.source, self._from)),
            drops=job.drops,
            bands_behind=1 if self._one.workers.most_on_a_node == 1 else BANDS_BEHIND_OTHERS,
        )
        stack.callback(back.close)
        back.start()
        ahead = ReadAhead(self._plan, self._from)
        stack.callback(ahead.close)
        pipeline = Pipeline(self._plan, OpenFiles(source, target, axes, ahead, back), mine, self._watched)
        return stack.enter_context(pipeline), back, target.sync

    def _spans(self, side: Side, description: Description) -> SpanOf:
        """Return the function that gives the bytes of a band in its file."""
        layout = description.layout

        def span_of(band: int) -> tuple[int, int] | None:
            span = self._plan.span_of_band(side, band)
            if span is None or not isinstance(layout, StridedLayout):
                return None
            return layout.offset + span[0], layout.offset + span[1]

        return span_of

    def _ends(self, first: int) -> Iterator[int]:
        """Yield the last tile of each epoch: the same on every rank."""
        step = max(self._state.job.checkpoint_bytes // max(self._plan.tile_bytes, 1), 1)
        yield from range(min(first + step, self._plan.tiles), self._plan.tiles, step)
        if first < self._plan.tiles:
            yield self._plan.tiles

    def _flush(self, back: WriteBack, tiles: int) -> None:
        """Sync what was written of the first `tiles` tiles, and record it. Collective."""
        self._state.ranks.run_collectively(f"{self._title}: synced {tiles}", back.wait_synced)
        self._state.enter((*self._place, tiles))
