"""All decisions before a copy begins or continues: the plan, space on the disk, the files, the journal."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import Any

from swath import _core, formats
from swath.base import stored_path
from swath.base.memory_budget import available_bytes
from swath.copying.adding import add
from swath.copying.coding import CodingCosts
from swath.copying.copy_layout import Side
from swath.copying.costs import Costs
from swath.copying.journal import BEGIN, Journal, Position, remove, remove_working, working_path
from swath.copying.one_pass import Pass
from swath.copying.plan import CopyPlan, FilePlan, make_plan, plan_at_once
from swath.copying.request import CopyRequest, Part
from swath.copying.store import Identity, check_room, remove_unfinished, reserve, sync
from swath.copying.texts import write_texts
from swath.copying.workers import Workers, best_plan, counts_to_weigh
from swath.errors import ArgumentError, Error, ExistsError, StoreError, UnsupportedError
from swath.formats import Description, TiledLayout
from swath.ranks.ranks import Ranks
from swath.store import profile
from swath.store.atomic_file import AtomicFile

DROP_PART = 2
"""Pages are dropped after use if the two files of a copy are larger than the available memory divided by this."""


@dataclasses.dataclass(frozen=True)
class PlannedPart:
    """One array, its plan, and the ranks that execute it."""

    part: Part
    plan: CopyPlan
    workers: Workers


@dataclasses.dataclass(frozen=True)
class Job:
    """What rank 0 has prepared and every rank needs. It can be pickled."""

    request: CopyRequest
    parts: tuple[PlannedPart, ...]  # in the order in which they are copied
    identity: Identity
    atomic_file: AtomicFile
    done: Position
    checkpoint_bytes: int
    drops: bool

    @property
    def plan(self) -> CopyPlan | FilePlan:
        """The plan of all parts."""
        return plan_of(self.request, self.parts)

    def locate_small(self, numbers: range) -> list[tuple[Description, Description]]:
        """Return source and target of parts that are moved at once. On rank 0."""
        parts = [self.parts[number].part for number in numbers]
        if self.request.whole is None:
            return [(part.source, part.describe(self.atomic_file.working_path)) for part in parts]
        sources = formats.describe_many(
            self.request.source_path, self.request.source_format, [part.source.variable or "" for part in parts]
        )
        targets = formats.describe_many(
            self.atomic_file.working_path, self.request.format, [part.new.name for part in parts]
        )
        return [(source, part.checked(target)) for source, target, part in zip(sources, targets, parts, strict=True)]

    def locate(self, number: int, *, is_begun: bool) -> tuple[Description, ...]:
        """Return source, scratch file if there is one, and target of a part. On rank 0, before the part begins.

        The scratch file is made if nothing of the part is done yet.
        """
        part, plan = self.parts[number].part, self.parts[number].plan
        working = self.atomic_file.working_path
        source = part.source if self.request.whole is None else formats.describe_again(part.source)
        if not plan.scratch_bytes:
            return source, part.describe(working)
        scratch = stored_path.of(working).suffixed(".scratch")
        if not is_begun:
            _make_scratch(scratch, plan.scratch_bytes)
        side, dtype = plan.passes[0].target, part.source.dtype
        assert side.chunk is not None
        layout = TiledLayout(0, side.chunk)
        between = Description(scratch, "raw", None, side.shape, dtype, layout, bytes(dtype.itemsize))
        return source, between, part.describe(working)


def _make_scratch(path: str, size: int) -> None:
    if not stored_path.of(path).has_hidden_files:
        _core.open_file(path, "x").resize(size)  # goes with the file that is written
        return
    remove(path)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "wb") as file:
        file.truncate(size)
    reserve(path)


def plan_of(request: CopyRequest, parts: Sequence[PlannedPart]) -> CopyPlan | FilePlan:
    """Return the plan of all parts together."""
    if request.whole is None:
        return parts[0].plan
    return FilePlan(tuple((one.part.source.variable or "", one.plan) for one in parts))


def plan_parts(
    request: CopyRequest, ranks: Ranks, asked_workers: int | None, memory: int, *, cached: bool = False
) -> tuple[PlannedPart, ...]:
    """Return the parts in the order of their execution, small ones first; the profile is that of the target's store.

    Args:
        request: the request.
        ranks: the ranks that may work.
        asked_workers: the number of working ranks of a node; None for the fastest number.
        memory: the memory of a node.
        cached: whether the source is in the page cache.

    Raises ArgumentError if the memory is too small.
    """
    of_part = _costs(request, ranks, cached=cached)
    counts = counts_to_weigh(ranks, asked_workers)

    def planned(part: Part) -> PlannedPart:
        costs = of_part(part)

        def plan_for(workers: int) -> CopyPlan:
            sides = part.source_side, part.target_side
            how: dict[str, Any] = {"budget_bytes": memory // workers, "converts": part.converts}
            how["costs"] = _costs_of_part(part, costs, workers)
            at_once = None if request.whole is None else plan_at_once(*sides, **how)
            return at_once or make_plan(*sides, **how)

        try:
            return _planned_by(part, ranks, best_plan(_counts_for(part, counts), plan_for))
        except ArgumentError as error:
            raise ArgumentError(f"{part.title}: {error}") from None

    return tuple(sorted(map(planned, request.parts), key=lambda one: not one.plan.is_at_once))


def _counts_for(part: Part, counts: tuple[int, ...]) -> tuple[int, ...]:
    return (1,) if part.is_placed_by_library else counts


def _costs_of_part(part: Part, costs: Costs, workers: int) -> Costs:
    return dataclasses.replace(costs, workers=workers, nodes=1 if part.is_placed_by_library else costs.nodes)


def _planned_by(part: Part, ranks: Ranks, plan: CopyPlan) -> PlannedPart:
    alone = part.is_placed_by_library
    return PlannedPart(part, plan, Workers((0,), 1) if alone else Workers.of(ranks, plan.workers_of_node))


def _costs(request: CopyRequest, ranks: Ranks, *, cached: bool = False) -> Callable[[Part], Costs]:
    """Return a function that gives the costs of copying a part to the target's store."""
    target = request.target_path
    stored = profile.for_path(os.path.dirname(os.path.realpath(target)) if stored_path.of(target).is_local else target)
    core = _core.default_profile() if stored is None else stored.core
    costs = Costs.of({**core.to_dict(), "source": core.source}, available_bytes(), cached=cached)
    return CodingCosts(dataclasses.replace(costs, nodes=ranks.comm.node_count), core).of


