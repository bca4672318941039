"""Plans of copies: golden texts, runs and requests compared with a count one by one, budgets, one and two passes.

The golden texts are tests/golden/copies/*.txt; SWATH_UPDATE_GOLDEN=1 writes them again.
"""

from __future__ import annotations

import dataclasses
import math
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stated_costs import COSTS
from swath import _core
from swath.copying.copy_layout import Side, pieces, same_order
from swath.copying.costs import Costs, at
from swath.copying.explain import Explained, in_words, text
from swath.copying.one_pass import Pass
from swath.copying.plan import MIB, CopyPlan, FilePlan, make_plan, overhead_bytes, plan_at_once
from swath.copying.workers import best_plan, counts_to_weigh
from swath.errors import ArgumentError
from swath.ranks.ranks import Ranks
from swath.simulated import run_ranks
from tree import TESTS

GOLDEN = TESTS / "golden" / "copies"
GIB = 1 << 30


def sides(shape: tuple[int, ...], target: Any, order: Any = None) -> tuple[Side, Side]:
    """A source of 8-byte elements in C order, and a target in another order, or in chunks."""
    source = Side.ordered(shape, 8, order or range(len(shape)))
    if target == "F":
        return source, Side.ordered(shape, 8, range(len(shape))[::-1])
    return source, Side.chunked(shape, 8, target)


SIX_GIB = (24576, 32768)
PLANS: dict[str, tuple[tuple[Side, Side], int, bool]] = {
    "transpose": (sides(SIX_GIB, "F"), 256 * MIB, False),
    "tile": (sides(SIX_GIB, (512, 512)), 256 * MIB, False),
    "convert": (sides(SIX_GIB, "F"), 256 * MIB, True),
    "tiny-budget": (sides(SIX_GIB, "F"), MIB, False),
    "three-dimensions": (sides((365, 1000, 2000), (365, 16, 16)), 128 * MIB, False),
    "same": (sides(SIX_GIB, "F", (1, 0)), 64 * MIB, False),
}


@pytest.mark.parametrize("name", PLANS)
def test_plans_read_as_they_did(name: str) -> None:
    (source, target), budget, converts = PLANS[name]
    plan = make_plan(source, target, budget_bytes=budget, costs=COSTS, converts=converts)
    found = text(plan, f"copy {name}", (in_words(source), in_words(target)))
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("SWATH_UPDATE_GOLDEN") == "1":
        path.write_text(found)
    assert found == path.read_text(), f"SWATH_UPDATE_GOLDEN=1 writes {path.name} anew"


def test_the_plan_of_a_whole_file_reads_as_it_did() -> None:
    """One variable that is moved at once, one with one pass, one with two."""
    small = sides((8760,), (1024,))
    at_once = plan_at_once(*small, budget_bytes=MIB, costs=COSTS, converts=False)
    assert at_once is not None
    large = {name: PLANS[name][0] for name in ("same", "tiny-budget")}
    plans = {name: make_plan(*pair, budget_bytes=MIB, costs=COSTS) for name, pair in large.items()}
    plan = FilePlan((("time", at_once), *plans.items()))
    layouts = tuple((in_words(a), in_words(b)) for a, b in (small, *large.values()))
    said = Explained(plan, "copy a.nc to b.h5", layouts, 1, ("dimension unused of length 3, which no variable has",))
    path = GOLDEN / "whole-file.txt"
    if os.environ.get("SWATH_UPDATE_GOLDEN") == "1":
        path.write_text(str(said))
    assert str(said) == path.read_text(), f"SWATH_UPDATE_GOLDEN=1 writes {path.name} anew"


def test_there_is_no_golden_text_without_its_case() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {*PLANS, "whole-file"}


@pytest.mark.parametrize("budget", [20 * MIB, 256 * MIB])
def test_chunks_that_are_written_whole_are_never_cut(budget: int) -> None:
    source, target = sides((3000, 5000), (700, 512))
    target = dataclasses.replace(target, whole_chunks=True)
    for each in make_plan(source, target, budget_bytes=budget, costs=COSTS).passes[-1:]:
        assert each.tiles > 1
        for index in range(each.tiles):
            tile = each.box(index)
            for slab in each.slabs(tuple(s.stop - s.start for s in tile)):
                for d, (s, t) in enumerate(zip(slab, tile, strict=True)):
                    assert (s.start + t.start) % target.chunk[d] == 0
                    assert (s.stop + t.start) % target.chunk[d] == 0 or s.stop + t.start == target.shape[d]


def test_two_passes_are_taken_where_runs_would_be_short_and_it_pays() -> None:
    source, target = sides(SIX_GIB, "F")
    tiny = make_plan(source, target, budget_bytes=MIB, costs=COSTS)
    assert len(tiny.passes) == 2
    assert (tiny.passes[0].source, tiny.passes[1].target) == (source, target)
    # Each pass has runs on both sides (of the device, which sees bands) that one pass cannot have on both.
    elements = MIB // 8
    for each in tiny.passes:
        read_run = each.source.nbytes / each.read_requests
        assert read_run >= 2048
        assert math.prod(each.tile) <= elements
    assert tiny.scratch_bytes >= source.nbytes
    assert tiny.disk_bytes == tiny.scratch_bytes + target.nbytes
    # With the same store and a budget that is not tiny there is one.
    assert len(make_plan(source, target, budget_bytes=64 * MIB, costs=COSTS).passes) == 1


