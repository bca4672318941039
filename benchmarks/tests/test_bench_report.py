"""The report of `swath bench ncio`, opened in a browser: it has the plots, with the numbers of the JSON."""

from __future__ import annotations

import copy
import importlib.util
import json
import math
from pathlib import Path
from typing import Any

import pytest

from browser import opened
from swath.errors import NotFoundError, UnsupportedError
from swath_bench import page as page_of_bench
from swath_bench.ncio import report
from swath_bench.ncio.report_plots import CASES, SWEEPS

EVIL = 'h5py </script><b id="x">'
STEPS = {
    "count": [2048 << i for i in range(0, 10, 3)],
    "size": [8 << i for i in range(0, 10, 3)],
    "spacing": [0, 8, 128, 4096],
}
PROBE = """
const box = (element) => {
  const r = element.getBoundingClientRect();
  return [r.left + scrollX, r.top + scrollY, r.width, r.height];
};
const all = (selector, of, from = document) => [...from.querySelectorAll(selector)].map(of);
return {
  plots: all("svg.plot", (s) => ({ id: s.id, box: box(s) })),
  ids: all("[id]", (e) => e.id),
  markers: all("svg.plot use[data-cell]", (u) => ({
    plot: u.closest("svg.plot").id, series: u.closest("[id]").id, box: box(u),
    data: { ...u.closest("[data-contender]").dataset, ...u.dataset },
    title: u.textContent,
  })),
  bars: Object.fromEntries(all("svg.plot [id$='-bars']", (g) => [g.id, all("path", box, g)])),
  labels: all("svg.plot text", (t) => ({ plot: t.closest("svg.plot").id, text: t.textContent, box: box(t) })),
  rows: all("table.numbers tbody tr", (r) => ({ data: { ...r.dataset }, cells: all("td", (d) => d.textContent, r) })),
  columns: all("table.numbers thead", (h) => all("th", (t) => t.textContent, h))[0],
  choices: all("section", (s) => [s.id, all("table.choices tbody td", (d) => d.textContent, s)]),
  said: all("section", (s) => [s.id, all("ul li", (l) => l.textContent, s)]),
  sentences: all("#sentences li", (l) => l.textContent),
  text: document.body.innerText,
  result: JSON.parse(document.getElementById("result").textContent),
  fetched: performance.getEntriesByType("resource").map((e) => e.name),
  outside: all("[src], link[href]", (e) => e.src || e.href),
};
"""


def contender(size: int, seconds: float, **more: Any) -> dict[str, Any]:
    repetitions = [
        {
            "seconds": seconds * part,
            "operation_seconds": seconds * part / 2,
            "sync_seconds": seconds * part / 2,
            "inner": 1,
            "dropped": d,
        }
        for part, d in ((0.8, True), (0.9, False), (1.0, False), (1.1, False), (1.5, True))
    ]
    return {
        "peer": True,
        "family": "mpich",
        "chosen": None,
        "predicted_seconds": None,
        "repetitions": repetitions,
        "mean_seconds": seconds,
        "low_seconds": seconds * 0.9,
        "high_seconds": seconds * 1.1,
        "megabytes_per_second": size / seconds / 1e6,
        "reached_device": False,
        "refused": None,
        "skipped": None,
        **more,
    }


def absent(size: int, **why: str) -> dict[str, Any]:
    nothing = dict.fromkeys(
        ("mean_seconds", "low_seconds", "high_seconds", "megabytes_per_second", "reached_device"), None
    )
    return {**contender(size, 1.0), **nothing, "repetitions": [], **why}


def cell(sweep: str, case: str, direction: str, ranks: int, step: int, number: int) -> dict[str, Any]:
    shape = {"region_count": 4096, "region_bytes": 8, "spacing_bytes": 128, SWEEPS[sweep]: step}
    size = ranks * shape["region_count"] * shape["region_bytes"]
    base = 1e-4 * (1 + number % 7) + size / (3e8 if case == "nc-nc" else 2e9)
    swath = {"peer": False, "family": "swath"}
    contenders = {
        "swath direct": contender(size, base * 40, **swath, predicted_seconds=base * 22),
        "swath two-phase": contender(size, base, **swath, predicted_seconds=base * 0.8),
        "swath auto": contender(
            size, base * (1.3 if number == 5 else 1.02), **swath, chosen="two-phase", predicted_seconds=base * 0.45
        ),
        "MPICH independent, sieving": contender(size, base * 7, reached_device=True),
        EVIL: absent(size, refused="cannot <express> it", family="h5py"),
        "MPICH independent, no sieving": (
            absent(size, skipped="took 11 s at 2048") if step == 16384 else contender(size, base * 300)
        ),
    }
    return {
        "sweep": sweep,
        "case": case,
        "direction": direction,
        "cache": "warm",
        "ranks": ranks,
        **shape,
        "bytes": size,
        "file_noncontiguous": case.endswith("-nc"),
        "memory_noncontiguous": case.startswith("nc-"),
        "contenders": contenders,
    }


