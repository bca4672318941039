"""The rules: a module for each kind of advice, with one function, which looks at a run and yields its findings.

They are in the order of the systematic approach of Kandaswamy et al. 2002, figure 12, but for the interface
(`advice.Step`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from swath.advice.runs.advice import Finding
from swath.advice.runs.question import Question
from swath.advice.runs.rules import (
    aggregators,
    balance,
    collective,
    holes,
    interface,
    layout,
    metadata,
    overlap,
    parallelism,
    recompute,
    repeated,
    servers,
    sieve,
    streams,
)

Rule = Callable[[Question], Iterator[Finding]]

RULES: tuple[Rule, ...] = (
    parallelism.findings,
    collective.findings,
    layout.findings,
    interface.findings,
    sieve.findings,
    overlap.findings,
    repeated.findings,
    streams.findings,
    recompute.findings,
    balance.findings,
    servers.findings,
    aggregators.findings,
    holes.findings,
    metadata.findings,
)
"""All rules in the order in which their advice is given."""