@dataclasses.dataclass(frozen=True)
class CopyOptions:
    """Options of any copy: see `swath.copy`. `memory` is the budget in bytes."""

    workers: int | None
    memory: int
    overwrite: bool
    resume: bool | None
    checkpoint_bytes: int


def prepare_job(request: CopyRequest, ranks: Ranks, options: CopyOptions, journal_kept: list[Journal]) -> Job:
    """Make, on rank 0, all decisions that are made once. The journal is locked, and appended to `journal_kept`."""
    target = request.target_path
    if not stored_path.of(target).has_hidden_files:
        return _prepared_without_journal(request, ranks, options)
    working = working_path(target)
    atomic_file = _named_file(request, options)
    identity = Identity.of(request.source_path)
    journal = Journal.opened(target, anew=options.resume is False)
    try:
        _check_names(request, atomic_file)  # another copy may have completed just now
    except BaseException:
        journal.leave()
        raise
    try:
        going_on = _goes_on(journal, request, identity, working, options.resume)
        if going_on:
            assert journal.header is not None
            parts = _planned_before(journal.header, request, ranks, options)
            if request.is_folder:
                remove_unfinished(working)
        else:
            parts = plan_parts(request, ranks, options.workers, options.memory)
            journal.clear()
            remove_working(working)
            check_room(os.path.dirname(working), _room_needed(request, parts), request.title)
            _make_target(request, working)
            journal.start({"asked": request.asked(), "source": identity.to_dict(), "parts": _kept(parts)})
    except BaseException:
        if journal.header is None or not os.path.exists(working):
            journal.remove(target)
        journal.close()
        raise
    journal_kept.append(journal)
    return Job(request, parts, identity, atomic_file, journal.done, options.checkpoint_bytes, _drops(request))


