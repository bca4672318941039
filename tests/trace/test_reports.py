"""What is characterised: phases, order, use of files; DFTracer's traces; the page and the table."""

from __future__ import annotations

import gzip
import json
import os
import re
import struct
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath.commands import cli
from swath.trace.characteristics import Characteristics, characterise
from swath.trace.log import UNKNOWN, Kind, Log, requests_of
from swath.trace.opening import read_log
from swath.trace.pictures import even_axis, png, spread
from swath.trace.report import html_report


def dftracer_line(name: str, at: float, process: int = 7, **arguments: Any) -> str:
    event = {"id": 1, "name": name, "cat": "POSIX", "type": 3, "pid": process, "tid": 1, "ts": at, "dur": 5, "ph": 1}
    return json.dumps({**event, "args": {"fhash": "f", **arguments}})


def dftracer_trace(folder: Path, lines: list[str]) -> Path:
    named = '{"name":"FH","cat":"dftracer","type":1,"pid":7,"tid":7,"ph":4,"args":{"name":"/d/x","value":"f"}}'
    file = folder / "t.pfw.gz"
    file.write_bytes(gzip.compress("\n".join(["[", named, *lines, ""]).encode()))
    return file


def test_dftracer_positions_follow_opens_seeks_and_lengths(tmp_path: Path) -> None:
    lines = [
        dftracer_line("open64", 10, flags=0),
        dftracer_line("read", 20, ret=100, count=100),
        dftracer_line("read", 30, ret=50, count=100),
        dftracer_line("pwrite64", 40, ret=8, count=8, offset=900),
        dftracer_line("lseek64", 50, ret=400, whence=0, offset=400),
        dftracer_line("write", 60, ret=10, count=10),
        dftracer_line("read", 70, ret=-1, count=10),
        dftracer_line("open64", 80, flags=0),
        dftracer_line("read", 90, ret=1, count=1),
        dftracer_line("close", 100, ret=0),
        dftracer_line("close", 110, ret=0),
        dftracer_line("open64", 120, flags=0o2001),
        dftracer_line("write", 130, ret=10, count=10),
        dftracer_line("read", 25, process=8, ret=4, count=4),
    ]
    log = read_log(str(dftracer_trace(tmp_path, lines)))
    assert log.tracer == "DFTracer"
    assert log.files == ["/d/x"]
    names = [log.kinds[kind].name for kind in log.requests.kind]
    places = dict(zip(zip(names, log.requests.began, strict=True), log.requests.offset, strict=True))
    found = {(name, round(began * 1e6) + 10): int(offset) for (name, began), offset in places.items()}
    assert found["read", 20] == 0
    assert found["read", 30] == 100
    assert found["pwrite", 40] == 900
    assert found["write", 60] == 400
    assert found["read", 90] == UNKNOWN  # the file is open twice
    assert found["write", 130] == UNKNOWN  # it is opened to append
    assert found["read", 25] == UNKNOWN  # this process has not opened it
    assert log.requests.failed.sum() == 1
    assert log.ranks == 2


def test_an_older_dftracer_trace_is_read(tmp_path: Path) -> None:
    """Its numbers are strings, and each event has the name of the file."""
    event = {"id": "1", "name": "read", "cat": "POSIX", "pid": "7", "tid": "9", "ts": "1698080323825066", "dur": "10"}
    text = json.dumps({**event, "ph": "X", "args": {"ret": "64", "count": "64", "fname": "/d/y", "hostname": "h"}})
    file = tmp_path / "t.pfw"
    file.write_text("[\n" + text + "\n")
    found = characterise(read_log(str(file)))
    (operations,) = found.operations
    assert (operations.layer, operations.name, operations.bytes) == ("posix", "read", 64)
    assert operations.seconds == pytest.approx(10e-6)
    assert found.files[0].file == "/d/y"


def test_an_empty_trace_is_said_to_be_empty(tmp_path: Path) -> None:
    (tmp_path / "fork.pfw.gz").write_bytes(b"")
    found = characterise(read_log(str(tmp_path)))
    assert found.operations == ()
    assert any("empty" in note for note in found.notes)
    assert "nothing to draw" in html_report(read_log(str(tmp_path)), found)


def test_a_trace_of_recorder_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "recorder.mt").write_bytes(b"")
    with pytest.raises(swath.UnsupportedError, match="recorder-viz"):
        read_log(str(tmp_path))