def test_one_pass_is_enough_where_requests_cost_nothing() -> None:
    source, target = sides(SIX_GIB, "F")
    ram = Costs("memory", 4, ((1, 1e-10), (1 << 24, 1e-3)), 0, ((1, 1e-10), (1 << 24, 1e-3)), 0,
                ((1, 1e-10), (1 << 24, 1e-3)), ((1, 1e-10), (1 << 24, 1e-3)), 1e-10, 0)  # fmt: skip
    assert len(make_plan(source, target, budget_bytes=4 * MIB, costs=ram).passes) == 1


@pytest.mark.parametrize("budget", [MIB, 16 * MIB, 256 * MIB, 4 * GIB])
@pytest.mark.parametrize("target", ["F", (512, 512), (4, 32768)])
def test_plans_keep_the_budget_and_use_it(budget: int, target: Any) -> None:
    source, side = sides(SIX_GIB, target)
    plan = make_plan(source, side, budget_bytes=budget, costs=COSTS)
    assert plan.memory_bytes <= budget
    for each in plan.passes:
        assert each.memory_bytes <= budget - overhead_bytes(budget)
    assert plan.seconds >= sum(p.seconds["total"] for p in plan.passes)


def test_more_memory_is_never_slower() -> None:
    source, target = sides(SIX_GIB, "F")
    seconds = [
        make_plan(source, target, budget_bytes=budget * MIB, costs=COSTS).seconds for budget in (4, 16, 64, 256, 1024)
    ]
    assert seconds == sorted(seconds, reverse=True)


def test_a_budget_that_is_too_small_says_what_would_do() -> None:
    source, target = Side.ordered((4, 4), 8000, (0, 1)), Side.ordered((4, 4), 8000, (1, 0))
    with pytest.raises(ArgumentError, match=r"budget of 8000 bytes is too small.* give at least \d+") as raised:
        make_plan(source, target, budget_bytes=8000, costs=COSTS)
    enough = int(str(raised.value).split("at least ")[1].split()[0])
    assert make_plan(source, target, budget_bytes=enough, costs=COSTS).memory_bytes <= enough


def test_what_is_planned_is_quickly_planned_and_converts_to_plain_data() -> None:
    (source, target), budget, _ = PLANS["transpose"]
    plan = make_plan(source, target, budget_bytes=budget, costs=COSTS)
    plain = plan.to_dict()
    assert plain["memory_bytes"] == plan.memory_bytes
    assert plain["passes"][0]["read_bytes"] == 6 * GIB


shapes = st.lists(st.integers(1, 7), min_size=1, max_size=3).map(tuple)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_runs_and_requests_are_those_that_one_counts(data: st.DataObject) -> None:
    """The offsets of a box's elements, sorted, have so many gaps."""
    shape = data.draw(shapes)
    tile = tuple(data.draw(st.integers(1, n)) for n in shape)
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    side = Side.ordered(shape, 4, order)
    stored = np.arange(math.prod(shape)).reshape([shape[d] for d in order]).transpose(np.argsort(order))
    whole = Pass(side, side, tile, tile, False, COSTS)
    counted = 0
    for index in range(whole.tiles):
        offsets = np.sort(stored[whole.box(index)].ravel())
        counted += 1 + int(np.count_nonzero(np.diff(offsets) != 1))
    assert whole.read_requests == counted


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_tiles_and_slabs_cover_everything_once(data: st.DataObject) -> None:
    shape = data.draw(shapes)
    chunk = tuple(data.draw(st.integers(1, n)) for n in shape)
    source = Side.ordered(shape, 8, data.draw(st.permutations(range(len(shape)))))
    target = Side.tiled(shape, 4, chunk)
    plan = make_plan(source, target, budget_bytes=data.draw(st.integers(600, 5000)), costs=COSTS, converts=True)
    for one in plan.passes:
        seen = np.zeros(shape, int)
        for index in range(one.tiles):
            tile = seen[one.box(index)]
            for slab in one.slabs(tile.shape):
                assert math.prod(s.stop - s.start for s in slab) <= one.slab_elements
                tile[slab] += 1
        assert (seen == 1).all()


def test_bands_are_what_is_contiguous_after_some_tiles() -> None:
    """Shape (12, 8), target in C order: tiles of (3, 4) complete three rows after two tiles."""
    source, target = Side.ordered((12, 8), 8, (1, 0)), Side.ordered((12, 8), 8, (0, 1))
    one = Pass(source, target, (3, 4), (3, 4), False, COSTS)
    assert (one.band_tiles, one.band_bytes) == (2, 3 * 8 * 8)
    assert [one.box(i)[0].start for i in range(4)] == [0, 0, 3, 3]