def _prepared_without_journal(request: CopyRequest, ranks: Ranks, options: CopyOptions) -> Job:
    """Do the same for a target in a pool: no state is kept from which another copy could continue."""
    target = request.target_path
    if options.resume:
        raise UnsupportedError(f"copy to {target}: a copy into a pool is not resumed: leave out resume=True (--resume)")
    atomic_file = AtomicFile(target, overwrite=options.overwrite, is_folder=request.is_folder)
    identity = Identity.of(request.source_path)
    parts = plan_parts(request, ranks, options.workers, options.memory)
    with atomic_file.removed_on_error():
        _create(request, atomic_file.working_path)
    return Job(request, parts, identity, atomic_file, BEGIN, options.checkpoint_bytes, _drops(request))


def _drops(request: CopyRequest) -> bool:
    available = available_bytes()
    moved = sum(part.source_side.nbytes + part.target_side.nbytes for part in request.parts)
    return available is not None and moved > available // DROP_PART


def _room_needed(request: CopyRequest, parts: Sequence[PlannedPart]) -> int:
    """Return the bytes that must be free. The size of compressed chunks is known only when they are written."""
    targets = sum(one.plan.disk_bytes - one.plan.scratch_bytes for one in parts if not one.part.is_compressed)
    base = 0 if request.base is None else request.base.identity.size
    return base + targets + max((one.plan.scratch_bytes for one in parts), default=0)


def _named_file(request: CopyRequest, options: CopyOptions) -> AtomicFile:
    """Return the unfinished file with its final name, which may be that of the file that it adds to."""
    overwrite = options.overwrite or request.base is not None
    working = working_path(request.target_path)
    return AtomicFile(request.target_path, overwrite=overwrite, is_folder=request.is_folder, working_path=working)


def _check_names(request: CopyRequest, atomic_file: AtomicFile) -> None:
    """Raise an error if another program uses the target's name, or one next to it that the copy needs."""
    atomic_file.check_name()
    working = working_path(request.target_path)
    for path in (working, working + ".scratch"):
        _core.refuse_planted(path, os.path.realpath(request.target_path))


def check_can_begin(request: CopyRequest, parts: Sequence[PlannedPart], options: CopyOptions) -> None:
    """Raise the errors of `prepare_job` for the target's names, the space, and an interrupted copy; change nothing."""
    target = request.target_path
    if not stored_path.of(target).has_hidden_files:
        AtomicFile(target, overwrite=options.overwrite, is_folder=request.is_folder).remove()
        return
    atomic_file = _named_file(request, options)
    _check_names(request, atomic_file)
    working = working_path(target)
    if os.path.exists(working + ".journal"):
        journal = Journal.opened(target, anew=options.resume is False)
        try:
            if _goes_on(journal, request, Identity.of(request.source_path), working, options.resume):
                return  # its space is reserved already
        finally:
            journal.leave()
    check_room(os.path.dirname(working), _room_needed(request, parts), request.title)


