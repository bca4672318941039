"""Changes that a replay can make to a run: what advice proposes, as data. `applying.apply` makes them. Pure."""

from __future__ import annotations

from dataclasses import Field, dataclass, fields
from typing import Any, ClassVar

from swath.errors import ArgumentError


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change of a run.

    Attributes:
        file: the file that it concerns, by its path in the trace or by the last part of it; "" for all files.
        phase: the I/O phase that it concerns, from 0, as `Run.phases` counts them; None for all.
    """

    name: ClassVar[str] = ""
    file: str = ""
    phase: int | None = None

    @property
    def words(self) -> str:
        """Return it as `swath replay --with` takes it: NAME or NAME=VALUE, then ,file=FILE and ,phase=NUMBER."""
        own = _own_fields(type(self))
        value = getattr(self, own[0].name) if own else None
        text = self.name if value is None else f"{self.name}={value}"
        others = [one for one in fields(self) if one not in own[:1] and getattr(self, one.name) != one.default]
        return text + "".join(f",{one.name}={getattr(self, one.name)}" for one in others)


def _own_fields(kind: type[Change]) -> list[Field[Any]]:
    """Return the fields that other changes do not have."""
    return [one for one in fields(kind) if one.name not in ("file", "phase")]


@dataclass(frozen=True, kw_only=True)
class Collective(Change):
    """Independent accesses of all ranks in a phase become one collective access of the whole range."""

    name: ClassVar[str] = "collective"


@dataclass(frozen=True, kw_only=True)
class AllRanks(Change):
    """What one rank reads or writes for all becomes collective accesses, of which each rank moves an equal part.

    Attributes:
        ranks: how many ranks move a part; None: the ranks that have calls in the log.
    """

    name: ClassVar[str] = "all-ranks"
    ranks: int | None = None


@dataclass(frozen=True, kw_only=True)
class Method(Change):
    """Operations of Swath use this method: "direct", "sieve", "list", "two-phase" or "auto"."""

    name: ClassVar[str] = "method"
    method: str


@dataclass(frozen=True, kw_only=True)
class Streams(Change):
    """At most this number of ranks transfer at a time; "auto" lets Swath find the number."""

    name: ClassVar[str] = "streams"
    streams: int | str


@dataclass(frozen=True, kw_only=True)
class Layout(Change):
    """The file has another order, "C" or "F" (of dimensions), or chunks: "64x64"."""

    name: ClassVar[str] = "layout"
    layout: str


@dataclass(frozen=True, kw_only=True)
class Prefetch(Change):
    """Reads are started ahead, this number of reads, while the program computes."""

    name: ClassVar[str] = "prefetch"
    depth: int = 1


@dataclass(frozen=True, kw_only=True)
class WriteBehind(Change):
    """Writes go on in the background while the program computes, up to this number of writes."""

    name: ClassVar[str] = "write-behind"
    depth: int = 1


@dataclass(frozen=True, kw_only=True)
class Merge(Change):
    """Calls that follow each other in the file become calls of up to this number of bytes."""

    name: ClassVar[str] = "merge"
    bytes: int = 4 << 20


@dataclass(frozen=True, kw_only=True)
class Sieve(Change):
    """Reads of small regions become reads of the windows around them, from which the regions are picked."""

    name: ClassVar[str] = "sieve"


@dataclass(frozen=True, kw_only=True)
class Cache(Change):
    """Each rank keeps in memory what it reads of a file, up to this number of bytes, and does not read it again."""

    name: ClassVar[str] = "cache"
    bytes: int


@dataclass(frozen=True, kw_only=True)
class OneSync(Change):
    """Each rank synchronises a file once, after its last write, instead of several times."""

    name: ClassVar[str] = "one-sync"


@dataclass(frozen=True, kw_only=True)
class KeepOpen(Change):
    """Each rank opens a file once and keeps it open, instead of opening it several times."""

    name: ClassVar[str] = "keep-open"


@dataclass(frozen=True, kw_only=True)
class Aggregators(Change):
    """Collective operations of Swath use this number of aggregators."""

    name: ClassVar[str] = "aggregators"
    aggregators: int


@dataclass(frozen=True, kw_only=True)
class Balance(Change):
    """This fraction of the reads is left out: their data are computed again, in so many seconds each."""

    name: ClassVar[str] = "balance"
    fraction: float
    seconds: float = 0.0


KINDS: tuple[type[Change], ...] = (
    Collective,
    AllRanks,
    Method,
    Streams,
    Layout,
    Prefetch,
    WriteBehind,
    Merge,
    Sieve,
    Cache,
    OneSync,
    KeepOpen,
    Aggregators,
    Balance,
)


def parsed(text: str) -> Change:
    """Return the change that `Change.words` describes: NAME[=VALUE][,file=FILE][,phase=NUMBER].

    Raises:
        ArgumentError: there is no change of this name, or it does not take this value.
    """
    first, *more = text.split(",")
    name, has_value, value = first.partition("=")
    kinds = {kind.name: kind for kind in KINDS}
    if name not in kinds:
        raise ArgumentError(f"replay: there is no change {name!r}: expected one of {', '.join(kinds)}")
    kind = kinds[name]
    own = _own_fields(kind)
    try:
        given = [(own[0].name, value)] if has_value else []
        while more and "=" not in more[0] and given:  # a value with commas: the order of dimensions
            given[0] = (given[0][0], f"{given[0][1]},{more.pop(0)}")
        given += [(key, of_key) for key, _, of_key in (part.partition("=") for part in more)]
        types = {one.name: str(one.type) for one in fields(kind)}
        values: dict[str, Any] = {key: _value(types[key], of_key) for key, of_key in given}
        return kind(**values)
    except (IndexError, KeyError, TypeError, ValueError):
        takes = f"{name}={own[0].name.upper()}" if own else f"{name}, without a value"
        raise ArgumentError(
            f"replay: {text!r} is no change: expected {takes}, then ,file=FILE and ,phase=NUMBER"
        ) from None


def _value(annotation: str, value: str) -> int | float | str:
    if not value:
        raise ValueError(value)
    if annotation == "float":
        return float(value)
    if annotation.startswith("int") and not (value == "auto" and "str" in annotation):
        number = int(value)
        if number < (0 if "None" in annotation else 1):
            raise ValueError(value)
        return number
    return value
