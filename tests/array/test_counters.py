"""Counters have the same names in Python, in plans and in the core: core/base/counters.h has the only list."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

import swath
from swath import _core
from swath.array.counters import Counters, IoAmounts


def test_counters_are_those_of_the_core() -> None:
    of_the_core = {name for name, member in vars(_core.Counters).items() if isinstance(member, property)}
    assert {field.name for field in dataclasses.fields(Counters)} == of_the_core | {
        "method",
        "waited_seconds",
        "hidden_seconds",
    }


def test_plans_predict_what_operations_count(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((4, 4)))
    with swath.open(tmp_path / "a.npy") as a:
        predicted = a.explain().cost("direct", 0)
        a.read()
        counted = a.counters.to_dict()
    amounts = {field.name for field in dataclasses.fields(IoAmounts)}
    assert amounts == predicted.keys() - {"requests", "exact"}
    assert next(iter(counted)) == "method"
    assert amounts < counted.keys()
