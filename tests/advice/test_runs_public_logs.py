"""Public logs of Darshan: no crash, no impossible advice, and what is known to be wrong in them is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from impossible_advice import impossible
from swath.advice.runs.advise import advise
from swath.advice.runs.store_prices import prices_of
from swath.commands.advise import as_data
from swath.trace.characteristics import characterise
from swath.trace.opening import read_log

darshan = pytest.importorskip("darshan")
LOGS = sorted(Path(darshan.__file__).parent.glob("**/*.darshan"))
DIFFERENT = list({log.read_bytes(): log for log in LOGS}.values())
"""The package has some of them twice."""


def said_of(path: Path) -> dict[str, Any]:
    """What `swath advise --json` says; it must be possible for the log."""
    log = read_log(str(path))
    said = as_data(advise(log, prices_of(None, None, ())))
    assert impossible(characterise(log), said) == []
    return said


def named(name: str) -> list[str]:
    """The titles of the advice about a log of the package."""
    (path,) = {log.name: log for log in DIFFERENT if log.name == name}.values()
    return [one["title"] for one in said_of(path)["advice"]]


@pytest.mark.parametrize("log", DIFFERENT, ids=lambda log: f"{log.parent.name}-{log.stem[:24]}")
def test_no_log_gets_impossible_advice(log: Path) -> None:
    assert said_of(log)["processes"] >= 1


def test_the_slow_server_of_a_public_log_is_named() -> None:
    assert named("sample-badost.darshan") == ["server 14 is slow"]


def test_the_same_program_on_good_servers_gets_no_advice() -> None:
    assert named("sample-goodost.darshan") == []


def test_waiting_for_pipes_is_no_slow_metadata() -> None:
    assert not any("opens" in title for title in named("dxt.darshan"))
