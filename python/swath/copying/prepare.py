"""Everything that is decided before a copy begins, or goes on: the plan, room on the disk, the files, the journal."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from swath import _core, formats
from swath.copying.costs import Costs
from swath.copying.journal import Journal, remove, working_path
from swath.copying.one_pass import Pass
from swath.copying.plan import CopyPlan, make_plan
from swath.copying.request import CopyRequest
from swath.copying.sides import Side
from swath.copying.store import Identity, available_bytes, check_room, remove_unfinished, reserve
from swath.copying.workers import Workers, best_plan, counts_to_weigh
from swath.errors import ArgumentError, Error, ExistsError, StoreError
from swath.formats import Description, TiledLayout
from swath.ranks.ranks import Ranks
from swath.store import profile
from swath.store.atomic_file import AtomicFile
from swath.store.beside import refuse_planted

DROP_PART = 2
"""Pages are dropped behind a copy whose two files are larger than the available memory divided by this."""


@dataclasses.dataclass(frozen=True)
class Job:
    """What rank 0 has prepared and every rank needs (it pickles)."""

    request: CopyRequest
    plan: CopyPlan
    workers: Workers
    identity: Identity
    atomic_file: AtomicFile
    files: tuple[Description, ...]  # the source, the scratch file if there is one, the target
    done: tuple[int, int]
    checkpoint_bytes: int
    drops: bool


def plan_copy(
    request: CopyRequest, ranks: Ranks, asked_workers: int | None, memory: int, *, cached: bool = False
) -> CopyPlan:
    """Return the plan by the profile of the store that will hold the target.

    Args:
        request: what is asked for.
        ranks: that may work.
        asked_workers: how many of a node shall; None for as many as pay.
        memory: of a node.
        cached: whether the source is in the page cache.

    Raises ArgumentError where the memory is too small.
    """
    costs = _costs(request, ranks, cached=cached)

    def plan_for(workers: int) -> CopyPlan:
        return make_plan(
            request.source_side,
            request.target_side,
            budget_bytes=memory // workers,
            costs=dataclasses.replace(costs, workers=workers),
            converts=request.converts,
        )

    return best_plan(counts_to_weigh(ranks, asked_workers), plan_for)


def _costs(request: CopyRequest, ranks: Ranks, *, cached: bool = False) -> Costs:
    """Return the costs of the store that will hold the target."""
    stored = profile.for_path(os.path.dirname(os.path.realpath(request.target_path)))
    core = _core.default_profile() if stored is None else stored.core
    costs = Costs.of({**core.to_dict(), "source": core.source}, available_bytes(), cached=cached)
    return dataclasses.replace(costs, nodes=ranks.comm.node_count)


@dataclasses.dataclass(frozen=True)
class CopyOptions:
    """How a copy is made, whatever it makes: see `swath.copy`. `memory` is the budget in bytes."""

    workers: int | None
    memory: int
    overwrite: bool
    resume: bool | None
    checkpoint_bytes: int


def prepare_job(request: CopyRequest, ranks: Ranks, options: CopyOptions, journal_kept: list[Journal]) -> Job:
    """Decide, on rank 0, everything that is decided once. The journal is locked, and put into `journal_kept`."""
    target = request.target_path
    working = working_path(target)
    atomic_file = AtomicFile(target, overwrite=options.overwrite, is_folder=request.is_folder, working_path=working)
    identity = Identity.of(request.source.path)
    journal = Journal.opened(target, anew=options.resume is False)
    try:
        atomic_file.check_name()  # by a copy that was complete just now
        for path in (working, working + ".scratch"):
            refuse_planted(path, os.path.realpath(target))
    except BaseException:
        journal.leave()
        raise
    try:
        going_on = _goes_on(journal, request, identity, working, options.resume)
        if going_on:
            assert journal.header is not None
            plan = _planned_before(journal.header, request, ranks, options.workers, options.memory)
            files = _files(request, plan, working)
        else:
            plan = plan_copy(request, ranks, options.workers, options.memory)
            journal.clear()
            remove(working)
            remove(working + ".scratch")
            # How little compressed chunks need shows only when they are written.
            needed = plan.scratch_bytes if request.is_compressed else plan.disk_bytes
            check_room(os.path.dirname(working), needed, request.title)
            files = _new_files(request, plan, working)
            journal.start({"asked": request.asked(), "source": identity.to_dict(), "passes": _kept(plan)})
    except BaseException:
        if journal.header is None or not os.path.exists(working):
            journal.remove(target)
        journal.close()
        raise
    journal_kept.append(journal)
    available = available_bytes()
    moved = request.source_side.nbytes + request.target_side.nbytes
    drops = available is not None and moved > available // DROP_PART
    workers = Workers.of(ranks, plan.workers_of_node)
    return Job(request, plan, workers, identity, atomic_file, files, journal.done, options.checkpoint_bytes, drops)


def _goes_on(journal: Journal, request: CopyRequest, identity: Identity, working: str, resume: bool | None) -> bool:
    """Return whether an interrupted copy is there that this one continues. Raises where it must not be touched."""
    target = request.target_path
    if journal.header is None or not os.path.exists(working) or resume is False:
        return False
    if journal.done == (0, 0):
        return False  # nothing of worth
    if resume is None:
        done, tiles = journal.done
        raise ExistsError(
            f"copy to {target}: a copy to it was interrupted (pass {done + 1}, {tiles} tiles are done): go on with "
            "resume=True (--resume), or throw that away with resume=False (--restart)",
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
            f"copy to {target}: {request.source.path} has changed since the copy was interrupted: what is done is of "
            "no use; begin anew with resume=False (--restart)"
        )
    return True


def _kept(plan: CopyPlan) -> list[dict[str, Any]]:
    """Return what the journal must remember: with it every tile is the same again."""
    return [
        {"tile": list(p.tile), "slab": list(p.slab), "chunk": None if p.target.chunk is None else list(p.target.chunk)}
        for p in plan.passes
    ]


def _planned_before(
    header: dict[str, Any], request: CopyRequest, ranks: Ranks, asked_workers: int | None, memory: int
) -> CopyPlan:
    """Return the plan by which an interrupted copy was made; ArgumentError where there is too little memory for it."""
    costs = _costs(request, ranks)
    itemsize = request.source.dtype.itemsize
    between = [Side.tiled(request.shape, itemsize, kept["chunk"]) for kept in header["passes"][:-1]]
    sides = [request.source_side, *between, request.target_side]

    def plan_for(workers: int) -> CopyPlan:
        passes = tuple(
            Pass(
                sides[n],
                sides[n + 1],
                tuple(kept["tile"]),
                tuple(kept["slab"]),
                request.converts and n + 2 == len(sides),
                dataclasses.replace(costs, workers=workers),
            )
            for n, kept in enumerate(header["passes"])
        )
        budget = memory // workers
        plan = CopyPlan(passes, budget, "as the interrupted copy was planned")
        if plan.memory_bytes > budget:
            raise ArgumentError(
                f"{request.title}: the interrupted copy was planned with more memory: each rank of a node that works "
                f"needs {plan.memory_bytes} bytes of it, and {budget} are allowed: give as much as then (memory=, "
                "--memory), or begin anew with resume=False (--restart)"
            )
        return plan

    return best_plan(counts_to_weigh(ranks, asked_workers), plan_for)


def _new_files(request: CopyRequest, plan: CopyPlan, working: str) -> tuple[Description, ...]:
    """Makes target and scratch file, with room on the disk for every byte."""
    try:
        described = request.create(working)
        described = formats.allocate(described)
        reserve(working)
        if plan.scratch_bytes:
            descriptor = os.open(working + ".scratch", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with open(descriptor, "wb") as file:
                file.truncate(plan.scratch_bytes)
            reserve(working + ".scratch")
    except BaseException as error:
        remove(working)
        remove(working + ".scratch")
        if isinstance(error, OSError) and not isinstance(error, Error):
            raise StoreError(f"{request.title}: {error.strerror}", error.errno) from None
        raise
    scratch = [_scratch(request, plan, working)] if plan.scratch_bytes else []
    return (request.source, *scratch, described)


def _files(request: CopyRequest, plan: CopyPlan, working: str) -> tuple[Description, ...]:
    """Return those that an interrupted copy has made."""
    if request.is_folder:
        remove_unfinished(working)
    scratch = [_scratch(request, plan, working)] if plan.scratch_bytes else []
    return (request.source, *scratch, request.describe(working))


def _scratch(request: CopyRequest, plan: CopyPlan, working: str) -> Description:
    side, dtype = plan.passes[0].target, request.source.dtype
    assert side.chunk is not None
    layout = TiledLayout(0, side.chunk)
    return Description(working + ".scratch", "raw", None, side.shape, dtype, layout, bytes(dtype.itemsize))
