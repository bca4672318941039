"""The decisions of a transform, made once on rank 0: the plan, the files next to the target, and their lock.

Next to the target `b.npy`, in the same folder, during a transform:

    .b.npy.swath-fft             the target, until it is complete
    .b.npy.swath-fft.between0    the file after the first pass, and so on
    .b.npy.swath-fft.lock        the process that makes and removes the others locks it (flock)

Left after a kill: all three; the next transform to the same target removes them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
from typing import Any

from swath import _core
from swath.base.memory_budget import available_bytes, memory_bytes
from swath.copying.coding import codecs_of_source, codecs_of_target, with_coding_of_profile
from swath.copying.copy_layout import Side
from swath.copying.costs import Costs
from swath.copying.journal import remove
from swath.copying.request import CopyRequest, Part, TargetOptions, make_request
from swath.copying.store import Identity, check_room, reserve
from swath.copying.workers import cores_of_node
from swath.errors import ArgumentError, ExistsError, StoreError
from swath.fft.choice import TILES, Planned
from swath.fft.plan import FftPlan, make_plan, overhead_bytes
from swath.fft.tiles import Tiles
from swath.fft.transform import Extents, Transform, make_transform
from swath.formats import Description, StridedLayout, TiledLayout
from swath.formats.changes import journal_path
from swath.formats.description import strides_of
from swath.ranks.compared import effective_engine
from swath.ranks.ranks import Ranks
from swath.store import profile
from swath.store.atomic_file import AtomicFile

FAST = "fast"
"""Instead of an order: C or F order, the one that the last pass writes in longer runs."""


@dataclasses.dataclass(frozen=True)
class Asked:
    """The arguments of a transform, not checked: see `swath.fftn`."""

    name: str
    source: Description
    target: Any
    s: Any
    axes: Any
    norm: Any


@dataclasses.dataclass(frozen=True)
class Options:
    """The options of a transform: see `swath.fftn`. `between` is for measurements: see `Planned`."""

    memory: int | str | None = None
    order: Any = "C"
    chunks: Any = None
    shards: Any = None
    codecs: Any = None
    format: str | None = None
    target_variable: str | None = None
    overwrite: bool = False
    threads: int | None = None
    engine: str | None = None
    between: str = TILES


@dataclasses.dataclass(frozen=True)
class Job:
    """What rank 0 has prepared and every rank needs. It can be pickled.

    Attributes:
        asked: the transform.
        request: the target.
        plan: the passes.
    """

    asked: Asked
    request: CopyRequest
    plan: FftPlan

    @property
    def title(self) -> str:
        """Source, transform and target, for people."""
        return f"{self.asked.name} of {self.asked.source.name} to {self.request.target_path}"

    @property
    def part(self) -> Part:
        """The target's array."""
        return self.request.parts[0]

    @property
    def base(self) -> str:
        """The path of the target until it is complete."""
        return working_path(self.request.target_path)

    def between(self, number: int) -> tuple[Description, ...]:
        """Return the arrays of the file after a pass that is not the last: one, or one for each region of tiles.

        Their dimensions are those of the planning in the order of the file, slowest first.
        """
        one = self.plan.passes[number]
        side, path = one.target, f"{self.base}.between{number}"
        dtype = one.transform.dtype_after(one.done_after)

        def described(shape: Extents, layout: TiledLayout | StridedLayout) -> Description:
            return Description(path, "raw", None, shape, dtype, layout, bytes(dtype.itemsize))

        def turned(extents: Extents) -> Extents:
            return tuple(extents[d] for d in side.order)

        if isinstance(side, Tiles):
            return tuple(described(turned(r.shape), TiledLayout(r.offset, turned(r.tile))) for r in side.regions)
        return (
            described(
                turned(side.shape),
                StridedLayout(0, strides_of(turned(side.shape), side.itemsize, range(len(side.shape)))),
            ),
        )

    def make_between(self, number: int) -> tuple[Description, ...]:
        """Make the file after a pass, with reserved space on the disk. On rank 0."""
        made = self.between(number)
        path = made[0].path
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            file.truncate(self.plan.passes[number].target.stored_bytes)
        reserve(path)
        return made

    def make_target(self) -> tuple[Description, ...]:
        """Make the target under its temporary name, with reserved space on the disk. On rank 0."""
        self.request.create(self.base)
        reserve(self.base)
        return (self.part.describe(self.base),)


def working_path(target: str) -> str:
    """Return the path of the target until it is complete: a hidden name in its folder, always the same."""
    folder, name = os.path.split(os.path.realpath(target))
    return os.path.join(folder, f".{name}.swath-fft")


