"""Makes collective accesses of independent ones: of all ranks in a phase, or of one rank for all. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from swath.replay.actions import MOVING, UNKNOWN, Action, Pieces, Run

Key = tuple[int, int, str]
"""Phase, file, and direction."""


def collected(run: Run, concerned: Callable[[Action], bool]) -> Run:
    """Return the run with a collective access for each phase, file and direction that several ranks share.

    In a phase, a collective read comes before, and a collective write behind, all of a rank's calls that it replaces.
    Calls that write bytes which other calls of the phase write, too, stay as they are: headers that are written again.
    Raises ValueError if these are most of the bytes, or an offset is not known.
    """
    of_keys = _calls(run, concerned)
    return _replaced(run, {key: calls for key, calls in of_keys.items() if len({rank for rank, _ in calls}) > 1})


def shared_out(run: Run, concerned: Callable[[Action], bool], ranks: int) -> Run:
    """Return the run with a collective access for each phase, file and direction that one rank moves for all.

    The bytes are divided equally among the ranks, in the order of the file. Ranks that have no calls in the log are
    added. Otherwise as `collected`. Raises ValueError if no rank moves a file for all, or several have files of their
    own.
    """
    of_keys = _calls(run, concerned)
    users: dict[tuple[int, str], set[int]] = {}
    for (_, file, direction), calls in of_keys.items():
        users.setdefault((file, direction), set()).update(rank for rank, _ in calls)
    alone = {use: next(iter(of)) for use, of in users.items() if len(of) == 1}
    if not alone:
        raise ValueError("no file is read or written by one rank alone, by file calls")
    if len(set(alone.values())) > 1:
        raise ValueError("several ranks have a file of their own, which they do not read or write for all ranks")
    barriers = tuple(one for one in run.actions[0] if one.name == "barrier")
    run = replace(run, actions=(*run.actions, *[barriers] * (ranks - run.ranks)))
    made = _replaced(run, {key: calls for key, calls in of_keys.items() if key[1:] in alone})
    rank_alone = next(iter(alone.values()))
    lanes = zip(*([one for one in of if one.name == "collective"] for of in made.actions), strict=True)
    parts = {
        id(one): _part(accesses[rank_alone].pieces, rank, ranks)
        for accesses in lanes
        if (accesses[0].file, accesses[0].direction) in alone
        for rank, one in enumerate(accesses)
    }
    actions = tuple(tuple(_with_pieces(one, parts.get(id(one))) for one in of_rank) for of_rank in made.actions)
    return replace(made, actions=actions)


def _part(pieces: Pieces | None, rank: int, ranks: int) -> Pieces:
    """Return the part of a rank: bytes that follow each other in the file, as many as for other ranks."""
    assert pieces is not None
    ends = np.cumsum(pieces.lengths)
    begins = ends - pieces.lengths
    total = int(pieces.lengths.sum())
    low, high = np.maximum(begins, total * rank // ranks), np.minimum(ends, total * (rank + 1) // ranks)
    some = high > low
    return Pieces((pieces.offsets + low - begins)[some], (high - low)[some])


def _with_pieces(one: Action, pieces: Pieces | None) -> Action:
    return one if pieces is None else replace(one, pieces=pieces, length=int(pieces.lengths.sum()))


def _calls(run: Run, concerned: Callable[[Action], bool]) -> dict[Key, list[tuple[int, Action]]]:
    """Return the reads and writes that are concerned, with their ranks."""
    found: dict[Key, list[tuple[int, Action]]] = {}
    for rank, of_rank in enumerate(run.actions):
        for one in of_rank:
            if one.name in MOVING and one.length and concerned(one):
                found.setdefault((one.phase, one.file, one.name), []).append((rank, one))
    return found


def _replaced(run: Run, of_keys: dict[Key, list[tuple[int, Action]]]) -> Run:
    """Return the run with a collective access of all ranks in place of the calls of each key."""
    shared: dict[int, list[Key]] = {}
    replaced: set[int] = set()
    for key in sorted(of_keys, key=lambda one: min(action.began for _, action in of_keys[one])):
        shared.setdefault(key[0], []).append(key)
        replaced |= {id(one) for one in _collectable(run, key, [one for _, one in of_keys[key]])}
    actions = tuple(_of_rank(of_rank, shared, replaced, len(run.phases)) for of_rank in run.actions)
    return replace(run, actions=actions)


def _collectable(run: Run, key: Key, calls: list[Action]) -> list[Action]:
    """Return the calls that a collective access can replace: of writes, those whose bytes no other call writes."""
    phase, file, direction = key
    where = f"{direction}s of {run.files[file].name} in phase {phase}"
    if any(one.offset == UNKNOWN for one in calls):
        raise ValueError(f"the offsets of some {where} are not in the log")
    if direction == "read":
        return calls
    order = sorted(calls, key=lambda one: one.offset)
    begins = np.array([one.offset for one in order])
    ends = begins + np.array([one.length for one in order])
    before = np.concatenate([[-1], np.maximum.accumulate(ends)[:-1]])  # the end of all that begin earlier
    behind = np.append(begins[1:], np.iinfo(np.int64).max)
    is_alone = (begins >= before) & (ends <= behind)
    if 2 * (ends - begins)[is_alone].sum() < (ends - begins).sum():
        raise ValueError(f"{where} overlap: a byte that is written twice has no certain value in a collective write")
    return [one for one, alone in zip(order, is_alone, strict=True) if alone]


def _of_rank(
    actions: tuple[Action, ...], shared: dict[int, list[Key]], replaced: set[int], phases: int
) -> tuple[Action, ...]:
    of_phase: list[list[Action]] = [[] for _ in range(max(phases, 1))]
    for one in actions:
        of_phase[one.phase].append(one)
    return tuple(
        made for phase, calls in enumerate(of_phase) for made in _of_phase(calls, shared.get(phase, []), replaced)
    )


def _of_phase(calls: list[Action], keys: list[Key], replaced: set[int]) -> list[Action]:
    """Replace calls of one rank in one phase. The order of `keys` is the same on all ranks."""
    indices: list[int] = []
    for key in keys:
        own = [n for n, one in enumerate(calls) if id(one) in replaced and (one.phase, one.file, one.name) == key]
        edge = (own[0] if key[2] == "read" else own[-1] + 1) if own else _edge(calls, key[2])
        indices.append(max([edge, *indices[-1:]]))
    found: list[Action] = []
    gap = 0.0
    for number in range(len(calls) + 1):
        for key, index in zip(keys, indices, strict=True):
            if index == number:
                own_calls = [one for one in calls if id(one) in replaced and (one.phase, one.file, one.name) == key]
                found.append(replace(_collective(own_calls, key), gap=gap))
                gap = 0.0
        if number == len(calls):
            break
        one = calls[number]
        if id(one) in replaced:
            gap += one.gap
        else:
            found.append(replace(one, gap=one.gap + gap) if gap else one)
            gap = 0.0
    return found


def _edge(calls: list[Action], direction: str) -> int:
    """Return the index of an access without bytes of this rank: behind the barrier and opens, or before the closes."""
    if direction == "write":
        return len(calls)
    return next((n for n, one in enumerate(calls) if one.name not in ("barrier", "open")), len(calls))


def _collective(calls: list[Action], key: Key) -> Action:
    phase, file, direction = key
    pieces = _pieces(calls)
    return Action(
        "collective",
        "swath",
        file,
        length=int(pieces.lengths.sum()),
        seconds=sum(one.seconds for one in calls),
        began=calls[0].began if calls else 0.0,
        direction=direction,
        pieces=pieces,
        phase=phase,
    )


def _pieces(calls: list[Action]) -> Pieces:
    """Return the bytes of the calls: pieces that touch or overlap become one."""
    order = sorted(calls, key=lambda one: one.offset)
    offsets = np.array([one.offset for one in order], np.int64)
    ends = np.maximum.accumulate(offsets + np.array([one.length for one in order], np.int64))
    if not len(offsets):
        return Pieces(offsets, ends)
    first = np.flatnonzero(np.concatenate([[True], offsets[1:] > ends[:-1]]))
    lengths = ends[np.append(first[1:], len(offsets)) - 1] - offsets[first]
    return Pieces(offsets[first], lengths)
