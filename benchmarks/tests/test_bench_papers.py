"""The papers' tables: their numbers, what is computed from them, and a few cells that are simulated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from swath_bench import __main__ as bench
from swath_bench import papers, validation
from swath_bench.papers.cells import data
from swath_bench.papers.summary import spearman, summarise


def cell(
    setting: str, variant: str, theirs: float, ours: float | None, *, is_position: bool = False
) -> dict[str, object]:
    return {
        "paper": "p", "table": "t", "setting": setting, "variant": variant, "theirs": theirs, "ours": ours,
        "is_position": is_position, "unit": "s", "left_out": None if ours is not None else "many requests",
    }  # fmt: skip


def test_numbers_of_two_tables_that_repeat_each_other_are_equal() -> None:
    delta = data("two-phase-1993")["delta"]
    direct = {tuple(row[:2]): row[2] for row in delta["table 2"]["column-block"]["direct"]}
    for table in ("table 8", "table 9"):
        for n, ranks, milliseconds in delta[table]["column-block"]["direct"]:
            assert direct.get((n, ranks), milliseconds) == milliseconds


def test_pairs_of_one_setting_are_compared_where_the_paper_has_an_order() -> None:
    cells = [
        cell("a", "one", 1.0, 10.0),
        cell("a", "two", 2.0, 20.0),
        cell("a", "three", 3.0, 15.0),
        cell("b", "one", 1.0, 5.0),
        cell("b", "two", 1.01, 4.0),  # the paper has no order
        cell("b", "left out", 9.0, None),
    ]
    summary = summarise({"cells": cells})
    assert (summary["right"], summary["pairs"]) == (2, 3)
    (table,) = summary["tables"]
    assert table["factor_theirs"] == 3.0
    assert table["factor_ours"] == 5.0
    assert table["rank_correlation"] == pytest.approx(0.667, abs=0.4)


def test_places_have_an_order_but_no_factor() -> None:
    cells = [cell("a", "one", 1.0, 10.0, is_position=True), cell("a", "two", 2.0, 5.0, is_position=True)]
    (table,) = summarise({"cells": cells})["tables"]
    assert (table["right"], table["pairs"], table["factor_ours"]) == (0, 1, None)


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [([1, 2, 3], [1, 4, 9], 1.0), ([1, 2, 3], [9, 4, 1], -1.0), ([1, 1, 2, 3], [1, 2, 3, 4], 0.9486832980505138)],
)
def test_rank_correlation_is_spearmans(one: list[float], two: list[float], expected: float) -> None:
    assert spearman(one, two) == pytest.approx(expected)


def test_no_correlation_of_two_numbers_or_of_equal_ones() -> None:
    assert spearman([1, 2], [1, 2]) is None
    assert spearman([1, 1, 1], [1, 2, 3]) is None


def test_two_phase_is_faster_than_many_requests_on_the_papers_machines(tmp_path: Path) -> None:
    path = tmp_path / "papers.json"
    assert bench.main(["papers", "--quick", "--folder", str(tmp_path), "--json", str(path)]) == 0
    record = json.loads(path.read_text())
    if isinstance(record, list):
        (record,) = record
    simulated = {(one["setting"], one["variant"]): one["ours"] for one in record["cells"] if one["ours"] is not None}
    assert (
        simulated["4K, 16 processors", "column-block two-phase"] * 5
        < simulated["4K, 16 processors", "column-block direct"]
    )
    assert record["summary"]["pairs"] > 3
    assert any(one["ours"] is None for one in record["cells"])


def test_every_cell_of_every_paper_can_be_made() -> None:
    made = [one for name in papers.PAPERS for one in papers.PAPERS[name](papers.Options())]
    assert len(made) > 120
    assert all(one.theirs > 0 for one in made)
    assert len({one.table for one in made}) >= 18


def test_unknown_papers_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["papers", "--papers", "two-phases"]) == 2
    assert "--papers two-phases: expected of two-phase" in capsys.readouterr().err


def test_the_simulator_orders_methods_as_measured_on_held_out_cells(tmp_path: Path) -> None:
    options = validation.quick_options()
    result = validation.measure(options, str(tmp_path), lambda told: None)
    summary = validation.summarise(result)
    assert summary["cells"] == 8
    assert summary["pairs"] >= 20
    assert summary["right"] / summary["pairs"] >= 0.9


def test_times_whose_repetitions_overlap_have_no_order() -> None:
    cell = {
        "measured": {"direct": 3.0, "list": 2.0, "sieve": 1.0, "two-phase": 0.99},
        "ranges": {"direct": (2.5, 9.0), "list": (1.0, 2.4), "sieve": (0.9, 1.5), "two-phase": (0.8, 0.89)},
        "simulated": {"direct": 1.0, "list": 2.0, "sieve": 0.5, "two-phase": 0.6},
    }
    summary = validation.summarise({"cells": [cell]})
    # list and sieve overlap, sieve and two-phase differ by 1 %; direct is not slower than list in the simulator.
    assert (summary["right"], summary["pairs"], summary["best"]) == (3, 4, 1)


def test_a_record_and_its_machine_belong_together(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert bench.main(["validation", "--measured", "x.json"]) == 2
    assert "--measured and --machine belong together" in capsys.readouterr().err
