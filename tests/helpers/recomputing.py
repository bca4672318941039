"""Recomputes the numbers of an advice by the commands that it prints. It shares no code with rules or formulas."""

from __future__ import annotations

import ast
import json
import math
import operator
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
