"""Data sieving: many reads of small regions become one access, which reads windows and picks the regions. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np

from swath.replay.actions import NO_CALLS, UNKNOWN, Action, Pieces
from swath.replay.byte_ranges import ByteRanges

STEPPED_OVER = NO_CALLS | {"stat"}
"""Actions that do not end a group of reads."""


class _Group:
    """Reads of a file that nothing separates: no other call on it, and none of them reads the bytes of others again."""

    def __init__(self) -> None:
        self.reads: list[int] = []
        self.seeks: list[int] = []
        self.regions = ByteRanges()


def sieved(
    actions: Sequence[Action], concerned: Callable[[Action], bool], written: Collection[int]
) -> tuple[Action, ...]:
    """Return the actions of a rank with one access of pieces for each group of reads.

    An action that the access replaces has no name afterwards.

    Args:
        actions: the actions of the rank.
        concerned: which actions may be changed.
        written: the files that a rank of the run writes: their reads stay behind the barriers that they were behind.
    """
    groups: list[_Group] = []
    open_groups: dict[int, _Group] = {}
    for number, one in enumerate(actions):
        if one.name == "barrier":
            for file in written:
                open_groups.pop(file, None)
        elif one.name == "read" and one.offset != UNKNOWN and one.length and concerned(one):
            group = open_groups.get(one.file)
            end = one.offset + one.length
            if group is None or not group.regions.missing(one.offset, end):  # the bytes are read once more
                group = open_groups[one.file] = _Group()
                groups.append(group)
            group.reads.append(number)
            group.regions.add(one.offset, end)
        elif one.name == "seek" and one.file in open_groups:
            open_groups[one.file].seeks.append(number)
        elif one.name not in STEPPED_OVER:
            open_groups.pop(one.file, None)
    found = list(actions)
    for group in groups:
        if len(group.regions) > 1:
            _replace(found, group)
    return tuple(found)


def _replace(actions: list[Action], group: _Group) -> None:
    first, last = group.reads[0], group.reads[-1]
    offsets, ends = np.array(group.regions.items(), np.int64).T
    access = replace(
        actions[first],
        name="pieces",
        layer="swath",
        offset=UNKNOWN,
        length=group.regions.bytes,
        seconds=sum(actions[number].seconds for number in group.reads),
        direction="read",
        pieces=Pieces(offsets, ends - offsets),
        method="sieve",
    )
    for number in [*group.reads, *(seek for seek in group.seeks if seek < last)]:
        actions[number] = replace(actions[number], name="")
    actions[first] = access
