"""Operations for a simulated machine: which array, which part of it each rank has, the direction and the method."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from swath.errors import ArgumentError
from swath.space import Block, Distribution, Rule, Whole, balanced_grid

METHODS = ("auto", "direct", "sieve", "list", "datatype", "two-phase")
Box = tuple[tuple[int, ...], tuple[int, ...]]
"""The first index of each dimension, and the index behind the last one."""
Shares = Distribution | tuple[tuple[Box, ...], ...]
"""The elements of each rank: a distribution, or the boxes of each rank."""


@dataclass(frozen=True)
class Operation:
    """One collective read or write of an array in a file, or a redistribution in memory.

    Attributes:
        shape: elements along each dimension.
        dtype: the type of the elements, as NumPy writes it.
        distribution: which elements each rank has; or the boxes of each rank, a list for each.
        write: whether it is a write.
        method: how it is carried out: "auto" chooses as a program would.
        order: "C", "F", or the dimensions from the slowest to the fastest in the file.
        file: the name of the file; operations with one name share it.
        selection: the start and the end of the accessed part along each dimension; None for the whole array.
        tuning: sizes of the method, by their names in `Array.read`.
        repeat: how often the operation is carried out.
        gap_seconds: how long each rank computes before it.
        sync: whether the file is synchronised after it.
        name: what it is called in reports.
        redistributed_to: which elements each rank has after a redistribution, which uses no file; None for a read or
            write.
    """

    shape: tuple[int, ...]
    dtype: str
    distribution: Shares
    write: bool = False
    method: str = "auto"
    order: str | tuple[int, ...] = "C"
    file: str = "data"
    selection: Box | None = None
    tuning: Mapping[str, int] = field(default_factory=dict)
    repeat: int = 1
    gap_seconds: float = 0.0
    sync: bool = False
    name: str = ""
    redistributed_to: Shares | None = None

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ArgumentError(f'operation: method="{self.method}": expected one of {", ".join(METHODS)}')
        if not self.shape or any(extent < 1 for extent in self.shape):
            raise ArgumentError(f"operation: shape={self.shape}: expected at least 1 element along each dimension")
        if self.repeat < 1 or self.gap_seconds < 0:
            raise ArgumentError(
                f"operation: repeat={self.repeat}, gap_seconds={self.gap_seconds}: expected at least 1, and at least 0"
            )
        self.element_bytes  # noqa: B018 - raises for a type that cannot be

    @property
    def element_bytes(self) -> int:
        """Return the bytes of an element."""
        try:
            return int(np.dtype(self.dtype).itemsize)
        except TypeError:
            raise ArgumentError(f'operation: dtype="{self.dtype}": expected a type as NumPy writes it: f8') from None

    @property
    def bytes(self) -> int:
        """Return the bytes that all ranks want, of one repetition."""
        if not isinstance(self.distribution, Distribution):
            counts = [_count(box) for boxes in self.distribution for box in boxes]
        elif self.selection is not None:
            counts = [_count(self.selection)]
        else:
            counts = [_count((tuple(0 for _ in self.shape), self.shape))]
        return sum(counts) * self.element_bytes

    def by(self, method: str) -> Operation:
        """Return the same operation by another method."""
        return replace(self, method=method)

    def to_dict(self) -> dict[str, Any]:
        """Return the operation in the form of the simulator."""
        made: dict[str, Any] = {
            "name": self.name,
            "file": self.file,
            "shape": list(self.shape),
            "dtype": self.dtype,
            "element_bytes": self.element_bytes,
            "order": self.order if isinstance(self.order, str) else list(self.order),
            "write": self.write,
            "method": self.method,
            "tuning": dict(self.tuning),
            "repeat": self.repeat,
            "gap": self.gap_seconds,
            "sync": self.sync,
        }
        made |= _shares(self.distribution, self.selection)
        if self.redistributed_to is not None:
            made["redistributed_to"] = _shares(self.redistributed_to, self.selection)
        return made


@dataclass(frozen=True)
class ExactOperation:
    """An operation of Swath in a trace, as it was carried out: its array with the layout, distribution, and sizes.

    Attributes:
        exact: its bytes, as `swath._core.Operation.serialise` makes them.
        file: the name of the file.
        file_bytes: the bytes of the file.
        bytes: the bytes that all ranks want.
        write: whether it is a write.
        method: how it is carried out; "" for the method of the program's call.
        gap_seconds: how long each rank computed before it; or a tuple with the seconds of each rank.
        name: what it is called in reports.
        repeat: how often it is carried out.
        rank: the rank that makes it alone; None for an operation of all ranks.
    """

    exact: bytes
    file: str
    file_bytes: int
    bytes: int
    write: bool
    method: str = ""
    gap_seconds: float | tuple[float, ...] = 0.0
    name: str = ""
    repeat: int = 1
    rank: int | None = None

    def by(self, method: str) -> ExactOperation:
        """Return the same operation by another method."""
        return replace(self, method=method)

    def to_dict(self) -> dict[str, Any]:
        """Return the operation in the form of the simulator."""
        made: dict[str, Any] = {
            "name": self.name,
            "file": self.file,
            "exact": base64.b64encode(self.exact).decode(),
            "file_bytes": self.file_bytes,
            "write": self.write,
            "repeat": self.repeat,
            "gap": self.gap_seconds,
        }
        if self.rank is not None:
            made["rank"] = self.rank
        return made | ({"method": self.method} if self.method else {})


AnyOperation = Operation | ExactOperation


def distributed(
    shape: Sequence[int],
    dtype: str,
    rules: Sequence[Rule] | None = None,
    *,
    ranks: int,
    grid: Sequence[int] | None = None,
    **options: Any,
) -> Operation:
    """Return an operation on an array that is divided by one rule for each dimension.

    Args:
        shape: elements along each dimension.
        dtype: the type of the elements.
        rules: `Block()`, `Cyclic(k)` or `Whole()` for each dimension; by default blocks of the first dimension.
        ranks: the number of ranks.
        grid: processes along each dimension; by default as even as can be.
        options: further attributes of `Operation`.

    Raises:
        ArgumentError: rules, shape and grid do not match.
    """
    rules = tuple(rules) if rules is not None else (Block(), *(Whole() for _ in shape[1:]))
    if len(rules) != len(shape):
        raise ArgumentError(
            f"operation: {len(rules)} rules for an array of {len(shape)} dimensions: expected one for each dimension"
        )
    distribution = Distribution(rules, tuple(grid) if grid is not None else balanced_grid(rules, ranks))
    if distribution.size > ranks:
        raise ArgumentError(f"operation: grid={distribution.grid}: {distribution.size} processes for {ranks} ranks")
    return Operation(tuple(shape), dtype, distribution, **options)


def _shares(shares: Shares, selection: Box | None) -> dict[str, Any]:
    """Return the elements of each rank in the form of the simulator."""
    if not isinstance(shares, Distribution):
        return {"boxes": [[[list(low), list(high)] for low, high in boxes] for boxes in shares]}
    rules = [{"kind": kind, "size": size} for kind, size in (rule._rule() for rule in shares.rules)]
    made: dict[str, Any] = {"distribution": {"rules": rules, "grid": list(shares.grid)}}
    if selection is not None:
        made["selection"] = [[start, 1, end - start] for start, end in zip(*selection, strict=True)]
    return made


def _count(box: Box) -> int:
    count = 1
    for low, high in zip(*box, strict=True):
        count *= max(0, high - low)
    return count
