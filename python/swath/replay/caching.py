"""Caching: what a rank has read, and has memory for, is copied from memory and not read again. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from swath.replay.actions import MOVING, UNKNOWN, Action, Run
from swath.replay.byte_ranges import ByteRanges

CHANGING = frozenset({"truncate", "unlink"})


def cached(run: Run, concerned: Callable[[Action], bool], memory: int) -> Run:
    """Return the run with less reads: a rank keeps the first bytes that it reads of each file, until memory is full.

    A rank updates what it keeps when it writes. What it keeps of a file is of no use in a phase in which another rank
    changes the file, and behind it. An action that becomes nothing has no name afterwards.

    Args:
        run: the run.
        concerned: which reads may be changed.
        memory: the bytes of memory for each file and rank.
    """
    changing: dict[tuple[int, int], set[int]] = {}  # ranks, by file and phase
    for rank, of_rank in enumerate(run.actions):
        for one in of_rank:
            if one.moves == "write" or one.name in CHANGING:
                changing.setdefault((one.file, one.phase), set()).add(rank)
    actions = tuple(
        tuple(_OfRank(concerned, memory, {key for key, ranks in changing.items() if ranks - {rank}}).less(of_rank))
        for rank, of_rank in enumerate(run.actions)
    )
    return replace(run, actions=actions)


class _OfRank:
    """What one rank keeps."""

    def __init__(self, concerned: Callable[[Action], bool], memory: int, changed: set[tuple[int, int]]) -> None:
        self._concerned = concerned
        self._memory = memory
        self._changed = changed  # by other ranks: file and phase
        self._kept: dict[int, ByteRanges] = {}
        self._phases: dict[int, int] = {}  # the phase of the last read of a file

    def less(self, actions: tuple[Action, ...]) -> list[Action]:
        """Return the actions without reads of what is kept."""
        found: list[Action] = []
        seeks: dict[int, int] = {}  # by file: the index in `found` of a seek that is the last call on the file
        for one in actions:
            if one.name == "read" and one.offset != UNKNOWN and one.length and self._concerned(one):
                made = self._read(one)
                if len(made) == 1 and made[0].name == "copy" and one.file in seeks:
                    found[seeks[one.file]] = replace(found[seeks[one.file]], name="")
                found += made
            else:
                if one.name in CHANGING or (one.moves == "write" and one.name not in MOVING):
                    self._kept.pop(one.file, None)
                found.append(one)
            seeks.pop(one.file, None)
            if one.name == "seek":
                seeks[one.file] = len(found) - 1
        return found

    def _read(self, one: Action) -> list[Action]:
        """Return what remains of a read, and keep its bytes if they fit."""
        before = self._phases.get(one.file, one.phase - 1)
        if any((one.file, phase) in self._changed for phase in range(before, one.phase + 1)):
            self._kept.pop(one.file, None)
        self._phases[one.file] = one.phase
        if (one.file, one.phase) in self._changed:
            return [one]
        kept = self._kept.setdefault(one.file, ByteRanges())
        missing = kept.missing(one.offset, one.offset + one.length)
        again = one.length - sum(end - begin for begin, end in missing)
        for begin, end in missing:
            fitting = min(end, begin + self._memory - kept.bytes)
            if fitting > begin:
                kept.add(begin, fitting)
        if not again:
            return [one]
        reads = [
            replace(one, offset=begin, length=end - begin, gap=0.0, seconds=one.seconds * (end - begin) / one.length)
            for begin, end in missing
        ]
        made = [*reads, Action("copy", file=one.file, length=again, phase=one.phase)]
        return [replace(made[0], gap=one.gap), *made[1:]]
