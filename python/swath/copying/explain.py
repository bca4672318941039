"""A plan of a copy in words."""

from __future__ import annotations

import dataclasses
from typing import Any

from swath.copying.one_pass import Pass
from swath.copying.plan import CopyPlan
from swath.copying.sides import Side


@dataclasses.dataclass(frozen=True)
class Explained:
    """What a copy would do; prints as text, converts to plain data.

    Attributes:
        plan: of every rank.
        title: what goes where.
        layouts: source and target in words.
        ranks: how many share the tiles, of those that there are.
    """

    plan: CopyPlan
    title: str
    layouts: tuple[str, str]
    ranks: int = 1

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        source, target = self.layouts
        return {"copy": self.title, "source": source, "target": target, "ranks": self.ranks, **self.plan.to_dict()}

    def __str__(self) -> str:
        return text(self.plan, self.title, self.layouts, self.ranks)


def text(plan: CopyPlan, title: str, layouts: tuple[str, str], ranks: int = 1) -> str:
    """Return the text for people; the same plan gives the same text."""
    from swath.commands.output import in_bytes, in_seconds

    lines = [title, f"  source    {layouts[0]}", f"  target    {layouts[1]}", f"  passes    {plan.reason}"]
    for number, one in enumerate(plan.passes, 1):
        lines += [f"  pass {number}    {line}" for line in _of_pass(one)[:1]]
        lines += [f"            {line}" for line in _of_pass(one)[1:]]
    each = f" each of {ranks} ranks, which share the tiles" if ranks > 1 else ""
    lines += [
        f"  memory    {in_bytes(plan.memory_bytes)} of {in_bytes(plan.budget_bytes)}{each}",
        f"  disk      {in_bytes(plan.disk_bytes)} free are needed"
        + (f", {in_bytes(plan.scratch_bytes)} of it only meanwhile" if plan.scratch_bytes else ""),
        f"  seconds   {in_seconds(plan.seconds)} predicted ({plan.passes[0].costs.source})",
    ]
    return "\n".join(lines) + "\n"


def _of_pass(one: Pass) -> list[str]:
    from swath.commands.output import by, in_bytes, in_seconds

    seconds = one.seconds
    slabs = "written as they were read" if one.in_place else f"turned in slabs of {by(one.slab)}"
    if one.converts:
        slabs += ", elements converted"
    read_each = in_bytes(one.source.nbytes // max(one.read_requests, 1))
    write_each = in_bytes(one.target.nbytes // max(one.write_requests, 1))
    write = f"write {in_bytes(one.target.nbytes)} in {one.write_requests:,} requests of {write_each}; "
    write += f"contiguous after every {in_bytes(one.band_bytes)}"
    if not one.is_merged:
        write += ", more than the page cache may hold back"
    stages = ", ".join(f"{name} {in_seconds(seconds[name])}" for name in ("device", "processors", "shuffling"))
    read = f"read {in_bytes(one.source.nbytes)} in {one.read_requests:,} requests of {read_each}"
    if one.bands_at_once > 1:
        read += f", {one.bands_at_once} beside each other asked for at once"
    total = f"{in_seconds(seconds['total'])}, of it at the same time: {stages}"
    return [f"{one.tiles:,} tiles of {by(one.tile)}, {slabs}", read, write, total]


def in_words(side: Side) -> str:
    """Return the layout for people: `C order`, `order 2, 0, 1, slowest first`, `chunks of 64 × 64`."""
    from swath.commands.output import by

    if side.through_library:
        return "through the format's library"
    if side.chunk is not None:
        words = f"chunks of {by(side.chunk)}"
        if side.whole_chunks:
            words += ", moved whole" if not side.is_compressed else ", compressed, moved whole"
        return words
    ndim = len(side.shape)
    names = {tuple(range(ndim)): "C order", tuple(reversed(range(ndim))): "F order"}
    return names.get(side.order, f"order {', '.join(map(str, side.order))}, slowest first")
