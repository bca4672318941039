"""Formulas: their text and their number come from one tree, and names are unique."""

from __future__ import annotations

import pytest

from swath.advice.runs.estimate import (
    Formula,
    Literal,
    Names,
    RankSeconds,
    Value,
    as_data,
    greatest,
    least,
    stated,
    sum_of,
    total,
)

A, B, C = (Value(number, name, f"print {name}") for number, name in ((2.0, "a"), (3.0, "b"), (7.0, "c")))


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (A + B * C, "a + b * c"),
        ((A + B) * C, "(a + b) * c"),
        (A - (B - C), "a - (b - c)"),
        (A / (B * C), "a / (b * c)"),
        (A * (1 - B / C), "a * (1 - b / c)"),
        (2 * A - 1, "2 * a - 1"),
        (1 / A, "1 / a"),
        (least(A, B + C, 1), "min(a, b + c, 1)"),
        (greatest(A - B, 0), "max(a - b, 0)"),
        (total([A, B, C]), "sum(a, b, c)"),
        (total([A]), "a"),
        (total([]), "0"),
    ],
)
def test_text_and_number_agree(formula: Formula, text: str) -> None:
    assert formula.text(Names()) == text
    known = {"a": 2.0, "b": 3.0, "c": 7.0, "min": min, "max": max, "sum": lambda *parts: sum(parts)}
    assert formula.number == pytest.approx(eval(text, known))


def test_each_command_has_one_name_and_each_name_one_command() -> None:
    again, other = Value(2.0, "a", "print a"), Value(5.0, "a", "print d")
    said = as_data({"likely": A + again + other + stated(4.0, "low", "as agreed")})
    assert said["formulas"] == {"likely": "a + a + a_2 + low_2"}
    assert said["values"] == {
        "a": {"value": 2.0, "command": "print a"},
        "a_2": {"value": 5.0, "command": "print d"},
        "low_2": {"value": 4.0, "reason": "as agreed"},
    }


def test_named_formulas_are_written_once_and_before_those_that_need_them() -> None:
    part = (A / B).named("part")
    rest = (1 - part).named("rest")
    said = as_data({"likely": rest * C, "low": rest * A}, [(A / C).named("fact")])
    assert said["formulas"] == {
        "likely": "rest * c",
        "low": "rest * a",
        "part_2": "a / b",
        "rest": "1 - part_2",
        "fact": "a / c",
    }


def test_seconds_of_ranks_are_added_rank_by_rank() -> None:
    first = RankSeconds({0: 1.0, 1: 4.0}, lambda rank: Value((1.0, 4.0)[rank], f"first_{rank}", f"print first {rank}"))
    second = RankSeconds({1: 2.0}, lambda rank: Value(2.0, f"second_{rank}", f"print second {rank}"))
    both = sum_of([first, second])
    assert both.numbers == {0: 1.0, 1: 6.0}
    assert both.slowest_rank == 1
    assert both.slowest.text(Names()) == "sum(first_1, second_1)"
    half = first.times(Literal(1) / Literal(2))
    assert half.numbers == {0: 0.5, 1: 2.0}
    assert half.slowest.number == 2.0
    assert RankSeconds({}, lambda _: A).slowest.number == 0.0