def a_result() -> dict[str, Any]:
    """A result as of `swath bench ncio --json`; in the c-c case one cell is for all spacings, as in the paper."""
    asked = [
        (sweep, case, direction, ranks, step)
        for direction, ranks in (("read", 2), ("write", 2), ("write", 4))
        for sweep, steps in STEPS.items()
        for case in CASES
        for step in (steps if (sweep, case) != ("spacing", "c-c") else [128])
    ]
    return {
        "benchmark": "ncio",
        "conditions": {"cores": 2, "processor": "A < B", "hints": {"MPICH": {"romio_ds_read": "enable"}}, "load": None},
        "options": {"repetitions": 5, "ranks": [2, 4]},
        "cells": [cell(*asked, number=number) for number, asked in enumerate(asked)],
        "summary": {
            "sentences": ["4 ranks, write, warm: auto <was> well", "All: auto was well in 137 of 138 cells & more"]
        },
    }


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    return a_result()


@pytest.fixture(scope="module")
def page(result: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("matplotlib")
    path = tmp_path_factory.mktemp("report") / "ncio.html"
    report.write(result, str(path))
    return path


@pytest.fixture(scope="module")
def seen(page: Path) -> dict[str, Any]:
    """The state of the page in the browser."""
    found: dict[str, Any] = opened(page, PROBE)
    return found


# ---- in a browser ----------------------------------------------------------------------------------------------------


def test_every_plot_is_there_and_has_a_size(seen: dict[str, Any]) -> None:
    views = ("read-warm-2", "write-warm-2", "write-warm-4")
    expected = [f"{view}-{sweep}" for view in views for sweep in STEPS] + ["predictions"]
    assert [plot["id"] for plot in seen["plots"]] == expected
    assert all(width > 600 and height > 150 for _, _, width, height in (plot["box"] for plot in seen["plots"]))


def test_the_page_fetches_nothing_and_its_ids_are_unique(seen: dict[str, Any], page: Path) -> None:
    assert [name for name in seen["fetched"] if not name.startswith("data:")] == []
    assert [name for name in seen["outside"] if not name.startswith("data:")] == []
    assert len(seen["ids"]) == len(set(seen["ids"]))
    assert page.stat().st_size < 3_000_000


def test_the_markers_are_the_measurements_of_the_json_and_no_others(
    seen: dict[str, Any], result: dict[str, Any]
) -> None:
    drawn = {}
    for marker in seen["markers"]:
        data = {key: marker["data"][key] for key in ("cell", "contender", "x", "y")}
        key = (marker["plot"], int(data["cell"]), data["contender"])
        assert key not in drawn
        drawn[key] = (float(data["x"]), float(data["y"]))
    expected = {}
    for index, of in enumerate(result["cells"]):
        for name, c in of["contenders"].items():
            plot = f"{of['direction']}-{of['cache']}-{of['ranks']}-{of['sweep']}"
            if c["mean_seconds"] is not None:
                expected[plot, index, name] = (of[SWEEPS[of["sweep"]]], c["megabytes_per_second"])
            if c["predicted_seconds"] is not None:
                expected["predictions", index, name] = (operation_seconds(c), c["predicted_seconds"])
    assert drawn.keys() == expected.keys()
    for key, place in expected.items():
        assert drawn[key] == pytest.approx(place, rel=1e-12)


def operation_seconds(contender: dict[str, Any]) -> float | None:
    return contender["mean_seconds"] and contender["mean_seconds"] / 2


def centre(box: list[float]) -> tuple[float, float]:
    left, top, width, height = box
    return left + width / 2, top + height / 2


def marker_at(marker: dict[str, Any], coordinate: int) -> float:
    return centre(marker["box"])[coordinate]


def scale(labels: list[tuple[float, float]]) -> Any:
    """Pixels to value on a logarithmic axis, from two or more labelled ticks: (pixel, value)."""
    (p0, v0), (p1, v1) = min(labels), max(labels)
    return lambda pixel: v0 * (v1 / v0) ** ((pixel - p0) / (p1 - p0))


def number_of(text: str) -> float | None:
    """ "16K": 16384."""
    unit = {"K": 1024, "M": 1024**2}.get(text[-1:], 1)
    try:
        return float(text.rstrip("KM").replace("−", "-")) * unit
    except ValueError:
        return None


@pytest.mark.parametrize("sweep", STEPS)
def test_markers_stand_where_the_labels_of_the_axes_put_their_numbers(seen: dict[str, Any], sweep: str) -> None:
    plot = f"write-warm-4-{sweep}"
    markers = [m for m in seen["markers"] if m["plot"] == plot]
    labels = [
        (*centre(label["box"]), number_of(label["text"]))
        for label in seen["labels"]
        if label["plot"] == plot and number_of(label["text"]) is not None
    ]
    left_most = min(x for x, _, _ in labels)
    to_bandwidth = scale(
        [(y, value) for x, y, value in labels if x < left_most + 30 and y < max(y for _, y, _ in labels)]
    )
    for marker in markers:
        found = to_bandwidth(marker_at(marker, 1))
        assert found == pytest.approx(float(marker["data"]["y"]), rel=0.05), marker
    below = max(y for _, y, _ in labels)
    steps = [(x, value) for x, y, value in labels if y > below - 3]
    assert {value for _, value in steps} == set(STEPS[sweep])
    for marker in markers:
        nearest = min(steps, key=lambda step: abs(step[0] - marker_at(marker, 0)))
        assert nearest[1] == float(marker["data"]["x"]), marker
        assert abs(nearest[0] - marker_at(marker, 0)) < 2


def test_bars_go_from_the_slowest_to_the_fastest_repetition_that_counts(
    seen: dict[str, Any], result: dict[str, Any]
) -> None:
    by_series: dict[str, list[dict[str, Any]]] = {}
    for marker in seen["markers"]:
        if marker["plot"] != "predictions":
            by_series.setdefault(marker["series"], []).append(marker)
    assert {f"{series}-bars" for series in by_series} == seen["bars"].keys()
    for series, markers in by_series.items():
        if len({m["data"]["y"] for m in markers}) < 2:
            continue
        to_bandwidth = scale([(marker_at(m, 1), float(m["data"]["y"])) for m in markers])
        for marker, (_, top, _, height) in zip(markers, seen["bars"][f"{series}-bars"], strict=True):
            of = result["cells"][int(marker["data"]["cell"])]
            c = of["contenders"][marker["data"]["contender"]]
            fast, slow = of["bytes"] / c["low_seconds"] / 1e6, of["bytes"] / c["high_seconds"] / 1e6
            assert (float(marker["data"]["low"]), float(marker["data"]["high"])) == (slow, fast)
            assert to_bandwidth(top) == pytest.approx(fast, rel=0.02)
            assert to_bandwidth(top + height) == pytest.approx(slow, rel=0.02)


def test_predictions_stand_on_one_scale_for_both_axes(seen: dict[str, Any]) -> None:
    for title in ("read", "write"):
        markers = [m for m in seen["markers"] if m["series"].startswith(f"predictions-{title}")]
        to_measured = scale([(marker_at(m, 0), float(m["data"]["x"])) for m in markers])
        to_predicted = scale([(marker_at(m, 1), float(m["data"]["y"])) for m in markers])
        for m in markers:
            assert to_measured(marker_at(m, 0)) == pytest.approx(float(m["data"]["x"]), rel=0.05)
            assert to_predicted(marker_at(m, 1)) == pytest.approx(float(m["data"]["y"]), rel=0.05)


def test_the_table_has_every_number_of_the_json(seen: dict[str, Any], result: dict[str, Any]) -> None:
    rows = {(int(row["data"]["cell"]), row["data"]["contender"]): row["cells"] for row in seen["rows"]}
    assert len(rows) == len(seen["rows"]) == sum(len(of["contenders"]) for of in result["cells"])
    for (index, name), told in rows.items():
        of = result["cells"][index]
        c = of["contenders"][name]
        row = dict(zip(seen["columns"], told, strict=True))
        assert (row["sweep"], row["case"], row["contender"]) == (of["sweep"], of["case"], name)
        for title, key in (
            ("regions per rank", "region_count"),
            ("region bytes", "region_bytes"),
            ("spacing bytes", "spacing_bytes"),
            ("bytes", "bytes"),
        ):
            assert int(row[title]) == of[key]
        for title, value in (
            ("MB/s", c["megabytes_per_second"]),
            ("mean ms", c["mean_seconds"] and c["mean_seconds"] * 1e3),
            ("low ms", c["low_seconds"] and c["low_seconds"] * 1e3),
            ("high ms", c["high_seconds"] and c["high_seconds"] * 1e3),
            ("operation ms", c["mean_seconds"] and c["mean_seconds"] / 2 * 1e3),
            ("predicted ms", c["predicted_seconds"] and c["predicted_seconds"] * 1e3),
        ):
            assert row[title] == "" if value is None else float(row[title]) == pytest.approx(value, rel=5e-4)
        assert row["chosen"] == (c["chosen"] or "")
        assert row["device"] == {True: "yes", False: "no", None: ""}[c["reached_device"]]
        assert row["not measured"] == (c["refused"] or c["skipped"] or "")


def test_the_json_in_the_page_is_the_json_without_single_repetitions(
    seen: dict[str, Any], result: dict[str, Any]
) -> None:
    expected, found = copy.deepcopy(result), copy.deepcopy(seen["result"])
    for of, told in zip(expected["cells"], found["cells"], strict=True):
        for name, c in of["contenders"].items():
            del c["repetitions"]
            assert told["contenders"][name].pop("operation_seconds") == pytest.approx(operation_seconds(c))
    assert found == expected


def test_words_of_others_are_shown_and_not_run(seen: dict[str, Any]) -> None:
    assert "x" not in seen["ids"]
    assert EVIL in seen["text"]
    assert "cannot <express> it" in seen["text"]
    assert "A < B" in seen["text"]


def test_who_is_missing_is_said_with_the_reason(seen: dict[str, Any]) -> None:
    lines = seen["text"].splitlines()
    assert f"{EVIL}: refused in 16 of 16 cells: cannot <express> it" in lines
    assert "MPICH independent, no sieving: skipped in 4 of 16 cells: took 11 s at 2048" in lines
    assert any("The device was reached in" in line and "apart by 20 % of the mean" in line for line in lines)


def test_sentences_choices_and_errors_of_prediction_are_those_of_the_numbers(
    seen: dict[str, Any], result: dict[str, Any]
) -> None:
    assert seen["sentences"] == result["summary"]["sentences"][1:]
    assert [section for section, said in seen["said"] if "auto <was> well" in said] == ["write-warm-4"]
    choices = dict(seen["choices"])
    assert choices["read-warm-2"].count("two-phase 1.02") == 44
    assert choices["read-warm-2"].count("two-phase 1.30") == 1
    assert "At most 1.1 in 44 of 45 cells" in seen["text"]
    # Off by 10 % (direct), 60 % (two-phase) and 11.8 % (auto: 0.9 / 1.02): two of three within 25 %.
    assert "write, warm cache: the median error is 11.8 % of what was measured; 180 of 270 predictions" in seen["text"]


# ---- without a browser -----------------------------------------------------------------------------------------------


def test_the_same_result_gives_the_same_page(result: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    few = {**result, "cells": [of for of in result["cells"] if (of["sweep"], of["ranks"]) == ("size", 4)]}
    pages = [tmp_path / "one.html", tmp_path / "other.html"]
    for path in pages:
        report.write(few, str(path))
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_a_result_in_which_all_was_refused_makes_a_page(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    result = a_result()
    result["cells"] = result["cells"][:4]
    for of in result["cells"]:
        of["contenders"] = {EVIL: of["contenders"][EVIL]}
    report.write(result, str(tmp_path / "empty.html"))
    written = (tmp_path / "empty.html").read_text(encoding="utf-8")
    assert "Nothing was measured." in written
    assert "Nothing was predicted." in written


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (12345.6, "12350"),
        (86.0712, "86.07"),
        (-28.0, "-28"),
        (100.0, "100"),
        (0.000123456, "0.0001235"),
        (1.0, "1"),
        (0.0, "0"),
        (2.5e-13, "0.00000000000025"),
    ],
)
def test_numbers_are_rounded_to_four_digits_without_exponents(number: float, text: str) -> None:
    assert page_of_bench.rounded(number) == text
    assert math.isclose(float(text), number, rel_tol=5e-4)


def test_without_matplotlib_it_says_what_to_install_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UnsupportedError, match=r"needs matplotlib: pip install matplotlib"):
        page_of_bench.check_can_write(str(tmp_path / "r.html"))
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(NotFoundError, match=r"--html .*absent/r\.html: No such file or directory"):
        report.write(json.loads(json.dumps(a_result())), str(tmp_path / "absent" / "r.html"))
