"""Each number of each kind of advice is computed again by the commands that the advice prints."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made_logs import Call, batches, columns, made_log, of_swath, rows_of_one_rank, rows_of_ranks
from recomputing import differences, unexplained
from swath.advice.runs.factors import file
from swath.advice.runs.measures import MEASURES
from swath.advice.runs.observed import Observed, observed
from swath.advice.runs.prices import Prices
from swath.advice.runs.question import Question
from swath.advice.runs.rules import RULES
from swath.advice.runs.store_prices import prices_of
from swath.calibration.modelled import calibrate_modelled
from swath.commands import advise as command
from swath.commands.cli import main
from swath.trace.log import Kind, Log, Stripes, joined
from swath.trace.opening import read_log
from swath.trace.totals import all_totals
from tree import ROOT

MIB = 1 << 20
ROWS = """
import numpy as np, swath
with swath.create("columns.npy", (256, 256), "f8", order="F") as a:
    a[...] = np.ones((256, 256))
    for row in range(256):
        a[row, :]
"""
DISK = ["--store", "disk:p690-scsi"]
Printed = Callable[[list[str]], str]


def counters_of(log: Log) -> Log:
    """The same log with counters only."""
    log.totals = all_totals(log)
    log.requests = log.requests.take(np.zeros(0, np.intp))
    return log


def opened_and_synced() -> Log:
    calls = []
    for step in range(50):
        calls += [Call(0, "open", 0, 0, 2e-3 + step * 1e-5), Call(0, "write", step * MIB, MIB, 4e-3)]
        calls += [Call(0, "sync", 0, 0, 8e-3 + step * 1e-4)]
    return made_log(calls, 1)


def counted_metadata() -> Log:
    calls = [Call(rank, "metadata", 0, 0, 1e-3) for _ in range(40) for rank in range(2)]
    return counters_of(made_log([*calls, Call(0, "write", 0, MIB, 1e-3)], 2))


def small_files() -> Log:
    calls = []
    for number in range(240):
        name = f"/data/small {number}"
        calls += [Call(number % 2, "open", 0, 0, 2e-3, file=name), Call(number % 2, "read", 0, 100, 1e-3, file=name)]
    return made_log(calls, 2)


def shares_of_ranks() -> Log:
    counts = (8, 8, 8, 24)
    return made_log(
        [
            Call(rank, "read", batch * MIB, MIB, 0.03, file=f"/data/{rank}")
            for rank, count in enumerate(counts)
            for batch in range(count)
        ],
        4,
    )


def prefetched_and_unbalanced() -> Log:
    """An earlier advice takes seconds from those that are balanced."""
    calls = batches(2, 12, 300_000, passes=1, compute=3e-3)
    for batch in range(12, 80):
        calls.append(Call(1, "read", batch * 300_000, 300_000, 5e-3, 3e-3, "/data/integrals.1"))
    return made_log(calls, 2)


def small_pieces_of_files() -> Log:
    """Two files of two ranks, and one of both: the savings of a rank are added up."""
    calls = batches(2, 16, 65_536, passes=1, compute=0.0, pieces=16)
    for number in range(256):
        calls += [Call(rank, "read", (rank * 256 + number) * 256, 256, 1e-3, file="/data/both") for rank in range(2)]
    return made_log(calls, 2)


def columns_of_a_file_that_exists() -> Log:
    return made_log([call for call in columns(48, 16) if call.name == "read"], 1)


def repeated_reads() -> Log:
    return made_log([Call(0, "read", at * MIB, MIB, 0.03) for _ in range(4) for at in range(16)], 1)


def computed_batches() -> Log:
    """Operations of Swath, which have no offset: batches are computed and written, then read ten times."""
    calls = [Call(0, "write", batch * MIB, MIB, 1e-3, 0.03) for batch in range(16)]
    calls += [Call(0, "read", batch * MIB, MIB, 0.03) for _ in range(10) for batch in range(16)]
    log = made_log(calls, 1, layer="swath")
    log.requests.offset[:] = -1
    return log


def streams_of_ranks() -> Log:
    return made_log(
        [
            Call(rank, "read", (rank * 8 + at) * 4 * MIB, 4 * MIB, 0.8, file=f"/data/{rank}")
            for at in range(8)
            for rank in range(4)
        ],
        4,
    )


def with_stripes(slow: int, servers: tuple[int, ...]) -> Log:
    calls = [
        Call(rank, "write", (at * 4 + rank) * MIB, MIB, 0.5 if rank == slow or slow < 0 else 0.03 + rank * 1e-3)
        for at in range(12)
        for rank in range(4)
    ]
    log = made_log(calls, 4)
    log.stripes = {0: Stripes(MIB, servers)}
    return log


def with_holes() -> Log:
    """A collective write of MPI-IO, for which the library reads as often as it writes."""
    below = [
        Call(0, name, at * 1000, 1000, seconds)
        for at in range(40)
        for name, seconds in (("read", 6e-3), ("write", 4e-3))
    ]
    log = made_log(below, 2)
    above = made_log(
        [Call(rank, "write", (2 * at + rank) * 500, 500, 5e-3) for at in range(40) for rank in range(2)], 2
    )
    above.requests.kind[:] = len(log.kinds)
    log.kinds.append(Kind("mpi-io", "write"))
    log.requests = joined([log.requests, above.requests])
    log.counts = {"mpi-io": {"coll_writes": 80}}
    return log


CASES: dict[str, tuple[str, Callable[[], Log], list[str], str]] = {
    "all ranks": ("parallelism", lambda: made_log(rows_of_one_rank(4, 64, 256), 4), DISK, "collective I/O: all ranks"),
    "rows": ("collective", lambda: made_log(rows_of_ranks(4, 64, 240), 4), DISK, "collective I/O: one call"),
    "rows here": ("collective", lambda: made_log(rows_of_ranks(4, 64, 240), 4), [], "collective I/O: one call"),
    "counted rows": (
        "collective",
        lambda: counters_of(made_log(rows_of_ranks(4, 64, 240), 4)),
        [],
        "collective I/O: one call",
    ),
    "columns": ("layout", lambda: made_log(columns(48, 16), 1), DISK, "another layout"),
    "columns that exist": ("layout", columns_of_a_file_that_exists, [], "another layout"),
    "small pieces": ("interface", small_pieces_of_files, [], "one large call"),
    "small pieces elsewhere": ("interface", small_pieces_of_files, DISK, "one large call"),
    "gaps": (
        "sieve",
        lambda: made_log([Call(0, "read", at * 1024, 100, 6e-3) for at in range(400)], 1),
        DISK,
        "data sieving",
    ),
    "batches": ("overlap", lambda: made_log(batches(2, 16, 200_000, passes=5, compute=6e-3), 2), [], "prefetch"),
    "batches elsewhere": ("overlap", lambda: made_log(batches(2, 16, 200_000, passes=5, compute=6e-3), 2), DISK, "pre"),
    "repeated": ("repeated", repeated_reads, [], "caching"),
    "repeated elsewhere": ("repeated", repeated_reads, DISK, "caching"),
    "computed": ("recompute", computed_batches, [], "balanced I/O"),
    "streams": ("streams", streams_of_ranks, DISK, "at most 1 stream"),
    "shares": ("balance", shares_of_ranks, [], "balanced reads"),
    "shares elsewhere": ("balance", shares_of_ranks, DISK, "balanced reads"),
    "shares after prefetch": ("balance", prefetched_and_unbalanced, [], "balanced reads"),
    "slow server": ("servers", lambda: with_stripes(2, (10, 11, 12, 13)), [], "server 12 is slow"),
    "one server": ("servers", lambda: with_stripes(-1, (10,)), [], "stripe the file over 4 servers"),
    "one server, counted": ("servers", lambda: counters_of(with_stripes(-1, (10,))), [], "stripe the file"),
    "aggregators": ("aggregators", lambda: of_swath(4), DISK, "another number of aggregators"),
    "holes": ("holes", with_holes, [], "collective writes that do not read first"),
    "opens": ("metadata", opened_and_synced, [], "open the file once"),
    "syncs": ("metadata", opened_and_synced, [], "one sync after the last write"),
    "counted metadata": ("metadata", counted_metadata, [], "fewer opens, stats, seeks and syncs"),
    "small files": ("metadata", small_files, [], "one file for many small ones"),
}
"""For each kind of advice the rule that gives it, a log, options of the command, and how the title begins."""


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Printed:
    """Runs `swath` with these words, and returns what it prints; it must succeed. A disk is calibrated once."""
    monkeypatch.setattr(command, "prices_of", lambda *options: _prices(*options[:2], tuple(options[2])))

    def run(words: list[str]) -> str:
        assert main(words) == 0, words
        return capsys.readouterr().out

    return run


@functools.cache
def _prices(store: str | None, machine: str | None, files: tuple[str, ...]) -> Prices:
    return prices_of(store, machine, files if store is machine is None else ())


def of_log(log: Log, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path by which the command reads this log."""
    log.path = "/data/a log of ranks' calls"
    logs = {log.path: log}
    monkeypatch.setattr(command, "read_log", logs.__getitem__)
    return log.path


