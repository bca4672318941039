"""The choice which batches are computed, kept in memory and kept on disk: the pure part of `swath.Balanced`."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swath.errors import ArgumentError
from swath.recompute.choice import END_GAIN_MIN, DiskLimit, RankBatches, Source, choose, choose_simply, curve, priced
from swath.recompute.dealing import Batches, deal
from swath.recompute.online import Online
from swath.recompute.prices import Prices, Report, Transfers, union_seconds

NAN = float("nan")


def batches(nbytes: list[int], computing: list[float], price: float = 1.0, **options: float) -> RankBatches:
    sizes = np.array(nbytes, np.int64)
    memory, using = int(options.get("memory", 0)), options.get("using", 0.0)
    where = np.zeros(len(nbytes), np.int8)
    copying = sizes * options.get("copying", 0.0)
    return RankBatches(sizes, np.array(computing, float), sizes * price, copying, using, memory, where)


@st.composite
def problems(draw: st.DrawFn, ranks_max: int = 4, batches_max: int = 12) -> list[RankBatches]:
    price = draw(st.sampled_from([0.0, 0.01, 0.5, 1.0, 20.0]))
    one = st.tuples(st.integers(0, 50), st.floats(0, 100, allow_subnormal=False))
    made = []
    for _ in range(draw(st.integers(1, ranks_max))):
        drawn = draw(st.lists(one, max_size=batches_max))
        memory, using = draw(st.integers(0, 200)), draw(st.floats(0, 100))
        copying = draw(st.sampled_from([0.0, 0.0, 0.1, 3.0]))
        sizes, computing = [n for n, _ in drawn], [s for _, s in drawn]
        made.append(batches(sizes, computing, price, memory=memory, using=using, copying=copying))
    return made


def total(ranks: list[RankBatches]) -> int:
    return sum(int(one.nbytes.sum()) for one in ranks)


@settings(deadline=None)
@given(problems())
def test_the_choice_is_never_predicted_worse_than_its_ends_or_any_share(ranks: list[RankBatches]) -> None:
    best = choose(ranks, DiskLimit(total(ranks)))
    for limit in (0, total(ranks) // 3, total(ranks) // 2, total(ranks)):
        assert best.seconds <= choose(ranks, DiskLimit(limit, is_fixed=True)).seconds * (1 + 1e-9) + max(
            (float(one.reading.max(initial=0)) for one in ranks), default=0
        ) * (0 if limit in (0, total(ranks)) else len(ranks))


@settings(deadline=None)
@given(problems(), st.integers(0, 400), st.booleans())
def test_limits_are_kept_and_what_is_predicted_is_what_the_places_take(
    ranks: list[RankBatches], limit: int, is_fixed: bool
) -> None:
    chosen = choose(ranks, DiskLimit(limit, is_fixed))
    assert chosen.disk_bytes <= limit
    again = priced(ranks, chosen.places)
    assert (again.seconds, again.disk_bytes) == (chosen.seconds, chosen.disk_bytes)
    for one, places in zip(ranks, chosen.places, strict=True):
        assert len(places) == len(one.nbytes)
        assert one.nbytes[places == Source.IN_MEMORY].sum() <= one.memory_bytes


@settings(deadline=None, max_examples=60)
@given(problems(ranks_max=2, batches_max=4))
def test_the_choice_is_within_a_batch_a_rank_of_the_best_of_all_subsets(ranks: list[RankBatches]) -> None:
    ranks = [batches(one.nbytes.tolist(), one.computing.tolist(), 0.7, using=one.using) for one in ranks]
    counts = [len(one.nbytes) for one in ranks]
    best = min(
        priced(ranks, np.split(np.array(places, np.int8), np.cumsum(counts)[:-1])).seconds
        for places in itertools.product([Source.COMPUTED, Source.ON_DISK], repeat=sum(counts))
    )
    of_a_batch = sum(max(float(one.computing.max(initial=0)), float(one.reading.max(initial=0))) for one in ranks)
    assert best - 1e-9 <= choose(ranks, DiskLimit(total(ranks))).seconds <= best + of_a_batch + 1e-9


@settings(deadline=None)
@given(problems())
def test_the_curve_begins_where_nothing_is_on_disk_and_ends_where_all_is_that_memory_leaves(
    ranks: list[RankBatches],
) -> None:
    drawn = curve(ranks)
    nothing = choose(ranks, DiskLimit(0, is_fixed=True))
    everything = choose(ranks, DiskLimit(total(ranks), is_fixed=True))
    shares = [share for share, _ in drawn]
    assert shares == sorted(set(shares))
    if total(ranks) and nothing.disk_bytes < everything.disk_bytes:
        assert drawn[0] == (nothing.disk_bytes / total(ranks), nothing.seconds)
        assert drawn[-1][0] == everything.disk_bytes / total(ranks)
        assert drawn[-1][1] == pytest.approx(everything.seconds)


@given(st.lists(st.floats(0.001, 10), min_size=2, max_size=30), st.floats(0.01, 5))
def test_a_slower_disk_keeps_no_more(computing: list[float], price: float) -> None:
    sizes = [10] * len(computing)
    kept = [
        choose([batches(sizes, computing, factor * price)], DiskLimit(10**6)).disk_bytes for factor in (1.0, 2.0, 4.0)
    ]
    assert kept == sorted(kept, reverse=True)


def test_where_computing_and_reading_are_alike_half_of_the_bytes_are_on_disk() -> None:
    alike = batches([10] * 100, [10.0] * 100)
    chosen = choose_simply([alike], DiskLimit(1000))
    assert chosen.disk_bytes == 500
    assert chosen.seconds == 500


def test_the_dearest_go_to_disk_and_the_dearest_a_byte_to_memory() -> None:
    chosen = choose([batches([10, 10, 10, 10], [1.0, 8.0, 2.0, 4.0], 0.1, memory=10)], DiskLimit(20, is_fixed=True))
    assert chosen.places[0].tolist() == [Source.COMPUTED, Source.IN_MEMORY, Source.ON_DISK, Source.ON_DISK]


@pytest.mark.parametrize(("price", "disk_bytes"), [(1000.0, 0), (1e-6, 400)])
def test_an_end_is_taken_where_it_wins(price: float, disk_bytes: int) -> None:
    chosen = choose_simply([batches([10] * 40, [10.0] * 40, price)], DiskLimit(400))
    assert chosen.disk_bytes == disk_bytes


@settings(deadline=None)
@given(problems())
def test_a_simple_choice_costs_no_more_than_it_may(ranks: list[RankBatches]) -> None:
    limit = DiskLimit(total(ranks))
    assert choose_simply(ranks, limit).seconds * (1 - END_GAIN_MIN) <= choose(ranks, limit).seconds + 1e-9


def test_the_rank_with_the_most_to_compute_gets_the_disk() -> None:
    loaded, idle = batches([10] * 10, [10.0] * 10), batches([10] * 10, [0.1] * 10)
    chosen = choose([loaded, idle], DiskLimit(200))
    assert (chosen.places[0] == Source.ON_DISK).sum() == 5
    assert (chosen.places[1] == Source.ON_DISK).sum() == 0


@given(st.lists(st.integers(0, 1000), max_size=60), st.integers(1, 6))
def test_every_batch_is_dealt_once_and_loads_are_within_the_largest(nbytes: list[int], ranks: int) -> None:
    dealt = deal(np.array(nbytes, np.int64), ranks)
    assert sorted(int(b) for mine in dealt for b in mine) == list(range(len(nbytes)))
    loads = [sum(nbytes[b] for b in mine) for mine in dealt]
    assert max(loads) - min(loads) <= max(nbytes, default=0)


def test_equal_batches_are_dealt_in_turn() -> None:
    assert [mine.tolist() for mine in deal(np.full(7, 8), 3)] == [[0, 3, 6], [1, 4], [2, 5]]


@pytest.mark.parametrize("sizes", [["a"], [1.5], [-1], [(2, -1)], 5, "ab", [None]])
def test_what_is_no_size_is_refused_by_its_number(sizes: object) -> None:
    with pytest.raises(ArgumentError, match="sizes"):
        Batches.of(sizes, "f8")


def test_places_in_the_file_do_not_overlap() -> None:
    found = Batches.of([3, (2, 5), 0, ()], "f4")
    assert found.shapes == [(3,), (2, 5), (0,), ()]
    assert found.nbytes.tolist() == [12, 40, 0, 4]
    assert (found.offsets[:-1] + found.nbytes <= found.offsets[1:]).all()


def report(computing: list[float], cold: Transfers | None = None, **more: Any) -> Report:
    nothing, where = np.full(len(computing), NAN), np.zeros(len(computing), np.int8)
    fields: dict[str, Any] = {
        "computing": np.array(computing),
        "cold": cold or Transfers(),
        "warm": Transfers(),
        "written": Transfers(),
        "cached": nothing,
        "places": where,
        "on_disk": where.astype(bool),
        **more,
    }
    return Report(node=0, using=0.0, may_write=True, memory_bytes=0, **fields)


def test_reads_of_ranks_at_the_same_time_count_once() -> None:
    assert union_seconds([(0, 2), (1, 3), (5, 6)]) == 4
    prices = Prices([np.array([100]), np.array([100])], 9.0, 9.0, [np.array([NAN])] * 2)
    prices.learn([report([1.0], Transfers(100, [(0.0, 2.0)])), report([1.0], Transfers(100, [(0.0, 2.0)]))])
    assert prices.cold == pytest.approx(2.0 / 200)


def test_a_guess_is_replaced_by_the_first_measurement_and_later_ones_are_weighed() -> None:
    prices = Prices([np.array([100])], 9.0, 9.0, [np.array([NAN])])
    prices.learn([report([4.0])])
    assert prices.cold == 9.0
    prices.learn([report([2.0], Transfers(100, [(0.0, 1.0)]))])
    prices.learn([report([NAN], Transfers(100, [(0.0, 3.0)]))])
    assert prices.cold == pytest.approx(0.02)
    assert prices.computing_of(0).tolist() == [3.0]


def test_reading_is_taken_to_last_as_long_as_writing_until_something_is_read() -> None:
    prices = Prices([np.array([100])], 9.0, 9.0, [np.array([NAN])])
    prices.learn([report([4.0], written=Transfers(100, [(0.0, 5.0)]))])
    assert prices.cold == pytest.approx(0.05)
    prices.learn([report([2.0], Transfers(100, [(0.0, 1.0)]), written=Transfers(100, [(0.0, 7.0)]))])
    prices.learn([report([2.0], written=Transfers(100, [(0.0, 7.0)]))])
    assert prices.cold == pytest.approx(0.01)


def test_what_the_page_cache_holds_takes_the_programs_time_and_not_the_disks() -> None:
    prices = Prices([np.array([100, 100])] * 2, 0.5, 9.0, [np.array([4.0, 4.0])] * 2)
    stored = np.ones(2, bool)
    seen = {"cached": np.array([1.0, 0.0]), "warm": Transfers(100, [(0.0, 2.0)]), "on_disk": stored}
    prices.learn([report([NAN, NAN], **seen), report([NAN, NAN], **seen)])
    assert prices.warm == pytest.approx((9.0 + 0.02) / 2)  # each rank's own seconds, at the same time or not
    found = prices.batches_of(0, 0, np.zeros(2, np.int8))
    assert found.reading.tolist() == [0.0, 50.0]
    assert found.copying.tolist() == [pytest.approx(100 * prices.warm), 0.0]


def test_what_is_copied_slower_than_computed_is_computed() -> None:
    chosen = choose([batches([10, 10], [1.0, 9.0], 0.0, copying=0.5)], DiskLimit(20))
    assert chosen.places[0].tolist() == [Source.COMPUTED, Source.ON_DISK]
    assert chosen.seconds == 1.0 + 5.0


def test_what_is_not_computed_again_gets_dearer_and_cheaper_with_what_is() -> None:
    prices = Prices([np.array([100, 100])], 1.0, 1.0, [np.array([NAN, NAN])])
    prices.learn([report([4.0, 8.0])])
    prices.learn([report([2.0, NAN])])
    assert prices.computing_of(0).tolist() == [3.0, 6.0]


def test_a_batch_that_was_disturbed_once_is_not_taken_to_be_dear() -> None:
    prices = Prices([np.array([100] * 3)], 1.0, 1.0, [np.array([NAN] * 3)])
    prices.learn([report([1.0, 9.0, 2.0])])
    prices.learn([report([2.0, 1.0, 3.0])])
    first, disturbed, last = prices.computing_of(0)
    assert first + disturbed + last == pytest.approx((12.0 + 6.0) / 2)
    assert max(first, disturbed) < last


def test_what_nobody_has_computed_is_taken_to_cost_as_the_others_a_byte() -> None:
    prices = Prices([np.array([100, 50])], 1.0, 1.0, [np.array([NAN, NAN])])
    prices.learn([report([4.0, NAN])])
    assert prices.computing_of(0).tolist() == [4.0, 2.0]


def test_what_is_on_disk_stays_there_where_nothing_is_saved() -> None:
    """Computing takes no time, so the first batches are as good as any."""
    one = batches([10] * 10, [0.0] * 10)
    places = np.where(np.arange(10) >= 6, Source.ON_DISK, Source.COMPUTED).astype(np.int8)
    one = dataclasses.replace(one, places=places, stays=True)
    assert choose([one], DiskLimit(50, is_fixed=True)).places[0][6:].tolist() == [Source.ON_DISK] * 4


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_the_first_iteration_keeps_about_the_share_that_is_fixed(share: float) -> None:
    seconds = np.random.default_rng(1).uniform(0.5, 1.5, 400)
    online = Online(4000, 0, int(4000 * share), True, 1.0)
    places = np.array([online.place(10, float(one), 0.0) for one in seconds])
    on_disk = places == Source.ON_DISK
    assert abs(on_disk.mean() - share) < 0.1
    if share in (0.25, 0.5):
        assert seconds[on_disk].mean() > seconds[~on_disk].mean() + 0.2