def _goes_on(journal: Journal, request: CopyRequest, identity: Identity, working: str, resume: bool | None) -> bool:
    """Return whether this copy continues an interrupted one. Raises if the interrupted one must not be touched."""
    target = request.target_path
    if journal.header is None or not os.path.exists(working) or resume is False:
        return False
    if journal.done == BEGIN:
        return False  # it has no data
    if resume is None:
        part, number, tiles = journal.done
        kept = journal.header["parts"]
        where = f"{kept[part]['variable']}, variable {part + 1} of {len(kept)}, " if len(kept) > 1 else ""
        raise ExistsError(
            f"copy to {target}: a copy to it was interrupted ({where}pass {number + 1}, {tiles} tiles are done): go on "
            "with resume=True (--resume), or throw that away with resume=False (--restart)",
            17,
        )
    asked, before = request.asked(), journal.header["asked"]
    differing = [f"{key} was {before.get(key)}, is {asked[key]}" for key in asked if asked[key] != before.get(key)]
    if differing:
        raise ArgumentError(
            f"copy to {target}: the interrupted copy was another one: {'; '.join(differing)}; ask for the same, or "
            "begin anew with resume=False (--restart)"
        )
    if identity.to_dict() != journal.header["source"]:
        raise StoreError(
            f"copy to {target}: {request.source_path} has changed since the copy was interrupted: what is done is of "
            "no use; begin anew with resume=False (--restart)"
        )
    return True


def _kept(parts: Sequence[PlannedPart]) -> list[dict[str, Any]]:
    """Return what the journal must remember so that every tile is the same again."""
    return [
        {
            "variable": one.part.source.variable,
            "passes": [
                {
                    "tile": list(p.tile),
                    "slab": list(p.slab),
                    "chunk": None if p.target.chunk is None else list(p.target.chunk),
                }
                for p in one.plan.passes
            ],
        }
        for one in parts
    ]


def _planned_before(
    header: dict[str, Any], request: CopyRequest, ranks: Ranks, options: CopyOptions
) -> tuple[PlannedPart, ...]:
    """Return the parts as the interrupted copy planned them; ArgumentError if there is too little memory."""
    of_part = _costs(request, ranks)
    counts = counts_to_weigh(ranks, options.workers)
    parts = {part.source.variable: part for part in request.parts}

    def planned(kept: dict[str, Any]) -> PlannedPart:
        part = parts[kept["variable"]]
        costs = of_part(part)

        def plan_for(workers: int) -> CopyPlan:
            passes = _passes_before(kept["passes"], part, _costs_of_part(part, costs, workers))
            plan = CopyPlan(passes, options.memory // workers, "as the interrupted copy was planned")
            if plan.memory_bytes > plan.budget_bytes:
                raise ArgumentError(
                    f"{request.title}: the interrupted copy was planned with more memory: each rank of a node that "
                    f"works needs {plan.memory_bytes} bytes of it, and {plan.budget_bytes} are allowed: give as much "
                    "as then (memory=, --memory), or begin anew with resume=False (--restart)"
                )
            return plan

        return _planned_by(part, ranks, best_plan(_counts_for(part, counts), plan_for))

    return tuple(map(planned, header["parts"]))


def _passes_before(kept: Sequence[dict[str, Any]], part: Part, costs: Costs) -> tuple[Pass, ...]:
    between = [Side.tiled(part.shape, part.source.dtype.itemsize, one["chunk"]) for one in kept[:-1]]
    sides = [part.source_side, *between, part.target_side]
    return tuple(
        Pass(
            sides[n],
            sides[n + 1],
            tuple(one["tile"]),
            tuple(one["slab"]),
            part.converts and n + 2 == len(sides),
            costs,
        )
        for n, one in enumerate(kept)
    )


def _create(request: CopyRequest, path: str) -> None:
    """Make the target with all that is written before the parts: what a library copies, and texts."""
    if request.base is None:
        request.create(path)
    else:
        add(request.base, path, request)
    for one in request.texts:
        write_texts(one, path)


def _make_target(request: CopyRequest, working: str) -> None:
    """Make the target, and reserve space for every byte that is not compressed."""
    try:
        _create(request, working)
        reserve(working)
        if not request.parts:
            sync(working)  # otherwise the last part syncs
    except BaseException as error:
        remove_working(working)
        if isinstance(error, OSError) and not isinstance(error, Error):
            raise StoreError(f"{request.title}: {error.strerror}", error.errno) from None
        raise
