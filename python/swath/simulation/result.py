"""What a simulated run took: seconds of each phase, bytes and requests of servers and links, messages, memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from swath.base.units import in_bytes, in_seconds
from swath.simulation.machine import Machine
from swath.simulation.operations import AnyOperation

CACHE_KEYS = ("cache_hit_bytes", "written_back_bytes")
NAMES_MAX = 8
"""Operations of single ranks have a line for each name, up to so many names; then a line for all."""


@dataclass(frozen=True)
class Spread:
    """The least, the mean and the largest of some numbers."""

    least: float
    mean: float
    most: float

    @classmethod
    def of(cls, numbers: Sequence[float]) -> Spread:
        """Return them; zeros for no numbers."""
        return cls(min(numbers), sum(numbers) / len(numbers), max(numbers)) if numbers else cls(0.0, 0.0, 0.0)


class Simulated:
    """The result of `swath.simulate`.

    Attributes:
        machine: the machine.
        operations: the operations.
        ranks: the number of ranks.
        seed: the seed of the noise.
        noise: the noise, as a part of each time.
        values: everything that the simulator reports.
    """

    def __init__(
        self,
        machine: Machine,
        operations: Sequence[AnyOperation],
        ranks: int,
        seed: int,
        noise: float,
        values: dict[str, Any],
    ) -> None:
        self.machine, self.operations = machine, list(operations)
        self.ranks, self.seed, self.noise = ranks, seed, noise
        self.values = values

    @property
    def seconds(self) -> float:
        """Return the simulated time of all operations."""
        return float(self.values["seconds"])

    @property
    def bytes(self) -> int:
        """Return the bytes that the ranks wanted to move."""
        return sum(one.bytes * one.repeat for one in self.operations)

    @property
    def methods(self) -> list[str]:
        """Return the method of each operation."""
        return [str(one["method"]) for one in self.values["operations"]]

    @property
    def phases(self) -> dict[str, float]:
        """Return the seconds of each phase: the mean over the ranks."""
        return dict(self.values["phases"])

    @property
    def limit(self) -> str:
        """Return where most of the time goes, in words."""
        busiest = max(self.values["servers"], key=lambda one: one["busy_seconds"], default=None)
        if busiest is not None and self.seconds > 0 and busiest["busy_seconds"] > 0.8 * self.seconds:
            busy, took = in_seconds(busiest["busy_seconds"]), in_seconds(self.seconds)
            return f"the servers: the busiest one works {busy} (its processor, and its disks on average) in {took}"
        phase, seconds = max(self.phases.items(), key=lambda one: one[1], default=("nothing", 0.0))
        part = 100 * seconds / self.seconds if self.seconds > 0 else 0
        return f"{phase}: ranks spend {part:.0f} % of the time in it"

    def spread_of_servers(self, key: str) -> Spread:
        """Return the least, mean and most of a number of the servers: "bytes", "requests", "busy_seconds"."""
        return Spread.of([one[key] for one in self.values["servers"]])

    def in_words(self, key: str) -> tuple[str, str, str]:
        """Return the least, mean and most of a number of the servers as texts."""
        spread = self.spread_of_servers(key)
        least, mean, most = spread.least, spread.mean, spread.most
        if key.endswith("_seconds"):
            return in_seconds(least), in_seconds(mean), in_seconds(most)
        if key == "bytes":
            return in_bytes(int(least)), in_bytes(int(mean)), in_bytes(int(most))
        return f"{least:,.0f}", f"{mean:,.0f}", f"{most:,.0f}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {
            "machine": {"name": self.machine.name, "path": self.machine.path, **self.machine.values},
            "operations_given": [_short(one) for one in self.operations],
            "ranks": self.ranks,
            "seed": self.seed,
            "noise": self.noise,
            "bytes": self.bytes,
            "bytes_per_second": self.bytes / self.seconds if self.seconds > 0 else None,
            "limited_by": self.limit,
            **self.values,
        }

    def __str__(self) -> str:
        return "\n".join(self._lines()) + "\n"

    def __repr__(self) -> str:
        took = f"{in_bytes(self.bytes)} by {self.ranks} ranks: {in_seconds(self.seconds)}"
        return f"<Simulated: {took} on {self.machine.name}>"

    def _repr_html_(self) -> str:
        from swath.simulation.report import fragment

        return fragment(self)

    def _lines_of_operations(self) -> Iterator[str]:
        """Return a line for all operations of one name and method."""
        values = self.values["operations"]
        names = {one["name"] for one in values if "rank" in one}
        counted: dict[tuple[str, str, bool], list[dict[str, Any]]] = {}
        for one in values:
            name, is_alone = one["name"] or "operation", "rank" in one
            if is_alone and len(names) > NAMES_MAX:
                name = f"{name.partition(' ')[0]} of many files"
            counted.setdefault((name, one["method"], is_alone), []).append(one)
        for (name, method, is_alone), found in counted.items():
            if is_alone:
                yield _alone(name, method, found)
            else:
                times = f"{len(found)} × " if len(found) > 1 else ""
                yield f"  {times}{name}: {method}, {in_seconds(sum(one['seconds'] for one in found))}"

    def _lines(self) -> Iterator[str]:
        rate = f", {in_bytes(int(self.bytes / self.seconds))}/s" if self.seconds > 0 else ""
        yield f"{self.machine.name}: {in_bytes(self.bytes)} by {self.ranks:,} ranks: {in_seconds(self.seconds)}{rate}"
        yield from self._lines_of_operations()
        phases = ", ".join(f"{name} {in_seconds(seconds)}" for name, seconds in self.phases.items() if seconds > 0)
        yield f"phases, mean of the ranks: {phases or 'none'}"
        count = len(self.values["servers"])
        for key in ("bytes", "requests", "busy_seconds"):
            least, mean, most = self.in_words(key)
            yield f"{count:,} servers, {key.removesuffix('_seconds')}: least {least}, mean {mean}, most {most}"
        if self.machine.values["servers"]["cache_bytes"]:
            hits, written = (int(sum(one[key] for one in self.values["servers"])) for key in CACHE_KEYS)
            yield f"page caches of the servers: {in_bytes(hits)} of reads were there, {in_bytes(written)} written back"
        for name, link in self.values["links"].items():
            yield f"links, {name}: {in_bytes(int(link['bytes']))} in {int(link['messages']):,} messages"
        for name, messages in self.values["messages"].items():
            yield f"messages of a rank to {name}: mean {messages['mean']:.1f}, most {int(messages['max']):,}"
        yield f"limited by {self.limit}"


def _alone(name: str, method: str, found: list[dict[str, Any]]) -> str:
    """Return the line of operations that single ranks made, each by itself."""
    of_rank: dict[int, float] = {}
    for one in found:
        of_rank[one["rank"]] = of_rank.get(one["rank"], 0.0) + one["seconds"]
    who = f"each of {len(of_rank):,} ranks" if len(of_rank) > 1 else f"rank {found[0]['rank']}"
    return f"  {len(found):,} × {name}: {method}, by {who} alone, at most {in_seconds(max(of_rank.values()))} of a rank"


def _short(operation: AnyOperation) -> dict[str, Any]:
    """Return an operation without the boxes of its ranks, which may be millions."""
    made = operation.to_dict()
    if "boxes" in made:
        made["boxes"] = f"{sum(map(len, made['boxes'])):,} boxes of {len(made['boxes']):,} ranks"
    return made
