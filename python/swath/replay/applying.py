"""Applies a change to a run: the actions become those of the changed program. Pure."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import singledispatch

from swath import _core
from swath.errors import ArgumentError
from swath.replay import changes as kinds
from swath.replay.actions import UNKNOWN, Action, Run
from swath.replay.caching import cached
from swath.replay.changes import Change
from swath.replay.collecting import collected, shared_out
from swath.replay.sieving import sieved
from swath.replay.traced import final_paths

Actions = tuple[Action, ...]


def apply(run: Run, change: Change) -> Run:
    """Return the run with a change.

    Raises:
        ArgumentError: the change cannot be applied to this run, or changes nothing; the message says why.
    """
    if change.file and not any(_is_named(change.file, one.name) for one in run.files):
        raise _refused(change, f"the run uses no file {change.file!r}: it uses {', '.join(f.name for f in run.files)}")
    if change.phase is not None and not 0 <= change.phase < len(run.phases):
        raise _refused(change, f"the run has {len(run.phases)} phases, numbered from 0")
    made = _applied(change, run)
    return replace(made, changes=(*run.changes, change.words))


def concerns(run: Run, change: Change) -> Callable[[Action], bool]:
    """Return the function that says whether a change concerns an action, by its file and phase."""
    files = {number for number, one in enumerate(run.files) if not change.file or _is_named(change.file, one.name)}
    return lambda one: one.file in files and change.phase in (None, one.phase)


def _is_named(name: str, path: str) -> bool:
    """Return whether a name is that of a file: its path, the last part of it, or the identity of an array in it."""
    return name in (path, os.path.basename(path)) or final_paths((name, path))[name] == path


def _refused(change: Change, why: str) -> ArgumentError:
    return ArgumentError(f"replay: the change {change.words} cannot be applied: {why}")


@singledispatch
def _applied(change: Change, run: Run) -> Run:
    raise _refused(change, "a replay has no such change")


def _each_rank(run: Run, change: Change, work: Callable[[Actions], Actions], nothing: str) -> Run:
    """Change the actions of each rank by `work`. Raise ArgumentError, which says `nothing`, if none changes."""
    actions = tuple(work(of_rank) for of_rank in run.actions)
    if actions == run.actions:
        raise _refused(change, nothing)
    return replace(run, actions=actions)


# ---- file calls ------------------------------------------------------------------------------------------------------


@_applied.register
def _(change: kinds.Merge, run: Run) -> Run:
    concerned = concerns(run, change)
    moved = {name: {one.file for one in run.every_action() if one.moves == name} for name in ("read", "write")}
    shared = moved["read"] & moved["write"]  # what one rank writes there, another may read behind a barrier

    def merged(of_rank: Actions) -> Actions:
        found: list[Action] = []
        last: dict[tuple[str, int], int] = {}  # the index in `found` of each file's last read or write
        for one in of_rank:
            index = last.get((one.layer, one.file))
            if one.name == "seek" and index is not None and found[index].offset + found[index].length == one.offset:
                found.append(replace(one, name=""))  # the file is there already
                continue
            before = None if index is None else found[index]
            if before is not None and concerned(one) and _follows(before, one, change.bytes):
                found[last[one.layer, one.file]] = replace(
                    before, length=before.length + one.length, seconds=before.seconds + one.seconds
                )
                found.append(replace(one, name=""))
                continue
            if one.name == "barrier":
                last = {key: index for key, index in last.items() if key[1] not in shared}
            elif one.name in ("read", "write"):
                last[one.layer, one.file] = len(found)
            else:
                last.pop((one.layer, one.file), None)
            found.append(one)
        return _without_empty(found)

    return _each_rank(run, change, merged, "no calls follow each other in a file, shorter than this together")


def _follows(before: Action, one: Action, most: int) -> bool:
    is_behind = one.offset == UNKNOWN == before.offset or one.offset == before.offset + before.length
    return (
        one.name == before.name and one.name in ("read", "write") and is_behind and before.length + one.length <= most
    )


def _without_empty(actions: Sequence[Action]) -> Actions:
    """Leave out actions without a name: the time before them goes to the next action."""
    found: list[Action] = []
    gap = 0.0
    for one in actions:
        if one.name:
            found.append(replace(one, gap=one.gap + gap) if gap else one)
            gap = 0.0
        else:
            gap += one.gap
    if gap:
        found.append(Action("wait", phase=actions[-1].phase, gap=gap))
    return tuple(found)


@_applied.register
def _(change: kinds.Sieve, run: Run) -> Run:
    concerned = concerns(run, change)
    written = {one.file for one in run.every_action() if one.moves == "write"}
    nothing = "no rank reads several separate regions of a file by file calls, with no other call on it between"
    return _each_rank(run, change, lambda of: _without_empty(sieved(of, concerned, written)), nothing)


@_applied.register
def _(change: kinds.Cache, run: Run) -> Run:
    found = cached(run, concerns(run, change), change.bytes)
    if found.actions == run.actions:
        raise _refused(change, "no rank reads bytes of a file again, by file calls, that fit in its memory")
    return replace(found, actions=tuple(map(_without_empty, found.actions)))


@_applied.register
def _(change: kinds.OneSync, run: Run) -> Run:
    concerned = concerns(run, change)

    def with_one(of_rank: Actions) -> Actions:
        last = {one.file: number for number, one in enumerate(of_rank) if one.name == "sync" and concerned(one)}
        return _without_empty(
            [
                replace(one, name="") if one.name == "sync" and concerned(one) and last[one.file] != number else one
                for number, one in enumerate(of_rank)
            ]
        )

    return _each_rank(run, change, with_one, "no rank synchronises a file more than once")


@_applied.register
def _(change: kinds.KeepOpen, run: Run) -> Run:
    concerned = concerns(run, change)

    def kept(of_rank: Actions) -> Actions:
        opens: dict[tuple[str, int], int] = {}
        closes: dict[tuple[str, int], int] = {}
        for number, one in enumerate(of_rank):
            if one.name == "open":
                opens.setdefault((one.layer, one.file), number)
            elif one.name == "close":
                closes[one.layer, one.file] = number
        found = []
        for number, one in enumerate(of_rank):
            key = (one.layer, one.file)
            if concerned(one) and one.name == "open" and opens[key] != number:
                found.append(_truncation(one))
            elif concerned(one) and one.name == "close" and closes[key] != number:
                found.append(replace(one, name=""))
            else:
                found.append(one)
        return _without_empty(found)

    return _each_rank(run, change, kept, "no rank opens a file more than once")


def _truncation(opened: Action) -> Action:
    """Return what remains of an open of an open file: it may have emptied the file."""
    if opened.flags != UNKNOWN and opened.flags & os.O_TRUNC:
        return replace(opened, name="truncate", offset=0)
    return replace(opened, name="")


@_applied.register
def _(change: kinds.Prefetch, run: Run) -> Run:
    concerned = concerns(run, change)

    def ahead(of_rank: Actions) -> Actions:
        return tuple(
            replace(one, ahead=change.depth) if one.name == "read" and one.offset != UNKNOWN and concerned(one) else one
            for one in of_rank
        )

    return _each_rank(run, change, ahead, "there are no reads by file calls at known offsets")


@_applied.register
def _(change: kinds.WriteBehind, run: Run) -> Run:
    concerned = concerns(run, change)

    def behind(of_rank: Actions) -> Actions:
        return tuple(
            replace(one, behind=change.depth)
            if one.name == "write" and one.offset != UNKNOWN and concerned(one)
            else one
            for one in of_rank
        )

    return _each_rank(run, change, behind, "there are no writes by file calls at known offsets")


@_applied.register
def _(change: kinds.Balance, run: Run) -> Run:
    concerned = concerns(run, change)
    if not 0 <= change.fraction <= 1:
        raise _refused(change, "the fraction is a number from 0 to 1")

    def balanced(of_rank: Actions) -> Actions:
        found, due = [], 0.0
        for one in of_rank:
            if one.name != "read" or not concerned(one):
                found.append(one)
                continue
            due += change.fraction
            is_computed = due >= 1
            due -= is_computed
            found.append(replace(one, name="", gap=one.gap + change.seconds) if is_computed else one)
        return _without_empty(found)

    return _each_rank(run, change, balanced, "no reads by file calls are left out by this fraction")


# ---- how ranks work together ----------------------------------------------------------------------------------------


@_applied.register
def _(change: kinds.Streams, run: Run) -> Run:
    if change.file or change.phase is not None:
        raise _refused(change, "a limit of streams is for the whole run: leave out file and phase")
    if isinstance(change.streams, str) and change.streams != "auto":
        raise _refused(change, 'expected a number of streams, or "auto"')
    return replace(run, streams=change.streams)


@_applied.register
def _(change: kinds.Collective, run: Run) -> Run:
    if run.ranks < 2:
        raise _refused(change, "the run has one rank")
    try:
        made = collected(run, concerns(run, change))
    except ValueError as error:
        raise _refused(change, str(error)) from None
    if made.actions == run.actions:
        raise _refused(change, "no phase has reads or writes of several ranks in one file, by file calls")
    return made


@_applied.register
def _(change: kinds.AllRanks, run: Run) -> Run:
    ranks = run.ranks if change.ranks is None else change.ranks
    if ranks < max(2, run.ranks):
        has = f"{run.ranks} rank{'' if run.ranks == 1 else 's'} with calls"
        raise _refused(change, f"the run has {has}: expected all-ranks=NUMBER, at least {max(2, run.ranks)}")
    if ranks > run.ranks and run.is_collective:
        raise _refused(change, f"the run has collective accesses of {run.ranks} ranks: expected this number")
    try:
        return shared_out(run, concerns(run, change), ranks)
    except ValueError as error:
        raise _refused(change, str(error)) from None


@_applied.register
def _(change: kinds.Method, run: Run) -> Run:
    def with_method(found: _core.Operation) -> _core.Operation:
        return _core.Operation(found.array, found.direction, found.decomposition, change.method, found.tuning)

    changed = _with_operations(run, change, with_method)
    concerned = concerns(run, change)
    actions = tuple(
        tuple(replace(one, method=change.method) if one.name == "collective" and concerned(one) else one for one in of)
        for of in changed.actions
    )
    if actions == run.actions:
        raise _refused(change, "the run has no operations of Swath: make its accesses collective first")
    return replace(changed, actions=actions)


@_applied.register
def _(change: kinds.Aggregators, run: Run) -> Run:
    concerned = concerns(run, change)
    tuning = (("aggregators", change.aggregators),)

    def tuned(of_rank: Actions) -> Actions:
        return tuple(
            replace(one, tuning=tuning) if one.name in ("operation", "collective") and concerned(one) else one
            for one in of_rank
        )

    return _each_rank(run, change, tuned, "the run has no operations of Swath: make its accesses collective first")


@_applied.register
def _(change: kinds.Layout, run: Run) -> Run:
    def with_layout(found: _core.Operation) -> _core.Operation:
        form = found.array
        try:
            layout = _layout(change.layout, form.shape, form.element_bytes)
        except ValueError as error:
            raise _refused(change, str(error)) from None
        new = _core.ArrayForm(form.identity, form.shape, form.element_bytes, layout)
        return _core.Operation(new, found.direction, found.decomposition, found.method, found.tuning)

    changed = _with_operations(run, change, with_layout)
    if changed.actions == run.actions:
        raise _refused(change, "the run has no operations of Swath on arrays: file calls do not say what the array is")
    ends: dict[int, int] = {}
    for one in changed.every_action():
        if one.name == "operation":
            layout = _core.Operation.parse(changed.operations[one.operation]).array.layout
            ends[one.file] = max(ends.get(one.file, 0), 0 if layout is None else layout.end)
    files = tuple(
        replace(one, end_bytes=ends[n], initial_bytes=ends[n] if one.initial_bytes else 0) if n in ends else one
        for n, one in enumerate(run.files)
    )
    return replace(changed, files=files)


def _layout(words: str, shape: Sequence[int], element_bytes: int) -> _core.Layout:
    """Return a layout from its beginning at byte 0: "C", "F", the dimensions "1,0,2", or chunks "64x64"."""
    dimensions = list(range(len(shape)))
    if "x" in words or (words.isdigit() and len(shape) == 1):
        chunk = [int(length) for length in words.split("x")]
        if len(chunk) != len(shape) or min(chunk) < 1:
            raise ValueError(f"expected chunks of {len(shape)} lengths, not {words!r}")
        return _core.Layout.tiled(shape, element_bytes, chunk, 0)
    named = {"C": dimensions, "F": dimensions[::-1]}
    order = named[words] if words in named else [int(one) for one in words.split(",")]
    if sorted(order) != dimensions:
        raise ValueError(
            f'expected "C", "F", the {len(shape)} dimensions from the slowest on, or chunks, not {words!r}'
        )
    strides, step = [0] * len(shape), element_bytes
    for d in reversed(order):
        strides[d] = step
        step *= shape[d]
    return _core.Layout.strided(shape, element_bytes, 0, strides)


def _with_operations(run: Run, change: Change, made: Callable[[_core.Operation], _core.Operation]) -> Run:
    """Change the exact operations that are concerned."""
    concerned = concerns(run, change)
    operations = list(run.operations)
    new: dict[int, int] = {}

    def changed(of_rank: Actions) -> Actions:
        found = []
        for one in of_rank:
            if one.name == "operation" and concerned(one):
                if one.operation not in new:
                    new[one.operation] = len(operations)
                    operations.append(made(_core.Operation.parse(run.operations[one.operation])).serialise())
                found.append(replace(one, operation=new[one.operation]))
            else:
                found.append(one)
        return tuple(found)

    actions = tuple(changed(of_rank) for of_rank in run.actions)
    return replace(run, actions=actions, operations=tuple(operations))
