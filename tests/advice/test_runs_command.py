"""`swath advise`: its text, its data, and the commands that print its numbers again."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from swath.commands.cli import main

SIZE, READS = 256, 400
STORE = "disk:p690-scsi"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trace of a run of one process, which reads a file in small pieces: as the tracer writes it."""
    folder = tmp_path_factory.mktemp("trace")
    began = 1_700_000_000_000_000.0
    head = {"version": 1, "rank": 0, "process": 1, "command": "./program", "began": began}
    lines: list[dict[str, Any]] = [{"name": "swath_trace", "ph": "M", "pid": 0, "args": head}]
    for number in range(READS):
        args = {"path": "/data/file", "offset": number * SIZE, "read_bytes": SIZE}
        times = {"ts": began + number * 5_000.0, "dur": 4_000.0}
        lines.append({"name": "read", "cat": "posix", "ph": "X", "pid": 0, "tid": 1, **times, "args": args})
    end = {"lines": len(lines), "ended": began + READS * 5_000.0}
    lines.append({"name": "swath_trace_end", "ph": "M", "pid": 0, "args": end})
    text = "[\n" + "\n".join(map(json.dumps, lines)) + "\n"
    (folder / "rank-000000-here-1.pfw").write_text(text)
    return folder


def output(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What a command prints; it must succeed."""
    assert main(list(map(str, arguments))) == 0
    return capsys.readouterr().out


def test_the_text_has_all_parts_of_an_advice(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "advise", trace, "--store", STORE)
    assert "1. one large call instead of many small ones: saves" in text
    for part in ("step:", "file:", "evidence:", "condition:", "how:", "presumes:", "numbers:"):
        assert part in text
    assert "400 reads of 256 B on average by one rank" in text
    assert "MPI" not in text


def test_the_prices_of_a_simulated_machine_are_printed_again(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "advise", trace, "--machine", "paragon")
    assert "prices: machine paragon" in text
    commands = re.findall(r": (swath advise --machine paragon --price .*)$", text, re.MULTILINE)
    assert commands
    for command in commands:
        price = output(capsys, *shlex.split(command)[1:], "--json")
        assert json.loads(price)["value"] > 0
    slower = output(capsys, "advise", trace, "--machine", "ncube2", "--json")
    faster = output(capsys, "advise", trace, "--machine", "site-2026", "--json")
    assert json.loads(slower)["io_seconds"] > json.loads(faster)["io_seconds"]


def test_measured_seconds_are_taken_from_the_log(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = json.loads(output(capsys, "advise", trace, "--json"))
    assert said["seconds"] == pytest.approx(2.0)
    assert said["io_seconds"] == pytest.approx(1.6)


def test_an_advice_is_verified_by_its_replay(
    trace: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text = output(capsys, "advise", trace, "--store", STORE, "--verify")
    assert re.search(r"advice +predicted +replayed +error", text)
    shown = json.loads(output(capsys, "advise", trace, "--store", STORE, "--verify", "--json"))["verified"]
    (one,) = shown["replayed"]
    assert one["gains"] == (one["replayed"] > 0.01 * shown["original"]["elapsed_seconds"])
    assert one["changes"] == ["merge=4194304,file=/data/file"]
    (kept,) = json.loads((tmp_path / "swath/profiles/advice.json").read_text()).values()
    assert kept["one large call instead of many small ones"]["observations"] == 2


def test_prices_are_printed_as_text_and_data(capsys: pytest.CaptureFixture[str]) -> None:
    pattern = "write ranks=4 regions=4096 size=8 method=two-phase"
    assert re.match(r"[\d.e-]+ s for 131,072 bytes", output(capsys, "advise", "--price", pattern))
    said = json.loads(output(capsys, "advise", "--price", pattern, "--json"))
    assert said["price"] == pattern
    assert said["value"] > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name one trace or log"),
        (("--price", "move ranks=4"), "it begins with 'move'"),
        (("--price", "read ranks=0"), "expected a whole number, at least 1"),
        (("--price", "read method=fast"), "expected one of auto, direct, sieve, list, two-phase"),
        (("--price", "read", "--cached", "2"), "expected a part, 0 to 1"),
        (("nothing-there",), "no such file or folder"),
        (("--price", "read", "--store", "no-such-folder"), "there is no such folder"),
        (("--price", "read", "--store", "disk:none"), "none"),
        (("--price", "read", "--machine", "no-such-file.json"), "expected a file of `swath calibrate --json`"),
        (("--price", "read", "--machine", "no-such-machine"), "no-such-machine"),
        (("--price", "read", "--machine", "a", "--store", "."), "leave one out"),
    ],
)
def test_errors_say_what_was_expected(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["advise", *arguments]) == 2
    assert words in " ".join(capsys.readouterr().err.split())
    assert "nothing-there" not in os.listdir()
