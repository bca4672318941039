"""Recomputes the numbers of an advice by the commands that it prints. It shares no code with rules or formulas."""

from __future__ import annotations

import ast
import json
import math
import operator
import re
import shlex
from collections.abc import Callable
from typing import Any

LITERALS = (0, 1, 2)
"""Formulas have no other numbers in them: each has a name, and a command or a reason."""
SIGNS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
FUNCTIONS: dict[str, Callable[..., float]] = {
    "min": lambda *numbers: min(numbers),
    "max": lambda *numbers: max(numbers),
    "sum": lambda *numbers: math.fsum(numbers),
}

NUMBER = re.compile(r"(?<![\w./(])(\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)( (?:B|KiB|MiB|GiB)\b|%)?")
UNITS = {"": 1.0, "B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "%": 0.01}
NO_MEASURE = re.compile(
    r"(rank|server|number|guideline) \d+|less than 1.0 MiB|can hold 4 MiB|[\d,]+ more like these|array of \([^)]*\)"
    r"|; (contiguous|strided|BLOCK|CYCLIC|each rank|\()[^;]*"
)
"""Parts of words that name a thing, a limit of a rule, or the distribution that `swath characterise` prints."""
Printed = Callable[[list[str]], str]
"""Runs a command by its words, without "swath", and returns what it prints."""


def differences(advice: dict[str, Any], printed: Printed) -> list[str]:
    """What is not as the advice says, if each number is computed again: nothing, if all are right.

    Args:
        advice: one advice of `swath advise --json`.
        printed: runs the commands.
    """
    wrong = []
    values = {}
    for name, said in advice["values"].items():
        values[name] = said["value"]
        if "command" in said:
            values[name] = _number(said["command"], printed)
            if not _equal(values[name], said["value"]):
                wrong.append(f"{name}: {said['value']} in the advice, {values[name]} by {said['command']}")
        elif not said["reason"]:
            wrong.append(f"{name}: neither a command nor a reason")
    formulas = {name: ast.parse(text, mode="eval").body for name, text in advice["formulas"].items()}
    evidence = advice["evidence"]
    expected = {**advice["saving"], "part": advice["part"]}
    expected |= {name: evidence[name] for name in ("seconds", "calls", "bytes")}
    for name, number in expected.items():
        found = _evaluated(formulas[name], formulas, values)
        if not _equal(found, number, evidence["seconds"]):
            wrong.append(f"{name}: {number} in the advice, {found} by {advice['formulas'][name]}")
    return wrong


def unexplained(advice: dict[str, Any]) -> list[str]:
    """Numbers in the words of an advice that no value, formula or priced pattern of it has."""
    values = {name: said["value"] for name, said in advice["values"].items()}
    formulas = {name: ast.parse(text, mode="eval").body for name, text in advice["formulas"].items()}
    known = [*values.values(), *(_evaluated(one, formulas, values) for one in formulas.values())]
    for said in advice["values"].values():
        known += [float(number) for number in re.findall(r"=(\d+)\b", said.get("command", ""))]
    words = [advice["title"], advice["evidence"]["what"], advice["condition"], *advice["presumes"]]
    return [
        f"{match[0]!r} in {text!r}"
        for text in words
        for match in NUMBER.finditer(NO_MEASURE.sub("", text))
        if not any(_is_shown_as(number, match[1], match[2] or "") for number in known)
    ]


def _is_shown_as(number: float, digits: str, unit: str) -> bool:
    """Whether words show a number by these digits and this unit, rounded, or up to a whole number."""
    shown = float(digits.replace(",", ""))
    mantissa, _, exponent = digits.replace(",", "").partition("e")
    step = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    scaled = number / UNITS[unit.strip()]
    return abs(scaled - shown) <= step / 2 * (1 + 1e-9) or math.ceil(scaled) == shown


def _equal(found: float, said: float, scale: float = 0.0) -> bool:
    return math.isclose(found, said, rel_tol=1e-9, abs_tol=1e-12 * scale)


def _number(command: str, printed: Printed) -> float:
    program, *words = shlex.split(command)
    assert program == "swath", command
    return float(json.loads(printed([*words, "--json"]))["value"])


def _evaluated(node: ast.expr, formulas: dict[str, ast.expr], values: dict[str, float]) -> float:
    def of(part: ast.expr) -> float:
        return _evaluated(part, formulas, values)

    match node:
        case ast.Constant(value=number):
            assert number in LITERALS, f"{number} has no name"
            return float(number)
        case ast.Name(id=name):
            return values[name] if name in values else of(formulas[name])
        case ast.BinOp(left=left, op=sign, right=right):
            return float(SIGNS[type(sign)](of(left), of(right)))
        case ast.Call(func=ast.Name(id=name), args=parts):
            return FUNCTIONS[name](*map(of, parts))
    raise AssertionError(f"no arithmetic: {ast.unparse(node)}")
