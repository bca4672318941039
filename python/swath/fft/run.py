"""`swath.fftn` and its like: transforms of arrays in files, collectively, in bounded memory."""

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
    """What a transform did.

    Attributes:
        plan: by which it was done.
        seconds: all of it.
        sync_seconds: of them, waiting at the end for what was written to be on the medium.
        bytes: of the target's elements.
        moved_bytes: that all ranks read and wrote in all passes.
        passes: what each pass took on this rank.
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

    The values are those of `scipy.fft.fftn` to rounding: of float32 and complex64 they are complex64, of float64 and
    integers complex128. Both files may be larger than memory. Each pass over the array reads *panels* that are whole
    along one axis, or several, transforms and writes them; between two passes the array lies in a file of tiles beside
    the target, which is removed. The file gets its name when it is complete.

    Args:
        source: a path, or an array opened by `swath.open` (for raw files, which do not describe themselves).
        target: the file, or the folder of a Zarr store, to make; its suffix says the format where `format` does not.
        s: the length of the transform along each of the axes: what is longer is cut off, what is shorter gets zeros,
            -1 leaves it. By default the lengths that the axes have.
        axes: which are transformed, by default all; with `s` the last ones. () transforms nothing.
        norm: "backward" (the default), "ortho" or "forward", as in scipy.fft.
        variable: the source's name in its file.
        memory: the budget of each rank, in bytes or as "256MiB": at most so much memory that is not page cache beside
            what the interpreter has anyway. By default a quarter of the available memory, at most 1 GiB, of which each
            rank of a node has its part. A line along each axis must fit in it some times.
        comm: an mpi4py communicator, whose ranks share the panels.
        how: of the target `order` ("C", the default; "F", or the dimensions from slowest to fastest, where the format
            can store it; "fast": C or F, whichever is written in longer runs), `chunks`, `shards`, `codecs`, `format`,
            `target_variable` and `overwrite`, as `swath.copy` has them; `threads` of the transform, by default the
            node's cores by its ranks; `engine`, see `swath.open`.

    Raises:
        ArgumentError: axes, lengths or a norm that cannot be; a budget in which a line does not fit, with the memory
            that is needed.
        UnsupportedError: scipy is not installed.
        ExistsError: the target exists and `overwrite` is not given; another transform to it is under way.
        StoreError: the disk is too small, the system refuses, or the source has changed under way. There is no half
            result under the target's name; an old file there is as it was.
    """
    given = {"s": s, "axes": axes, "norm": norm, "variable": variable, "memory": memory, **how}
    return _transform("fftn", source, target, given, comm)


@in_turn
def ifftn(source: Any, target: Any, s: Any = None, axes: Any = None, *, comm: Any = None, **how: Any) -> Transformed:
    """Write the inverse transform: as `fftn`, whose other arguments it takes, with the values of `scipy.fft.ifftn`."""
    return _transform("ifftn", source, target, {"s": s, "axes": axes, **how}, comm)


@in_turn
def rfftn(source: Any, target: Any, s: Any = None, axes: Any = None, *, comm: Any = None, **how: Any) -> Transformed:
    """Write the transform of real numbers: as `fftn`, with the values of `scipy.fft.rfftn`.

    Of the last of the axes, of n elements, n // 2 + 1 are kept: the others are their conjugates.
    """
    return _transform("rfftn", source, target, {"s": s, "axes": axes, **how}, comm)


@in_turn
def irfftn(source: Any, target: Any, s: Any = None, axes: Any = None, *, comm: Any = None, **how: Any) -> Transformed:
    """Write the inverse of `rfftn`, which is real: as `fftn`, with the values of `scipy.fft.irfftn`.

    Of the last of the axes, of m elements, 2 (m - 1) are made; `s` says where it was an odd number.
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
    """Say what a transform would do: passes, panels, bytes, memory, seconds, disk space. Nothing is written.

    Args:
        source: see `fftn`.
        target: see `fftn`.
        transform: "fftn", "ifftn", "rfftn", "irfftn", or one of their like for two axes, such as "fft2".
        comm: see `fftn`.
        how: all other arguments, as of `fftn`.

    Raises:
        ArgumentError, NotFoundError, FormatError, UnsupportedError: as the transform does before it begins.
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
    """Return what is asked for, not checked. Raises ArgumentError for an argument that there is not."""
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
    """Give the target its name, on rank 0."""
    own[0].complete()


def _carried_out(job: Job, ranks: Ranks, engine: str | None) -> tuple[tuple[PassTimes, ...], float]:
    """Collective. All passes; return what each took on this rank, and the seconds of the sync."""
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
        """Collective. Return what the panels took on this rank, and the seconds of the sync at the end."""
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
            # Other nodes must see what a file between holds; on this one it need never be on the medium.
            syncs = ranks.is_first_of_node and (is_last or ranks.comm.node_count > 1)
            sync: Callable[[], Any] = sync_file if syncs else lambda: None
            ranks.run_collectively(f"{words}: synced", sync)
            return times, time.perf_counter() - begin

    def _own(self, panels: int) -> range:
        """Return the panels of this rank; where the format's library places what is written, rank 0 has all."""
        ranks = self.ranks
        if self.job.part.is_placed_by_library and self.number == len(self.job.plan.passes) - 1:
            return range(panels if ranks.rank == 0 else 0)
        return range(ranks.rank, panels, ranks.size)

    def _opened(self, stack: contextlib.ExitStack, descriptions: Sequence[Description], mode: str) -> Opened:
        plan = self.job.plan.passes[self.number]
        reads = mode == "r"
        side = plan.source if reads else plan.target
        is_users = self.number == 0 if reads else self.number == len(self.job.plan.passes) - 1
        # Of the planning's dimension d, dimension `dimensions[d]` of the file.
        dimensions = self.job.plan.dimensions if is_users else tuple(map(side.order.index, range(len(side.shape))))
        file = OneFile(stack, descriptions[0], mode, self.engine)
        arrays = [file.array(description) for description in descriptions]
        return Opened(arrays, side, dimensions, plan.chunk_buffer_bytes(side))
