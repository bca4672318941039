"""The two distributions belong together: the benchmarks require the Swath that they were written for."""

from __future__ import annotations

import re
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1]


def version_in(text: str) -> str:
    (version,) = re.findall(r'^version = "(.+)"$', text, re.MULTILINE)
    return str(version)


def test_the_benchmarks_have_the_version_of_swath_and_need_that_one() -> None:
    swath, benchmarks = ((folder / "pyproject.toml").read_text() for folder in (BENCHMARKS.parent, BENCHMARKS))
    assert version_in(benchmarks) == version_in(swath)
    assert f'"swath=={version_in(swath)}"' in benchmarks