def simulation(dumps: int = 5, ranks: int = 4) -> Log:
    """Returns a log of ranks that compute for 10 s, then write blocks of a dump; at the end rank 0 reads all twice."""
    rows = []
    for dump in range(dumps):
        for rank in range(ranks):
            for piece in range(8):
                at = 10 * dump + 0.1 * piece
                rows.append((0, rank, 1000 * (ranks * dump + rank) + 125 * piece, 125, at, 0.1))
    rows += [(1, 0, 0, 1000 * ranks * dumps, 60 + time, 1.0) for time in range(2)]
    kind, rank, offset, length, began, seconds = map(np.array, zip(*rows, strict=True))
    log = Log("x", "Swath", ranks=ranks, execution_seconds=62.0 * ranks, files=["f"])
    log.kinds = [Kind("posix", "write"), Kind("posix", "read")]
    log.requests = requests_of(
        len(rows), kind=kind, file=0 * kind, rank=rank, offset=offset, length=length, began=began, seconds=seconds
    )
    return log


def test_phases_and_dumps() -> None:
    found = characterise(simulation())
    assert [phase.written_bytes for phase in found.phases] == [4000] * 5 + [0]
    assert [phase.ranks for phase in found.phases] == [4] * 5 + [1]
    assert found.phases[-1].read_bytes == 40_000
    assert found.phases[1].ended - found.phases[1].began == pytest.approx(0.8)
    assert found.between_dumps == pytest.approx([10.0] * 4)
    assert found.limit.startswith("the application")


def test_the_use_of_a_file() -> None:
    (use,) = characterise(simulation()).files
    assert (use.ranks, use.reads, use.writes) == (4, 2, 160)
    assert use.accesses["write"].distribution == "CYCLIC(1,000 bytes) over 4 ranks, from byte 0 to 20,000"
    assert use.accesses["write"].interleaved == pytest.approx(19 / 159)
    assert use.accesses["read"].distinct_bytes == use.read_bytes // 2
    assert use.consecutive == pytest.approx(4 * 5 * 7 / 162)
    assert use.sequential == pytest.approx((4 * 5 * 8 - 4) / 162)


def test_imbalance_names_the_rank() -> None:
    log = simulation()
    log.requests.seconds[log.requests.rank == 2] *= 4
    balance = next(one for one in characterise(log).balance if "seconds" in one.of)
    assert balance.which == 2
    assert balance.over == 4


def test_a_store_that_limits_is_said() -> None:
    log = simulation()
    log.execution_seconds = 4 * 8.0
    assert characterise(log).limit.startswith("the store")


def test_sums_do_not_depend_on_the_order_of_the_requests() -> None:
    log = simulation()
    expected = characterise(log)
    log.requests = log.requests.take(np.random.default_rng(0).permutation(len(log.requests)))
    found = characterise(log)
    assert found.operations == expected.operations
    assert found.files == expected.files
    assert [phase.written_bytes for phase in found.phases] == [phase.written_bytes for phase in expected.phases]


def test_spread_is_what_adding_piece_by_piece_gives() -> None:
    random = np.random.default_rng(4)
    edges = np.linspace(2, 12, 21)
    row, begin = random.integers(0, 3, 50), random.uniform(2, 11, 50)
    end = begin + random.uniform(0, 1, 50)
    expected = np.zeros((3, 20))
    for one, low, high in zip(row, begin, end, strict=True):
        expected[one] += np.clip(np.minimum(edges[1:], high) - np.maximum(edges[:-1], low), 0, None)
    assert np.allclose(spread(row, begin, end, 3, edges), expected)


def test_the_png_has_the_colours() -> None:
    colours = np.random.default_rng(0).integers(0, 256, (5, 7, 3)).astype(np.uint8)
    stored = png(colours)
    assert struct.unpack(">II", stored[16:24]) == (7, 5)
    place = stored.index(b"IDAT")
    (length,) = struct.unpack(">I", stored[place - 4 : place])
    lines = np.frombuffer(zlib.decompress(stored[place + 4 : place + 4 + length]), np.uint8).reshape(5, 22)
    assert (lines[:, 1:].reshape(5, 7, 3) == colours).all()


def test_axes_have_round_numbers() -> None:
    assert [text for _, text in even_axis("s", 0, 20).ticks] == ["0", "5", "10", "15", "20"]
    assert even_axis("s", 3, 3).ticks == [(0.0, "3")]


