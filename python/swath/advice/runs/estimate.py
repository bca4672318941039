"""Formulas over named values, each with the command that prints it. Pure.

A formula's number and its text come from the same tree, so that they cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

SUMS, PRODUCTS, WHOLE = 1, 2, 3
"""How tightly the parts of a text are bound: terms of a sum, factors of a product, and what needs no parentheses."""
TOP = ("low", "likely", "high", "part", "seconds", "calls", "bytes")
"""The names of the numbers of an advice."""


class Formula:
    """A number, and how it is computed.

    Attributes:
        number: the number.
        binding: how tightly the parts of its text are bound.
    """

    binding = WHOLE

    def __init__(self, number: float) -> None:
        self.number = float(number)

    def text(self, names: Names) -> str:
        """Return it as arithmetic text, with the names that `names` gives to its values."""
        raise NotImplementedError

    def named(self, name: str) -> Formula:
        """Return it as a formula that others refer to by a name."""
        return _Named(self, name)

    def __add__(self, other: Formula | int) -> Formula:
        return _Joined("+", self, _formula(other))

    def __sub__(self, other: Formula | int) -> Formula:
        return _Joined("-", self, _formula(other))

    def __rsub__(self, other: int) -> Formula:
        return _Joined("-", _formula(other), self)

    def __mul__(self, other: Formula | int) -> Formula:
        return _Joined("*", self, _formula(other))

    def __rmul__(self, other: int) -> Formula:
        return _Joined("*", _formula(other), self)

    def __truediv__(self, other: Formula | int) -> Formula:
        return _Joined("/", self, _formula(other))

    def __rtruediv__(self, other: int) -> Formula:
        return _Joined("/", _formula(other), self)


class Value(Formula):
    """A number that a command prints, or a stated one with its reason.

    Attributes:
        name: the name that it gets in formulas, if it is free.
        command: the command that prints the number; "" for a stated one.
        reason: why a stated number is what it is; "" for a printed one.
    """

    def __init__(self, number: float, name: str, command: str = "", reason: str = "") -> None:
        super().__init__(number)
        self.name, self.command, self.reason = name, command, reason

    def text(self, names: Names) -> str:
        """Return its name."""
        return names.of_value(self)


class Literal(Formula):
    """A whole number that needs no reason, such as the 1 in `1 - a / b`."""

    def text(self, names: Names) -> str:
        """Return its digits."""
        return f"{self.number:g}"


class _Named(Formula):
    def __init__(self, formula: Formula, name: str) -> None:
        super().__init__(formula.number)
        self.formula, self.name = formula, name

    def text(self, names: Names) -> str:
        return names.of_formula(self.name, self.formula.text(names))


class Reference(Formula):
    """A number of the advice itself, by its name in `TOP`."""

    def __init__(self, formula: Formula, name: str) -> None:
        super().__init__(formula.number)
        self.name = name

    def text(self, names: Names) -> str:
        """Return its name."""
        return self.name


OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}


class _Joined(Formula):
    def __init__(self, sign: str, left: Formula, right: Formula) -> None:
        super().__init__(OPERATIONS[sign](left.number, right.number))
        self.sign, self.left, self.right = sign, left, right
        self.binding = SUMS if sign in "+-" else PRODUCTS

    def text(self, names: Names) -> str:
        left, right = (one.text(names) for one in (self.left, self.right))
        left = f"({left})" if self.left.binding < self.binding else left
        right = f"({right})" if self.right.binding <= self.binding else right
        return f"{left} {self.sign} {right}"


FUNCTIONS: dict[str, Callable[[Iterable[float]], float]] = {"min": min, "max": max, "sum": sum}


class _Called(Formula):
    def __init__(self, name: str, parts: tuple[Formula, ...]) -> None:
        super().__init__(FUNCTIONS[name](one.number for one in parts))
        self.name, self.parts = name, parts

    def text(self, names: Names) -> str:
        return f"{self.name}({', '.join(one.text(names) for one in self.parts)})"


def _formula(one: Formula | int) -> Formula:
    return one if isinstance(one, Formula) else Literal(one)


def least(*parts: Formula | int) -> Formula:
    """Return the least of several formulas."""
    return _Called("min", tuple(map(_formula, parts)))


def greatest(*parts: Formula | int) -> Formula:
    """Return the greatest of several formulas."""
    return _Called("max", tuple(map(_formula, parts)))


def total(parts: Iterable[Formula]) -> Formula:
    """Return the sum of formulas; 0 for none."""
    listed = tuple(parts)
    if not listed:
        return Literal(0)
    return listed[0] if len(listed) == 1 else _Called("sum", listed)


def stated(number: float, name: str, reason: str) -> Value:
    """Return a stated number. The reason says why it is what it is."""
    return Value(number, name, reason=reason)


@dataclass
class Names:
    """The names of the values and formulas of one advice; each has another one.

    Attributes:
        values: the values by their names.
        formulas: the texts of formulas by their names, in an order in which they can be evaluated.
    """

    values: dict[str, Value] = field(default_factory=dict)
    formulas: dict[str, str] = field(default_factory=dict)
    _known: dict[tuple[str, ...], str] = field(default_factory=dict)

    def of_value(self, value: Value) -> str:
        """Return the name of a value: values of one command are one value."""
        key = ("value", value.command or f"{value.name} {value.number} {value.reason}")
        if key not in self._known:
            self._known[key] = self._free(value.name)
            self.values[self._known[key]] = value
        return self._known[key]

    def of_formula(self, name: str, text: str) -> str:
        """Return the name of a formula: formulas of one text are one formula."""
        key = ("formula", text)
        if key not in self._known:
            self._known[key] = self._free(name)
            self.formulas[self._known[key]] = text
        return self._known[key]

    def _free(self, name: str) -> str:
        free, number = name, 1
        while free in self.values or free in self.formulas or free in TOP:
            number += 1
            free = f"{name}_{number}"
        return free


def as_data(formulas: dict[str, Formula], facts: Iterable[Formula] = ()) -> dict[str, Any]:
    """Return formulas and their values as plain data: "formulas" by their names, and "values" with their commands.

    Args:
        formulas: the numbers of an advice, by the names of `TOP`.
        facts: values and named formulas that words of the advice mention.
    """
    names = Names()
    texts = {name: one.text(names) for name, one in formulas.items()}
    for one in facts:
        one.text(names)
    values = {name: {"value": one.number, **_origin(one)} for name, one in names.values.items()}
    return {"formulas": {**texts, **names.formulas}, "values": values}


def _origin(value: Value) -> dict[str, str]:
    return {"command": value.command} if value.command else {"reason": value.reason}


@dataclass(frozen=True)
class RankSeconds:
    """The seconds of each rank in some calls, as numbers and as formulas.

    Attributes:
        numbers: the seconds by rank; ranks without calls are left out.
        of: returns the formula of a rank.
    """

    numbers: dict[int, float]
    of: Callable[[int], Formula]

    @property
    def slowest_rank(self) -> int:
        """Return the rank with most seconds."""
        return max(self.numbers, key=lambda rank: self.numbers[rank])

    @property
    def slowest(self) -> Formula:
        """Return the formula of the rank with most seconds; 0 if there are no ranks."""
        return self.of(self.slowest_rank) if self.numbers else Literal(0)

    def times(self, factor: Formula) -> RankSeconds:
        """Return the seconds multiplied by a factor."""
        of = self.of
        numbers = {rank: seconds * factor.number for rank, seconds in self.numbers.items()}
        return RankSeconds(numbers, lambda rank: (of(rank) * factor).named("remaining"))


def sum_of(parts: Iterable[RankSeconds]) -> RankSeconds:
    """Return the sums of the seconds, rank by rank."""
    listed = list(parts)
    numbers: dict[int, float] = {}
    for one in listed:
        for rank, seconds in one.numbers.items():
            numbers[rank] = numbers.get(rank, 0.0) + seconds
    return RankSeconds(numbers, lambda rank: total(one.of(rank) for one in listed if rank in one.numbers))


@dataclass(frozen=True)
class Estimate:
    """The seconds of some calls, and what a change saves of those of the slowest rank.

    Attributes:
        seconds: the seconds of each rank now: measured ones, or priced ones for another store.
        low: the least that is saved; negative if the change may cost time.
        likely: the prediction.
        high: the most.
    """

    seconds: RankSeconds
    low: Formula
    likely: Formula
    high: Formula

    @property
    def saved_part(self) -> Formula:
        """Return the part of the seconds that the change saves."""
        return self.likely / self.seconds.slowest if self.seconds.slowest.number > 0 else Literal(0)
