"""The report of `swath bench madbench`, opened in a browser: it has the figures, with the numbers of the JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from browser import opened
from swath_bench.madbench import report, summary
from swath_bench.madbench.problem import PHASES
from swath_bench.madbench.records import MET, MOVED

EVIL = 'went <b id="x">up</b> & away'
PROBE = """
const box = (element) => {
  const r = element.getBoundingClientRect();
  return [r.left + scrollX, r.top + scrollY, r.width, r.height];
};
const all = (selector, of, from = document) => [...from.querySelectorAll(selector)].map(of);
const marks = (tag) => all(`svg.plot g[id] ${tag}[data-${tag === "use" ? "run" : "step"}], svg.plot use[data-seconds]`,
  (m) => ({ group: m.closest("g[id]").id, of: { ...m.closest("g[id]").dataset }, data: { ...m.dataset }, box: box(m),
    title: m.textContent }));
return {
  plots: all("svg.plot", (s) => ({ id: s.id, box: box(s) })),
  ids: all("[id]", (e) => e.id),
  spots: all("svg#sweet-spots g[data-series] use", (u) => ({
    series: u.closest("[data-series]").dataset.series, data: { ...u.dataset }, box: box(u), title: u.textContent })),
  bars: all("svg.plot g[data-task] path[data-step]", (p) => ({
    ...p.closest("[data-task]").dataset, ...p.dataset, box: box(p) })),
  decided: all("svg#decisions use[data-seconds]", (u) => ({
    run: u.closest("[data-run]").dataset.run, ...u.dataset, title: u.textContent })),
  heads: all("svg[id^=heads] g[data-points]", (g) => ({ ...g.dataset })),
  rows: all("table.numbers tbody tr", (r) => ({ run: r.dataset.run, cells: all("td", (d) => d.textContent, r) })),
  columns: all("table.numbers thead", (h) => all("th", (t) => t.textContent, h)),
  reasons: all("table.decisions tbody tr", (r) => all("td", (d) => d.textContent, r)),
  sentences: all("#sentences li", (l) => l.textContent),
  text: document.body.innerText,
  result: JSON.parse(document.getElementById("result").textContent),
  fetched: performance.getEntriesByType("resource").map((e) => e.name),
};
"""


def marks_of(task: int, begin: float, steps: int) -> list[list[float]]:
    """Six marks a step, all different."""
    return [
        [begin + step * 6 + task * 0.1 + stage * (1 + task % 3 * 0.1) for stage in range(6)] for step in range(steps)
    ]


def a_run(disk: str, readers: str, number: int) -> dict[str, Any]:
    tasks = 4
    phases = {}
    for place, phase in enumerate(PHASES):
        marks = [marks_of(task, place * 30.0, 3) for task in range(tasks)]
        phases[phase] = {
            "seconds": 20.0 + number * 1.5 + place,
            "begin": place * 30.0,
            "end": max(steps[-1][-1] for steps in marks),
            "compute_seconds": 0.1 + number,
            "imbalance_seconds": 0.01,
            "tio_seconds": 10.123456 + number,
            "lbstio_seconds": 2.5 + place,
            "tasks": marks,
        }
    decisions = [
        {"seconds": 1.5, "direction": "read", "requests": "large", "limit": 1, "reason": EVIL},
        {"seconds": 2.0, "direction": "write", "requests": "large", "limit": 2, "reason": "of writing"},
        {"seconds": 40.0, "direction": "read", "requests": "small", "limit": None, "reason": "no limit was better"},
    ]
    return {
        "group": "sweet spot",
        "tasks": tasks,
        "pixels": 64,
        "bins": 3,
        "mode": "I/O only",
        "writers": "1",
        "readers": readers,
        "disk": disk,
        "switch_to": None,
        "virtual": True,
        "cache": "cold",
        "bytes": 98304,
        "chunk_bytes": 8192,
        "total_seconds": 70.0 + number * 3,
        "io_percent": 87.5,
        "phases": phases,
        "cached_before": [0.0, 0.0],
        "device_bytes_read": None,
        "verified": "checksums of all chunks",
        "decisions": decisions if readers == "auto" else [],
        "heads": [[30.0 + i / 10, i * 10**6] for i in range(20)],
        "disk_stats": None,
    }


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    runs = [
        a_run(disk, readers, (number * 5 + place) % 7)
        for number, disk in enumerate(("p690-scsi", "p690-raid5"))
        for place, readers in enumerate(("1", "2", "all", "auto"))
    ]
    told = {"benchmark": "madbench", "runs": runs, "options": {"pixels": 64}, "conditions": {"processor": "A < B"}}
    contender = {key: {"tio_seconds": 1.25, "lbstio_seconds": 0.75, "tasks": []} for key in summary.PASSES}
    told["peers"] = [
        {"disk": "p690-scsi", "switch_to": None, "virtual": False, "tasks": 4, "cache": "cold", "bytes": 10**8}
        | {"contenders": {"Swath, auto": contender, "NumPy <1>": contender}}
    ]
    return {**told, "summary": summary.summarise(told)}


@pytest.fixture(scope="module")
def page(result: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("matplotlib")
    path = tmp_path_factory.mktemp("report") / "madbench.html"
    report.write(json.loads(json.dumps(result)), str(path))
    return path


@pytest.fixture(scope="module")
def seen(page: Path) -> dict[str, Any]:
    """The state of the page in the browser."""
    found: dict[str, Any] = opened(page, PROBE)
    return found


def test_every_figure_is_there_and_has_a_size_and_nothing_is_fetched(seen: dict[str, Any]) -> None:
    assert [plot["id"] for plot in seen["plots"]] == [
        *("sweet-spots", "timelines-2", "timelines-6", "decisions", "heads-2", "heads-6")
    ]
    assert all(width > 600 and height > 150 for _, _, width, height in (plot["box"] for plot in seen["plots"]))
    assert [name for name in seen["fetched"] if not name.startswith("data:")] == []
    assert len(seen["ids"]) == len(set(seen["ids"]))


def test_figure_3_has_every_run_by_how_much_it_is_above_the_best_static_number(
    seen: dict[str, Any], result: dict[str, Any]
) -> None:
    drawn = {(int(s["data"]["run"]), s["series"]): float(s["data"]["percent"]) for s in seen["spots"]}
    assert len(drawn) == len(seen["spots"]) == 8 * 4
    for first in (0, 4):
        for series in ("total", *PHASES):

            def seconds(index: int, series: str = series) -> float:
                run = result["runs"][index]
                return float(run["total_seconds"] if series == "total" else run["phases"][series]["seconds"])

            best = min(seconds(first + place) for place in range(3))
            for place in range(4):
                expected = 100 * (seconds(first + place) / best - 1)
                assert drawn[first + place, series] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_points_of_figure_3_stand_higher_the_longer_it_took(seen: dict[str, Any]) -> None:
    for of_run in ((0, 1, 2, 3), (4, 5, 6, 7)):
        points = [
            (float(s["data"]["percent"]), s["box"][1] + s["box"][3] / 2)
            for s in seen["spots"]
            if int(s["data"]["run"]) in of_run and s["series"] == "total"
        ]
        points.sort()
        heights = [top for _, top in points]
        assert heights == sorted(heights, reverse=True)


def test_figure_4_has_a_bar_for_every_transfer_as_long_as_it_took(seen: dict[str, Any], result: dict[str, Any]) -> None:
    drawn = {(int(b["run"]), int(b["task"]), int(b["step"])): b for b in seen["bars"]}
    assert len(drawn) == len(seen["bars"])
    by_readers = {result["runs"][run]["readers"] for run, _, _ in drawn}
    assert {"all", "auto"} < by_readers
    shown = {run for run, _, _ in drawn}
    assert drawn.keys() == {(run, task, step) for run in shown for task in range(4) for step in range(3)}
    for (run, task, step), bar in drawn.items():
        phase = result["runs"][run]["phases"]["invD"]
        marks = phase["tasks"][task][step]
        assert float(bar["begin"]) == pytest.approx(marks[MET] - phase["begin"])
        assert float(bar["end"]) == pytest.approx(marks[MOVED] - phase["begin"])
    lengths = [(float(b["end"]) - float(b["begin"]), b["box"][2]) for b in seen["bars"]]
    scale = [width / seconds for seconds, width in lengths]
    assert max(scale) == pytest.approx(min(scale), rel=0.03)


def test_decisions_about_reading_are_drawn_and_listed_with_their_reasons(seen: dict[str, Any]) -> None:
    expected = [(run, 1.5, 1.0, EVIL) for run in (3, 7)] + [(run, 40.0, 4.0, "no limit was better") for run in (3, 7)]
    drawn = [
        (int(d["run"]), float(d["seconds"]), float(d["limit"]), d["title"].split(": ", 2)[2]) for d in seen["decided"]
    ]
    assert sorted(drawn) == sorted(expected)
    assert seen["reasons"] == [
        ["3", "1.5", "large", "1", EVIL],
        ["3", "40", "small", "no limit", "no limit was better"],
        ["7", "1.5", "large", "1", EVIL],
        ["7", "40", "small", "no limit", "no limit was better"],
    ]
    assert "x" not in seen["ids"]


def test_head_positions_are_drawn_of_unthrottled_best_and_auto(seen: dict[str, Any]) -> None:
    assert [head["points"] for head in seen["heads"]] == ["20"] * 6


def test_the_tables_have_the_numbers_of_the_json(seen: dict[str, Any], result: dict[str, Any]) -> None:
    assert [int(row["run"]) for row in seen["rows"]] == list(range(8))
    for row in seen["rows"]:
        run = result["runs"][int(row["run"])]
        told = dict(zip(seen["columns"][0], row["cells"], strict=True))
        assert (told["writers"], told["readers"]) == (run["writers"], run["readers"])
        assert float(told["total"]) == pytest.approx(run["total_seconds"], rel=5e-4)
        assert float(told["% I/O"]) == pytest.approx(run["io_percent"], rel=5e-4)
        for phase in PHASES:
            for part, key in (("COMP", "compute"), ("TIO", "tio"), ("LBSTIO", "lbstio")):
                expected = run["phases"][phase][f"{key}_seconds"]
                assert float(told[f"{phase} {part}"]) == pytest.approx(expected, rel=5e-4)


def test_the_page_says_what_it_ran_on_and_embeds_the_result(seen: dict[str, Any], result: dict[str, Any]) -> None:
    assert seen["sentences"] == result["summary"]["sentences"]
    assert len(re.findall("MODELLED DISK, VIRTUAL TIME", seen["text"])) == 2
    assert "NumPy <1>" in seen["text"]
    assert "A < B" in seen["text"]
    assert [run["total_seconds"] for run in seen["result"]["runs"]] == [r["total_seconds"] for r in result["runs"]]
    assert seen["result"]["runs"][3]["decisions"] == result["runs"][3]["decisions"]
    assert seen["result"]["runs"][2]["phases"]["invD"] == result["runs"][2]["phases"]["invD"]
    assert "tasks" not in seen["result"]["runs"][2]["phases"]["W"]


def test_a_result_with_one_run_and_no_auto_is_a_page_too(result: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    alone = {**result, "runs": result["runs"][:1], "peers": []}
    alone["runs"][0] = {**alone["runs"][0], "heads": []}
    path = tmp_path / "alone.html"
    report.write({**alone, "summary": summary.summarise(alone)}, str(path))
    written = path.read_text()
    assert "It takes two static numbers of readers" in written
    assert "No run was throttled by auto" in written