class Tags(HTMLParser):
    """Collects what a page loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.append(tag)
        self.loaded += [value or "" for name, value in attrs if name in ("href", "src")]


def test_the_page_needs_nothing_else() -> None:
    log = simulation()
    log.files = ["<script>alert('&')</script>"]
    page = html_report(log, characterise(log))
    tags = Tags(page)
    assert "script" not in tags.opened
    assert tags.opened.count("svg") == 5
    assert all(one.startswith("data:image/png;base64,") for one in tags.loaded)
    assert "&lt;script&gt;" in page
    assert "://" not in re.sub(r'href="data:[^"]*"', "", page)


def test_the_command_writes_what_is_asked_for(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lines = [dftracer_line("open64", 10, flags=0), dftracer_line("read", 20, ret=100, count=100)]
    trace, page, table = dftracer_trace(tmp_path, lines), tmp_path / "x.html", tmp_path / "x.parquet"
    assert cli.main(["characterise", str(trace), "--html", str(page), "--parquet", str(table)]) == 0
    assert "posix read" in capfd.readouterr().out
    assert page.read_text().startswith("<!DOCTYPE html>")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = parquet.read_table(table).to_pylist()
    assert [(row["layer"], row["name"], row["file"]) for row in rows] == [
        ("posix", "open", "/d/x"),
        ("posix", "read", "/d/x"),
    ]
    assert (rows[1]["offset"], rows[1]["length"], rows[1]["operation"]) == (0, 100, None)
    assert cli.main(["characterise", str(trace), str(trace), "--html", str(page)]) == 2
    assert cli.main(["characterise", str(trace), "--html", str(tmp_path / "none" / "x")]) == 2
    assert "cannot be written" in capfd.readouterr().err
    assert cli.main(["characterise", "--json", str(trace), str(trace)]) == 0
    assert [one["tracer"] for one in json.loads(capfd.readouterr().out)] == ["DFTracer"] * 2


def test_parquet_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    trace = dftracer_trace(tmp_path, [dftracer_line("read", 20, ret=100)])
    assert cli.main(["characterise", str(trace), "--parquet", str(tmp_path / "x")]) == 2


MUTATIONS = int(os.environ.get("SWATH_TRACE_MUTATIONS", "1200"))


def characterised(file: Path) -> Characteristics | None:
    """Returns what a trace tells, or None where it is an error that names it."""
    try:
        return characterise(read_log(str(file)))
    except swath.FormatError as error:
        if str(file) not in str(error):
            raise
        return None


def swath_text() -> bytes:
    """Returns a small trace of Swath's."""
    began = {"version": 1, "rank": 0, "process": 1, "command": "x", "began": 1e15}
    moved = {"rank": 0, "ranks": 1, "method": "direct", "written_bytes": 400, "offset": 0, "path": "/d/x"}
    lines: list[dict[str, Any]] = [{"name": "swath_trace", "ph": "M", "pid": 0, "args": began}]
    for number in range(6):
        event = {"name": "write", "cat": "swath", "ph": "X", "pid": 0, "tid": 1, "ts": 1e15 + 9 * number, "dur": 8.5}
        lines.append({**event, "args": {**moved, "offset": 400 * number}})
    lines.append({"name": "swath_trace_end", "ph": "M", "pid": 0, "args": {"lines": 8, "ended": 1e15 + 60}})
    return ("[\n" + "".join(json.dumps(line) + "\n" for line in lines)).encode()


def dftracer_text() -> bytes:
    lines = [dftracer_line("open64", 10, flags=0)]
    lines += [dftracer_line("read", 20 + 9 * number, ret=100, count=100) for number in range(6)]
    return ("[\n" + "".join(f"{line}\n" for line in lines)).encode()


@pytest.mark.parametrize("text", [swath_text(), dftracer_text()], ids=["swath", "dftracer"])
@pytest.mark.parametrize("is_compressed", [False, True])
def test_mutated_traces_are_errors_or_said(tmp_path: Path, text: bytes, is_compressed: bool) -> None:
    stored = gzip.compress(text, mtime=0) if is_compressed else text
    file = tmp_path / "rank-0.pfw.gz"
    file.write_bytes(stored)
    whole = characterised(file)
    assert whole is not None
    random = np.random.default_rng(len(stored))
    told = 0
    for _ in range(MUTATIONS // 4):
        damaged = bytearray(stored)
        for _ in range(random.integers(1, 4)):
            damaged[random.integers(len(damaged))] = random.integers(256)
        file.write_bytes(damaged[: random.integers(2, len(damaged))] if random.random() < 0.2 else damaged)
        found = characterised(file)
        told += found is None or found.notes != whole.notes
        if found is not None:
            assert all(one.seconds >= 0 and one.bytes >= 0 for one in found.operations)
            if is_compressed:  # its checksum finds all damage
                assert found.notes != whole.notes or found == whole
    assert told > MUTATIONS // 40
