"""`LayoutAdvice`: the priced layouts, best first; as text, as data, as arguments of `swath.create`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from swath.advice.search import Priced
from swath.base.units import in_bytes
from swath.errors import ArgumentError

ROWS = 12


@dataclass(frozen=True)
class RankedLayout:
    """A layout and its price.

    Attributes:
        name: "C order", "chunks of 64 by 512".
        order: the dimensions from slowest to fastest.
        chunks: elements of a chunk along each dimension; None: contiguous.
        formats: those of the given formats that can store it.
        seconds: for each access, made once.
        total: the seconds of all accesses with their frequencies.
        shards: for Zarr: elements of a shard along each dimension; None: no shards.
        codecs: the codecs of the chunks; None: the format has no choice.
        stored_bytes: the approximate bytes on the disk.
    """

    name: str
    order: tuple[int, ...]
    chunks: tuple[int, ...] | None
    formats: tuple[str, ...]
    seconds: tuple[float, ...]
    total: float
    shards: tuple[int, ...] | None = None
    codecs: tuple[str, ...] | None = None
    stored_bytes: int = 0

    @property
    def creation(self) -> dict[str, Any]:
        """Return the arguments of `swath.create` and `swath.copy` for this layout."""
        if self.chunks is None:
            return {"order": self.order}
        given: dict[str, Any] = {"chunks": self.chunks}
        if self.shards is not None:
            given["shards"] = self.shards
        return given if self.codecs is None else {**given, "codecs": list(self.codecs)}


@dataclass(frozen=True)
class Payback:
    """The cost of a copy into the advised layout, and its gain.

    Attributes:
        copy_seconds: predicted for the copy.
        seconds_now: of all accesses with the file's layout.
        seconds_then: with the advised layout.
    """

    copy_seconds: float
    seconds_now: float
    seconds_then: float

    @property
    def uses(self) -> float | None:
        """Return how many times all accesses must happen until the copy has paid for itself; None: never."""
        gain = self.seconds_now - self.seconds_then
        return self.copy_seconds / gain if gain > 0 else None

    def __str__(self) -> str:
        head = (
            f"now {in_seconds(self.seconds_now)}, then {in_seconds(self.seconds_then)}; "
            f"the copy takes {in_seconds(self.copy_seconds)}: "
        )
        if self.uses is None:
            return head + "it does not pay"
        return head + f"it pays after {self.uses:.1f} uses"


@dataclass(frozen=True)
class LayoutAdvice:
    """The best layouts for some accesses, best first. `str()` is a table; pass it to `swath.create(layout=)`.

    Attributes:
        shape, dtype: of the array.
        accesses: the name and the frequency of each.
        ranked: the layouts, the cheapest first; C order is always among them.
        cached: the assumed part of the read bytes that is in the page cache.
        source: the origin of the prices.
        priced: the number of layouts that were tried.
        stripe: for a file in a pool: the bytes of a stripe unit, the number of objects that take turns, the bytes of an
            object; None: for a file system.
        stripes: the stripings that were priced for the best layout, with the seconds of all accesses.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    accesses: tuple[tuple[str, float], ...]
    ranked: tuple[RankedLayout, ...]
    cached: float
    source: str
    priced: int
    stripe: tuple[int, int, int] | None = None
    stripes: tuple[tuple[tuple[int, int, int], float], ...] = ()

    @property
    def best(self) -> RankedLayout:
        """Return the cheapest layout."""
        return self.ranked[0]

    @property
    def runner_up(self) -> RankedLayout | None:
        """Return the second best layout; None if there is no other."""
        return self.ranked[1] if len(self.ranked) > 1 else None

    def creation(self, shape: Sequence[int | None], dtype: Any, format: str) -> dict[str, Any]:  # noqa: A002
        """Return the arguments of `swath.create` for the best layout in a file of that format.

        Raises ArgumentError if the array is another one, or if the format cannot store the layout.
        """
        if tuple(shape) != self.shape or np.dtype(dtype).itemsize != self.dtype.itemsize:
            raise ArgumentError(
                f"layout=: it was advised for an array of {self.dtype} {self.shape}, not {np.dtype(dtype)} "
                f"{tuple(shape)}: ask swath.advise_layout again"
            )
        kind = {"netcdf4": "hdf5"}.get(format.partition(":")[0], format.partition(":")[0])
        if kind not in self.best.formats:
            raise ArgumentError(
                f"layout=: {self.best.name} cannot be stored as {format}: create {' or '.join(self.best.formats)}, or "
                f"ask for what {kind} can store: swath.advise_layout(..., formats=({kind!r},))"
            )
        return self.best.creation

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON; seconds, elements."""
        return {
            "shape": list(self.shape),
            "dtype": self.dtype.str,
            "accesses": [{"access": text, "times": times} for text, times in self.accesses],
            "cached": self.cached,
            "profile": self.source,
            "priced": self.priced,
            "ranked": [
                {
                    "layout": one.name,
                    "order": list(one.order),
                    "chunks": None if one.chunks is None else list(one.chunks),
                    "shards": None if one.shards is None else list(one.shards),
                    "codecs": None if one.codecs is None else list(one.codecs),
                    "formats": list(one.formats),
                    "seconds": list(one.seconds),
                    "total": one.total,
                    "stored_bytes": one.stored_bytes,
                }
                for one in self.ranked
            ],
            "stripe": None if self.stripe is None else list(self.stripe),
            "stripes": [{"stripe": list(stripe), "total": total} for stripe, total in self.stripes],
        }

    def __repr__(self) -> str:
        return f"<LayoutAdvice: {self.best.name} for {self.dtype} {self.shape}>"

    def __str__(self) -> str:
        by = " × ".join(map(str, self.shape))
        cached = f"; {self.cached:.0%} taken to be in the page cache" if self.stripe is None else ", in a pool"
        lines = [f"layouts of {by} {self.dtype}, {self.priced} priced by: {self.source}{cached}", ""]
        lines += [f"  {chr(ord('a') + n)}  {times:g} × {text}" for n, (text, times) in enumerate(self.accesses)]
        heads = ("layout", *(chr(ord("a") + n) for n in range(len(self.accesses))), "all", "", "disk", "formats")
        rows = [heads]
        for one in self._shown():
            ratio = "" if one is self.best else f"{one.total / max(self.best.total, 1e-12):.1f} x"
            times = *map(in_seconds, one.seconds), in_seconds(one.total)
            cells = (*times, ratio, in_bytes(one.stored_bytes), ", ".join(one.formats))
            rows.append((one.name, *cells))
        widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
        lines.append("")
        for row in rows:
            middle = [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True)]
            lines.append("  ".join([row[0].ljust(widths[0]), *middle, row[-1]]).rstrip())
        return "\n".join([*lines, *self._stripe_lines()]) + "\n"

    def _stripe_lines(self) -> list[str]:
        if self.stripe is None:
            return []
        unit, count, object_bytes = self.stripe
        priced = ", ".join(f"{one[0] >> 10} KiB {in_seconds(seconds)}" for one, seconds in self.stripes)
        taken = f"  stripe units of {unit >> 10} KiB, to {count} objects of {object_bytes >> 10} KiB in turns"
        return [
            "",
            f"{taken} (stripe=({unit}, {count}, {object_bytes}))",
            f"  {self.best.name} by stripe unit: {priced}",
        ]

    def _shown(self) -> list[RankedLayout]:
        """Return the best layout, C order at its rank, and the best of each other storage of chunks."""
        shown = list(self.ranked[:ROWS])
        seen = {_kind(one) for one in shown}
        for one in self.ranked[ROWS:]:
            if one.name == "C order" or (one.chunks is not None and _kind(one) not in seen):
                shown.append(one)
                seen.add(_kind(one))
        return shown


def ranked(one: Priced, formats: Sequence[str], shape: Sequence[int], itemsize: int) -> RankedLayout:
    """Return a layout of an array with its price and the space that it takes."""
    candidate = one.candidate
    codecs = None if candidate.chunks is None or candidate.storage.is_plain else candidate.storage.codecs
    lengths = shape if candidate.chunks is None else whole_chunks(shape, candidate.chunks)
    return RankedLayout(
        candidate.name,
        candidate.order,
        candidate.chunks,
        candidate.formats(formats),
        one.seconds,
        one.total,
        candidate.shards,
        codecs,
        round(math.prod(lengths) * itemsize / candidate.storage.cost.ratio),
    )


def whole_chunks(shape: Sequence[int], chunks: Sequence[int]) -> list[int]:
    """Return the lengths of an array with whole chunks at the edge, as they are stored."""
    return [-(-n // c) * c for n, c in zip(shape, chunks, strict=True)]


def _kind(layout: RankedLayout) -> tuple[Any, ...]:
    """Return the way in which it stores chunks."""
    return layout.formats, layout.shards is None, layout.codecs


def in_seconds(seconds: float) -> str:
    """Return the seconds with three digits: 45.1 us, 1.2 ms, 31 s."""
    for unit, scale in (("us", 1e-6), ("ms", 1e-3)):
        if seconds < 999.5 * scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:,.0f} s"