def differences_of(said: list[dict[str, Any]], printed: Printed) -> list[str]:
    """What is not as some advice says."""
    return [wrong for one in said for wrong in (*differences(one, printed), *unexplained(one))]


def advised(printed: Printed, *words: object) -> list[dict[str, Any]]:
    """The advice that `swath advise --json` prints."""
    found: list[dict[str, Any]] = json.loads(printed(["advise", *map(str, words), "--json"]))["advice"]
    return found


def test_there_is_a_case_for_each_rule() -> None:
    assert {rule for rule, _, _, _ in CASES.values()} == {rule.__module__.rpartition(".")[2] for rule in RULES}


@pytest.mark.parametrize("name", CASES)
def test_commands_print_the_numbers_of_an_advice(name: str, printed: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    rule, make, options, title = CASES[name]
    log = make()
    said = advised(printed, of_log(log, monkeypatch), *options)
    mine = [one["title"] for one in said if one["title"].startswith(title)]
    assert mine, [one["title"] for one in said]
    (of_rule,) = (one for one in RULES if one.__module__.endswith(f".{rule}"))
    question = Question(observed(log), prices_of(options[1] if options else None, None, ()))
    assert mine[0] in {finding.proposal.title for finding in of_rule(question)}
    assert differences_of(said, printed) == []


def test_a_number_that_is_wrong_is_found(printed: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    path = of_log(CASES["gaps"][1](), monkeypatch)
    (said,) = advised(printed, path, *DISK)
    for member, name in (("saving", "likely"), ("evidence", "seconds"), ("evidence", "calls")):
        wrong = {**said, member: {**said[member], name: said[member][name] * 1.001}}
        assert len(differences(wrong, printed)) == 1
    value = said["values"]["price_then"]
    wrong = {**said, "values": {**said["values"], "price_then": {**value, "value": value["value"] * 1.001}}}
    assert any("price_then" in line for line in differences(wrong, printed))
    assert unexplained(said) == []
    assert unexplained({**said, "condition": "401 regions of 1.5 KiB, 7.31 s"}) == [
        f"{number!r} in '401 regions of 1.5 KiB, 7.31 s'" for number in ("401", "1.5 KiB", "7.31")
    ]


def test_what_earlier_advice_saves_is_in_the_formulas(printed: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    path = of_log(prefetched_and_unbalanced(), monkeypatch)
    prefetched, balanced = advised(printed, path)
    assert "left" not in prefetched["formulas"]
    assert "seconds_of_rank" in balanced["formulas"]["remaining"]
    assert "overlap" in balanced["formulas"]["left"]


@pytest.mark.parametrize("is_measured", [True, False])
def test_prices_of_a_machine_are_in_the_commands(
    is_measured: bool, printed: Printed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    machine = tmp_path / "a profile.json"
    machine.write_text(json.dumps(calibrate_modelled("model:p690-scsi", str(tmp_path)).to_dict()))
    words = ["--machine", str(machine) if is_measured else "paragon"]
    path = of_log(made_log(rows_of_ranks(4, 64, 240), 4), monkeypatch)
    said = advised(printed, path, *words)
    assert said
    assert differences_of(said, printed) == []


def test_prices_of_the_store_with_the_files_are_in_the_commands(
    printed: Printed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    measured = tmp_path / "profile.json"
    measured.write_text(json.dumps(calibrate_modelled("model:p690-scsi", str(tmp_path)).to_dict()))
    monkeypatch.setenv("SWATH_PROFILE", str(measured))
    monkeypatch.setattr(command, "prices_of", prices_of)
    calls = [dataclasses.replace(call, file=str(tmp_path / "file")) for call in rows_of_ranks(4, 64, 240)]
    said = advised(printed, of_log(made_log(calls, 4), monkeypatch))
    assert f"--store {tmp_path} " in said[0]["values"]["price_then"]["command"]
    assert differences_of(said, printed) == []


def test_a_learned_factor_is_in_the_formula(printed: Printed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    title = "data sieving: read a window, and pick from it"
    Path(file()).parent.mkdir(parents=True)
    Path(file()).write_text(
        json.dumps({"measured on the modelled disk p690-scsi": {title: {"factor": 0.5, "observations": 3}}})
    )
    path = of_log(CASES["gaps"][1](), monkeypatch)
    (said,) = advised(printed, path, *DISK)
    assert "learned" in said["formulas"]["likely"]
    assert said["values"]["learned"]["value"] == 0.5
    assert differences(said, printed) == []


def test_prices_of_exact_operations_are_printed(printed: Printed, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(ROWS)
    given = {**os.environ, "SWATH_TRACE": str(tmp_path / "trace")}
    subprocess.run([sys.executable, program], cwd=tmp_path, env=given, check=True, timeout=100)
    (said,) = advised(printed, tmp_path / "trace", *DISK)
    assert said["title"] == "another layout: C order"
    assert differences(said, printed) == []


@pytest.mark.parametrize("name", ["sample-badost", "shane_macsio"])
def test_numbers_of_public_logs_are_printed(name: str, printed: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    darshan = pytest.importorskip("darshan")
    path = next(Path(darshan.__file__).parent.glob(f"**/{name}*.darshan"))
    found: dict[int, Observed] = {}
    monkeypatch.setattr(command, "read_log", functools.cache(read_log))
    monkeypatch.setattr(command, "observed", lambda log: found.setdefault(id(log), found.get(id(log)) or observed(log)))
    said = advised(printed, path)
    assert said
    assert differences_of(said, printed) == []


def test_measures_are_printed_as_text_and_data(printed: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    path = of_log(
        made_log([Call(0, "read", at * 100, 100, 0.25, file="/data/it's") for at in range(4)], 1), monkeypatch
    )
    words = ["--measure", """seconds read "/data/it's" rank=0"""]
    assert printed(["advise", path, *words]) == "1 s: seconds of a rank in these calls on a file\n"
    assert json.loads(printed(["advise", path, *words, "--json"]))["value"] == 1.0
    assert printed(["advise", path, "--measure", 'calls read "/data/it\'s"']).startswith("4 calls: ")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", "expected one of seconds, call-seconds"),
        ("speed read", "expected one of seconds, call-seconds"),
        ("seconds read /data/file rank=x", "as in: seconds; seconds WAY rank=N"),
        ("calls", "as in: calls CALL FILE"),
        ("seconds read 'file rank=0", "No closing quotation; expected shell words"),
        ("seconds read /data/none rank=0", "no reads of '/data/none'; these are of '/data/file'"),
        ("seconds write /data/file rank=0", "no writes of '/data/file'; there are none of any file"),
        ("seconds open /data/file rank=0", 'no calls "open" of'),
        ("seconds read /data/file rank=7", "rank 7 makes no such call; expected one of 0"),
        ("seconds read rank=7", "there is no rank 7; expected 0 to 0"),
        ("server-rate read server=3", "no reads on server 3; expected one of none"),
        ("server-rate read median", "no server is known"),
        ("planned /data/file", "no exact operations of '/data/file'"),
        ("learned something", "nothing was learned of 'something'"),
        ("below-calls read /data/none", "no file '/data/none'"),
    ],
)
def test_wrong_measures_say_what_was_expected(
    words: str, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = of_log(made_log([Call(0, "read", 0, 100)], 1), monkeypatch)
    assert main(["advise", path, "--measure", words]) == 2
    assert expected in " ".join(capsys.readouterr().err.split())


def test_the_document_has_all_measures() -> None:
    text = (ROOT / "docs" / "advise.md").read_text()
    assert [one.form for one in MEASURES if f"`{one.form}`" not in text] == []