def test_the_span_of_a_band_holds_all_its_bytes_and_no_others() -> None:
    source, target = Side.ordered((100, 200), 8, (1, 0)), Side.ordered((100, 200), 8, (0, 1))
    one = Pass(source, target, (10, 50), (10, 50), False, COSTS)
    assert [one.span_of_band(target, band) for band in (0, 2, 9)] == [(0, 16000), (32000, 48000), (144000, 160000)]
    assert one.span_of_band(source, 2) is None
    assert dataclasses.replace(one, source=target).span_of_band(target, 2) == (32000, 48000)
    ragged = Pass(target, target, (30, 200), (30, 200), False, COSTS)
    assert ragged.span_of_band(target, 3) == (144000, 160000)
    chunks = Side.chunked((100, 200), 8, (10, 10))
    assert Pass(target, chunks, (10, 200), (10, 200), False, COSTS).span_of_band(chunks, 0) is None


def test_pieces_of_a_shape_are_whole_and_ragged_ones() -> None:
    assert sorted(pieces((5, 4), (2, 4))) == [(1, (1, 4)), (2, (2, 4))]
    assert list(pieces((), ())) == [(1, ())]
    assert list(pieces((0, 3), (0, 3))) == []


def test_order_in_memory_is_looked_at_where_a_tile_is_longer_than_one() -> None:
    c, f = Side.ordered((5, 6), 8, (0, 1)), Side.ordered((5, 6), 8, (1, 0))
    assert not same_order(c, f, (2, 3))
    assert same_order(c, f, (1, 3))


def test_curves_go_on_beyond_their_points() -> None:
    curve = ((8.0, 1.0), (16.0, 3.0))
    assert [at(curve, x) for x in (1, 8, 12, 16, 32)] == [1, 1, 2, 3, 6]


def test_an_empty_array_needs_nothing() -> None:
    source, target = sides((0, 5), "F")
    plan = make_plan(source, target, budget_bytes=1000, costs=COSTS)
    assert isinstance(plan, CopyPlan)
    assert (plan.passes[0].tiles, plan.disk_bytes) == (0, 0)


def planned_by(counts: tuple[int, ...], budget: int, shape: tuple[int, int] = SIX_GIB, **costs: Any) -> CopyPlan:
    """Return the plan of a transpose with the best number of workers per node."""
    source, target = sides(shape, "F")
    priced = dataclasses.replace(COSTS, **costs)

    def plan_for(workers: int) -> CopyPlan:
        each = dataclasses.replace(priced, workers=workers)
        return make_plan(source, target, budget_bytes=budget // workers, costs=each)

    return best_plan(counts, plan_for)


def test_a_device_that_one_process_keeps_busy_gets_one_worker() -> None:
    plan = planned_by((1, 2, 4), 256 * MIB, cores=8.0)
    assert plan.workers_of_node == 1
    assert plan.budget_bytes == 256 * MIB


def test_more_workers_share_what_processors_do() -> None:
    """A fast device, many cores, and elements that are slow to transpose: one process needs a whole core."""
    fast = tuple((x, y / 100) for x, y in COSTS.read)
    costs = {"cores": 16.0, "read": fast, "write": fast, "read_jump": 0.0, "write_jump": 0.0, "shuffle_byte": 6e-9}
    plan = planned_by((1, 2, 4), 32 * MIB, (4096, 4096), **costs)
    assert plan.workers_of_node == 4
    assert plan.budget_bytes == 8 * MIB
    assert plan.seconds < planned_by((1,), 32 * MIB, (4096, 4096), **costs).seconds / 2


def test_as_many_workers_as_have_room_for_a_tile() -> None:
    source, target = sides((512, 512), (512, 512))
    least = make_plan(source, target, budget_bytes=64 * MIB, costs=COSTS).memory_bytes

    def plan_for(workers: int) -> CopyPlan:
        if workers > 1:
            raise ArgumentError("a budget is too small")
        return make_plan(source, target, budget_bytes=2 * least, costs=COSTS)

    assert best_plan((1, 2), plan_for).workers_of_node == 1
    with pytest.raises(ArgumentError, match="too small"):
        best_plan((2,), plan_for)


def test_how_many_workers_are_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    def weighed(ranks: int, asked: int | None = None, cores: int = 64) -> tuple[int, ...]:
        monkeypatch.setattr("swath.copying.workers.cores_of_node", lambda: cores)
        return run_ranks(ranks, lambda comm: counts_to_weigh(Ranks(comm), asked))[0]

    assert weighed(1) == (1,)
    assert weighed(2) == (1, 2)
    assert weighed(5) == (1, 2, 4, 5)
    assert weighed(8, cores=3) == (1, 2, 3)
    assert weighed(4, asked=3) == (3,)
    assert weighed(2, asked=16) == (2,)
    for wrong in (0, -1, True, 1.5, "2"):
        with pytest.raises(ArgumentError, match="workers"):
            counts_to_weigh(Ranks(_core.solo_comm()), wrong)  # type: ignore[arg-type]
