"""Plans of transforms: tiles of any length are contiguous, panels fit the budget, and prices are the advice's."""

from __future__ import annotations

import itertools
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swath
from swath.fft import choice
from swath.fft.plan import SEQUENCES_AGAIN, SEQUENCES_MAX
from swath.fft.tiles import Tiles, runs

MIB = 1 << 20


def plan_of(folder: Path, shape: tuple[int, ...], dtype: str = "<c16", **how: Any) -> swath.FftPlan:
    """Return the plan of a transform of a file of holes."""
    np.lib.format.open_memmap(folder / "a.npy", "w+", dtype, shape)
    return swath.explain_fft(folder / "a.npy", folder / "b.npy", **how).plan


def boxes(shape: tuple[int, ...], extents: tuple[int, ...]) -> list[tuple[slice, ...]]:
    cuts = [[slice(b, min(b + e, n)) for b in range(0, n, e)] for n, e in zip(shape, extents, strict=True)]
    return list(itertools.product(*cuts))


def offsets_of(side: Tiles) -> np.ndarray:
    """Return the offset of each element, computed one by one."""
    offsets = np.full(side.shape, -1, np.int64)
    for region in side.regions:
        at = region.offset
        turned = [[region.shape[d] for d in side.order], [region.tile[d] for d in side.order]]
        for box in boxes(*map(tuple, turned)):
            for place in itertools.product(*(range(part.start, part.stop) for part in box)):
                index = [0] * len(side.shape)
                for d, i in zip(side.order, place, strict=True):
                    index[d] = region.begin[d] + i
                offsets[tuple(index)] = at
                at += side.itemsize
    return offsets


@pytest.mark.parametrize("seed", range(30))
def test_every_element_has_a_place_of_its_own_in_the_file(seed: int) -> None:
    dice = random.Random(seed)
    shape = tuple(dice.randint(1, 9) for _ in range(dice.randint(1, 3)))
    tile = tuple(dice.randint(1, n + 2) for n in shape)
    order = dice.sample(range(len(shape)), len(shape))
    side = Tiles.of_array(shape, 16, tile, order)
    offsets = np.sort(offsets_of(side).ravel())
    np.testing.assert_array_equal(offsets, np.arange(math.prod(shape)) * 16)
    assert side.stored_bytes == math.prod(shape) * 16


@pytest.mark.parametrize("seed", range(40))
def test_a_tile_is_contiguous_wherever_it_is(seed: int) -> None:
    dice = random.Random(seed)
    shape = tuple(dice.randint(1, 11) for _ in range(dice.randint(1, 3)))
    tile = tuple(dice.randint(1, n) for n in shape)
    side = Tiles.of_array(shape, 8, tile, dice.sample(range(len(shape)), len(shape)))
    offsets = offsets_of(side)
    for box in boxes(shape, tile):
        own = np.sort(offsets[box].ravel())
        assert own[-1] - own[0] == 8 * (own.size - 1)


