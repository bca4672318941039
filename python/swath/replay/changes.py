"""Changes that a replay can make to a run: what advice proposes, as data. `applying.apply` makes them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
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
        """Return it as `swath replay --with` takes it: NAME or NAME=VALUE."""
        own = [str(getattr(self, one.name)) for one in fields(self) if one.name not in ("file", "phase")]
        value = f"{self.name}={own[0]}" if own else self.name
        file = f",file={self.file}" if self.file else ""
        return f"{value}{file}" + ("" if self.phase is None else f",phase={self.phase}")


@dataclass(frozen=True, kw_only=True)
class Collective(Change):
    """Independent accesses of all ranks in a phase become one collective access of the whole range."""

    name: ClassVar[str] = "collective"


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
    """This fraction of the reads is left out: their data are computed again instead."""

    name: ClassVar[str] = "balance"
    fraction: float


KINDS: tuple[type[Change], ...] = (
    Collective,
    Method,
    Streams,
    Layout,
    Prefetch,
    WriteBehind,
    Merge,
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
    name, _, value = first.partition("=")
    kinds = {kind.name: kind for kind in KINDS}
    if name not in kinds:
        raise ArgumentError(f"replay: there is no change {name!r}: expected one of {', '.join(kinds)}")
    kind = kinds[name]
    own = [one for one in fields(kind) if one.name not in ("file", "phase")]
    try:
        arguments: dict[str, Any] = _where(more)
        if value:
            arguments[own[0].name] = _value(own[0].type, value)
        return kind(**arguments)
    except (IndexError, TypeError, ValueError):
        takes = f"{name}={own[0].name.upper()}" if own else f"{name}, without a value"
        raise ArgumentError(
            f"replay: {text!r} is no change: expected {takes}, then ,file=FILE and ,phase=NUMBER"
        ) from None


def _where(parts: Sequence[str]) -> dict[str, Any]:
    said: dict[str, Any] = {}
    for part in parts:
        key, _, value = part.partition("=")
        if key not in ("file", "phase") or not value:
            raise ValueError(part)
        said[key] = int(value) if key == "phase" else value
    return said


def _value(annotation: object, value: str) -> int | float | str:
    kind = str(annotation)
    if kind == "float":
        return float(value)
    if "int" in kind and not (value == "auto" and "str" in kind):
        number = int(value)
        if number < 1:
            raise ValueError(value)
        return number
    return value