def plan_job(asked: Asked, options: Options, ranks: Ranks) -> Job:
    """Check the arguments, and plan. Raises ArgumentError, UnsupportedError."""
    source = asked.source
    transform = make_transform(asked.name, source.shape, source.dtype, asked.s, asked.axes, asked.norm)
    if options.order != FAST:
        return _job_in_order(asked, options, transform, ranks)
    jobs = [_job_in_order(asked, dataclasses.replace(options, order="C"), transform, ranks)]
    # some formats cannot store F order, and small memory cannot hold every chunk
    with contextlib.suppress(ArgumentError):
        jobs.append(_job_in_order(asked, dataclasses.replace(options, order="F"), transform, ranks))
    return min(jobs, key=lambda job: job.plan.seconds)


def _job_in_order(asked: Asked, options: Options, transform: Transform, ranks: Ranks) -> Job:
    source = asked.source
    done = frozenset(transform.axes)
    shape, dtype = transform.shape_after(done), transform.dtype_after(done)
    layout = StridedLayout(0, strides_of(shape, dtype.itemsize, range(len(shape))))
    result = dataclasses.replace(
        source,
        shape=shape,
        dtype=dtype,
        layout=layout,
        fill=bytes(dtype.itemsize),
        dimensions=(),
        attributes={},
        unlimited=(),
    )
    target = TargetOptions(
        order=options.order,
        chunks=options.chunks,
        shards=options.shards,
        codecs=options.codecs,
        format=options.format,
        target_variable=options.target_variable,
    )
    request = make_request(result, asked.target, target)
    part = request.parts[0]
    dimensions = part.order or tuple(range(len(shape)))
    budget = _budget(options, ranks)
    costs = _costs(part, source, options.engine)
    what = Planned(
        transform.permuted(dimensions),
        _cropped(Side.of(source), transform).permuted(dimensions),
        part.target_side.permuted(dimensions),
        budget - overhead_bytes(budget),
        costs,
        options.threads or max(cores_of_node() // ranks.most_on_a_node, 1),
        ranks.size,
        options.between,
    )
    return Job(asked, request, FftPlan(make_plan(what), dimensions, budget, costs))


def _cropped(side: Side, transform: Transform) -> Side:
    """Return the source without the part that the transform cuts off."""
    return dataclasses.replace(side, shape=transform.shape_after(frozenset()))


def _budget(options: Options, ranks: Ranks) -> int:
    budget = memory_bytes(options.memory)
    return budget if options.memory is not None else budget // ranks.most_on_a_node


def _costs(part: Part, source: Description, engine: str | None) -> Costs:
    """Return the costs of the target's store; a modelled disk has its own, without a page cache."""
    chosen = effective_engine(engine)
    stored = profile.for_path(os.path.dirname(os.path.realpath(part.target_path)), chosen)
    core = _core.default_profile() if stored is None else stored.core
    costs = Costs.of({**core.to_dict(), "source": core.source}, available_bytes())
    costs = with_coding_of_profile(costs, core, codecs_of_source(source), codecs_of_target(part))
    return dataclasses.replace(costs, merge_bytes=0) if chosen.startswith(profile.MODELLED) else costs


class Own:
    """The files next to a target, on rank 0: locked for one transform, and removed with it.

    Raises ExistsError if the target exists and may not be replaced, or if another transform to it is running.
    """

    def __init__(self, job: Job, *, overwrite: bool) -> None:
        self._job = job
        self._lock_path = job.base + ".lock"
        target = job.request.target_path
        self.atomic_file = AtomicFile(
            target, overwrite=overwrite, is_folder=job.request.is_folder, working_path=job.base
        )
        self.identity = Identity.of(job.asked.source.path)
        try:
            self._lock = _core.OwnFile(self._lock_path)
        except BlockingIOError as error:
            raise ExistsError(
                f"{job.title}: another transform to it is under way: {error.strerror} holds {self._lock_path}; wait "
                "for it, or choose another target",
                errno.EEXIST,
            ) from None
        try:
            self.atomic_file.check_name()
            for path in self._paths():
                _core.refuse_planted(path, os.path.realpath(target))
                remove(path)
            check_room(os.path.dirname(job.base), job.plan.disk_bytes, job.title)
        except BaseException:
            self.close()
            raise

    def complete(self) -> None:
        """Rename the target. Raises StoreError if the source has changed."""
        path = self._job.asked.source.path
        if Identity.of(path) != self.identity:
            raise StoreError(
                f"{self._job.title}: {path} has changed while it was read: nothing was put in place; do it again when "
                "it is at rest"
            )
        if not self._lock.has_name():
            raise StoreError(f"{self._lock_path} was removed while the transform was under way: do it again")
        self.atomic_file.complete()

    def close(self) -> None:
        """Remove the files, and unlock. Nothing is removed if the lock file has lost its name."""
        if self._lock.has_name():
            for path in self._paths():
                remove(path)
            remove(self._lock_path)
        self._lock.close()

    def _paths(self) -> list[str]:
        """Return all names that a transform to this target may use, also with another plan."""
        base = self._job.base
        folder, name = os.path.split(base)
        between = [os.path.join(folder, n) for n in os.listdir(folder) if n.startswith(f"{name}.between")]
        return [base, journal_path(base), *between]
