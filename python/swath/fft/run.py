"""`swath.fftn` and similar functions: transforms of arrays in files, collectively, in bounded memory."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

from swath.array import progress
from swath.copying.execute import OneFile
from swath.copying.journal import remove
from swath.copying.pipeline import Progress
from swath.copying.sources import description_of
from swath.errors import ArgumentError, Error, from_wire, to_wire
from swath.fft.explain import ExplainedFft
from swath.fft.job import Asked, Job, Options, Own, plan_job
from swath.fft.panels import Opened, Panels, PassTimes
from swath.fft.plan import FftPlan
from swath.fft.transforming import scipy_fft
from swath.formats import Description
from swath.ranks import compared
from swath.ranks.ranks import Ranks, in_turn, ranks_of

LAST_TWO = (-2, -1)


@dataclasses.dataclass(frozen=True)
class Transformed:
    """The result of a transform.

    Attributes:
        plan: the executed plan.
        seconds: of the whole transform.
        sync_seconds: of these, the wait at the end until the written bytes are on the medium.
        bytes: of the target's elements.
        moved_bytes: the bytes that all ranks read and wrote in all passes.
        passes: the times of each pass on this rank.
    """

    plan: FftPlan
    seconds: float
    sync_seconds: float
    bytes: int
    moved_bytes: int
    passes: tuple[PassTimes, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return {
            "plan": self.plan.to_dict(),
            "seconds": self.seconds,
            "sync_seconds": self.sync_seconds,
            "bytes": self.bytes,
            "moved_bytes": self.moved_bytes,
            "passes": [dataclasses.asdict(one) for one in self.passes],
        }


@in_turn
def fftn(
    source: Any,
    target: Any,
    s: Any = None,
    axes: Any = None,
    norm: str | None = None,
    *,
    variable: str | None = None,
    memory: int | str | None = None,
    comm: Any = None,
    **how: Any,
) -> Transformed:
    """Write the discrete Fourier transform of an array in a file into a new file. Collective over `comm`.

    The values are those of `scipy.fft.fftn` up to rounding: complex64 for float32 and complex64, complex128 for float64
    and integers. Both files may be larger than memory. Each pass over the array reads *panels*, which are whole along
    one axis or several, transforms them, and writes them. Between two passes the array is in a temporary file of tiles
    next to the target. The target gets its name when it is complete.

    Args:
        source: a path, or an array opened by `swath.open` (for raw files, which do not describe themselves).
        target: the file, or the folder of a Zarr store, to make; its suffix gives the format if `format` does not.
        s: the length of the transform along each of the axes: longer axes are cut off, shorter ones are filled with
            zeros, -1 keeps the length. The default is the lengths of the axes.
        axes: the axes to transform, by default all; with `s` the last ones. () transforms nothing.
        norm: "backward" (the default), "ortho" or "forward", as in scipy.fft.
        variable: the source's name in its file.
        memory: the budget of each rank, in bytes or as "256MiB": the most memory, without page cache, besides what the
            interpreter has anyway. The default is a quarter of the available memory, at most 1 GiB, divided by the
            ranks of a node. Several lines along each axis must fit into it.
        comm: an mpi4py communicator, whose ranks share the panels.
        how: for the target: `order` ("C", the default; "F", or the dimensions from slowest to fastest, if the format
            can store it; "fast": C or F, the one that is written in longer runs), `chunks`, `shards`, `codecs`,
            `format`, `target_variable` and `overwrite`, as for `swath.copy`; `threads` of the transform, by default the
            node's cores divided by its ranks; `engine`, see `swath.open`.

    Raises:
        ArgumentError: impossible axes, lengths or norm; a budget that is too small for a line, with the memory that is
            needed.
        UnsupportedError: scipy is not installed.
        ExistsError: the target exists and `overwrite` is not given; another transform to it is running.
        StoreError: the disk is too small, the system refuses, or the source has changed. There is no half result under
            the target's name; an old file there is as it was before.
    """
    given = {"s": s, "axes": axes, "norm": norm, "variable": variable, "memory": memory, **how}
    return _transform("fftn", source, target, given, comm)


@in_turn
def ifftn(source: Any, target: Any, s: Any = None, axes: Any = None, *, comm: Any = None, **how: Any) -> Transformed:
    """Write the inverse transform, with the values of `scipy.fft.ifftn`; the arguments are those of `fftn`."""
    return _transform("ifftn", source, target, {"s": s, "axes": axes, **how}, comm)


@in_turn
def rfftn(source: Any, target: Any, s: Any = None, axes: Any = None, *, comm: Any = None, **how: Any) -> Transformed:
    """Write the transform of real numbers, with the values of `scipy.fft.rfftn`; see `fftn`.

    Along the last of the axes, of n elements, n // 2 + 1 are kept: the others are their conjugates.
    """
    return _transform("rfftn", source, target, {"s": s, "axes": axes, **how}, comm)


@in_turn
def irfftn(source: Any, target: Any, s: Any = None, axes: Any = None, *, comm: Any = None, **how: Any) -> Transformed:
    """Write the inverse of `rfftn`, which is real, with the values of `scipy.fft.irfftn`; see `fftn`.

    Along the last of the axes, m elements give 2 (m - 1); pass `s` if the number was odd.
    """
    return _transform("irfftn", source, target, {"s": s, "axes": axes, **how}, comm)


@in_turn
def fft2(source: Any, target: Any, s: Any = None, axes: Any = LAST_TWO, *, comm: Any = None, **how: Any) -> Transformed:
    """Write the transform along two axes, by default the last ones: see `fftn`."""
    return _transform("fftn", source, target, {"s": s, "axes": axes, **how}, comm)


@in_turn
def ifft2(
    source: Any, target: Any, s: Any = None, axes: Any = LAST_TWO, *, comm: Any = None, **how: Any
) -> Transformed:
    """Write the inverse transform along two axes, by default the last ones: see `ifftn`."""
    return _transform("ifftn", source, target, {"s": s, "axes": axes, **how}, comm)


@in_turn
def rfft2(
    source: Any, target: Any, s: Any = None, axes: Any = LAST_TWO, *, comm: Any = None, **how: Any
) -> Transformed:
    """Write the transform of real numbers along two axes, by default the last ones: see `rfftn`."""
    return _transform("rfftn", source, target, {"s": s, "axes": axes, **how}, comm)


@in_turn
def irfft2(
    source: Any, target: Any, s: Any = None, axes: Any = LAST_TWO, *, comm: Any = None, **how: Any
) -> Transformed:
    """Write the inverse of `rfft2`, which is real, along two axes: see `irfftn`."""
    return _transform("irfftn", source, target, {"s": s, "axes": axes, **how}, comm)


@in_turn
def explain_fft(source: Any, target: Any, *, transform: str = "fftn", comm: Any = None, **how: Any) -> ExplainedFft:
    """Describe what a transform would do: passes, panels, bytes, memory, seconds, disk space. Writes nothing.

    Args:
        source: see `fftn`.
        target: see `fftn`.
        transform: "fftn", "ifftn", "rfftn", "irfftn", or such a function for two axes, for example "fft2".
        comm: see `fftn`.
        how: all other arguments of `fftn`.

    Raises:
        ArgumentError, NotFoundError, FormatError, UnsupportedError: as the transform raises them before it begins.
    """
    words = compared.call_signature("explain fft to", target, {**locals(), **how}, own=("target", "comm", "how"))
    ranks = ranks_of(comm)

    def work() -> ExplainedFft:
        name = str(transform)
        given = dict(how)
        if name.endswith("2"):
            name = f"{name[:-1]}n"
            given.setdefault("axes", LAST_TWO)
        if name not in ("fftn", "ifftn", "rfftn", "irfftn"):
            raise ArgumentError(f'explain_fft: transform {transform!r}: expected "fftn", "irfft2" or their like')
        asked, options = _asked(name, source, target, given)
        return ExplainedFft.of(plan_job(asked, options, ranks), ranks.size)

    return ranks.on_first(words, work)


def _asked(name: str, source: Any, target: Any, given: dict[str, Any]) -> tuple[Asked, Options]:
    """Return the arguments, not checked. Raises ArgumentError for an unknown argument."""
    rest = dict(given)
    transform = [rest.pop(key, None) for key in ("s", "axes", "norm")]
    variable = rest.pop("variable", None)
    known = [one.name for one in dataclasses.fields(Options)]
    unknown = [key for key in rest if key not in known]
    if unknown:
        known_words = ", ".join(("s", "axes", "norm", "variable", *known[:-1], "comm"))
        raise ArgumentError(f"{name}: {unknown[0]}= is none of its arguments: {known_words}")
    options = Options(**rest)
    if options.threads is not None and (not isinstance(options.threads, int) or options.threads < 1):
        raise ArgumentError(f"{name}: threads {options.threads!r}: expected at least 1")
    return Asked(name, description_of(source, variable, name), target, *transform), options


def _transform(name: str, source: Any, target: Any, given: dict[str, Any], comm: Any) -> Transformed:
    arguments = {"source": source, "comm": comm, **given}
    words = compared.call_signature(f"{name} to", target, arguments, own=("comm",))
    begin = time.perf_counter()
    ranks = ranks_of(comm)
    ranks.agree(words)  # before anything is written
    ranks.run_collectively(f"{name}: scipy", scipy_fft)
    own: list[Own] = []  # on rank 0

    def prepare() -> Job:
        asked, options = _asked(name, source, target, given)
        job = plan_job(asked, options, ranks)
        own.append(Own(job, overwrite=bool(options.overwrite)))
        return job

    try:
        job = ranks.on_first(f"{name}: prepare", prepare)
        times, sync_seconds = _carried_out(job, ranks, given.get("engine"))
        ranks.on_first(f"{job.title}: complete", lambda: _complete(own))
    finally:
        if own:
            own[0].close()
    return Transformed(
        plan=job.plan,
        seconds=time.perf_counter() - begin,
        sync_seconds=sync_seconds,
        bytes=job.plan.passes[-1].target.nbytes,
        moved_bytes=job.plan.moved_bytes,
        passes=times,
    )


def _complete(own: list[Own]) -> None:
    """Rename the target, on rank 0."""
    own[0].complete()


def _carried_out(job: Job, ranks: Ranks, engine: str | None) -> tuple[tuple[PassTimes, ...], float]:
    """Execute all passes; return their times on this rank, and the seconds of the sync. Collective."""
    source: tuple[Description, ...] = (job.asked.source,)
    times = []
    watched = Progress(sum(one.target.nbytes for one in job.plan.passes) // ranks.size)
    sync_seconds = 0.0
    last = len(job.plan.passes) - 1
    try:
        with progress.watching(job.title, ranks.rank, watched):
            for number in range(last + 1):
                make = job.make_target if number == last else functools.partial(job.make_between, number)
                made = ranks.on_first(f"{job.title}: file of pass {number + 1}", make)
                one = _OnePass(job, ranks, number, engine)
                took, sync_seconds = one.run(source, made, watched)
                times.append(took)
                if number > 0 and ranks.rank == 0:
                    remove(source[0].path)
                source = made
    except Error as error:
        wire = to_wire(error)
        raise from_wire({**wire, "message": f"{job.title}: {wire['message']}"}) from error
    return tuple(times), sync_seconds


@dataclasses.dataclass(frozen=True)
class _OnePass:
    """One pass, on one rank."""

    job: Job
    ranks: Ranks
    number: int
    engine: str | None

    def run(
        self, source: Sequence[Description], target: Sequence[Description], watched: Progress
    ) -> tuple[PassTimes, float]:
        """Return the times of the panels on this rank, and the seconds of the sync at the end. Collective."""
        job, ranks = self.job, self.ranks
        plan = job.plan.passes[self.number]
        words = f"{job.title}: pass {self.number + 1}"
        with contextlib.ExitStack() as stack:

            def work() -> tuple[PassTimes, Callable[[], Any]]:
                into = self._opened(stack, target, "r+")
                panels = Panels(plan, self._opened(stack, source, "r"), into, watched)
                with panels:
                    panels.carry_out(self._own(plan.panels))
                return panels.times, into.sync

            times, sync_file = ranks.run_collectively(words, work)
            begin = time.perf_counter()
            is_last = self.number == len(job.plan.passes) - 1
            # Other nodes must see the content of a file between passes; it need not be on the medium for this node.
            syncs = ranks.is_first_of_node and (is_last or ranks.comm.node_count > 1)
            sync: Callable[[], Any] = sync_file if syncs else lambda: None
            ranks.run_collectively(f"{words}: synced", sync)
            return times, time.perf_counter() - begin

    def _own(self, panels: int) -> range:
        """Return the panels of this rank; if the format's library allocates what is written, rank 0 has all."""
        ranks = self.ranks
        if self.job.part.is_placed_by_library and self.number == len(self.job.plan.passes) - 1:
            return range(panels if ranks.rank == 0 else 0)
        return range(ranks.rank, panels, ranks.size)

    def _opened(self, stack: contextlib.ExitStack, descriptions: Sequence[Description], mode: str) -> Opened:
        plan = self.job.plan.passes[self.number]
        reads = mode == "r"
        side = plan.source if reads else plan.target
        is_users = self.number == 0 if reads else self.number == len(self.job.plan.passes) - 1
        # Dimension d of the planning is dimension `dimensions[d]` of the file.
        dimensions = self.job.plan.dimensions if is_users else tuple(map(side.order.index, range(len(side.shape))))
        file = OneFile(stack, descriptions[0], mode, self.engine)
        arrays = [file.array(description) for description in descriptions]
        return Opened(arrays, side, dimensions, plan.chunk_buffer_bytes(side))
