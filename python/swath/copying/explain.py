"""A plan of a copy as text."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from swath.base.units import by, in_bytes, in_seconds
from swath.copying.copy_layout import Side
from swath.copying.one_pass import Pass
from swath.copying.plan import CopyPlan, FilePlan
from swath.copying.prepare import PlannedPart, plan_of
from swath.copying.request import CopyRequest, Part


@dataclasses.dataclass(frozen=True)
class Explained:
    """The result of `explain_copy`; prints as text, converts to plain data.

    Attributes:
        plan: the plan of every rank.
        title: source and target.
        layouts: descriptions of source and target, for each variable.
        ranks: the number of ranks that share the tiles.
        left_out: descriptions of what the target will not contain.
        texts: descriptions of what is written when the file is made.
    """

    plan: CopyPlan | FilePlan
    title: str
    layouts: tuple[tuple[str, str], ...]
    ranks: int = 1
    left_out: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        found = {"copy": self.title, "ranks": self.ranks, **self.plan.to_dict()}
        if isinstance(self.plan, CopyPlan):
            source, target = self.layouts[0]
            return {**found, "source": source, "target": target, "left_out": list(self.left_out)}
        return {**found, "texts": list(self.texts), "left_out": list(self.left_out)}

    def __str__(self) -> str:
        if isinstance(self.plan, CopyPlan):
            left_out = "".join(f"{line}\n" for line in _of_left_out(self.left_out))
            return text(self.plan, self.title, self.layouts[0], self.ranks) + left_out
        return text_of_file(self.plan, self)


def explained(request: CopyRequest, parts: Sequence[PlannedPart]) -> Explained:
    """Return the explanation of a copy."""
    layouts = tuple(_layout_words(one.part) for one in parts)
    ranks = max((len(one.workers.ranks) for one in parts), default=1)
    return Explained(
        plan_of(request, parts),
        request.title,
        layouts,
        ranks,
        request.left_out,
        _before(request),
    )


def _before(request: CopyRequest) -> tuple[str, ...]:
    """Return descriptions of what is written when the file is made."""
    taken = () if request.objects is None else request.objects.datasets
    return (*(one.words for one in request.texts), *(f"{name}, as it is, by HDF5's library" for name in taken))


def _layout_words(part: Part) -> tuple[str, str]:
    source, target = part.source_side, part.target_side
    return (
        f"{part.source.dtype} {part.source.shape}, {part.source.format}, {in_words(source)}",
        f"{part.new.dtype} {part.new.shape}, {part.format}, {in_words(target)}{_codecs_in_words(part)}",
    )


def _codecs_in_words(part: Part) -> str:
    """Return ", by shuffle, zlib" for chunks that are coded; "" if the format chooses."""
    codecs = part.new.codecs
    if not codecs:
        return ""
    each = [codecs] if isinstance(codecs, (str, Mapping)) else codecs
    names = [str(codec["name"] if isinstance(codec, Mapping) else codec) for codec in each]
    return f", by {', '.join(name.removeprefix('numcodecs.') for name in names)}"


def text_of_file(plan: FilePlan, said: Explained) -> str:
    """Return the text about the copy of a whole file, for people: each variable, and the sums."""
    total = sum(one.passes[-1].target.nbytes for _, one in plan.variables)
    lines = [said.title, f"  all of it {in_bytes(total)} in {plan.reason}"]
    for (name, one), (source, target) in zip(plan.variables, said.layouts, strict=True):
        passes = "1 pass" if len(one.passes) == 1 else f"{len(one.passes)} passes"
        how = "at once" if one.is_at_once else passes
        lines.append(f"  {name:<9} {in_bytes(one.passes[-1].target.nbytes)}, {how}")
        lines += [f"            from {source}", f"            to   {target}"]
    lines += [f"  {words}" for words in said.texts]
    lines += _of_left_out(said.left_out)
    return "\n".join(lines + _sums(plan, said.ranks)) + "\n"


def _of_left_out(left_out: tuple[str, ...]) -> list[str]:
    return [f"  left out  {what}" for what in left_out]


def _sums(plan: CopyPlan | FilePlan, ranks: int) -> list[str]:
    each = f" each of {ranks} ranks, which share the tiles" if ranks > 1 else ""
    by = plan.passes[0].costs.source if plan.passes else "nothing to move"
    return [
        f"  memory    {in_bytes(plan.memory_bytes)} of {in_bytes(plan.budget_bytes)}{each}",
        f"  disk      {in_bytes(plan.disk_bytes)} free are needed"
        + (f", {in_bytes(plan.scratch_bytes)} of it only meanwhile" if plan.scratch_bytes else ""),
        f"  seconds   {in_seconds(plan.seconds)} predicted ({by})",
    ]


def text(plan: CopyPlan, title: str, layouts: tuple[str, str], ranks: int = 1) -> str:
    """Return the text for people; the same plan gives the same text."""
    lines = [title, f"  source    {layouts[0]}", f"  target    {layouts[1]}", f"  passes    {plan.reason}"]
    for number, one in enumerate(plan.passes, 1):
        lines += [f"  pass {number}    {line}" for line in _of_pass(one)[:1]]
        lines += [f"            {line}" for line in _of_pass(one)[1:]]
    return "\n".join(lines + _sums(plan, ranks)) + "\n"


def _of_pass(one: Pass) -> list[str]:
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
    if side.through_library:
        return "through the format's library"
    if side.chunk is not None:
        words = f"chunks of {by(side.chunk)}"
        if side.whole_chunks:
            words += ", moved whole" if not side.is_compressed else ", compressed, moved whole"
        return words
    ndim = len(side.shape)
    names = {tuple(reversed(range(ndim))): "F order", tuple(range(ndim)): "C order"}
    return names.get(side.order, f"order {', '.join(map(str, side.order))}, slowest first")