@pytest.mark.parametrize("seed", range(40))
def test_runs_of_boxes_are_counted(seed: int) -> None:
    dice = random.Random(seed)
    ndim = dice.randint(1, 3)
    tile = tuple(dice.choice([1, 2, 4]) for _ in range(ndim))
    shape = tuple(t * dice.choice([1, 2, 4]) for t in tile)
    extents = tuple(min(dice.choice([1, 2, 4, 8, n]), n) for n in shape)
    side = Tiles.of_array(shape, 8, tile, dice.sample(range(ndim), ndim))
    offsets = offsets_of(side)
    counted = 0
    for box in boxes(shape, extents):
        own = np.sort(offsets[box].ravel())
        counted += 1 + int((np.diff(own) != 8).sum())
    # A run in the formula ends where the box does not have all of a dimension: some runs are longer by chance.
    assert counted <= side.requests(extents)
    if all(e in (t, n) for e, t, n in zip(extents, tile, shape, strict=True)):
        assert side.requests(extents) <= math.prod(-(-n // t) for n, t in zip(shape, tile, strict=True))
    one = runs(np.array([[extents]]), np.array([[tile]]), side)
    assert one.shape == (1, 1)
    assert max(one[0, 0], 1) == side.requests(extents)


def test_a_box_has_of_each_region_what_lies_in_it() -> None:
    side = Tiles.of_array((10, 7), 8, (4, 4), (0, 1))
    covered = np.zeros((10, 7), int)
    box = (slice(2, 9), slice(3, 7))
    for region in side.regions:
        found = region.part_of(box)
        if found is not None:
            inside, outside = found
            whole = np.arange(70).reshape(10, 7)
            begin = tuple(slice(b, b + n) for b, n in zip(region.begin, region.shape, strict=True))
            np.testing.assert_array_equal(whole[begin][inside], whole[box][outside])
            covered[box][outside] += 1
    assert (covered[box] == 1).all()
    assert covered.sum() == 28


@pytest.mark.parametrize(
    ("shape", "memory"),
    [((1000, 1200), 3), ((1009, 1201), 3), ((997, 991), 2), ((2048, 1536), 8)],
)
def test_lengths_without_divisors_are_moved_in_as_long_pieces(
    tmp_path: Path, shape: tuple[int, int], memory: int
) -> None:
    plan = plan_of(tmp_path, shape, memory=memory * MIB, order="fast")
    first, second = plan.passes
    tile = first.target.tile
    tiles = math.prod(-(-n // t) for n, t in zip(shape, tile, strict=True))
    assert first.write_requests <= math.prod(first.grid) * second.panels
    assert second.read_requests <= max(tiles, first.panels * second.panels)
    assert first.read_requests == first.panels
    assert second.write_requests == second.panels
    divisible = plan_of(tmp_path, tuple(-(-n // 8) * 8 for n in shape), memory=memory * MIB, order="fast")
    assert plan.seconds <= 1.1 * divisible.seconds


def test_the_planned_passes_keep_the_budget(tmp_path: Path) -> None:
    dice = random.Random(3)
    refused = 0
    for _ in range(60):
        ndim = dice.randint(1, 4)
        longest = {1: 100_000, 2: 3000, 3: 200, 4: 60}[ndim]
        shape = tuple(dice.randint(1, longest) for _ in range(ndim))
        memory = dice.choice([100_000, 1 << 20, 1 << 24])
        try:
            plan = plan_of(tmp_path, shape, dice.choice(["<c16", "<f4", "<i2"]), memory=memory, order="fast")
        except swath.ArgumentError:
            refused += 1
            continue
        assert plan.memory_bytes <= memory
        done: frozenset[int] = frozenset()
        for one in plan.passes:
            assert one.done == done
            done |= set(one.axes)
            assert all(one.extents[axis] == one.source.shape[axis] for axis in one.axes)
            assert one.panels >= 1
        assert done == frozenset(range(ndim))
        for before, behind in itertools.pairwise(plan.passes):
            assert before.target == behind.source
    assert refused < 30


@pytest.mark.parametrize(
    ("shape", "memory"),
    [
        ((400, 500, 500), 16),
        ((401, 503, 499), 16),
        ((97, 101, 103, 89), 16),
        ((60, 70, 80, 90), 2),
        ((17, 19, 23, 29, 31), 1),
    ],
)
def test_few_ways_are_priced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], memory: int
) -> None:
    """The sequences of passes, and the panels of each, are counted: they take the time."""
    looked_at: list[int] = []
    best, between = choice.Chooser.best, choice.Chooser._between_seconds

    def counted_best(self: choice.Chooser, groups: choice.Groups) -> Any:
        looked_at.append(0)
        return best(self, groups)

    def counted_between(self: choice.Chooser, before: choice.Candidates, behind: choice.Candidates) -> Any:
        looked_at[-1] += len(before.read) * len(behind.read)
        return between(self, before, behind)

    monkeypatch.setattr(choice.Chooser, "best", counted_best)
    monkeypatch.setattr(choice.Chooser, "_between_seconds", counted_between)
    plan_of(tmp_path, shape, memory=memory * MIB)
    levels = len(shape)
    assert 1 < len(looked_at) <= levels * (SEQUENCES_MAX + 3 * SEQUENCES_AGAIN)
    assert max(looked_at) <= (levels + 1) * (4 * choice.CANDIDATES) ** 2


def turned(values: Any, order: tuple[int, ...]) -> tuple[Any, ...]:
    return tuple(values[d] for d in order)


@pytest.mark.parametrize(
    ("shape", "memory", "order"),
    [
        ((1024, 1024), 8, "fast"),
        ((1000, 1500), 4, "fast"),
        ((2048, 512), 4, "fast"),
        ((997, 1009), 4, "fast"),
        ((64, 128, 96), 2, "C"),
    ],
)
def test_the_file_between_costs_about_what_the_best_of_layout_advice_does(
    tmp_path: Path, shape: tuple[int, ...], memory: int, order: str
) -> None:
    """The planner prices the panels of both passes with every layout of the advice, including tiles."""
    plan = plan_of(tmp_path, shape, memory=memory * MIB, order=order)
    assert len(plan.passes) > 1
    for before, behind in itertools.pairwise(plan.passes):
        side = before.target
        assert isinstance(side, Tiles)
        accesses = []
        for one, box, write in ((before, before.box_written, True), (behind, behind.box_read, False)):
            places = sorted({0, one.panels // 2, max(one.panels - 2, 0)})
            accesses += [
                swath.Access(turned(box(place), side.order), times=one.panels / len(places), write=write)
                for place in places
            ]
        advice = swath.advise_layout(
            accesses,
            turned(side.shape, side.order),
            "<c16",
            formats="hdf5",
            chunk_bytes=("4KiB", "64MiB"),
        )
        own = [one.total for one in advice.ranked if one.chunks == turned(side.tile, side.order)]
        assert own, "the advice has not looked at these tiles"
        assert own[0] <= 1.2 * advice.ranked[0].total
        in_order = [one.total for one in advice.ranked if one.chunks is None]
        assert own[0] < min(in_order)
